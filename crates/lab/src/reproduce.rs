//! `evercrawl reproduce`: the published experiments, and whether their relations come out.

mod classical;
mod cold_pages;
mod default;
mod factors;
mod first_visits;
mod histories;
mod lab;
mod learning;
mod national;
mod origins;
mod outcome;
mod partition_algebraic;
mod partition_download;
mod preferences;
mod rtt;
mod verdict;
mod webbase;
mod wikipedia;

use anyhow::Result;
use clap::ValueEnum;
use desk::bad_input::BadInput;
use desk::interrupt::Interrupted;
use desk::terminal;
use lab::Lab;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  evercrawl reproduce all --quick --out results
  evercrawl reproduce freshness-wikipedia --trace changes.csv.gz
  evercrawl reproduce default --trace legal=changes.csv.gz,items.csv.gz --trace casks.csv.gz
  evercrawl reproduce default --redraw experiments/default/recorded

Each experiment prints what was published, what came out here and a verdict, and writes raw rows
(CSV), plots (SVG) and a README.md with command, seed and data to a folder of its name.

Exit codes: 0 success, whatever the verdicts; 1 failure, 2 bad input, 130 interrupted.";

/// Repeat published experiments and compare.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Which experiment
    #[arg(value_enum, value_name = "EXPERIMENT")]
    what: What,

    /// Small repositories: all experiments together within two minutes
    #[arg(long, conflicts_with = "full")]
    quick: bool,

    /// freshness-webbase and the partitions at their published size: 14.5 million pages, and 1.2
    /// million divided among many fleets; takes hours
    #[arg(long)]
    full: bool,

    /// A recorded history of changes, [NAME=]CSV[,ITEMS[,COLUMN]...]; for freshness-wikipedia, the first
    /// is the encyclopedia that the published figures are about; for cold-pages, COLUMNs of ITEMS are known of a page
    /// when it is found, besides its URL
    #[arg(long, value_name = "TRACE")]
    trace: Vec<TraceFile>,

    /// Recorded data for RTTs, origins and the partitions: a folder that has latency/ and
    /// graphs/; by default, the environment variable `EVERCRAWL_DATA` names it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Where to write
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    out: PathBuf,

    /// Draw the plots of kept rows again, into their folder, without running anything
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "full", "trace", "data", "out"])]
    redraw: Option<PathBuf>,

    /// The seed of all randomness
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the verdicts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// List the experiments
    List,
    /// Bounds and policies on a generated repository of the published shape
    FreshnessWebbase,
    /// Policies on the edits of an encyclopedia, or on generated histories like them
    FreshnessWikipedia,
    /// The worst that RANDOM and MERGE can do, and curves over r
    Factors,
    /// Three closed forms against simulation
    Classical,
    /// Unmeasured RTTs, by shortest path and by coordinates
    RttApproximation,
    /// How many robots must probe
    ProbingOrigins,
    /// Policies that learn against those that know
    Learning,
    /// The default policy against all others
    Default,
    /// What partitions of a national web are worth, by formula
    PartitionAlgebraic,
    /// What they are worth in a download
    PartitionDownload,
    /// The preference of links against nearness, and its Pareto front
    PartitionPreferences,
    /// How soon the important pages are fetched, by the order of first visits
    FirstVisits,
    /// First visits by what URLs say, where there are fewer visits than pages
    ColdPages,
    /// All of them
    All,
}

impl What {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn help(self) -> String {
        let value = self.to_possible_value();
        let help = value.and_then(|value| value.get_help().map(ToString::to_string));
        help.unwrap_or_default()
    }

    fn has_full_size(self) -> bool {
        matches!(
            self,
            Self::FreshnessWebbase | Self::PartitionAlgebraic | Self::PartitionDownload
        )
    }

    fn takes_data(self) -> bool {
        matches!(
            self,
            Self::RttApproximation
                | Self::ProbingOrigins
                | Self::PartitionAlgebraic
                | Self::PartitionDownload
                | Self::PartitionPreferences
                | Self::FirstVisits
        )
    }

    fn takes_traces(self) -> bool {
        matches!(
            self,
            Self::FreshnessWikipedia | Self::Default | Self::ColdPages
        )
    }

