//! What partitions of a national web are worth when it is downloaded.

use super::lab::Lab;
use super::national::{Seeded, Setting, change, chart, note};
use super::outcome::Outcome;
use super::verdict::{
    Band, DAYS, Estimate, Figure, PERCENT, PLAIN, Relation, Source, Verdict, told,
};
use crate::simulate::Row;
use anyhow::Result;
use ground::quantity::DAY;
use partition::method::Method;
use simulation::download::conditions::Conditions;
use simulation::download::divide::Nearness;
use simulation::download::politeness::{self, Politeness};
use simulation::download::shape::Shape;
use simulation::download::sweep::{Case, Rule};
use simulation::download::web::Unit;

const FIXED: (Rule, &str) = (Rule::Is(Politeness::Fixed(15.0)), "15s");
const DENSITY: (Rule, &str) = (Rule::Is(Politeness::Density(15.0)), "density");
const LATENCY: (Rule, &str) = (Rule::Is(politeness::LATENCY), "latency");
const MEAN: (Rule, &str) = (Rule::MeanOf(Politeness::Density(15.0)), "mean-of-density");
/// Of the recorded host graph.
const RECORDED_FLEETS: [usize; 3] = [2, 8, 30];
/// As far as a figure of another web may be off, in points of per cent.
const ELSEWHERE: f64 = 0.1;

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let fleets: &[usize] = if lab.full { &[2, 8, 30] } else { &[2, 30] };
    let (mut main, mut placed) = (Seeded::default(), Seeded::default());
    let mut recorded = Seeded::default();
    let mut words = Vec::new();
    let mut share = 1.0;
    for seed in lab.seeds() {
        let lab = lab.seeded(seed);
        let ask = |setting: &Setting, cases: &[(Case, &str)], simulate| {
            setting.ask(cases, Conditions::published(), 0.03, simulate)
        };
        let setting = Setting::national(&lab, false)?;
        share = setting.share();
        main.by_seed
            .push((seed, ask(&setting, &main_cases(fleets), true)?));
        let other = Setting::national(&lab, true)?;
        placed
            .by_seed
            .push((seed, ask(&other, &placed_cases(most(fleets)), true)?));
        if words.is_empty() {
            words = vec![setting.words(), format!("for distance {}", other.words())];
        }
        if let Some(folder) = &lab.data {
            let real = Setting::recorded(&lab, folder)?;
            let mut cases = Vec::new();
            for robots in RECORDED_FLEETS {
                for method in [Method::HashHost, Method::Graph] {
                    cases.push(case(robots, method, Unit::Hosts, Nearness::Rtt, FIXED));
                }
            }
            recorded.by_seed.push((seed, ask(&real, &cases, false)?));
            if words.len() == 2 {
                words.push(format!(
                    "the host graph of the UK in 1996, divided among {RECORDED_FLEETS:?}: {}",
                    real.words()
                ));
            }
        }
    }
    let modelled = lab.data.is_none();
    Ok(Outcome {
        title: "A national web downloaded by many robots",
        data: format!(
            "generated national web: {}; five seeds; {fleets:?} robots; 25 KB a page, 250 KB/s, 50 \
             connections, 15 s where fixed, as published",
            words.join("; ")
        ),
        seed: lab.seed,
        relations: relations((least(fleets), most(fleets)), share, &main, &placed, &recorded, modelled),
        records: Vec::new(),
        files: vec![
            main.file("rows.csv")?,
            placed.file("distance.csv")?,
            recorded.file("recorded-graph.csv")?,
        ],
        charts: vec![
            (
                "time".to_owned(),
                chart("Simulated download time", "hours", &main, |row| {
                    (row.level == "hosts").then(|| format!("{} {}", row.method, row.politeness))
                }, |row| time(row) / 3600.0),
            ),
            (
                "exchange".to_owned(),
                chart("Links handed to another robot", "share of all links", &main, |row| {
                    (row.politeness == "15s" && row.level == "hosts").then(|| row.method.clone())
                }, |row| row.exchanged_share),
            ),
        ],
        notes: vec![
            note(),
            "Figures are those of the largest fleet, exchanges on the recorded host graph the mean over its \
             fleets. Days are those of a web of the published size: a smaller one's are multiplied."
                .to_owned(),
            "Under a fixed interval the time is that of the largest host, whoever has it. By density \
             and by latency it is the round trips to that host that count, and the robot that has \
             it: draws of places decide the size of those differences."
                .to_owned(),
            "Addresses as the unit are also the unit of politeness: the largest address has more \
             pages than the largest host, by how much depends on which hosts share it."
                .to_owned(),
        ],
    })
}

fn least(fleets: &[usize]) -> usize {
    fleets.iter().copied().min().unwrap_or(1)
}

