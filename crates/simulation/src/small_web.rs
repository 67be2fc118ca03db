//! A small web in which pages change in different ways, for demonstrations.

use crate::{
    run::derive,
    world::{Changes, World},
};
use freshness::process::{Modulated, Process, ProcessError};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Servers of the web; number `k` has `LARGEST / (k + 1)` pages, at least one.
const SERVERS: u32 = 20;
const LARGEST: u32 = 100;

/// Changes per day of the slowest and the fastest page that changes; as many pages between 0.1 and
/// 1 as between 1 and 10.
pub(crate) const RATES: (f64, f64) = (0.01, 30.0);

/// Bursty pages are busy for so many days, then quiet for so many, on average.
const BUSY_DAYS: f64 = 1.0;
const QUIET_DAYS: f64 = 6.0;
/// How many times faster busy pages change than quiet ones.
const CONTRAST: f64 = 30.0;

/// How a page changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Never.
    Never,
    /// Independently of the past.
    Poisson,
    /// Often for a while, then seldom for longer.
    Bursty,
    /// By the clock, like a page made anew every night.
    Periodic,
}

impl Kind {
    /// All of them, each with its share of the pages in per cent.
    pub const SHARES: [(Self, u32); 4] = [
        (Self::Never, 25),
        (Self::Poisson, 40),
        (Self::Bursty, 20),
        (Self::Periodic, 15),
    ];

    fn draw(rng: &mut Xoshiro256PlusPlus) -> Self {
        let mut rest = rng.random_range(0..100u32);
        for (kind, share) in Self::SHARES {
            if rest < share {
                return kind;
            }
            rest -= share;
        }
        unreachable!("the shares come to a hundred")
    }

    /// Draws a page of this kind with a rate between the two given, evenly on a logarithmic scale.
    pub(crate) fn process(
        self,
        (least, most): (f64, f64),
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Process, ProcessError> {
        let rate = least * (most / least).powf(rng.random());
        match self {
            Self::Never => Process::poisson(0.0),
            Self::Poisson => Process::poisson(rate),
            Self::Bursty => {
                let busy = BUSY_DAYS / (BUSY_DAYS + QUIET_DAYS);
                let quiet_rate = rate / (1.0 - busy + busy * CONTRAST);
                let busy_rate = quiet_rate * CONTRAST;
                Modulated::new(quiet_rate, busy_rate, QUIET_DAYS, BUSY_DAYS).map(Process::Modulated)
            }
            Self::Periodic => Process::periodic(1.0 / rate, rng.random::<f64>() / rate, 0.1),
        }
    }
}

/// The web, and the truth about its pages that no crawler is told.
pub struct SmallWeb {
    /// Its pages, servers and changes.
    pub world: World,
    /// How each page changes.
    pub kind: Vec<Kind>,
    /// Changes per day of each page, on average over all time.
    pub rate: Vec<f64>,
}

/// Draws a web with `delay` days between two requests to a server and changes for `days` days.
pub fn small_web(seed: u64, days: f64, delay: f64) -> SmallWeb {
    let pages_on = |server: u32| (LARGEST / (server + 1)).max(1) as usize;
    let server: Vec<u32> = (0..SERVERS)
        .flat_map(|server| std::iter::repeat_n(server, pages_on(server)))
        .collect();
    let (mut kinds, mut rates) = (Vec::new(), Vec::new());
    let (mut offsets, mut at) = (vec![0], Vec::new());
    for page in 0..server.len() {
        // a page is the same however long it is watched
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(derive(seed, page as u64));
        let kind = Kind::draw(&mut rng);
        let process = kind
            .process(RATES, &mut rng)
            .expect("the constants are sound");
        kinds.push(kind);
        rates.push(process.mean_rate(0.0, days));
        at.extend(process.instants(0.0, days, &mut rng));
        offsets.push(at.len());
    }
    SmallWeb {
        world: World {
            server,
            delay: vec![delay; SERVERS as usize],
            weight: None,
            changes: Changes::Instants { offsets, at },
            from: 0.0,
            until: days,
        },
        kind: kinds,
        rate: rates,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_their_rates_and_kinds_their_shares() {
        let days = 2000.0;
        let web = small_web(7, days, 0.01);
        let pages = web.kind.len();
        assert!((300..500).contains(&pages), "{pages}");
        for (kind, share) in Kind::SHARES {
            let of_kind: Vec<usize> = (0..pages).filter(|&page| web.kind[page] == kind).collect();
            let found = 100.0 * of_kind.len() as f64 / pages as f64;
            assert!((found - f64::from(share)).abs() < 8.0, "{kind:?} {found}");
            let expected: f64 = of_kind.iter().map(|&page| web.rate[page] * days).sum();
            let drawn: usize = of_kind.iter().map(|&p| web.world.instants(p).len()).sum();
            let off = (drawn as f64 - expected).abs();
            assert!(off <= 0.03 * expected, "{kind:?}: {drawn} of {expected}");
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        assert_eq!(
            small_web(1, 30.0, 0.01).world,
            small_web(1, 30.0, 0.01).world
        );
        assert_ne!(
            small_web(1, 30.0, 0.01).world,
            small_web(2, 30.0, 0.01).world
        );
    }
}
