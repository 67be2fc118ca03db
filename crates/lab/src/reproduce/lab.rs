//! What experiments share: sizes, seeds, traces, and the runs themselves.

use super::TraceFile;
use super::verdict::{Estimate, LEAST_SEEDS};
use crate::simulate::{Trace, replay};
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::chart::{Line, Stroke};
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::terminal;
use ground::quantity::DAY;
use serde::{Deserialize, Serialize};
use simulation::knowledge::Source;
use simulation::run::Control;
use simulation::scenario;
use simulation::sweep::{self, Budget, Row, Sweep};
use simulation::world::{Observe, Start, World};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where experiments are run.
#[derive(Clone)]
pub struct Lab<'a> {
    /// Small sizes.
    pub quick: bool,
    /// Published sizes.
    pub full: bool,
    /// The seed of all randomness.
    pub seed: u64,
    /// Recorded histories.
    pub traces: &'a [TraceFile],
    /// A folder of other recorded data.
    pub data: Option<PathBuf>,
    stop: &'static AtomicBool,
}

/// A row of raw results: of which data, with which knowledge, at which budget.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub data: String,
    /// Of the data, where they are drawn anew; early rows do not have it.
    #[serde(default)]
    pub seed: u64,
    pub knowledge: Cow<'static, str>,
    pub observe: Cow<'static, str>,
    pub budget: String,
    pub policy: String,
    pub budget_per_day: f64,
    pub visits: u64,
    pub freshness: f64,
    pub freshness_ci95: f64,
    pub pages_ci95: Option<f64>,
    pub final_freshness: f64,
    // early rows have another name for it
    #[serde(alias = "bound_unpolite")]
    pub bound_impolite: f64,
    pub bound_polite: f64,
    pub ns_per_selection: Option<f64>,
    pub allocation_seconds: Option<f64>,
    pub simulated_days: f64,
    pub runs: usize,
}

impl Record {
    /// Freshness over the time simulated, by runs.
    pub fn estimate(&self) -> Estimate {
        Estimate {
            mean: self.freshness,
            half: self.freshness_ci95,
            seeds: self.runs,
        }
    }
}

/// A question to the simulator; everything not said here is the same for all experiments.
pub struct Question<'q> {
    /// Name of the data.
    pub data: &'q str,
    /// Names of policies.
    pub policies: &'q [&'q str],
    /// Budgets and how the rows call them.
    pub budgets: &'q [(String, Budget)],
    /// What policies know.
    pub knowledge: Source,
    /// What visits reveal.
    pub observe: Observe,
    /// Runs of each.
    pub runs: usize,
    /// The world of a run.
    pub world: &'q dyn Fn(u64) -> Result<Arc<World>, scenario::Error>,
}

impl<'a> Lab<'a> {
    /// A laboratory with these traces.
    pub fn new(quick: bool, full: bool, seed: u64, traces: &'a [TraceFile]) -> Self {
        Self {
            quick,
            full,
            seed,
            traces,
            data: None,
            stop: stop_on_interrupt(),
        }
    }

    /// The same with another seed.
    pub fn seeded(&self, seed: u64) -> Self {
        Self {
            seed,
            ..self.clone()
        }
    }

    /// Seeds for data that are drawn anew each time: as many as a verdict needs.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..LEAST_SEEDS as u64).map(move |k| first + k)
    }

    /// Runs policies, all copies stale at the start.
    pub fn ask(&self, question: &Question) -> Result<Vec<Record>> {
        let sweep = Sweep {
            policies: question.policies.iter().map(|&p| p.to_owned()).collect(),
            budgets: question.budgets.iter().map(|(_, budget)| *budget).collect(),
            knowledge: question.knowledge,
            observe: question.observe,
            start: Start::Stale,
            runs: question.runs,
            seed: self.seed,
            early_stop: true,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        };
        let bar = terminal::progress("simulating", sweep::windows(&sweep) as u64, false);
        let control = Control {
            stop: self.stop,
            progress: &|windows| bar.inc(windows as u64),
        };
        let rows = sweep::sweep(&sweep, question.world, &control);
        bar.finish_and_clear();
        let rows = rows.map_err(|error| BadInput(format!("{}: {error}", question.data)))?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        let knowledge = match question.knowledge {
            Source::Hindsight => "hindsight",
            Source::Trained { .. } => "trained",
            Source::Online => "online",
        };
        let observe = mode(question.observe);
        let label = |row: usize| &question.budgets[row / question.policies.len()].0;
        let records = rows.into_iter().enumerate();
        Ok(records
            .map(|(k, row)| {
                record(
                    question.data,
                    self.seed,
                    (knowledge, observe),
                    label(k),
                    row,
                )
            })
            .collect())
    }
}

