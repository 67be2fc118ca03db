//! What partitions of a national web are worth, by formula.

use super::lab::Lab;
use super::national::{Seeded, Setting, Times, change, chart, note};
use super::outcome::Outcome;
use super::verdict::{Band, Estimate, Figure, PERCENT, Relation, Source, told};
use crate::simulate::Row;
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::interrupt::{Interrupted, stop_on_interrupt};
use partition::limits::Balance;
use partition::method::Method;
use partition::task::PartitionError;
use simulation::download::algebra::redistribution;
use simulation::download::conditions::Conditions;
use simulation::download::divide::{Nearness, Wishes, divide};
use simulation::download::patience::unless_stopped;
use simulation::download::politeness::Politeness;
use simulation::download::sweep::{Case, Rule};
use simulation::download::web::Unit;
use std::fmt::Write;
use std::sync::Arc;

/// By how much robots may exceed their fair share of pages. The fleet is as slow as its fullest robot,
/// so what can be given up in exchanges is worth giving up.
const TIGHT: f64 = 0.001;
/// As far as a figure of another web may be off, in points of per cent.
const ELSEWHERE: f64 = 0.1;
/// Of the recorded host graph.
const ROBOTS: usize = 8;

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let fleets: &[usize] = if lab.full {
        &[2, 3, 4, 6, 8, 11, 15, 20, 25, 30]
    } else {
        &[2, 8, 30]
    };
    let mut main = Seeded {
        by_seed: Vec::new(),
    };
    let mut placed = Seeded {
        by_seed: Vec::new(),
    };
    let mut recorded = Seeded {
        by_seed: Vec::new(),
    };
    let mut joins = Vec::new();
    let mut words = Vec::new();
    for seed in lab.seeds() {
        let lab = lab.seeded(seed);
        let setting = Setting::national(&lab, false)?;
        main.by_seed
            .push((seed, ask(&setting, &main_cases(fleets))?));
        joins.extend(redistributions(&setting, fleets)?);
        let other = Setting::national(&lab, true)?;
        placed
            .by_seed
            .push((seed, ask(&other, &placed_cases(fleets))?));
        if words.is_empty() {
            words = vec![setting.words(), format!("for distance {}", other.words())];
        }
        if let Some(folder) = &lab.data {
            let real = Setting::recorded(&lab, folder)?;
            let cases = [Method::HashHost, Method::Graph]
                .map(|method| (case(ROBOTS, method, Unit::Hosts, Nearness::Rtt), "15s"));
            recorded.by_seed.push((seed, ask(&real, &cases)?));
            if words.len() == 2 {
                words.push(format!(
                    "the host graph of the UK in 1996: {}",
                    real.words()
                ));
            }
        }
    }
    let modelled = lab.data.is_none();
    Ok(Outcome {
        title: "Partitions of a national web, by formula",
        data: format!(
            "generated national web: {}; five seeds; robots: {fleets:?}; pages of 10 KB, URLs of 40 \
             bytes, 10 pages per connection, 10 connections, 16 kbit/s per link, 15 s, as published",
            words.join("; ")
        ),
        seed: lab.seed,
        relations: relations(fleets, &main, &placed, &recorded, &joins, modelled),
        records: Vec::new(),
        files: vec![
            main.file("rows.csv")?,
            placed.file("distance.csv")?,
            recorded.file("recorded-graph.csv")?,
            ("redistribution.csv".to_owned(), joined(&joins)),
        ],
        charts: vec![
            (
                "download".to_owned(),
                by_method("Download time by formula", &main, |row| row.formula_download_seconds),
            ),
            (
                "exchange".to_owned(),
                by_method("Exchange time by formula", &main, |row| row.formula_exchange_seconds),
            ),
        ],
        notes: vec![
            note(),
            "Figures are means over the numbers of robots, as the published ones are. Graph and \
             single-level see links and RTT with equal preference, robots fixed one a part, and keep \
             the same limits: pages within 0.1 % of the fair share, servers within 50 %."
                .to_owned(),
            "Robots that share a server, as under hash-url, do not speak to each other: each waits \
             for all."
                .to_owned(),
            "Redistribution counts the URLs of all pages that change robots when one joins; the graph \
             starts from the previous partition."
                .to_owned(),
        ],
    })
}

fn case(robots: usize, method: Method, unit: Unit, nearness: Nearness) -> Case {
    Case {
        robots,
        method,
        unit,
        nearness: if method.is_graph() {
            nearness
        } else {
            Nearness::Neither
        },
        rule: Rule::Is(Politeness::Fixed(15.0)),
    }
}

fn main_cases(fleets: &[usize]) -> Vec<(Case, &'static str)> {
    let mut cases = Vec::new();
    for &robots in [1].iter().chain(fleets) {
        for method in Method::ALL {
            cases.push((case(robots, method, Unit::Hosts, Nearness::Rtt), "15s"));
        }
        cases.push((
            case(robots, Method::Graph, Unit::Addresses, Nearness::Rtt),
            "15s",
        ));
    }
    cases
}

