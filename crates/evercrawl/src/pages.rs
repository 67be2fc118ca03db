//! `evercrawl pages`: the pages known, filtered and sorted.

use crate::data::{self, Which, is_host};
use crate::page_view::{PageView, State};
use crate::terminal::complain;
use anyhow::Result;
use clap::ValueEnum;
use std::cell::Cell;
use std::cmp::Reverse;
use std::io::Write;
use storage::{PageEntry, Reader};

const MORE: &str = "\
Examples:
  evercrawl pages --state gone
  evercrawl pages --host www.example.org --sort changes --limit 20
  evercrawl pages --json | jq -r 'select(.content_type == \"application/pdf\") | .url'";

/// List the pages known, one a line.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only those of a host: its name, or scheme, name and port.
    #[arg(long)]
    host: Option<String>,
    /// Only those in a state.
    #[arg(long, value_enum)]
    state: Option<State>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Their order.
    #[arg(long, value_enum, default_value = "found")]
    sort: Sort,
    /// Print a JSON object a line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// As they were found.
    Found,
    /// By URL.
    Url,
    /// The last visited first.
    Visit,
    /// The last changed first.
    Change,
    /// Those with most changes first.
    Changes,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let reader = data.reader()?;
    let hosts = data::hosts(&reader)?;
    let limit = arguments.limit.unwrap_or(usize::MAX);
    let damaged = Cell::new(0);
    let entries = reader.pages()?.filter_map(|entry| {
        let Ok(entry) = entry else {
            damaged.update(|count| count + 1);
            return None;
        };
        let host = hosts.get(&entry.host).map_or("", |host| &host.name);
        let wanted = (arguments.host.as_deref()).is_none_or(|wanted| is_host(host, wanted))
            && (arguments.state).is_none_or(|state| state == State::of(entry.row.as_ref()));
        wanted.then_some(entry)
    });
    let mut out = data::output();
    let mut show = |entry: &PageEntry| -> Result<()> {
        let Ok(page) = PageView::read(&reader, &hosts, entry) else {
            damaged.update(|count| count + 1);
            return Ok(());
        };
        if arguments.json {
            data::json_line(&mut out, &page)
        } else {
            Ok(writeln!(out, "{}", line(&page))?)
        }
    };
    if arguments.sort == Sort::Found {
        entries.take(limit).try_for_each(|entry| show(&entry))?;
    } else {
        let mut entries: Vec<PageEntry> = entries.collect();
        sort(&mut entries, arguments.sort, &reader);
        entries.iter().take(limit).try_for_each(show)?;
    }
    out.flush()?;
    if damaged.get() > 0 {
        complain(
            "warning",
            &format!("{} pages cannot be read", damaged.get()),
        );
    }
    Ok(())
}

fn sort(entries: &mut [PageEntry], sort: Sort, reader: &Reader) {
    let row = |entry: &PageEntry| entry.row.clone().unwrap_or_default();
    match sort {
        Sort::Found => {}
        Sort::Url => {
            entries.sort_by_cached_key(|entry| reader.address(entry.id).map(|a| a.url).ok());
        }
        Sort::Visit => entries.sort_by_cached_key(|entry| Reverse(row(entry).last_visit)),
        Sort::Change => entries.sort_by_cached_key(|entry| Reverse(row(entry).last_change)),
        Sort::Changes => entries.sort_by_cached_key(|entry| Reverse(row(entry).changes)),
    }
}

fn line(page: &PageView) -> String {
    let dash = || "-".to_owned();
    format!(
        "{:<8} {:>3}  {:<24}  {:>5} visits {:>4} changes {:>4} minor  {}",
        page.state.word(),
        page.status.map_or_else(dash, |status| status.to_string()),
        page.last_visit.map_or_else(dash, |visit| visit.to_string()),
        page.visits,
        page.changes,
        page.minor,
        page.url,
    )
}
