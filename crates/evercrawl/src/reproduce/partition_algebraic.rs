//! What partitions of a national web are worth, by formula.

use super::lab::Lab;
use super::national::{National, VERDICTS, change, chart, note, percent, rows_csv};
use super::outcome::Outcome;
use super::verdict::{Relation, Verdict};
use crate::bad_input::BadInput;
use crate::simulate::Row;
use anyhow::Result;
use partition::limits::Balance;
use partition::method::Method;
use simulation::download::algebra::redistribution;
use simulation::download::conditions::Conditions;
use simulation::download::divide::{Nearness, Wishes, divide};
use simulation::download::politeness::Politeness;
use simulation::download::sweep::{Case, Rule};
use simulation::download::web::Unit;
use std::fmt::Write;

/// By how much robots may exceed their fair share of pages. The fleet is as slow as its fullest
/// robot, so what the graph can afford to give up in exchanges is worth giving up.
const TIGHT: f64 = 0.001;
/// The same for single-level.
const LOOSE: f64 = 0.03;

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let national = National::new(lab);
    let mut cases = Vec::new();
    for robots in [1].iter().chain(&national.fleets) {
        for method in Method::ALL {
            let case = Case {
                robots: *robots,
                method,
                unit: Unit::Hosts,
                nearness: if method.is_graph() {
                    Nearness::Both
                } else {
                    Nearness::Neither
                },
                rule: Rule::Is(Politeness::Fixed(15.0)),
            };
            cases.push((case, "15s"));
        }
    }
    let (ours, others): (Vec<_>, Vec<_>) =
        (cases.into_iter()).partition(|(case, _)| case.method == Method::Graph);
    let mut rows = national.ask(&ours, TIGHT, false)?;
    rows.extend(national.ask(&others, LOOSE, false)?);
    let joins = redistributions(&national)?;
    Ok(Outcome {
        title: "Partitions of a national web, by formula",
        data: national.data(),
        seed: lab.seed,
        relations: relations(&national, &rows, &joins),
        records: Vec::new(),
        files: vec![rows_csv(&rows)?, ("redistribution.csv".to_owned(), joined(&joins))],
        charts: vec![
            (
                "download".to_owned(),
                by_method("Download time by formula", "seconds", &rows, |row| {
                    row.formula_download_seconds
                }),
            ),
            (
                "exchange".to_owned(),
                by_method("Exchange time by formula", "seconds", &rows, |row| {
                    row.formula_exchange_seconds
                }),
            ),
        ],
        notes: vec![
            note(),
            VERDICTS.to_owned(),
            "Graph and single-level see links, RTT and distance with equal preference, robots fixed \
             one a part; pages within 0.1 % of the fair share by graph and 3 % by single-level, \
             servers within 50 %. Most of the \
             difference in download time is the largest host: by formula a robot shares its \
             connections among all its pages, so who has the largest host and much else is late."
                .to_owned(),
            "Where the largest host is more than a robot's share, here with 30 robots, it alone decides \
             the time of all who keep hosts whole; an equal time then counts as not beaten. Robots that \
             share a server, as under hash-url, do not speak to each other: each waits for all."
                .to_owned(),
            "Redistribution counts the URLs of all pages that change robots when one joins; the graph \
             starts from the previous partition."
                .to_owned(),
        ],
    })
}

/// Seconds until a new robot, the last of so many, has its share: by graph and by hash of host.
struct Join {
    robots: usize,
    graph: f64,
    hash: f64,
}

fn redistributions(national: &National) -> Result<Vec<Join>> {
    let conditions = Conditions::published();
    let sizes = national.fleets.iter().copied().filter(|&robots| robots > 2);
    sizes
        .map(|robots| {
            let seconds = |method: Method| -> Result<f64> {
                let bad = |error: partition::task::PartitionError| BadInput(error.to_string());
                let wishes = Wishes {
                    nearness: Nearness::Both,
                    balance: Balance {
                        pages: Some(TIGHT),
                        ..Balance::default()
                    },
                    ..Wishes::new(method, national.seed)
                };
                let web = &national.web;
                let (fewer, all) = (national.internet(robots - 1), national.internet(robots));
                let before = divide(web, &fewer, &wishes, None).map_err(bad)?;
                let after = divide(web, &all, &wishes, Some(&before)).map_err(bad)?;
                Ok(redistribution(web, &all, &before, &after, &conditions))
            };
            Ok(Join {
                robots,
                graph: seconds(Method::Graph)?,
                hash: seconds(Method::HashHost)?,
            })
        })
        .collect()
}

