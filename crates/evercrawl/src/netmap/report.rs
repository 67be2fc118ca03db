//! `evercrawl netmap report`: what the map knows, and how good its estimates are.

mod picture;

use super::columns::{ms, table};
use super::open_existing;
use crate::new_file::{NewFile, check_target};
use crate::terminal;
use anyhow::Result;
use netmap::approximate::{Judgement, Settings};
use netmap::atlas::Atlas;
use netmap::place::{Agreement, Coverage, agreement, coverage};
use netmap::sampling::quantile;
use netmap::store::Store;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

/// Sum up the map: counts, RTTs, how good estimates are, coverage and agreement of places.
#[derive(clap::Args)]
pub struct Arguments {
    /// The map
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    /// Draw routes and hosts over the outlines of the land (SVG)
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,

    /// Decides the start of the coordinates
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    robots: usize,
    addresses: usize,
    measured_pairs: usize,
    rtt_ms: Option<Quantiles>,
    routes: usize,
    reached: usize,
    vertices: usize,
    links: usize,
    estimates: Option<Estimates>,
    places: Vec<Coverage>,
    agreement: Vec<Agreement>,
}

#[derive(Serialize)]
struct Quantiles {
    p10: f64,
    p50: f64,
    p90: f64,
}

#[derive(Serialize)]
struct Estimates {
    shortest_path: Judgement,
    coordinates: Judgement,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(target) = &arguments.map {
        check_target(target, &[&arguments.db])?;
    }
    let store = open_existing(&arguments.db)?;
    let report = sum_up(&store, arguments.seed)?;
    if let Some(target) = &arguments.map {
        let mut file = NewFile::create(target)?;
        file.write_all(picture::draw(&store)?.as_bytes())?;
        file.finish()?;
    }
    Ok(terminal::print(&if arguments.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        report.text()
    })?)
}

fn sum_up(store: &Store, seed: u64) -> Result<Report> {
    let atlas = Atlas::read(store)?;
    let graph = atlas.graph();
    let located = store.located()?;
    let measurements = store.measurements()?;
    let routes = store.routes()?;
    let rtts: Vec<f64> = measurements.iter().map(|m| m.rtt_ms).collect();
    let at = |share| quantile(&rtts, share);
    let quantiles = at(0.1).zip(at(0.5)).zip(at(0.9));
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let judged = atlas.judgement(&settings);
    let places: Vec<_> = located.iter().map(|l| l.places.clone()).collect();
    Ok(Report {
        robots: store.sources()?.len(),
        addresses: located.len(),
        measured_pairs: measurements.len(),
        rtt_ms: quantiles.map(|((p10, p50), p90)| Quantiles { p10, p50, p90 }),
        routes: routes.len(),
        reached: routes.iter().filter(|route| route.reached).count(),
        vertices: graph.vertices(),
        links: graph.links(),
        estimates: judged.map(|(shortest_path, coordinates)| Estimates {
            shortest_path,
            coordinates,
        }),
        places: coverage(&places),
        agreement: agreement(&places),
    })
}

impl Report {
    fn text(&self) -> String {
        let quantile = |value: fn(&Quantiles) -> f64| ms(self.rtt_ms.as_ref().map(value));
        let mut text = format!(
            "robots          {}\naddresses       {}\nmeasured pairs  {}\n\
             RTT             p10 {} ms, median {} ms, p90 {} ms\n\
             routes          {}, {} to the end\nInternet graph  {} vertices, {} links\n",
            self.robots,
            self.addresses,
            self.measured_pairs,
            quantile(|q| q.p10),
            quantile(|q| q.p50),
            quantile(|q| q.p90),
            self.routes,
            self.reached,
            self.vertices,
            self.links
        );
        // writing to a string cannot fail
        if let Some(estimates) = &self.estimates {
            let row = |name: &str, j: &Judgement| {
                vec![
                    name.to_owned(),
                    (j.pairs - j.missing).to_string(),
                    format!("{:.3}", j.error_p50),
                    format!("{:.3}", j.error_p90),
                    format!("{:.0} %", 100.0 * j.within_tenth),
                ]
            };
            let rows = [
                row("shortest path", &estimates.shortest_path),
                row("coordinates", &estimates.coordinates),
            ];
            let header = [
                "estimate",
                "pairs>",
                "median error>",
                "p90>",
                "within 10 %>",
            ];
            let _ = write!(
                text,
                "\nEstimates of {} measured pairs that were held back (relative error):\n{}",
                estimates.shortest_path.pairs,
                table(&header, &rows)
            );
        }
        let rows: Vec<Vec<String>> = self
            .places
            .iter()
            .map(|c| {
                let share = format!("{:.1} %", 100.0 * c.share);
                vec![c.heuristic.to_string(), c.answers.to_string(), share]
            })
            .collect();
        let header = ["heuristic", "addresses>", "share>"];
        let _ = write!(text, "\nPlaces:\n{}", table(&header, &rows));
        if !self.agreement.is_empty() {
            let rows: Vec<Vec<String>> = self
                .agreement
                .iter()
                .map(|a| {
                    vec![
                        format!("{}, {}", a.first, a.second),
                        a.overlap.to_string(),
                        a.coincidences.to_string(),
                        format!("{:.0} km", a.mean_km),
                    ]
                })
                .collect();
            let header = ["heuristics", "both>", "same city>", "mean distance>"];
            let _ = write!(text, "\nAgreement:\n{}", table(&header, &rows));
        }
        text
    }
}
