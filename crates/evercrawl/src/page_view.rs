//! A page as it is shown and exported.

use crate::moment::Moment;
use crate::terminal::plain;
use clap::ValueEnum;
use serde::Serialize;
use std::collections::HashMap;
use storage::archive::digest_text;
use storage::{HostId, PageEntry, PageId, PageRow, PageState, REQUISITE, Reader};

/// Names of hosts kept at hand.
const MOST_NAMES: usize = 100_000;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// There is a copy of it.
    Live,
    /// Known, but no visit has succeeded yet.
    New,
    /// Missing twice in a row, or for a long time.
    Gone,
    /// Not to be fetched: robots.txt, scope, or content type.
    Excluded,
    /// It points elsewhere.
    Redirect,
    /// Another robot has it, because it was exported.
    Elsewhere,
}

impl State {
    pub fn of(row: Option<&PageRow>) -> Self {
        match row.map(|row| row.state) {
            None | Some(PageState::New) => Self::New,
            Some(PageState::Live) => Self::Live,
            Some(PageState::Redirect) => Self::Redirect,
            Some(PageState::Gone) => Self::Gone,
            Some(PageState::Excluded) => Self::Excluded,
            Some(PageState::Elsewhere) => Self::Elsewhere,
        }
    }

    pub fn stored(self) -> PageState {
        match self {
            Self::Live => PageState::Live,
            Self::New => PageState::New,
            Self::Gone => PageState::Gone,
            Self::Excluded => PageState::Excluded,
            Self::Redirect => PageState::Redirect,
            Self::Elsewhere => PageState::Elsewhere,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Excluded => "excluded",
            Self::Redirect => "redirect",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// The names of hosts, in words that no terminal obeys: looked up as they are needed, for there may
/// be more hosts than memory.
pub struct Names<'a> {
    reader: &'a Reader,
    known: HashMap<HostId, String>,
}

impl<'a> Names<'a> {
    pub fn new(reader: &'a Reader) -> storage::Result<Self> {
        let mut names = Self {
            reader,
            known: HashMap::new(),
        };
        if reader.is_old() {
            // there one host takes as long as all
            for host in reader.hosts()? {
                let (id, row) = host?;
                names.known.insert(id, plain(&row.name));
            }
        }
        Ok(names)
    }

    /// Nothing for a host that is not readable.
    pub fn of(&mut self, host: HostId) -> storage::Result<&str> {
        if !self.known.contains_key(&host) {
            if self.known.len() >= MOST_NAMES && !self.reader.is_old() {
                self.known.clear();
            }
            let row = self.reader.host(host)?;
            let name = row.map(|row| plain(&row.name)).unwrap_or_default();
            self.known.insert(host, name);
        }
        Ok(&self.known[&host])
    }
}

/// All that is known of a page, in a row. Nothing in it is obeyed by a terminal.
#[derive(Clone, Debug, Serialize)]
pub struct PageView {
    pub url: String,
    pub host: String,
    pub state: State,
    /// The last HTTP status.
    pub status: Option<u16>,
    /// Links from a seed; none of what pages embed.
    pub depth: Option<u16>,
    pub added: Moment,
    pub first_visit: Option<Moment>,
    pub last_visit: Option<Moment>,
    pub last_change: Option<Moment>,
    pub last_modified: Option<Moment>,
    pub visits: u32,
    pub changes: u32,
    pub minor: u32,
    pub last_failure: Option<Moment>,
    pub failure: Option<&'static str>,
    pub digest: Option<String>,
    pub content_type: Option<String>,
    pub length: Option<u64>,
    /// Links left out because they are too long.
    pub cut_links: u32,
    /// The copy is not whole: the body is longer than the limits, or broke off.
    pub cut: bool,
    /// Why the last difference was minor, if it was.
    pub minor_because: Option<&'static str>,
    /// A page, or a requisite: what pages embed.
    pub kind: &'static str,
}

impl PageView {
    /// Whether it is what pages embed.
    pub fn is_requisite(&self) -> bool {
        self.depth.is_none()
    }

    /// With nothing that a spreadsheet would take for a formula.
    pub fn inert(&self) -> Self {
        let cell = |text: &String| desk::cell::inert(text).into_owned();
        Self {
            url: cell(&self.url),
            host: cell(&self.host),
            content_type: self.content_type.as_ref().map(cell),
            ..self.clone()
        }
    }

    /// The page of an entry, with its URL.
    pub fn read(names: &mut Names, entry: &PageEntry) -> storage::Result<Self> {
        let row = entry.row.clone().unwrap_or_default();
        let answered = row.visits > 0;
        let notes = robot::notes::Notes::of(&row);
        let cut = notes.cut;
        Ok(Self {
            url: plain(&names.reader.address(entry.id)?.url),
            host: names.of(entry.host)?.to_owned(),
            state: State::of(entry.row.as_ref()),
            status: Some(row.status).filter(|&status| status > 0),
            depth: Some(entry.depth).filter(|&depth| depth != REQUISITE),
            added: Moment(entry.added),
            first_visit: row.first_visit.map(Moment),
            last_visit: row.last_visit.map(Moment),
            last_change: row.last_change.map(Moment),
            last_modified: row.last_modified.map(Moment),
            visits: row.visits,
            changes: row.changes,
            minor: row.minor,
            last_failure: row.last_failure.map(|(at, _)| Moment(at)),
            failure: row.last_failure.map(|(_, cause)| robot::cause::word(cause)),
            digest: answered.then(|| digest_text(&row.digest)),
            content_type: (row.content_type.as_deref())
                .map(|kind| plain(&String::from_utf8_lossy(kind))),
            length: answered.then_some(row.length),
            cut_links: cut.links,
            cut: cut.body,
            minor_because: notes.noise.map(parse::change::Noise::word),
            kind: if entry.depth == REQUISITE {
                "requisite"
            } else {
                "page"
            },
        })
    }

    /// One page by its number.
    pub fn of(names: &mut Names, page: PageId) -> storage::Result<Self> {
        let reader = names.reader;
        let address = reader.address(page)?;
        let entry = PageEntry {
            id: page,
            host: address.host,
            depth: address.depth,
            from: address.from,
            added: address.added,
            row: reader.page(page)?,
        };
        Self::read(names, &entry)
    }
}
