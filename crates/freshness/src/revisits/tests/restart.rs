//! A run that goes on, and one that starts again from what was written down.

use super::super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};

const PAGES: u32 = 240;
const DELAYS: [f64; 4] = [0.5, 2.0, 0.1, 5.0];
const BUDGET: f64 = 2.0;

/// A crawler and its web, which decides all that is not the policy's.
#[derive(Clone)]
struct Crawler {
    now: f64,
    changes: Vec<Vec<f64>>,
    last: Vec<f64>,
    /// Pages to be tried again, by the time.
    retries: BTreeSet<(u64, PageId)>,
    /// As they were written at the last word about each page.
    memos: BTreeMap<PageId, Vec<u8>>,
    delays: [f64; 4],
    words: u64,
}

fn host(page: PageId) -> HostId {
    HostId(page.0 * page.0 % 4)
}

impl Crawler {
    fn new() -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let changes = (0..PAGES).map(|_| {
            let rate = 10f64.powf(rng.random_range(-4.0..-1.0));
            let mut at = 0.0;
            std::iter::from_fn(|| {
                at += -(1.0 - rng.random::<f64>()).ln() / rate;
                (at < 20_000.0).then_some(at)
            })
            .collect()
        });
        Self {
            now: 0.0,
            changes: changes.collect(),
            last: vec![0.0; PAGES as usize],
            retries: BTreeSet::new(),
            memos: BTreeMap::new(),
            delays: DELAYS,
            words: 0,
        }
    }

    fn answer(&mut self, revisits: &mut Revisits, page: PageId) {
        let at = self.now;
        self.words += 1;
        let chance = self.words.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        match chance {
            0..10 => {
                revisits.failed(page, at);
                self.retries.insert(((at + 30.0).to_bits(), page));
            }
            10..20 => revisits.postponed(page, at),
            _ => {
                let last = std::mem::replace(&mut self.last[page.index()], at);
                let changes = &self.changes[page.index()];
                let newest = changes
                    .iter()
                    .rfind(|&&change| change > last && change <= at);
                let outcome = match newest {
                    Some(&newest) if chance.is_multiple_of(2) => Outcome::LastModified(newest),
                    Some(_) => Outcome::Changed,
                    None => Outcome::Unchanged,
                };
                revisits.visited(page, at, outcome);
            }
        }
        self.memos.insert(page, revisits.memo(page));
        if chance % 16 == 3 {
            let other = PageId((self.words * 31 % u64::from(PAGES)) as u32);
            if revisits.keeps(other) {
                revisits.signal(at, other);
                self.memos.insert(other, revisits.memo(other));
            }
        }
        if chance % 16 == 5 {
            let host = HostId((self.words % 4) as u32);
            let delay = DELAYS[host.index()] * (0.5 + (chance as f64) / 128.0);
            self.delays[host.index()] = delay;
            revisits.set_delay(at, host, Seconds(delay));
        }
        if chance % 64 == 7 {
            // one goes, and one that went comes back
            let number = |word: u64| PageId((word % 60) as u32);
            let (gone, back) = (number(self.words), number(self.words + 7));
            revisits.drop_page(gone, at);
            self.memos.remove(&gone);
            if !revisits.keeps(back) {
                self.last[back.index()] = at;
                revisits.keep(at, back, host(back), 1.0, at, None);
                self.memos.insert(back, revisits.memo(back));
            }
        }
    }

    /// Which pages are visited next, and when.
    fn run(&mut self, revisits: &mut Revisits, visits: usize) -> Vec<(PageId, f64)> {
        let mut made = Vec::new();
        while made.len() < visits {
            if let Some(&(at, page)) = self.retries.first()
                && f64::from_bits(at) <= self.now
            {
                self.retries.pop_first();
                if revisits.keeps(page) {
                    self.answer(revisits, page);
                }
                continue;
            }
            match revisits.next(self.now) {
                Next::Visit(page) => {
                    made.push((page, self.now));
                    self.answer(revisits, page);
                }
                Next::Wait(at) => {
                    let retry = self.retries.first();
                    let retry = retry.map_or(f64::INFINITY, |&(at, _)| f64::from_bits(at));
                    self.now = at.max(self.now.next_up()).min(retry.max(self.now));
                }
                Next::Idle => panic!("nothing to do at {}", self.now),
            }
        }
        made
    }

    fn start(&mut self, name: &str) -> Revisits {
        let mut revisits = Revisits::new(name, 0.0, 1e-2, 1, None).unwrap();
        revisits.set_budget(0.0, BUDGET);
        for delay in DELAYS {
            revisits.add_host(0.0, Seconds(delay));
        }
        for page in (0..PAGES).map(PageId) {
            revisits.keep(0.0, page, host(page), 1.0, 0.0, None);
            self.memos.insert(page, revisits.memo(page));
        }
        revisits
    }

    fn restart(&self, name: &str, learnt: &[u8]) -> Revisits {
        let mut revisits = Revisits::new(name, self.now, 1e-2, 1, Some(learnt)).unwrap();
        revisits.set_budget(self.now, BUDGET);
        for delay in self.delays {
            revisits.add_host(self.now, Seconds(delay));
        }
        for (&page, memo) in &self.memos {
            revisits.keep(self.now, page, host(page), 1.0, self.now, Some(memo));
        }
        for &(_, page) in &self.retries {
            revisits.failed(page, self.now);
        }
        revisits
    }
}

