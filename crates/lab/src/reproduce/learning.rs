//! Policies that learn from their own visits against classical ones, and against those that know.

use super::lab::{Lab, Question, Record, find, line, over_seeds, present};
use super::outcome::{Outcome, difference_chart};
use super::verdict::{Band, Estimate, Figure, PLAIN, POINTS, Relation, Source};
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::chart::{Chart, Line, Scale, Stroke};
use simulation::knowledge;
use simulation::scenario::{Kind, Law, Scenario};
use simulation::sweep::Budget;
use simulation::world::Observe;
use std::sync::Arc;

const LEARNERS: [&str; 3] = ["default", "epochs", "q-learning"];
const CLASSICAL: [&str; 2] = ["uniform", "random-uniform"];
const KNOWING: &str = "merge-opt-polite";
/// What plots show the difference to.
const BASELINE: &str = "uniform";
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
    let learners = present(&LEARNERS);
    let online = [&learners[..], &CLASSICAL].concat();
    let budgets = BUDGETS.map(|visits| (visits.to_string(), Budget::PerChange(visits)));
    let (mut records, mut relations) = (Vec::new(), Vec::new());
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
        let ask = |seed: u64, policies: &[&str], knowledge| {
            lab.seeded(seed).ask(&Question {
                data: name,
                policies,
                budgets: &budgets,
                knowledge,
                observe: Observe::LastModified,
                runs: 1,
                world: &|_| {
                    Ok(Arc::new(scenario.world(
                        scenario.repository(),
                        seed,
                        0.0,
                    )?))
                },
            })
        };
        scenario
            .world(scenario.repository(), 0, 0.0)
            .map_err(|error| BadInput(error.to_string()))?;
        let mut own = Vec::new();
        for seed in lab.seeds() {
            own.extend(ask(seed, &online, knowledge::Source::Online)?);
            own.extend(ask(seed, &[KNOWING], knowledge::Source::Hindsight)?);
        }
        relations.extend(compare(name, &own, &learners));
        records.extend(own);
    }
    Ok(Outcome {
        title: "Learning agents against classical strategies",
        data: format!(
            "generated: {pages} pages on {} servers, rates a power law from 0.05 to 5 a day, \
             Poisson and bursty changes, 15 s of politeness, {days} days, five draws; \
             visits reveal when a page last changed",
            pages / 40
        ),
        seed: lab.seed,
        relations,
        charts: charts(&records),
        records,
        files: Vec::new(),
        notes: vec![
            "Freshness is that of the last twentieth of the time (`final_freshness`), when agents \
             have learnt."
                .to_owned(),
        ],
    })
}

/// The plots of these rows.
pub fn charts(records: &[Record]) -> Vec<(String, Chart)> {
    let chart = |name: &str| {
        let own: Vec<Record> = (records.iter().filter(|record| record.data == name))
            .cloned()
            .collect();
        // each draw against its own baseline, so intervals are those of the difference
        let point = |r: &Record| {
            let is_base = |other: &&Record| {
                other.policy == BASELINE && other.seed == r.seed && other.budget == r.budget
            };
            let base = own.iter().find(is_base);
            let base = base.map_or(f64::NAN, |base| base.final_freshness);
            (r.budget.parse().unwrap_or(0.0), r.final_freshness - base)
        };
        let mut lines: Vec<Line> = [&present(&LEARNERS)[..], &CLASSICAL]
            .concat()
            .into_iter()
            .map(|policy| line(policy, &own, policy, point, Stroke::Solid))
            .collect();
        let known = format!("{KNOWING}, hindsight");
        lines.push(line(known, &own, KNOWING, point, Stroke::Dashed));
        let title = format!("Freshness once learnt: {name}");
        let (x, scale) = ("visits per change", Scale::Logarithmic);
        (
            name.to_owned(),
            difference_chart(title, x, scale, lines, BASELINE),
        )
    };
    ["poisson", "bursty"].map(chart).into()
}

fn compare(data: &str, records: &[Record], learners: &[&str]) -> Vec<Relation> {
    let labels = BUDGETS.map(|budget| budget.to_string());
    let each = |value: &dyn Fn(&[Record], &str) -> f64| -> [Estimate; 3] {
        labels
            .each_ref()
            .map(|label| over_seeds(records, |own| value(own, label)))
    };
    let end = |own: &[Record], label: &str, policy: &str| find(own, label, policy).final_freshness;
    let minus = |ours: &str, theirs: &str| {
        each(&|own, label| end(own, label, ours) - end(own, label, theirs))
    };
    let figures = |values: [Estimate; 3], band: Band| -> Vec<Figure> {
        let figures = labels.iter().zip(values);
        figures
            .map(|(label, value)| Figure::new(label, value, band))
            .collect()
    };
    let mut relations = Vec::new();
    for learner in learners {
        for classical in CLASSICAL {
            relations.push(Relation::judged(
                Source::Ours,
                format!("{data}: {learner} learns to beat {classical}, by"),
                POINTS,
                &figures(minus(learner, classical), Band::at_least(0.0)),
            ));
        }
        relations.push(Relation::judged(
            Source::Ours,
            format!("{data}: {learner} comes within a point of MERGE with OPT_POLITE in hindsight, behind by"),
            POINTS,
            &figures(minus(KNOWING, learner), Band::at_most(0.01)),
        ));
    }
    if data == "poisson" {
        let share = each(&|own, label| {
            let record = find(own, label, "default");
            record.final_freshness / record.bound_polite
        });
        relations.push(Relation::judged(
            Source::Ours,
            "poisson: the default policy does no harm: within 1 % of POLITE once it has learnt",
            PLAIN,
            &figures(
                share,
                Band {
                    low: 0.99,
                    high: 1.005,
                },
            ),
        ));
    }
    relations
}
