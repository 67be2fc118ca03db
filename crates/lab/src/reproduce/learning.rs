//! Policies that learn from their own visits against classical ones, and against those that know.

use super::lab::{Lab, Question, Record, find, line, present};
use super::outcome::{Outcome, freshness_chart};
use super::verdict::{Relation, Verdict, points};
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::chart::{Scale, Stroke};
use simulation::knowledge::Source;
use simulation::scenario::{Kind, Law, Scenario};
use simulation::sweep::Budget;
use simulation::world::Observe;
use std::sync::Arc;

const LEARNERS: [&str; 4] = ["default", "epochs", "q-learning", "gradient"];
const CLASSICAL: [&str; 2] = ["uniform", "random-uniform"];
const KNOWING: &str = "merge-opt-polite";
/// Visits per change.
const BUDGETS: [f64; 3] = [0.25, 0.5, 1.0];

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let bursty = Kind::Bursty {
        quiet_days: 10.0,
        busy_days: 1.0,
        contrast: 30.0,
    };
    let (pages, days) = if lab.quick {
        (200, 300.0)
    } else {
        (2_000, 730.0)
    };
    let runs = if lab.quick { 2 } else { 5 };
    let learners = present(&LEARNERS);
    let online = [&learners[..], &CLASSICAL].concat();
    let budgets = BUDGETS.map(|visits| (visits.to_string(), Budget::PerChange(visits)));
    let (mut records, mut relations, mut charts) = (Vec::new(), Vec::new(), Vec::new());
    for (name, process) in [("poisson", Kind::Poisson), ("bursty", bursty)] {
        let scenario = Scenario {
            pages,
            servers: pages / 40,
            days,
            seed: lab.seed,
            politeness_seconds: 15.0,
            pages_per_server_exponent: 1.0,
            never_changing: 0.1,
            rates: Law {
                exponent: 0.5,
                least: 0.05,
                most: 5.0,
            },
            weights: None,
            process,
        };
        let ask = |policies: &[&str], knowledge| {
            lab.ask(&Question {
                data: name,
                policies,
                budgets: &budgets,
                knowledge,
                observe: Observe::LastModified,
                runs,
                world: &|run| Ok(Arc::new(scenario.world(scenario.repository(), run, 0.0)?)),
            })
        };
        scenario
            .world(scenario.repository(), 0, 0.0)
            .map_err(|error| BadInput(error.to_string()))?;
        let mut own = ask(&online, Source::Online)?;
        own.extend(ask(&[KNOWING], Source::Hindsight)?);
        relations.extend(compare(name, &own, &learners));
        let point = |r: &Record| (r.budget.parse().unwrap_or(0.0), r.final_freshness);
        let mut lines = Vec::new();
        for policy in &online {
            lines.push(line(*policy, &own, policy, point, Stroke::Solid));
        }
        let known = format!("{KNOWING}, hindsight");
        lines.push(line(known, &own, KNOWING, point, Stroke::Dashed));
        let title = format!("Freshness once learnt: {name}");
        let chart = freshness_chart(title, "visits per change", Scale::Logarithmic, lines);
        charts.push((name.to_owned(), chart));
        records.extend(own);
    }
    Ok(Outcome {
        title: "Learning agents against classical strategies",
        data: format!(
            "generated: {pages} pages on {} servers, rates a power law from 0.05 to 5 a day, \
             Poisson and bursty changes, 15 s of politeness, {days} days, {runs} runs of each; \
             visits reveal when a page last changed",
            pages / 40
        ),
        seed: lab.seed,
        relations,
        records,
        files: Vec::new(),
        charts,
        notes: vec![
            "Freshness is that of the last twentieth of the time (`final_freshness`), when agents \
             have learnt."
                .to_owned(),
        ],
    })
}

fn compare(data: &str, records: &[Record], learners: &[&str]) -> Vec<Relation> {
    let labels = BUDGETS.map(|budget| budget.to_string());
    let end = |label: &str, policy: &str| find(records, label, policy).final_freshness;
    let minus = |ours: &str, theirs: &str| -> Vec<f64> {
        let difference = |label: &String| end(label, ours) - end(label, theirs);
        labels.iter().map(difference).collect()
    };
    let named = |values: &[f64]| {
        points(
            labels
                .iter()
                .map(String::as_str)
                .zip(values.iter().copied()),
        )
    };
    let mut relations = Vec::new();
    for learner in learners {
        for classical in CLASSICAL {
            let ahead = minus(learner, classical);
            relations.push(Relation::new(
                format!("{data}: {learner} learns to beat {classical}"),
                format!("ahead by {}", named(&ahead)),
                Verdict::graded(
                    ahead.iter().all(|&points| points > 0.0),
                    ahead.iter().any(|&points| points > 0.0),
                ),
            ));
        }
        let behind = minus(KNOWING, learner);
        relations.push(Relation::new(
            format!("{data}: {learner} comes near to MERGE with OPT_POLITE in hindsight"),
            format!("behind by {}", named(&behind)),
            Verdict::graded(
                behind.iter().all(|&points| points <= 0.01),
                behind.iter().all(|&points| points <= 0.05),
            ),
        ));
    }
    if data == "poisson" {
        let share = |label: &String| {
            let record = find(records, label, "default");
            record.final_freshness / record.bound_polite
        };
        let shares = labels.each_ref().map(share);
        relations.push(Relation::new(
            "poisson: the default policy does no harm: within 1 % of POLITE once it has learnt",
            format!(
                "{} of POLITE at {} visits per change",
                shares.map(|share| format!("{share:.4}")).join(", "),
                labels.join(", ")
            ),
            Verdict::of(shares.iter().all(|&share| share >= 0.99)),
        ));
    }
    relations
}
