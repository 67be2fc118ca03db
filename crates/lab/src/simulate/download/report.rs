//! The report: one HTML file with everything in it.

use super::output::{COLUMNS, CaseResult, PARTIAL, Row, Summary, cells};
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use desk::html;
use desk::terminal::short;
use std::fmt::{self, Write};

/// The whole file.
pub fn html(summary: &Summary) -> String {
    html::page(
        "Downloading a web with many robots",
        &summary.subject(),
        summary.partial.then_some(PARTIAL),
        |page| write(page, summary),
    )
}

fn write(page: &mut String, summary: &Summary) -> fmt::Result {
    let rows = summary.results.iter().map(|result| cells(&result.row));
    html::table(page, COLUMNS, rows)?;
    let mut sizes: Vec<usize> = summary.results.iter().map(|r| r.row.robots).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() > 1 {
        let charts: [Measure; 3] = [
            ("Download time", "hours", |row| {
                row.download_seconds.map(|seconds| seconds / 3600.0)
            }),
            ("Download time by formula", "hours", |row| {
                Some(row.formula_download_seconds / 3600.0)
            }),
            ("Links handed over", "share of all links", |row| {
                Some(row.exchanged_share)
            }),
        ];
        for (title, unit, value) in charts {
            let rows = summary.results.iter().map(|result| &result.row);
            let points = rows.map(|row| Some((name(row), row.robots, value(row)?)));
            // without simulation there are no times
            if let Some(points) = points.collect::<Option<Vec<_>>>() {
                page.push_str(&against_robots(title, unit, points.into_iter()).to_svg());
            }
        }
    }
    writeln!(page, "<h2>Robots over time</h2>")?;
    for result in summary.results.iter().filter(|r| !r.by_robot.is_empty()) {
        timeline(page, result)?;
    }
    Ok(())
}

/// A title, a unit, and the value of a row.
type Measure = (&'static str, &'static str, fn(&Row) -> Option<f64>);

fn name(row: &Row) -> String {
    let mut name = format!("{} {}", row.method, row.politeness);
    if row.nearness != "neither" {
        let _ = write!(name, " {}", row.nearness);
    }
    if row.level == "addresses" {
        name.push_str(" by address");
    }
    name
}

/// A value against the number of robots, a line for each name; rows are `(name, robots, value)`.
pub fn against_robots(
    title: &str,
    unit: &str,
    rows: impl Iterator<Item = (String, usize, f64)>,
) -> Chart {
    let mut lines: Vec<Line> = Vec::new();
    for (name, robots, value) in rows {
        let point = (robots as f64, value);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name,
                points: vec![point],
                stroke: Stroke::Solid,
                errors: Vec::new(),
            }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let right = points().map(|p| p.0).fold(0.0, f64::max);
    let left = points().map(|p| p.0).fold(right, f64::min);
    let top = points().map(|p| p.1).fold(0.0, f64::max);
    Chart {
        title: title.to_owned(),
        x: Axis {
            label: "robots".to_owned(),
            scale: Scale::Linear,
            range: (left, right),
        },
        y: Axis {
            label: unit.to_owned(),
            scale: Scale::Linear,
            range: (0.0, top.max(f64::MIN_POSITIVE)),
        },
        lines,
        mark: None,
    }
}

/// A stripe for each robot: the darker, the more downloads; its idle time beside it.
fn timeline(page: &mut String, result: &CaseResult) -> fmt::Result {
    let row = &result.row;
    let bins = result.by_robot.iter().map(|r| r.timeline.len()).max();
    let bins = bins.unwrap_or(0).max(1);
    let most = result.by_robot.iter().flat_map(|r| &r.timeline).max();
    let most = f64::from(most.copied().unwrap_or(0).max(1));
    let (left, width, stripe) = (60.0, 620.0, 14.0);
    let cell = width / bins as f64;
    let height = 24.0 + stripe * result.by_robot.len() as f64 + 20.0;
    writeln!(
        page,
        "<h3>{} robots, {}</h3>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"0 0 860 {height}\" width=\"860\" height=\"{height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#222\">\
         <title>Downloads of each robot over time</title>",
        row.robots,
        html::escape(&name(row))
    )?;
    for (k, robot) in result.by_robot.iter().enumerate() {
        let y = 20.0 + stripe * k as f64;
        writeln!(
            page,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{left}\" y=\"{y}\" \
             width=\"{width}\" height=\"{}\" fill=\"#f2f2f2\"/>",
            left - 6.0,
            y + 10.0,
            robot.robot,
            stripe - 2.0
        )?;
        for (bin, &pages) in robot.timeline.iter().enumerate().filter(|(_, p)| **p > 0) {
            writeln!(
                page,
                "<rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"#0072b2\" \
                 fill-opacity=\"{:.2}\"/>",
                left + cell * bin as f64,
                cell + 0.3,
                stripe - 2.0,
                0.15 + 0.85 * (f64::from(pages) / most).sqrt()
            )?;
        }
        writeln!(
            page,
            "<text x=\"{}\" y=\"{}\">idle {} s, {} pages</text>",
            left + width + 8.0,
            y + 10.0,
            short(robot.idle_seconds.round()),
            robot.pages
        )?;
    }
    let end = result.timeline_seconds.unwrap_or(0.0) * bins as f64;
    writeln!(
        page,
        "<text x=\"{left}\" y=\"{y}\">0</text><text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{} s</text></svg>",
        left + width,
        short(end),
        y = height - 6.0
    )
}
