//! `plan.csv`: what each page gets, in the order of the input.

use super::repository::Repository;
use crate::new_file::NewFile;
use anyhow::{Context, Result};
use freshness::gap::Gap;
use freshness::measure::evenly_spaced;
use std::fmt::Write as _;
use std::path::Path;

/// Writes the plan; `frequency` and `gaps`, where histories tell them, are in the repository's
/// order.
pub fn write(
    path: &Path,
    repository: &Repository,
    gaps: Option<&[Option<Gap>]>,
    frequency: &[f64],
) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let mut writer = csv::Writer::from_writer(NewFile::create(path)?);
    writer
        .write_record(["page", "server", "visits_per_day", "freshness"])
        .with_context(failed)?;
    let rate = repository.problem(0.0).pages.rate;
    let mut number = String::new();
    repository.reread(|table, position, [page, server]| {
        let frequency = frequency[position];
        let fresh = match gaps {
            Some(gaps) => gaps[position]
                .as_ref()
                .map_or(1.0, |gap| gap.freshness(1.0 / frequency)),
            None => evenly_spaced(rate[position], frequency),
        };
        let mut record = || -> csv::Result<()> {
            writer.write_field(table.field(page))?;
            writer.write_field(table.field(server))?;
            for value in [frequency, fresh] {
                number.clear();
                put(&mut number, value);
                writer.write_field(&number)?;
            }
            writer.write_record(None::<&[u8]>)
        };
        record().with_context(failed)
    })?;
    let file = writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)
        .with_context(failed)?;
    file.finish()
}

/// The shortest text that reads back as the same number.
fn put(text: &mut String, value: f64) {
    let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
    let written = if plain {
        write!(text, "{value}")
    } else {
        write!(text, "{value:e}")
    };
    written.expect("writing to a string cannot fail");
}