fn most(fleets: &[usize]) -> usize {
    fleets.iter().copied().max().unwrap_or(1)
}

fn case(
    robots: usize,
    method: Method,
    unit: Unit,
    nearness: Nearness,
    (rule, name): (Rule, &'static str),
) -> (Case, &'static str) {
    let case = Case {
        robots,
        method,
        unit,
        nearness: if method.is_graph() {
            nearness
        } else {
            Nearness::Neither
        },
        rule,
    };
    (case, name)
}

fn main_cases(fleets: &[usize]) -> Vec<(Case, &'static str)> {
    let mut cases = Vec::new();
    for &robots in fleets {
        for rule in [FIXED, DENSITY, MEAN, LATENCY] {
            for method in [Method::HashHost, Method::Graph] {
                cases.push(case(robots, method, Unit::Hosts, Nearness::Rtt, rule));
            }
        }
        cases.push(case(
            robots,
            Method::Graph,
            Unit::Addresses,
            Nearness::Rtt,
            FIXED,
        ));
    }
    cases
}

/// RTT against distance, where both are known.
fn placed_cases(robots: usize) -> Vec<(Case, &'static str)> {
    let mut cases = vec![case(
        robots,
        Method::HashHost,
        Unit::Hosts,
        Nearness::Rtt,
        MEAN,
    )];
    for nearness in [Nearness::Rtt, Nearness::Distance] {
        for rule in [FIXED, DENSITY] {
            cases.push(case(robots, Method::Graph, Unit::Hosts, nearness, rule));
        }
    }
    cases
}

/// Rows of one seed by method and rule.
struct Table<'r>(&'r [Row], usize);

impl Table<'_> {
    fn row(&self, method: Method, politeness: &str, nearness: &str, level: &str) -> &Row {
        let found = self.0.iter().find(|row| {
            row.robots == self.1
                && row.method == method.name()
                && row.politeness == politeness
                && row.nearness == nearness
                && row.level == level
        });
        found.expect("every case was asked for every fleet")
    }

    fn graph(&self, politeness: &str) -> &Row {
        self.row(Method::Graph, politeness, "rtt", "hosts")
    }

    fn far(&self, politeness: &str) -> &Row {
        self.row(Method::Graph, politeness, "distance", "hosts")
    }

    fn hash(&self, politeness: &str) -> &Row {
        self.row(Method::HashHost, politeness, "neither", "hosts")
    }
}

fn time(row: &Row) -> f64 {
    row.download_seconds.unwrap_or(f64::NAN)
}

fn handed(row: &Row) -> f64 {
    row.exchanged_links as f64
}

fn judged(claim: &str, estimate: Estimate, band: Band) -> Relation {
    let figure = Figure::new("", estimate, band);
    Relation::judged(Source::Published, claim, PERCENT, &[figure])
}

/// How much less the graph has handed over than the hash, at the mean of these fleets.
fn exchanged(rows: &Seeded, fleets: &[usize]) -> Estimate {
    rows.estimate(|rows| {
        let one = |&robots: &usize| {
            let table = Table(rows, robots);
            change(handed(table.graph("15s")), handed(table.hash("15s")))
        };
        fleets.iter().map(one).sum::<f64>() / fleets.len() as f64
    })
}

fn relations(
    (few, robots): (usize, usize),
    share: f64,
    main: &Seeded,
    placed: &Seeded,
    recorded: &Seeded,
    modelled: bool,
) -> Vec<Relation> {
    let of = |value: &dyn Fn(&Table) -> f64| main.estimate(|rows| value(&Table(rows, robots)));
    let one = |estimate: Estimate| told(PERCENT, [("", estimate)]);
    let mut relations = Vec::new();
    if !recorded.by_seed.is_empty() {
        relations.push(judged(
            "recorded host graph: exchanges between robots −76 %",
            exchanged(recorded, &RECORDED_FLEETS),
            Band::around(-0.76, ELSEWHERE),
        ));
    }
    relations.extend([
        judged(
            "fixed politeness: download time about equal (−0.03 %)",
            of(&|t| change(time(t.graph("15s")), time(t.hash("15s")))),
            Band::around(0.0, 0.01),
        ),
        Relation::only(
            Source::Published,
            "fixed politeness: exchanges between robots −76 %, generated links",
            one(exchanged(main, &[robots])),
            "communities are planted in the generated links",
        ),
    ]);
    relations.extend(densities((few, robots), share, main));
    relations.extend([
        judged(
            "ten times the previous download: −14 %",
            of(&|t| change(time(t.graph("latency")), time(t.hash("latency")))),
            Band::around(-0.14, ELSEWHERE),
        ),
        Relation::only(
            Source::Calibrated,
            "hosts as the unit take about 22 % less time than addresses",
            one(of(&|t| {
                let addresses = t.row(Method::Graph, "15s", "rtt", "addresses");
                change(time(t.graph("15s")), time(addresses))
            })),
            "how many hosts share the largest address was chosen",
        ),
    ]);
    relations.extend(distances(robots, placed, modelled));
    relations.push(politeness_kept(main, placed));
    relations
}

