//! First visits to pages whose contents are expected to last.
//!
//! A page that was never visited tells nothing of itself but its URL. Others with parts of it were visited, and some had
//! a date: of a process that goes on as before, contents at a random time are as old as they will last. So the ages
//! found are explained, in logarithms, by a mean, by what each host, folder, extension and file name adds to it, and by
//! how long the page was known: what is new is often changed again soon. What is added, and how much each of these kinds
//! says at all, is not estimated but *sampled* from what the ages allow (Gibbs), and a visit goes to the best of a few
//! pages by such a sample (Thompson). So nothing is followed further than it is known, what says nothing is not
//! followed, and what is not known yet is tried.
//!
//! Where no date was seen, the page found first is visited first.

mod sampler;
mod traits;

pub use traits::{Trait, Traits};

use ground::PageId;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sampler::Sampler;
use std::collections::{BTreeMap, VecDeque};

/// A visit goes to the best of so many pages, drawn at random.
const CANDIDATES: usize = 64;
/// Every so many turns the page found first has one, so that nobody waits for ever.
const FAIR: u32 = 8;
/// Pages known for less, in seconds, are all new.
const NEW: f64 = 86_400.0;

/// A page that waits, or waited: what its URL says, and since when it was known.
#[derive(Clone, Copy, Debug)]
struct Known {
    traits: Traits,
    since: f64,
}

impl Known {
    /// Of which nothing was told.
    const NOTHING: Self = Self {
        traits: Traits::NONE,
        since: f64::INFINITY,
    };

    /// For how long, as a logarithm.
    fn time(self, now: f64) -> f64 {
        ((now - self.since) / NEW).max(1.0).ln()
    }
}

/// Chooses by what is known of how long contents last.
#[derive(Debug)]
pub struct Lasting {
    rng: Xoshiro256PlusPlus,
    known: Vec<Known>,
    /// What more is told of pages; robots are told nothing.
    more: BTreeMap<PageId, Vec<Trait>>,
    sampler: Sampler,
    turns: u32,
}

impl Lasting {
    /// So many ages are remembered, the latest.
    pub const MOST_AGES: usize = sampler::MOST_AGES;

