//! RTTs that nobody measured: shortest paths and network coordinates against held-back pairs.

pub mod matrix;
pub mod trial;

use super::lab::Lab;
use super::outcome::Outcome;
use super::verdict::{Band, Estimate, Figure, LEAST_SEEDS, PLAIN, Relation, Source, told};
use anyhow::Result;
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::terminal;
use matrix::{Matrix, aws, planet_lab};
use netmap::approximate::{Judgement, generate};
use serde::Serialize;
use std::sync::atomic::Ordering;
use trial::{METHODS, Mean, Method, Trial};

/// Robots that measure each server, as published.
const PER_SERVER: usize = 5;
/// Robots of the large data sets, as published.
const ROBOTS: usize = 30;
/// Robots of the small data set, a third of its hosts.
const FEW_ROBOTS: usize = 10;

/// One row of raw results.
#[derive(Serialize)]
struct Row {
    data: &'static str,
    method: &'static str,
    run: u64,
    robots: usize,
    pairs: usize,
    missing: usize,
    error_p10: f64,
    error_p25: f64,
    error_p50: f64,
    error_p75: f64,
    error_p90: f64,
    error_p95: f64,
    within_tenth: f64,
    within_10_ms: f64,
    best_robot: f64,
    extra_ms: f64,
}

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let runs = if lab.quick { LEAST_SEEDS as u64 } else { 10 };
    let hosts = if lab.quick { 150 } else { 490 };
    let mut trials = Vec::new();
    if let Some(folder) = &lab.data {
        let large = planet_lab(folder)?;
        let small = aws(folder)?;
        trials.extend(drawn("planetlab", &large, ROBOTS, runs, lab.seed)?);
        trials.extend(drawn("aws", &small, FEW_ROBOTS, runs, lab.seed)?);
    } else {
        let bar = terminal::progress("measuring", runs, false);
        for run in 0..runs {
            stop()?;
            let seed = lab.seed + run;
            let world = generate(hosts, seed);
            let trial = Trial::of_world("generated", &world, ROBOTS, PER_SERVER, run, seed);
            trials.push(trial);
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    let mut names: Vec<&str> = trials.iter().map(|trial| trial.data).collect();
    names.dedup();
    let data = match &lab.data {
        Some(_) => format!(
            "recorded: RTTs of 490 PlanetLab nodes, {ROBOTS} of them robots, and medians of one \
             year between 32 cloud regions, {FEW_ROBOTS} of them robots; each server measured by \
             {PER_SERVER} robots; {runs} draws of the robots"
        ),
        None => format!(
            "generated: {hosts} hosts in real cities, a backbone of 90 routers, fibre by distance, \
             routes that do not always take the shortest way; {ROBOTS} robots, each server traced \
             by {PER_SERVER} of them; {runs} worlds"
        ),
    };
    Ok(Outcome {
        title: "Unmeasured RTTs, by shortest path and by coordinates",
        data,
        seed: lab.seed,
        relations: names
            .iter()
            .flat_map(|name| relations(name, &trials))
            .collect(),
        records: Vec::new(),
        files: vec![("rows.csv".to_owned(), rows(&trials)?)],
        charts: names.iter().map(|name| chart(name, &trials)).collect(),
        notes: vec![
            "Relative error: |estimate − measured| / measured, over all pairs held back. Best \
             robot: the share of servers whose nearest robot is found from measured RTTs and \
             estimates together; extra: how much farther the one found is."
                .to_owned(),
            "Two published figures are not shown, as no routes were recorded: that about 90 % of measured RTTs \
             are near the sum of the differences between hops on their own route, and that shortest paths \
             cover 85 % of the pairs that were not measured."
                .to_owned(),
            "The 40 ms from which springs are relative were chosen on other draws of robots from \
             the PlanetLab data; the cloud regions and the generated worlds had no part in it."
                .to_owned(),
            "Shortest path over end hosts goes through another robot, so its estimates are too \
             long, and the robot it finds is nearly always one that has measured: with 5 of 30 \
             that is right one time in six."
                .to_owned(),
        ],
    })
}

fn stop() -> Result<()> {
    if stop_on_interrupt().load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    Ok(())
}

fn drawn(
    data: &'static str,
    matrix: &Matrix,
    robots: usize,
    runs: u64,
    seed: u64,
) -> Result<Vec<Trial>> {
    let bar = terminal::progress("estimating", runs, false);
    let mut trials = Vec::new();
    for run in 0..runs {
        stop()?;
        trials.push(Trial::of_matrix(
            data,
            matrix,
            robots,
            PER_SERVER,
            run,
            seed + run,
        ));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(trials)
}

fn relations(data: &str, trials: &[Trial]) -> Vec<Relation> {
    let of = |method: Method, value: fn(&Judgement) -> f64| {
        let own = trials.iter().filter(|trial| trial.data == data);
        let judged = own.flat_map(|trial| &trial.judged);
        let judged = judged.filter(|(other, _)| *other == method);
        Estimate::of(&judged.map(|(_, found)| value(found)).collect::<Vec<_>>())
    };
    let error = |method| of(method, |judged| judged.error_p50);
    let best = |method| of(method, |judged| judged.best_robot);
    let [path, vivaldi, ours] = [Method::EndHosts, Method::Vivaldi, Method::Relative];
    let both = |method: Method, [median, share]: [Band; 2]| {
        [
            Figure::new("median error", error(method), median),
            Figure::new("best robot", best(method), share),
        ]
    };
    // both on the same draws
    let paired = |a: Method, b: Method, value: fn(&Judgement) -> f64| {
        let own = trials.iter().filter(|trial| trial.data == data);
        let of = |trial: &Trial, method: Method| {
            let judged = trial.judged.iter().find(|(other, _)| *other == method);
            judged.map_or(f64::NAN, |(_, found)| value(found))
        };
        Estimate::of(
            &own.map(|trial| of(trial, a) - of(trial, b))
                .collect::<Vec<_>>(),
        )
    };
    let against = |a: Method, b: Method| {
        let error = paired(a, b, |judged| judged.error_p50);
        let best = paired(a, b, |judged| judged.best_robot);
        [
            Figure::new("median error", error, Band::at_most(0.0)),
            Figure::new("best robot", best, Band::at_least(0.0)),
        ]
    };
    // what follows from distance suits coordinates
    let judged = |claim: String, figures: &[Figure]| {
        if data == "generated" {
            let found = figures.iter().map(|f| (f.label.as_str(), f.estimate));
            let why = "RTTs are generated from distance";
            Relation::only(Source::Ours, claim, told(PLAIN, found), why)
        } else {
            Relation::judged(Source::Ours, claim, PLAIN, figures)
        }
    };
    let mut relations = Vec::new();
    // other texts have these figures of these data
    if data == "planetlab" {
        let near = |median, share| [Band::around(median, 0.02), Band::around(share, 0.02)];
        relations.push(Relation::judged(
            Source::Ours,
            format!("{data}: shortest path over end hosts: median error 0.14, best robot 0.17"),
            PLAIN,
            &both(path, near(0.14, 0.17)),
        ));
        relations.push(Relation::judged(
            Source::Ours,
            format!("{data}: Vivaldi, 4 dimensions and height: median error 0.09, best robot 0.31"),
            PLAIN,
            &both(vivaldi, near(0.09, 0.31)),
        ));
    }
    relations.push(judged(
        format!("{data}: Vivaldi against shortest paths over end hosts: less error, best robot found more often"),
        &against(vivaldi, path),
    ));
    let routers = of(Method::Routers, |judged| judged.within_tenth);
    if routers.seeds > 0 {
        relations.push(Relation::only(
            Source::Ours,
            format!("{data}: shortest paths over the routers of known routes: share of estimates within a tenth"),
            told(PLAIN, [("", routers)]),
            "the routes and their RTTs are generated",
        ));
    }
    relations.push(judged(
        format!(
            "{data}: relative springs against Vivaldi: less error, best robot found more often"
        ),
        &against(ours, vivaldi),
    ));
    relations
}

fn rows(trials: &[Trial]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for trial in trials {
        for (method, judged) in &trial.judged {
            writer.serialize(Row {
                data: trial.data,
                method: method.name(),
                run: trial.run,
                robots: trial.robots,
                pairs: judged.pairs,
                missing: judged.missing,
                error_p10: judged.error_p10,
                error_p25: judged.error_p25,
                error_p50: judged.error_p50,
                error_p75: judged.error_p75,
                error_p90: judged.error_p90,
                error_p95: judged.error_p95,
                within_tenth: judged.within_tenth,
                within_10_ms: judged.within_10_ms,
                best_robot: judged.best_robot,
                extra_ms: judged.extra_ms,
            })?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// The distribution of errors.
fn chart(data: &str, trials: &[Trial]) -> (String, Chart) {
    let lines: Vec<Line> = METHODS
        .into_iter()
        .filter_map(|method| {
            let mean = Mean::of(trials, data, method)?;
            Some(Line {
                name: method.name().to_owned(),
                points: mean.distribution(),
                stroke: if method == Method::Vivaldi {
                    Stroke::Dotted
                } else {
                    Stroke::Solid
                },
                errors: Vec::new(),
            })
        })
        .collect();
    let most = lines.iter().flat_map(|line| &line.points).map(|p| p.0);
    let most = most.fold(0.1, f64::max);
    let least = lines.iter().flat_map(|line| &line.points).map(|p| p.0);
    // a whole power of ten
    let least = 10_f64.powf(least.fold(0.1, f64::min).log10().floor());
    let chart = Chart {
        title: format!("Error of estimated RTTs, {data}"),
        x: Axis {
            label: "relative error".to_owned(),
            scale: Scale::Logarithmic,
            range: (least, most),
        },
        y: Axis {
            label: "share of pairs with less".to_owned(),
            scale: Scale::Linear,
            range: (0.0, 1.0),
        },
        lines,
        mark: None,
    };
    (format!("errors-{data}"), chart)
}
