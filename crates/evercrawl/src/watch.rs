//! `evercrawl watch`: pages without what they link to, and what changes on them.

use crate::bad_input::BadInput;
use crate::crawl::{How, Origin, Screen, add_seeds, start_config};
use crate::data::{self, Data};
use crate::difference_view::{self, Colour};
use crate::seeds;
use crate::terminal::plain;
use anyhow::Result;
use desk::live;
use frontier::scope::Reach;
use ground::Seconds;
use robot::changes::Change;
use robot::config::Config;
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use storage::{Observation, Observations, Outcome, PageId, Position, Reader};

/// A page's address may come a moment after its visit.
const LOOKS: u32 = 50;

const MORE: &str = "\
Only these pages are fetched, and where they redirect to; nothing that they link to or embed. Each is checked as \
often as its changes deserve: at most every 5 minutes, and at least once a day; or at a fixed interval, with --every. \
Politeness and robots.txt apply as in any crawl. Started again, it continues with the same pages and settings.

Each change is printed with the words that differ; with --json as `evercrawl changes --diff` prints it. `changes`, \
`diff`, `get`, `status` and `why` work on it too, and [[watch]] in a configuration says which parts of a page count. \
URLs given while it runs are added to it; `evercrawl seeds remove` removes some.

With --once every page is checked once, which suits cron: nothing is printed if nothing has changed, and the exit \
code is 1 if a page could not be fetched.

Files have one URL per line; empty lines and lines beginning with # are skipped; - is standard input.

Examples:
  evercrawl watch https://shop.example/item/1 https://www.example.org/news
  evercrawl watch --file pages.txt --every 1h
  evercrawl watch --once --data prices";

/// Watch pages for changes, without following links.
#[derive(clap::Args)]
#[command(after_help = MORE)]
#[allow(clippy::struct_excessive_bools)] // flags are
pub struct Arguments {
    /// The pages, in addition to those of the configuration or of the last start.
    urls: Vec<String>,
    /// A file of URLs, one per line.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Check every page at this interval, such as 10m, 1h or 1d, whatever its changes.
    #[arg(long, value_name = "TIME")]
    every: Option<Seconds>,
    /// Check every page once and end.
    #[arg(long, conflicts_with = "every")]
    once: bool,
    /// The configuration (TOML).
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory [default: evercrawl-data].
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// Also contact addresses that are not public: this machine, private networks.
    #[arg(long)]
    allow_private: bool,
    /// How webmasters can reach you: a URL or an e-mail address.
    #[arg(long, value_name = "URL")]
    contact: Option<String>,
    /// Stop after this time, such as 90s, 30m or 2h.
    #[arg(long = "for", value_name = "TIME")]
    limit: Option<Seconds>,
    /// Log more: requests, robots.txt, decisions.
    #[arg(short, long)]
    verbose: bool,
    /// Print changes and log as JSON lines.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let pages = seeds::read_seeds(&arguments.urls, &arguments.file)?;
    let (mut config, origin) =
        start_config(arguments.config.as_deref(), arguments.data.as_deref())?;
    check_directory(&config.data.0)?;
    let running = Data::of(config.clone())?;
    if running.is_running() && !pages.is_empty() {
        return seeds::add(&running, &pages);
    }
    match origin {
        Origin::File(table) => suit(&mut config, &table)?,
        Origin::Defaults => suit(&mut config, &toml::Table::new())?,
        Origin::Before => {}
    }
    if let Some(Seconds(seconds)) = arguments.every {
        if seconds <= 0.0 {
            return Err(BadInput("--every: expected a time above 0, such as 10m".into()).into());
        }
        let every = format!("{seconds}s");
        config.revisit.least_interval.clone_from(&every);
        config.revisit.most_interval = every;
        config.revisit.least_chance = 0.0;
    }
    let urls: Vec<String> = pages.into_iter().map(|page| page.url.into()).collect();
    add_seeds(&mut config, &urls)?;
    let how = How {
        contact: arguments.contact.as_deref(),
        allow_private: arguments.allow_private,
        once: arguments.once,
        seconds: arguments.limit,
        limits: config.limits.clone(),
        verbose: arguments.verbose,
        json: arguments.json,
    };
    let mut found = Found::after(&robot::state_directory(&config.data.0), &how);
    let mut screen = Screen::quiet(arguments.json);
    how.crawl(config, &mut screen, |config| found.tell(config))
}

/// A crawl of sites would lose its pages: they would be out of scope.
fn check_directory(data: &Path) -> Result<()> {
    let Some(Ok(kept)) = Config::kept(data) else {
        return Ok(());
    };
    if kept.scope.reach == Reach::Page {
        return Ok(());
    }
    let why =
        "this directory holds a crawl of sites; choose another one for watched pages with --data";
    Err(BadInput::file(data, why).into())
}

