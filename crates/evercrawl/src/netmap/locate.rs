//! `evercrawl netmap locate`: where addresses are, and who says so.

use super::columns::table;
use super::{open, open_existing};
use crate::bad_input::BadInput;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::terminal::{self, complain};
use anyhow::Result;
use netmap::dns::Dns;
use netmap::place::{AsDatabase, CityDatabase, DatabaseError, Place, Registry, from_name};
use netmap::store::{Located, Store};
use netmap::survey::now;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Find out where the hosts and routers of the map are.
///
/// Asks a geolocation database, the lists of the registries, the DNS (names of addresses, LOC records), and the host names
/// themselves (airport codes, cities, institutions). Every answer is kept with its heuristic.
#[derive(clap::Args)]
pub struct Arguments {
    /// Addresses, or host names of the map [default: everything in the map]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,

    /// The map
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    /// Cities by address, as MMDB
    #[arg(long, value_name = "MMDB")]
    city_db: Option<PathBuf>,

    /// Autonomous systems by address, as MMDB
    #[arg(long, value_name = "MMDB")]
    as_db: Option<PathBuf>,

    /// Countries by address, as regional registries publish them (delegated-…-latest); may be given
    /// several times
    #[arg(long, value_name = "FILE")]
    registry: Vec<PathBuf>,

    /// Ask no name server
    #[arg(long)]
    no_dns: bool,

    /// Ask this name server instead of the system's
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "no_dns")]
    nameserver: Option<SocketAddr>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

struct Sources {
    cities: Option<CityDatabase>,
    systems: Option<AsDatabase>,
    registry: Option<Registry>,
    dns: Option<Dns>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let bad = |error: DatabaseError| BadInput(error.to_string());
    let cities = arguments.city_db.as_deref().map(CityDatabase::open);
    let systems = arguments.as_db.as_deref().map(AsDatabase::open);
    let dns = (!arguments.no_dns).then(|| Dns::new(arguments.nameserver));
    let sources = Sources {
        cities: cities.transpose().map_err(bad)?,
        systems: systems.transpose().map_err(bad)?,
        registry: registry(&arguments.registry)?,
        dns: dns.transpose()?,
    };
    drop(open_existing(&arguments.db)?);
    let mut store = open(&arguments.db)?;
    let subjects = subjects(&store, arguments)?;
    let stop = stop_on_interrupt();
    let bar = terminal::progress("locating", subjects.len() as u64, false);
    let mut found = Vec::new();
    for subject in subjects {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        found.push(locate(&mut store, &sources, subject)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    terminal::print(&if arguments.json {
        serde_json::to_string_pretty(&found)? + "\n"
    } else {
        text(&found)
    })?;
    if stop.load(Ordering::Relaxed) {
        complain("warning", "interrupted: what was found is kept");
        return Err(Interrupted.into());
    }
    Ok(())
}

/// All lists together.
fn registry(files: &[PathBuf]) -> Result<Option<Registry>> {
    let mut all: Option<Registry> = None;
    for file in files {
        let list = Registry::open(file).map_err(|error| BadInput::file(file, error))?;
        all = Some(match all {
            Some(known) => known.with(list),
            None => list,
        });
    }
    Ok(all)
}

/// The addresses asked for, with the names that the map has for them.
fn subjects(store: &Store, arguments: &Arguments) -> Result<Vec<Located>> {
    let known = store.located()?;
    if arguments.targets.is_empty() {
        return Ok(known);
    }
    let mut subjects = Vec::new();
    for target in &arguments.targets {
        let address = match target.parse::<IpAddr>() {
            Ok(address) => address,
            Err(_) => store.address_of(target)?.ok_or_else(|| {
                let reason =
                    format!("knows no host '{target}': probe it first, or give an address");
                BadInput::file(&arguments.db, reason)
            })?,
        };
        let own = known.iter().find(|located| located.address == address);
        subjects.push(own.cloned().unwrap_or(Located {
            address,
            names: Vec::new(),
            places: Vec::new(),
        }));
    }
    Ok(subjects)
}

fn locate(store: &mut Store, sources: &Sources, mut subject: Located) -> Result<Located> {
    let address = subject.address;
    let bad = |error: DatabaseError| BadInput(error.to_string());
    if let Some(dns) = &sources.dns {
        for name in dns.names(address) {
            if !subject.names.contains(&name) {
                store.name(&name, address)?;
                subject.names.push(name);
            }
        }
    }
    let mut places: Vec<Place> = Vec::new();
    for name in &subject.names {
        places.extend(sources.dns.as_ref().and_then(|dns| dns.place(name)));
        places.extend(from_name(name));
    }
    if let Some(cities) = &sources.cities {
        places.extend(cities.place(address).map_err(bad)?);
    }
    places.extend((sources.registry.as_ref()).and_then(|registry| registry.place(address)));
    // of several names the first that says something
    places.sort_by_key(|place| place.heuristic);
    places.dedup_by_key(|place| place.heuristic);
    store.keep_places(address, now(), &places)?;
    if let Some(systems) = &sources.systems
        && let Some(entry) = systems.entry(address).map_err(bad)?
    {
        store.keep_as(address, &entry)?;
    }
    subject.places = places;
    Ok(subject)
}

fn text(found: &[Located]) -> String {
    let mut rows = Vec::new();
    for located in found {
        let name = located
            .names
            .first()
            .cloned()
            .unwrap_or_else(|| "–".to_owned());
        let subject = vec![located.address.to_string(), name];
        if located.places.is_empty() {
            rows.push([subject, vec!["nowhere".to_owned()]].concat());
            continue;
        }
        for place in &located.places {
            let answer = vec![
                place.heuristic.to_string(),
                place.city.clone().unwrap_or_else(|| "–".to_owned()),
                place.country.clone().unwrap_or_else(|| "–".to_owned()),
                format!("{:.3}", place.point.latitude),
                format!("{:.3}", place.point.longitude),
            ];
            rows.push([subject.clone(), answer].concat());
        }
    }
    let header = [
        "address",
        "name",
        "heuristic",
        "city",
        "country",
        "latitude>",
        "longitude>",
    ];
    table(&header, &rows)
}
