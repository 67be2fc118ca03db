//! What `simulate download` tells: the same facts as JSON, as CSV and as a table.

use super::input::Input;
use anyhow::Result;
use desk::terminal::{self, grouped, short};
use serde::Serialize;
use simulation::download::divide::Nearness;
use simulation::download::sweep::{Answer, Sweep};
use simulation::download::web::Unit;

/// One case in numbers; what was not simulated is missing.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub robots: usize,
    pub method: String,
    pub level: &'static str,
    pub nearness: &'static str,
    pub politeness: String,
    pub formula_download_seconds: f64,
    pub formula_exchange_seconds: f64,
    pub download_seconds: Option<f64>,
    pub mean_pause_seconds: Option<f64>,
    pub pages: Option<u64>,
    pub exchanged_links: u64,
    /// Of all links.
    pub exchanged_share: f64,
    pub exchanged_urls: Option<u64>,
    pub exchanged_bytes: Option<f64>,
    /// Of the robot that hands over most, as a multiple of the mean.
    pub busiest_exchange: Option<f64>,
    /// Mean over robots.
    pub idle_share: Option<f64>,
    pub politeness_violations: Option<u64>,
    pub partial: bool,
}

impl Row {
    /// The row of an answer under a rule of that name.
    pub fn new(answer: &Answer, rule: &str, links: usize, url_bytes: f64) -> Self {
        let case = &answer.case;
        let download = answer.download.as_ref();
        let of_robots = |value: &dyn Fn(usize) -> f64| -> f64 {
            (0..case.robots).map(value).sum::<f64>() / case.robots as f64
        };
        Self {
            robots: case.robots,
            method: case.method.to_string(),
            level: match case.unit {
                Unit::Hosts => "hosts",
                Unit::Addresses => "addresses",
            },
            nearness: match case.nearness {
                Nearness::Rtt => "rtt",
                Nearness::Distance => "distance",
                Nearness::Both => "both",
                Nearness::Neither => "neither",
            },
            politeness: rule.to_owned(),
            formula_download_seconds: answer.algebra.download_seconds(),
            formula_exchange_seconds: answer.algebra.exchange_seconds(),
            download_seconds: download.map(|d| d.seconds),
            mean_pause_seconds: download.map(|d| d.mean_pause),
            pages: download.map(|d| d.pages),
            exchanged_links: answer.algebra.handed_over,
            exchanged_share: answer.algebra.handed_over as f64 / links.max(1) as f64,
            exchanged_urls: download.map(|d| d.urls_sent),
            exchanged_bytes: download.map(|d| d.urls_sent as f64 * url_bytes),
            busiest_exchange: download.map(|d| {
                let most = d.robots.iter().map(|r| r.handed_over).max().unwrap_or(0);
                let mean = of_robots(&|j| d.robots[j].handed_over as f64);
                most as f64 / mean.max(f64::MIN_POSITIVE)
            }),
            idle_share: download
                .map(|d| of_robots(&|j| d.robots[j].idle) / d.seconds.max(f64::MIN_POSITIVE)),
            politeness_violations: download.map(|d| d.violations),
            partial: download.is_some_and(|d| d.partial),
        }
    }
}

/// What a robot did.
#[derive(Clone, Debug, Serialize)]
pub struct RobotRow {
    pub robot: usize,
    pub pages: u64,
    pub idle_seconds: f64,
    /// Of its connections, over the whole download.
    pub busy_share: f64,
    pub exchanged_links: u64,
    pub done_seconds: f64,
    /// Pages in each interval of `timeline_seconds`.
    pub timeline: Vec<u32>,
}

/// A case with its robots.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    #[serde(flatten)]
    pub row: Row,
    pub timeline_seconds: Option<f64>,
    pub by_robot: Vec<RobotRow>,
}

/// Everything about one command.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub results: Vec<CaseResult>,
    /// Whether results are missing or cut short because of an interruption.
    pub partial: bool,
    pub input: String,
    pub pages: usize,
    pub links: usize,
    pub hosts: usize,
    pub addresses: usize,
    pub seed: u64,
}

