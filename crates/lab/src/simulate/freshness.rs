//! `evercrawl simulate freshness`: how fresh policies would keep a repository.

use super::Form;
use super::input::Input;
use super::output::{self, Summary};
use super::report;
use super::when::{When, budget};
use anyhow::Result;
use clap::ValueEnum;
use desk::bad_input::BadInput;
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::new_file::{NewFile, check_target};
use desk::terminal::{self, complain};
use freshness::policy;
use ground::Seconds;
use simulation::knowledge::Source;
use simulation::run::Control;
use simulation::sweep::{self, Budget, Sweep};
use simulation::world;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const EXAMPLES: &str = "\
Examples:
  Which policy keeps a generated repository freshest, with few visits and with many?
    evercrawl simulate freshness examples/repository.toml \\
        --policy merge-opt-polite,index,uniform --budget 10%,40% --report report.html

  Replay real changes: learn from 2006, test on 2007, one visit for every four changes
    evercrawl simulate freshness --trace changes.csv.gz --learn-until 2007-01-01 \\
        --until 2008-01-01 --knowledge trained --budget 0.25/change --policy all

  What can a policy do that starts knowing nothing, when visits tell the date of the last change?
    evercrawl simulate freshness --trace changes.csv --items items.csv --politeness 15s \\
        --knowledge online --observe last-modified --policy default --budget 0.5/change --seeds 5

Files, plain or gzipped (.gz):
  scenario     TOML; examples/repository.toml explains every key
  --trace      CSV: item_id,timestamp_seconds; changes of an item in ascending order
  --items      CSV: item_id,server[,weight] ('host' may stand for 'server'; others are ignored);
               without it all items are on one server and count the same

Budgets:
  2000/day     visits per unit of time (/s, /min, /h, /day, /week)
  40%          of what politeness allows, all servers together
  0.25/change  visits per change of the test period

What comes out, for each policy and budget:
  freshness    share of time that copies equal their originals, by weight; ± its 95 % confidence
               interval over --seeds runs, or from 20 batches of the time with a single run
  age          mean time since the first change that a copy lacks
  p95          the share of time out of date that 95 % of the pages do not exceed
  select       time to choose a page and to learn from its visit
  bounds       the most that any policy reaches under Poisson changes at the pages' mean rates,
               without politeness and with it; no bounds where changes are not Poisson

Every run renumbers the pages, in the same way for all policies, because the order of a file is
arbitrary. The same seed gives the same numbers on any number of threads, except for times, which
--no-timings leaves out. Ctrl-C prints what is done so far, marked as partial (exit code 130).

Exit codes: 0 success, 1 failure, 2 bad input, 130 interrupted.";

/// Show how fresh policies would keep a repository.
///
/// Runs the policies of the live robot under a virtual clock, through a generated repository or a
/// recorded history of changes, and computes exactly how fresh the copies are.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A generated repository
    #[arg(value_name = "SCENARIO", conflicts_with = "trace")]
    pub scenario: Option<PathBuf>,

    /// A recorded history of changes
    #[arg(long, value_name = "CSV")]
    pub trace: Option<PathBuf>,

    /// Servers and weights of the items of --trace
    #[arg(long, value_name = "CSV")]
    pub items: Option<PathBuf>,

    /// Policies by name, separated by commas, or 'all'
    ///
    /// A name stands alone (default, index, greedy, uniform, …) or joins a selection and an allocation, as
    /// in merge-cho; an unknown one lists them all. 'default' is evercrawl's own: it learns what the
    /// --knowledge does not tell it.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "default,merge-opt-polite,index,uniform"
    )]
    policy: Vec<String>,

    /// Budgets, separated by commas: 2000/day, 40%, 0.25/change
    #[arg(long, value_name = "BUDGETS", value_delimiter = ',', required = true, value_parser = budget, allow_hyphen_values = true)]
    budget: Vec<Budget>,

    /// Least time between two visits to a server [default: the scenario's; none for a trace]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub politeness: Option<Seconds>,

    /// When the test starts [default: --learn-until, else the start]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    pub from: Option<When>,

    /// When the test ends [default: the end]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    pub until: Option<When>,

    /// When the training ends; what comes before may be known
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    pub learn_until: Option<When>,

    /// When the training starts [default: the start]
    #[arg(
        long,
        value_name = "INSTANT",
        requires = "learn_until",
        allow_hyphen_values = true
    )]
    pub learn_from: Option<When>,

    /// Test only items with at least this many changes in the test period
    #[arg(long, value_name = "N")]
    pub min_changes: Option<usize>,

    /// What policies know about how pages change
    #[arg(long, value_enum, default_value_t = Knowledge::Hindsight)]
    knowledge: Knowledge,

    /// What a visit reveals
    #[arg(long, value_enum, default_value_t = Observe::Bit)]
    observe: Observe,

    /// The copies at the start
    #[arg(long, value_enum, default_value_t = Start::Stale)]
    start: Start,

    /// Runs of each policy at each budget, each with its own randomness
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,

    /// The seed of all randomness [default: the scenario's, else 1]
    #[arg(long)]
    pub seed: Option<u64>,

    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,

    /// Run to the end even when the freshness has converged
    ///
    /// Runs over Poisson changes of policies that do not learn end early when there were as many
    /// visits as pages and the mean freshness of 8 windows (of 200 in all) differs by less than
    /// 0.01 % from that of the 8 before, three times in a row; the rest of the time is taken to be
    /// like those.
    #[arg(long)]
    no_early_stop: bool,

    /// Print null for measured times, so that outputs can be compared byte for byte
    #[arg(long)]
    no_timings: bool,

    #[command(flatten)]
    form: Form,

    /// Write a report with charts, as a single file
    #[arg(long, value_name = "HTML")]
    report: Option<PathBuf>,
}

