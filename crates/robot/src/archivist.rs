//! The archivist: puts on disk what workers found, admits links, and tells the keeper.
//!
//! It takes what has come in since the last batch, writes the archive records, admits
//! the links in memory, syncs the archive, and commits rows, observations and admissions in one
//! go. Only then does the keeper hear of it, so a crash fetches again rather than loses. While a
//! batch is being synced the next one gathers in the channel, which the keeper keeps from growing:
//! it hands out no more work while much waits to be stored.

use crate::drive::Heard;
use crate::link_weights::LinkWeights;
use crate::message::{Done, Event, Found, Stored, VisitResult, Visited, Write};
use crate::offline;
use crate::visit::millis;
use frontier::trap::Traps;
use parse::TextPrint;
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use storage::archive::{Archive, Keep, prune};
use storage::{
    Admission, Batch, Candidate, HostId, Observation, Outcome, PageId, PageRow, PageState,
    REQUISITE, Store, Time,
};

/// The most that goes into one batch.
const BATCH: usize = 512;
/// Batches are at least this far apart: a sync costs the same for one page as for many.
const PACE: Duration = Duration::from_millis(20);
/// Pages that are new since the traps were kept: so many URLs are read again after a crash.
const KEEP_TRAPS: u32 = 100_000;
/// Old versions are taken out so often.
const DAY: Duration = Duration::from_hours(24);
/// Milliseconds between two requests for what changed pages embed.
const REQUISITES_AGAIN: Time = 3_600_000;
/// Texts remembered for each host, to tell near-duplicates in a row.
const RECENT_TEXTS: usize = 4;

