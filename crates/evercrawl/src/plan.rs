//! `evercrawl plan`: what a budget of requests can buy, and how to spend it.

mod channel;
mod choice;
mod curve;
mod histories;
mod report;
mod repository;
mod servers;
mod target;
mod write;

use crate::bad_input::BadInput;
use crate::new_file::check_target;
use crate::terminal::{self, complain, grouped, short};
use anyhow::Result;
use channel::Channel;
use choice::{Choice, divide, freshness};
use freshness::allocate::age;
use freshness::gap::Gap;
use ground::{Bytes, Rate, Seconds};
use histories::Histories;
use report::{Outcome, Report, Target};
use repository::Repository;
use servers::Delays;
use std::path::{Path, PathBuf};
use std::time::Instant;
use target::{Answer, smallest_budget};

const EXAMPLES: &str = "\
Examples:
  How fresh can 2000 visits a day keep these pages, with 15 s between visits to a server?
    evercrawl plan --pages pages.csv --budget 2000/day --politeness 15s --out plan.csv

  How many visits a day does a freshness of 95 % need?
    evercrawl plan --pages pages.csv --politeness 15s --target-freshness 0.95

  What do more or fewer visits buy, and what does each way of spending them lose?
    evercrawl plan --pages pages.csv --budget 2000/day --politeness 15s \\
        --allocation opt-polite,uniform,proportional --curve curve.svg

  How much bandwidth does the plan need, so that a minute has too many requests once in 1000?
    evercrawl plan --pages pages.csv --budget 5/s --channel --overflow 0.001 --page-size 25KB

Files are CSV with a header, plain or gzipped; columns in any order, others are ignored:
  pages.csv    page,server,change_rate[,weight]     changes per day; weight 1 if not given
  servers.csv  server,delay                         seconds, or with a unit (500ms); 0: no limit
  changes.csv  item_id,timestamp_seconds            item_id is a page
  plan.csv     page,server,visits_per_day,freshness in the order of pages.csv

Exit codes: 0 success (also when a target is out of reach), 1 failure, 2 bad input.";

/// Tell what a budget of visits can buy, and how to spend it.
///
/// Reads pages with their change rates, divides a budget of visits among them and tells how fresh
/// a copy of them would be kept.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Pages with their servers and change rates
    #[arg(long, value_name = "CSV")]
    pages: PathBuf,

    /// Visits in total: 2000/day, 5/s, 300/h, 10/min, 1e6/week
    #[arg(
        long,
        required_unless_present = "target_freshness",
        allow_hyphen_values = true
    )]
    budget: Option<Rate>,

    /// Servers with a delay of their own
    #[arg(long, value_name = "CSV")]
    servers: Option<PathBuf>,

    /// Least time between two visits to a server: 15s, 500ms, 2m, 1h [default: no limit]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    politeness: Option<Seconds>,

    /// How to divide the budget: uniform, proportional, cho, opt-polite, harmonic, age or wolf
    ///
    /// uniform, proportional and cho ignore politeness; opt-polite is the optimum within
    /// it; harmonic and age starve no page; wolf follows the pages' own histories. With --curve
    /// several may be given, separated by commas: the first makes the plan, all are drawn.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "opt-polite"
    )]
    allocation: Vec<Choice>,

    /// When pages changed, for --allocation wolf
    #[arg(long, value_name = "CSV")]
    histories: Option<PathBuf>,

    /// Write the visits of each page
    #[arg(long, value_name = "CSV")]
    out: Option<PathBuf>,

    /// Draw freshness against budget
    #[arg(long, value_name = "SVG")]
    curve: Option<PathBuf>,

    /// Find the smallest budget that reaches this freshness, above 0 and at most 1
    #[arg(long, value_name = "FRESHNESS", value_parser = target_freshness, allow_hyphen_values = true)]
    target_freshness: Option<f64>,

    /// Tell how much bandwidth the plan needs: by the bound on the overflow of a channel, and measured
    #[arg(long)]
    channel: bool,

    /// The accepted probability that a window of time has more requests than the channel can carry
    #[arg(long, value_name = "PROBABILITY", default_value = "0.001", requires = "channel", value_parser = probability, allow_hyphen_values = true)]
    overflow: f64,

    /// Mean size of an answer: 25KB, 1.5MB
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "25KB",
        requires = "channel"
    )]
    page_size: Bytes,

    /// Print the result as JSON; infinite numbers become null
    #[arg(long)]
    json: bool,
}

