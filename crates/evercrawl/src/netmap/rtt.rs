//! `evercrawl netmap rtt`: how far two hosts are from each other.

use super::columns::ms;
use super::open_existing;
use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::Result;
use netmap::approximate::Settings;
use netmap::atlas::Atlas;
use std::path::PathBuf;

/// Show the RTT of a pair, measured or estimated.
///
/// Measured: the median over a window of time. Estimated: the shortest path in the union of all routes, and
/// network coordinates (Vivaldi).
#[derive(clap::Args)]
pub struct Arguments {
    /// A robot, a host name or an address of the map
    a: String,

    /// Another
    b: String,

    /// The map
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    #[command(flatten)]
    window: super::Window,

    /// The seed of the coordinates
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let atlas = Atlas::read(&open_existing(&arguments.db)?, arguments.window.window.0)?;
    let vertex = |name: &String| {
        atlas.vertex(name).ok_or_else(|| {
            let reason = format!("knows no '{name}': expected a robot, a host or an address that was probed or traced");
            BadInput::file(&arguments.db, reason)
        })
    };
    let (a, b) = (vertex(&arguments.a)?, vertex(&arguments.b)?);
    if a == b {
        let reason = format!("'{}' and '{}' are the same", arguments.a, arguments.b);
        return Err(BadInput(reason).into());
    }
    let settings = Settings {
        seed: arguments.seed,
        ..Settings::default()
    };
    let found = atlas.distance(a, b, &settings);
    let text = if arguments.json {
        serde_json::to_string_pretty(&found)? + "\n"
    } else {
        format!(
            "measured       {} ms\nshortest path  {} ms\ncoordinates    {} ms\n",
            ms(found.measured_ms),
            ms(found.shortest_path_ms),
            ms(found.coordinates_ms)
        )
    };
    Ok(terminal::print(&text)?)
}
