//! `evercrawl netmap merge`: the maps of many robots as one.

use super::{open, open_existing};
use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Add the measurements of other robots' maps.
///
/// Nothing is added twice, so you can merge the same map again after it has grown.
#[derive(clap::Args)]
pub struct Arguments {
    /// Other maps
    #[arg(value_name = "FILE", required = true)]
    others: Vec<PathBuf>,

    /// The map to add to; created if it does not exist
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    /// Print what the map has afterwards, as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let own = arguments.db.canonicalize().ok();
    for other in &arguments.others {
        drop(open_existing(other)?);
        if own.is_some() && other.canonicalize().ok() == own {
            return Err(BadInput::file(other, "is the map itself").into());
        }
    }
    let mut store = open(&arguments.db)?;
    for other in &arguments.others {
        let merged = store.merge(other);
        merged.with_context(|| format!("cannot take over {}", other.display()))?;
    }
    let (robots, pairs, routes) = (
        store.sources()?.len(),
        store.measurements(0.0)?.len(),
        store.routes()?.len(),
    );
    Ok(terminal::print(&if arguments.json {
        let json = serde_json::json!({
            "robots": robots,
            "measured_pairs": pairs,
            "routes": routes,
        });
        serde_json::to_string_pretty(&json)? + "\n"
    } else {
        format!("robots          {robots}\nmeasured pairs  {pairs}\nroutes          {routes}\n")
    })?)
}
