//! The truth about a crawl: how fresh its copies really were, by the server's record alone, and
//! what could have been had.

use super::{build::Page, build::Web, clock::Clock, listings, politeness::Rules, record::Visit};
use crate::small_web::Kind;
use freshness::allocate::{self, Pages, Problem};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    net::Ipv4Addr,
    ops::Deref,
};

/// What a client has taken from a web. Times are days of web time.
#[derive(Clone, Debug)]
pub struct Audit<'a> {
    web: &'a Web,
    clock: Clock,
    /// All pages, then the sitemaps and feeds that were copied: a client that keeps them keeps them fresh or not.
    documents: Vec<Cow<'a, Page>>,
    /// When each document was copied, ascending.
    copies: Vec<Vec<f64>>,
    /// When documents that count were asked for, ascending.
    requests: Vec<f64>,
}

/// True freshness over a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Of all documents that count: the share of their time during which there was a copy and it equalled
    /// the page. A page counts while it exists and robots.txt lets it be fetched.
    pub freshness: f64,
    /// Pages that count at some time of the period.
    pub pages: usize,
    /// The same by the way in which pages change.
    pub by_kind: BTreeMap<Kind, Part>,
}

/// The share of one kind of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// How many pages there are.
    pub pages: usize,
    /// Their freshness.
    pub freshness: f64,
}

/// What a budget can buy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The most freshness with known rates, politeness left aside, if all changes were Poisson.
    pub impolite: f64,
    /// The same within politeness: POLITE.
    pub polite: f64,
    /// The freshness, on the changes that really happened, of visiting every page equally often
    /// and evenly spaced, so far as politeness allows.
    pub uniform: f64,
}

impl<'a> Audit<'a> {
    /// Reads a record. Only a whole 200 makes a copy: a 304 leaves it as it is, be it true or not.
    pub fn new(web: &'a Web, clock: Clock, visits: &[Visit]) -> Self {
        let mut documents: Vec<Cow<Page>> = web.pages.iter().map(Cow::Borrowed).collect();
        let mut copies = vec![Vec::new(); web.pages.len()];
        let mut requests = Vec::new();
        let mut listings: HashMap<(&str, &str), usize> = HashMap::new();
        for visit in visits {
            let (host, path) = (&*visit.host, &*visit.path);
            let known = web
                .find(host, path)
                .or_else(|| listings.get(&(host, path)).copied());
            let listing = || {
                let found = listings::document(web, web.host(host)?, path, &clock)?;
                documents.push(Cow::Owned(found));
                copies.push(Vec::new());
                listings.insert((host, path), copies.len() - 1);
                Some(copies.len() - 1)
            };
            let copied = || visit.complete.then(listing).flatten();
            let Some(number) = known.or_else(copied) else {
                continue;
            };
            let at = clock.web(visit.start);
            if visit.complete {
                copies[number].push(at);
            }
            if documents[number].allowed {
                requests.push(at);
            }
        }
        for times in copies.iter_mut().chain(std::iter::once(&mut requests)) {
            times.sort_by(f64::total_cmp);
        }
        Self {
            web,
            clock,
            documents,
            copies,
            requests,
        }
    }

    /// The document at a path, if it is a page, or a listing that was copied.
    pub fn find(&self, host: &str, path: &str) -> Option<usize> {
        self.web.find(host, path).or_else(|| {
            let host = self.web.host(host)?;
            let mut listings = self.documents.iter().skip(self.web.pages.len());
            let at = listings.position(|page| page.host == host && page.path == path)?;
            Some(self.web.pages.len() + at)
        })
    }

    /// All pages, then the listings that were copied.
    pub fn documents(&self) -> &[Cow<'a, Page>] {
        &self.documents
    }

    /// When a document was copied, ascending.
    pub fn copies(&self, document: usize) -> &[f64] {
        &self.copies[document]
    }

    /// Requests for pages that count in a period, whatever the answer.
    pub fn requests(&self, from: f64, until: f64) -> usize {
        let before = |at: f64| self.requests.partition_point(|&request| request < at);
        before(until) - before(from)
    }

    /// Pages that count of which there is a copy at an instant.
    pub fn known(&self, at: f64) -> usize {
        self.counted()
            .filter(|(page, copies)| page.allowed && copies.first().is_some_and(|&copy| copy <= at))
            .count()
    }

    /// True freshness at an instant.
    pub fn freshness_at(&self, at: f64) -> f64 {
        let (mut fresh, mut all) = (0usize, 0usize);
        for (page, copies) in self.counted() {
            if window(page, at, at.next_up()).is_empty() {
                continue;
            }
            let taken = copies.partition_point(|&copy| copy <= at);
            let taken = taken.checked_sub(1).map(|last| copies[last]);
            all += 1;
            fresh +=
                usize::from(taken.is_some_and(|taken| page.version(taken) == page.version(at)));
        }
        share(fresh as f64, all as f64)
    }

    fn counted(&self) -> impl Iterator<Item = (&Page, &Vec<f64>)> {
        self.documents.iter().map(Deref::deref).zip(&self.copies)
    }

    /// True freshness over a period.
    pub fn freshness(&self, from: f64, until: f64) -> Truth {
        truth(
            self.counted()
                .map(|(page, copies)| (page, copies.iter().copied())),
            from,
            until,
        )
    }

