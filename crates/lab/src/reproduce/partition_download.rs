//! What partitions of a national web are worth when it is downloaded.

use super::lab::Lab;
use super::national::{National, VERDICTS, change, chart, note, percent, rows_csv};
use super::outcome::Outcome;
use super::verdict::{Relation, Verdict};
use crate::simulate::Row;
use anyhow::Result;
use partition::method::Method;
use simulation::download::divide::Nearness;
use simulation::download::politeness::Politeness;
use simulation::download::sweep::{Case, Rule};
use simulation::download::web::Unit;

const FIXED: Rule = Rule::Is(Politeness::Fixed(15.0));
const DENSITY: Rule = Rule::Is(Politeness::Density(15.0));
const LATENCY: Rule = Rule::Is(Politeness::Latency(10.0));
const MEAN: Rule = Rule::MeanOf(Politeness::Density(15.0));

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let national = National::new(lab);
    let mut cases = Vec::new();
    for &robots in &national.fleets {
        let mut add = |method: Method, nearness, unit, rule, name| {
            let case = Case {
                robots,
                method,
                unit,
                nearness,
                rule,
            };
            cases.push((case, name));
        };
        for (rule, name) in [
            (FIXED, "15s"),
            (DENSITY, "density"),
            (MEAN, "mean-of-density"),
            (LATENCY, "latency"),
        ] {
            add(Method::HashHost, Nearness::Neither, Unit::Hosts, rule, name);
            add(Method::Graph, Nearness::Rtt, Unit::Hosts, rule, name);
        }
        add(Method::Graph, Nearness::Distance, Unit::Hosts, FIXED, "15s");
        add(
            Method::Graph,
            Nearness::Distance,
            Unit::Hosts,
            DENSITY,
            "density",
        );
        add(Method::Graph, Nearness::Rtt, Unit::Addresses, FIXED, "15s");
    }
    let rows = national.ask(&cases, 0.03, true)?;
    let time = |row: &Row| row.download_seconds.unwrap_or(f64::NAN);
    Ok(Outcome {
        title: "A national web downloaded by many robots",
        data: national.data(),
        seed: lab.seed,
        relations: relations(&national, &rows),
        records: Vec::new(),
        files: vec![rows_csv(&rows)?],
        charts: vec![
            (
                "time".to_owned(),
                chart("Simulated download time", "seconds", &rows, |row| {
                    (row.level == "hosts" && row.nearness != "distance")
                        .then(|| format!("{} {}", row.method, row.politeness))
                }, time),
            ),
            (
                "exchange".to_owned(),
                chart("Links handed to another robot", "share of all links", &rows, |row| {
                    (row.politeness == "15s" && row.level == "hosts")
                        .then(|| match row.nearness {
                            "neither" => row.method.clone(),
                            nearness => format!("{}, {nearness}", row.method),
                        })
                }, |row| row.exchanged_share),
            ),
        ],
        notes: vec![
            note(),
            VERDICTS.to_owned(),
            "“About equal” is within 1 %; “worse than RTT” is by 0.1 % or more; exchanges by distance \
             hold within 5 % of those by RTT and differ within 15 %; more time by addresses holds \
             from 10 to 35 %. A relation differs where only its direction comes out, and does not \
             hold where not even that does."
                .to_owned(),
            "Under a fixed interval the time is that of the largest host, whoever has it. By density \
             and by latency it is the round trips to that host that count, and the robot that has \
             it: one draw of places decides the size of those differences."
                .to_owned(),
            "Addresses as the unit are also the unit of politeness: the largest address has more \
             pages than the largest host, by how much depends on which hosts share it."
                .to_owned(),
        ],
    })
}

fn relations(national: &National, rows: &[Row]) -> Vec<Relation> {
    let robots = national.most();
    let row = |method: Method, politeness: &str, nearness: &str, level: &str| {
        let found = rows.iter().find(|row| {
            row.robots == robots
                && row.method == method.name()
                && row.politeness == politeness
                && row.nearness == nearness
                && row.level == level
        });
        found.expect("every case was asked for every fleet")
    };
    let graph = |politeness: &str| row(Method::Graph, politeness, "rtt", "hosts");
    let hash = |politeness: &str| row(Method::HashHost, politeness, "neither", "hosts");
    let far = |politeness: &str| row(Method::Graph, politeness, "distance", "hosts");
    let addresses = row(Method::Graph, "15s", "rtt", "addresses");
    let time = |row: &Row| row.download_seconds.unwrap_or(f64::NAN);
    let exchanged = |row: &Row| row.exchanged_links as f64;
    let against = |own: &Row, other: &Row| change(time(own), time(other));
    let broken: u64 = rows
        .iter()
        .filter_map(|row| row.politeness_violations)
        .sum();
    let said = |change: f64| format!("{robots} robots: {}", percent(change));
    let fixed = against(graph("15s"), hash("15s"));
    let handed = change(exchanged(graph("15s")), exchanged(hash("15s")));
    let dense = against(graph("density"), hash("15s"));
    let mean = against(graph("density"), hash("mean-of-density"));
    let both_dense = against(graph("density"), hash("density"));
    let late = against(graph("latency"), hash("latency"));
    let far_handed = change(exchanged(far("15s")), exchanged(graph("15s")));
    let far_rtt = against(far("density"), graph("density"));
    let far_mean = against(far("density"), hash("mean-of-density"));
    let merged = against(addresses, graph("15s"));
    let pause = hash("mean-of-density").mean_pause_seconds;
    vec![
        Relation::new(
            "fixed politeness: download time about equal (−0.03 %)",
            said(fixed),
            Verdict::of(fixed.abs() <= 0.01),
        ),
        Relation::new(
            "fixed politeness: exchanges between robots −76 %",
            said(handed),
            Verdict::graded(handed <= -0.71, handed < 0.0),
        ),
        Relation::new(
            "by density: −91 % against hash with fixed 15 s",
            said(dense),
            Verdict::graded(dense <= -0.86, dense < 0.0),
        ),
        Relation::new(
            "by density: −69 % against hash with the same mean interval (4.45 s)",
            format!(
                "{}, mean interval {:.2} s",
                said(mean),
                pause.unwrap_or(f64::NAN)
            ),
            Verdict::graded(mean <= -0.64, mean < 0.0),
        ),
        Relation::new(
            "by density: −6 % against hash by density",
            said(both_dense),
            Verdict::graded(both_dense <= -0.03, both_dense < 0.0),
        ),
        Relation::new(
            "ten times the previous download: −14 %",
            said(late),
            Verdict::graded(late <= -0.09, late < 0.0),
        ),
        Relation::new(
            "distance in place of RTT: exchanges +2.3 %",
            said(far_handed),
            Verdict::graded(far_handed.abs() <= 0.05, far_handed.abs() <= 0.15),
        ),
        Relation::new(
            "distance, by density: worse than RTT, but −28 % against hash at the mean interval",
            format!(
                "{} against RTT, {} against hash at the mean",
                said(far_rtt),
                percent(far_mean)
            ),
            Verdict::graded(far_rtt >= 0.001 && far_mean <= -0.23, far_mean < 0.0),
        ),
        Relation::new(
            "addresses in place of hosts: 22 % more time",
            said(merged),
            Verdict::graded((0.1..=0.35).contains(&merged), merged > 0.0),
        ),
        Relation::new(
            "ours: politeness is never broken",
            format!("{broken} visits too early in {} downloads", rows.len()),
            Verdict::of(broken == 0),
        ),
    ]
}
