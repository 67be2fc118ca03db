//! `evercrawl netmap probes`: how many probes are enough.

use super::columns::table;
use super::open_existing;
use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::Result;
use netmap::sampling::{PROBES, median_errors, quantile};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// How often so many probes are drawn from those that a pair has.
const DRAWS: usize = 200;

/// Tell how far the median of a few probes is from the median of many.
///
/// Draws n of the answers that the map keeps of a robot and a host, and compares their median with that
/// of all; pairs with fewer than 2n answers are left out. 'evercrawl netmap probe --probes 100' gives
/// enough of them.
#[derive(clap::Args)]
pub struct Arguments {
    /// The map
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    /// Find the least number whose mean relative error is at most this
    #[arg(long, value_name = "SHARE", default_value_t = 0.08)]
    error: f64,

    /// The seed of the draws
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Relative errors of the median of so many probes.
#[derive(Serialize)]
struct Row {
    probes: usize,
    pairs: usize,
    mean: f64,
    p50: f64,
    p90: f64,
}

#[derive(Serialize)]
struct Found {
    pairs: usize,
    answers: usize,
    errors: Vec<Row>,
    wanted: f64,
    enough: Option<usize>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    if !(arguments.error > 0.0 && arguments.error.is_finite()) {
        let reason = format!("--error is {}: expected a number above 0", arguments.error);
        return Err(BadInput(reason).into());
    }
    let answers = open_existing(&arguments.db)?.answers()?;
    let errors: Vec<Row> = [1, 2, 3, 5, PROBES, 9, 11, 15, 21, 31, 51]
        .into_iter()
        .filter_map(|probes| {
            let errors = median_errors(&answers, probes, DRAWS, arguments.seed);
            Some(Row {
                probes,
                pairs: errors.len(),
                mean: errors.iter().sum::<f64>() / errors.len() as f64,
                p50: quantile(&errors, 0.5)?,
                p90: quantile(&errors, 0.9)?,
            })
        })
        .collect();
    if errors.is_empty() {
        let reason =
            "has no pair with two answers: 'evercrawl netmap probe --probes 100' gives many";
        return Err(BadInput::file(&arguments.db, reason).into());
    }
    let enough = errors.iter().find(|row| row.mean <= arguments.error);
    let found = Found {
        pairs: answers.len(),
        answers: answers.iter().map(Vec::len).sum(),
        wanted: arguments.error,
        enough: enough.map(|row| row.probes),
        errors,
    };
    Ok(terminal::print(&if arguments.json {
        serde_json::to_string_pretty(&found)? + "\n"
    } else {
        found.text()
    })?)
}

impl Found {
    fn text(&self) -> String {
        let mut text = format!("{} pairs, {} answers\n\n", self.pairs, self.answers);
        let row = |row: &Row| {
            let share = |value: f64| format!("{value:.3}");
            vec![
                row.probes.to_string(),
                row.pairs.to_string(),
                share(row.mean),
                share(row.p50),
                share(row.p90),
            ]
        };
        let rows: Vec<Vec<String>> = self.errors.iter().map(row).collect();
        let header = ["probes>", "pairs>", "mean error>", "median>", "p90>"];
        text += &table(&header, &rows);
        let enough = self
            .enough
            .map_or_else(|| "none of these".to_owned(), |probes| probes.to_string());
        // writing to a string cannot fail
        let _ = write!(text, "\nenough for {}: {enough}\n", self.wanted);
        text
    }
}
