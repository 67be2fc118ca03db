//! The default policy against all others, on recorded histories or on generated ones of many
//! shapes.

use super::lab::{self, Lab, Question, Record, find, line, present};
use super::outcome::{Outcome, difference_chart};
use super::verdict::{LEAST_SEEDS, Relation, Source, Verdict};
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::chart::{Chart, Scale, Stroke};
use desk::terminal::grouped;
use simulation::knowledge;
use simulation::scenario::{self, Kind, Law, Scenario};
use simulation::sweep::Budget;
use simulation::world::{Observe, World};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

/// Visits per change.
const BUDGETS: [f64; 4] = [0.1, 0.25, 0.5, 1.0];
/// What visits reveal; the first is what charts show.
const MODES: [Observe; 3] = [Observe::LastModified, Observe::Bit, Observe::History];
/// In the charts; others would hide these.
const DRAWN: [&str; 6] = [
    "default",
    "index",
    "epochs",
    "merge-harmonic",
    "uniform",
    "q-learning",
];
/// A rival that makes more visits than the budget, by this factor, is met with as many.
const OVERSPENT: f64 = 1.005;
/// Runs of each policy: recorded histories are one world each, generated ones are drawn anew.
const RECORDED_RUNS: usize = 10;
const GENERATED_RUNS: usize = 6;
/// A rival that is ahead, but known no better than this, is run so many times instead.
const WIDE: f64 = 0.005;
const MORE_RUNS: usize = 100;
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
    observe: Cow<'static, str>,
    budget: String,
    rival: String,
    group: &'static str,
    ours: f64,
    ours_ci95: f64,
    theirs: f64,
    theirs_ci95: f64,
}

impl Comparison {
    fn new(group: &'static str, ours: &Record, theirs: &Record) -> Self {
        Self {
            data: ours.data.clone(),
            observe: ours.observe.clone(),
            budget: ours.budget.clone(),
            rival: theirs.policy.clone(),
            group,
            ours: ours.freshness,
            ours_ci95: ours.freshness_ci95,
            theirs: theirs.freshness,
            theirs_ci95: theirs.freshness_ci95,
        }
    }

    /// At least as fresh, within the confidence interval of the difference.
    fn holds(&self) -> bool {
        self.theirs - self.ours <= self.ours_ci95.hypot(self.theirs_ci95)
    }