/// One goes on, the other starts again from what was written down, at instants that nobody chose and
/// again and again: whatever policy a crawl may use, nothing tells them apart.
#[test]
fn restarts_leave_due_times_beliefs_and_decisions_as_they_were() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    for name in names() {
        for _ in 0..4 {
            let mut crawler = Crawler::new();
            let mut going_on = crawler.start(&name);
            crawler.run(&mut going_on, rng.random_range(1..3000));
            let mut same = crawler.clone();
            let mut restarted = same.restart(&name, &going_on.learnt());
            for _ in 0..4 {
                alike(&name, &crawler, &going_on, &restarted);
                let longest = crawler.memos.values().map(Vec::len).max();
                assert!(longest <= Some(103), "no room in a row: {longest:?}");
                let visits = rng.random_range(1..600);
                let expected = crawler.run(&mut going_on, visits);
                let found = same.run(&mut restarted, visits);
                for (k, (expected, found)) in expected.iter().zip(&found).enumerate() {
                    assert_eq!(expected.0, found.0, "{name}, decision {k}");
                    assert!((expected.1 - found.1).abs() < 1e-6);
                }
                restarted = same.restart(&name, &restarted.learnt());
            }
        }
    }
}

fn alike(name: &str, crawler: &Crawler, going_on: &Revisits, restarted: &Revisits) {
    for page in (0..PAGES).map(PageId) {
        let (old, new) = (going_on.belief(page), restarted.belief(page));
        assert_eq!(old.is_some(), new.is_some(), "{page:?}");
        let (Some(old), Some(new)) = (old, new) else {
            continue;
        };
        assert_eq!((old.visits, old.last_visit), (new.visits, new.last_visit));
        assert_eq!(old.rate, new.rate);
        let fresh = |revisits: &Revisits| revisits.chance_fresh(page, crawler.now + 9.0);
        assert_eq!(fresh(going_on), fresh(restarted));
        let (old, new) = (going_on.due(page).unwrap(), restarted.due(page).unwrap());
        assert!((old - new).abs() < 1e-6, "{name} {page:?}: {old} {new}");
    }
    // how much pages change together, which no page tells
    let stated = |revisits: &Revisits| revisits.estimated(crawler.now + 9.0, usize::MAX);
    assert_eq!(stated(going_on), stated(restarted));
}
