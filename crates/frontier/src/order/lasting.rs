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

use ground::PageId;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};

/// Folders told apart, the last of them being all that is deeper.
const FOLDERS: usize = 5;
/// The host, its folders, the extension and the file name.
const TRAITS: usize = FOLDERS + 3;
/// Which of them are alike in how much they say.
const KINDS: usize = 6;
const KIND: [usize; TRAITS] = [0, 1, 2, 3, 3, 3, 4, 5];
/// A visit goes to the best of so many pages, drawn at random.
const CANDIDATES: usize = 64;
/// Every so many turns the page found first has one, so that nobody waits for ever.
const FAIR: u32 = 8;
/// Ages are remembered for so many pages.
const MOST_AGES: usize = 1024;
/// While there are no more, a sample is drawn after each; then after as many more.
const AGES_A_SAMPLE: usize = 256;
/// What is believed of variances before any age: of kinds, and of ages alike in all. In squares of natural logarithms.
const VARIANCE: f64 = 0.05;
const NOISE: f64 = 2.0;
/// Of what a page known for e times as long adds.
const SLOPE_VARIANCE: f64 = 1.0;
/// Pages known for less, in seconds, are all new.
const NEW: f64 = 86_400.0;
/// As shapes and scales of inverse gamma laws.
const VARIANCE_PRIOR: (f64, f64) = (1.0, 0.04);
const NOISE_PRIOR: (f64, f64) = (2.0, 2.0);

/// What a URL says of itself: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits([u32; TRAITS]);

impl Traits {
    /// Of an absolute URL, or of a path that begins with its site.
    pub fn of(url: &str) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        let mut own = [0; TRAITS];
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        let mut folder = path.len();
        for (level, slot) in own.iter_mut().enumerate().take(FOLDERS + 1) {
            let Some(end) = slashes.next() else { break };
            folder = end;
            *slot = print(level, &path[..end]);
        }
        if let Some(deepest) = slashes.next_back() {
            folder = deepest;
            own[FOLDERS] = print(FOLDERS, &path[..deepest]);
        }
        let file = path.get(folder + 1..).unwrap_or_default();
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        own[FOLDERS + 1] = print(FOLDERS + 1, extension);
        own[FOLDERS + 2] = print(FOLDERS + 2, file);
        Self(own)
    }

    /// With their places; those it has.
    fn each(self) -> impl Iterator<Item = (usize, u32)> {
        let all = self.0.into_iter().enumerate();
        all.filter(|(_, value)| *value != 0)
    }
}

/// A number for a trait, never zero (FNV-1a).
fn print(place: usize, text: &str) -> u32 {
    let start = 0xcbf2_9ce4_8422_2325 ^ place as u64;
    let long = text.bytes().fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ((long >> 32) as u32 ^ long as u32).max(1)
}

/// What a trait adds to the logarithm of an age, by the last sample, and whose ages told it.
#[derive(Debug)]
struct Effect {
    value: f64,
    kind: usize,
    ages: Vec<usize>,
}

/// A page that waits, or waited: what its URL says, and since when it was known.
#[derive(Clone, Copy, Debug)]
struct Known {
    traits: Traits,
    since: f64,
}

impl Known {
    /// Of which nothing was told.
    const NOTHING: Self = Self {
        traits: Traits([0; TRAITS]),
        since: f64::INFINITY,
    };

    /// For how long, as a logarithm.
    fn time(self, now: f64) -> f64 {
        ((now - self.since) / NEW).max(1.0).ln()
    }
}

/// An age that was found.
#[derive(Debug)]
struct Found {
    traits: Traits,
    /// How long the page was known.
    time: f64,
    /// What mean and effects do not explain of its logarithm.
    rest: f64,
}

/// What is known of how long contents last.
#[derive(Debug)]
pub struct Lasting {
    rng: Xoshiro256PlusPlus,
    known: Vec<Known>,
    /// The latest ages, the next one taking the place of the oldest.
    ages: Vec<Found>,
    next: usize,
    effects: BTreeMap<u32, Effect>,
    mean: f64,
    /// What a page known for e times as long adds.
    slope: f64,
    variance: [f64; KINDS],
    noise: f64,
    /// Of a sample, for traits of which nothing is known.
    draw: u64,
    since_sample: usize,
    turns: u32,
}

impl Lasting {
    /// Nothing is known.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            known: Vec::new(),
            ages: Vec::new(),
            next: 0,
            effects: BTreeMap::new(),
            mean: 0.0,
            slope: 0.0,
            variance: [VARIANCE; KINDS],
            noise: NOISE,
            draw: 0,
            since_sample: 0,
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

    /// The first visit to a page found contents of that age, in seconds.
    pub fn found(&mut self, page: PageId, now: f64, age: f64) {
        let Some(&known) = self.known.get(page.index()) else {
            return;
        };
        let (traits, time) = (known.traits, known.time(now));
        if !age.is_finite() {
            return;
        }
        let log = age.max(1.0).ln();
        if self.ages.is_empty() {
            self.mean = log;
        }
        self.forget_oldest();
        let mut rest = log - self.mean - self.slope * time;
        for (place, value) in traits.each() {
            let unknown = Effect {
                value: self.unknown(place, value),
                kind: KIND[place],
                ages: Vec::new(),
            };
            let effect = self.effects.entry(value).or_insert(unknown);
            effect.ages.push(self.next);
            rest -= effect.value;
        }
        let found = Found { traits, time, rest };
        match self.ages.get_mut(self.next) {
            Some(oldest) => *oldest = found,
            None => self.ages.push(found),
        }
        self.next = (self.next + 1) % MOST_AGES;
        self.since_sample += 1;
        if self.since_sample > self.ages.len() / AGES_A_SAMPLE {
            self.since_sample = 0;
            self.sample();
        }
    }