    fn is_ahead(&self) -> bool {
        self.ours >= self.theirs
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
    let runs = match (lab.quick, lab.traces.is_empty()) {
        (true, _) => LEAST_SEEDS,
        (false, false) => RECORDED_RUNS,
        (false, true) => GENERATED_RUNS,
    };
    let (mut records, mut comparisons) = (Vec::new(), Vec::new());
    let modes = if lab.quick { &MODES[..1] } else { &MODES };
    for data in &all {
        for &observe in modes {
            let own = compare(lab, data, observe, runs, &mut comparisons)?;
            records.extend(own);
        }
    }
    let modes: Vec<&str> = modes.iter().copied().map(lab::mode).collect();
    let described: Vec<String> = all.iter().map(|d| d.describe.clone()).collect();
    Ok(Outcome {
        title: "The default policy against all others",
        data: format!(
            "{}; no politeness; what visits reveal: {}; {runs} runs of each policy",
            described.join("; "),
            modes.join(", "),
        ),
        seed: lab.seed,
        relations: relations(&all, &comparisons),
        charts: charts(&records),
        records,
        files: vec![("comparisons.csv".to_owned(), table(&comparisons))],
        notes: vec![
            "*Level*: another policy's mean is higher, but not by more than the 95 % confidence \
             interval of the difference, over runs of both; *lost*: by more. Every run draws all \
             that is random, the numbers of the pages too: on a recorded history policies that go \
             by numbers would else win or lose by an alphabet."
                .to_owned(),
            format!(
                "A policy that is ahead but known no better than ± {WIDE} is run {MORE_RUNS} times \
                 instead. `multiplicative` and `halfway` choose how many visits they make; \
                 `default` is run again with as many, as it is for others that make more than the \
                 budget by over 0.5 %."
            ),
            "The others are all policies by name, but for names that mean the same where nothing \
             is known beforehand. `pages_ci95` is the interval over pages, were they a sample of \
             others like them: policies on one history share that luck, and it decides nothing \
             here."
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

/// Every other policy that learns from its own visits and keeps to a budget, once.
fn rivals() -> Vec<String> {
    // short names stand for these; nobody knows gaps for WOLF
    let twice = |name: &str| {
        [
            "merge-uniform",
            "merge-proportional",
            "merge-opt-polite",
            "greedy-printed",
        ]
        .contains(&name)
            || name.starts_with("purely-random-")
            || name.ends_with("-wolf")
    };
    let mut names = freshness::policy::names();
    names.retain(|name| name != "default" && !PRODUCTION.contains(&name.as_str()) && !twice(name));
    names
}

fn compare(
    lab: &Lab,
    data: &Data,
    observe: Observe,
    runs: usize,
    comparisons: &mut Vec<Comparison>,
) -> Result<Vec<Record>> {
    let ask = |policies: &[&str], budgets: &[(String, Budget)], knowledge, runs| {
        lab.ask(&Question {
            data: &data.name,
            policies,
            budgets,
            knowledge,
            observe,
            runs,
            world: &data.world,
        })
    };
    // `default` with as many visits as another one made
    let with_as_many = |theirs: &Record, name: String| {
        let visits = Budget::PerDay(theirs.visits as f64 / data.days);
        let mut ours = ask(
            &["default"],
            &[(name, visits)],
            knowledge::Source::Online,
            runs,
        )?;
        Ok::<Record, anyhow::Error>(ours.remove(0))
    };
    let budgets = BUDGETS.map(|visits| (visits.to_string(), Budget::PerChange(visits)));
    let rivals = rivals();
    let rivals: Vec<&str> = if lab.quick {
        present(&DRAWN[1..])
    } else {
        rivals.iter().map(String::as_str).collect()
    };
    let mut records = ask(&["default"], &budgets, knowledge::Source::Online, runs)?;
    for mut theirs in ask(&rivals, &budgets, knowledge::Source::Online, runs)? {
        let ours = find(&records, &theirs.budget, "default").freshness;
        if !lab.quick && theirs.freshness > ours && theirs.freshness_ci95 > WIDE {
            let at = budgets.iter().filter(|(name, _)| *name == theirs.budget);
            let at: Vec<_> = at.cloned().collect();
            theirs = ask(&[&theirs.policy], &at, knowledge::Source::Online, MORE_RUNS)?.remove(0);
        }
        records.push(theirs);
    }
    let hindsight = ask(&HINDSIGHT, &budgets, knowledge::Source::Hindsight, runs)?;
    let mut again = Vec::new();
    for (budget, _) in &budgets {
        let ours = find(&records, budget, "default");
        for &rival in &rivals {
            let theirs = find(&records, budget, rival);
            if theirs.visits as f64 > OVERSPENT * ours.visits as f64 {
                let ours = with_as_many(theirs, format!("as {rival} at {budget}"))?;
                comparisons.push(Comparison::new("online", &ours, theirs));
                again.push(ours);
            } else {
                comparisons.push(Comparison::new("online", ours, theirs));
            }
        }
        for rival in HINDSIGHT {
            let theirs = find(&hindsight, budget, rival);
            comparisons.push(Comparison::new(rival, ours, theirs));
        }
    }
    records.extend(hindsight);
    records.extend(again);
    // the budget is but their first guess
    let guess = (String::new(), Budget::PerChange(1.0));
    for mut theirs in ask(&PRODUCTION, &[guess], knowledge::Source::Online, runs)? {
        theirs.budget = format!("as {}", theirs.policy);
        let ours = with_as_many(&theirs, theirs.budget.clone())?;
        comparisons.push(Comparison::new("production", &ours, &theirs));
        records.push(theirs);
        records.push(ours);
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
                let ahead = own.iter().filter(|c| c.is_ahead()).count();
                let level = own.len() - ahead;
                format!("{ahead} ahead, {level} level, none lost; closest: {closest}")
            } else {
                format!("{} of {} lost: {}", lost.len(), own.len(), lost.join("; "))
            };
            let verdict = Verdict::of(lost.is_empty());
            relations.push(Relation::new(
                Source::Ours,
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
            "{} {} {} {:.4} ± {:.4} against {:.4} ± {:.4}",
            self.observe,
            self.rival,
            self.budget,
            self.ours,
            self.ours_ci95,
            self.theirs,
            self.theirs_ci95
        )
    }
}

fn table(comparisons: &[Comparison]) -> String {
    let mut text =
        "data,observe,budget,rival,default,default_ci95,theirs,theirs_ci95,holds\n".to_owned();
    for c in comparisons {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{},{},{},{},{:.6},{:.6},{:.6},{:.6},{}",
            c.data,
            c.observe,
            c.budget,
            c.rival,
            c.ours,
            c.ours_ci95,
            c.theirs,
            c.theirs_ci95,
            c.holds()
        );
    }
    text
}

/// The plots of these rows: one for each history, with the first of what visits may reveal.
pub fn charts(records: &[Record]) -> Vec<(String, Chart)> {
    let mode = lab::mode(MODES[0]);
    let shown: Vec<Record> = (records.iter().filter(|record| record.observe == mode))
        .cloned()
        .collect();
    let histories = shown.chunk_by(|a, b| a.data == b.data);
    let name = |own: &[Record]| own[0].data.clone();
    histories
        .map(|own| (name(own), chart(&name(own), own)))
        .collect()
}

fn chart(name: &str, records: &[Record]) -> Chart {
    let (known, learnt): (Vec<Record>, Vec<Record>) = records
        .iter()
        .filter(|record| !record.budget.starts_with("as "))
        .cloned()
        .partition(|record| record.knowledge == "hindsight");
    let point = |r: &Record| (r.budget.parse().unwrap_or(0.0), r.freshness);
    let mut lines = Vec::new();
    for policy in present(&DRAWN) {
        lines.push(line(policy, &learnt, policy, point, Stroke::Solid));
    }
    for policy in HINDSIGHT {
        let name = format!("{policy}, hindsight");
        lines.push(line(name, &known, policy, point, Stroke::Dashed));
    }
    difference_chart(
        format!("Freshness against budget: {name}"),
        "visits per change",
        Scale::Logarithmic,
        lines,
        "uniform",
    )
}