/// Politeness by density.
fn densities((few, robots): (usize, usize), share: f64, main: &Seeded) -> Vec<Relation> {
    let of = |value: &dyn Fn(&Table) -> f64| main.estimate(|rows| value(&Table(rows, robots)));
    // from the smallest fleet to the largest, in days of a web of the published size
    let grown = |row: fn(&Table) -> f64| {
        main.estimate(|rows| {
            let of = |robots| row(&Table(rows, robots)) / share / DAY;
            of(robots) - of(few)
        })
    };
    vec![
        judged(
            "by density: −91 % against hash with fixed 15 s",
            of(&|t| change(time(t.graph("density")), time(t.hash("15s")))),
            Band::around(-0.91, 0.05),
        ),
        judged(
            "by density: −69 % against hash with the same mean interval",
            of(&|t| change(time(t.graph("density")), time(t.hash("mean-of-density")))),
            Band::around(-0.69, ELSEWHERE),
        ),
        mean_interval(of(&|t| {
            t.hash("mean-of-density")
                .mean_pause_seconds
                .unwrap_or(f64::NAN)
        })),
        Relation::judged(
            Source::Published,
            format!(
                "by density: from {few} to {robots} robots saves almost a day by graph, and costs by hash"
            ),
            DAYS,
            &[
                Figure::new(
                    "graph",
                    grown(|t| time(t.graph("density"))),
                    Band::around(-0.9, 0.2),
                ),
                Figure::new(
                    "hash",
                    grown(|t| time(t.hash("density"))),
                    Band::at_least(0.0),
                ),
            ],
        ),
        judged(
            "by density: −6 % against hash by density",
            of(&|t| change(time(t.graph("density")), time(t.hash("density")))),
            Band::around(-0.06, 0.05),
        ),
    ]
}

fn politeness_kept(main: &Seeded, placed: &Seeded) -> Relation {
    let all = || main.all().chain(placed.all());
    let broken: u64 = all().filter_map(|row| row.politeness_violations).sum();
    Relation::new(
        Source::Ours,
        "politeness is never broken",
        format!("{broken} visits too early in {} downloads", all().count()),
        Verdict::of(broken == 0),
    )
}

/// The mean interval by density. Intervals follow from sizes of hosts, which a smaller web has
/// otherwise; those of the published size are known without a download, and are the same in all draws.
fn mean_interval(simulated: Estimate) -> Relation {
    let sizes = Shape::published(1).host_sizes();
    let largest = u64::from(sizes[0]);
    let pages: f64 = sizes.iter().map(|&size| f64::from(size)).sum();
    let waited = |&size: &u32| {
        f64::from(size) * Politeness::Density(15.0).interval(u64::from(size), largest, 0.0)
    };
    let mean = sizes.iter().map(waited).sum::<f64>() / pages;
    Relation::only(
        Source::Calibrated,
        "by density: the mean interval is 4.45 s",
        format!(
            "{mean:.2} s at the published size; of the web downloaded {} s",
            told(PLAIN, [("", simulated)])
        ),
        "the law of sizes was chosen for it",
    )
}

/// Distance in place of RTT.
fn distances(robots: usize, placed: &Seeded, modelled: bool) -> Vec<Relation> {
    let of = |value: &dyn Fn(&Table) -> f64| placed.estimate(|rows| value(&Table(rows, robots)));
    let claims = [
        (
            "distance in place of RTT: exchanges +2.3 %",
            of(&|t| change(handed(t.far("15s")), handed(t.graph("15s")))),
            // the direction was claimed too
            Band {
                low: 0.0,
                high: 0.073,
            },
        ),
        (
            "by density RTT takes 57 % less time than distance",
            of(&|t| change(time(t.graph("density")), time(t.far("density")))),
            Band::around(-0.57, ELSEWHERE),
        ),
        (
            "by density distance takes 28 % less time than hash at the mean interval",
            of(&|t| change(time(t.far("density")), time(t.hash("mean-of-density")))),
            Band::around(-0.28, ELSEWHERE),
        ),
    ];
    claims
        .into_iter()
        .map(|(claim, estimate, band)| {
            if modelled {
                let why = "RTTs are generated from distance";
                let found = told(PERCENT, [("", estimate)]);
                Relation::only(Source::Published, claim, found, why)
            } else {
                judged(claim, estimate, band)
            }
        })
        .collect()
}
