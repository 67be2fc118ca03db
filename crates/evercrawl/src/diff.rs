//! `evercrawl diff`: what differs between copies of a page, and whether that counts as a change.

mod files;
mod versions;

use crate::data::Which;
use crate::moment::Moment;
use anyhow::Result;
use desk::bad_input::BadInput;
use robot::config::WatchRule;
use robot::watch::Watch;
use std::path::PathBuf;

const MORE: &str = "\
For a page of the crawl, two versions are compared: the last one before --to, and the last one before --from. \
Without --from it is the last earlier version that says something else, or, if only noise ever differed, the last \
one with other bytes. `evercrawl get --versions URL` lists all \
versions. Words that differ are coloured on a terminal, and marked with --html.

With --files, copies of one page are compared, oldest first, each with the one before, as the robot would at its \
visits. Whatever differs at nearly every look is learnt along the way.

  changed   a visitor would see that the content says something else
  minor     noise, for one of these reasons:
            markup    the text is the same
            around    menus, footers, advertisements
            ticking   how long ago, how many views
            restless  parts that differ at nearly every look
  same      the same bytes

The rules of the configuration ([[watch]]) apply; to files only with -c and --url.

Examples:
  evercrawl diff https://shop.example/item/1
  evercrawl diff --from '1d ago' https://shop.example/item/1
  evercrawl diff --html https://shop.example/item/1 > difference.html
  evercrawl diff --files monday.html tuesday.html wednesday.html
  evercrawl diff --files *.html --json | jq -r 'select(.verdict == \"changed\") | .file'
  evercrawl diff -c crawl.toml --url https://shop.example/item/1 --files a.html b.html";

/// Show what differs between two versions of a page.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// A page of the crawl.
    #[arg(required_unless_present = "files", conflicts_with_all = ["files", "url", "apart"])]
    page: Option<String>,
    /// The older version: the last one until this time.
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "files"
    )]
    from: Option<Moment>,
    /// The newer version: the last one until this time.
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with = "files"
    )]
    to: Option<Moment>,
    /// Print an HTML page, with the words that differ marked.
    #[arg(long, conflicts_with_all = ["files", "json"])]
    html: bool,
    /// Compare files instead: copies of one page, oldest first.
    #[arg(long, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The URL of the page in the files, for rules that depend on it.
    #[arg(long, default_value = "http://page.example/")]
    url: String,
    /// How many seconds apart the copies were fetched, if known.
    #[arg(long, value_name = "SECONDS")]
    apart: Option<f64>,
    /// Print a JSON object; with --files, one per step.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.page {
        Some(page) => versions::run(arguments, page),
        None => files::run(arguments, &rules(&arguments.which.config()?.watch)?),
    }
}

/// What counts on which pages.
pub fn rules(rules: &[WatchRule]) -> Result<Watch> {
    let watch = Watch::new(rules);
    Ok(watch.map_err(|(key, value, reason)| BadInput(format!("{key} = {value:?}: {reason}")))?)
}