/// Puts on disk what it is given.
pub struct Archivist {
    store: Store,
    archive: Option<Archive>,
    traps: Traps,
    recent: HashMap<u32, VecDeque<TextPrint>>,
    /// The origins of hosts the keeper knows.
    told_hosts: u32,
    /// Pages counted when the traps were last kept.
    kept_traps: u32,
    keep: Keep,
    weights: LinkWeights,
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
            keep: Keep::default(),
            weights: LinkWeights::default(),
        }
    }

    /// Takes old versions out of the archive once a day.
    #[must_use]
    pub fn keeping(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    /// Counts links, and tells how much pages matter for them.
    #[must_use]
    pub fn weighing(self, weights: LinkWeights) -> Self {
        Self { weights, ..self }
    }

    /// Works until nobody can send any more, then closes the store.
    pub(crate) fn run(mut self, inbox: &Receiver<Write>, keeper: &Sender<Heard>) {
        let mut pruned = Instant::now();
        while let Ok(first) = inbox.recv() {
            if pruned.elapsed() >= DAY {
                pruned = Instant::now();
                self.prune();
            }
            let began = Instant::now();
            let more = inbox.try_iter().take(BATCH - 1);
            let gathered: Vec<Write> = std::iter::once(first).chain(more).collect();
            // nobody listens any more when all ends
            match self.write(gathered) {
                Ok(stored) => {
                    let _ = keeper.send(Heard::Event(Event::Stored(stored)));
                }
                Err(error) => {
                    let _ = keeper.send(Heard::Event(Event::Broken(error.to_string())));
                    return;
                }
            }
            if self.store.page_count() - self.kept_traps >= KEEP_TRAPS {
                self.keep_traps();
            }
            self.weights.keep(&self.store, false);
            std::thread::sleep(PACE.saturating_sub(began.elapsed()));
        }
        self.keep_traps();
        self.weights.keep(&self.store, true);
    }

    fn prune(&mut self) {
        let Some(archive) = &mut self.archive else {
            return;
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_millis() as storage::Time);
        match prune(archive, &mut self.store, &self.keep, now) {
            Ok(pruned) => tracing::info!(?pruned, "old versions were taken out"),
            Err(error) => tracing::warn!(%error, "old versions cannot be taken out"),
        }
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
        for write in gathered {
            match write {
                Write::Visited(visited) => self.take(*visited, &mut batch, &mut stored)?,
                Write::Links(links) => {
                    self.admit(&links, false, &mut stored)?;
                    stored.lists += 1;
                }
                Write::Wanted(pages) => {
                    let pages = self.admit(&pages, false, &mut stored)?;
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
                Write::Host { host, blob } => batch.hosts.push((HostId(host), blob)),
                Write::Learnt(record) => batch.learnt = Some(record),
                Write::Moved { of, to, hops } => {
                    let host = self.store.host(&to[..url::Position::BeforePath])?;
                    stored.moved.push((of, to, hops, host));
                    stored.lists += 1;
                }
            }
        }
        if let Some(archive) = &mut self.archive {
            archive.sync()?;
        }
        self.store.commit(&batch)?;
        for host in self.told_hosts..self.store.host_count() {
            stored.hosts.push(self.store.host_row(HostId(host))?.name);
        }
        self.told_hosts = self.store.host_count();
        Ok(stored)
    }

    fn take(
        &mut self,
        visited: Visited,
        batch: &mut Batch,
        stored: &mut Stored,
    ) -> storage::Result<()> {
        let Visited {
            done,
            mut row,
            status,
            millis: took,
            bytes,
            record,
            request,
            links,
            redirect,
            print,
        } = visited;
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
        if let Some((print, url)) = print {
            let near = self.is_near_duplicate(done.host, print);
            let origin = &url[..url::Position::BeforePath];
            let halved = self.traps.note_content(origin, &url, near);
            if !halved.is_empty() {
                stored.halved.push((done.host, halved));
            }
        }
        let changed =
            matches!(done.result, VisitResult::Copy { outcome, .. } if outcome == Outcome::Changed);
        let mut weight = None;
        if redirect {
            let target = self.redirected(done.page, row.as_ref(), &links, stored)?;
            if let Some(row) = &mut row {
                row.redirect_to = target;
            }
        } else {
            let pages = self.admit(&links, changed, stored)?;
            if self.weights.matter() {
                weight = self.weigh(&done, &links, &pages)?;
            }
        }
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
        Ok(())
    }

    /// Admits what is not known and leads into no trap; for each its page. What a page that
    /// changed embeds is asked for again.
    fn admit(
        &mut self,
        links: &[Found],
        changed: bool,
        stored: &mut Stored,
    ) -> storage::Result<Vec<Option<PageId>>> {
        let mut pages = Vec::with_capacity(links.len());
        let mut last: Option<(&str, HostId)> = None;
        for link in links {
            if let Some(known) = self.store.find(&link.key) {
                stored.signals.extend(link.changed.map(|at| (known, at)));
                if changed && link.depth == REQUISITE && self.is_old_requisite(known, link.at)? {
                    stored.again.push(known);
                }
                pages.push(Some(known));
                continue;
            }
            let origin = link.origin();
            if self.traps.admit(origin, &link.url).is_err() {
                stored.trapped += 1;
                pages.push(None);
                continue;
            }
            let host = match last {
                Some((name, host)) if name == origin => host,
                _ => self.store.host(origin)?,
            };
            last = Some((origin, host));
            let candidate = Candidate {
                key: &link.key,
                url: link.url.as_str(),
                host,
                depth: link.depth,
                from: link.from,
                at: link.at,
            };
            let admission = self.store.admit(&[candidate])?[0];
            if let Admission::New(page) = admission {
                stored.pages.push((page, host));
                if link.depth == REQUISITE {
                    stored.requisites.push(page);
                }
            }
            pages.push(Some(admission.page()));
        }
        Ok(pages)
    }

    /// Counts the links of a page that was fetched for the first time, and says how much it matters itself.
    fn weigh(
        &mut self,
        done: &Done,
        links: &[Found],
        pages: &[Option<PageId>],
    ) -> storage::Result<Option<f64>> {
        let VisitResult::Copy { outcome, .. } = done.result else {
            return Ok(None);
        };
        if outcome == Outcome::FirstSeen {
            let own = if self.weights.are_from_other_hosts() {
                self.store.host_row(HostId(done.host))?.name
            } else {
                String::new()
            };
            let counts = |link: &Found| link.depth != REQUISITE && link.origin() != own;
            let counted = links.iter().zip(pages).filter(|(link, _)| counts(link));
            let to = counted.filter_map(|(_, page)| *page).collect();
            self.weights.count(done.page, to);
        }
        Ok(Some(done.terms.rank.weight * self.weights.of(done.page)))
    }

    /// The page that a redirect leads to. Redirects that lead to ever new redirects are a trap: at
    /// the end of a long chain, and from the second visit on within one, only known pages are
    /// followed.
    fn redirected(
        &mut self,
        page: PageId,
        row: Option<&PageRow>,
        target: &[Found],
        stored: &mut Stored,
    ) -> storage::Result<Option<PageId>> {
        let before = offline::redirects_before(self.store.reader(), page)?;
        let again = row.is_some_and(|row| row.visits > 1);
        let ends = before >= offline::MOST_REDIRECTS || before > 0 && again;
        if ends && let Some(link) = target.first() {
            let known = self.store.find(&link.key);
            stored.trapped += u64::from(known.is_none());
            return Ok(known);
        }
        Ok(self
            .admit(target, false, stored)?
            .first()
            .copied()
            .flatten())
    }

    /// Whether it is a requisite that was not asked for lately: many pages share one.
    fn is_old_requisite(&self, page: PageId, now: Time) -> storage::Result<bool> {
        if !self.store.address(page)?.is_requisite() {
            return Ok(false);
        }
        let row = self.store.page(page)?;
        let tried = row.and_then(|row| row.last_visit.max(row.last_failure.map(|(at, _)| at)));
        Ok(tried.is_some_and(|tried| now - tried >= REQUISITES_AGAIN))
    }

    fn is_near_duplicate(&mut self, host: u32, print: TextPrint) -> bool {
        let recent = self.recent.entry(host).or_default();
        let near = recent
            .iter()
            .any(|&other| other.compare(print) != parse::Sameness::Different);
        if recent.len() == RECENT_TEXTS {
            recent.pop_front();
        }
        recent.push_back(print);
        near
    }
}

#[cfg(test)]
mod tests;
