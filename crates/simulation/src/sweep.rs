//! Many runs: every policy at every budget, several times, and what came of them.

mod row;

pub use row::Row;

use row::{Trial, row};

use crate::{
    knowledge::{Known, Source},
    lanes::{lanes, scheduled},
    run::{Control, Lane, Options, WINDOWS, derive, run},
    scenario,
    world::{Observe, Start, World},
};
use freshness::{
    allocate::{self, Allocation, Pages, Problem},
    policy::{self, Knowledge, Setup},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// Repositories of more pages than this are run one policy after the other, plans cut into lanes
/// that run in parallel; smaller ones several policies at a time. Never depends on the threads.
pub const LARGE: usize = 1 << 20;

/// Policies that learn from their visits whatever they know at the start.
const LEARNERS: [&str; 3] = ["default", "multiplicative", "halfway"];

/// What to run.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Names of policies.
    pub policies: Vec<String>,
    /// Budgets.
    pub budgets: Vec<Budget>,
    /// What policies know.
    pub knowledge: Source,
    /// What visits reveal.
    pub observe: Observe,
    /// The copies at the start.
    pub start: Start,
    /// Runs of each policy at each budget.
    pub runs: usize,
    /// The seed of all randomness.
    pub seed: u64,
    /// Whether runs stop once converged. Those that learn never do: what looks converged may yet
    /// be learning.
    pub early_stop: bool,
    /// Runs at the same time.
    pub threads: usize,
}

/// How many visits may be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Visits per day.
    PerDay(f64),
    /// A share of what politeness allows.
    Share(f64),
    /// Visits per change of the test period.
    PerChange(f64),
}

