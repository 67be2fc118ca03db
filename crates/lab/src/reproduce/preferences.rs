//! What the preference of links against nearness is worth: a sweep and its Pareto front.
//!
//! The author of the published experiment leaves the question open, above all for addresses.

use super::lab::Lab;
use super::national::{Setting, joining};
use super::outcome::Outcome;
use super::verdict::{Estimate, LEAST_SEEDS, PERCENT, Relation, Source, Verdict, told};
use anyhow::Result;
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use partition::limits::Balance;
use partition::method::Method;
use serde::{Deserialize, Serialize};
use simulation::download::conditions::Conditions;
use simulation::download::divide::{Nearness, Wishes};
use simulation::download::politeness::Politeness;
use simulation::download::sweep::{Case, Rule};
use simulation::download::web::Unit;
use std::collections::BTreeSet;

/// Of links and of RTT.
const PREFERENCES: [[f64; 2]; 8] = [
    [1.0, 64.0],
    [1.0, 8.0],
    [1.0, 2.0],
    [1.0, 1.0],
    [2.0, 1.0],
    [8.0, 1.0],
    [64.0, 1.0],
    [1.0, 0.0],
];
const EQUAL: usize = 3;
/// On the recorded host graph, where a partition takes seconds.
const FEW: [usize; 4] = [0, EQUAL, 5, 7];
const ROBOTS: usize = 8;
/// By how much robots may exceed their fair share of pages.
const TOLERANCE: f64 = 0.03;
/// Better by less than this share is not better.
const SLACK: f64 = 0.01;
/// In so many of five seeds.
const MOST: usize = 4;

/// What a preference came to, of one seed.
#[derive(Serialize, Deserialize)]
pub struct Row {
    web: String,
    unit: String,
    seed: u64,
    robots: usize,
    links: f64,
    rtt: f64,
    /// Simulated with politeness by density; by formula on the recorded graph.
    download_seconds: f64,
    exchanged_links: u64,
    redistribution_seconds: f64,
}

impl Row {
    fn costs(&self) -> [f64; 3] {
        [
            self.download_seconds,
            self.exchanged_links as f64,
            self.redistribution_seconds,
        ]
    }
}

/// Better in all by more than `SLACK`.
fn dominates(one: [f64; 3], other: [f64; 3]) -> bool {
    one.iter().zip(other).all(|(a, b)| *a < b * (1.0 - SLACK))
}

/// No worse in any, and better in one.
fn at_least_as_good(one: [f64; 3], other: [f64; 3]) -> bool {
    one.iter().zip(other).all(|(a, b)| *a <= b) && one != other
}

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let mut rows = Vec::new();
    let all: Vec<usize> = if lab.quick {
        FEW.to_vec()
    } else {
        (0..PREFERENCES.len()).collect()
    };
    let (mut words, mut names) = (
        String::new(),
        vec![("generated", "hosts"), ("generated", "addresses")],
    );
    for seed in lab.seeds() {
        let setting = Setting::national(&lab.seeded(seed), false)?;
        for unit in [Unit::Hosts, Unit::Addresses] {
            rows.extend(ask("generated", &setting, unit, &all, true)?);
        }
        words = setting.words();
    }
    if let (Some(folder), false) = (&lab.data, lab.quick) {
        let setting = Setting::recorded(lab, folder)?;
        rows.extend(ask("recorded", &setting, Unit::Hosts, &FEW, false)?);
        words += "; the host graph of the UK in 1996, one draw: ";
        words += &setting.words();
        names.push(("recorded", "hosts"));
    }
    Ok(Outcome {
        title: "Preference of links against round-trip times",
        data: format!("generated national web, {LEAST_SEEDS} draws: {words}; {ROBOTS} robots"),
        seed: lab.seed,
        relations: names
            .iter()
            .map(|&(web, unit)| front(web, unit, &rows))
            .chain(equal(&rows))
            .collect(),
        records: Vec::new(),
        files: vec![("rows.csv".to_owned(), written(&rows)?)],
        charts: charts(&rows),
        notes: vec![
            "Preferences are factors of two objectives, each first brought to the size of what it \
             could be cut to alone; 1:0 knows links only. Pages within 3 % of the fair share. Time of \
             the generated web: simulated with 50 connections of 250 KB/s and politeness by density; of \
             the recorded graph: by the formula of the algebraic evaluation, in which 50 s of transfer \
             and 15 s of politeness for ten pages leave round trips no part. Redistribution: by \
             formula, when the last robot joins."
                .to_owned(),
            "On the front: no other preference is as good in time, exchanged links and redistribution \
             and better in one, at the mean over draws. The links of the generated web have \
             planted communities: how many are exchanged there says nothing of the Web, how they give \
             way to time does."
                .to_owned(),
        ],
    })
}