fn target_freshness(text: &str) -> Result<f64, String> {
    let value = text.trim().parse().unwrap_or(f64::NAN);
    if value > 0.0 && value <= 1.0 {
        Ok(value)
    } else {
        Err("expected a number above 0 and at most 1, such as 0.95".to_owned())
    }
}

fn probability(text: &str) -> Result<f64, String> {
    let value = text.trim().parse().unwrap_or(f64::NAN);
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err("expected a probability above 0 and below 1, such as 0.001".to_owned())
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let choices = check(arguments)?;
    let first = choices[0];
    let delays = Delays::read(arguments.servers.as_deref(), arguments.politeness)?;
    let histories = (arguments.histories.as_deref())
        .map(Histories::read)
        .transpose()?;
    let repository = Repository::read(&arguments.pages, &delays, histories.as_ref())?;
    let gaps = (histories.as_ref())
        .map(|histories| histories.gaps(&repository))
        .transpose()?;
    let gaps = gaps.as_deref();
    let problem = repository.problem(0.0);
    let capacity = problem.capacity();
    let given = arguments.budget.map(Rate::per_day);
    if let Some(budget) = given
        && budget > capacity * (1.0 + 1e-12)
    {
        return Err(BadInput(format!(
            "a budget of {} visits/day is above the {} visits/day that politeness allows",
            short(budget),
            short(capacity)
        ))
        .into());
    }
    let value = |choice, budget| -> Result<f64> {
        let frequency = divide(choice, &repository, gaps, budget)?;
        Ok(freshness(&repository, gaps, &frequency))
    };
    let answer = (arguments.target_freshness)
        .map(|target| {
            let guess = given.unwrap_or_else(|| problem.pages.rate.iter().sum());
            smallest_budget(|budget| value(first, budget), target, capacity, guess)
        })
        .transpose()?;
    let budget = match (given, answer) {
        (Some(budget), _) | (None, Some(Answer::Budget(budget))) => Some(budget),
        (None, _) => None,
    };

    let mut report = Report {
        pages: problem.len(),
        servers: problem.caps.len(),
        allocation: first.to_string(),
        budget_per_day: budget,
        outcome: Outcome::default(),
        capacity_per_day: capacity.is_finite().then_some(capacity),
        target: (arguments.target_freshness.zip(answer)).map(|(t, a)| Target::new(t, a)),
        channel: None,
        peak_memory_bytes: None,
        warnings: Vec::new(),
    };
    if let Some(budget) = budget {
        let start = Instant::now();
        let frequency = divide(first, &repository, gaps, budget)?;
        let seconds = start.elapsed().as_secs_f64();
        report.outcome = judge(&repository, gaps, &frequency, first, budget, &value)?;
        report.outcome.seconds = Some(seconds);
        report.channel = (arguments.channel)
            .then(|| Channel::new(&frequency, arguments.overflow, arguments.page_size));
        if let Some(path) = &arguments.curve {
            let bounds = Choice::bounds(gaps);
            curve::draw(path, &choices, bounds, budget, capacity, &value)?;
        }
        if let Some(path) = &arguments.out {
            write::write(path, &repository, gaps, &frequency)?;
        }
    } else if arguments.out.is_some() || arguments.curve.is_some() || arguments.channel {
        let warning =
            "no file was written and no channel computed: there is no plan without --budget";
        report.warnings.push(warning.to_owned());
    }
    report.warnings.extend(overload(&report.outcome));
    report.peak_memory_bytes = peak_memory();
    for warning in &report.warnings {
        complain("warning", warning);
    }
    let text = if arguments.json {
        report.json()
    } else {
        report.table()
    };
    Ok(terminal::print(&text)?)
}

