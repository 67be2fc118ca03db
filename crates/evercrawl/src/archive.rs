//! `evercrawl archive`: whether what was archived is still what was written.

use crate::data::{self, Data, Which};
use crate::terminal::{grouped, plain};
use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use storage::archive::{Flaw, files, verify};

const MORE: &str = "\
Examples:
  evercrawl archive verify
  evercrawl archive verify --data mirror --json | jq '.flaws[]'";

/// Check the archive.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Read every record and compare every digest; exit code 1 if any is damaged.
    Verify {
        #[command(flatten)]
        which: Which,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Report {
    files: u32,
    records: u64,
    digests: u64,
    flaws: Vec<FlawView>,
}

#[derive(Serialize)]
struct FlawView {
    file: String,
    offset: u64,
    length: u64,
    what: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Command::Verify { which, json } = &arguments.command;
    let data = which.find()?;
    let archive = data.archive()?;
    let unfinished = unfinished_from(&data, &archive)?;
    let mut found = verify(&archive)?;
    found
        .flaws
        .retain(|flaw| !unfinished.as_ref().is_some_and(|end| end.holds(flaw)));
    let mut out = data::output();
    if *json {
        let report = Report {
            files: found.files,
            records: found.records,
            digests: found.digests,
            flaws: found.flaws.iter().map(FlawView::of).collect(),
        };
        data::json_line(&mut out, &report)?;
    } else {
        for flaw in &found.flaws {
            writeln!(out, "{}", plain(&flaw.to_string()))?;
        }
        writeln!(
            out,
            "{} files, {} records read, {} digests right, {} damaged",
            found.files,
            grouped(found.records as usize),
            grouped(found.digests as usize),
            found.flaws.len()
        )?;
    }
    out.flush()?;
    match found.flaws.len() {
        0 => Ok(()),
        1 => Err(anyhow!("the archive is damaged in one place")),
        places => Err(anyhow!("the archive is damaged in {places} places")),
    }
}

impl FlawView {
    fn of(flaw: &Flaw) -> Self {
        Self {
            file: flaw.path.display().to_string(),
            offset: flaw.offset,
            length: flaw.length,
            what: flaw.what.clone(),
        }
    }
}

/// The end of the file that a running crawl writes: a record there may be half written, and
/// nothing is wrong with that.
pub struct Unfinished {
    path: PathBuf,
    end: u64,
}

/// Where the archive ended a moment ago, if a crawl is running.
pub fn unfinished_from(data: &Data, archive: &Path) -> Result<Option<Unfinished>> {
    let last = files(archive)?.pop().filter(|_| data.is_running());
    last.map(|(_, path)| {
        let found = std::fs::metadata(&path);
        let found = found.with_context(|| format!("cannot look at {}", path.display()))?;
        let end = found.len();
        Ok(Unfinished { path, end })
    })
    .transpose()
}

impl Unfinished {
    /// Whether what looks like damage is at that end, or behind it.
    pub fn holds(&self, flaw: &Flaw) -> bool {
        let is_behind = flaw.path > self.path;
        is_behind || flaw.path == self.path && flaw.offset + flaw.length >= self.end
    }
}
