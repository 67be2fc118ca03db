//! `evercrawl netmap sql`: questions to the map.

use super::{columns, open_existing};
use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::Result;
use std::borrow::Cow;
use std::fmt::Write;
use std::path::PathBuf;

const TABLES: &str = "\
Tables: hosts, addresses, host_addresses, targets, sources, attempts, end_to_end, rtt_samples,
routes, hops, address_blocks, autonomous_systems, cities, places. Their columns:
  evercrawl netmap sql \"SELECT sql FROM sqlite_schema\"";

/// Query the map in SQL, read-only.
#[derive(clap::Args)]
#[command(after_help = TABLES)]
pub struct Arguments {
    /// The query
    #[arg(value_name = "SQL")]
    question: String,

    /// The map
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    /// Print the answer as JSON: an array of rows; a column with the name of an earlier one gets its
    /// number appended
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print the answer as CSV; cells that a spreadsheet would take for a formula have an apostrophe
    /// before them
    #[arg(long)]
    csv: bool,

    /// Leave the cells of CSV as they are
    #[arg(long, requires = "csv")]
    raw: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let store = open_existing(&arguments.db)?;
    let asked = store.ask(&arguments.question);
    let answer = asked.map_err(|error| BadInput(format!("the query failed: {error}")))?;
    let text = if arguments.json {
        let names = distinct(&answer.columns);
        let row = |row: &Vec<Option<String>>| {
            let fields = names
                .iter()
                .cloned()
                .zip(row.iter().cloned().map(Into::into));
            serde_json::Value::Object(fields.collect())
        };
        let rows: Vec<serde_json::Value> = answer.rows.iter().map(row).collect();
        serde_json::to_string_pretty(&rows)? + "\n"
    } else if arguments.csv {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&answer.columns)?;
        for row in &answer.rows {
            let cells = row.iter().map(|field| field.as_deref().unwrap_or(""));
            let inert = |cell| {
                if arguments.raw {
                    Cow::Borrowed(cell)
                } else {
                    desk::cell::inert(cell)
                }
            };
            writer.write_record(cells.map(inert).map(Cow::into_owned).collect::<Vec<_>>())?;
        }
        String::from_utf8(writer.into_inner()?)?
    } else {
        let header: Vec<&str> = answer.columns.iter().map(String::as_str).collect();
        let field = |field: &Option<String>| field.clone().unwrap_or_else(|| "–".to_owned());
        let rows: Vec<Vec<String>> = answer
            .rows
            .iter()
            .map(|row| row.iter().map(field).collect())
            .collect();
        columns::table(&header, &rows)
    };
    Ok(terminal::print(&text)?)
}

/// Names of which no two are the same: `a`, `a_2`.
fn distinct(columns: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (number, column) in (1..).zip(columns) {
        let mut name = column.clone();
        while names.contains(&name) || (name != *column && columns.contains(&name)) {
            let _ = write!(name, "_{number}");
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_hides_another() {
        let names = |columns: &[&str]| {
            let columns: Vec<String> = columns.iter().map(|&c| c.to_owned()).collect();
            distinct(&columns)
        };
        assert_eq!(names(&["a", "b", "a"]), ["a", "b", "a_3"]);
        assert_eq!(names(&["a", "a", "a_2"]), ["a", "a_2_2", "a_2"]);
    }
}
