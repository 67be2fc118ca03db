//! `evercrawl netmap export`: what the partitioner reads.

use super::open_existing;
use crate::bad_input::BadInput;
use crate::new_file::{NewFile, check_target};
use crate::terminal;
use anyhow::Result;
use ground::Point;
use netmap::approximate::Settings;
use netmap::atlas::Atlas;
use netmap::store::Store;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Write RTTs and places as CSV, in the form that `evercrawl partition` reads.
///
/// RTTs have the columns `robot,host,milliseconds`, places `host,latitude,longitude`. Hosts
/// keep the name or address they were probed by.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["rtt", "places"]))]
pub struct Arguments {
    /// The file for RTTs
    #[arg(long, value_name = "FILE")]
    rtt: Option<PathBuf>,

    /// The file for places
    #[arg(long, value_name = "FILE")]
    places: Option<PathBuf>,

    /// Include unmeasured pairs, estimated by whichever method does better on held-back pairs
    #[arg(long, requires = "rtt")]
    complete: bool,

    /// The map
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    #[command(flatten)]
    window: super::Window,

    /// The seed of the coordinates
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the counts as JSON
    #[arg(long)]
    json: bool,
}

/// Milliseconds between a robot and a host.
type Rows = BTreeMap<(String, String), f64>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    for target in [&arguments.rtt, &arguments.places].into_iter().flatten() {
        check_target(target, &[&arguments.db])?;
    }
    if let (Some(rtt), Some(places)) = (&arguments.rtt, &arguments.places)
        && same_file(rtt, places)
    {
        let reason = "cannot take both RTTs and places: two files are needed";
        return Err(BadInput::file(rtt, reason).into());
    }
    let store = open_existing(&arguments.db)?;
    let names = store.targets()?;
    let window = arguments.window.window.0;
    let mut measurements = store.measurements(window)?;
    let hosts: BTreeSet<IpAddr> = measurements.iter().map(|m| m.address).collect();
    let mut told = Told::default();
    if let Some(path) = &arguments.rtt {
        if measurements.is_empty() {
            return Err(
                BadInput::file(&arguments.db, "has no RTTs: probe some hosts first").into(),
            );
        }
        let mut rows = Rows::new();
        // where a name stood for several addresses, the last one measured counts
        measurements.sort_by(|a, b| a.at.total_cmp(&b.at));
        for m in &measurements {
            for name in names.get(&m.address).into_iter().flatten() {
                rows.insert((m.source.clone(), name.clone()), m.rtt_ms);
            }
        }
        let measured = rows.len();
        if arguments.complete {
            let guesses = estimated(&store, window, &hosts, &names, arguments.seed)?;
            for (pair, rtt_ms) in guesses {
                rows.entry(pair).or_insert(rtt_ms);
            }
        }
        let lines = rows
            .iter()
            .map(|((robot, host), ms)| vec![robot.clone(), host.clone(), format!("{ms:.3}")]);
        write(path, &["robot", "host", "milliseconds"], lines)?;
        told.measured_rtts = Some(measured);
        told.estimated_rtts = Some(rows.len() - measured);
    }
    if let Some(path) = &arguments.places {
        let mut points: BTreeMap<String, Point> = BTreeMap::new();
        for l in store
            .located()?
            .iter()
            .filter(|l| hosts.contains(&l.address))
        {
            if let Some(best) = l.places.first() {
                let called = names.get(&l.address).into_iter().flatten();
                points.extend(called.map(|name| (name.clone(), best.point)));
            }
        }
        let count = points.len();
        let lines = points.into_iter().map(|(name, point)| {
            vec![
                name,
                format!("{:.4}", point.latitude),
                format!("{:.4}", point.longitude),
            ]
        });
        write(path, &["host", "latitude", "longitude"], lines)?;
        told.places = Some(count);
    }
    Ok(terminal::print(&if arguments.json {
        serde_json::to_string_pretty(&told)? + "\n"
    } else {
        told.text()
    })?)
}

/// How many of what was written.
#[derive(Default, Serialize)]
struct Told {
    measured_rtts: Option<usize>,
    estimated_rtts: Option<usize>,
    places: Option<usize>,
}

impl Told {
    fn text(&self) -> String {
        let rtts = (self.measured_rtts.zip(self.estimated_rtts)).map(|(measured, estimated)| {
            format!("{measured} measured RTTs, {estimated} estimated ones\n")
        });
        let places = self.places.map(|count| format!("{count} places\n"));
        rtts.into_iter().chain(places).collect()
    }
}

/// Whether two paths, of files that may not exist yet, lead to the same place.
fn same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        let whole = folder.join(path.file_name()?);
        Some(whole.canonicalize().unwrap_or(whole))
    };
    place(a).is_some_and(|a| Some(a) == place(b))
}

/// RTTs of robots to hosts that others have measured, by the method that does better on measured
/// pairs held back from it; coordinates where that has no answer. Of several addresses of a name
/// the nearest counts.
fn estimated(
    store: &Store,
    window: f64,
    hosts: &BTreeSet<IpAddr>,
    names: &BTreeMap<IpAddr, Vec<String>>,
    seed: u64,
) -> Result<Rows> {
    let atlas = Atlas::read(store, window)?;
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let judged = atlas.judgement(&settings);
    let by_path = judged.is_some_and(|(path, space)| path.error_p50 < space.error_p50);
    let space = atlas.embedding(&settings);
    let graph = atlas.graph();
    let measurements = store.measurements(window)?;
    let measured: BTreeSet<(&str, IpAddr)> = measurements
        .iter()
        .map(|m| (m.source.as_str(), m.address))
        .collect();
    let robots: BTreeSet<&str> = measurements.iter().map(|m| m.source.as_str()).collect();
    let mut rows = Rows::new();
    for robot in robots {
        let Some(a) = atlas.vertex(robot) else {
            continue;
        };
        let paths = graph.distances_from(a);
        for host in hosts
            .iter()
            .filter(|&&host| !measured.contains(&(robot, host)))
        {
            let Some(b) = atlas.vertex(&host.to_string()).filter(|&b| b != a) else {
                continue;
            };
            let path = Some(paths[b]).filter(|ms| by_path && ms.is_finite());
            let rtt_ms = path.unwrap_or_else(|| space.rtt_ms(a, b));
            for name in names.get(host).into_iter().flatten() {
                let pair = (robot.to_owned(), name.clone());
                let known = rows.entry(pair).or_insert(rtt_ms);
                *known = known.min(rtt_ms);
            }
        }
    }
    Ok(rows)
}

fn write(path: &Path, header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.write_record(row)?;
    }
    let mut file = NewFile::create(path)?;
    file.write_all(&writer.into_inner()?)?;
    file.finish()
}