    /// Nothing is known.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            known: Vec::new(),
            more: BTreeMap::new(),
            sampler: Sampler::default(),
            turns: 0,
        }
    }

    /// What a page's URL says, and since when the page is known.
    pub fn describe(&mut self, page: PageId, traits: Traits, since: f64) {
        if self.known.len() <= page.index() {
            self.known.resize(page.index() + 1, Known::NOTHING);
        }
        self.known[page.index()] = Known { traits, since };
    }

    /// What is known of a page besides its URL.
    pub fn describe_more(&mut self, page: PageId, traits: Vec<Trait>) {
        self.more.insert(page, traits);
    }

    /// The first visit to a page found contents of that age, in seconds.
    pub fn found(&mut self, page: PageId, now: f64, age: f64) {
        if let Some(&known) = self.known.get(page.index()) {
            let traits = self.traits(page, known).collect();
            self.learn(traits, known.time(now), age);
        }
    }

    /// The same of a page that is known no more: what was found before a restart is told again.
    pub fn recall(&mut self, traits: Traits, since: f64, now: f64, age: f64) {
        let time = Known { traits, since }.time(now);
        self.learn(traits.each().collect(), time, age);
    }

    fn learn(&mut self, traits: Vec<Trait>, time: f64, age: f64) {
        if age.is_finite() {
            self.sampler.learn(traits, time, age, &mut self.rng);
        }
    }

    fn traits(&self, page: PageId, known: Known) -> impl Iterator<Item = Trait> {
        let more = self.more.get(&page).into_iter().flatten().copied();
        known.traits.each().chain(more)
    }

    /// Which of those who wait has the turn, the first of them being found first.
    pub fn choose(&mut self, waiting: &VecDeque<PageId>, now: f64) -> usize {
        self.turns = self.turns.wrapping_add(1);
        if self.sampler.is_empty() || self.turns.is_multiple_of(FAIR) {
            return 0;
        }
        let mut best = (0, f64::NEG_INFINITY);
        for k in 0..CANDIDATES.min(waiting.len()) {
            // the page found first is always among them
            let candidate = if k > 0 && waiting.len() > CANDIDATES {
                self.rng.random_range(0..waiting.len())
            } else {
                k
            };
            let hope = self.hope(waiting[candidate], now);
            if hope > best.1 {
                best = (candidate, hope);
            }
        }
        best.0
    }

    /// How much longer than others its contents last, in logarithms, by the last sample.
    fn hope(&self, page: PageId, now: f64) -> f64 {
        let known = self.known.get(page.index());
        known.map_or(0.0, |&known| {
            let traits = self.traits(page, known);
            self.sampler.hope(traits, known.time(now))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    const DAY: f64 = 86_400.0;

    /// As many pages in each of two folders, whose contents are of that age on average; says whose turns come first.
    fn turns(ages: [f64; 2], seed: u64) -> Vec<usize> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lasting = Lasting::new(seed);
        let mut waiting = VecDeque::new();
        for page in 0..400 {
            let folder = page % 2;
            let url = format!("https://example.org/{folder}/{page}.html");
            lasting.describe(PageId(page), Traits::of(&url), 0.0);
            waiting.push_back(PageId(page));
        }
        let mut turns = Vec::new();
        while !waiting.is_empty() {
            let at = lasting.choose(&waiting, 0.0);
            let page = waiting.remove(at).unwrap();
            let folder = page.index() % 2;
            let drawn: f64 = StandardNormal.sample(&mut rng);
            lasting.found(page, 0.0, ages[folder] * drawn.exp());
            turns.push(folder);
        }
        turns
    }

    fn of_the_first(turns: &[usize], folder: usize) -> usize {
        let first = turns[..turns.len() / 2].iter();
        first.filter(|&&turn| turn == folder).count()
    }

    #[test]
    fn folders_whose_contents_last_come_first() {
        for seed in 0..10 {
            let turns = turns([DAY, 30.0 * DAY], seed);
            assert!(of_the_first(&turns, 1) > 150, "{}", of_the_first(&turns, 1));
        }
    }

    #[test]
    fn new_pages_wait_where_they_are_changed_again_soon() {
        // contents are as old as their pages: who waits for longest has the turn
        let mut lasting = Lasting::new(1);
        let mut waiting = VecDeque::new();
        let mut waited = Vec::new();
        for day in 0..600 {
            let (page, now) = (PageId(day), f64::from(day) * DAY);
            lasting.describe(page, Traits::of("https://a/x"), now);
            waiting.push_front(page);
            if day % 2 == 0 {
                let page = waiting.remove(lasting.choose(&waiting, now)).unwrap();
                let age = now - f64::from(page.0) * DAY;
                lasting.found(page, now, age);
                waited.push(age / DAY);
            }
        }
        let late = waited[200..].iter().sum::<f64>() / 100.0;
        assert!(late > 150.0, "{late}");
    }

    #[test]
    fn folders_that_say_nothing_are_not_followed() {
        let first: Vec<usize> = (0..20)
            .map(|seed| of_the_first(&turns([DAY, DAY], seed), 1))
            .collect();
        let mean = first.iter().sum::<usize>() / first.len();
        assert!((80..120).contains(&mean), "{first:?}");
    }

    #[test]
    fn without_dates_the_page_found_first_comes_first() {
        let mut lasting = Lasting::new(1);
        let mut waiting: VecDeque<PageId> = (0..100).map(PageId).collect();
        for page in 0..100 {
            lasting.describe(
                PageId(page),
                Traits::of(&format!("https://a/{page}/x")),
                0.0,
            );
        }
        for page in 0..100 {
            assert_eq!(lasting.choose(&waiting, 0.0), 0);
            assert_eq!(waiting.pop_front(), Some(PageId(page)));
            lasting.found(PageId(page), 0.0, f64::NAN);
        }
    }

    #[test]
    fn nobody_waits_for_ever_however_good_the_others_are() {
        let mut lasting = Lasting::new(1);
        let mut waiting: VecDeque<PageId> = (0..100).map(PageId).collect();
        let url = |page: u32| {
            format!(
                "https://a/{}/{page}",
                if page < 100 { "bad" } else { "good" }
            )
        };
        for page in 0..4000 {
            lasting.describe(PageId(page), Traits::of(&url(page)), 0.0);
        }
        // as many good pages come as are visited
        for next in 100..2000 {
            let page = waiting.remove(lasting.choose(&waiting, 0.0)).unwrap();
            let age = if page.0 < 100 { 10.0 } else { 1e7 };
            lasting.found(page, 0.0, age);
            waiting.push_back(PageId(next));
        }
        assert!(waiting.iter().all(|page| page.0 >= 100));
    }

    #[test]
    fn the_same_seed_gives_the_same_turns() {
        assert_eq!(turns([DAY, 3.0 * DAY], 5), turns([DAY, 3.0 * DAY], 5));
    }
}
