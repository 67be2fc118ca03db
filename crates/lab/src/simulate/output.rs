//! What `simulate freshness` tells: the same facts as JSON, as CSV and as a table.

use super::input::Input;
use anyhow::Result;
use desk::terminal::{self, grouped, short};
use serde::Serialize;
use simulation::sweep::{Row, Sweep};

/// What was asked for.
#[derive(Serialize)]
pub struct Asked {
    pub input: String,
    pub knowledge: String,
    pub observe: String,
    pub start: String,
}

/// Everything about one command.
#[derive(Serialize)]
pub struct Summary {
    pub results: Vec<Row>,
    /// Whether results are missing or cut short because of an interruption.
    pub partial: bool,
    #[serde(flatten)]
    pub asked: Asked,
    pub pages: usize,
    pub servers: usize,
    /// Changes in the test period of the first run; expected ones where none are drawn.
    pub changes: f64,
    /// Length of the test period.
    pub days: f64,
    pub seed: u64,
    pub seeds: usize,
}

impl Summary {
    pub fn new(
        asked: Asked,
        input: &Input,
        sweep: &Sweep,
        results: Vec<Row>,
        partial: bool,
    ) -> Self {
        let world = &input.first;
        Self {
            results,
            partial,
            asked,
            pages: world.pages(),
            servers: world.delay.len(),
            changes: world.changes_in_test(),
            days: world.days(),
            seed: sweep.seed,
            seeds: sweep.runs,
        }
    }

    /// The repository and the question in one line.
    pub fn subject(&self) -> String {
        format!(
            "{}: {} pages on {} server{}, {} changes in {} days; {} knowledge, visits reveal {}, {} start, {} run{}, seed {}",
            self.asked.input,
            grouped(self.pages),
            grouped(self.servers),
            plural(self.servers),
            grouped(self.changes.round() as usize),
            short(self.days),
            self.asked.knowledge,
            self.asked.observe,
            self.asked.start,
            self.seeds,
            plural(self.seeds),
            self.seed
        )
    }
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

pub const PARTIAL: &str = "PARTIAL: interrupted before the end; runs are missing or cut short.";

/// The summary as JSON.
pub fn json(summary: &Summary) -> Result<String> {
    Ok(serde_json::to_string_pretty(summary)? + "\n")
}

/// The rows as CSV.
pub fn csv(summary: &Summary) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in &summary.results {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// The head of the table, and whether a column is text.
pub const COLUMNS: [(&str, bool); 11] = [
    ("policy", true),
    ("budget/day", false),
    ("visits", false),
    ("freshness", false),
    ("± 95 %", false),
    ("of bound", false),
    ("age, days", false),
    ("p95 stale", false),
    ("select, ns", false),
    ("set up, s", false),
    ("", true),
];

/// A row as people read it.
pub fn cells(row: &Row) -> [String; 11] {
    let optional = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let mut remarks = Vec::new();
    if row.partial {
        remarks.push("partial".to_owned());
    }
    if row.converged {
        remarks.push(format!(
            "converged after {} days",
            short(row.simulated_days)
        ));
    }
    if row.impolite_visits > 0 {
        remarks.push(format!(
            "{} impolite visits",
            grouped(row.impolite_visits as usize)
        ));
    }
    [
        row.policy.clone(),
        short(row.budget_per_day),
        grouped(row.visits as usize),
        format!("{:.4}", row.freshness),
        format!("{:.4}", row.freshness_ci95),
        format!("{:.3}", row.freshness / row.bound_polite),
        short(row.mean_age_days),
        optional(row.p95_page_staleness, 3),
        optional(row.ns_per_selection, 0),
        optional(row.allocation_seconds, 3),
        remarks.join(", "),
    ]
}

/// The summary as a table.
pub fn table(summary: &Summary) -> String {
    let rows: Vec<_> = summary.results.iter().map(cells).collect();
    let mut text = format!("{}\n\n", summary.subject());
    text += &terminal::table(&COLUMNS, &rows);
    if summary.partial {
        text.push_str(PARTIAL);
        text.push('\n');
    }
    text
}
