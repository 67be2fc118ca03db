//! Many downloads side by side: fleets, methods and rules of politeness.

use super::algebra::{Algebra, evaluate};
use super::conditions::Conditions;
use super::divide::{Assignment, Nearness, Wishes, divide};
use super::internet::Internet;
use super::patience::unless_stopped;
use super::politeness::Politeness;
use super::run::{Download, run};
use super::web::{Unit, Web};
use crate::run::Control;
use partition::limits::Balance;
use partition::method::Method;
use partition::task::PartitionError;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A rule of politeness, or the mean interval that another rule led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// As it is.
    Is(Politeness),
    /// Fixed at the mean pause of a run under this one.
    MeanOf(Politeness),
}

/// One download.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// How many robots.
    pub robots: usize,
    /// How pages are divided among them.
    pub method: Method,
    /// What is a server.
    pub unit: Unit,
    /// What the graph knows about nearness; hashes do not ask.
    pub nearness: Nearness,
    /// How polite they are.
    pub rule: Rule,
}

/// What a case came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The case.
    pub case: Case,
    /// By formula.
    pub algebra: Algebra,
    /// Event by event, when asked for.
    pub download: Option<Download>,
}

/// Everything that is asked.
pub struct Sweep<'a> {
    /// What to download.
    pub web: &'a Arc<Web>,
    /// The Internet of so many robots.
    pub internet: &'a (dyn Fn(usize) -> Internet + Sync),
    /// The downloads.
    pub cases: &'a [Case],
    /// But for unit and politeness, which the cases have.
    pub conditions: Conditions,
    /// Preference factors of links and of nearness.
    pub preference: [f64; 2],
    /// How equal parts must be.
    pub balance: Balance,
    /// Whether to simulate, or only to evaluate.
    pub simulate: bool,
    /// Same seed, same answers.
    pub seed: u64,
}

type Key = (usize, Method, bool, Nearness);

fn key(case: &Case) -> Key {
    let nearness = if case.method.is_graph() {
        case.nearness
    } else {
        Nearness::Neither
    };
    // hashes know no unit either
    let addresses = case.unit == Unit::Addresses && case.method.is_graph();
    (case.robots, case.method, addresses, nearness)
}

/// Answers in the order of the cases, whatever the number of threads; those that were stopped are
/// partial, those not begun are missing at the end. A request to stop does not wait for partitions
/// that are being made.
pub fn sweep(sweep: &Sweep, control: &Control) -> Result<Vec<Answer>, PartitionError> {
    let mut sizes: Vec<usize> = sweep.cases.iter().map(|case| case.robots).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let internets: HashMap<usize, Internet> = sizes
        .into_iter()
        .map(|robots| (robots, (sweep.internet)(robots)))
        .collect();
    let internets = Arc::new(internets);
    let stopped = || control.stop.load(Ordering::Relaxed);
    let divided = unless_stopped(control.stop, {
        let (web, internets, wishes) =
            (Arc::clone(sweep.web), Arc::clone(&internets), wishes(sweep));
        move || assignments(&web, &internets, wishes)
    });
    let Some(assignments) = divided.transpose()? else {
        return Ok(Vec::new());
    };
    let answers: Vec<Option<Answer>> = sweep
        .cases
        .par_iter()
        .map(|case| {
            let assignment = assignments.get(&key(case)).filter(|_| !stopped())?;
            Some(answer(
                sweep,
                case,
                &internets[&case.robots],
                assignment,
                control,
            ))
        })
        .collect();
    Ok(answers.into_iter().map_while(|answer| answer).collect())
}

/// What must be divided, each once.
fn wishes(sweep: &Sweep) -> Vec<(Key, Wishes)> {
    let mut keys: Vec<(Key, &Case)> = sweep.cases.iter().map(|case| (key(case), case)).collect();
    keys.sort_by_key(|(key, _)| (key.0, key.1, key.2, key.3 as u8));
    keys.dedup_by_key(|(key, _)| *key);
    let wishes = |(key, case): (Key, &Case)| {
        let wishes = Wishes {
            method: case.method,
            unit: case.unit,
            nearness: key.3,
            preference: sweep.preference,
            balance: sweep.balance,
            seed: sweep.seed,
        };
        (key, wishes)
    };
    keys.into_iter().map(wishes).collect()
}

fn assignments(
    web: &Web,
    internets: &HashMap<usize, Internet>,
    wishes: Vec<(Key, Wishes)>,
) -> Result<HashMap<Key, Assignment>, PartitionError> {
    let one = |(key, wishes): (Key, Wishes)| {
        divide(web, &internets[&key.0], &wishes, None).map(|found| (key, found))
    };
    wishes.into_par_iter().map(one).collect()
}

/// How many pages are downloaded in all, for progress.
pub fn downloads(sweep: &Sweep) -> usize {
    let runs = |case: &Case| match case.rule {
        Rule::Is(_) => 1,
        Rule::MeanOf(_) => 2,
    };
    let all: usize = sweep.cases.iter().map(runs).sum();
    all * sweep.web.pages()
}

fn answer(
    sweep: &Sweep,
    case: &Case,
    internet: &Internet,
    assignment: &Assignment,
    control: &Control,
) -> Answer {
    let under = |politeness: Politeness| Conditions {
        unit: case.unit,
        politeness,
        ..sweep.conditions
    };
    let download = |conditions: &Conditions| {
        run(
            sweep.web,
            internet,
            assignment,
            conditions,
            control,
            &mut |_| {},
        )
    };
    let politeness = match case.rule {
        Rule::Is(politeness) => politeness,
        Rule::MeanOf(other) => Politeness::Fixed(download(&under(other)).mean_pause),
    };
    let conditions = under(politeness);
    Answer {
        case: *case,
        algebra: evaluate(sweep.web, internet, assignment, &conditions),
        download: sweep.simulate.then(|| download(&conditions)),
    }
}