    fn experiments() -> impl Iterator<Item = Self> {
        let all = Self::value_variants().iter().copied();
        all.filter(|what| !matches!(what, Self::List | Self::All))
    }
}

impl Arguments {
    /// Where recorded data are, if the user has any.
    fn recorded(&self) -> Option<PathBuf> {
        let named = || std::env::var_os("EVERCRAWL_DATA").map(PathBuf::from);
        self.data.clone().or_else(named)
    }
}

/// A recorded history and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    name: String,
    changes: PathBuf,
    items: Option<PathBuf>,
    /// Columns of the items that say something of pages.
    columns: Vec<String>,
}

impl FromStr for TraceFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, files) = match text.split_once('=') {
            Some((name, files)) => (Some(name), files),
            None => (None, text),
        };
        let mut parts = files.split(',');
        let changes = PathBuf::from(parts.next().unwrap_or_default());
        let items = parts.next().map(PathBuf::from);
        let columns = parts.map(str::to_owned).collect();
        let stem = changes.file_name().map(|file| file.to_string_lossy());
        let stem = stem.as_deref().and_then(|file| file.split('.').next());
        let name = name.or(stem).unwrap_or_default().to_owned();
        // the name becomes part of file names
        let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(good) {
            return Err(format!(
                "'{text}' is not [NAME=]CSV[,ITEMS[,COLUMN]...] with a NAME of letters, digits, - and _"
            ));
        }
        Ok(Self {
            name,
            changes,
            items,
            columns,
        })
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let outcome = reproduce(arguments);
    if let Err(error) = &outcome
        && error.is::<Interrupted>()
    {
        terminal::complain(
            "warning",
            "interrupted: nothing was written for this experiment",
        );
    }
    outcome
}

fn reproduce(arguments: &Arguments) -> Result<()> {
    let chosen: Vec<What> = match arguments.what {
        What::List => return Ok(terminal::print(&list())?),
        What::All => What::experiments().collect(),
        one => vec![one],
    };
    if arguments.full && !chosen.iter().any(|what| what.has_full_size()) {
        let reason =
            "--full belongs to freshness-webbase, partition-algebraic and partition-download";
        return Err(BadInput(reason.to_owned()).into());
    }
    if !arguments.trace.is_empty() && !chosen.iter().any(|what| what.takes_traces()) {
        return Err(BadInput(
            "--trace belongs to freshness-wikipedia, default and cold-pages".to_owned(),
        )
        .into());
    }
    let has_columns = |trace: &TraceFile| !trace.columns.is_empty();
    if arguments.what != What::ColdPages && arguments.trace.iter().any(has_columns) {
        let reason = "columns of items belong to cold-pages; the other experiments do not use them";
        return Err(BadInput(reason.to_owned()).into());
    }
    if let Some(folder) = &arguments.redraw {
        return redraw(arguments.what, folder);
    }
    let mut lab = Lab::new(
        arguments.quick,
        arguments.full,
        arguments.seed,
        &arguments.trace,
    );
    lab.data = arguments.recorded();
    let mut outcomes = Vec::new();
    for what in chosen {
        let outcome = match what {
            What::FreshnessWebbase => webbase::run(&lab)?,
            What::FreshnessWikipedia => wikipedia::run(&lab)?,
            What::Factors => factors::run(&lab)?,
            What::Classical => classical::run(&lab)?,
            What::RttApproximation => rtt::run(&lab)?,
            What::ProbingOrigins => origins::run(&lab)?,
            What::Learning => learning::run(&lab)?,
            What::Default => default::run(&lab)?,
            What::PartitionAlgebraic => partition_algebraic::run(&lab)?,
            What::PartitionDownload => partition_download::run(&lab)?,
            What::PartitionPreferences => preferences::run(&lab)?,
            What::FirstVisits => first_visits::run(&lab)?,
            What::ColdPages => cold_pages::run(&lab)?,
            What::List | What::All => unreachable!("neither is an experiment"),
        };
        outcome.write(&folder(arguments, what), &command(arguments, what))?;
        if !arguments.json {
            terminal::print(&format!("{}\n\n", outcome.table(&what.name())))?;
        }
        outcomes.push((what, outcome));
    }
    if arguments.json {
        let results = outcomes.iter().map(|(what, o)| o.json(&what.name()));
        let results = serde_json::json!({ "experiments": results.collect::<Vec<_>>() });
        terminal::print(&(serde_json::to_string_pretty(&results)? + "\n"))?;
    }
    Ok(())
}