impl Summary {
    pub fn new(
        input: &Input,
        seed: u64,
        sweep: &Sweep,
        answers: Vec<Answer>,
        rules: &[String],
    ) -> Self {
        let conditions = &sweep.conditions;
        let results: Vec<CaseResult> = answers
            .into_iter()
            .zip(rules)
            .map(|(answer, rule)| {
                let row = Row::new(&answer, rule, input.web.links(), conditions.url_bytes);
                let by_robot = answer.download.as_ref().map_or_else(Vec::new, |d| {
                    let all = f64::from(conditions.connections) * d.seconds;
                    let rows = d.robots.iter().zip(&d.timeline.downloads).enumerate();
                    rows.map(|(robot, (record, timeline))| RobotRow {
                        robot,
                        pages: record.pages,
                        idle_seconds: record.idle,
                        busy_share: record.busy / all.max(f64::MIN_POSITIVE),
                        exchanged_links: record.handed_over,
                        done_seconds: record.done,
                        timeline: timeline.clone(),
                    })
                    .collect()
                });
                CaseResult {
                    row,
                    timeline_seconds: answer.download.as_ref().map(|d| d.timeline.width),
                    by_robot,
                }
            })
            .collect();
        let partial =
            results.len() < sweep.cases.len() || results.iter().any(|result| result.row.partial);
        Self {
            results,
            partial,
            input: input.name.clone(),
            pages: input.web.pages(),
            links: input.web.links(),
            hosts: input.web.hosts(),
            addresses: input.web.addresses(),
            seed,
        }
    }

    /// The Web in one line.
    pub fn subject(&self) -> String {
        format!(
            "{}: {} pages, {} links, {} hosts, {} addresses; seed {}",
            self.input,
            grouped(self.pages),
            grouped(self.links),
            grouped(self.hosts),
            grouped(self.addresses),
            self.seed
        )
    }
}

pub const PARTIAL: &str = "PARTIAL: interrupted before the end; cases are missing or cut short.";

/// The summary as JSON.
pub fn json(summary: &Summary) -> Result<String> {
    Ok(serde_json::to_string_pretty(summary)? + "\n")
}

/// The rows as CSV.
pub fn csv(summary: &Summary) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for result in &summary.results {
        writer.serialize(&result.row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// The head of the table, and whether a column is text.
pub const COLUMNS: [(&str, bool); 13] = [
    ("robots", false),
    ("method", true),
    ("level", true),
    ("nearness", true),
    ("politeness", true),
    ("time, s", false),
    ("formula, s", false),
    ("exchanged", false),
    ("share", false),
    ("URLs", false),
    ("MB", false),
    ("idle", false),
    ("broken", false),
];

/// A row as people read it.
pub fn cells(row: &Row) -> [String; 13] {
    let optional = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let count = |value: Option<u64>| optional(value.map(|value| grouped(value as usize)));
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    let politeness = match row.mean_pause_seconds {
        Some(pause) if !row.politeness.ends_with('s') => {
            format!("{} ({pause:.2} s)", row.politeness)
        }
        _ => row.politeness.clone(),
    };
    [
        row.robots.to_string(),
        row.method.clone(),
        row.level.to_owned(),
        row.nearness.to_owned(),
        politeness,
        optional(row.download_seconds.map(short)),
        short(row.formula_download_seconds),
        grouped(row.exchanged_links as usize),
        percent(row.exchanged_share),
        count(row.exchanged_urls),
        optional(row.exchanged_bytes.map(|bytes| short(bytes / 1e6))),
        optional(row.idle_share.map(percent)),
        count(row.politeness_violations),
    ]
}

/// The summary as a table.
pub fn table(summary: &Summary) -> String {
    let rows: Vec<_> = summary
        .results
        .iter()
        .map(|result| cells(&result.row))
        .collect();
    let mut text = format!("{}\n\n", summary.subject());
    text += &terminal::table(&COLUMNS, &rows);
    if summary.partial {
        text.push_str(PARTIAL);
        text.push('\n');
    }
    text
}
