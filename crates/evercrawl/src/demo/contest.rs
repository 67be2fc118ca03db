//! Two crawlers on the same web, day by day: the engine's default policy, and uniform revisiting.

use crate::units::DAY;
use anyhow::Result;
use freshness::allocate::{self, Pages, Problem};
use freshness::policy::{self, Knowledge, Setup};
use simulation::run::{Lane, Options, Run, derive};
use simulation::small_web::{SmallWeb, small_web};
use simulation::statistics::mean;
use simulation::world::{Observe, Start};
use std::sync::atomic::AtomicBool;

/// Visits per day that each crawler may make: about one for every two pages.
pub const BUDGET: f64 = 200.0;
/// Least time between two visits to a server, in seconds: short enough for uniform revisiting to
/// spend all its visits, on the largest server too.
pub const POLITENESS_SECONDS: f64 = 1200.0;
/// Figures are taken so many times a day.
pub const WINDOWS_PER_DAY: usize = 2;
/// "Lately" is so many days.
pub const LATELY_DAYS: usize = 7;

/// Keeps what the crawlers draw apart from what the web draws.
const CRAWLERS: u64 = 1 << 40;

/// The web that `seed` decides.
pub fn web(seed: u64, days: u32) -> SmallWeb {
    small_web(seed, f64::from(days), POLITENESS_SECONDS / DAY)
}

/// The two crawlers at work.
pub struct Contest<'w> {
    pub web: &'w SmallWeb,
    pub engine: Run<'w>,
    pub uniform: Run<'w>,
    /// The freshness that the best polite plan has under Poisson changes at the true rates.
    pub bound: f64,
}

impl<'w> Contest<'w> {
    /// Both at the start, with no copy of any page.
    pub fn new(web: &'w SmallWeb, seed: u64, days: u32) -> Result<Self> {
        let world = &web.world;
        let seed = derive(seed, CRAWLERS);
        let start = |name: &str| -> Result<Run<'w>> {
            let setup = Setup {
                server: &world.server,
                weight: None,
                delay: &world.delay,
                budget: BUDGET,
                start: world.from,
                seed,
                knowledge: Knowledge::Online {
                    guess: BUDGET / world.pages() as f64,
                },
            };
            let lane = Lane {
                pages: 0..world.pages(),
                policy: policy::build(name, &setup)?,
            };
            let options = Options {
                start: Start::Stale,
                observe: Some(Observe::Bit),
                seed,
                early_stop: false,
                windows: WINDOWS_PER_DAY * days as usize,
                parallel: false,
            };
            Ok(Run::new(world, vec![lane], &options))
        };
        let caps: Vec<f64> = world.delay.iter().map(|delay| 1.0 / delay).collect();
        let (_, bound) = allocate::bounds(&Problem {
            pages: Pages {
                rate: &web.rate,
                weight: None,
            },
            server: &world.server,
            caps: &caps,
            budget: BUDGET,
        })?;
        Ok(Self {
            web,
            engine: start("default")?,
            uniform: start("uniform")?,
            bound,
        })
    }

    /// Takes both on by half a day; false at the end, or when `stop` came.
    pub fn step(&mut self, stop: &AtomicBool) -> bool {
        !self.is_over() && self.engine.step(stop) && self.uniform.step(stop)
    }

    /// Whether all days are over for both.
    pub fn is_over(&self) -> bool {
        self.engine.is_over() && self.uniform.is_over()
    }

    /// Days simulated for both.
    pub fn days(&self) -> f64 {
        self.uniform.series().len() as f64 / WINDOWS_PER_DAY as f64
    }

    /// Days to be simulated in all.
    pub fn days_in_all(&self) -> f64 {
        self.web.world.days()
    }
}

/// Mean freshness of all windows so far.
pub fn so_far(run: &Run) -> f64 {
    if run.series().is_empty() {
        return 0.0;
    }
    mean(run.series())
}

/// Mean freshness of the last days.
pub fn lately(run: &Run) -> f64 {
    let series = run.series();
    if series.is_empty() {
        return 0.0;
    }
    mean(&series[series.len().saturating_sub(LATELY_DAYS * WINDOWS_PER_DAY)..])
}
