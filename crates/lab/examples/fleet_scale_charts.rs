//! Draws docs/scale-robots.svg and docs/scale-pages.svg, and writes experiments/fleet-scale/extrapolated.csv, from the measured
//! rows:
//!
//! ```sh
//! cargo run -p simulation --example fleet_scale -- 20 > experiments/fleet-scale/rows.csv
//! cargo run -p lab --example fleet_scale_charts
//! ```
//!
//! docs/scale.md explains the formulas.

use anyhow::Result;
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;

/// Robots in groups of ten all the way up, and the levels that they need.
const MEASURED: [(u32, u32); 3] = [(10, 1), (100, 2), (1000, 3)];
const ROBOTS: [f64; 4] = [1e1, 1e2, 1e3, 1e4];
const PAGES: [f64; 4] = [1e8, 1e9, 1e10, 1e11];
/// Per URL, in the published crawl.
const SUBNETS: f64 = 1896.0 / 14_277_910.0;
const HOSTS: f64 = 45_767.0 / 14_277_910.0;
/// Blocks announced in the Internet, about.
const ROUTED: f64 = 1e6;
/// Bytes of an entry of the routing table, a bound name, a logged row.
const ENTRY: f64 = 9.0;
const NAME: f64 = 160.0;
const RECORD: f64 = 220.0;

#[derive(Deserialize)]
struct Row {
    robots: u32,
    levels: u32,
    view_bytes: f64,
    lease_bytes: f64,
    told_by_a_join: f64,
}

/// Robots, and the mean of what was measured.
fn means(rows: &[Row], value: fn(&Row) -> f64) -> Vec<(f64, f64)> {
    let of = |(robots, levels)| {
        let own = rows
            .iter()
            .filter(|row| (row.robots, row.levels) == (robots, levels));
        let values: Vec<f64> = own.map(value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (f64::from(robots), mean)
    };
    MEASURED.map(of).to_vec()
}

fn levels(robots: f64) -> f64 {
    (robots.log10() - 1e-9).ceil().max(1.0)
}

/// What a robot holds and hears, by robots and by pages.
struct Costs {
    first_view: f64,
    view_per_level: f64,
    /// Bytes under a lease or a summary.
    key: f64,
}

impl Costs {
    fn view(&self, robots: f64) -> f64 {
        self.first_view + self.view_per_level * (levels(robots) - 1.0)
    }

    /// Bytes a second: ten keys a level are watched, and polled every 5 s.
    fn heard(&self, robots: f64) -> f64 {
        2.0 * 10.0 * levels(robots) * self.key / 5.0
    }
}

fn told(robots: f64) -> f64 {
    11.0 + levels(robots)
}

fn table(pages: f64) -> f64 {
    (pages * SUBNETS).min(ROUTED) * ENTRY
}

fn register(pages: f64, robots: f64) -> f64 {
    pages * HOSTS / robots.min(64.0) * NAME
}

/// Since the last snapshot but one.
fn journal(pages: f64, robots: f64) -> f64 {
    pages / robots * RECORD / 8.0
}

fn sent(pages: f64, robots: f64) -> f64 {
    (pages / robots * 4.5 * 48.0).min(f64::from(1 << 29))
}

/// What was measured; its points have markers.
fn measured(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line {
        name: format!("{name}, simulated"),
        points,
        stroke: Stroke::Solid,
        errors: Vec::new(),
    }
}

/// A formula at full groups of robots; between them it has steps, which say nothing.
fn by_robots(name: &str, of: &dyn Fn(f64) -> f64) -> Line {
    Line {
        name: format!("{name}, closed form"),
        points: ROBOTS.map(|n| (n, of(n))).to_vec(),
        stroke: Stroke::Dotted,
        errors: Vec::new(),
    }
}

/// A formula as a curve.
fn by_pages(name: &str, of: &dyn Fn(f64) -> f64) -> Line {
    let at = |k: i32| PAGES[0] * (PAGES[3] / PAGES[0]).powf(f64::from(k) / 120.0);
    Line {
        name: format!("{name}, closed form"),
        points: (0..=120).map(at).map(|p| (p, of(p))).collect(),
        stroke: Stroke::Solid,
        errors: Vec::new(),
    }
}

fn chart(title: &str, x: (&str, [f64; 4]), y: &str, lines: Vec<Line>) -> Chart {
    let values = || lines.iter().flat_map(|line| &line.points).map(|at| at.1);
    let decade = |value: f64, round: fn(f64) -> f64| 10_f64.powf(round(value.log10()));
    let low = decade(values().fold(f64::INFINITY, f64::min), f64::floor);
    let high = decade(values().fold(0.0, f64::max), f64::ceil);
    let axis = |label: &str, range| Axis {
        label: label.to_owned(),
        scale: Scale::Logarithmic,
        range,
    };
    Chart {
        title: title.to_owned(),
        x: axis(x.0, (x.1[0], x.1[3])),
        y: axis(y, (low, high)),
        lines,
        mark: None,
    }
}

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kept = root.join("experiments/fleet-scale");
    let rows = csv::Reader::from_path(kept.join("rows.csv"))?;
    let rows: Vec<Row> = rows.into_deserialize().collect::<Result<_, _>>()?;
    let view = means(&rows, |row| row.view_bytes);
    let key = means(&rows, |row| row.lease_bytes);
    let costs = Costs {
        first_view: view[0].1,
        view_per_level: (view[2].1 - view[0].1) / (levels(view[2].0) - levels(view[0].0)),
        key: key.iter().map(|at| at.1).fold(0.0, f64::max),
    };

    let mut csv = String::from(
        "robots,pages,view_bytes,heard_bytes_per_second,top_keys_per_second,told_by_a_join,table_bytes,\
         register_bytes,journal_bytes,sent_cache_bytes\n",
    );
    for n in ROBOTS {
        for p in PAGES {
            let top = 2.0 * n * 10.0 / 5.0;
            let for_robots = [costs.view(n), costs.heard(n), top, told(n)];
            let for_pages = [table(p), register(p, n), journal(p, n), sent(p, n)];
            write!(csv, "{n},{p}")?;
            for value in for_robots.into_iter().chain(for_pages) {
                write!(csv, ",{}", value.round_ties_even())?;
            }
            csv.push('\n');
        }
    }
    std::fs::write(kept.join("extrapolated.csv"), csv)?;

    let told_measured = means(&rows, |row| row.told_by_a_join);
    let robots = chart(
        "A robot's part, by robots",
        ("robots, in groups of ten", ROBOTS),
        "bytes, bytes a second, robots",
        vec![
            measured("view, bytes", view),
            by_robots("view, bytes", &|n| costs.view(n)),
            by_robots("leases and summaries heard, bytes a second", &|n| {
                costs.heard(n)
            }),
            measured("robots told of a newcomer", told_measured),
            by_robots("robots told of a newcomer", &told),
        ],
    );
    let pages = chart(
        "A robot's part with 1,000 robots, by pages",
        ("pages of the fleet", PAGES),
        "bytes",
        vec![
            by_pages("routing table", &table),
            by_pages("a register of names", &|p| register(p, 1e3)),
            by_pages("the log in memory", &|p| journal(p, 1e3)),
            by_pages("the sent cache", &|p| sent(p, 1e3)),
        ],
    );
    std::fs::write(root.join("docs/scale-robots.svg"), robots.to_svg())?;
    std::fs::write(root.join("docs/scale-pages.svg"), pages.to_svg())?;
    Ok(())
}
