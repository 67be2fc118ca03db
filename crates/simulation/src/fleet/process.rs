//! A model robot: the protocol as it is, with a store whose crash drops what is not committed, a
//! clock of its own, and a crawler that fetches whatever the protocol lets it.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use fleet::identity::{Millis, Unit};
use fleet::io::Token;
use fleet::moves::Ages;
use fleet::parcel::{Cargo, Subject};
use fleet::record::{Record, is_checkpoint};
use fleet::robot::{Robot, Settings};

use super::web::{Page, Web};

/// A monotonic clock that runs a little fast or slow, from an arbitrary origin.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What it showed at the beginning of the world.
    pub origin: Millis,
    /// Parts per million that it is fast.
    pub fast: i64,
}

impl Clock {
    /// What it shows.
    pub fn local(&self, now: Millis) -> Millis {
        self.origin + now.strict_add_signed(now.cast_signed() * self.fast / 1_000_000)
    }

    /// When it will have shown this.
    pub fn when(&self, local: Millis) -> Millis {
        let shown = local.saturating_sub(self.origin);
        if shown > 1 << 50 {
            return Millis::MAX;
        }
        shown.strict_add_signed(-(shown.cast_signed() * self.fast / (1_000_000 + self.fast))) + 1
    }
}

/// A server that may be asked, one request at a time.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// From when on, on the robot's clock.
    pub next: Millis,
    /// When the last request began.
    pub last: Option<Millis>,
    /// A request is under way.
    pub busy: bool,
    /// No more after this one; its export is awaited under this name.
    pub closing: Option<Token>,
}

/// A request between the gate and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// To which server.
    pub unit: Unit,
    /// For which page.
    pub page: Page,
    /// When the gate let it pass.
    pub checked: Millis,
}

/// Pages of each server, and how often they were visited.
pub type Rows = BTreeMap<Unit, BTreeMap<Page, u32>>;

/// A robot's process, machine and disk.
#[derive(Debug)]
pub struct Process {
    /// For new starts.
    pub settings: Settings,
    /// The protocol, while the process runs.
    pub robot: Option<Robot>,
    /// Which start of the process this is.
    pub life: u32,
    /// The machine's.
    pub clock: Clock,
    /// Asleep until then.
    pub paused_until: Millis,
    /// Cut off until then.
    pub cut_until: Millis,
    /// Answers are late until then.
    pub late_until: Millis,
    /// Writing takes up to so long.
    pub slow: Millis,
    /// What is committed, from the last checkpoint on.
    pub disk: Vec<Arc<Vec<Record>>>,
    /// The rows that the commits before it came to.
    stored: Rows,
    /// What is not.
    pub unwritten: VecDeque<(u64, Arc<Vec<Record>>)>,
    /// When the commit under way ends, and the one after it.
    pub commits: (Millis, Millis),
    /// Pages of each server, and how often they were visited.
    pub rows: Rows,
    /// Servers that may be asked.
    pub lines: BTreeMap<Unit, Line>,
    /// At the gate.
    pub writing: Option<Writing>,
    /// When it looks again what it may fetch.
    pub look_at: Millis,
    /// What it reads.
    pub subjects: Vec<Subject>,
    /// Falls asleep at the gate, for so long.
    pub sleepy: Option<Millis>,
    /// Is killed in the next commit, with its disk or not, for so long.
    pub doomed: Option<(bool, Millis)>,
    /// Is to leave in order.
    pub leaving: bool,
}

impl Process {
    /// A machine that does not run yet.
    pub fn new(settings: Settings, clock: Clock) -> Self {
        Self {
            settings,
            robot: None,
            life: 0,
            clock,
            paused_until: 0,
            cut_until: 0,
            late_until: 0,
            slow: 0,
            disk: Vec::new(),
            stored: Rows::new(),
            unwritten: VecDeque::new(),
            commits: (0, 0),
            rows: BTreeMap::new(),
            lines: BTreeMap::new(),
            writing: None,
            look_at: 0,
            subjects: Vec::new(),
            sleepy: None,
            doomed: None,
            leaving: false,
        }
    }

    /// Everything that is not on disk is gone.
    pub fn die(&mut self) {
        self.life += 1;
        self.robot = None;
        self.unwritten.clear();
        self.rows.clear();
        self.lines.clear();
        self.writing = None;
        self.commits = (0, 0);
        self.look_at = 0;
        self.subjects.clear();
        self.sleepy = None;
        self.doomed = None;
    }

    /// When a write that comes now is on disk, if a commit takes so long: all that come while one
    /// is under way go into the next.
    pub fn commit_at(&mut self, now: Millis, takes: Millis) -> Millis {
        let (mut current, mut next) = self.commits;
        if current <= now {
            (current, next) = if next > now {
                (next, 0)
            } else {
                (now + takes, now + takes)
            };
            if next > 0 {
                self.commits = (current, current);
                return current;
            }
        }
        if next <= current {
            next = current + takes;
        }
        self.commits = (current, next);
        next
    }

