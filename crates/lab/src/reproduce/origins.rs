//! How many origins have to probe: RTTs of all robots from the probes of a few.
//!
//! The author of the published experiment leaves the question open.

use super::lab::Lab;
use super::outcome::Outcome;
use super::rtt::matrix::{Matrix, aws, planet_lab};
use super::rtt::trial::{by_coordinates, by_hosts};
use super::verdict::{Band, Estimate, Figure, LEAST_SEEDS, PLAIN, Relation, Source, told};
use anyhow::Result;
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::terminal;
use netmap::approximate::{Experiment, generate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// The relative error of the median of seven probes, as published: estimates as good as that are as
/// good as measuring.
const AS_GOOD: f64 = 0.08;
/// Farther than the nearest robot by so much on the average is near enough.
const NEAR_ENOUGH_MS: f64 = 5.0;
/// Robots that measure each server, as published.
const PUBLISHED: usize = 5;

/// Who probes a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Plan {
    /// The same few robots probe all servers.
    Fixed,
    /// Each server has its own few robots.
    Drawn,
}

impl Plan {
    const ALL: [Self; 2] = [Self::Fixed, Self::Drawn];

    fn words(self) -> &'static str {
        match self {
            Self::Fixed => "the same origins for all servers",
            Self::Drawn => "origins drawn for each server",
        }
    }
}

/// One draw of robots with so many origins.
#[derive(Serialize, Deserialize)]
pub struct Row {
    data: String,
    plan: Plan,
    method: String,
    robots: usize,
    origins: usize,
    run: u64,
    error_p50: f64,
    error_p90: f64,
    best_robot: f64,
    extra_ms: f64,
}

const PATH: &str = "path over hosts";
const SPRINGS: &str = "relative springs";

/// RTTs between hosts, of which some are robots.
struct Data {
    name: &'static str,
    hosts: usize,
    robots: usize,
    origins: &'static [usize],
    rtt_ms: Box<dyn Fn(usize, usize) -> Option<f64>>,
}

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let many: &[usize] = &[1, 2, 3, 4, 5, 7, 10, 15, 20];
    let data = if let Some(folder) = &lab.data {
        vec![
            measured("planetlab", planet_lab(folder)?, 30, many),
            measured("aws", aws(folder)?, 10, &[1, 2, 3, 4, 5, 7]),
        ]
    } else {
        let hosts = if lab.quick { 80 } else { 490 };
        let world = generate(hosts, lab.seed);
        let routes: Vec<_> = (0..hosts).map(|host| world.routes_from(host)).collect();
        let few: &[usize] = &[1, 3, 5, 10];
        vec![Data {
            name: "generated",
            hosts,
            robots: 20,
            origins: if lab.quick { few } else { many },
            rtt_ms: Box::new(move |a, b| Some(world.rtt_ms(a, &routes[a][b]))),
        }]
    };
    let mut rows = Vec::new();
    for own in &data {
        rows.extend(ask(own, lab.seed)?);
    }
    Ok(Outcome {
        title: "How many origins have to probe",
        data: data
            .iter()
            .map(|own| format!("{}: {} hosts, {} of them robots", own.name, own.hosts, own.robots))
            .collect::<Vec<_>>()
            .join("; ")
            + &format!("; {LEAST_SEEDS} draws of the robots"),
        seed: lab.seed,
        relations: data.iter().flat_map(|own| relations(own, &rows)).collect(),
        records: Vec::new(),
        files: vec![("rows.csv".to_owned(), written(&rows)?)],
        charts: charts(&rows),
        notes: vec![
            "Robots know the RTTs among themselves. Origins are the robots that probe a server; \
             those of the other robots are estimated by coordinates (relative springs) and by \
             shortest paths over hosts. Error: |estimate − measured| / measured, the median over all \
             pairs that were not measured. Extra: how much farther than the nearest robot the one \
             is that is found, mean over servers, what was measured taken as it is."
                .to_owned(),
            format!(
                "Enough: an error of at most {AS_GOOD}, that of the median of seven probes as \
                 published, so that estimates are as good as probing; or an extra of at most \
                 {NEAR_ENOUGH_MS} ms. The whole 95 % interval over draws has to be below."
            ),
        ],
    })
}

fn measured(name: &'static str, matrix: Matrix, robots: usize, origins: &'static [usize]) -> Data {
    Data {
        name,
        hosts: matrix.hosts(),
        robots,
        origins,
        rtt_ms: Box::new(move |a, b| matrix.rtt_ms(a, b)),
    }
}

