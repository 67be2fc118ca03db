//! What the stages say to each other.
//!
//! The keeper hands out jobs; workers fetch, read and compare, and tell the keeper; it learns from
//! what they found and passes it on to the archivist, which stores it, admits the links, and tells
//! the keeper. Nothing else passes between them, and no stage waits for an answer.

use crate::clock::Now;
use crate::config::RevisitBudget;
use crate::keeper::KeptHost;
use crate::overrides::PageTerms;
use frontier::order::{Rank, Traits};
use frontier::politeness::Answer;
use frontier::robots::Standing;
use std::net::IpAddr;
use std::sync::Arc;
use storage::archive::Packed;
use storage::{HostId, Outcome, PageId, PageRow, Time};
use url::Url;

/// What a worker is to do. Each job ends with one event that bears its ticket: `Resolved`, `Robots`,
/// `RobotsMoved`, `Visited` or `Lost`; one that makes a request tells of its end by `Ended` before.
#[derive(Debug)]
pub struct Job {
    /// By which the keeper knows it.
    pub ticket: u64,
    /// What is to be done.
    pub task: Task,
}

/// What a job is about.
#[derive(Debug)]
pub enum Task {
    /// Find a host's address.
    Resolve {
        /// What DNS is asked for.
        name: String,
    },
    /// Fetch a robots.txt.
    Robots {
        /// Where it is.
        url: Url,
        /// Where to connect to.
        address: IpAddr,
        /// Redirects followed so far.
        hops: u8,
        /// What was known before.
        previous: Option<Arc<Standing>>,
    },
    /// Visit a page.
    Visit(Visit),
}

/// A page to fetch.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The page.
    pub page: PageId,
    /// Its host.
    pub host: HostId,
    /// Whether there is no copy yet.
    pub new: bool,
    /// Where to connect to.
    pub address: IpAddr,
    /// What robots.txt says; none where it is not to be obeyed.
    pub standing: Option<Arc<Standing>>,
    /// Ask only for what is newer than our copy.
    pub conditional: bool,
    /// It is no page, but what pages embed.
    pub requisite: bool,
}

/// What the keeper hears.
#[derive(Debug)]
pub enum Event {
    /// A host's address was sought.
    Resolved {
        /// The job.
        ticket: u64,
        /// The address and for how many seconds it holds, or the cause that there is none.
        found: Result<(IpAddr, f64), u8>,
    },
    /// A request ended, or was never made (`None`).
    Ended {
        /// The job.
        ticket: u64,
        /// What it means for politeness.
        answer: Option<Answer>,
        /// Bytes received.
        bytes: u64,
    },
    /// robots.txt of a host is known.
    Robots {
        /// The job.
        ticket: u64,
        /// What it comes to.
        standing: Arc<Standing>,
        /// Why it could not be had.
        failure: Option<u8>,
        /// The answer for the archive.
        record: Option<Packed>,
    },
    /// robots.txt of a host is elsewhere.
    RobotsMoved {
        /// The job.
        ticket: u64,
        /// Where.
        to: Url,
        /// Redirects followed so far.
        hops: u8,
    },
    /// A page was visited, or could not be.
    Visited {
        /// The job.
        ticket: u64,
        /// What came of it.
        visited: Box<Visited>,
    },
    /// A worker fell over a job.
    Lost {
        /// The job.
        ticket: u64,
    },
    /// How far requests have come, as the keeper asked.
    Measured(Vec<Progress>),
    /// Somebody wants these pages visited now.
    Wanted {
        /// The pages.
        pages: Vec<Found>,
        /// The scope is another one since: pages that were out of it are judged again.
        rescoped: bool,
    },
    /// Somebody has the crawl wait, or go on.
    Paused(bool),
    /// Somebody gives it other budgets, until it ends.
    Budgets(Budgets),
    /// The fleet let no request to the server leave; there may be one from then on.
    Barred {
        /// The job, which ends with this.
        ticket: u64,
        /// When, on the crawl's clock.
        until: f64,
    },
    /// What the fleet wants.
    Fleet(Order),
    /// Something is on disk.
    Stored(Box<Stored>),
    /// Nothing can be stored any more.
    Broken(String),
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The job.
    pub ticket: u64,
    /// Bytes received so far.
    pub bytes: u64,
    /// Since it began.
    pub seconds: f64,
}