    /// Which of those who wait has the turn, the first of them being found first.
    pub fn choose(&mut self, waiting: &VecDeque<PageId>, now: f64) -> usize {
        self.turns = self.turns.wrapping_add(1);
        if self.ages.is_empty() || self.turns.is_multiple_of(FAIR) {
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
        let Some(&known) = self.known.get(page.index()) else {
            return 0.0;
        };
        let of = |(place, value): (usize, u32)| match self.effects.get(&value) {
            Some(effect) => effect.value,
            None => self.unknown(place, value),
        };
        known.traits.each().map(of).sum::<f64>() + self.slope * known.time(now)
    }

    /// The effect of a trait that no age tells of: drawn anew with every sample, and the same for all its pages.
    fn unknown(&self, place: usize, value: u32) -> f64 {
        let seed = self.draw ^ u64::from(value);
        let drawn: f64 = StandardNormal.sample(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        self.variance[KIND[place]].sqrt() * drawn
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.ages.get(self.next) else {
            return;
        };
        for (_, value) in oldest.traits.each() {
            if let Some(effect) = self.effects.get_mut(&value) {
                effect.ages.retain(|&age| age != self.next);
                if effect.ages.is_empty() {
                    self.effects.remove(&value);
                }
            }
        }
    }

    /// Draws mean, effects and variances anew, each given the others.
    fn sample(&mut self) {
        let count = self.ages.len() as f64;
        let moved = self.ages.iter().map(|age| age.rest).sum::<f64>() / count
            + self.normal() * (self.noise / count).sqrt();
        self.mean += moved;
        self.ages.iter_mut().for_each(|age| age.rest -= moved);
        self.tilt();
        let (mut squares, mut counts) = ([0.0; KINDS], [0.0; KINDS]);
        for effect in self.effects.values_mut() {
            let sum: f64 = effect.ages.iter().map(|&age| self.ages[age].rest).sum();
            let seen = effect.ages.len() as f64;
            let precision = seen / self.noise + 1.0 / self.variance[effect.kind];
            let drawn: f64 = StandardNormal.sample(&mut self.rng);
            let value =
                (sum + seen * effect.value) / self.noise / precision + drawn / precision.sqrt();
            for &age in &effect.ages {
                self.ages[age].rest -= value - effect.value;
            }
            effect.value = value;
            squares[effect.kind] += value * value;
            counts[effect.kind] += 1.0;
        }
        for kind in 0..KINDS {
            let (shape, scale) = VARIANCE_PRIOR;
            self.variance[kind] =
                self.inverse_gamma(shape + counts[kind] / 2.0, scale + squares[kind] / 2.0);
        }
        let squares: f64 = self.ages.iter().map(|age| age.rest * age.rest).sum();
        let (shape, scale) = NOISE_PRIOR;
        self.noise = self.inverse_gamma(shape + count / 2.0, scale + squares / 2.0);
        self.draw = self.rng.random();
    }

    /// Draws anew what the time adds for which pages were known.
    fn tilt(&mut self) {
        let all = || self.ages.iter();
        let along = all().map(|age| age.time * (age.rest + self.slope * age.time));
        let squares: f64 = all().map(|age| age.time * age.time).sum();
        let precision = squares / self.noise + 1.0 / SLOPE_VARIANCE;
        let mean = along.sum::<f64>() / self.noise / precision;
        let slope = mean + self.normal() / precision.sqrt();
        for age in &mut self.ages {
            age.rest -= (slope - self.slope) * age.time;
        }
        self.slope = slope;
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    fn inverse_gamma(&mut self, shape: f64, scale: f64) -> f64 {
        let law = Gamma::new(shape, 1.0).expect("shapes are above zero");
        scale / law.sample(&mut self.rng).max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_oldest_ages_are_forgotten() {
        let mut lasting = Lasting::new(1);
        for page in 0..3 * MOST_AGES as u32 {
            lasting.describe(
                PageId(page),
                Traits::of(&format!("https://a/{page}/x")),
                0.0,
            );
            lasting.found(PageId(page), 0.0, DAY);
        }
        assert_eq!(lasting.ages.len(), MOST_AGES);
        // the host, a folder each, no extension, the name
        assert_eq!(lasting.effects.len(), MOST_AGES + 3);
        assert!(
            lasting
                .effects
                .values()
                .all(|effect| effect.value.is_finite())
        );
    }

    #[test]
    fn a_url_is_its_host_folders_extension_and_name() {
        let of = |url| Traits::of(url).0;
        let page = of("https://a.org/docs/guide/intro.html?x=1#y");
        let sister = of("http://a.org/docs/guide/outro.html");
        let cousin = of("https://a.org/docs/other/intro.html");
        assert_eq!(page[..3], sister[..3]);
        assert_eq!(page[3..6], [0; 3]);
        assert_eq!((page[6], page[7] == sister[7]), (sister[6], false));
        assert_eq!(
            (page[..2] == cousin[..2], page[2] == cousin[2]),
            (true, false)
        );
        assert_eq!(page[6..], cousin[6..]);
        let deep = of("https://a/1/2/3/4/5/6/7/x");
        assert!(deep.iter().all(|&value| value > 0));
        assert_eq!(deep[5], print(5, "a/1/2/3/4/5/6/7"));
        // nothing there is nothing
        assert_eq!(of("")[..6], [0; 6]);
        of("https://");
        of("https://ä/ö");
    }

    #[test]
    fn the_same_seed_gives_the_same_turns() {
        assert_eq!(turns([DAY, 3.0 * DAY], 5), turns([DAY, 3.0 * DAY], 5));
    }
}
