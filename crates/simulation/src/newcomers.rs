//! Pages that come to be: first visits in one order or another, revisits by the default policy.
//!
//! The robot's own division of labour. A page can be visited from the instant at which it is made, waits for its first
//! visit among others, and is the policy's from then on; new pages come before revisits. Freshness is that of pages
//! that are there: one that was not visited yet is out of date.

use freshness::policy::{Change, Knowledge, Next, Outcome, Policy, Setup, build};
use freshness::{PageId, ServerId};
use frontier::order::{Lasting, Trait, Traits};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

const SECONDS: f64 = 86_400.0;
/// Days between two changes of a page of which nothing is known, as a crawl guesses.
const GUESS: f64 = 7.0;

/// A site and all that becomes of it.
#[derive(Clone, Debug)]
pub struct Site {
    /// URLs, or paths that begin with their site.
    pub urls: Vec<String>,
    /// What else is known of each page when it is found; empty where that is nothing.
    pub columns: Vec<Vec<String>>,
    /// When each page is made, and then changes: days, ascending, and at least one.
    pub changes: Vec<Vec<f64>>,
}

/// Which page is visited first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Any of those that wait.
    Random,
    /// The one that was made first.
    BreadthFirst,
    /// The one that is expected to last: [`Lasting`].
    Lasting,
}

impl Site {
    /// The first instant and the last.
    pub fn period(&self) -> (f64, f64) {
        let all = || self.changes.iter().flatten().copied();
        (
            all().fold(f64::INFINITY, f64::min),
            all().fold(0.0, f64::max),
        )
    }

    fn visits(&self, per_change: f64) -> usize {
        (per_change * self.changes.iter().map(Vec::len).sum::<usize>() as f64) as usize
    }

    /// For how long pages are there, in all.
    fn life(&self) -> f64 {
        let (_, until) = self.period();
        self.changes.iter().map(|at| until - at[0]).sum()
    }

    /// Freshness with so many visits per change, spread evenly; visits tell when a page last changed.
    pub fn visited(&self, per_change: f64, first: First, seed: u64) -> f64 {
        let (from, until) = self.period();
        let visits = self.visits(per_change);
        let step = (until - from) / visits.max(1) as f64;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut to_come: Vec<usize> = (0..self.urls.len()).collect();
        // pages that are made together are found in any order
        to_come.shuffle(&mut rng);
        to_come.sort_by(|&a, &b| self.changes[a][0].total_cmp(&self.changes[b][0]));
        let mut to_come = to_come.into_iter().peekable();
        let mut crawl = Crawl {
            site: self,
            until,
            policy: build("default", &nothing_known(1.0 / step, from, seed)).expect("it is there"),
            lasting: Lasting::new(seed),
            visited: Vec::new(),
            last: Vec::new(),
            fresh: 0.0,
        };
        let mut waiting = VecDeque::new();
        for visit in 0..visits {
            let now = from + (visit as f64 + 0.5) * step;
            while let Some(page) = to_come.next_if(|&page| self.changes[page][0] <= now) {
                let (url, made) = (&self.urls[page], self.changes[page][0]);
                let page = ground::PageId(page as u32);
                (crawl.lasting).describe(page, Traits::of(url), made * SECONDS);
                if let Some(fields) = self.columns.get(page.index()) {
                    let fields = fields.iter().enumerate();
                    let traits = fields.filter_map(|(k, field)| Trait::of_column(k, field));
                    crawl.lasting.describe_more(page, traits.collect());
                }
                waiting.push_back(page);
            }
            if waiting.is_empty() {
                crawl.visit_again(now, now + step);
                continue;
            }
            let at = match first {
                First::Random => rng.random_range(0..waiting.len()),
                First::BreadthFirst => 0,
                First::Lasting => crawl.lasting.choose(&waiting, now * SECONDS),
            };
            let page = waiting.remove(at).expect("it waits");
            crawl.visit_first(page, now);
        }
        crawl.fresh / self.life()
    }

    /// Freshness with as many visits, evenly spaced for each page from a random offset, as often as is best (CHO) for
    /// the rates that pages turn out to have while they are there. One that never changes has half a change.
    pub fn in_hindsight(&self, per_change: f64, seed: u64) -> f64 {
        let (_, until) = self.period();
        let visits = self.visits(per_change) as f64;
        let pages: Vec<(f64, f64)> = (self.changes.iter())
            .map(|at| {
                let life = (until - at[0]).max(f64::MIN_POSITIVE);
                ((at.len() as f64 - 1.0).max(0.5) / life, life)
            })
            .collect();
        let spent = |price: f64| -> f64 {
            let own = pages.iter().map(|&(rate, life)| life * often(rate, price));
            own.sum()
        };
        let price = bisect(1e-9, 1e9, |price| spent(price) > visits);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut fresh = 0.0;
        for (at, &(rate, _)) in self.changes.iter().zip(&pages) {
            let often = often(rate, price);
            if often == 0.0 {
                continue;
            }
            let mut now = at[0] + rng.random::<f64>() / often;
            while now < until {
                let next = at.partition_point(|&change| change <= now);
                let change = at.get(next).copied().unwrap_or(until);
                fresh += change.min(until).min(now + 1.0 / often) - now;
                now += 1.0 / often;
            }
        }
        fresh / self.life()
    }
}