    /// The rows as the disk has them.
    pub fn restore(&mut self) {
        self.rows = self.on_disk();
    }

    fn on_disk(&self) -> Rows {
        let mut rows = self.stored.clone();
        for commit in &self.disk {
            apply(&mut rows, commit);
        }
        rows
    }

    /// A commit is on disk; a checkpoint takes the place of all before it.
    pub fn committed(&mut self, commit: Arc<Vec<Record>>) {
        if is_checkpoint(&commit) {
            self.stored = self.on_disk();
            self.disk.clear();
        }
        self.disk.push(commit);
    }

    /// The disk is empty.
    pub fn wipe(&mut self) {
        self.disk.clear();
        self.stored.clear();
    }

    /// What is for others under these numbers, as far as it is on disk.
    pub fn recall(&self, numbers: &[u64]) -> Vec<(u64, Cargo)> {
        let records = self.disk.iter().flat_map(|commit| commit.iter());
        let outs = records.filter_map(|record| match record {
            Record::Out(number, cargo) => Some((*number, cargo.clone())),
            _ => None,
        });
        outs.filter(|(number, _)| numbers.contains(number))
            .collect()
    }

    /// What the store has from a server on: of two servers at a time.
    pub fn survey(&self, web: &Web, from: u64) -> (Vec<Record>, Option<u64>) {
        let place = |unit: &Unit| match unit {
            Unit::Server(IpAddr::V4(v4)) => Some(u64::from(v4.to_bits())),
            _ => None,
        };
        let units = self.rows.keys();
        let units = units.filter_map(|unit| Some((place(unit)?, *unit)));
        let mut units: Vec<(u64, Unit)> = units.filter(|(place, _)| *place >= from).collect();
        units.sort_unstable();
        let next = units.get(2).map(|(place, _)| *place);
        let records = units.into_iter().take(2);
        let records = records.flat_map(|(_, unit)| self.export(unit, web, 0).0);
        (records.collect(), next)
    }

    /// All that is known of a server.
    pub fn export(&self, unit: Unit, web: &Web, now: Millis) -> (Vec<Record>, Ages) {
        let Unit::Server(server) = unit else {
            return (Vec::new(), Ages::default());
        };
        let rows = self.rows.get(&unit).into_iter().flatten();
        let records = rows.map(|(page, visits)| {
            if *visits == 0 {
                let mut parcel = web.parcel(*page);
                parcel.server = Some(server);
                Record::Admit(parcel)
            } else {
                Record::Row(unit, row(*page, *visits))
            }
        });
        let line = self.lines.get(&unit);
        let ages = Ages {
            last_request: line
                .and_then(|line| line.last)
                .map(|at| self.clock.local(now).saturating_sub(at)),
            left_alone: line.map_or(0, |line| line.next.saturating_sub(self.clock.local(now))),
        };
        (records.collect(), ages)
    }

    /// The next page to fetch of a server: the one that was visited least.
    pub fn next_page(&self, unit: Unit, visits: u32) -> Option<Page> {
        let rows = self.rows.get(&unit)?.iter();
        rows.filter(|(_, seen)| **seen < visits)
            .min_by_key(|(_, seen)| **seen)
            .map(|(page, _)| *page)
    }

    /// Whether there is nothing to fetch and nothing under way.
    pub fn idle(&self, visits: u32) -> bool {
        self.writing.is_none()
            && !self.lines.values().any(|line| line.busy)
            && !(self.rows.values().flatten()).any(|(_, seen)| *seen < visits)
    }
}

/// A row as the model store writes it.
pub fn row(page: Page, visits: u32) -> Arc<[u8]> {
    let mut bytes = Vec::with_capacity(8);
    bytes.extend_from_slice(&page.host.to_le_bytes());
    bytes.extend_from_slice(&page.number.to_le_bytes());
    bytes.extend_from_slice(&visits.to_le_bytes());
    bytes.into()
}

/// What a commit does to rows.
pub fn apply(rows: &mut Rows, commit: &[Record]) {
    for record in commit {
        match record {
            Record::Admit(parcel) => {
                let rows = rows.entry(parcel.unit()).or_default();
                rows.entry(Web::page(parcel)).or_default();
            }
            Record::Row(unit, bytes) => {
                let (page, visits) = read_row(bytes);
                let known = rows.entry(*unit).or_default().entry(page).or_default();
                *known = visits.max(*known);
            }
            Record::Handed(unit) => {
                rows.remove(unit);
            }
            _ => {}
        }
    }
}

fn read_row(bytes: &[u8]) -> (Page, u32) {
    let [h0, h1, n0, n1, v0, v1, v2, v3] = bytes.try_into().expect("rows have eight bytes");
    let page = Page {
        host: u16::from_le_bytes([h0, h1]),
        number: u16::from_le_bytes([n0, n1]),
    };
    (page, u32::from_le_bytes([v0, v1, v2, v3]))
}
