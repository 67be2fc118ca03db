//! `evercrawl pages`: the pages known, filtered and sorted.

use crate::data::{self, Which, is_host};
use crate::page_view::{Names, PageView, State};
use crate::terminal::{complain, count, named};
use anyhow::Result;
use clap::ValueEnum;
use std::collections::HashSet;
use std::io::Write;
use storage::{HostId, Mark, Order, Reader, Wanted};

const MORE: &str = "\
Examples:
  evercrawl pages --state gone
  evercrawl pages --host www.example.org --sort changes --limit 20
  evercrawl pages --json | jq -r 'select(.content_type == \"application/pdf\") | .url'";

/// List the known pages, one per line.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only pages of this host: its name, or scheme, name and port.
    #[arg(long)]
    host: Option<String>,
    /// Only pages in this state.
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Print at most this many.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Their order.
    #[arg(long, value_enum, default_value = "found")]
    sort: Sort,
    /// Print a JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// In the order in which they were found.
    Found,
    /// By URL.
    Url,
    /// Most recently visited first.
    Visit,
    /// Most recently changed first.
    Change,
    /// Most changes first.
    Changes,
}

impl Sort {
    fn order(self) -> Order {
        match self {
            Self::Found => Order::Found,
            Self::Url => Order::Url,
            Self::Visit => Order::Visit,
            Self::Change => Order::Change,
            Self::Changes => Order::Changes,
        }
    }

    /// Pages found at a time: a list of all is long, and what is sorted must be found again for each
    /// part.
    fn part(self) -> usize {
        if self == Self::Found {
            1 << 14
        } else {
            1 << 20
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let reader = data.reader()?;
    let wanted = Wanted {
        state: arguments.state.map(State::stored),
        hosts: (arguments.host.as_deref())
            .map(|wanted| hosts_named(&reader, wanted))
            .transpose()?,
        seeds: false,
    };
    let mut names = Names::new(&reader)?;
    let mut out = data::output();
    let mut damaged = 0;
    let mut left = arguments.limit.unwrap_or(usize::MAX);
    let mut after: Option<Mark> = None;
    loop {
        let part = left.min(arguments.sort.part());
        let found = reader.select(&wanted, arguments.sort.order(), part, after.as_ref())?;
        if after.is_none() {
            damaged += found.unreadable;
        }
        left -= found.pages.len();
        for page in found.pages {
            let Ok(page) = PageView::of(&mut names, page) else {
                damaged += 1;
                continue;
            };
            if arguments.json {
                data::json_line(&mut out, &page)?;
            } else {
                writeln!(out, "{}", line(&page))?;
            }
        }
        after = found.more.filter(|_| left > 0);
        if after.is_none() {
            break;
        }
    }
    out.flush()?;
    if damaged > 0 {
        complain(
            "warning",
            &format!("{} cannot be read", count(damaged, "page")),
        );
    }
    Ok(())
}

/// The hosts that are meant by a name.
fn hosts_named(reader: &Reader, wanted: &str) -> Result<HashSet<HostId>> {
    let hosts = reader.hosts()?.filter_map(|host| match host {
        Ok((id, row)) => is_host(&row.name, wanted).then_some(Ok(id)),
        Err(error) => Some(Err(error)),
    });
    Ok(hosts.collect::<storage::Result<_>>()?)
}

fn line(page: &PageView) -> String {
    let dash = || "-".to_owned();
    format!(
        "{:<8} {:>3}  {:<24}  {:>5} {:<6} {:>4} {:<7} {:>4} minor  {}{}{}",
        page.state.word(),
        page.status.map_or_else(dash, |status| status.to_string()),
        page.last_visit.map_or_else(dash, |visit| visit.to_string()),
        page.visits,
        named(u64::from(page.visits), "visit"),
        page.changes,
        named(u64::from(page.changes), "change"),
        page.minor,
        if page.is_requisite() {
            "(embedded) "
        } else {
            ""
        },
        page.url,
        if page.cut { "  (cut)" } else { "" },
    )
}