/// Settings that suit watching, where the file says nothing else.
fn suit(config: &mut Config, said: &toml::Table) -> Result<()> {
    let says = |section: &str, key: &str| {
        let section = said.get(section).and_then(toml::Value::as_table);
        section.is_some_and(|section| section.contains_key(key))
    };
    if says("scope", "reach") && config.scope.reach != Reach::Page {
        let why = "scope.reach: `watch` is for the pages that are given (\"page\"); `evercrawl crawl` is for more";
        return Err(BadInput(why.into()).into());
    }
    config.scope.reach = Reach::Page;
    if !says("archive", "requisites") {
        config.archive.requisites = false;
    }
    let revisit = &mut config.revisit;
    if !says("revisit", "budget") {
        revisit.budget = "100%".into();
    }
    if !says("revisit", "most_interval") {
        revisit.most_interval = "1d".into();
    }
    if !says("revisit", "first_guess_days") {
        revisit.first_guess_days = 0.5;
    }
    Ok(())
}

/// Changes, as they come.
struct Found {
    from: Position,
    log: Option<(Reader, Observations)>,
    json: bool,
    /// Pages that cannot be had at the moment; not told where a list comes at the end.
    failing: Option<HashSet<PageId>>,
}

impl Found {
    /// Those that are not in the log yet.
    fn after(state: &Path, how: &How) -> Self {
        Self {
            from: storage::log_end(state).unwrap_or_default(),
            log: None,
            json: how.json,
            failing: (!how.once).then(HashSet::new),
        }
    }

    /// Prints what has come since the last time.
    fn tell(&mut self, config: &Config) -> Result<()> {
        if self.log.is_none() {
            let reader = Reader::open(&robot::state_directory(&config.data.0))?;
            let log = reader.observations(self.from)?;
            self.log = Some((reader, log));
        }
        let Some((reader, log)) = &mut self.log else {
            return Ok(());
        };
        while let Some(observation) = log.read()? {
            if let Some(failing) = &mut self.failing {
                note_failure(failing, reader, &observation, self.json);
            }
            if let Some(mut change) = change(reader, &observation) {
                let watch = crate::diff::rules(&config.watch)?;
                let archive = robot::archive_directory(&config.data.0);
                let limit = config.fetch.max_decoded_bytes;
                if archive.is_dir()
                    && let Err(error) = change.compare(&archive, &watch, limit)
                {
                    // without the difference, then
                    tracing::warn!(%error, url = change.url, "a copy cannot be read");
                }
                print(&change, self.json)?;
            }
        }
        Ok(())
    }
}

/// Says of a page that it cannot be had, the first time in a row.
fn note_failure(failing: &mut HashSet<PageId>, reader: &Reader, seen: &Observation, json: bool) {
    let Outcome::Failed(cause) = seen.outcome else {
        failing.remove(&seen.page);
        return;
    };
    if failing.insert(seen.page)
        && let Some(url) = url(reader, seen.page)
    {
        let cause = robot::cause::word(cause);
        let text = format!(
            "{} could not be fetched ({cause}); it will be retried",
            plain(&url)
        );
        crate::crawl::warn(json, &text);
    }
}

fn url(reader: &Reader, page: PageId) -> Option<String> {
    let address = (0..LOOKS).find_map(|_| reader.address(page).ok())?;
    Some(address.url)
}

/// What is worth telling: pages that changed, went, or came back.
fn change(reader: &Reader, observation: &Observation) -> Option<Change> {
    let is_told = match observation.outcome {
        Outcome::Changed | Outcome::Gone => true,
        Outcome::FirstSeen => {
            let row = reader.page(observation.page).ok().flatten();
            row.is_some_and(|row| row.visits > 1)
        }
        Outcome::Minor | Outcome::Unchanged | Outcome::Failed(_) => false,
    };
    if !is_told {
        return None;
    }
    Change::of(observation, url(reader, observation.page)?, None, false)
}

fn print(change: &Change, json: bool) -> Result<()> {
    let mut text = Vec::new();
    if json {
        data::json_line(&mut text, change)?;
    } else {
        let kind = if change.kind == "first" {
            "back"
        } else {
            change.kind
        };
        writeln!(text, "{}  {kind:<7}  {}", change.time, plain(&change.url))?;
        if let Some(difference) = &change.words {
            let difference = difference_view::text(difference, Colour::of_stdout());
            text.extend_from_slice(difference.as_bytes());
        }
    }
    live::print(&text)?;
    Ok(())
}