/// Draws the plots of an experiment anew from its rows.
fn redraw(what: What, folder: &Path) -> Result<()> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| BadInput::file(&path, error.to_string()))
    };
    let charts = match what {
        What::FreshnessWebbase => webbase::charts(&rows(folder)?),
        What::FreshnessWikipedia => wikipedia::charts(&rows(folder)?),
        What::Factors => factors::charts(),
        What::Classical => classical::charts(&rows(folder)?, &read("closed-forms.csv")?)?,
        What::Learning => learning::charts(&rows(folder)?),
        What::Default => default::charts(&rows(folder)?),
        What::PartitionPreferences => preferences::charts(&rows(folder)?),
        What::ProbingOrigins => origins::charts(&rows(folder)?),
        _ => {
            let reason = "--redraw is for freshness-webbase, freshness-wikipedia, factors, classical, \
                          learning, default, partition-preferences and probing-origins";
            return Err(BadInput(reason.to_owned()).into());
        }
    };
    outcome::draw(folder, &charts)
}

/// The rows that an experiment kept.
fn rows<R: DeserializeOwned>(folder: &Path) -> Result<Vec<R>> {
    let path = folder.join("rows.csv");
    let bad = |error: csv::Error| BadInput::file(&path, error.to_string());
    let rows = csv::Reader::from_path(&path).map_err(bad)?;
    let rows: Result<Vec<R>, _> = rows.into_deserialize().collect();
    Ok(rows.map_err(bad)?)
}

fn list() -> String {
    let mut text = String::new();
    for what in What::experiments() {
        // writing to a string cannot fail
        let _ = writeln!(text, "{:21} {}", what.name(), what.help());
    }
    text
}

/// Where an experiment is kept; with recorded histories apart from without.
fn folder(arguments: &Arguments, what: What) -> PathBuf {
    let folder = arguments.out.join(what.name());
    let recorded = match what {
        what if what.takes_data() => arguments.recorded().is_some(),
        what if what.takes_traces() => !arguments.trace.is_empty(),
        _ => return folder,
    };
    folder.join(if recorded { "recorded" } else { "generated" })
}

/// What to type to get the same again; names of files without their folders.
fn command(arguments: &Arguments, what: What) -> String {
    let mut text = format!("evercrawl reproduce {}", what.name());
    for (flag, given) in [("--quick", arguments.quick), ("--full", arguments.full)] {
        if given {
            let _ = write!(text, " {flag}");
        }
    }
    let given = arguments.trace.iter().filter(|_| what.takes_traces());
    for trace in given {
        let file = |path: &PathBuf| {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            name.unwrap_or_default()
        };
        let _ = write!(text, " --trace {}={}", trace.name, file(&trace.changes));
        if let Some(items) = &trace.items {
            let _ = write!(text, ",{}", file(items));
        }
        for column in &trace.columns {
            let _ = write!(text, ",{column}");
        }
    }
    if what.takes_data() && arguments.recorded().is_some() {
        text.push_str(" --data DIR");
    }
    let _ = write!(text, " --seed {}", arguments.seed);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_have_names_and_may_have_items() {
        let trace: TraceFile = "legal=a/b.csv.gz,c.csv".parse().unwrap();
        assert_eq!(trace.name, "legal");
        assert_eq!(trace.changes, PathBuf::from("a/b.csv.gz"));
        assert_eq!(trace.items, Some(PathBuf::from("c.csv")));
        assert!(trace.columns.is_empty());
        let trace: TraceFile = "a.csv,c.csv,section,size".parse().unwrap();
        assert_eq!(trace.columns, ["section", "size"]);
        let trace: TraceFile = "a/casks.csv.gz".parse().unwrap();
        assert_eq!((trace.name.as_str(), trace.items), ("casks", None));
        assert!("../x=b.csv".parse::<TraceFile>().is_err());
        assert!("".parse::<TraceFile>().is_err());
    }
}