/// Refuses what cannot be, before any work is done; returns the allocations without repetition.
fn check(arguments: &Arguments) -> Result<Vec<Choice>> {
    let bad = |reason: &str| Err(BadInput(reason.to_owned()).into());
    let mut choices: Vec<Choice> = Vec::new();
    for &choice in &arguments.allocation {
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }
    if choices.len() > 1 && arguments.curve.is_none() {
        return bad("several allocations can only be compared with --curve; expected one");
    }
    match (choices.contains(&Choice::Wolf), &arguments.histories) {
        (true, None) => return bad("--allocation wolf needs --histories"),
        (false, Some(_)) => return bad("--histories is only for --allocation wolf"),
        _ => {}
    }
    let files = [&arguments.servers, &arguments.histories];
    let mut inputs: Vec<&Path> = files.into_iter().flatten().map(PathBuf::as_path).collect();
    inputs.push(&arguments.pages);
    for output in [&arguments.out, &arguments.curve].into_iter().flatten() {
        check_target(output, &inputs)?;
    }
    if arguments.out.is_some() {
        Repository::check_rereadable(&arguments.pages)?;
    }
    Ok(choices)
}

/// What a plan is worth.
fn judge(
    repository: &Repository,
    gaps: Option<&[Option<Gap>]>,
    frequency: &[f64],
    choice: Choice,
    budget: f64,
    value: &impl Fn(Choice, f64) -> Result<f64>,
) -> Result<Outcome> {
    let problem = repository.problem(budget);
    let own = freshness(repository, gaps, frequency);
    let bound = |best: Choice| {
        if best == choice {
            Ok(own)
        } else {
            value(best, budget)
        }
    };
    let (best_impolite, best_polite) = Choice::bounds(gaps);
    let no_limits = problem.caps.iter().all(|cap| cap.is_infinite());
    let (impolite, polite) = if no_limits {
        // both are the same
        let best = bound(if choice == best_impolite {
            best_impolite
        } else {
            best_polite
        })?;
        (best, best)
    } else {
        (bound(best_impolite)?, bound(best_polite)?)
    };
    let mut visits = vec![0.0; problem.caps.len()];
    for (&server, frequency) in problem.server.iter().zip(frequency) {
        visits[server as usize] += frequency;
    }
    let servers_at = |share: f64| {
        let at = |(visits, cap): &(&f64, &f64)| cap.is_finite() && **visits >= **cap * share;
        visits.iter().zip(problem.caps).filter(at).count()
    };
    let counts = |page: usize| {
        let changes = gaps.map_or(problem.pages.rate[page] > 0.0, |gaps| gaps[page].is_some());
        changes && problem.pages.weight.is_none_or(|w| w[page] > 0.0)
    };
    Ok(Outcome {
        freshness: Some(own),
        bound_impolite: Some(impolite),
        bound_polite: Some(polite),
        // there is a closed form for Poisson changes only
        mean_age_days: gaps.is_none().then(|| age(problem.pages, frequency)),
        starved_pages: Some(
            (0..problem.len())
                .filter(|&p| counts(p) && frequency[p] == 0.0)
                .count(),
        ),
        // sums of a server's visits are off by rounding
        capped_servers: Some(servers_at(1.0 - 1e-9)),
        overloaded_servers: Some(servers_at(1.0 + 1e-9)),
        seconds: None,
    })
}

fn overload(outcome: &Outcome) -> Option<String> {
    let servers = outcome.overloaded_servers.filter(|&servers| servers > 0)?;
    Some(format!(
        "this allocation ignores politeness: it asks more of {} server{} than their delay \
         allows",
        grouped(servers),
        if servers == 1 { "" } else { "s" }
    ))
}

/// The most memory this process ever held, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
