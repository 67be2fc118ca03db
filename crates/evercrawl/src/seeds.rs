//! `evercrawl seeds`: where a crawl begins, changed while it runs or not.

use crate::bad_input::BadInput;
use crate::data::{self, Asked, Data, Which};
use crate::terminal::{complain, plain};
use anyhow::Result;
use robot::seeds::SeedList;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use url::Url;

/// A longer list is refused.
const MOST_BYTES: u64 = 256 << 20;

const MORE: &str = "\
Seeds that are added are visited at once if a crawl is running, and otherwise at its next start; what they
reach (scope.reach) is in scope from then on. What only a removed seed reached is fetched no more; copies
are kept. The list holds besides the seeds of the configuration, also for a start with -c.

Files have one URL a line; empty lines and lines that begin with # are passed over; - is standard input.

Examples:
  evercrawl seeds list
  evercrawl seeds add https://docs.example.org/ --from more.txt
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
    /// Begin there too.
    Add(Change),
    /// Begin there no more.
    Remove(Change),
    /// Print all seeds, one a line.
    List {
        #[command(flatten)]
        which: Which,
        /// Print a JSON string a line.
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
    /// Files of URLs, one a line.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Add(change) => {
            let (data, urls) = change.read()?;
            add(&data, &urls)
        }
        Command::Remove(change) => {
            let (data, urls) = change.read()?;
            let unknown = SeedList::change(&data.raw, |list| {
                let unknown = list.remove(&data.raw, &urls);
                unknown.into_iter().cloned().collect::<Vec<Url>>()
            })?;
            for url in &unknown {
                complain("warning", &format!("{} is no seed", plain(url.as_str())));
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
                    writeln!(out, "{}", plain(seed))?;
                }
            }
            Ok(out.flush()?)
        }
    }
}

/// Adds seeds to a crawl, which may be running.
pub fn add(data: &Data, urls: &[Url]) -> Result<()> {
    let count = SeedList::change(&data.raw, |list| list.add(&data.raw, urls))?;
    tell(data, &format!("{count} added"))
}

impl Change {
    fn read(&self) -> Result<(Data, Vec<Url>)> {
        let data = self.which.find()?;
        // where there is no crawl, a list would wait for nobody
        data.reader()?;
        Ok((data, read_urls(&self.urls, &self.from)?))
    }
}

/// URLs given as arguments and in files.
pub fn read_urls(given: &[String], files: &[PathBuf]) -> Result<Vec<Url>> {
    let mut urls = Vec::new();
    for url in given {
        urls.push(data::read_url(url)?);
    }
    for file in files {
        let text = read_file(file).map_err(|error| BadInput::file(file, error))?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let url = data::read_url(line);
                urls.push(
                    url.map_err(|error| BadInput::file(file, format!("line {number}: {error}")))?,
                );
            }
        }
    }
    Ok(urls)
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
                "{done}, but the running crawl goes on as before: {why}"
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
