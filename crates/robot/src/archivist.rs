//! The archivist: puts on disk what workers found, admits links, and tells the keeper.
//!
//! It takes what has come in since the last batch, writes the archive records, admits
//! the links in memory, syncs the archive, and commits rows, observations and admissions in one
//! go. Only then does the keeper hear of it, so a crash fetches again rather than loses. While a
//! batch is being synced the next one gathers in the channel, which the keeper keeps from growing:
//! it hands out no more work while much waits to be stored.

mod admission;
mod daily;
mod fleet;

pub use fleet::SharedSeam;
pub(crate) use fleet::lock;

use crate::drive::Heard;
use crate::keeper::KeptHost;
use crate::link_weights::LinkWeights;
use crate::message::{Event, Stored, VisitResult, Visited, Write};
use crate::offline;
use crate::ranks::Ranks;
use crate::visit::millis;
use admission::Source;
use daily::Daily;
use frontier::trap::{Halved, Traps};
use parse::TextPrint;
use std::collections::{BTreeMap, HashMap, VecDeque, btree_map};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use storage::archive::{Archive, Keep};
use storage::{Batch, HostId, Observation, Outcome, PageState, Store};

/// The most that goes into one batch.
const BATCH: usize = 512;
/// Batches are at least this far apart: a sync costs the same for one page as for many.
const PACE: Duration = Duration::from_millis(20);
/// Pages that are new since the traps were kept: so many URLs are read again after a crash.
const KEEP_TRAPS: u32 = 100_000;
/// Prefixes of a host whose lowered caps are kept: wide ones are found first, and hold for those below.
pub(crate) const MOST_HALVED: usize = 256;

/// Puts on disk what it is given.
pub struct Archivist {
    store: Store,
    archive: Option<Archive>,
    traps: Traps,
    recent: HashMap<HostId, VecDeque<TextPrint>>,
    /// Where caps were lowered, of hosts that were written since the start.
    halved: HashMap<HostId, Vec<Halved>>,
    /// The origins of hosts the keeper knows.
    told_hosts: u32,
    /// Pages counted when the traps were last kept.
    kept_traps: u32,
    daily: Daily,
    weights: LinkWeights,
    ranks: Ranks,
    /// Only in a fleet.
    member: Option<Box<fleet::Membership>>,
}

impl Archivist {
    /// Into this store and archive; the keeper knows the hosts in it.
    pub fn new(store: Store, archive: Option<Archive>, traps: Traps) -> Self {
        Self {
            told_hosts: store.host_count(),
            kept_traps: store.page_count(),
            store,
            archive,
            traps,
            recent: HashMap::new(),
            daily: Daily::default(),
            halved: HashMap::new(),
            weights: LinkWeights::default(),
            ranks: Ranks::default(),
            member: None,
        }
    }

    /// Takes old versions out of the archive once a day.
    #[must_use]
    pub fn keeping(self, keep: Keep) -> Self {
        Self {
            daily: Daily::new(keep),
            ..self
        }
    }

    /// Counts links, and tells how much pages matter for them.
    #[must_use]
    pub fn weighing(self, weights: LinkWeights) -> Self {
        Self { weights, ..self }
    }

    /// Tells which pages come earlier in the order of first visits.
    #[must_use]
    pub fn ranking(self, ranks: Ranks) -> Self {
        Self { ranks, ..self }
    }