/// What the fleet wants of the keeper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The server is ours alone, from then on.
    Open {
        /// Which.
        server: IpAddr,
        /// On the crawl's clock.
        from: f64,
    },
    /// No more requests to the server: when the last has ended, it is to be exported.
    Close {
        /// Which.
        server: IpAddr,
        /// By which the fleet knows the export.
        token: u64,
    },
    /// Whether the whole fleet has nothing left to do.
    Quiet(bool),
}

/// Whose robots.txt is fetched from another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// A host of ours.
    Host(HostId),
    /// Another robot's host: scheme, name and port.
    Peer(Arc<str>),
}

/// A page that came from another robot, with what is known of it.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The page.
    pub page: PageId,
    /// Its host.
    pub host: HostId,
    /// How it is treated.
    pub terms: crate::overrides::PageTerms,
    /// What visits found.
    pub row: PageRow,
    /// It is no page, but what pages embed.
    pub requisite: bool,
}

/// What the archivist has put on disk.
#[derive(Debug, Default)]
pub struct Stored {
    /// Hosts that are new, in the order of their numbers.
    pub hosts: Vec<String>,
    /// Pages that are new, in the order of their numbers.
    pub pages: Vec<(PageId, HostId)>,
    /// What URLs of pages without a visit say, and when they were found, where that decides who is visited first.
    pub traits: Vec<(PageId, Traits, Time)>,
    /// Those of them that are no pages, but what pages embed.
    pub requisites: Vec<PageId>,
    /// What changed pages embed that may have changed with them.
    pub again: Vec<PageId>,
    /// Pages that somebody wants visited now.
    pub wanted: Vec<PageId>,
    /// Pages that come earlier in the order of first visits than before.
    pub raised: Vec<(PageId, Rank)>,
    /// Pages whose visits are on disk, and how much they matter from now on if links say so.
    pub visits: Vec<(PageId, Option<f64>)>,
    /// Pages of which a sitemap or feed says that they changed, and when (wall time).
    pub signals: Vec<(PageId, f64)>,
    /// The hosts of redirected robots.txt files: for which, where, redirects so far, at which host.
    pub moved: Vec<(Of, Url, u8, HostId)>,
    /// What came and went with the fleet.
    pub fleet: Box<FleetStored>,
    /// Lists of links, and moved robots.txt files, that were dealt with.
    pub lists: usize,
    /// Links that led into traps.
    pub trapped: u64,
}

/// What came from other robots and went to them; nothing on one machine.
#[derive(Debug, Default)]
pub struct FleetStored {
    /// What the protocol had written, for whoever watches.
    pub commits: Vec<Arc<Vec<fleet::record::Record>>>,
    /// Names, and the servers that the fleet bound them to.
    pub servers: Vec<(String, IpAddr)>,
    /// What others knew of hosts, as it is kept.
    pub hosts: Vec<(HostId, Vec<u8>)>,
    /// Pages with what others knew of them; those that are new are among the new ones too.
    pub arrived: Vec<Arrived>,
    /// Hosts that are elsewhere from now on, and their pages.
    pub left: (Vec<HostId>, Vec<PageId>),
    /// Hosts whose robots.txt another robot is asked to fetch.
    pub asked: Vec<HostId>,
    /// What others fetched for us.
    pub answers: Vec<(HostId, Standing)>,
    /// URLs and rows that others sent and that are not taken: out of scope, at an address that may not be
    /// contacted, or not readable.
    pub refused: u64,
    /// Pages of which what was learnt was left behind, because clocks differ.
    pub unlearnt: u64,
}

/// How a visit ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// The page.
    pub page: PageId,
    /// Its host.
    pub host: HostId,
    /// Whether it was handed out as a page without a copy.
    pub new: bool,
    /// How the page is treated.
    pub terms: PageTerms,
    /// When it was visited.
    pub at: Now,
    /// What came of it.
    pub result: VisitResult,
    /// Failures in a row, this one included.
    pub failures: u16,
    /// Whether the host's validators said "unchanged" of what had changed; none if it had not, or if there are none.
    pub liar: Option<bool>,
    /// What did not fit.
    pub cut: crate::notes::Cut,
    /// It is no page, but what pages embed.
    pub requisite: bool,
}

