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
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;

/// Sum up the map: counts, RTTs, how good estimates are, coverage and agreement of places.
#[derive(clap::Args)]
pub struct Arguments {
    /// The map
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    /// Draw a map of routes and hosts (SVG)
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,

    #[command(flatten)]
    window: super::Window,

    /// The seed of the coordinates
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
    servers: Kind,
    routers: Kind,
}

/// What is known of the places of some of the addresses.
#[derive(Serialize)]
struct Kind {
    addresses: usize,
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
    let report = sum_up(&store, arguments.window.window.0, arguments.seed)?;
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

fn sum_up(store: &Store, window: f64, seed: u64) -> Result<Report> {
    let atlas = Atlas::read(store, window)?;
    let graph = atlas.graph();
    let located = store.located()?;
    let measurements = store.measurements(window)?;
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
    // who was asked for is a server, who only answered on the way a router
    let targets = store.targets()?;
    let hops: HashSet<IpAddr> = routes
        .iter()
        .flat_map(|route| route.hops.iter().map(|hop| hop.0))
        .collect();
    let of = |is_server: bool| {
        let own = located.iter().filter(|l| {
            let is_target = targets.contains_key(&l.address);
            is_target == is_server && (is_server || hops.contains(&l.address))
        });
        let places: Vec<_> = own.map(|l| l.places.clone()).collect();
        Kind {
            addresses: places.len(),
            places: coverage(&places),
            agreement: agreement(&places),
        }
    };
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
        servers: of(true),
        routers: of(false),
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
        text += &places(self);
        text
    }
}

/// Coverage and agreement, of servers and of routers.
fn places(report: &Report) -> String {
    let kinds = [&report.servers, &report.routers];
    let share = |c: &Coverage| format!("{:.1} %", 100.0 * c.share);
    let coverage = report.places.iter().enumerate().map(|(k, all)| {
        let own = kinds.iter().map(|kind| &kind.places[k]);
        let cells = own.flat_map(|c| [c.answers.to_string(), share(c)]);
        [
            all.heuristic.to_string(),
            all.answers.to_string(),
            share(all),
        ]
        .into_iter()
        .chain(cells)
        .collect()
    });
    let header = [
        "heuristic",
        "addresses>",
        "share>",
        "servers>",
        "share>",
        "routers>",
        "share>",
    ];
    let mut text = format!(
        "\nPlaces of {} servers and {} routers:\n{}",
        report.servers.addresses,
        report.routers.addresses,
        table(&header, &coverage.collect::<Vec<_>>())
    );
    let mut rows = Vec::new();
    for (kind, own) in ["servers", "routers"].into_iter().zip(kinds) {
        rows.extend(own.agreement.iter().map(|a| {
            vec![
                kind.to_owned(),
                format!("{}, {}", a.first, a.second),
                a.overlap.to_string(),
                a.coincidences.to_string(),
                a.same_country.to_string(),
                format!("{:.0} km", a.mean_km),
            ]
        }));
    }
    if !rows.is_empty() {
        let header = [
            "of",
            "heuristics",
            "both>",
            "same city>",
            "same country>",
            "mean distance>",
        ];
        text += "\nAgreement:\n";
        text += &table(&header, &rows);
    }
    text
}
