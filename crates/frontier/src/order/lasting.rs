//! First visits to pages whose contents are expected to last.
//!
//! A page that was never visited tells nothing of itself but its URL. Others with parts of it were visited, and some had
//! a date: of a process that goes on as before, contents at a random time are as old as they will last. So the ages
//! found are explained, in logarithms, by a mean, by what each host, folder, extension and file name adds to it, and by
//! how long the page was known: what is new is often changed again soon. What is added, and how much each of these kinds
//! says at all, is not estimated but *sampled* from what the ages allow (Gibbs). The mean of the latest samples is
//! believed. What no age tells of is drawn (Thompson), and thus tried, only where it would tell of many pages that wait:
//! a name that only one page has is not worth a visit. A visit goes to the best of a few pages if it is clearly ahead of
//! the one found first.
//!
//! The page found first is visited first until enough dates were seen: what few pages teach pays on one site and costs on
//! another.

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
/// What this many of those have in common, and no age tells of, is worth trying.
const MANY: usize = 8;
/// Ahead of the page found first, in logarithms: who waits for longest is left only for what lasts a fifth longer.
const AHEAD: f64 = 0.2;
/// Before so many ages were found, the page found first has the turn.
const ENOUGH: usize = 100;
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
        if let Some(known) = self.known.get(page.index()) {
            let (traits, time) = (self.traits_of(page).collect(), known.time(now));
            self.learn(traits, time, age);
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

    fn traits_of(&self, page: PageId) -> impl Iterator<Item = Trait> {
        let known = self.known.get(page.index());
        let own = known.into_iter().flat_map(|known| known.traits.each());
        own.chain(self.more.get(&page).into_iter().flatten().copied())
    }

    /// Which of those who wait has the turn, the first of them being found first.
    pub fn choose(&mut self, waiting: &VecDeque<PageId>, now: f64) -> usize {
        self.turns = self.turns.wrapping_add(1);
        if self.sampler.ages() < ENOUGH || self.turns.is_multiple_of(FAIR) {
            return 0;
        }
        let candidates = self.candidates(waiting.len());
        let mut prints: Vec<u32> = (candidates.iter())
            .flat_map(|&candidate| self.traits_of(waiting[candidate]))
            .map(|own| own.print)
            .collect();
        prints.sort_unstable();
        let has_many = |own: Trait| {
            let from = prints.partition_point(|&print| print < own.print);
            prints.get(from + MANY - 1) == Some(&own.print)
        };
        let mut best = (0, self.hope(waiting[0], now, has_many) + AHEAD);
        for candidate in candidates {
            let hope = self.hope(waiting[candidate], now, has_many);
            if hope > best.1 {
                best = (candidate, hope);
            }
        }
        best.0
    }

    /// A few of those who wait.
    fn candidates(&mut self, waiting: usize) -> Vec<usize> {
        if waiting <= CANDIDATES {
            return (0..waiting).collect();
        }
        let mut drawn = || self.rng.random_range(0..waiting);
        (1..CANDIDATES).map(|_| drawn()).collect()
    }

    /// How much longer than others its contents last, in logarithms.
    fn hope(&self, page: PageId, now: f64, has_many: impl Fn(Trait) -> bool) -> f64 {
        let known = self.known.get(page.index());
        known.map_or(0.0, |known| {
            (self.sampler).hope(self.traits_of(page), known.time(now), has_many)
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
        for page in 0..800 {
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

    /// Of the 200 turns from when enough is known.
    fn of_the_first(turns: &[usize], folder: usize) -> usize {
        let first = turns[ENOUGH..ENOUGH + 200].iter();
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
    fn few_ages_do_not_decide_and_those_before_a_restart_count() {
        let of = |folder: u32| Traits::of(&format!("https://a/{folder}/x"));
        let mut lasting = Lasting::new(1);
        let waiting: VecDeque<PageId> = (0..100).map(PageId).collect();
        for page in 0..100 {
            lasting.describe(PageId(page), of(page / 50), 0.0);
        }
        for told in 1..ENOUGH as u32 {
            let age = [DAY, 1000.0 * DAY][told as usize % 2];
            lasting.recall(of(told % 2), 0.0, 0.0, age);
            assert_eq!(lasting.choose(&waiting, 0.0), 0, "{told}");
        }
        lasting.recall(of(0), 0.0, 0.0, DAY);
        let others = (0..FAIR).filter(|_| lasting.choose(&waiting, 0.0) >= 50);
        assert_eq!(others.count(), FAIR as usize - 1);
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

    /// Which pages have one of the first so many turns though another was found before; ages are alike in all.
    fn out_of_line(urls: &[String], turns: usize, seed: u64) -> Vec<usize> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lasting = Lasting::new(seed);
        let mut waiting = VecDeque::new();
        for (page, url) in urls.iter().enumerate() {
            lasting.describe(PageId(page as u32), Traits::of(url), 0.0);
            waiting.push_back(PageId(page as u32));
        }
        let mut others = Vec::new();
        for _ in 0..turns {
            let at = lasting.choose(&waiting, 0.0);
            let page = waiting.remove(at).unwrap();
            let drawn: f64 = StandardNormal.sample(&mut rng);
            lasting.found(page, 0.0, DAY * drawn.exp());
            if at > 0 {
                others.push(page.index());
            }
        }
        others
    }

    #[test]
    fn what_only_one_page_has_is_not_tried() {
        let urls: Vec<String> = (0..400).map(|page| format!("https://a/x/{page}")).collect();
        let others: Vec<usize> = (0..10)
            .map(|seed| out_of_line(&urls, ENOUGH + 200, seed).len())
            .collect();
        assert!(others.iter().sum::<usize>() < 100, "{others:?}");
    }

    #[test]
    fn where_folders_are_alike_most_turns_are_in_line() {
        let urls: Vec<String> = (0..1000)
            .map(|page| format!("https://a/{}/{page}", page % 4))
            .collect();
        let others: Vec<usize> = (0..10)
            .map(|seed| out_of_line(&urls, ENOUGH + 500, seed).len())
            .collect();
        assert!(others.iter().sum::<usize>() < 1300, "{others:?}");
    }

    #[test]
    fn what_many_pages_have_is_tried() {
        let url = |page| format!("https://a/{}/{page}", if page < 300 { "x" } else { "y" });
        let urls: Vec<String> = (0..400).map(url).collect();
        let tried = |seed: &u64| {
            out_of_line(&urls, ENOUGH + 50, *seed)
                .iter()
                .any(|&page| page >= 300)
        };
        let seeds = (0..20).filter(tried).count();
        assert!(seeds >= 15, "{seeds}");
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
