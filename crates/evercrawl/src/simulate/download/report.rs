//! The report: one HTML file with everything in it.

use super::output::{COLUMNS, CaseResult, PARTIAL, Row, Summary, cells};
use crate::terminal::short;
use simulation::chart::{Axis, Chart, Line, Scale, Stroke};
use std::fmt::{self, Write};

const STYLE: &str = "body{font:15px/1.45 Helvetica,Arial,sans-serif;color:#222;margin:2em auto;\
max-width:70em;padding:0 1em}table{border-collapse:collapse;margin:1em 0}\
th,td{padding:.25em .6em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}\
.text{text-align:left}.scroll{overflow-x:auto}svg{max-width:100%;height:auto;display:block;\
margin:1em 0}.partial{background:#fff3cd;border:1px solid #e0c36a;padding:.6em 1em}";

/// The whole file.
pub fn html(summary: &Summary) -> String {
    let mut page = String::new();
    write(&mut page, summary).expect("writing to a string cannot fail");
    page
}

fn write(page: &mut String, summary: &Summary) -> fmt::Result {
    let title = "Downloading a Web with many robots";
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\
         <body>\n<h1>{title}</h1>"
    )?;
    if summary.partial {
        writeln!(page, "<p class=\"partial\"><strong>{PARTIAL}</strong></p>")?;
    }
    writeln!(page, "<p>{}</p>", escape(&summary.subject()))?;
    table(page, summary)?;
    let mut sizes: Vec<usize> = summary.results.iter().map(|r| r.row.robots).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() > 1 {
        let charts: [Measure; 3] = [
            ("Download time", "seconds", |row| row.download_seconds),
            ("Download time by formula", "seconds", |row| {
                Some(row.formula_download_seconds)
            }),
            ("Links handed over", "share of all links", |row| {
                Some(row.exchanged_share)
            }),
        ];
        for (title, unit, value) in charts {
            if let Some(chart) = against_robots(summary, title, unit, value) {
                page.push_str(&chart.to_svg());
            }
        }
    }
    writeln!(page, "<h2>Robots over time</h2>")?;
    for result in summary.results.iter().filter(|r| !r.by_robot.is_empty()) {
        timeline(page, result)?;
    }
    writeln!(page, "</body></html>")
}

/// A title, a unit, and the value of a row.
type Measure = (&'static str, &'static str, fn(&Row) -> Option<f64>);

fn table(page: &mut String, summary: &Summary) -> fmt::Result {
    let class = |is_text: bool| if is_text { " class=\"text\"" } else { "" };
    write!(page, "<div class=\"scroll\"><table><tr>")?;
    for (name, is_text) in COLUMNS {
        write!(page, "<th{}>{name}</th>", class(is_text))?;
    }
    for result in &summary.results {
        write!(page, "</tr>\n<tr>")?;
        for (cell, (_, is_text)) in cells(&result.row).iter().zip(COLUMNS) {
            write!(page, "<td{}>{}</td>", class(is_text), escape(cell))?;
        }
    }
    writeln!(page, "</tr></table></div>")
}

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

fn against_robots(
    summary: &Summary,
    title: &str,
    unit: &str,
    value: fn(&Row) -> Option<f64>,
) -> Option<Chart> {
    let mut lines: Vec<Line> = Vec::new();
    for row in summary.results.iter().map(|result| &result.row) {
        let point = (row.robots as f64, value(row)?);
        let name = name(row);
        if let Some(line) = lines.iter_mut().find(|line| line.name == name) {
            line.points.push(point);
        } else {
            lines.push(Line {
                name,
                points: vec![point],
                stroke: Stroke::Solid,
            });
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let right = points().map(|p| p.0).fold(0.0, f64::max);
    let left = points().map(|p| p.0).fold(right, f64::min);
    let top = points().map(|p| p.1).fold(0.0, f64::max);
    Some(Chart {
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
    })
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
        escape(&name(row))
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
