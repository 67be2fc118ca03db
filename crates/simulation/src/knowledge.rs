//! What policies may know of how the pages of a world change.

use crate::{
    run::derive,
    world::{Changes, World},
};
use rand::SeedableRng;
use rand_distr::{Distribution, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Where knowledge comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The test period itself.
    Hindsight,
    /// A period before the test.
    Trained {
        /// Where it starts.
        from: f64,
        /// Where it ends.
        until: f64,
    },
    /// Nothing but what the policy's own visits reveal.
    Online,
}

/// Rates, and gaps where changes are known by their instants.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Changes per day of each page.
    pub rate: Vec<f64>,
    /// Times between the changes of each page; none for a page without changes.
    pub gaps: Option<Vec<Vec<f64>>>,
}

/// In training a page counts as having made this many changes of the average page before it was
/// watched: a page that did not change may yet, and one new page is not known at all.
const PRIOR_CHANGES: f64 = 0.5;

impl Known {
    /// What the test period shows: exact rates of Poisson pages, else the changes counted. The
    /// period is taken to repeat, so that the piece after the last change and the one before the
    /// first make one gap: as many gaps as changes, and their mean is one over the rate.
    pub fn hindsight(world: &World) -> Self {
        if let Changes::Poisson(rate) = &world.changes {
            return Self {
                rate: rate.clone(),
                gaps: None,
            };
        }
        let days = world.days();
        let (rate, gaps) = (0..world.pages())
            .map(|page| {
                let changes = within(world.instants(page), world.from, world.until);
                (changes.len() as f64 / days, circular_gaps(changes, days))
            })
            .unzip();
        Self {
            rate,
            gaps: Some(gaps),
        }
    }

    /// What the period `[from, until]` before the test shows. A page is watched from its first
    /// change on, or from the start if that is later; with `n` changes from there on over a time
    /// `t` its rate is `(n + ½)/(t + ½/m)`, where `m` is the rate of the average page.
    pub fn trained(world: &World, from: f64, until: f64, seed: u64) -> Self {
        let mut gaps = Vec::new();
        let watched: Vec<(f64, f64)> = match &world.changes {
            Changes::Poisson(rate) => {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(derive(seed, TRAINING));
                let days = until - from;
                let count = |rate: &f64| {
                    let expected = rate * days;
                    // no such law for an expectation of nothing
                    let law = Poisson::new(expected).ok();
                    (law.map_or(0.0, |law| law.sample(&mut rng)), days)
                };
                rate.iter().map(count).collect()
            }
            Changes::Instants { .. } => (0..world.pages())
                .map(|page| {
                    let instants = world.instants(page);
                    let start = instants
                        .first()
                        .map_or(from, |first| first.clamp(from, until));
                    let changes = within(instants, start, until);
                    gaps.push(circular_gaps(changes, until - start));
                    (changes.len() as f64, until - start)
                })
                .collect(),
        };
        let (changes, time) = watched
            .iter()
            .fold((0.0, 0.0), |sum, page| (sum.0 + page.0, sum.1 + page.1));
        // nobody changed: anything goes, so long as it is the same for all
        let mean = if changes > 0.0 { changes / time } else { 1.0 };
        let rate = |&(n, t): &(f64, f64)| (n + PRIOR_CHANGES) / (t + PRIOR_CHANGES / mean);
        Self {
            rate: watched.iter().map(rate).collect(),
            gaps: matches!(world.changes, Changes::Instants { .. }).then_some(gaps),
        }
    }
}

/// Keeps the draws of the training period apart from all others.
const TRAINING: u64 = 1 << 32;

/// The instants in `(from, until]`: a change at the very start is there already.
fn within(instants: &[f64], from: f64, until: f64) -> &[f64] {
    let first = instants.partition_point(|&at| at <= from);
    let last = instants.partition_point(|&at| at <= until);
    &instants[first..last]
}

fn circular_gaps(changes: &[f64], days: f64) -> Vec<f64> {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return Vec::new();
    };
    let inner = changes.windows(2).map(|pair| pair[1] - pair[0]);
    inner.chain([first + days - last]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(changes: Changes, pages: usize) -> World {
        World {
            server: vec![0; pages],
            delay: vec![0.0],
            weight: None,
            changes,
            from: 100.0,
            until: 110.0,
        }
    }

    fn replay() -> World {
        let pages: [&[f64]; 4] = [&[10.0, 50.0, 101.0, 103.0, 109.0], &[95.0], &[105.0], &[]];
        let mut offsets = vec![0];
        for page in pages {
            offsets.push(offsets[offsets.len() - 1] + page.len());
        }
        let at = pages.concat();
        world(Changes::Instants { offsets, at }, 4)
    }

    #[test]
    fn hindsight_counts_and_closes_the_circle() {
        let known = Known::hindsight(&replay());
        assert_eq!(known.rate, [0.3, 0.0, 0.1, 0.0]);
        let gaps = known.gaps.unwrap();
        assert_eq!(gaps, [vec![2.0, 6.0, 2.0], vec![], vec![10.0], vec![]]);
    }

    #[test]
    fn training_leaves_the_test_alone_and_no_page_without_a_rate() {
        let known = Known::trained(&replay(), 0.0, 100.0, 1);
        // watched for 90, 5, 0 and 100 days; 1 change in 195 days in all
        let mean = 1.0 / 195.0;
        let expected = |n: f64, t: f64| (n + 0.5) / (t + 0.5 / mean);
        assert_eq!(
            known.rate,
            [
                expected(1.0, 90.0),
                expected(0.0, 5.0),
                mean,
                expected(0.0, 100.0)
            ]
        );
        assert_eq!(known.gaps.unwrap()[0], [90.0]);
    }

    #[test]
    fn training_on_poisson_pages_finds_their_rates() {
        let rate = vec![0.0, 0.5, 20.0];
        let known = Known::trained(&world(Changes::Poisson(rate.clone()), 3), 0.0, 4000.0, 1);
        assert!(known.rate[0] > 0.0 && known.rate[0] < 1e-3);
        for page in [1, 2] {
            let error = (known.rate[page] - rate[page]).abs();
            assert!(error < 4.0 * (rate[page] / 4000.0).sqrt(), "{error}");
        }
    }
}
