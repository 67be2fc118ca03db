//! Between the robot and its fleet: the protocol's state machine, and what it wants of whom.
//!
//! No clock, no channel, no thread. Whoever drives it passes on what the bus says ([`Seam::hear`]) and
//! takes what there is to do: wishes for the bus, orders for the keeper, commits for the archivist, which
//! makes them with the rows that they belong to and says so itself. The same in a live crawl and in the simulation.

use crate::clock::Now;
use crate::judging::Verdict;
use crate::message::{Found, Order};
use fleet::counts::Reading;
use fleet::demand::Curve;
use fleet::flaw::Flaw;
use fleet::identity::{Millis, Text, Unit};
use fleet::io::{Input, Output, Token};
use fleet::parcel::{Cargo, Errand, Parcel, Subject};
use fleet::record::{Record, is_checkpoint};
use fleet::robot::{Robot, Settings, Share};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use storage::{ENTRY_LIMIT, Store};
use url::Url;

/// Visits a second that a robot wants for pages that it will find: its budget is looked at only now and then.
const TO_COME: f64 = 20.0;
/// Seconds after which a request is tried again that the gate let not pass.
const AT_THE_GATE: f64 = 1.0;
/// Most refusals that wait to be told.
const MOST_REFUSALS: usize = 1_024;
/// The first byte of an entry in the store: whether the commit goes on in the next one.
const GOES_ON: u8 = 1;
const ENDS: u8 = 0;
/// Entries of the store that are read at a time, and URLs that are passed on at a time.
const AT_A_TIME: usize = 256;
const RECALLED: usize = 1_024;
/// Commits with fewer records are not worth judging before they are taken.
const WORTH_JUDGING: usize = 64;

/// What the protocol wants written in one commit.
pub(crate) struct Commit {
    pub number: u64,
    pub records: Arc<Vec<Record>>,
    /// It belongs to a visit of ours, whose row the archivist has.
    pub own: bool,
    /// Places of URLs whose names the fleet has at other servers than they say.
    pub misplaced: HashSet<usize>,
    /// Names that it binds to servers.
    pub bound: Vec<(Text, IpAddr)>,
    pub judging: Judging,
}

/// What is known of the URLs of a commit.
pub(crate) enum Judging {
    /// Nothing: whoever takes it judges.
    Then,
    /// Nothing, and there are so many that they are better judged before.
    Ahead,
    /// Somebody is at it, and whoever takes commits waits if that is possible.
    UnderWay,
    /// What was found, URL by URL.
    Done(Vec<Verdict>),
}

impl Judging {
    fn of(records: &[Record]) -> Self {
        let is_url = |record: &Record| matches!(record, Record::Admit(_));
        if records.len() >= WORTH_JUDGING && records.iter().any(is_url) {
            Self::Ahead
        } else {
            Self::Then
        }
    }
}

/// A robot's side of its fleet.
pub struct Seam {
    fleet: Robot,
    now: Now,
    /// Where the names are whose URLs we have.
    servers: HashMap<Text, IpAddr>,
    /// Those that are new since they were last asked for.
    bound: Vec<(Text, IpAddr)>,
    /// URLs that came after redirects at other robots, and how many.
    redirected: BTreeMap<Text, u8>,
    /// Questions for what the store has from a place on, as of a commit.
    surveys: VecDeque<(Token, u64, u64)>,
    /// Numbers of what is for others and is to be read again.
    recalls: VecDeque<Vec<u64>>,
    commits: VecDeque<Commit>,
    /// The last commit that has to be made with what the archivist writes at present.
    with_rows: u64,
    wishes: Vec<Output>,
    orders: Vec<Order>,
    refusals: Vec<Refusal>,
    unburied: u64,
    quiet: bool,
    lost: Option<Lost>,
}

/// Why a robot's life is over. Its store is to be wiped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Others have its share; another life may begin.
    Share,
    /// Another process works under its name.
    Name,
}

/// Something of another robot that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// To whom it was sent.
    pub to: Subject,
    /// Why.
    pub why: String,
    /// What, as JSON.
    pub letter: Vec<u8>,
}

