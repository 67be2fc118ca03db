//! What the stages say to each other.
//!
//! The keeper decides what to fetch and hands out jobs; workers fetch, read and compare; the
//! archivist stores what they found, admits the links, and tells the keeper. Nothing else passes
//! between them, and no stage waits for an answer.

use frontier::politeness::Answer;
use frontier::robots::Standing;
use frontier::trap::Halved;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use storage::archive::Packed;
use storage::{HostId, Outcome, PageId, PageRow, Time};
use url::Url;

/// What a worker is to do.
#[derive(Debug)]
pub(crate) enum Job {
    Resolve {
        host: u32,
        name: String,
    },
    Robots {
        host: u32,
        /// The host whose robots.txt this is; another one after a redirect.
        of: u32,
        url: Url,
        address: IpAddr,
        hops: u8,
        previous: Option<Arc<Standing>>,
    },
    Visit(Visit),
}

/// A page to fetch.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub page: PageId,
    pub host: u32,
    pub new: bool,
    pub address: IpAddr,
    pub standing: Option<Arc<Standing>>,
    /// Ask only for what is newer than our copy.
    pub conditional: bool,
}

/// What the keeper hears.
#[derive(Debug)]
pub(crate) enum Event {
    Resolved {
        host: u32,
        /// The address and for how many seconds it holds, or the cause that there is none.
        found: Result<(IpAddr, f64), u8>,
    },
    /// A request ended, or was never made (`None`).
    Ended {
        host: u32,
        address: IpAddr,
        answer: Option<Answer>,
        bytes: u64,
    },
    /// robots.txt of a host is known.
    Robots {
        of: u32,
        standing: Arc<Standing>,
        /// Why it could not be had.
        failure: Option<u8>,
    },
    /// robots.txt of a host is elsewhere.
    RobotsMoved {
        of: u32,
        to: Url,
        hops: u8,
    },
    Stored(Stored),
    /// Nothing can be stored any more.
    Broken(String),
    Ask(Question),
    Stop,
}

/// What the archivist has put on disk.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub hosts: Vec<String>,
    pub pages: Vec<(PageId, HostId)>,
    pub visits: Vec<Done>,
    pub signals: Vec<(PageId, f64)>,
    /// The hosts of redirected robots.txt files: for which, where, at which host.
    pub moved: Vec<(u32, Url, u8, HostId)>,
    /// Lists of links, and moved robots.txt files, that were dealt with.
    pub lists: usize,
    /// Links that led into traps.
    pub trapped: u64,
    /// Hosts with prefixes whose caps were lowered.
    pub halved: Vec<(u32, Vec<Halved>)>,
}

/// A visit, on disk.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub page: PageId,
    pub host: u32,
    pub new: bool,
    pub at: f64,
    pub result: VisitResult,
    pub failures: u16,
    pub liar: Option<bool>,
    /// What did not fit.
    pub cut: crate::notes::Cut,
}

/// What a visit came to, as far as scheduling goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum VisitResult {
    /// A copy, or the word that ours is current.
    Copy {
        outcome: Outcome,
        modified: Option<f64>,
    },
    Failed(u8),
    Gone,
    Excluded(u8),
    /// robots.txt could not be had; not now.
    NotNow,
}

/// What the archivist is to write.
pub(crate) enum Write {
    Visited(Box<Visited>),
    Links(Vec<Found>),
    Host { host: u32, blob: Vec<u8> },
    Moved { of: u32, to: Url, hops: u8 },
}

/// A visit, as a worker reports it.
pub(crate) struct Visited {
    pub done: Done,
    /// The page's row from now on; none when nothing about it changed.
    pub row: Option<PageRow>,
    pub status: u16,
    pub millis: u32,
    pub bytes: u32,
    /// The copy for the archive, and whether it is a full one; records that go with it.
    pub record: Option<(Packed, bool)>,
    pub request: Option<Packed>,
    pub links: Vec<Found>,
    /// The first link is where the page redirects to.
    pub redirect: bool,
    /// The text's fingerprint, and the URL, of a page fetched for the first time.
    pub print: Option<(parse::TextPrint, Url)>,
}

/// A URL found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub url: Url,
    pub key: String,
    pub depth: u16,
    pub from: Option<PageId>,
    /// A sitemap or feed says that it changed then.
    pub changed: Option<f64>,
    pub at: Time,
}

impl Found {
    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.url[..url::Position::BeforePath]
    }
}

/// What others may ask the keeper.
#[derive(Debug)]
pub(crate) enum Question {
    Status(Sender<crate::view::Status>),
    Hosts(Sender<Vec<crate::view::HostView>>),
    Page(PageId, Sender<crate::view::PageWait>),
}
