//! Vivaldi network coordinates: four dimensions and a height.

use super::Pair;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const DIMENSIONS: usize = 4;
/// A host is never nearer to the network than this.
const LEAST_HEIGHT_MS: f64 = 0.05;
/// How fast a host's error follows what it sees.
const ERROR_GAIN: f64 = 0.25;
/// Beyond this, relative springs pull by the share of the RTT that is wrong. The best of several
/// tried on real RTTs; from 20 to 60 makes little difference.
const FAR_MS: f64 = 40.0;

/// How to embed.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How hard wrong pairs pull.
    pub springs: Springs,
    /// Rounds over all measured pairs.
    pub rounds: usize,
    /// Decides the starts and the order.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            springs: Springs::Relative,
            rounds: 300,
            seed: 1,
        }
    }
}

/// How hard a pair that is wrong pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Springs {
    /// By the milliseconds that are wrong, as published.
    Absolute,
    /// The same for near hosts, by the share that is wrong for far ones, so that a few long
    /// detours do not bend the whole space.
    Relative,
}

#[derive(Clone, Copy, Debug)]
struct Coordinate {
    place: [f64; DIMENSIONS],
    height: f64,
    /// Relative error that the host believes to have.
    error: f64,
}

/// Hosts in a space where distance is RTT.
pub struct Embedding {
    space: Vec<Coordinate>,
}

impl Embedding {
    /// Places that many hosts so that the measured pairs fit.
    pub fn fit(hosts: usize, pairs: &[Pair], settings: &Settings) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
        let mut space: Vec<Coordinate> = (0..hosts)
            .map(|_| Coordinate {
                // anywhere but in one point, where no direction leads out
                place: std::array::from_fn(|_| random.random_range(-1.0..1.0)),
                height: 1.0,
                error: 1.0,
            })
            .collect();
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        for round in 0..settings.rounds {
            for k in (1..order.len()).rev() {
                order.swap(k, random.random_range(0..=k));
            }
            // large steps find the shape, small ones settle it
            let step = 0.25 * (1.0 - round as f64 / settings.rounds as f64) + 0.005;
            for &k in &order {
                let Pair { a, b, rtt_ms } = pairs[k];
                let step = match settings.springs {
                    Springs::Absolute => step,
                    Springs::Relative => step * (FAR_MS / rtt_ms).min(1.0),
                };
                let (before_a, before_b) = (space[a], space[b]);
                pull(&mut space[a], &before_b, rtt_ms, step);
                pull(&mut space[b], &before_a, rtt_ms, step);
            }
        }
        Self { space }
    }

    /// The estimate for a pair in milliseconds.
    pub fn rtt_ms(&self, a: usize, b: usize) -> f64 {
        distance(&self.space[a], &self.space[b])
    }
}

fn distance(a: &Coordinate, b: &Coordinate) -> f64 {
    plane(a, b) + a.height + b.height
}

fn plane(a: &Coordinate, b: &Coordinate) -> f64 {
    let squares = a.place.iter().zip(&b.place).map(|(x, y)| (x - y).powi(2));
    squares.sum::<f64>().sqrt()
}

/// Moves a host along the spring to another, the more the less it trusts itself.
fn pull(own: &mut Coordinate, other: &Coordinate, rtt_ms: f64, step: f64) {
    let found = distance(own, other);
    let wrong = (found - rtt_ms).abs() / rtt_ms;
    let weight = own.error / (own.error + other.error);
    own.error = (wrong.min(1.0) * ERROR_GAIN * weight + own.error * (1.0 - ERROR_GAIN * weight))
        .clamp(0.01, 1.0);
    let force = step * weight * (rtt_ms - found);
    // the unit vector of the height model: heights add up instead of cancelling out
    let length = found.max(1e-9);
    for (x, y) in own.place.iter_mut().zip(&other.place) {
        *x += force * (*x - y) / length;
    }
    own.height = (own.height + force * (own.height + other.height) / length).max(LEAST_HEIGHT_MS);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts on a plane with access lines; every pair or those that `keep` says.
    fn world(keep: impl Fn(usize, usize) -> bool) -> (Vec<Pair>, Vec<Pair>) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let hosts: Vec<(f64, f64, f64)> = (0..40)
            .map(|_| {
                (
                    random.random_range(0.0..200.0),
                    random.random_range(0.0..100.0),
                    random.random_range(1.0..10.0),
                )
            })
            .collect();
        let (mut kept, mut rest) = (Vec::new(), Vec::new());
        for a in 0..40 {
            for b in 0..a {
                let (p, q) = (hosts[a], hosts[b]);
                let rtt_ms = (p.0 - q.0).hypot(p.1 - q.1) + p.2 + q.2;
                let pair = Pair { a, b, rtt_ms };
                if keep(a, b) { &mut kept } else { &mut rest }.push(pair);
            }
        }
        (kept, rest)
    }

    #[test]
    fn a_world_that_has_coordinates_is_found_again() {
        let (kept, rest) = world(|a, b| (a + b) % 3 != 0);
        let space = Embedding::fit(40, &kept, &Settings::default());
        let errors: Vec<f64> = rest
            .iter()
            .map(|p| (space.rtt_ms(p.a, p.b) - p.rtt_ms).abs() / p.rtt_ms)
            .collect();
        let median = crate::sampling::median(&errors).unwrap();
        assert!(median < 0.03, "{median}");
    }

    #[test]
    fn the_same_seed_gives_the_same_space() {
        let (kept, _) = world(|a, b| (a + b) % 2 == 0);
        let settings = Settings {
            rounds: 20,
            ..Settings::default()
        };
        let [first, second] = [(); 2].map(|()| Embedding::fit(40, &kept, &settings));
        let other = Embedding::fit(
            40,
            &kept,
            &Settings {
                seed: 2,
                ..settings
            },
        );
        assert_eq!(first.rtt_ms(3, 9), second.rtt_ms(3, 9));
        assert!((first.rtt_ms(3, 9) - first.rtt_ms(9, 3)).abs() < 1e-9);
        assert_ne!(first.rtt_ms(3, 9), other.rtt_ms(3, 9));
    }
}
