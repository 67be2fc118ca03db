//! `evercrawl visit`: a page now, whenever it would be due.

use crate::bad_input::BadInput;
use crate::data::{self, Asked, Data, Which, read_url};
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::moment::Moment;
use crate::page_view::State;
use crate::terminal::plain;
use anyhow::{Result, anyhow, bail};
use ground::Seconds;
use serde::Serialize;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use storage::{PageRow, Reader};
use url::Url;

/// Between two looks at the page.
const PACE: Duration = Duration::from_millis(100);

const MORE: &str = "\
The page goes before all others of its host, as soon as politeness allows. An unknown page is added if it is in \
scope. The command waits for the visit and says what it brought; the exit code is 1 if there is no copy.

Examples:
  evercrawl visit https://shop.example/item/1 && evercrawl diff https://shop.example/item/1
  evercrawl visit --no-wait https://shop.example/item/1";

/// Have a running crawl visit a page now.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The page.
    url: String,
    /// Do not wait for the visit.
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this, such as 30s or 10m.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5m",
        conflicts_with = "no_wait"
    )]
    wait: Seconds,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Moment>,
    state: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
    /// Whether it says something else than before.
    changed: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let url = read_url(&arguments.url)?;
    let reader = data.reader()?;
    let before = look(&data, &reader, &url)?;
    match data.ask(|remote| remote.visit(url.as_str())) {
        Asked::Answer(Ok(())) => {}
        Asked::Answer(Err(why)) => return Err(BadInput(format!("{url} is {why}")).into()),
        Asked::Silence => bail!("a crawl is running, but does not answer"),
        Asked::Nobody => {
            let what = "no crawl is running here: `evercrawl crawl` starts it";
            return Err(BadInput::file(&data.directory, what).into());
        }
    }
    if arguments.no_wait {
        return Ok(());
    }
    let stop = stop_on_interrupt();
    let began = Instant::now();
    let after = loop {
        let now = look(&data, &reader, &url)?;
        if let Some(row) = &now
            && last_try(Some(row)) != last_try(before.as_ref())
        {
            break row.clone();
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        if began.elapsed().as_secs_f64() > arguments.wait.0 {
            bail!(
                "not visited yet; `evercrawl why {}` tells what it waits for",
                plain(url.as_str())
            );
        }
        std::thread::sleep(PACE);
    };
    tell(arguments, &url, before.as_ref(), &after)
}

fn look(data: &Data, reader: &Reader, url: &Url) -> Result<Option<PageRow>> {
    let page = data.page(reader, url)?;
    Ok(page.map(|page| reader.page(page)).transpose()?.flatten())
}

/// When the page was last asked for.
fn last_try(row: Option<&PageRow>) -> Option<storage::Time> {
    let row = row?;
    row.last_visit.max(row.last_failure.map(|(at, _)| at))
}

fn tell(arguments: &Arguments, url: &Url, before: Option<&PageRow>, after: &PageRow) -> Result<()> {
    let at = last_try(Some(after));
    let failure = after.last_failure.filter(|failure| Some(failure.0) == at);
    let failure = failure.map(|(_, cause)| robot::cause::word(cause));
    let changes = |row: Option<&PageRow>| row.map_or(0, |row| row.changes);
    let report = Report {
        url: url.to_string(),
        at: at.map(Moment),
        state: State::of(Some(after)).word(),
        status: after.status,
        failure,
        changed: changes(Some(after)) > changes(before),
    };
    let mut out = data::output();
    if arguments.json {
        data::json_line(&mut out, &report)?;
    } else if failure.is_none() {
        let first = before.is_none_or(|row| row.visits == 0);
        let what = if first {
            "first copy"
        } else if report.changed {
            "changed"
        } else {
            "not changed"
        };
        writeln!(out, "{}: {}, {what}", plain(&report.url), report.status)?;
    }
    out.flush()?;
    match failure {
        None => Ok(()),
        Some(cause) => Err(anyhow!("{}: no copy: {cause}", plain(url.as_str()))),
    }
}