fn ask(
    web: &'static str,
    setting: &Setting,
    unit: Unit,
    which: &[usize],
    simulate: bool,
) -> Result<Vec<Row>> {
    let case = Case {
        robots: ROBOTS,
        method: Method::Graph,
        unit,
        nearness: Nearness::Rtt,
        rule: Rule::Is(Politeness::Density(15.0)),
    };
    let conditions = if simulate {
        Conditions::published()
    } else {
        Conditions::algebraic()
    };
    let one = |&k: &usize| {
        let preference = PREFERENCES[k];
        let cases = [(case, "density")];
        let found = setting.ask_preferring(preference, &cases, conditions, TOLERANCE, simulate)?;
        let wishes = Wishes {
            unit,
            preference,
            nearness: Nearness::Rtt,
            balance: Balance {
                pages: Some(TOLERANCE),
                ..Balance::default()
            },
            ..Wishes::new(Method::Graph, setting.seed)
        };
        let formula = found[0].formula_download_seconds;
        Ok(Row {
            web: web.to_owned(),
            unit: found[0].level.to_owned(),
            seed: setting.seed,
            robots: ROBOTS,
            links: preference[0],
            rtt: preference[1],
            download_seconds: found[0].download_seconds.unwrap_or(formula),
            exchanged_links: found[0].exchanged_links,
            redistribution_seconds: joining(setting, ROBOTS, wishes, Conditions::algebraic())?,
        })
    };
    which.iter().map(one).collect()
}

fn own<'r>(rows: &'r [Row], web: &str, unit: &str, preference: [f64; 2]) -> Vec<&'r Row> {
    let own = rows
        .iter()
        .filter(|row| row.web == web && row.unit == unit && [row.links, row.rtt] == preference);
    own.collect()
}

/// The preferences that were asked, with what they cost at the mean.
fn means(rows: &[Row], web: &str, unit: &str) -> Vec<([f64; 2], [f64; 3])> {
    let mut found = Vec::new();
    for preference in PREFERENCES {
        let own = own(rows, web, unit, preference);
        if !own.is_empty() {
            let mean =
                |k: usize| own.iter().map(|row| row.costs()[k]).sum::<f64>() / own.len() as f64;
            found.push((preference, [0, 1, 2].map(mean)));
        }
    }
    found
}

/// Those that no other is as good as.
fn best(means: &[([f64; 2], [f64; 3])]) -> Vec<[f64; 2]> {
    let beaten = |costs: [f64; 3]| means.iter().any(|other| at_least_as_good(other.1, costs));
    let best = means.iter().filter(|(_, costs)| !beaten(*costs));
    best.map(|(preference, _)| *preference).collect()
}

fn name([links, rtt]: [f64; 2]) -> String {
    format!("{links}:{rtt}")
}

fn front(web: &str, unit: &str, rows: &[Row]) -> Relation {
    let means = means(rows, web, unit);
    let best: Vec<String> = best(&means).into_iter().map(name).collect();
    let against = |preference: [f64; 2]| {
        let equal = own(rows, web, unit, PREFERENCES[EQUAL]);
        let others = own(rows, web, unit, preference);
        let change = |k: usize| {
            let pairs = others.iter().zip(&equal);
            let changes = pairs.map(|(a, b)| a.costs()[k] / b.costs()[k] - 1.0);
            Estimate::of(&changes.collect::<Vec<_>>())
        };
        let labelled = ["time", "exchanges", "redistribution"].into_iter();
        let told = told(PERCENT, labelled.zip([0, 1, 2].map(change)));
        format!("{}: {told}", name(preference))
    };
    let others = means.iter().map(|(preference, _)| *preference);
    let others = others.filter(|preference| *preference != PREFERENCES[EQUAL]);
    Relation::only(
        Source::Ours,
        format!(
            "{web} web, {unit} as the unit: the front of preferences (links:RTT), and each against 1:1"
        ),
        format!(
            "front {}; {}",
            best.join(", "),
            others.map(against).collect::<Vec<_>>().join("; ")
        ),
        "an open question, and no claim",
    )
}

