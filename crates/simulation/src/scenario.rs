//! Generated repositories as described in a TOML file.

use crate::{
    generate::{Parameters, PowerLaw, Repository, generate},
    run::derive,
    world::{Changes, World},
};
use freshness::{
    gap::{Gap, GapError},
    process::{Drift, Modulated, Process, ProcessError, Week},
};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Deserialize;

const DAY_SECONDS: f64 = 86_400.0;
/// Pages whose changes are drawn with one generator.
const CHUNK: usize = 1 << 10;
/// More instants than this are refused: they would fill the memory.
const MOST_CHANGES: f64 = 3e8;
/// Rates that a drifting page may have; each is drawn.
const MOST_PIECES: f64 = 10_000.0;
/// Pages that die are born up to this many half-lives before the start.
const OLDEST_HALF_LIVES: f64 = 4.0;

/// What a scenario file says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Pages in all.
    pub pages: usize,
    /// Servers in all; each has at least one page.
    pub servers: usize,
    /// Length of the simulated time in days.
    pub days: f64,
    /// Decides the repository, and with the number of a run its changes.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// The least time between two requests to a server, in seconds; zero for none.
    #[serde(default = "published_politeness")]
    pub politeness_seconds: f64,
    /// Tail exponent of pages per server: the smaller, the more unequal.
    #[serde(default = "published_size_exponent")]
    pub pages_per_server_exponent: f64,
    /// Share of pages that never change.
    #[serde(default)]
    pub never_changing: f64,
    /// Changes per day of the other pages.
    pub rates: Law,
    /// Importance of the pages; without it all count the same.
    pub weights: Option<Law>,
    /// How pages change at their rate.
    #[serde(default)]
    pub process: Kind,
}

fn first_seed() -> u64 {
    1
}

fn published_politeness() -> f64 {
    15.0
}

fn published_size_exponent() -> f64 {
    Parameters::default().size_exponent
}

/// A power law `Pr[X > x] ∝ x^{−exponent}` between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Law {
    /// Tail exponent.
    pub exponent: f64,
    /// Smallest value.
    pub least: f64,
    /// Largest value.
    pub most: f64,
}

/// How pages change; every kind keeps each page's rate on average, but for the dying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Kind {
    /// Independent of the past.
    #[default]
    Poisson,
    /// Gamma gaps; bursty below shape 1, regular above.
    Gamma {
        /// Shape.
        shape: f64,
    },
    /// Weibull gaps; bursty below shape 1, regular above.
    Weibull {
        /// Shape.
        shape: f64,
    },
    /// Pareto gaps of a finite mean.
    Pareto {
        /// Tail exponent, above 1.
        shape: f64,
    },
    /// Log-normal gaps.
    Lognormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Quiet spells and busy ones, Poisson within each.
    Bursty {
        /// Mean length of a quiet spell.
        quiet_days: f64,
        /// Mean length of a busy spell.
        busy_days: f64,
        /// How many times faster busy pages change.
        contrast: f64,
    },
    /// One change a period.
    Periodic {
        /// The part of the period over which a change is spread, in `[0, 1)`.
        jitter: f64,
    },
    /// Poisson, eight times as fast in working hours as at night and at weekends.
    Seasonal,
    /// Poisson at a rate that is drawn anew around the page's own.
    Drifting {
        /// The time for which a rate holds.
        every_days: f64,
        /// Standard deviation of its logarithm.
        sigma: f64,
    },
    /// Poisson from a birth on, at a rate that starts at the page's and halves again and again.
    Dying {
        /// The time in which it halves.
        half_life_days: f64,
    },
}

/// Why a scenario cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not TOML, or keys that mean nothing, or are missing.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A parameter of another kind of process, or of none.
    #[error("process.{0} is unknown: this kind has no parameters")]
    Key(String),
    /// A number out of its range.
    #[error("{key} is {value}; expected {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// A parameter of the change process.
    #[error("process: {0}")]
    Process(#[from] ProcessError),
    /// A parameter of the times between changes.
    #[error("process: {0}")]
    Gap(#[from] GapError),
    /// Too many changes to draw.
    #[error(
        "about {0:.0} changes would have to be drawn, more than fit; only Poisson changes need none"
    )]
    TooMany(f64),
}

