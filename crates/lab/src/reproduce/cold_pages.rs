//! Where there are fewer visits than pages: first visits by what URLs say, in a world where pages come to be.

use super::lab::Lab;
use super::outcome::{Outcome, freshness_chart};
use super::verdict::{Band, Estimate, Figure, PLAIN, POINTS, Relation, Source, told};
use crate::simulate::{Trace, pages_made};
use anyhow::Result;
use desk::chart::{Chart, Line, Scale, Stroke};
use desk::interrupt::{Interrupted, stop_on_interrupt};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::download::patience::unless_stopped;
use simulation::newcomers::{First, Site};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// Visits per change.
const BUDGETS: [f64; 2] = [0.1, 0.25];
/// That a tenth of a point can be seen.
const RUNS: u64 = 30;
const QUICK_RUNS: u64 = 5;
const ORDERS: [(First, &str); 3] = [
    (First::Random, "random"),
    (First::BreadthFirst, "breadth-first"),
    (First::Lasting, "lasting"),
];
/// The goal: this share of the way to hindsight, and nowhere more lost than that.
const SHARE: f64 = 0.25;
const LOSS: f64 = 0.001;

/// What came out at one budget: a value for each run.
struct Answer {
    budget: f64,
    orders: [Vec<f64>; 3],
    hindsight: Vec<f64>,
}

/// Runs the experiment on every history given, or on a generated one.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let mut sites = Vec::new();
    for trace in lab.traces {
        let read = Trace::with_columns(&trace.changes, trace.items.as_deref(), &trace.columns)?;
        sites.push((trace.name.clone(), Arc::new(pages_made(&read))));
    }
    let is_drawn = sites.is_empty();
    if is_drawn {
        sites.push(("generated".to_owned(), Arc::new(generated(lab.seed))));
    }
    let runs = if lab.quick { QUICK_RUNS } else { RUNS };
    let mut rows = String::from("history,visits_per_change,seed,first_visits,freshness\n");
    let (mut data, mut relations) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for (name, site) in &sites {
        let (from, until) = site.period();
        data.push(format!(
            "{name}, {} pages, {} changes in {:.0} days",
            site.urls.len(),
            site.changes.iter().map(Vec::len).sum::<usize>(),
            until - from
        ));
        let mut answers = Vec::new();
        for budget in BUDGETS {
            let seeds = lab.seed..lab.seed + runs;
            let (own, of) = (Arc::clone(site), seeds.clone());
            let answer = move || answer(&own, budget, &of);
            let answer = unless_stopped(stop_on_interrupt(), answer).ok_or(Interrupted)?;
            let named = ORDERS.iter().map(|(_, name)| *name).zip(&answer.orders);
            for (order, found) in named.chain([("merge-cho", &answer.hindsight)]) {
                for (seed, freshness) in seeds.clone().zip(found) {
                    // writing to a string cannot fail
                    let _ = writeln!(rows, "{name},{budget},{seed},{order},{freshness:.6}");
                }
            }
            answers.push(answer);
        }
        relations.extend(of_history(name, &answers, is_drawn));
        found.push(answers);
    }
    let kind = if is_drawn { "generated" } else { "recorded" };
    Ok(Outcome {
        title: "First visits to pages that last",
        data: format!("{kind}: {}; {runs} runs of each order", data.join("; ")),
        seed: lab.seed,
        relations,
        records: Vec::new(),
        files: vec![("rows.csv".to_owned(), rows)],
        charts: vec![("orders".to_owned(), chart(&found))],
        notes: vec![
            "A page is there from its first change on, which makes it; freshness is that of pages that are there, \
             and one without a copy is out of date. Visits come evenly, tell when a page last changed, and go to \
             pages never visited first; the default policy makes all others."
                .to_owned(),
            "`breadth-first` is what a crawl does by default; the simulators' policies make first visits in random \
             order. MERGE-CHO in hindsight knows how often each page changes while it is there; where it is not \
             ahead at both budgets, there is no way to go a part of."
                .to_owned(),
        ],
    })
}

fn answer(site: &Site, budget: f64, seeds: &Range<u64>) -> Answer {
    let each = |of: &dyn Fn(u64) -> f64| seeds.clone().map(of).collect::<Vec<f64>>();
    Answer {
        budget,
        orders: ORDERS.map(|(first, _)| each(&|seed| site.visited(budget, first, seed))),
        hindsight: each(&|seed| site.in_hindsight(budget, seed)),
    }
}