    /// Works until nobody can send any more, then closes the store.
    pub(crate) fn run(mut self, inbox: &Receiver<Write>, keeper: &Sender<Heard>) {
        loop {
            let notes = self.weights.patience().min(self.ranks.patience());
            let patience = self.daily.patience().min(notes);
            let first = match inbox.recv_timeout(patience) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.daily.step(self.archive.as_mut(), &mut self.store);
            let began = Instant::now();
            let more = inbox.try_iter().take(BATCH - 1);
            let gathered: Vec<Write> = first.into_iter().chain(more).collect();
            self.weights.keep(&self.store, false);
            self.ranks.keep(&self.store, false);
            if gathered.is_empty() {
                continue;
            }
            // nobody listens any more when all ends
            match self.write(gathered) {
                Ok(stored) => {
                    let _ = keeper.send(Heard::Event(Event::Stored(Box::new(stored))));
                }
                Err(error) => {
                    let _ = keeper.send(Heard::Event(Event::Broken(error.to_string())));
                    return;
                }
            }
            if self.store.page_count() - self.kept_traps >= KEEP_TRAPS {
                self.keep_traps();
            }
            std::thread::sleep(PACE.saturating_sub(began.elapsed()));
        }
        self.keep_traps();
        self.weights.keep(&self.store, true);
        self.ranks.keep(&self.store, true);
    }

    /// A start that finds them need not read the URLs of all pages.
    fn keep_traps(&mut self) {
        self.kept_traps = self.store.page_count();
        if let Err(error) = offline::keep_traps(&self.store, &self.traps) {
            tracing::warn!(%error, "the next start will have to read all URLs");
        }
    }

    /// Writes all of it in one go; says what is on disk then.
    pub fn write(&mut self, gathered: Vec<Write>) -> storage::Result<Stored> {
        let mut stored = Stored::default();
        let mut batch = Batch::default();
        let mut hosts = BTreeMap::new();
        let mut exports = Vec::new();
        for write in gathered {
            match write {
                Write::Visited(visited) => {
                    let host = visited.done.host;
                    if self.take(*visited, &mut batch, &mut stored)?
                        && let btree_map::Entry::Vacant(unwritten) = hosts.entry(host)
                    {
                        unwritten.insert(self.kept(host));
                    }
                }
                Write::Links(links) => {
                    self.admit(&links, Source::Page, &mut stored)?;
                    self.pass_on_strangers();
                    stored.lists += 1;
                }
                Write::Seeds(seeds) => {
                    self.admit(&seeds, Source::People, &mut stored)?;
                    stored.lists += 1;
                }
                Write::Wanted(pages) => {
                    let pages = self.admit(&pages, Source::People, &mut stored)?;
                    self.pass_on_strangers();
                    for page in pages.into_iter().flatten() {
                        // another robot's is that robot's to visit
                        let row = self.store.page(page)?;
                        if row.is_none_or(|row| row.state != PageState::Elsewhere) {
                            stored.wanted.push(page);
                        }
                    }
                    stored.lists += 1;
                }
                Write::Record(record) => {
                    if let Some(archive) = &mut self.archive {
                        archive.append(&record)?;
                    }
                }
                Write::Host { host, kept } => {
                    hosts.insert(host, *kept);
                }
                Write::Learnt(record) => batch.learnt = Some(record),
                Write::Moved { of, to, hops } => {
                    if !self.ask_elsewhere(&of, &to, hops, &mut stored)? {
                        let host = self.store.host(&to[..url::Position::BeforePath])?;
                        stored.moved.push((of, to, hops, host));
                    }
                    stored.lists += 1;
                }
                Write::Answer { of, standing } => self.answer(of, &standing),
                Write::Export {
                    server,
                    token,
                    wait,
                    dues,
                } => exports.push(fleet::Export {
                    server,
                    token,
                    wait,
                    dues: dues.into_iter().collect(),
                }),
                // taken below
                Write::Fleet => {}
            }
        }
        for (host, mut kept) in hosts {
            kept.halved.clone_from(self.halved_at(host));
            let blob = serde_json::to_vec(&kept).expect("plain values");
            batch.hosts.push((host, blob));
        }
        // what is exported is to be complete
        let last = self.take_commits(!exports.is_empty(), &mut batch, &mut stored)?;
        if let Some(archive) = &mut self.archive {
            archive.sync()?;
        }
        self.store.commit(&batch)?;
        for host in self.told_hosts..self.store.host_count() {
            let name = self.store.host_row(HostId(host))?.name;
            self.note_host(HostId(host), &name);
            stored.hosts.push(name);
        }
        self.told_hosts = self.store.host_count();
        self.committed(last, exports)?;
        Ok(stored)
    }