/// The recorded history as a world without politeness, tested over its last `days` days or
/// whole, with only the items that change at least `least` times in the test.
pub fn recorded(trace: &TraceFile, days: Option<f64>, least: usize) -> Result<World> {
    let read = Trace::read(&trace.changes, trace.items.as_deref())?;
    for warning in &read.warnings {
        terminal::complain("warning", warning);
    }
    let first = read.seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let last = read.seconds.iter().copied().fold(0.0, f64::max);
    let origin = (first / DAY).floor() * DAY;
    let in_days = |seconds: f64| (seconds - origin) / DAY;
    let until = in_days(last);
    let from = days.map_or(in_days(first), |days| (until - days).max(in_days(first)));
    replay(&read, in_days, from, until, 0.0, least)
}

/// The name of what visits reveal.
pub fn mode(observe: Observe) -> &'static str {
    match observe {
        Observe::Bit => "bit",
        Observe::LastModified => "last-modified",
        Observe::History => "history",
    }
}

fn record(
    data: &str,
    seed: u64,
    (knowledge, observe): (&'static str, &'static str),
    budget: &str,
    row: Row,
) -> Record {
    Record {
        data: data.to_owned(),
        seed,
        knowledge: knowledge.into(),
        observe: observe.into(),
        budget: budget.to_owned(),
        policy: row.policy,
        budget_per_day: row.budget_per_day,
        visits: row.visits,
        freshness: row.freshness,
        freshness_ci95: row.freshness_ci95,
        pages_ci95: row.pages_ci95,
        final_freshness: row.final_freshness,
        bound_impolite: row.bound_impolite,
        bound_polite: row.bound_polite,
        ns_per_selection: row.ns_per_selection,
        allocation_seconds: row.allocation_seconds,
        simulated_days: row.simulated_days,
        runs: row.runs,
    }
}

/// The record of a policy at a budget.
pub fn find<'r>(records: &'r [Record], budget: &str, policy: &str) -> &'r Record {
    let found = records
        .iter()
        .find(|record| record.budget == budget && record.policy == policy);
    found.expect("every policy was run at every budget")
}

/// What `value` makes of the records of each seed, over seeds.
pub fn over_seeds(records: &[Record], value: impl Fn(&[Record]) -> f64) -> Estimate {
    let mut seeds: Vec<u64> = records.iter().map(|record| record.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let of = |&seed: &u64| {
        let own = records.iter().filter(|record| record.seed == seed);
        value(&own.cloned().collect::<Vec<_>>())
    };
    Estimate::of(&seeds.iter().map(of).collect::<Vec<_>>())
}

/// A line through a value of the records of one policy, at the mean where several share a place, with its interval.
pub fn line(
    name: impl Into<String>,
    records: &[Record],
    policy: &str,
    point: impl Fn(&Record) -> (f64, f64),
    stroke: Stroke,
) -> Line {
    let own = records.iter().filter(|record| record.policy == policy);
    let mut found: Vec<((f64, f64), f64)> = own
        .map(|record| (point(record), record.freshness_ci95))
        .collect();
    found.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
    let places = found.chunk_by(|a, b| a.0.0 == b.0.0).map(|same| {
        let values: Vec<f64> = same.iter().map(|(point, _)| point.1).collect();
        let estimate = Estimate::of(&values);
        let half = if values.len() > 1 {
            estimate.half
        } else {
            same[0].1
        };
        ((same[0].0.0, estimate.mean), half)
    });
    let (points, mut errors): (Vec<_>, Vec<_>) = places.unzip();
    if stroke != Stroke::Solid {
        // bounds and what others know: to compare with, not measured here
        errors.clear();
    }
    Line {
        name: name.into(),
        points,
        errors,
        stroke,
    }
}

/// Those of these policies that this build has.
pub fn present<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let known = freshness::policy::names();
    let is_known = |name: &&&str| known.iter().any(|known| known == **name);
    names.iter().filter(is_known).copied().collect()
}