    /// What `budget` requests a day of web time could have bought over a period, under these rules.
    pub fn bounds(
        &self,
        from: f64,
        until: f64,
        budget: f64,
        rules: &Rules,
    ) -> Result<Bounds, allocate::Error> {
        let counted: Vec<&Page> = self
            .documents
            .iter()
            .map(Deref::deref)
            .filter(|page| !window(page, from, until).is_empty())
            .collect();
        let (server, caps) = self.servers(&counted, rules);
        let rate: Vec<f64> = counted.iter().map(|page| page.rate).collect();
        let weight: Vec<f64> = counted
            .iter()
            .map(|page| window(page, from, until).length() / (until - from))
            .collect();
        let problem = Problem {
            pages: Pages {
                rate: &rate,
                weight: Some(&weight),
            },
            server: &server,
            caps: &caps,
            budget: budget.min(caps.iter().sum()),
        };
        let (impolite, polite) = allocate::bounds(&problem)?;
        let frequency = uniform(&server, &caps, problem.budget);
        let visited = counted.iter().enumerate().map(|(k, &page)| {
            // as many phases as pages, spread by the golden ratio
            let phase = (k as f64 * 0.618_033_988_749_895).fract();
            (page, evenly(frequency[k], phase, from, until))
        });
        Ok(Bounds {
            impolite,
            polite,
            uniform: truth(visited, from, until).freshness,
        })
    }

    /// The address of each page as a number, and the requests a day that each address takes: as many
    /// as its own delay allows, or its hosts together if that is less.
    fn servers(&self, pages: &[&Page], rules: &Rules) -> (Vec<u32>, Vec<f64>) {
        let per_day = |delay: f64| 1.0 / self.clock.days(delay);
        let mut numbers: HashMap<Ipv4Addr, u32> = HashMap::new();
        let mut by_hosts: Vec<f64> = Vec::new();
        let host_numbers: Vec<u32> = self
            .web
            .hosts
            .iter()
            .map(|host| {
                let next = by_hosts.len() as u32;
                let number = *numbers.entry(host.address).or_insert(next);
                if number == next {
                    by_hosts.push(0.0);
                }
                let asked = rules.crawl_delay.get(&host.name).copied().unwrap_or(0.0);
                by_hosts[number as usize] += per_day(rules.host_delay.max(asked));
                number
            })
            .collect();
        let caps = by_hosts
            .iter()
            .map(|&cap| cap.min(per_day(rules.address_delay)));
        let server = pages.iter().map(|page| host_numbers[page.host]);
        (server.collect(), caps.collect())
    }
}

/// A period, perhaps empty.
#[derive(Clone, Copy)]
struct Window {
    from: f64,
    until: f64,
}

impl Window {
    fn is_empty(self) -> bool {
        self.from >= self.until
    }

    fn length(self) -> f64 {
        (self.until - self.from).max(0.0)
    }
}

/// When a page counts.
fn window(page: &Page, from: f64, until: f64) -> Window {
    Window {
        from: from.max(page.open_from),
        until: if page.allowed {
            until.min(page.gone_at)
        } else {
            from
        },
    }
}

fn truth<'a, C: Iterator<Item = f64>>(
    pages: impl Iterator<Item = (&'a Page, C)>,
    from: f64,
    until: f64,
) -> Truth {
    let mut sums: BTreeMap<Kind, (usize, f64, f64)> = BTreeMap::new();
    for (page, copies) in pages {
        let window = window(page, from, until);
        if !window.is_empty() {
            let sum = sums.entry(page.kind).or_default();
            sum.0 += 1;
            sum.1 += fresh_time(&page.changes, copies, window.from, window.until);
            sum.2 += window.length();
        }
    }
    let all = sums
        .values()
        .fold((0, 0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
    let part = |&(pages, fresh, time): &(usize, f64, f64)| Part {
        pages,
        freshness: share(fresh, time),
    };
    Truth {
        freshness: share(all.1, all.2),
        pages: all.0,
        by_kind: sums.iter().map(|(&kind, sum)| (kind, part(sum))).collect(),
    }
}

/// No pages at all are as fresh as can be.
fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 1.0 }
}

/// How long in `[from, until)` the last copy equalled the page; both lists ascend. A copy taken at
/// the very instant of a change is of the changed page.
fn fresh_time(changes: &[f64], copies: impl Iterator<Item = f64>, from: f64, until: f64) -> f64 {
    let mut fresh = 0.0;
    let mut copies = copies.take_while(|&copy| copy < until).peekable();
    while let Some(copy) = copies.next() {
        let replaced = copies.peek().copied().unwrap_or(until);
        if replaced > from {
            let next = changes.partition_point(|&change| change <= copy);
            let stale = changes.get(next).copied().unwrap_or(f64::INFINITY);
            fresh += (stale.min(replaced) - copy.max(from)).max(0.0);
        }
    }
    fresh
}

/// Visits a day of each page when all are visited equally often, so far as the caps allow; what full
/// servers leave over goes to the others.
fn uniform(server: &[u32], caps: &[f64], budget: f64) -> Vec<f64> {
    let mut count = vec![0.0; caps.len()];
    for &server in server {
        count[server as usize] += 1.0;
    }
    let mut order: Vec<usize> = (0..caps.len()).filter(|&s| count[s] > 0.0).collect();
    order.sort_by(|&a, &b| (caps[a] / count[a]).total_cmp(&(caps[b] / count[b])));
    let (mut left, mut pages) = (budget, server.len() as f64);
    let mut frequency = vec![0.0; caps.len()];
    for s in order {
        frequency[s] = (caps[s] / count[s]).min(left / pages);
        left -= frequency[s] * count[s];
        pages -= count[s];
    }
    server.iter().map(|&s| frequency[s as usize]).collect()
}

/// Evenly spaced visits that cover a period: the first is before it.
fn evenly(frequency: f64, phase: f64, from: f64, until: f64) -> impl Iterator<Item = f64> {
    let count = if frequency > 0.0 {
        ((until - from) * frequency).ceil() as u64 + 2
    } else {
        0
    };
    (0..count).map(move |k| from + (k as f64 - 1.0 + phase) / frequency)
}

#[cfg(test)]
mod tests;