    /// What is on disk of a host; nothing where that cannot be read.
    fn kept(&self, host: HostId) -> KeptHost {
        let row = self.store.host_row(host);
        row.map_or_else(|_| KeptHost::default(), |row| offline::host(&row.blob))
    }

    /// Takes in a visit; says whether caps were lowered at its host.
    fn take(
        &mut self,
        visited: Visited,
        batch: &mut Batch,
        stored: &mut Stored,
    ) -> storage::Result<bool> {
        let Visited {
            done,
            mut row,
            status,
            millis: took,
            delay,
            bytes,
            record,
            request,
            links,
            redirect,
            print,
        } = visited;
        if self.daily.has_moved()
            && let Some(row) = &mut row
            && let Some(now) = self.store.page(done.page)?
        {
            // it may have been read before its copy was moved
            row.place = now.place;
        }
        if let Some((record, full)) = record
            && let Some(archive) = &mut self.archive
        {
            let place = archive.append(&record)?;
            if let Some(row) = &mut row
                && full
            {
                row.place = Some(place);
                row.away = None;
                row.copied = Some(millis(done.at.wall));
            }
            if let Some(request) = request {
                archive.append(&request)?;
            }
        }
        let is_lowered = print.is_some_and(|(print, url)| self.note_text(done.host, print, &url));
        let changed =
            matches!(done.result, VisitResult::Copy { outcome, .. } if outcome == Outcome::Changed);
        let mut weight = None;
        let mut redirects = 0;
        if redirect {
            redirects = 1 + self.redirects_before(done.page)?;
            let target = self.redirected(redirects, row.as_ref(), &links, stored)?;
            if let Some(row) = &mut row {
                row.redirect_to = target;
            }
        } else {
            let source = if changed {
                Source::ChangedPage
            } else {
                Source::Page
            };
            let pages = self.admit(&links, source, stored)?;
            if self.weights.matter() {
                weight = self.weigh(&done, &links, &pages)?;
            }
            if self.ranks.matter() {
                self.rank(&done, &links, &pages, stored);
            }
        }
        let first = matches!(done.result, VisitResult::Copy { outcome, .. } if outcome == Outcome::FirstSeen);
        let read = (first && !redirect && self.member.is_some()).then_some(&links[..]);
        self.report(
            (done.page, done.host),
            row.as_ref(),
            redirects,
            (read, delay),
        )?;
        let outcome = match done.result {
            VisitResult::Copy { outcome, .. } => Some(outcome),
            VisitResult::Failed(cause) => Some(Outcome::Failed(cause)),
            VisitResult::Gone => Some(Outcome::Gone),
            VisitResult::Excluded(_) | VisitResult::NotNow => None,
        };
        // the log is about pages
        if let Some(outcome) = outcome.filter(|_| !done.requisite) {
            let modified = match done.result {
                VisitResult::Copy { modified, .. } => modified.map(millis),
                _ => None,
            };
            batch.observations.push(Observation {
                page: done.page,
                at: millis(done.at.wall),
                outcome,
                modified,
                status,
                millis: took,
                bytes,
                digest: row.as_ref().map(|row| row.digest).unwrap_or_default(),
                reason: row.as_ref().map_or(0, |row| {
                    crate::notes::Notes::of(row)
                        .noise
                        .map_or(0, |noise| noise as u8)
                }),
            });
        }
        if let Some(row) = row {
            batch.pages.push((done.page, row));
        }
        stored.visits.push((done.page, weight));
        Ok(is_lowered)
    }
}

#[cfg(test)]
mod tests;
