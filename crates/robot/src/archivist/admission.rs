//! Which of the links that were found become pages: what is new and leads into no trap.

use super::{Archivist, MOST_HALVED};
use crate::message::{Done, Found, Stored, VisitResult};
use crate::offline;
use frontier::order::Traits;
use frontier::trap::Halved;
use parse::TextPrint;
use storage::{Admission, Candidate, HostId, Outcome, PageId, PageRow, REQUISITE, Time};
use url::Url;

/// Milliseconds between two requests for what changed pages embed.
const REQUISITES_AGAIN: Time = 3_600_000;
/// Texts remembered for each host, to tell near-duplicates in a row.
const RECENT_TEXTS: usize = 4;

/// Who says that there are pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// One that links to them.
    Page,
    /// One that links to them and has changed: what it embeds is asked for again.
    ChangedPage,
    /// Those who crawl. They want a page that they name, whatever its URL looks like.
    People,
}

impl Archivist {
    /// Where caps were lowered at a host.
    pub(super) fn halved_at(&mut self, host: HostId) -> &mut Vec<Halved> {
        if !self.halved.contains_key(&host) {
            let kept = self.kept(host).halved;
            self.halved.insert(host, kept);
        }
        self.halved.get_mut(&host).expect("just put there")
    }

    /// A first text: whether it lowers caps. What is known of traps must outlive us.
    pub(super) fn note_text(&mut self, host: HostId, print: TextPrint, url: &Url) -> bool {
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

    /// Admits what is not known and leads into no trap; for each its page.
    pub(super) fn admit(
        &mut self,
        links: &[Found],
        source: Source,
        stored: &mut Stored,
    ) -> storage::Result<Vec<Option<PageId>>> {
        let mut pages = Vec::with_capacity(links.len());
        let mut last: Option<(&str, HostId)> = None;
        for link in links {
            if let Some(known) = self.store.find(&link.key) {
                stored.signals.extend(link.changed.map(|at| (known, at)));
                if source == Source::ChangedPage
                    && link.depth == REQUISITE
                    && self.is_old_requisite(known, link.at)?
                {
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
            if source == Source::People {
                self.traps.restore(origin, &link.url);
            } else if self.traps.admit(origin, &link.url).is_err() {
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
                } else {
                    self.describe(page, link.url.as_str(), link.at, stored);
                }
            }
            pages.push(Some(admission.page()));
        }
        Ok(pages)
    }

    /// Says what the URL of a page without a visit tells of it, where that decides when it is visited.
    pub(super) fn describe(&self, page: PageId, url: &str, found: Time, stored: &mut Stored) {
        if self.ranks.go_by_urls() {
            stored.traits.push((page, Traits::of(url), found));
        }
    }

    /// Hands on to the pages it links to what speaks for a page that was read.
    pub(super) fn rank(
        &mut self,
        done: &Done,
        links: &[Found],
        pages: &[Option<PageId>],
        stored: &mut Stored,
    ) {
        let VisitResult::Copy { outcome, .. } = done.result else {
            return;
        };
        let first = outcome == Outcome::FirstSeen;
        if first || outcome == Outcome::Changed {
            let pages = links
                .iter()
                .zip(pages)
                .filter(|(link, _)| link.depth != REQUISITE);
            let to = pages.filter_map(|(_, page)| *page).collect();
            stored.raised.extend(self.ranks.links(done.page, first, to));
        }
    }

    /// Counts the links of a page that was fetched for the first time, and says how much it matters itself.
    pub(super) fn weigh(
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
    pub(super) fn redirected(
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
            .admit(target, Source::Page, stored)?
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
