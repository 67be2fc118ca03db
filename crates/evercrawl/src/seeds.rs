//! `evercrawl seeds`: where a crawl begins, changed while it runs or not.

use crate::bad_input::BadInput;
use crate::data::{self, Asked, Data, Which};
use crate::terminal::{complain, plain};
use anyhow::Result;
use frontier::scope::{Reach, Seed};
use robot::StartError;
use robot::seeds::SeedList;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use url::Url;

/// A longer list is refused.
const MOST_BYTES: u64 = 256 << 20;

const MORE: &str = "\
Added seeds are visited at once if a crawl is running, otherwise at its next start; whatever they reach \
(scope.reach) is in scope from then on. What only a removed seed reached is no longer fetched; its copies are kept. \
The list is used in addition to the seeds of the configuration, also for a start with -c.

Files have one URL per line, optionally followed by a reach of its own. Empty lines and lines beginning with # are \
skipped; - is standard input. A reach is one of site, domain, host, prefix, page, anywhere, nowhere: `evercrawl scope \
--help` explains them. Without one, scope.reach applies. To change the reach of a seed, add it again.

Examples:
  evercrawl seeds list
  evercrawl seeds add https://docs.example.org/ --from more.txt
  evercrawl seeds add --reach prefix https://example.org/manual/
  evercrawl seeds remove https://blog.example.org/";

/// Add, remove or list the seeds of a crawl.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add seeds.
    Add {
        #[command(flatten)]
        change: Change,
        /// How far they reach, unless a file gives them another reach.
        #[arg(long, value_parser = crate::scope::reaches())]
        reach: Option<Reach>,
    },
    /// Remove seeds.
    Remove(Change),
    /// Print all seeds, one per line, with their reach if they have one of their own.
    List {
        #[command(flatten)]
        which: Which,
        /// Print a JSON string per line, or an object with url and reach.
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
struct Change {
    #[command(flatten)]
    which: Which,
    /// The URLs.
    #[arg(required_unless_present = "from")]
    urls: Vec<String>,
    /// A file of URLs, one per line.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Add { change, reach } => {
            let (data, mut seeds) = change.read()?;
            for seed in &mut seeds {
                seed.reach = seed.reach.or(*reach);
            }
            add(&data, &seeds)
        }
        Command::Remove(change) => {
            let (data, seeds) = change.read()?;
            let urls: Vec<Url> = seeds.into_iter().map(|seed| seed.url).collect();
            let unknown = SeedList::change(&data.raw, |list| {
                let unknown = list.remove(&data.raw, &urls);
                unknown.into_iter().cloned().collect::<Vec<Url>>()
            })?;
            for url in &unknown {
                complain("warning", &format!("{} is not a seed", plain(url.as_str())));
            }
            tell(&data, &format!("{} removed", urls.len() - unknown.len()))
        }
        Command::List { which, json } => {
            let data = which.find()?;
            data.reader()?;
            let mut out = data::output();
            for seed in &data.config.seeds {
                if *json {
                    data::json_line(&mut out, seed)?;
                } else {
                    writeln!(out, "{}", plain(&seed.to_string()))?;
                }
            }
            Ok(out.flush()?)
        }
    }
}

/// Adds seeds to a crawl, which may be running.
pub fn add(data: &Data, seeds: &[Seed]) -> Result<()> {
    let count = SeedList::change(&data.raw, |list| list.add(&data.raw, seeds))?;
    tell(data, &format!("{count} added"))
}

impl Change {
    fn read(&self) -> Result<(Data, Vec<Seed>)> {
        let data = self.which.find()?;
        // where there is no crawl, a list would wait for nobody
        data.reader()?;
        Ok((data, read_seeds(&self.urls, &self.from)?))
    }
}

/// Seeds given as arguments and in files.
pub fn read_seeds(given: &[String], files: &[PathBuf]) -> Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for url in given {
        seeds.push(read_url(url)?.into());
    }
    for file in files {
        let text = read_file(file).map_err(|error| BadInput::file(file, error))?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let seed = read_line(line);
                seeds.push(
                    seed.map_err(|error| BadInput::file(file, format!("line {number}: {error}")))?,
                );
            }
        }
    }
    Ok(seeds)
}

/// A URL, and its reach if it has one.
fn read_line(line: &str) -> Result<Seed> {
    let (url, reach) = robot::seeds::split(line).map_err(BadInput)?;
    let url = read_url(url)?;
    Ok(Seed { url, reach })
}

fn read_url(text: &str) -> Result<Url> {
    let url = data::read_url(text)?;
    if robot::seeds::has_login(text.trim()) {
        return Err(BadInput(StartError::Login(url.into()).to_string()).into());
    }
    Ok(url)
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().take(MOST_BYTES + 1).read_to_string(&mut text)?
    } else {
        File::open(path)?
            .take(MOST_BYTES + 1)
            .read_to_string(&mut text)?
    };
    if read as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("longer than {MOST_BYTES} bytes")));
    }
    Ok(text)
}

/// Says what became of it, and lets a running crawl know.
fn tell(data: &Data, done: &str) -> Result<()> {
    let known = match data.ask(robot::control::Remote::look_at_seeds) {
        Asked::Answer(Ok(seeds)) => format!("the running crawl has {seeds} now"),
        Asked::Answer(Err(why)) => {
            return Err(BadInput(format!(
                "{done}, but the running crawl continues as before: {why}"
            ))
            .into());
        }
        Asked::Silence => "the running crawl does not answer: from its next start on".into(),
        Asked::Nobody => "from the next start on".into(),
    };
    let mut out = data::output();
    writeln!(out, "{done}; {known}")?;
    Ok(out.flush()?)
}
