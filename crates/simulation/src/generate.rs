//! Generated repositories of the published shape: power laws of pages per server and of change
//! rates, a share of pages that never change. The same parameters give the same repository,
//! whatever the number of threads.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Pages are drawn in chunks of this size, each with a generator of its own.
const CHUNK: usize = 1 << 16;

/// What to generate. The default is the published repository: 14.5 million pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Pages in all; at least one for each server.
    pub pages: usize,
    /// Servers in all; at least one.
    pub servers: usize,
    /// Tail exponent `a` of pages per server, `Pr[size > x] ∝ x^{−a}`: the smaller, the more
    /// unequal.
    pub size_exponent: f64,
    /// Bounded power law of the rates of the pages that change, per day.
    pub rates: PowerLaw,
    /// Share of pages that never change.
    pub never_changing: f64,
    /// Bounded power law of the weights; without it all pages weigh one.
    pub weights: Option<PowerLaw>,
    /// Where all randomness comes from.
    pub seed: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            pages: 14_500_000,
            servers: 20_000,
            // With both laws the impolite bound exceeds the polite one by 4, 12 and 19 points at
            // 1, 10 and 90 % of the most that 15 s of politeness allow; published: a gap that
            // grows to almost 20.
            size_exponent: 1.0,
            rates: PowerLaw {
                exponent: 0.3,
                least: 0.01,
                most: 100.0,
            },
            never_changing: 0.3,
            weights: None,
            seed: 1,
        }
    }
}

/// The power law `Pr[X > x] ∝ x^{−exponent}` between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// Tail exponent, above zero.
    pub exponent: f64,
    /// Smallest value, above zero.
    pub least: f64,
    /// Largest value.
    pub most: f64,
}

impl PowerLaw {
    /// The value that the share `u` of all draws exceeds.
    fn exceeded_by(&self, u: f64) -> f64 {
        let most = (self.least / self.most).powf(self.exponent);
        self.least * (most + u * (1.0 - most)).powf(-1.0 / self.exponent)
    }
}

/// A repository: for each page its server, its change rate and, if asked for, its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Repository {
    /// The server of each page, ascending; each server has at least one page.
    pub server: Vec<u32>,
    /// Changes per day of each page; zero for those that never change.
    pub rate: Vec<f64>,
    /// Weight of each page, if they differ.
    pub weight: Option<Vec<f64>>,
    /// Number of servers.
    pub servers: usize,
}

/// Generates a repository.
///
/// # Panics
/// When there are fewer pages than servers, or no server.
pub fn generate(parameters: &Parameters) -> Repository {
    let (pages, servers) = (parameters.pages, parameters.servers);
    assert!(servers > 0, "a repository needs a server");
    assert!(pages >= servers, "each server needs a page");
    let draw = |stream: u64, value: &(dyn Fn(&mut Xoshiro256PlusPlus) -> f64 + Sync)| {
        let mut values = vec![0.0; pages];
        values
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(k, chunk)| {
                let mut rng = generator(parameters.seed, stream, k as u64);
                chunk.fill_with(|| value(&mut rng));
            });
        values
    };
    let rate = draw(1, &|rng| {
        if rng.random::<f64>() < parameters.never_changing {
            0.0
        } else {
            parameters.rates.exceeded_by(rng.random())
        }
    });
    let weight = parameters
        .weights
        .map(|law| draw(2, &|rng| law.exceeded_by(rng.random())));
    Repository {
        server: servers_of_pages(parameters),
        rate,
        weight,
        servers,
    }
}

/// One page for each server, the others in proportion to a draw from the power law.
fn servers_of_pages(parameters: &Parameters) -> Vec<u32> {
    let mut rng = generator(parameters.seed, 0, 0);
    let mut sum = 0.0;
    let ends: Vec<f64> = (0..parameters.servers)
        .map(|_| {
            let u: f64 = 1.0 - rng.random::<f64>();
            sum += u.powf(-1.0 / parameters.size_exponent);
            sum
        })
        .collect();
    let spare = (parameters.pages - parameters.servers) as f64;
    let mut server = Vec::with_capacity(parameters.pages);
    for (s, end) in ends.iter().enumerate() {
        let end = s + 1 + (spare * (end / sum)).round() as usize;
        server.resize(end, s as u32);
    }
    server
}

fn generator(seed: u64, stream: u64, chunk: u64) -> Xoshiro256PlusPlus {
    // seed_from_u64 scatters neighbouring seeds; the odd factors keep the three numbers apart
    Xoshiro256PlusPlus::seed_from_u64(
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03)
            ^ chunk.wrapping_mul(0x8cb9_2ba7_2f3d_8dd7),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Parameters {
        Parameters {
            pages: 200_000,
            servers: 1_000,
            weights: Some(PowerLaw {
                exponent: 1.0,
                least: 1.0,
                most: 1e4,
            }),
            ..Parameters::default()
        }
    }

    #[test]
    fn has_exactly_the_pages_and_servers_asked_for() {
        for (pages, servers) in [(200_000, 1_000), (7, 7), (8, 7), (1, 1), (100_001, 3)] {
            let parameters = Parameters {
                pages,
                servers,
                ..small()
            };
            let repository = generate(&parameters);
            assert_eq!(repository.server.len(), pages);
            assert_eq!(repository.rate.len(), pages);
            assert!(repository.server.is_sorted());
            let mut used = repository.server.clone();
            used.dedup();
            assert_eq!(used, (0..servers as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn follows_the_power_laws() {
        let parameters = small();
        let repository = generate(&parameters);
        let pages = parameters.pages as f64;
        let share =
            |above: f64| repository.rate.iter().filter(|&&r| r > above).count() as f64 / pages;
        assert!((share(0.0) - 0.7).abs() < 0.005);
        // bounded Pareto: Pr[X > x] = ((l/x)^a − (l/h)^a)/(1 − (l/h)^a)
        let PowerLaw {
            exponent,
            least,
            most,
        } = parameters.rates;
        let bound = (least / most).powf(exponent);
        for x in [0.1, 1.0, 10.0] {
            let expected = 0.7 * ((least / x).powf(exponent) - bound) / (1.0 - bound);
            assert!((share(x) - expected).abs() < 0.005, "above {x}");
        }
        assert!(repository.rate.iter().all(|&r| r <= most));
        let mut sizes = vec![0; parameters.servers];
        for &s in &repository.server {
            sizes[s as usize] += 1;
        }
        sizes.sort_unstable();
        assert!(
            sizes[999] > 20 * sizes[500],
            "{} {}",
            sizes[999],
            sizes[500]
        );
        let weight = repository.weight.unwrap();
        assert!(weight.iter().all(|&w| (1.0..=1e4).contains(&w)));
    }

    #[test]
    fn the_seed_decides_everything() {
        let first = generate(&small());
        assert_eq!(first, generate(&small()));
        let other = generate(&Parameters { seed: 2, ..small() });
        assert_ne!(first.rate, other.rate);
        assert_ne!(first.server, other.server);
    }
}