/// What policies know of how pages change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Knowledge {
    /// Rates and gaps of the test period itself
    Hindsight,
    /// Rates and gaps of the training period, up to --learn-until
    Trained,
    /// Nothing but what their own visits reveal
    Online,
}

/// What a visit reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Observe {
    /// Whether the page changed since the last visit
    Bit,
    /// Also when it last changed
    LastModified,
    /// Also all the changes since the last visit
    History,
}

/// The copies at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Start {
    /// All pages that change in the test are out of date
    Stale,
    /// All are up to date
    Fresh,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(report) = &arguments.report {
        let inputs = [&arguments.scenario, &arguments.trace, &arguments.items];
        let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
        check_target(report, &inputs)?;
    }
    let threads = arguments.threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        |threads| threads as usize,
    );
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let stop = stop_on_interrupt();
    let input = Input::read(arguments)?;
    let sweep = plan(arguments, &input, threads)?;
    let bar = terminal::progress("simulating", sweep::windows(&sweep) as u64, false);
    let control = Control {
        stop,
        progress: &|windows| bar.inc(windows as u64),
    };
    let rows = sweep::sweep(&sweep, &|run| input.world(run), &control);
    bar.finish_and_clear();
    let mut rows = rows.map_err(|error| BadInput(error.to_string()))?;
    if arguments.no_timings {
        for row in &mut rows {
            row.ns_per_selection = None;
            row.allocation_seconds = None;
        }
    }
    let partial = rows.len() < sweep.policies.len() * sweep.budgets.len()
        || rows.iter().any(|row| row.partial);
    let summary = Summary::new(
        arguments_in_words(arguments, &input),
        &input,
        &sweep,
        rows,
        partial,
    );
    let text = if arguments.form.json {
        output::json(&summary)?
    } else if arguments.form.csv {
        output::csv(&summary)?
    } else {
        output::table(&summary)
    };
    if let Some(path) = &arguments.report {
        let mut file = NewFile::create(path)?;
        file.write_all(report::html(&summary).as_bytes())?;
        file.finish()?;
    }
    terminal::print(&text)?;
    if partial && stop.load(Ordering::Relaxed) {
        complain("warning", "interrupted: the result is partial");
        return Err(Interrupted.into());
    }
    Ok(())
}

fn plan(arguments: &Arguments, input: &Input, threads: usize) -> Result<Sweep> {
    let mut policies: Vec<String> = Vec::new();
    for name in &arguments.policy {
        let names = if name == "all" {
            policy::names()
        } else {
            vec![name.trim().to_owned()]
        };
        for name in names {
            if !policies.contains(&name) {
                policies.push(name);
            }
        }
    }
    let knowledge = match (arguments.knowledge, input.training) {
        (Knowledge::Hindsight, _) => Source::Hindsight,
        (Knowledge::Online, _) => Source::Online,
        (Knowledge::Trained, Some((from, until))) => Source::Trained { from, until },
        (Knowledge::Trained, None) => {
            return Err(BadInput("--knowledge trained needs --learn-until".to_owned()).into());
        }
    };
    Ok(Sweep {
        policies,
        budgets: arguments.budget.clone(),
        knowledge,
        observe: match arguments.observe {
            Observe::Bit => world::Observe::Bit,
            Observe::LastModified => world::Observe::LastModified,
            Observe::History => world::Observe::History,
        },
        start: match arguments.start {
            Start::Stale => world::Start::Stale,
            Start::Fresh => world::Start::Fresh,
        },
        runs: arguments.seeds as usize,
        seed: arguments.seed.or(input.seed).unwrap_or(1),
        early_stop: !arguments.no_early_stop,
        threads,
    })
}

/// What was asked for, for whoever reads the result.
fn arguments_in_words(arguments: &Arguments, input: &Input) -> output::Asked {
    let name = |value: Option<clap::builder::PossibleValue>| {
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    };
    output::Asked {
        input: input.name.clone(),
        knowledge: name(arguments.knowledge.to_possible_value()),
        observe: name(arguments.observe.to_possible_value()),
        start: name(arguments.start.to_possible_value()),
    }
}