/// RTT against distance, where both are known and neither follows from the other.
fn placed_cases(fleets: &[usize]) -> Vec<(Case, &'static str)> {
    let mut cases = Vec::new();
    for &robots in fleets {
        for nearness in [Nearness::Rtt, Nearness::Distance] {
            cases.push((case(robots, Method::Graph, Unit::Hosts, nearness), "15s"));
        }
    }
    cases
}

fn ask(setting: &Setting, cases: &[(Case, &str)]) -> Result<Vec<Row>> {
    setting.ask(cases, Conditions::algebraic(), TIGHT, false)
}

/// Seconds until a new robot, the last of so many, has its share.
struct Join {
    seed: u64,
    robots: usize,
    graph: f64,
    hash: f64,
    /// By graph and distance, where places are known.
    distance: Option<f64>,
}

fn redistributions(setting: &Setting, fleets: &[usize]) -> Result<Vec<Join>> {
    let conditions = Conditions::algebraic();
    let placed = matches!(setting.times, Times::Modelled(_))
        || matches!(
            setting.times,
            Times::Measured {
                places: Some(_),
                ..
            }
        );
    let sizes = fleets.iter().copied().filter(|&robots| robots > 2);
    sizes
        .map(|robots| {
            let seconds = |method: Method, nearness: Nearness| -> Result<f64> {
                let bad = |error: PartitionError| BadInput(error.to_string());
                let wishes = Wishes {
                    nearness,
                    balance: Balance {
                        pages: Some(TIGHT),
                        ..Balance::default()
                    },
                    ..Wishes::new(method, setting.seed)
                };
                let (fewer, all) = (setting.internet(robots - 1), setting.internet(robots));
                let web = Arc::clone(&setting.web);
                let seconds = move || {
                    let before = divide(&web, &fewer, &wishes, None)?;
                    let after = divide(&web, &all, &wishes, Some(&before))?;
                    Ok(redistribution(&web, &all, &before, &after, &conditions))
                };
                let seconds = unless_stopped(stop_on_interrupt(), seconds).ok_or(Interrupted)?;
                Ok(seconds.map_err(bad)?)
            };
            Ok(Join {
                seed: setting.seed,
                robots,
                graph: seconds(Method::Graph, Nearness::Rtt)?,
                hash: seconds(Method::HashHost, Nearness::Neither)?,
                distance: placed
                    .then(|| seconds(Method::Graph, Nearness::Distance))
                    .transpose()?,
            })
        })
        .collect()
}

fn joined(joins: &[Join]) -> String {
    let mut text =
        "seed,robots,graph_seconds,hash_host_seconds,graph_by_distance_seconds\n".to_owned();
    for join in joins {
        let distance = join
            .distance
            .map_or_else(String::new, |seconds| seconds.to_string());
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{},{},{},{},{distance}",
            join.seed, join.robots, join.graph, join.hash
        );
    }
    text
}

fn by_method(title: &str, rows: &Seeded, value: fn(&Row) -> f64) -> desk::chart::Chart {
    let name = |row: &Row| (row.robots > 1 && row.level == "hosts").then(|| row.method.clone());
    chart(title, "seconds", rows, name, value)
}

fn find<'r>(rows: &'r [Row], robots: usize, method: Method, level: &str, near: &str) -> &'r Row {
    let found = rows.iter().find(|row| {
        row.robots == robots
            && row.method == method.name()
            && row.level == level
            && (row.nearness == near || !method.is_graph())
    });
    found.expect("every case was asked for every fleet")
}

