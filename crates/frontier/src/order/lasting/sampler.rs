//! What each trait adds to the logarithm of an age: not estimated but sampled from what the ages found allow (Gibbs).

use super::traits::{KINDS, Trait};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

/// Ages are remembered for so many pages.
pub const MOST_AGES: usize = 1024;
/// While there are no more, a sample is drawn after each; then after as many more.
const AGES_A_SAMPLE: usize = 256;
/// What is believed of variances before any age: of kinds, and of ages alike in all. In squares of natural logarithms.
const VARIANCE: f64 = 0.05;
const NOISE: f64 = 2.0;
/// Of what a page known for e times as long adds.
const SLOPE_VARIANCE: f64 = 1.0;
/// By so much a belief follows each sample: about seven of them are believed at a time.
const FOLLOWED: f64 = 0.25;
/// As shapes and scales of inverse gamma laws.
const VARIANCE_PRIOR: (f64, f64) = (1.0, 0.04);
const NOISE_PRIOR: (f64, f64) = (2.0, 2.0);

/// What a trait adds to the logarithm of an age, and whose ages told it.
#[derive(Debug)]
struct Effect {
    value: Sampled,
    kind: usize,
    ages: Vec<usize>,
}

/// A value by the last sample, and by the latest ones, which is believed. Nothing is believed of what was never sampled.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    last: f64,
    believed: f64,
}

impl Sampled {
    fn follow(&mut self, sample: f64) {
        self.last = sample;
        self.believed += FOLLOWED * (sample - self.believed);
    }
}

/// An age that was found.
#[derive(Debug)]
struct Found {
    traits: Vec<Trait>,
    /// How long the page was known, as a logarithm.
    time: f64,
    /// What mean and effects do not explain of its logarithm.
    rest: f64,
}

/// Samples, and the ages that they explain.
#[derive(Debug)]
pub struct Sampler {
    /// The latest ages, the next one taking the place of the oldest.
    ages: Vec<Found>,
    next: usize,
    effects: BTreeMap<u32, Effect>,
    mean: f64,
    /// What a page known for e times as long adds.
    slope: Sampled,
    /// By kind.
    variance: Vec<f64>,
    noise: f64,
    /// Of a sample, for traits of which nothing is known.
    draw: u64,
    since_sample: usize,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            ages: Vec::new(),
            next: 0,
            effects: BTreeMap::new(),
            mean: 0.0,
            slope: Sampled::default(),
            variance: vec![VARIANCE; KINDS],
            noise: NOISE,
            draw: 0,
            since_sample: 0,
        }
    }
}

impl Sampler {
    /// How many ages were found, as far as they are remembered.
    pub fn ages(&self) -> usize {
        self.ages.len()
    }

    /// Contents were found to be of that age, in seconds; how long the page was known is a logarithm.
    pub fn learn(&mut self, traits: Vec<Trait>, time: f64, age: f64, rng: &mut Xoshiro256PlusPlus) {
        let log = age.max(1.0).ln();
        if self.ages.is_empty() {
            self.mean = log;
        }
        self.forget_oldest();
        let mut rest = log - self.mean - self.slope.last * time;
        for &own in &traits {
            if self.variance.len() <= own.kind {
                self.variance.resize(own.kind + 1, VARIANCE);
            }
            let unknown = Effect {
                value: Sampled::default(),
                kind: own.kind,
                ages: Vec::new(),
            };
            let effect = self.effects.entry(own.print).or_insert(unknown);
            effect.ages.push(self.next);
            rest -= effect.value.last;
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
            self.sample(rng);
        }
    }

    /// How much longer than others such contents last, in logarithms. What no age tells of is worth trying where that
    /// would tell of many pages, and nothing else.
    pub fn hope(
        &self,
        traits: impl Iterator<Item = Trait>,
        time: f64,
        has_many: impl Fn(Trait) -> bool,
    ) -> f64 {
        let of = |own: Trait| match self.effects.get(&own.print) {
            Some(effect) => effect.value.believed,
            None if has_many(own) => self.unknown(own),
            None => 0.0,
        };
        traits.map(of).sum::<f64>() + self.slope.believed * time
    }

