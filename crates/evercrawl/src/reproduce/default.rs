//! The default policy against all others, on recorded histories or on generated ones of many
//! shapes.

use super::lab::{self, Lab, Question, Record, find, line, present};
use super::outcome::{Outcome, freshness_chart};
use super::verdict::{Relation, Verdict};
use crate::bad_input::BadInput;
use crate::terminal::grouped;
use anyhow::Result;
use simulation::chart::{Scale, Stroke};
use simulation::knowledge::Source;
use simulation::scenario::{self, Kind, Law, Scenario};
use simulation::sweep::Budget;
use simulation::world::World;
use std::fmt::Write;
use std::sync::Arc;

/// Visits per change.
const BUDGETS: [f64; 4] = [0.1, 0.25, 0.5, 1.0];
/// With the same knowledge: what their own visits reveal.
const ONLINE: [&str; 7] = [
    "default",
    "index",
    "epochs",
    "merge-harmonic",
    "uniform",
    "q-learning",
    "gradient",
];
/// Likewise; no lines of their own in the charts, where they would hide the others.
const VARIANTS: [&str; 4] = [
    "memory",
    "merge-age",
    "delayed-opt-polite",
    "delayed-harmonic",
];
/// They make as many visits as they see fit.
const PRODUCTION: [&str; 2] = ["multiplicative", "halfway"];
const HINDSIGHT: [&str; 2] = ["merge-cho", "merge-wolf"];

/// Worlds to compare in, one for each run.
struct Data {
    name: String,
    describe: String,
    days: f64,
    world: Box<dyn Fn(u64) -> Result<Arc<World>, scenario::Error>>,
}

/// The default policy and another one at the same number of visits.
struct Comparison {
    data: String,
    budget: String,
    rival: String,
    group: &'static str,
    ours: f64,
    ci95: f64,
    theirs: f64,
}

impl Comparison {
    fn new(group: &'static str, ours: &Record, theirs: &Record) -> Self {
        Self {
            data: ours.data.clone(),
            budget: ours.budget.clone(),
            rival: theirs.policy.clone(),
            group,
            ours: ours.freshness,
            ci95: ours.freshness_ci95,
            theirs: theirs.freshness,
        }
    }

    /// At least as fresh, within our confidence interval.
    fn holds(&self) -> bool {
        self.ours + self.ci95 >= self.theirs
    }
}

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let mut all = Vec::new();
    for trace in lab.traces {
        all.push(recorded(trace)?);
    }
    if all.is_empty() {
        all = shapes(lab)?;
    }
    let runs = if lab.quick { 2 } else { 5 };
    let (mut records, mut comparisons) = (Vec::new(), Vec::new());
    let mut charts = Vec::new();
    for data in &all {
        let own = compare(lab, data, runs, &mut comparisons)?;
        charts.push((data.name.clone(), chart(&data.name, &own)));
        records.extend(own);
    }
    let described: Vec<String> = all.iter().map(|d| d.describe.clone()).collect();
    Ok(Outcome {
        title: "The default policy against all others",
        data: format!(
            "{}; no politeness, visits reveal when a page last changed, {runs} runs of each",
            described.join("; ")
        ),
        seed: lab.seed,
        relations: relations(&all, &comparisons),
        records,
        files: vec![("comparisons.csv".to_owned(), table(&comparisons))],
        charts,
        notes: vec![
            "A comparison holds when freshness of `default` plus half its 95 % confidence interval \
             is at least the other's. `multiplicative` and `halfway` choose how many visits they \
             make; `default` is run again with as many."
                .to_owned(),
        ],
    })
}

fn recorded(trace: &super::TraceFile) -> Result<Data> {
    let world = Arc::new(lab::recorded(trace, None, 0)?);
    Ok(Data {
        name: trace.name.clone(),
        describe: format!(
            "recorded: {}, {} items on {} server(s), {} changes in {:.0} days",
            trace.name,
            grouped(world.pages()),
            grouped(world.delay.len()),
            grouped(world.changes_in_test() as usize),
            world.days()
        ),
        days: world.days(),
        world: Box::new(move |_| Ok(Arc::clone(&world))),
    })
}

fn shapes(lab: &Lab) -> Result<Vec<Data>> {
    let bursty = Kind::Bursty {
        quiet_days: 20.0,
        busy_days: 2.0,
        contrast: 30.0,
    };
    let drifting = Kind::Drifting {
        every_days: 60.0,
        sigma: 1.0,
    };
    let dying = Kind::Dying {
        half_life_days: 60.0,
    };
    let kinds = [
        ("poisson", Kind::Poisson),
        ("periodic", Kind::Periodic { jitter: 0.2 }),
        ("bursty", bursty),
        ("drifting", drifting),
        ("dying", dying),
        ("seasonal", Kind::Seasonal),
    ];
    let (pages, days) = if lab.quick {
        (150, 200.0)
    } else {
        (1_000, 365.0)
    };
    let shape = |(name, process): (&str, Kind)| {
        let scenario = Scenario {
            pages,
            servers: pages / 50,
            days,
            seed: lab.seed,
            politeness_seconds: 0.0,
            pages_per_server_exponent: 1.0,
            never_changing: 0.1,
            rates: Law {
                exponent: 0.5,
                least: 0.03,
                most: 3.0,
            },
            weights: None,
            process,
        };
        let draw = move |run| {
            let world = scenario.world(scenario.repository(), run, 0.0)?;
            Ok(Arc::new(world))
        };
        draw(0).map_err(|error: scenario::Error| BadInput(error.to_string()))?;
        Ok(Data {
            name: name.to_owned(),
            describe: format!("generated: {name}, {pages} pages, {days} days"),
            days,
            world: Box::new(draw),
        })
    };
    kinds.into_iter().map(shape).collect()
}