/// On the protocol's clock.
fn millis(now: Now) -> Millis {
    (now.at * 1e3) as Millis
}

/// What DNS is asked for.
pub(crate) fn name_of(url: &Url) -> &str {
    let name = url.host_str().unwrap_or("invalid");
    name.trim_start_matches('[').trim_end_matches(']')
}

impl Seam {
    /// With all that was committed before. `boot` is a random number that no other start has.
    pub fn new(settings: Settings, boot: u16, now: Now, store: &Store) -> storage::Result<Self> {
        Self::flawed(settings, boot, now, store, None)
    }

    /// As [`Seam::new`], with a mistake, for the simulation.
    #[doc(hidden)]
    pub fn flawed(
        settings: Settings,
        boot: u16,
        now: Now,
        store: &Store,
        flaw: Option<Flaw>,
    ) -> storage::Result<Self> {
        let disk = committed(store)?;
        let mut seam = Self {
            fleet: Robot::flawed(settings, boot, millis(now), &disk, flaw),
            now,
            servers: HashMap::new(),
            bound: Vec::new(),
            redirected: BTreeMap::new(),
            surveys: VecDeque::new(),
            recalls: VecDeque::new(),
            commits: VecDeque::new(),
            with_rows: 0,
            wishes: Vec::new(),
            orders: Vec::new(),
            refusals: Vec::new(),
            unburied: 0,
            quiet: false,
            lost: None,
        };
        for record in disk.iter().flat_map(|commit| commit.iter()) {
            seam.learn_servers(record);
        }
        // whoever starts asks for all
        seam.bound.clear();
        Ok(seam)
    }

    /// Says whether names are where the record has them.
    fn learn_servers(&mut self, record: &Record) -> bool {
        match record {
            Record::Admit(parcel) => {
                if parcel.redirects > 0 {
                    let url = parcel.url.clone();
                    self.redirected.insert(url, parcel.redirects);
                }
                return match parcel.server {
                    Some(server) => self.bind(&parcel.name, server),
                    None => !self.servers.contains_key(&parcel.name),
                };
            }
            Record::Names(servers, redirected) => {
                for (name, server) in servers {
                    self.bind(name, *server);
                }
                self.redirected.extend(redirected.iter().cloned());
            }
            Record::Row(Unit::Server(server), bytes) => {
                // what cannot be read is not taken either
                let Ok(package) = storage::Package::decode(bytes) else {
                    return true;
                };
                for host in &package.hosts {
                    if let Ok(url) = Url::parse(&host.name) {
                        self.bind(&name_of(&url).into(), *server);
                    }
                }
            }
            _ => {}
        }
        true
    }

    /// A name is where the fleet says. It stays there: the first word counts. Whether this is it.
    fn bind(&mut self, name: &Text, server: IpAddr) -> bool {
        if let Some(&bound) = self.servers.get(name) {
            return bound == server;
        }
        self.servers.insert(name.clone(), server);
        self.bound.push((name.clone(), server));
        true
    }