fn ask(data: &Data, seed: u64) -> Result<Vec<Row>> {
    let runs = LEAST_SEEDS as u64;
    let bar = terminal::progress("estimating", runs * data.origins.len() as u64, false);
    let mut rows = Vec::new();
    for &origins in data.origins {
        for run in 0..runs {
            if stop_on_interrupt().load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            let seed = seed + run;
            for plan in Plan::ALL {
                let (hosts, rtt_ms, robots) = (data.hosts, &data.rtt_ms, data.robots);
                let drawn = match plan {
                    Plan::Fixed => Experiment::with_origins(hosts, rtt_ms, robots, origins, seed),
                    Plan::Drawn => Experiment::draw(hosts, rtt_ms, robots, origins, seed),
                };
                let judged = [
                    (PATH, by_hosts(&drawn)),
                    (SPRINGS, by_coordinates(&drawn, seed)),
                ];
                rows.extend(judged.into_iter().map(|(method, judged)| Row {
                    data: data.name.to_owned(),
                    plan,
                    method: method.to_owned(),
                    robots: data.robots,
                    origins,
                    run,
                    error_p50: judged.error_p50,
                    error_p90: judged.error_p90,
                    best_robot: judged.best_robot,
                    extra_ms: judged.extra_ms,
                }));
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn estimate(
    rows: &[Row],
    (data, plan, method, origins): (&str, Plan, &str, usize),
    value: fn(&Row) -> f64,
) -> Estimate {
    let own = rows.iter().filter(|row| {
        row.data == data && row.plan == plan && row.method == method && row.origins == origins
    });
    Estimate::of(&own.map(value).collect::<Vec<_>>())
}

fn relations(data: &Data, rows: &[Row]) -> Vec<Relation> {
    let of =
        |plan, method, origins, value| estimate(rows, (data.name, plan, method, origins), value);
    let error = |row: &Row| row.error_p50;
    let extra = |row: &Row| row.extra_ms;
    let mut relations = vec![Relation::judged(
        Source::Ours,
        format!(
            "{}: {PUBLISHED} origins of {} are enough: coordinates are as good as seven probes",
            data.name, data.robots
        ),
        PLAIN,
        &Plan::ALL.map(|plan| {
            let found = of(plan, SPRINGS, PUBLISHED, error);
            Figure::new(plan.words(), found, Band::at_most(AS_GOOD))
        }),
    )];
    for plan in Plan::ALL {
        let least = |method: &'static str, value: fn(&Row) -> f64, limit: f64| {
            let enough = |&&origins: &&usize| {
                let found = of(plan, method, origins, value);
                found.mean + found.half <= limit
            };
            let least = data.origins.iter().find(enough);
            least.map_or_else(|| "none of those tried".to_owned(), ToString::to_string)
        };
        let curve = |value: fn(&Row) -> f64| {
            let labels: Vec<String> = data.origins.iter().map(ToString::to_string).collect();
            let found = data.origins.iter().map(|&k| of(plan, SPRINGS, k, value));
            told(PLAIN, labels.iter().map(String::as_str).zip(found))
        };
        relations.push(Relation::only(
            Source::Ours,
            format!(
                "{}: the least number of origins, {} (for the error; for the extra)",
                data.name,
                plan.words()
            ),
            format!(
                "coordinates {}; {}; shortest paths {}; {}. Error of coordinates by origins: {}; \
                 extra in ms: {}",
                least(SPRINGS, error, AS_GOOD),
                least(SPRINGS, extra, NEAR_ENOUGH_MS),
                least(PATH, error, AS_GOOD),
                least(PATH, extra, NEAR_ENOUGH_MS),
                curve(error),
                curve(extra)
            ),
            "an open question, and no claim",
        ));
    }
    relations
}

fn written(rows: &[Row]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// A picture for each set of data.
pub fn charts(rows: &[Row]) -> Vec<(String, Chart)> {
    let mut names: Vec<&str> = rows.iter().map(|row| row.data.as_str()).collect();
    names.dedup();
    names.into_iter().map(|name| chart(name, rows)).collect()
}

fn chart(data: &str, rows: &[Row]) -> (String, Chart) {
    let own = rows.iter().filter(|row| row.data == data);
    let origins: BTreeSet<usize> = own.map(|row| row.origins).collect();
    let mut lines = Vec::new();
    for plan in Plan::ALL {
        for (method, stroke) in [(SPRINGS, Stroke::Solid), (PATH, Stroke::Dashed)] {
            let at = |&origins: &usize| {
                let found = estimate(rows, (data, plan, method, origins), |r| r.error_p50);
                ((origins as f64, found.mean), found.half)
            };
            let (points, errors) = origins.iter().map(at).unzip();
            lines.push(Line {
                name: format!("{method}: {}", plan.words()),
                points,
                stroke,
                errors,
            });
        }
    }
    let points = || lines.iter().flat_map(|line| &line.points);
    let chart = Chart {
        title: format!("Error of RTTs that were not probed, {data}"),
        x: Axis {
            label: "origins that probe a server".to_owned(),
            scale: Scale::Linear,
            range: (0.0, points().map(|p| p.0).fold(1.0, f64::max)),
        },
        y: Axis {
            label: "median relative error".to_owned(),
            scale: Scale::Logarithmic,
            range: (
                0.7 * points().map(|p| p.1).fold(1.0, f64::min),
                1.5 * points().map(|p| p.1).fold(0.1, f64::max),
            ),
        },
        lines,
        mark: None,
    };
    (format!("error-{data}"), chart)
}