impl Budget {
    /// The same as visits per day.
    pub fn per_day(self, world: &World) -> Result<f64, Error> {
        let capacity = world.capacity();
        let budget = match self {
            Self::PerDay(visits) => visits,
            Self::Share(_) if capacity.is_infinite() => return Err(Error::NoPoliteness),
            Self::Share(share) => share * capacity,
            Self::PerChange(visits) => visits * world.changes_in_test() / world.days(),
        };
        // rounding must not refuse 100 %
        if budget > capacity * (1.0 + 1e-9) {
            return Err(Error::AbovePoliteness { budget, capacity });
        }
        if budget.is_nan() || budget <= 0.0 {
            return Err(match self {
                Self::PerChange(_) => Error::NoChanges,
                _ => Error::NoVisits,
            });
        }
        Ok(budget.min(capacity))
    }
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such policy.
    #[error(transparent)]
    Policy(#[from] policy::Error),
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Scenario(#[from] scenario::Error),
    /// A budget in per cent of nothing.
    #[error("a budget in % of what politeness allows needs a politeness above 0")]
    NoPoliteness,
    /// A budget of nothing.
    #[error("the budget comes to no visits at all")]
    NoVisits,
    /// A budget per change where nothing changes.
    #[error("nothing changes in the test period, so a budget per change comes to no visits")]
    NoChanges,
    /// More visits than servers take.
    #[error("a budget of {budget:.6}/day is above the {capacity:.6}/day that politeness allows")]
    AbovePoliteness {
        /// Visits per day asked for.
        budget: f64,
        /// Visits per day allowed.
        capacity: f64,
    },
    /// The budget cannot be divided.
    #[error(transparent)]
    Allocation(#[from] allocate::Error),
}

/// How many windows a sweep takes, for progress.
pub fn windows(sweep: &Sweep) -> usize {
    sweep.policies.len() * sweep.budgets.len() * sweep.runs * WINDOWS
}

/// Runs everything; `world` gives the world of a run, in which all policies find the pages numbered
/// anew. The rows come by budget, then by policy. A stop leaves out what was not begun.
pub fn sweep(
    sweep: &Sweep,
    world: &dyn Fn(u64) -> Result<Arc<World>, scenario::Error>,
    control: &Control,
) -> Result<Vec<Row>, Error> {
    let known = policy::names();
    if let Some(unknown) = sweep.policies.iter().find(|name| !known.contains(name)) {
        return Err(policy::Error::Unknown(unknown.clone()).into());
    }
    let cells = sweep.budgets.len() * sweep.policies.len();
    let mut trials: Vec<Vec<Trial>> = (0..cells).map(|_| Vec::new()).collect();
    let mut number = 0;
    while number < sweep.runs && !control.stop.load(Ordering::Relaxed) {
        let mut rounds = vec![Round::new(sweep, world, number, control)?];
        // several at a time, so that no thread waits for the slowest policy of each, but no more
        // than memory has room for
        let room = LARGE / rounds[0].world.pages().max(1);
        while rounds.len() < sweep.threads.min(sweep.runs - number).min(room) {
            rounds.push(Round::new(sweep, world, number + rounds.len(), control)?);
        }
        for (k, trial) in run_all(&rounds)?.into_iter().enumerate() {
            trials[k % cells].extend(trial);
        }
        number += rounds.len();
    }
    let rows = trials
        .iter()
        .enumerate()
        .filter(|(_, trials)| !trials.is_empty());
    Ok(rows
        .map(|(cell, trials)| {
            row(
                &sweep.policies[cell % sweep.policies.len()],
                trials,
                sweep.runs,
            )
        })
        .collect())
}

/// All policies at all budgets once, in one world.
struct Round<'a> {
    sweep: &'a Sweep,
    world: Arc<World>,
    control: &'a Control<'a>,
    seed: u64,
    /// Rates in hindsight, and what the policies know if that is something else.
    truth: Known,
    trained: Option<Known>,
    budgets: Vec<(f64, (f64, f64))>,
    large: bool,
}

impl<'a> Round<'a> {
    fn new(
        sweep: &'a Sweep,
        world: &dyn Fn(u64) -> Result<Arc<World>, scenario::Error>,
        number: usize,
        control: &'a Control<'a>,
    ) -> Result<Self, Error> {
        let mut world = world(number as u64)?;
        let large = world.pages() > LARGE;
        // lanes need pages sorted by server, and among so many no number is luck
        if !large {
            world = Arc::new(world.renumbered(derive(sweep.seed, NUMBERS + number as u64)));
        }
        let seed = derive(sweep.seed, number as u64);
        let truth = Known::hindsight(&world);
        let trained = match sweep.knowledge {
            Source::Trained { from, until } => Some(Known::trained(&world, from, until, seed)),
            Source::Hindsight | Source::Online => None,
        };
        let caps = caps(&world);
        let budgets = sweep
            .budgets
            .iter()
            .map(|budget| {
                let budget = budget.per_day(&world)?;
                let bounds = allocate::bounds(&problem(&world, &truth.rate, &caps, budget))?;
                Ok((budget, bounds))
            })
            .collect::<Result<_, Error>>()?;
        Ok(Self {
            sweep,
            world,
            control,
            seed,
            truth,
            trained,
            budgets,
            large,
        })
    }

    fn trial(&self, cell: usize) -> Result<Trial, Error> {
        let (budget, bounds) = self.budgets[cell / self.sweep.policies.len()];
        let name = &self.sweep.policies[cell % self.sweep.policies.len()];
        let clock = Instant::now();
        let planned = if self.large {
            self.plan(name, budget)?
        } else {
            None
        };
        let observes = planned.is_none();
        let lanes = match planned {
            Some(lanes) => lanes,
            None => self.whole(name, budget)?,
        };
        let allocation_seconds = clock.elapsed().as_secs_f64();
        let options = Options {
            start: self.sweep.start,
            observe: observes.then_some(self.sweep.observe),
            seed: derive(self.seed, OBSERVATIONS),
            early_stop: self.sweep.early_stop
                && self.sweep.knowledge != Source::Online
                && !LEARNERS.contains(&name.as_str()),
            windows: WINDOWS,
            parallel: self.large,
        };
        Ok(Trial {
            account: run(&self.world, lanes, &options, self.control),
            budget,
            bounds,
            allocation_seconds,
        })
    }

    fn known(&self) -> Option<&Known> {
        match self.sweep.knowledge {
            Source::Online => None,
            Source::Hindsight => Some(&self.truth),
            Source::Trained { .. } => self.trained.as_ref(),
        }
    }

    /// One policy in charge of all pages.
    fn whole(&self, name: &str, budget: f64) -> Result<Vec<Lane>, Error> {
        let world = &*self.world;
        let knowledge = match self.known() {
            Some(known) => Knowledge::Known {
                rate: &known.rate,
                gaps: known.gaps.as_deref(),
            },
            // as if every page changed as often as it is visited on average
            None => Knowledge::Online {
                guess: budget / world.pages() as f64,
            },
        };
        let setup = Setup {
            server: &world.server,
            weight: world.weight.as_deref(),
            delay: &world.delay,
            budget,
            start: world.from,
            seed: self.seed,
            knowledge,
        };
        Ok(vec![Lane {
            pages: 0..world.pages(),
            policy: policy::build(name, &setup)?,
        }])
    }

    /// The lanes of a policy that follows a plan made once, for large repositories: servers do not
    /// know of each other. `None` for all others.
    fn plan(&self, name: &str, budget: f64) -> Result<Option<Vec<Lane>>, Error> {
        let name = match name {
            "uniform" => "merge-uniform",
            "proportional" => "merge-proportional",
            "epochs" => "merge-opt-polite",
            other => other,
        };
        let world = &*self.world;
        let (Some(known), Some((selection, allocation))) = (self.known(), policy::split(name))
        else {
            return Ok(None);
        };
        let Ok(allocation) = allocation.parse::<Allocation>() else {
            return Ok(None);
        };
        if !world.server.is_sorted() {
            return Ok(None);
        }
        let caps = caps(world);
        let plan = allocate::allocate(&problem(world, &known.rate, &caps, budget), allocation)?;
        let lanes = lanes(&world.server);
        Ok(Some(scheduled(
            world,
            &plan.frequency,
            selection,
            &lanes,
            self.seed,
        )))
    }
}

/// The trials by round, by budget, then by policy; `None` where a stop came first.
fn run_all(rounds: &[Round]) -> Result<Vec<Option<Trial>>, Error> {
    let Round { sweep, control, .. } = rounds[0];
    let cells = sweep.budgets.len() * sweep.policies.len();
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Trial, Error>>>> = (0..rounds.len() * cells)
        .map(|_| Mutex::new(None))
        .collect();
    let work = || {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= results.len() || control.stop.load(Ordering::Relaxed) {
                return;
            }
            let trial = rounds[k / cells].trial(k % cells);
            *results[k].lock().expect("nobody panics with the lock") = Some(trial);
        }
    };
    let workers = if rounds[0].large {
        1
    } else {
        sweep.threads.min(results.len())
    };
    if workers <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
    }
    results
        .into_iter()
        .map(|result| {
            let trial = result.into_inner().expect("nobody panics with the lock");
            // a run that was stopped within its first window has nothing to tell
            let trial = trial.transpose()?;
            Ok(trial.filter(|trial| !trial.account.series.is_empty()))
        })
        .collect()
}

/// Keeps how pages are numbered apart from all else.
const NUMBERS: u64 = 1 << 34;

/// Keeps what observations draw apart from what policies do.
const OBSERVATIONS: u64 = 1 << 33;

fn caps(world: &World) -> Vec<f64> {
    world.delay.iter().map(|delay| 1.0 / delay).collect()
}

fn problem<'a>(world: &'a World, rate: &'a [f64], caps: &'a [f64], budget: f64) -> Problem<'a> {
    Problem {
        pages: Pages {
            rate,
            weight: world.weight.as_deref(),
        },
        server: &world.server,
        caps,
        budget,
    }
}

#[cfg(test)]
mod tests;
