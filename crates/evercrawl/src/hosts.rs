//! `evercrawl hosts`: the hosts known, their pages and how they are spared.

use crate::data::{self, Asked, Which};
use crate::terminal::plain;
use anyhow::Result;
use robot::control::Remote;
use robot::overrides::Overrides;
use robot::view::HostView;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;
use storage::{PageState, StateCounts};

const MORE: &str = "\
While a crawl runs, each host says what it is waiting for: its interval, its robots.txt, an answer, other hosts at \
its address, or work.

Examples:
  evercrawl hosts
  evercrawl hosts --json | jq -r 'select(.crawl_delay > 10) | .host'";

/// List the known hosts: pages by state, interval, robots.txt, what they wait for.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Print a JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Pages {
    live: u32,
    new: u32,
    redirect: u32,
    gone: u32,
    excluded: u32,
    elsewhere: u32,
}

impl Pages {
    fn of(counted: StateCounts) -> Self {
        Self {
            live: counted[PageState::Live],
            new: counted[PageState::New],
            redirect: counted[PageState::Redirect],
            gone: counted[PageState::Gone],
            excluded: counted[PageState::Excluded],
            elsewhere: counted[PageState::Elsewhere],
        }
    }

    fn all(&self) -> u32 {
        self.live + self.new + self.redirect + self.gone + self.excluded + self.elsewhere
    }
}

#[derive(Serialize)]
struct View {
    #[serde(flatten)]
    host: HostView,
    pages: Pages,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let reader = data.reader()?;
    let counted = reader.host_pages()?;
    let asked = data.ask(Remote::hosts);
    let robot = asked.robot();
    let mut scheduled: HashMap<String, HostView> = match asked {
        Asked::Answer(views) => (views.into_iter())
            .map(|view| (view.host.clone(), view))
            .collect(),
        Asked::Silence | Asked::Nobody => HashMap::new(),
    };
    let overrides = Overrides::new(&data.config).unwrap_or_default();
    let mut views = Vec::new();
    for host in reader.hosts()? {
        let (id, row) = host?;
        let pages = counted.get(id.0 as usize).copied();
        let pages = Pages::of(pages.unwrap_or_default());
        let host = scheduled.remove(&row.name).unwrap_or_else(|| {
            robot::offline::host_view(&row.name, &row.blob, pages.all(), &overrides, robot)
        });
        views.push(View { host, pages });
    }
    views.sort_by_cached_key(|view| (Reverse(view.pages.all()), view.host.host.clone()));
    let mut out = data::output();
    if !arguments.json {
        writeln!(
            out,
            "{:>8} {:>8} {:>8} {:>8} {:>8} {:>9}  host",
            "live", "new", "redirect", "gone", "excluded", "interval"
        )?;
    }
    for view in &views {
        if arguments.json {
            data::json_line(&mut out, view)?;
        } else {
            writeln!(out, "{}", line(view))?;
        }
    }
    Ok(out.flush()?)
}

fn line(view: &View) -> String {
    let (host, pages) = (&view.host, view.pages);
    let elsewhere = match pages.elsewhere {
        0 => String::new(),
        count => format!("; {count} pages are elsewhere"),
    };
    format!(
        "{:>8} {:>8} {:>8} {:>8} {:>8} {:>7.2} s  {}; robots.txt: {}; waits for {}",
        pages.live,
        pages.new,
        pages.redirect,
        pages.gone,
        pages.excluded,
        host.interval,
        plain(&host.host),
        plain(&host.robots),
        plain(&host.waits_for),
    ) + &elsewhere
}