impl Scenario {
    /// Reads and checks a scenario.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let scenario: Self = toml::from_str(text)?;
        // serde does not look at what stands beside the name of a kind without parameters
        if matches!(scenario.process, Kind::Poisson | Kind::Seasonal) {
            let whole: toml::Table = toml::from_str(text)?;
            let process = whole.get("process").and_then(toml::Value::as_table);
            let mut keys = process.into_iter().flat_map(toml::Table::keys);
            if let Some(key) = keys.find(|key| *key != "kind") {
                return Err(Error::Key(key.clone()));
            }
        }
        scenario.check()?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), Error> {
        let check = |key, value: f64, good: bool, expected| {
            if good {
                Ok(())
            } else {
                Err(Error::Value {
                    key,
                    value,
                    expected,
                })
            }
        };
        let servers = self.servers;
        check("servers", servers as f64, servers > 0, "at least 1")?;
        let enough = (servers..=u32::MAX as usize).contains(&self.pages);
        check(
            "pages",
            self.pages as f64,
            enough,
            "at least one for each server, and at most 4294967295",
        )?;
        positive("days", self.days)?;
        positive("pages_per_server_exponent", self.pages_per_server_exponent)?;
        let delay = self.politeness_seconds;
        let good = delay.is_finite() && delay >= 0.0;
        check("politeness_seconds", delay, good, "a number of at least 0")?;
        let never = self.never_changing;
        check(
            "never_changing",
            never,
            (0.0..=1.0).contains(&never),
            "a share between 0 and 1",
        )?;
        let laws = [
            (
                ["rates.exponent", "rates.least", "rates.most"],
                Some(self.rates),
            ),
            (
                ["weights.exponent", "weights.least", "weights.most"],
                self.weights,
            ),
        ];
        for ([exponent, least, most], law) in laws {
            let Some(law) = law else { continue };
            positive(exponent, law.exponent)?;
            positive(least, law.least)?;
            let good = law.most.is_finite() && law.most >= law.least;
            check(most, law.most, good, "at least as much as 'least'")?;
        }
        // the parameters of the process are checked where processes are made
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        self.process(self.rates.least, &mut rng).map(drop)
    }

    /// The repository; the same for all runs.
    pub fn repository(&self) -> Repository {
        let law = |law: Law| PowerLaw {
            exponent: law.exponent,
            least: law.least,
            most: law.most,
        };
        generate(&Parameters {
            pages: self.pages,
            servers: self.servers,
            size_exponent: self.pages_per_server_exponent,
            rates: law(self.rates),
            never_changing: self.never_changing,
            weights: self.weights.map(law),
            seed: self.seed,
        })
    }

    /// Whether every run has the same changes, because none are drawn.
    pub fn is_poisson(&self) -> bool {
        self.process == Kind::Poisson
    }

    /// The world of run number `run`, tested from `from` to the end.
    pub fn world(&self, repository: Repository, run: u64, from: f64) -> Result<World, Error> {
        let changes = if self.is_poisson() {
            Changes::Poisson(repository.rate)
        } else {
            self.draw(&repository.rate, run)?
        };
        Ok(World {
            server: repository.server,
            delay: vec![self.politeness_seconds / DAY_SECONDS; repository.servers],
            weight: repository.weight,
            changes,
            from,
            until: self.days,
        })
    }

    fn draw(&self, rate: &[f64], run: u64) -> Result<Changes, Error> {
        let expected = rate.iter().sum::<f64>() * self.days;
        if expected > MOST_CHANGES {
            return Err(Error::TooMany(expected));
        }
        let seed = derive(self.seed, run);
        let chunks: Vec<_> = rate
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(k, rates)| {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(derive(seed, k as u64));
                let (mut counts, mut at) = (Vec::<usize>::new(), Vec::new());
                for &rate in rates {
                    let before = at.len();
                    if rate > 0.0 {
                        let process = self.process(rate, &mut rng)?;
                        at.extend(process.instants(0.0, self.days, &mut rng));
                    }
                    counts.push(at.len() - before);
                }
                Ok::<_, Error>((counts, at))
            })
            .collect();
        let mut offsets = Vec::with_capacity(rate.len() + 1);
        offsets.push(0);
        let mut at = Vec::new();
        for chunk in chunks {
            let (counts, instants) = chunk?;
            for count in counts {
                offsets.push(offsets[offsets.len() - 1] + count);
            }
            at.extend(instants);
        }
        Ok(Changes::Instants { offsets, at })
    }

    /// The process of one page; what differs from page to page but its rate is drawn.
    fn process(&self, rate: f64, rng: &mut Xoshiro256PlusPlus) -> Result<Process, Error> {
        // the mean of gaps of scale one says which scale has the mean wanted
        let scale = |unit: Gap| 1.0 / (rate * unit.mean());
        Ok(match self.process {
            Kind::Poisson => Process::poisson(rate)?,
            Kind::Gamma { shape } => {
                let scale = scale(Gap::gamma(shape, 1.0)?);
                Process::renewal(Gap::gamma(shape, scale)?)
            }
            Kind::Weibull { shape } => {
                let scale = scale(Gap::weibull(shape, 1.0)?);
                Process::renewal(Gap::weibull(shape, scale)?)
            }
            Kind::Pareto { shape } => {
                if shape.is_nan() || shape <= 1.0 {
                    return Err(Error::Value {
                        key: "process.shape",
                        value: shape,
                        expected: "a number above 1, without which there is no mean",
                    });
                }
                let scale = scale(Gap::pareto(shape, 1.0)?);
                Process::renewal(Gap::pareto(shape, scale)?)
            }
            Kind::Lognormal { sigma } => {
                let scale = scale(Gap::log_normal(0.0, sigma)?);
                Process::renewal(Gap::log_normal(scale.ln(), sigma)?)
            }
            Kind::Bursty {
                quiet_days,
                busy_days,
                contrast,
            } => {
                for (key, value) in [
                    ("process.quiet_days", quiet_days),
                    ("process.busy_days", busy_days),
                    ("process.contrast", contrast),
                ] {
                    positive(key, value)?;
                }
                let busy = busy_days / (quiet_days + busy_days);
                let quiet_rate = rate / (1.0 - busy + busy * contrast);
                Process::Modulated(Modulated::new(
                    quiet_rate,
                    quiet_rate * contrast,
                    quiet_days,
                    busy_days,
                )?)
            }
            Kind::Periodic { jitter } => {
                Process::periodic(1.0 / rate, rng.random::<f64>() / rate, jitter)?
            }
            Kind::Seasonal => Process::weekly(Process::poisson(rate)?, Week::office(1.0)?),
            Kind::Drifting { every_days, sigma } => {
                if !(every_days.is_finite() && every_days * MOST_PIECES >= self.days) {
                    return Err(Error::Value {
                        key: "process.every_days",
                        value: every_days,
                        expected: "at least a 10,000th of 'days'",
                    });
                }
                let pieces = (self.days / every_days).ceil().max(1.0) as usize;
                let mut draw = || {
                    let z: f64 = StandardNormal.sample(rng);
                    rate * (sigma * z - sigma * sigma / 2.0).exp()
                };
                let piece = |k: usize| (k as f64 * every_days, draw());
                Process::Drift(Drift::new((0..pieces).map(piece).collect())?)
            }
            Kind::Dying { half_life_days } => {
                let oldest = OLDEST_HALF_LIVES * half_life_days;
                let born = rng.random::<f64>() * (self.days + oldest) - oldest;
                Process::dying(rate, born, half_life_days)?
            }
        })
    }
}

fn positive(key: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::Value {
        key,
        value,
        expected: "a number above 0",
    })
}

#[cfg(test)]
mod tests;