/// What a visit came to, as far as scheduling goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VisitResult {
    /// A copy, or the word that ours is current.
    Copy {
        /// What became of the page since the last visit.
        outcome: Outcome,
        /// What `Last-Modified` says (wall time).
        modified: Option<f64>,
    },
    /// No copy, for this cause.
    Failed(u8),
    /// It is not there any more.
    Gone,
    /// It is not to be visited, for this cause.
    Excluded(u8),
    /// robots.txt could not be had; not now.
    NotNow,
}

/// What the archivist is to write.
#[derive(Debug)]
pub enum Write {
    /// A visit.
    Visited(Box<Visited>),
    /// Links to be admitted.
    Links(Vec<Found>),
    /// Where the crawl begins, to be admitted.
    Seeds(Vec<Found>),
    /// Pages that somebody wants visited now, to be admitted if they are new.
    Wanted(Vec<Found>),
    /// An answer that is no page's.
    Record(Packed),
    /// What is known of a host, but for where the caps of traps were lowered.
    Host {
        /// Its number.
        host: HostId,
        /// All of it.
        kept: Box<KeptHost>,
    },
    /// A robots.txt that is elsewhere, whose host needs a number.
    Moved {
        /// Whose it is.
        of: Of,
        /// Where.
        to: Url,
        /// Redirects followed so far.
        hops: u8,
    },
    /// What another robot's robots.txt comes to.
    Answer {
        /// Whose it is: scheme, name and port.
        of: Arc<str>,
        /// For that robot.
        standing: Arc<Standing>,
    },
    /// No request to the server is under way any more: all that is known of it is for its next owner.
    Export {
        /// Which.
        server: IpAddr,
        /// By which the fleet knows it.
        token: u64,
        /// Seconds that its address has to be left alone.
        wait: f64,
        /// When its pages are due.
        dues: Vec<(PageId, f64)>,
    },
    /// The fleet has commits to be made.
    Fleet,
    /// What is known of all pages together, and of the crawl.
    Learnt(Vec<u8>),
}

/// A visit, as a worker reports it.
#[derive(Debug)]
pub struct Visited {
    /// How it ended.
    pub done: Done,
    /// The page's row from now on; none when nothing about it changed.
    pub row: Option<PageRow>,
    /// The HTTP status, or 0.
    pub status: u16,
    /// How long the request took.
    pub millis: u32,
    /// Microseconds from the request to the first byte of an answer, if there was one.
    pub delay: Option<u32>,
    /// Bytes received.
    pub bytes: u32,
    /// The copy for the archive, and whether it is a full one.
    pub record: Option<(Packed, bool)>,
    /// The request that goes with it.
    pub request: Option<Packed>,
    /// Where it points to, and what it embeds.
    pub links: Vec<Found>,
    /// The first link is where the page redirects to.
    pub redirect: bool,
    /// The text's fingerprint, and the URL, of a page fetched for the first time.
    pub print: Option<(parse::TextPrint, Url)>,
}

/// A URL found.
#[derive(Clone, Debug)]
pub struct Found {
    /// As it is asked for.
    pub url: Url,
    /// By which it is known.
    pub key: String,
    /// Links from a seed, or [`storage::REQUISITE`].
    pub depth: u16,
    /// The page it was found on.
    pub from: Option<PageId>,
    /// A sitemap or feed says that it changed then (wall time).
    pub changed: Option<f64>,
    /// When it was found.
    pub at: Time,
}

impl Found {
    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.url[..url::Position::BeforePath]
    }
}

/// Budgets in place of those of the configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budgets {
    /// Requests per second in all; 0 means no limit.
    pub requests_per_second: f64,
    /// Bytes per second in all; 0 means no limit.
    pub bytes_per_second: f64,
    /// What revisits get of it.
    pub revisits: RevisitBudget,
}