fn relations(
    fleets: &[usize],
    main: &Seeded,
    placed: &Seeded,
    recorded: &Seeded,
    joins: &[Join],
    modelled: bool,
) -> Vec<Relation> {
    let mean = |value: &dyn Fn(usize) -> f64| {
        fleets.iter().map(|&robots| value(robots)).sum::<f64>() / fleets.len() as f64
    };
    let time = |row: &Row| row.formula_download_seconds;
    let exchange = |row: &Row| row.formula_exchange_seconds;
    // of the graph against another method, over fleets
    let against = |method: Method, value: fn(&Row) -> f64| {
        main.estimate(|rows| {
            mean(&|robots| {
                let of = |method| value(find(rows, robots, method, "hosts", "rtt"));
                change(of(Method::Graph), of(method))
            })
        })
    };
    let alone = |method: Method| {
        main.estimate(|rows| {
            mean(&|robots| {
                let of = |robots| time(find(rows, robots, method, "hosts", "rtt"));
                change(of(robots), of(1))
            })
        })
    };
    let moved = |value: &dyn Fn(&Join) -> f64| {
        let seeds: Vec<u64> = main.by_seed.iter().map(|(seed, _)| *seed).collect();
        let of = |seed: &u64| {
            let own: Vec<f64> = joins
                .iter()
                .filter(|j| j.seed == *seed)
                .map(value)
                .collect();
            own.iter().sum::<f64>() / own.len() as f64
        };
        Estimate::of(&seeds.iter().map(of).collect::<Vec<_>>())
    };
    let near = |published: f64| Band::around(published, ELSEWHERE);
    let one = |estimate: Estimate| told(PERCENT, [("", estimate)]);
    let mut relations = vec![
        Relation::judged(
            Source::Published,
            "download time −33 % by graph against hash of host",
            PERCENT,
            &[Figure::new(
                "",
                against(Method::HashHost, time),
                near(-0.33),
            )],
        ),
        Relation::only(
            Source::Published,
            "exchange time −50 % by graph against hash of host",
            one(against(Method::HashHost, exchange)),
            "communities are planted in the generated links",
        ),
        Relation::judged(
            Source::Published,
            "redistribution time −35 % when a robot joins",
            PERCENT,
            &[Figure::new(
                "",
                moved(&|join| change(join.graph, join.hash)),
                near(-0.35),
            )],
        ),
        Relation::judged(
            Source::Published,
            "download time against one robot: −82 % by hash, −88 % by graph",
            PERCENT,
            &[
                Figure::new("hash", alone(Method::HashHost), Band::around(-0.82, 0.05)),
                Figure::new("graph", alone(Method::Graph), Band::around(-0.88, 0.05)),
            ],
        ),
        Relation::only(
            Source::Calibrated,
            "hosts instead of addresses as the unit: −8 % of time",
            one(main.estimate(|rows| {
                mean(&|robots| {
                    let of = |level| time(find(rows, robots, Method::Graph, level, "rtt"));
                    change(of("hosts"), of("addresses"))
                })
            })),
            "how many hosts share the largest address was chosen",
        ),
    ];
    relations.extend(on_recorded_graph(recorded));
    relations.extend(distances(fleets, placed, joins, modelled));
    relations.extend(rivals(&against));
    relations
}

/// The links of a real Web, which nobody planted.
fn on_recorded_graph(recorded: &Seeded) -> Option<Relation> {
    if recorded.by_seed.is_empty() {
        return None;
    }
    let exchange = recorded.estimate(|rows| {
        let of = |method| find(rows, ROBOTS, method, "hosts", "rtt").formula_exchange_seconds;
        change(of(Method::Graph), of(Method::HashHost))
    });
    let near = Band::around(-0.5, ELSEWHERE);
    Some(Relation::judged(
        Source::Published,
        format!(
            "recorded host graph, {ROBOTS} robots: exchange time −50 % by graph against hash of host"
        ),
        PERCENT,
        &[Figure::new("", exchange, near)],
    ))
}

/// Ours against every other method, in what is handed over and in time.
fn rivals(against: &dyn Fn(Method, fn(&Row) -> f64) -> Estimate) -> Vec<Relation> {
    let others = Method::ALL.into_iter();
    let others = others.filter(|&method| method != Method::Graph);
    let one = |method: Method| {
        let links = against(method, |row| row.exchanged_links as f64);
        let time = against(method, |row| row.formula_download_seconds);
        Relation::judged(
            Source::Ours,
            format!("fewer exchanged links and no more time (within 0.1 %) than {method}"),
            PERCENT,
            &[
                Figure::new("links", links, Band::at_most(0.0)),
                Figure::new("time", time, Band::at_most(TIGHT)),
            ],
        )
    };
    others.map(one).collect()
}

/// Distance in place of RTT.
fn distances(fleets: &[usize], placed: &Seeded, joins: &[Join], modelled: bool) -> Vec<Relation> {
    let mean = |rows: &[Row], value: fn(&Row) -> f64| {
        let one = |robots: usize| {
            let of = |near| value(find(rows, robots, Method::Graph, "hosts", near));
            change(of("distance"), of("rtt"))
        };
        fleets.iter().map(|&robots| one(robots)).sum::<f64>() / fleets.len() as f64
    };
    let time = placed.estimate(|rows| mean(rows, |row| row.formula_download_seconds));
    let exchange = placed.estimate(|rows| mean(rows, |row| row.formula_exchange_seconds));
    let moved: Vec<f64> = joins
        .iter()
        .filter_map(|join| Some(change(join.distance?, join.graph)))
        .collect();
    let why = "RTTs are generated from distance";
    let claims = [
        (
            "distance instead of RTT: time about equal",
            time,
            Band::around(0.0, 0.02),
        ),
        // 13 % better by RTT
        (
            "distance instead of RTT: exchange time 13 % better by RTT (so much longer by distance)",
            exchange,
            Band::around(0.13, 0.08),
        ),
    ];
    let mut relations: Vec<Relation> = claims
        .into_iter()
        .map(|(claim, estimate, band)| {
            if modelled {
                Relation::only(
                    Source::Published,
                    claim,
                    told(PERCENT, [("", estimate)]),
                    why,
                )
            } else {
                Relation::judged(
                    Source::Published,
                    claim,
                    PERCENT,
                    &[Figure::new("", estimate, band)],
                )
            }
        })
        .collect();
    if modelled {
        relations.push(Relation::only(
            Source::Published,
            "distance instead of RTT: redistribution 1.4 % better by distance",
            told(PERCENT, [("", Estimate::of(&moved))]),
            why,
        ));
    }
    relations
}