/// Whether equal preferences, the default, are a sound choice.
fn equal(rows: &[Row]) -> Vec<Relation> {
    let judged = |unit: &str| {
        let equal = own(rows, "generated", unit, PREFERENCES[EQUAL]);
        let beaten = |row: &&&Row| {
            let same = rows.iter().filter(|other| {
                other.web == row.web && other.unit == row.unit && other.seed == row.seed
            });
            same.into_iter()
                .any(|other| dominates(other.costs(), row.costs()))
        };
        let good = equal.len() - equal.iter().filter(beaten).count();
        Relation::new(
            Source::Ours,
            format!(
                "{unit} as the unit: equal preferences are sound: in at least {MOST} of \
                 {LEAST_SEEDS} draws no other is better in time, exchanges and redistribution, each by \
                 more than 1 %"
            ),
            format!("in {good} of {} draws", equal.len()),
            Verdict::of(good >= MOST),
        )
    };
    ["hosts", "addresses"].map(judged).into()
}

fn written(rows: &[Row]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// A picture for each web and unit.
pub fn charts(rows: &[Row]) -> Vec<(String, Chart)> {
    let all = rows.iter().map(|row| (row.web.as_str(), row.unit.as_str()));
    let all: BTreeSet<(&str, &str)> = all.collect();
    let chart = |(web, unit)| chart(web, unit, rows);
    all.into_iter().map(chart).collect()
}

fn chart(web: &str, unit: &str, rows: &[Row]) -> (String, Chart) {
    let means = means(rows, web, unit);
    let best = best(&means);
    let point = |costs: [f64; 3]| (costs[1], costs[0] / 3600.0);
    let mut lines: Vec<Line> = means
        .iter()
        .map(|&(preference, costs)| Line {
            name: name(preference),
            points: vec![point(costs)],
            stroke: Stroke::Solid,
            errors: Vec::new(),
        })
        .collect();
    let on_front = means
        .iter()
        .filter(|(preference, _)| best.contains(preference));
    let mut front: Vec<(f64, f64)> = on_front.map(|(_, costs)| point(*costs)).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    lines.push(Line {
        name: "front".to_owned(),
        points: front,
        // without markers: they would hide those of the preferences
        stroke: Stroke::Dotted,
        errors: Vec::new(),
    });
    let range = |value: fn(&(f64, f64)) -> f64| {
        let values = || lines.iter().flat_map(|line| &line.points).map(value);
        let (low, high) = (
            values().fold(f64::INFINITY, f64::min),
            values().fold(0.0, f64::max),
        );
        (0.98 * low, 1.02 * high)
    };
    let axis = |label: &str, range| Axis {
        label: label.to_owned(),
        scale: Scale::Linear,
        range,
    };
    let (x, y) = (range(|p| p.0), range(|p| p.1));
    let chart = Chart {
        title: format!("Preferences, {web} web, {unit}"),
        x: axis("links exchanged", x),
        y: axis("download time, hours", y),
        lines,
        mark: None,
    };
    (format!("front-{web}-{unit}"), chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_has_what_nothing_beats() {
        let means = [
            ([1.0, 64.0], [1.0, 9.0, 5.0]),
            ([1.0, 1.0], [2.0, 3.0, 5.0]),
            ([2.0, 1.0], [2.0, 4.0, 5.0]),
            ([1.0, 0.0], [4.0, 2.0, 6.0]),
        ];
        assert_eq!(best(&means), [[1.0, 64.0], [1.0, 1.0], [1.0, 0.0]]);
        assert!(dominates([1.0, 1.0, 1.0], [1.1, 1.1, 1.1]));
        assert!(!dominates([1.0, 1.0, 1.0], [1.1, 1.001, 1.1]));
    }
}