    /// Where the names are whose URLs we have.
    pub fn servers(&self) -> impl Iterator<Item = (String, IpAddr)> + '_ {
        (self.servers.iter()).map(|(name, server)| (name.to_string(), *server))
    }

    pub(crate) fn server(&self, name: &str) -> Option<IpAddr> {
        self.servers.get(name).copied()
    }

    /// Where the fleet bound a name, for whoever looks at it.
    pub fn server_of(&self, name: &str) -> Option<IpAddr> {
        self.server(name)
    }

    /// Whose a name is.
    pub fn share(&self, name: &str) -> Share {
        let server = self.server(name);
        server.map_or(Share::Elsewhere, |server| {
            self.fleet.share(Unit::Server(server))
        })
    }

    /// What the bus, the store or time says.
    pub fn hear(&mut self, now: Now, input: Input) {
        if now.at > self.now.at {
            self.now = now;
        }
        let outputs = self.fleet.handle(millis(self.now), input);
        for output in outputs {
            match output {
                Output::Write(number, records) => self.commits.push_back(Commit {
                    number,
                    own: false,
                    misplaced: HashSet::new(),
                    bound: Vec::new(),
                    judging: Judging::of(&records),
                    records,
                }),
                Output::Open(Unit::Server(server), from) => self.orders.push(Order::Open {
                    server,
                    // by the protocol's clock it is a whole number
                    from: (from + 1) as f64 / 1e3,
                }),
                Output::Close(Token(token), Unit::Server(server)) => {
                    self.orders.push(Order::Close { server, token });
                }
                // registers have no pages, and pages go with the record that says so
                Output::Open(..) | Output::Close(..) | Output::Forget(_) => {}
                Output::Reset => self.lost = self.lost.or(Some(Lost::Share)),
                Output::Replaced => self.lost = self.lost.or(Some(Lost::Name)),
                Output::Survey(token, from) => {
                    let (written, _) = self.fleet.commits();
                    self.surveys.push_back((token, from, written));
                }
                Output::Recall(numbers) => self.recalls.push_back(numbers),
                wish => self.wishes.push(wish),
            }
        }
        let quiet = self.fleet.quiet();
        if std::mem::replace(&mut self.quiet, quiet) != quiet {
            self.orders.push(Order::Quiet(quiet));
        }
    }

    /// Time has passed; `wanted` visits would be worth something, or there is nothing to do at all.
    pub fn tick(&mut self, now: Now, wanted: f64, idle: bool) {
        self.hear(now, Input::Tick);
        // a page is worth less the more often it was visited, and the first ones bring others
        let more = if wanted > 0.0 { TO_COME } else { 0.0 };
        let demand = Curve::of(|price| (wanted + more) / (1.0 + price));
        self.hear(now, Input::Load { demand, idle });
    }

    /// When it wants to hear of time, at the latest; on the crawl's clock.
    pub fn deadline(&self) -> f64 {
        self.fleet.deadline() as f64 / 1e3
    }

    /// Asked last before a request's bytes are written: whether it may leave; if not, when to ask again.
    /// One that may has left.
    pub fn pass(&mut self, now: Now, server: IpAddr) -> Result<(), f64> {
        self.may_pass(now, server)?;
        self.fleet.requested(millis(now));
        Ok(())
    }

    /// Whether a request could leave now.
    pub fn may_pass(&self, now: Now, server: IpAddr) -> Result<(), f64> {
        let at = millis(now);
        if self.fleet.may_request(at, Unit::Server(server)) {
            return Ok(());
        }
        let paced = self.fleet.paced();
        let paced = if paced == Millis::MAX { 0 } else { paced };
        Err((now.at + AT_THE_GATE).max(paced as f64 / 1e3))
    }

    /// What the bus is to do, in this order.
    pub fn take_wishes(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.wishes)
    }

    /// What the keeper is to do, in this order.
    pub fn take_orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    /// A URL that was sent here is not taken: it goes to the dead letters.
    pub(crate) fn refuse(&mut self, parcel: &Parcel, why: &str) {
        let letter = serde_json::json!({
            "url": &*parcel.url,
            "name": &*parcel.name,
            "server": parcel.server,
            "referrer": parcel.referrer.as_deref(),
        });
        self.bury(why.to_owned(), letter.to_string());
    }

    /// Rows of a server that were sent here are not taken.
    pub(crate) fn refuse_rows(&mut self, server: IpAddr, bytes: usize, why: String) {
        let letter = serde_json::json!({ "rows_of": server, "bytes": bytes });
        self.bury(why, letter.to_string());
    }

    /// Letters are a courtesy: a flood of them is counted, and takes no room.
    fn bury(&mut self, why: String, letter: String) {
        match self.fleet.subjects().first() {
            Some(&to) if self.refusals.len() < MOST_REFUSALS => {
                let letter = letter.into_bytes();
                self.refusals.push(Refusal { to, why, letter });
            }
            _ => self.not_buried(),
        }
    }

    /// What was not taken since it was last asked.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.refusals)
    }

    /// So many refusals did not get to the dead letters.
    pub fn unburied(&self) -> u64 {
        self.unburied
    }

    pub(crate) fn not_buried(&mut self) {
        self.unburied += 1;
    }

    /// Whether the keeper is to do something.
    pub fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// Whether something is to be committed, or the store to be asked.
    pub fn has_commits(&self) -> bool {
        let first = self.commits.front();
        first.is_some_and(|commit| !matches!(commit.judging, Judging::UnderWay))
            || !self.surveys.is_empty()
            || !self.recalls.is_empty()
    }

    /// A question that can be answered: all that was committed before it was asked is on disk.
    pub(crate) fn next_survey(&mut self) -> Option<(Token, u64)> {
        let (_, on_disk) = self.fleet.commits();
        let next = self.surveys.pop_front_if(|(.., after)| *after <= on_disk);
        next.map(|(token, from, _)| (token, from))
    }

    /// A commit whose URLs can be judged before it is taken; [`Seam::judged`] is to follow.
    pub(crate) fn next_to_judge(&mut self) -> Option<(u64, Arc<Vec<Record>>)> {
        let mut commits = self.commits.iter_mut();
        let commit = commits.find(|commit| matches!(commit.judging, Judging::Ahead))?;
        commit.judging = Judging::UnderWay;
        Some((commit.number, Arc::clone(&commit.records)))
    }

    /// It may have been taken meanwhile.
    pub(crate) fn judged(&mut self, number: u64, verdicts: Vec<Verdict>) {
        let mut commits = self.commits.iter_mut();
        if let Some(commit) = commits.find(|commit| commit.number == number) {
            commit.judging = Judging::Done(verdicts);
        }
    }

    pub(crate) fn next_recall(&mut self) -> Option<Vec<u64>> {
        self.recalls.pop_front()
    }

    /// The next commit; if it can wait, only one that nobody is judging. What the archivist writes waits for nothing.
    pub(crate) fn next_commit(&mut self, can_wait: bool) -> Option<Commit> {
        let with_rows = self.with_rows;
        let mut commit = self.commits.pop_front_if(|commit| {
            let is_judged = !matches!(commit.judging, Judging::UnderWay);
            is_judged || !can_wait || commit.number <= with_rows
        })?;
        if is_checkpoint(&commit.records) {
            // it stands for what was said of names as well
            let servers = self.servers.iter().map(|(n, s)| (n.clone(), *s));
            let redirected = self.redirected.iter().map(|(url, n)| (url.clone(), *n));
            let names = Record::Names(servers.collect(), redirected.collect());
            Arc::make_mut(&mut commit.records).push(names);
        }
        for (place, record) in commit.records.iter().enumerate() {
            // where our own pages are is known
            let is_known = commit.own && !matches!(record, Record::Admit(_));
            if !is_known && !self.learn_servers(record) {
                commit.misplaced.insert(place);
            }
        }
        commit.bound = std::mem::take(&mut self.bound);
        Some(commit)
    }

    /// Whether the next commit has to be made with what the archivist writes at present.
    pub(crate) fn has_rows(&self) -> bool {
        let next = self.commits.front();
        next.is_some_and(|commit| commit.number <= self.with_rows)
    }

    pub(crate) fn redirected(&self) -> &BTreeMap<Text, u8> {
        &self.redirected
    }

    /// A page of ours was visited: its row, for those who take over, and URLs that are not known here.
    pub(crate) fn visited(
        &mut self,
        unit: Unit,
        row: Arc<[u8]>,
        links: Vec<Parcel>,
        (read, delay): (Option<Reading>, Option<u32>),
    ) {
        let before = self.commits.len();
        let visited = Input::Visited {
            unit,
            row,
            links,
            read,
            delay,
        };
        self.hear(self.now, visited);
        for commit in self.commits.range_mut(before..) {
            commit.own = true;
        }
        self.with_rows = self.fleet.commits().0;
    }

    /// URLs that no page of ours names, and that the archivist writes.
    pub(crate) fn found(&mut self, parcels: Vec<Parcel>) {
        if !parcels.is_empty() {
            self.give(parcels);
            self.with_rows = self.fleet.commits().0;
        }
    }

    /// URLs that somebody gives to the fleet; which of the protocol's commits has them.
    pub(crate) fn give(&mut self, parcels: Vec<Parcel>) -> u64 {
        self.hear(self.now, Input::Seeds(parcels));
        self.fleet.commits().0
    }

    /// Something for the owner of another host.
    pub(crate) fn run_errand(&mut self, url: &Url, errand: Errand) {
        let name: Text = name_of(url).into();
        let parcel = Parcel {
            server: self.server(&name),
            errand: Some(errand),
            ..Parcel::new(name, url.as_str().into())
        };
        self.found(vec![parcel]);
    }

    /// Whether its life is over, and why.
    pub fn lost(&self) -> Option<Lost> {
        self.lost
    }

    /// The latest time that it heard of.
    pub(crate) fn now(&self) -> Now {
        self.now
    }

    /// The protocol, for whoever looks at it.
    pub fn protocol(&self) -> &Robot {
        &self.fleet
    }

    /// The same, for partitioners' tables.
    pub fn protocol_mut(&mut self) -> &mut Robot {
        &mut self.fleet
    }

    /// A URL that was found, as it goes to its owner.
    pub(crate) fn parcel(&self, found: &Found, redirects: usize, referrer: Option<&str>) -> Parcel {
        let name: Text = name_of(&found.url).into();
        Parcel {
            server: self.server(&name),
            depth: found.depth,
            redirects: redirects.min(usize::from(u8::MAX)) as u8,
            found: found.at.max(0).cast_unsigned(),
            dated: found.changed.map(|at| (at * 1e3) as u64),
            referrer: referrer.map(Into::into),
            ..Parcel::new(name, found.url.as_str().into())
        }
    }
}

