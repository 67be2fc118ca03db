//! `evercrawl simulate new-pages`: which of the pages that nobody has seen is visited first.

use super::trace::Trace;
use super::{Form, when};
use anyhow::Result;
use clap::ValueEnum;
use desk::bad_input::BadInput;
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::terminal::{self, complain, grouped, short};
use ground::quantity::DAY;
use serde::Serialize;
use simulation::download::patience::unless_stopped;
use simulation::newcomers::{First, Site};
use simulation::statistics::{half_width_95, mean};
use simulation::sweep::Budget;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const EXAMPLES: &str = "\
Examples:
  Fewer visits than pages: is it worth looking at URLs?
    evercrawl simulate new-pages --trace changes.csv.gz --items items.csv --budget 0.1/change

  Does the section or the size of a page tell how long it lasts?
    evercrawl simulate new-pages --trace changes.csv --items items.csv --features section,bytes \\
        --order lasting --budget 0.1/change,0.25/change --seeds 30

A page exists from its first change on, and then waits for its first visit. Visits come evenly,
tell when a page last changed, and go to pages never visited first; the default policy makes all
others. Freshness is that of the pages that exist: one without a copy is out of date. There is no
politeness, and weights do not count.

Files, plain or gzipped (.gz):
  --trace      CSV: item_id,timestamp_seconds
  --items      CSV: item_id,server[,url] and what --features names; without a url the item_id is
               taken for one, as in PACKAGE/docs/index.html

Exit codes: 0 success, 1 failure, 2 bad input, 130 interrupted.";

/// Compare orders of first visits, where there are more pages than visits
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A recorded history of changes
    #[arg(long, value_name = "CSV")]
    trace: PathBuf,

    /// URLs and features of the items
    #[arg(long, value_name = "CSV")]
    items: Option<PathBuf>,

    /// Columns of --items that are known of a page when it is found, besides its URL
    ///
    /// A number counts by its power of two, any other text as it is. Columns are named one by one, because some
    /// tell the future, such as how often a page will have changed.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        requires = "items"
    )]
    features: Vec<String>,

    /// Orders of first visits, separated by commas
    #[arg(
        long,
        value_name = "ORDERS",
        value_delimiter = ',',
        value_enum,
        default_value = "breadth-first,lasting"
    )]
    order: Vec<Order>,

    /// Budgets, separated by commas: 20/day, 0.25/change
    #[arg(long, value_name = "BUDGETS", value_delimiter = ',', required = true, value_parser = budget, allow_hyphen_values = true)]
    budget: Vec<Budget>,

    /// Runs of each order at each budget, each with its own randomness
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,

    /// The seed of all randomness
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    form: Form,
}

/// Which page is visited first.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    /// Any of those that wait
    Random,
    /// The one found first
    BreadthFirst,
    /// The one whose contents are expected to last, by its URL and --features
    Lasting,
}

/// What came out for an order at a budget.
#[derive(Debug, Serialize)]
struct Row {
    order: String,
    visits_per_change: f64,
    freshness: f64,
    freshness_ci95: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let items = arguments.items.as_deref();
    let trace = Trace::with_columns(&arguments.trace, items, &arguments.features)?;
    for warning in &trace.warnings {
        complain("warning", warning);
    }
    let site = Arc::new(pages_made(&trace));
    let (from, until) = site.period();
    let changes = site.changes.iter().map(Vec::len).sum::<usize>();
    if until <= from {
        let file = arguments.trace.display();
        return Err(BadInput(format!("{file}: all changes are at one instant")).into());
    }
    let stop = stop_on_interrupt();
    let seeds = arguments.seed..arguments.seed.saturating_add(arguments.seeds);
    let mut rows = Vec::new();
    for &budget in &arguments.budget {
        let per_change = match budget {
            Budget::PerDay(visits) => visits * (until - from) / changes as f64,
            Budget::PerChange(visits) => visits,
            Budget::Share(_) => unreachable!("refused when it was read"),
        };
        for &order in &arguments.order {
            let (site, seeds) = (Arc::clone(&site), seeds.clone());
            rows.extend(unless_stopped(stop, move || {
                visited(&site, order, per_change, seeds)
            }));
        }
    }
    terminal::print(&if arguments.form.json {
        serde_json::to_string_pretty(&rows)? + "\n"
    } else if arguments.form.csv {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in &rows {
            writer.serialize(row)?;
        }
        String::from_utf8(writer.into_inner()?)?
    } else {
        let days = short(until - from);
        let (pages, changes) = (grouped(site.urls.len()), grouped(changes));
        format!(
            "{pages} pages, {changes} changes in {days} days; {} runs\n\n{}",
            arguments.seeds,
            table(&rows)
        )
    })?;
    if stop.load(Ordering::Relaxed) {
        complain("warning", "interrupted: the result is partial");
        return Err(Interrupted.into());
    }
    Ok(())
}

fn visited(site: &Site, order: Order, per_change: f64, seeds: Range<u64>) -> Row {
    let first = match order {
        Order::Random => First::Random,
        Order::BreadthFirst => First::BreadthFirst,
        Order::Lasting => First::Lasting,
    };
    let found: Vec<f64> = seeds
        .map(|seed| site.visited(per_change, first, seed))
        .collect();
    let name = order.to_possible_value();
    Row {
        order: name.map_or_else(String::new, |name| name.get_name().to_owned()),
        visits_per_change: per_change,
        freshness: mean(&found),
        freshness_ci95: half_width_95(&found),
    }
}

fn table(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        [
            row.order.clone(),
            short(row.visits_per_change),
            format!("{:.4}", row.freshness),
            format!("{:.4}", row.freshness_ci95),
        ]
    };
    let columns = [
        ("first visits", true),
        ("visits/change", false),
        ("freshness", false),
        ("± 95 %", false),
    ];
    terminal::table(&columns, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// A share of what politeness allows would be one of nothing.
fn budget(text: &str) -> Result<Budget, String> {
    match when::budget(text)? {
        Budget::Share(_) => Err("there is no politeness here: 20/day or 0.25/change".to_owned()),
        budget => Ok(budget),
    }
}

/// The pages of a history; what never changed was never made.
pub fn pages_made(trace: &Trace) -> Site {
    let urls = trace.urls.as_ref().unwrap_or(&trace.ids);
    let made = (0..urls.len()).filter(|&item| !trace.changes(item).is_empty());
    let days = |item: usize| trace.changes(item).iter().map(|at| at / DAY).collect();
    let columns = |item: usize| trace.columns.get(item).cloned().unwrap_or_default();
    let (urls, (columns, changes)) = made
        .map(|item| (urls[item].clone(), (columns(item), days(item))))
        .unzip();
    Site {
        urls,
        columns,
        changes,
    }
}