    /// The effect of a trait that no age tells of: drawn anew with every sample, and the same for all its pages.
    fn unknown(&self, own: Trait) -> f64 {
        let seed = self.draw ^ u64::from(own.print);
        let drawn: f64 = StandardNormal.sample(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let variance = self.variance.get(own.kind).unwrap_or(&VARIANCE);
        variance.sqrt() * drawn
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.ages.get(self.next) else {
            return;
        };
        for own in &oldest.traits {
            if let Some(effect) = self.effects.get_mut(&own.print) {
                effect.ages.retain(|&age| age != self.next);
                if effect.ages.is_empty() {
                    self.effects.remove(&own.print);
                }
            }
        }
    }

    /// Draws mean, effects and variances anew, each given the others.
    fn sample(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let count = self.ages.len() as f64;
        let moved = self.ages.iter().map(|age| age.rest).sum::<f64>() / count
            + normal(rng) * (self.noise / count).sqrt();
        self.mean += moved;
        self.ages.iter_mut().for_each(|age| age.rest -= moved);
        self.tilt(rng);
        let kinds = self.variance.len();
        let (mut squares, mut counts) = (vec![0.0; kinds], vec![0.0; kinds]);
        for effect in self.effects.values_mut() {
            let sum: f64 = effect.ages.iter().map(|&age| self.ages[age].rest).sum();
            let seen = effect.ages.len() as f64;
            let precision = seen / self.noise + 1.0 / self.variance[effect.kind];
            let before = effect.value.last;
            let value =
                (sum + seen * before) / self.noise / precision + normal(rng) / precision.sqrt();
            for &age in &effect.ages {
                self.ages[age].rest -= value - before;
            }
            effect.value.follow(value);
            squares[effect.kind] += value * value;
            counts[effect.kind] += 1.0;
        }
        for kind in 0..kinds {
            let (shape, scale) = VARIANCE_PRIOR;
            self.variance[kind] =
                inverse_gamma(shape + counts[kind] / 2.0, scale + squares[kind] / 2.0, rng);
        }
        let squares: f64 = self.ages.iter().map(|age| age.rest * age.rest).sum();
        let (shape, scale) = NOISE_PRIOR;
        self.noise = inverse_gamma(shape + count / 2.0, scale + squares / 2.0, rng);
        self.draw = rng.random();
    }

    /// Draws anew what the time adds for which pages were known.
    fn tilt(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let all = || self.ages.iter();
        let along = all().map(|age| age.time * (age.rest + self.slope.last * age.time));
        let squares: f64 = all().map(|age| age.time * age.time).sum();
        let precision = squares / self.noise + 1.0 / SLOPE_VARIANCE;
        let mean = along.sum::<f64>() / self.noise / precision;
        let slope = mean + normal(rng) / precision.sqrt();
        for age in &mut self.ages {
            age.rest -= (slope - self.slope.last) * age.time;
        }
        self.slope.follow(slope);
    }
}

fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    StandardNormal.sample(rng)
}

fn inverse_gamma(shape: f64, scale: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
    let law = Gamma::new(shape, 1.0).expect("shapes are above zero");
    scale / law.sample(rng).max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::super::Traits;
    use super::*;

    #[test]
    fn the_oldest_ages_are_forgotten() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut sampler = Sampler::default();
        for page in 0..3 * MOST_AGES {
            let traits = Traits::of(&format!("https://a/{page}/x"));
            sampler.learn(traits.each().collect(), 0.0, 86_400.0, &mut rng);
        }
        assert_eq!(sampler.ages.len(), MOST_AGES);
        // the host, a folder each, no extension, the name
        assert_eq!(sampler.effects.len(), MOST_AGES + 3);
        let mut effects = sampler.effects.values();
        assert!(effects.all(|effect| effect.value.believed.is_finite()));
    }
}