/// A commit as entries of the store, which keeps them in order.
pub(crate) fn entries(records: &Vec<Record>) -> Vec<Vec<u8>> {
    let bytes = fleet::wire::encode(records);
    let mut parts: Vec<Vec<u8>> = bytes
        .chunks(ENTRY_LIMIT - 1)
        .map(|part| [&[GOES_ON], part].concat())
        .collect();
    if let Some(last) = parts.last_mut() {
        last[0] = ENDS;
    }
    parts
}

/// All commits of a store.
fn committed(store: &Store) -> storage::Result<Vec<Arc<Vec<Record>>>> {
    let mut commits = Vec::new();
    each_commit(store, |records| commits.push(Arc::new(records)))?;
    Ok(commits)
}

/// Passes on all commits of a store, of which only a few are in memory at a time.
fn each_commit(store: &Store, mut take: impl FnMut(Vec<Record>)) -> storage::Result<()> {
    let mut bytes = Vec::new();
    let mut from = 0;
    loop {
        let entries = store.outbox(from, AT_A_TIME)?;
        let Some((last, _)) = entries.last() else {
            return Ok(());
        };
        from = last + 1;
        for (number, entry) in entries {
            let Some((&goes_on, part)) = entry.split_first() else {
                continue;
            };
            bytes.extend_from_slice(part);
            if goes_on == ENDS {
                let records = fleet::wire::decode(&std::mem::take(&mut bytes));
                take(records.map_err(|error| storage::Error::Damaged {
                    path: store.reader().directory().join("outbox"),
                    what: format!("entry {number}: {error}"),
                })?);
            }
        }
    }
}

/// What a store has for others under these numbers, some at a time.
pub(crate) fn recall(
    store: &Store,
    numbers: &[u64],
    mut take: impl FnMut(Vec<(u64, Cargo)>),
) -> storage::Result<()> {
    let wanted: HashSet<u64> = numbers.iter().copied().collect();
    let mut found = Vec::new();
    each_commit(store, |records| {
        for record in records {
            match record {
                Record::Out(number, cargo) if wanted.contains(&number) => {
                    found.push((number, cargo));
                }
                _ => {}
            }
        }
        if found.len() >= RECALLED {
            take(std::mem::take(&mut found));
        }
    })?;
    take(found);
    Ok(())
}

#[cfg(test)]
mod tests;
