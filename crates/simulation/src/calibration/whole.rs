//! All copies together: whether the truth lies within the stated interval.

use super::Page;
use crate::world::{Changes, Copies, World};
use freshness::estimate::{Overall, Population};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// With fewer pages visited again the interval is wide anyway.
const REVISITED: f64 = 0.9;

/// What was stated of all copies at one instant, and what was true.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// The stated freshness.
    pub stated: f64,
    /// The ends of its 95 % interval.
    pub interval: (f64, f64),
    /// The share of copies that were fresh.
    pub truth: f64,
    /// The share of copies that had been visited again.
    pub revisited: f64,
}

/// The mean over instants at which nine of ten copies had been visited again.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// So many they were.
    pub instants: f64,
    /// What was stated.
    pub stated: f64,
    /// What was true.
    pub truth: f64,
    /// Half the width of the interval.
    pub half_width: f64,
    /// The share of instants at which the truth lay within.
    pub within: f64,
}

impl Judged {
    /// The mean; NaN where there is no such instant.
    pub fn new(all: &[Whole]) -> Self {
        let told = |whole: &&Whole| whole.revisited >= REVISITED;
        let told: Vec<&Whole> = all.iter().filter(told).collect();
        let instants = told.len() as f64;
        let mean = |of: fn(&Whole) -> f64| told.iter().map(|whole| of(whole)).sum::<f64>();
        Self {
            instants,
            stated: mean(|whole| whole.stated) / instants,
            truth: mean(|whole| whole.truth) / instants,
            half_width: mean(|whole| (whole.interval.1 - whole.interval.0) / 2.0) / instants,
            within: mean(|whole| {
                let (low, high) = whole.interval;
                f64::from(u8::from(low <= whole.truth && whole.truth <= high))
            }) / instants,
        }
    }
}

/// What a robot would state now. Whether a Poisson page is fresh is drawn: the interval is about what
/// chance does, too.
pub(super) fn whole(
    world: &World,
    copies: &Copies,
    pages: &[Page],
    population: &Population,
    now: f64,
    rng: &mut Xoshiro256PlusPlus,
) -> Option<Whole> {
    let mut overall = Overall::default();
    let mut fresh = 0u32;
    for (index, page) in pages.iter().enumerate().filter(|(_, page)| page.visits > 0) {
        let revisited = page.belief.visits() > 0;
        let belief = if revisited {
            page.belief
        } else {
            population.begin(world.server[index] as usize)
        };
        let stated = population.chance_unchanged(&belief, now - page.last);
        overall.add(stated, revisited);
        fresh += u32::from(match &world.changes {
            Changes::Poisson(rates) => {
                rng.random::<f64>() < (-rates[index] * (now - page.last)).exp()
            }
            Changes::Instants { .. } => super::truth(world, copies, index, page.last, now) > 0.5,
        });
    }
    let all = f64::from(overall.copies());
    (all > 0.0).then(|| Whole {
        stated: overall.freshness(),
        interval: overall.interval(population),
        truth: f64::from(fresh) / all,
        revisited: 1.0 - f64::from(overall.never_revisited()) / all,
    })
}
