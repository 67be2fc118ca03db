//! The archivist: puts on disk what workers found, admits links, and tells the keeper.
//!
//! It takes what has come in since the last batch, writes the archive records, admits
//! the links in memory, syncs the archive, and commits rows, observations and admissions in one
//! go. Only then does the keeper hear of it, so a crash fetches again rather than loses. While a
//! batch is being synced the next one gathers in the channel, which the keeper keeps from growing:
//! it hands out no more work while much waits to be stored.

mod daily;
mod fleet;

pub use fleet::SharedSeam;
pub(crate) use fleet::lock;

use crate::drive::Heard;
use crate::keeper::KeptHost;
use crate::link_weights::LinkWeights;
use crate::message::{Done, Event, Found, Stored, VisitResult, Visited, Write};
use crate::offline;
use crate::visit::millis;
use daily::Daily;
use frontier::trap::{Halved, Traps};
use parse::TextPrint;
use std::collections::{BTreeMap, HashMap, VecDeque, btree_map};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use storage::archive::{Archive, Keep};
use storage::{
    Admission, Batch, Candidate, HostId, Observation, Outcome, PageId, PageRow, PageState,
    REQUISITE, Store, Time,
};
use url::Url;

/// The most that goes into one batch.
const BATCH: usize = 512;
/// Batches are at least this far apart: a sync costs the same for one page as for many.
const PACE: Duration = Duration::from_millis(20);
/// Pages that are new since the traps were kept: so many URLs are read again after a crash.
const KEEP_TRAPS: u32 = 100_000;
/// Milliseconds between two requests for what changed pages embed.
const REQUISITES_AGAIN: Time = 3_600_000;
/// Texts remembered for each host, to tell near-duplicates in a row.
const RECENT_TEXTS: usize = 4;
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

    /// Works until nobody can send any more, then closes the store.
    pub(crate) fn run(mut self, inbox: &Receiver<Write>, keeper: &Sender<Heard>) {
        loop {
            let patience = self.daily.patience().min(self.weights.patience());
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
            if gathered.is_empty() {
                continue;
            }
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
            std::thread::sleep(PACE.saturating_sub(began.elapsed()));
        }
        self.keep_traps();
        self.weights.keep(&self.store, true);
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
                    self.admit(&links, false, &mut stored)?;
                    self.pass_on_strangers();
                    stored.lists += 1;
                }
                Write::Wanted(pages) => {
                    let pages = self.admit(&pages, false, &mut stored)?;
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
                } => exports.push(fleet::Export {
                    server,
                    token,
                    wait,
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
        let last = self.take_commits(&mut batch, &mut stored)?;
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

    /// Where caps were lowered at a host.
    fn halved_at(&mut self, host: HostId) -> &mut Vec<Halved> {
        if !self.halved.contains_key(&host) {
            let kept = self.kept(host).halved;
            self.halved.insert(host, kept);
        }
        self.halved.get_mut(&host).expect("just put there")
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
            let pages = self.admit(&links, changed, stored)?;
            if self.weights.matter() {
                weight = self.weigh(&done, &links, &pages)?;
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

    /// A first text: whether it lowers caps. What is known of traps must outlive us.
    fn note_text(&mut self, host: HostId, print: TextPrint, url: &Url) -> bool {
        let near = self.is_near_duplicate(host, print);
        let origin = &url[..url::Position::BeforePath];
        let lowered = self.traps.note_content(origin, url, near);
        if lowered.is_empty() {
            return false;
        }
        let known = self.halved_at(host);
        for new in lowered {
            if let Some(old) = known.iter_mut().find(|old| old.prefix == new.prefix) {
                *old = new;
            } else if known.len() < MOST_HALVED {
                known.push(new);
            }
        }
        true
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
            if let Some(member) = &mut self.member {
                // whoever owns it decides
                member.strangers.push(link.clone());
                pages.push(None);
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
                self.store.host_row(done.host)?.name
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
        redirects: usize,
        row: Option<&PageRow>,
        target: &[Found],
        stored: &mut Stored,
    ) -> storage::Result<Option<PageId>> {
        let again = row.is_some_and(|row| row.visits > 1);
        let ends = redirects > offline::MOST_REDIRECTS || redirects > 1 && again;
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

    fn is_near_duplicate(&mut self, host: HostId, print: TextPrint) -> bool {
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