/// Visits a day to a page of that rate where fresh time has that price: `1 − (1 + r)e^−r = price · rate`.
fn often(rate: f64, price: f64) -> f64 {
    if price * rate >= 1.0 {
        return 0.0;
    }
    let gain = |r: f64| 1.0 - (1.0 + r) * (-r).exp();
    rate / bisect(1e-9, 100.0, |r| gain(r) < price * rate)
}

/// Where something that is true below ends, between two positive numbers.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..80 {
        let middle = (low * high).sqrt();
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn nothing_known(budget: f64, start: f64, seed: u64) -> Setup<'static> {
    Setup {
        server: &[],
        weight: None,
        delay: &[0.0],
        budget,
        start,
        seed,
        knowledge: Knowledge::Online { guess: 1.0 / GUESS },
    }
}

struct Crawl<'s> {
    site: &'s Site,
    until: f64,
    policy: Box<dyn Policy>,
    lasting: Lasting,
    /// Pages in the order of their first visits, which is how the policy numbers them.
    visited: Vec<ground::PageId>,
    last: Vec<f64>,
    fresh: f64,
}

impl Crawl<'_> {
    /// The last change and the next one.
    fn around(&self, page: ground::PageId, now: f64) -> (f64, f64) {
        let at = &self.site.changes[page.index()];
        let next = at.partition_point(|&change| change <= now);
        (at[next - 1], at.get(next).copied().unwrap_or(self.until))
    }

    fn visit_first(&mut self, page: ground::PageId, now: f64) {
        let (modified, until) = self.around(page, now);
        self.fresh += until - now;
        let age = (now - modified) * SECONDS;
        self.lasting.found(page, now * SECONDS, age);
        let number = PageId(self.visited.len() as u32);
        self.visited.push(page);
        self.last.push(now);
        self.policy.change(
            now,
            Change::AddPage {
                page: number,
                server: ServerId(0),
                weight: 1.0,
                known: None,
                visited: Some(now),
            },
        );
    }

    /// The page that the policy wants, if it wants one before the next visit.
    fn visit_again(&mut self, mut now: f64, before: f64) {
        let page = loop {
            match self.policy.next(now) {
                Next::Visit(page) => break page,
                Next::Wait(at) if at < before => now = at.max(now),
                Next::Wait(_) | Next::Idle => return,
            }
        };
        let (modified, until) = self.around(self.visited[page.index()], now);
        let last = std::mem::replace(&mut self.last[page.index()], now);
        let outcome = if modified > last {
            self.fresh += until - now;
            Outcome::LastModified(modified)
        } else {
            Outcome::Unchanged
        };
        self.policy.observe(page, now, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages in a folder that changes daily and in one that changes yearly, made in the first days of a year.
    fn site(folders: bool) -> Site {
        let (mut urls, mut changes) = (Vec::new(), Vec::<Vec<f64>>::new());
        for page in 0..400 {
            let (folder, gap) = [("news", 1.0), ("archive", 400.0)][page % 2];
            let folder = if folders { folder } else { "all" };
            urls.push(format!("https://a.org/{folder}/{page}"));
            let made = page as f64 / 400.0 * 5.0;
            let at = (0..).map(|k| made + f64::from(k) * gap);
            changes.push(at.take_while(|&at| at <= 365.0).collect());
        }
        changes[0].push(365.0);
        let columns = Vec::new();
        Site {
            urls,
            columns,
            changes,
        }
    }

    #[test]
    fn what_lasts_is_visited_first_where_folders_tell() {
        let freshness = |folders, first| {
            let seeds = (1..=5).map(|seed| site(folders).visited(0.005, first, seed));
            seeds.sum::<f64>() / 5.0
        };
        let gain = freshness(true, First::Lasting) - freshness(true, First::Random);
        assert!(gain > 0.05, "{gain}");
        let gain = freshness(false, First::Lasting) - freshness(false, First::Random);
        assert!(gain.abs() < 0.03, "{gain}");
    }

    #[test]
    fn columns_tell_where_urls_do_not() {
        let freshness = |told: bool| {
            let mut site = site(false);
            if told {
                let section = |page: usize| ["7 words", "archive"][page % 2].to_owned();
                site.columns = (0..site.urls.len())
                    .map(|page| vec![section(page)])
                    .collect();
            }
            let seeds = (1..=5).map(|seed| site.visited(0.005, First::Lasting, seed));
            seeds.sum::<f64>() / 5.0
        };
        let gain = freshness(true) - freshness(false);
        assert!(gain > 0.05, "{gain}");
    }

    #[test]
    fn with_visits_enough_all_is_fresh_whatever_the_order() {
        for first in [First::Random, First::BreadthFirst, First::Lasting] {
            let freshness = site(true).visited(4.0, first, 1);
            assert!(freshness > 0.85, "{first:?}: {freshness}");
        }
    }

    #[test]
    fn hindsight_spends_as_many_visits_and_knows_whom_to_leave() {
        let site = site(true);
        // pages that last take a visit each and are fresh, the others are left alone
        let freshness = site.in_hindsight(0.01, 1);
        assert!((0.3..0.6).contains(&freshness), "{freshness}");
        assert!(site.in_hindsight(0.5, 1) > freshness);
    }
}