/// How fresh each order keeps the pages, as the mean over histories.
fn chart(found: &[Vec<Answer>]) -> Chart {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let line = |name: &str, of: &dyn Fn(&Answer) -> f64| {
        let at = |k: usize| {
            mean(
                &found
                    .iter()
                    .map(|history| of(&history[k]))
                    .collect::<Vec<_>>(),
            )
        };
        Line {
            name: name.to_owned(),
            points: (BUDGETS.iter().enumerate())
                .map(|(k, &budget)| (budget, at(k)))
                .collect(),
            stroke: Stroke::Solid,
            errors: Vec::new(),
        }
    };
    let mut lines: Vec<Line> = (ORDERS.iter().enumerate())
        .map(|(k, (_, name))| line(name, &|answer| mean(&answer.orders[k])))
        .collect();
    lines.push(line("merge-cho in hindsight", &|answer| {
        mean(&answer.hindsight)
    }));
    freshness_chart(
        format!("Order of first visits, mean of {} histories", found.len()),
        "visits per change",
        Scale::Logarithmic,
        lines,
    )
}

fn of_history(name: &str, answers: &[Answer], is_drawn: bool) -> Vec<Relation> {
    let labels: Vec<String> = answers.iter().map(|a| a.budget.to_string()).collect();
    let paired = |of: &dyn Fn(&Answer, usize) -> f64| -> Vec<Vec<f64>> {
        let runs = |answer: &Answer| 0..answer.hindsight.len();
        let one = |answer: &Answer| runs(answer).map(|run| of(answer, run)).collect();
        answers.iter().map(one).collect()
    };
    let means = |values: &[Vec<f64>]| -> Vec<Estimate> {
        values.iter().map(|runs| Estimate::of(runs)).collect()
    };
    let named = |unit, values: &[Estimate]| {
        let labels = labels.iter().map(String::as_str);
        told(unit, labels.zip(values.iter().copied()))
    };
    let judged = |claim: String, unit, values: &[Estimate], band: Band| {
        if is_drawn {
            let why = "the folders were made to tell";
            return Relation::only(Source::Ours, claim, named(unit, values), why);
        }
        let figures = labels.iter().zip(values);
        let figures = figures.map(|(label, &value)| Figure::new(label, value, band));
        Relation::judged(Source::Ours, claim, unit, &figures.collect::<Vec<_>>())
    };
    let mut relations = Vec::new();
    for (other, words) in [(1, "breadth-first"), (0, "random")] {
        let ahead = paired(&|a, run| a.orders[2][run] - a.orders[other][run]);
        let to_hindsight = paired(&|a, run| a.hindsight[run] - a.orders[other][run]);
        let ways = means(&to_hindsight);
        relations.push(Relation::only(
            Source::Ours,
            format!("{name}: MERGE with CHO in hindsight is ahead of {words} first visits by"),
            named(POINTS, &ways),
            "nothing was claimed",
        ));
        // of means, or runs in which there is hardly a way would decide
        let gone: Vec<Estimate> = (ahead.iter().zip(&to_hindsight))
            .map(|(ahead, way)| Estimate::share(ahead, way))
            .collect();
        if ways.iter().all(|way| way.mean > way.half) {
            let claim = format!("{name}: `lasting` goes a quarter of that way");
            relations.push(judged(claim, PLAIN, &gone, Band::at_least(SHARE)));
        }
        let claim = format!(
            "{name}: `lasting` loses no more than 0.1 points against {words} first visits (ahead by)"
        );
        relations.push(judged(claim, POINTS, &means(&ahead), Band::at_least(-LOSS)));
    }
    relations
}

/// Forty folders that differ in how long their contents last, over three years.
fn generated(seed: u64) -> Site {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut urls, mut changes) = (Vec::new(), Vec::new());
    for folder in 0..40 {
        let drawn: f64 = StandardNormal.sample(&mut rng);
        for page in 0..20 {
            let own: f64 = StandardNormal.sample(&mut rng);
            let gap = 60.0 * (drawn + 0.7 * own).exp();
            let mut at = 700.0 * rng.random::<f64>();
            let mut own = Vec::new();
            while at < 1095.0 {
                own.push(at);
                let wait: f64 = Exp1.sample(&mut rng);
                at += gap * wait;
            }
            urls.push(format!("https://site.example/{folder}/{page}.html"));
            changes.push(own);
        }
    }
    Site {
        urls,
        columns: Vec::new(),
        changes,
    }
}