fn joined(joins: &[Join]) -> String {
    let mut text = "robots,graph_seconds,hash_host_seconds\n".to_owned();
    for join in joins {
        // writing to a string cannot fail
        let _ = writeln!(text, "{},{},{}", join.robots, join.graph, join.hash);
    }
    text
}

fn by_method(
    title: &str,
    unit: &str,
    rows: &[Row],
    value: fn(&Row) -> f64,
) -> simulation::chart::Chart {
    let name = |row: &Row| (row.robots > 1).then(|| row.method.clone());
    chart(title, unit, rows, name, value)
}

fn find(rows: &[Row], robots: usize, method: Method) -> &Row {
    let found = rows
        .iter()
        .find(|row| row.robots == robots && row.method == method.name());
    found.expect("every method was asked for every fleet")
}

fn relations(national: &National, rows: &[Row], joins: &[Join]) -> Vec<Relation> {
    let against_hash = |value: fn(&Row) -> f64| -> Vec<(usize, f64)> {
        let one = |robots: usize| {
            let value = |method| value(find(rows, robots, method));
            change(value(Method::Graph), value(Method::HashHost))
        };
        national.fleets.iter().map(|&r| (r, one(r))).collect()
    };
    let words = |changes: &[(usize, f64)]| {
        let one = |(robots, change): &(usize, f64)| format!("{robots}: {}", percent(*change));
        changes.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    // the published figure is one of many robots
    let last = |changes: &[(usize, f64)]| changes.last().map_or(0.0, |change| change.1);
    let reduction = |name: &str, published: f64, changes: &[(usize, f64)]| {
        let ours = last(changes);
        Relation::new(
            format!("{name}: {published} % by graph against hash of host"),
            format!("by number of robots {}", words(changes)),
            Verdict::graded(100.0 * ours <= published + 5.0, ours < 0.0),
        )
    };
    let download = against_hash(|row| row.formula_download_seconds);
    let exchange = against_hash(|row| row.formula_exchange_seconds);
    let moves: Vec<(usize, f64)> = joins
        .iter()
        .map(|join| (join.robots, change(join.graph, join.hash)))
        .collect();
    let alone = |method: Method| {
        let time = |robots| find(rows, robots, method).formula_download_seconds;
        change(time(national.most()), time(1))
    };
    let (graph, hash) = (alone(Method::Graph), alone(Method::HashHost));
    let mut relations = vec![
        reduction("download time", -33.0, &download),
        reduction("exchange time", -50.0, &exchange),
        reduction("redistribution time when a robot joins", -35.0, &moves),
        Relation::new(
            "download time against one robot: −82 % by hash, −88 % by graph",
            format!(
                "{} robots: {} by hash, {} by graph",
                national.most(),
                percent(hash),
                percent(graph)
            ),
            Verdict::graded(
                hash <= -0.77 && graph <= -0.83 && graph < hash,
                graph < hash,
            ),
        ),
    ];
    relations.push(beats_all(national, rows));
    relations
}

/// Ours: nobody is better, in what is exchanged or in time.
fn beats_all(national: &National, rows: &[Row]) -> Relation {
    let most = national.most();
    let own = find(rows, most, Method::Graph);
    let others = Method::ALL.into_iter().filter(|&m| m != Method::Graph);
    let words: Vec<String> = others
        .clone()
        .map(|method| {
            let other = find(rows, most, method);
            format!(
                "{method} {} and {}",
                percent(change(
                    own.exchanged_links as f64,
                    other.exchanged_links as f64
                )),
                percent(change(
                    own.formula_download_seconds,
                    other.formula_download_seconds
                ))
            )
        })
        .collect();
    // where the largest host is more than a robot's share it alone decides the time of all who
    // keep hosts whole: then nobody can be better
    let wins = |robots: usize, method: Method| {
        let (own, other) = (
            find(rows, robots, Method::Graph),
            find(rows, robots, method),
        );
        let giant = national.shape.largest * robots > national.web.pages();
        let times = own.formula_download_seconds / other.formula_download_seconds;
        let faster = times < 1.0 || (giant && times < 1.0 + 1e-9);
        (own.exchanged_links < other.exchanged_links, faster)
    };
    let all: Vec<(bool, bool)> = others
        .flat_map(|method| national.fleets.iter().map(move |&robots| (robots, method)))
        .map(|(robots, method)| wins(robots, method))
        .collect();
    Relation::new(
        "ours, three objectives: fewer exchanges and less download time than single-level KL/FM and \
         every hash",
        format!(
            "{most} robots, exchanged links and time against {}",
            words.join("; ")
        ),
        Verdict::graded(
            all.iter().all(|&(fewer, faster)| fewer && faster),
            all.iter().all(|&(fewer, _)| fewer),
        ),
    )
}