fn compare(
    lab: &Lab,
    data: &Data,
    runs: usize,
    comparisons: &mut Vec<Comparison>,
) -> Result<Vec<Record>> {
    let ask = |policies: &[&str], budgets: &[(String, Budget)], knowledge| {
        lab.ask(&Question {
            data: &data.name,
            policies,
            budgets,
            knowledge,
            runs,
            world: &data.world,
        })
    };
    let budgets = BUDGETS.map(|visits| (visits.to_string(), Budget::PerChange(visits)));
    let online = present(&[&ONLINE[..], &VARIANTS].concat());
    let mut records = ask(&online, &budgets, Source::Online)?;
    records.extend(ask(&HINDSIGHT, &budgets, Source::Hindsight)?);
    for (budget, _) in &budgets {
        let ours = find(&records, budget, "default");
        for rival in &online[1..] {
            let theirs = find(&records, budget, rival);
            comparisons.push(Comparison::new("online", ours, theirs));
        }
        for rival in HINDSIGHT {
            let theirs = find(&records, budget, rival);
            comparisons.push(Comparison::new(rival, ours, theirs));
        }
    }
    // the budget is but their first guess
    let guess = (String::new(), Budget::PerChange(1.0));
    for mut theirs in ask(&PRODUCTION, &[guess], Source::Online)? {
        theirs.budget = format!("as {}", theirs.policy);
        let visits = theirs.visits as f64 / data.days;
        let budget = (theirs.budget.clone(), Budget::PerDay(visits));
        let ours = ask(&["default"], &[budget], Source::Online)?;
        comparisons.push(Comparison::new("production", &ours[0], &theirs));
        records.push(theirs);
        records.extend(ours);
    }
    Ok(records)
}

fn relations(all: &[Data], comparisons: &[Comparison]) -> Vec<Relation> {
    let groups = [
        (
            "online",
            "at least as fresh as every policy with the same knowledge",
        ),
        (
            "production",
            "at least as fresh as production crawlers at their number of visits",
        ),
        (
            "merge-cho",
            "at least as fresh as MERGE with CHO in hindsight",
        ),
        (
            "merge-wolf",
            "the goal: at least as fresh as MERGE with WOLF in hindsight",
        ),
    ];
    let mut relations = Vec::new();
    for data in all {
        for (group, words) in groups {
            let own: Vec<&Comparison> = comparisons
                .iter()
                .filter(|c| c.group == group && c.data == data.name)
                .collect();
            let lost: Vec<String> = own
                .iter()
                .filter(|c| !c.holds())
                .map(|c| c.words())
                .collect();
            let closest = own
                .iter()
                .min_by(|a, b| (a.ours - a.theirs).total_cmp(&(b.ours - b.theirs)))
                .map_or_else(String::new, |c| c.words());
            let ours = if lost.is_empty() {
                format!("all {} comparisons; closest: {closest}", own.len())
            } else {
                format!("{} of {} lost: {}", lost.len(), own.len(), lost.join("; "))
            };
            let verdict = Verdict::of(lost.is_empty());
            relations.push(Relation::new(
                format!("{}: {words}", data.name),
                ours,
                verdict,
            ));
        }
    }
    relations
}

impl Comparison {
    fn words(&self) -> String {
        format!(
            "{} {} {:.4} ± {:.4} against {:.4}",
            self.rival, self.budget, self.ours, self.ci95, self.theirs
        )
    }
}

fn table(comparisons: &[Comparison]) -> String {
    let mut text = "data,budget,rival,default,default_ci95,theirs,holds\n".to_owned();
    for c in comparisons {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{},{},{},{:.6},{:.6},{:.6},{}",
            c.data,
            c.budget,
            c.rival,
            c.ours,
            c.ci95,
            c.theirs,
            c.holds()
        );
    }
    text
}

fn chart(name: &str, records: &[Record]) -> simulation::chart::Chart {
    let swept: Vec<Record> = records
        .iter()
        .filter(|record| !record.budget.starts_with("as "))
        .cloned()
        .collect();
    let point = |r: &Record| (r.budget.parse().unwrap_or(0.0), r.freshness);
    let mut lines = Vec::new();
    for policy in present(&ONLINE) {
        lines.push(line(policy, &swept, policy, point, Stroke::Solid));
    }
    for policy in HINDSIGHT {
        let name = format!("{policy}, hindsight");
        lines.push(line(name, &swept, policy, point, Stroke::Dashed));
    }
    freshness_chart(
        format!("Freshness against budget: {name}"),
        "visits per change",
        Scale::Logarithmic,
        lines,
    )
}
