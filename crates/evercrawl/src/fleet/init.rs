//! `evercrawl fleet init`: founds a fleet.

use super::articles::{Articles, By, TRACES_PER_MINUTE};
use super::groups::{self, Groups, TOP};
use super::office::{Office, Where};
use super::seed;
use crate::bad_input::BadInput;
use crate::crawl::{explain, read_config, warn};
use crate::terminal;
use anyhow::{Result, anyhow};
use bus::nats::papers::Room;
use bus::nats::setup::SetupError;
use ground::Seconds;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Servers that have just been started need a moment to find each other.
const PATIENCE: Duration = Duration::from_secs(30);
const GIGABYTE: u64 = 1 << 30;

/// Create a fleet: its streams, its configuration, its seeds.
///
/// Run it once for each fleet. The configuration's scope, keys, politeness and budgets apply to all robots and
/// are kept in the fleet itself. If you run it again with the same configuration, it checks that everything is there.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// The configuration of all robots (TOML); its seeds become the fleet's first.
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// Copies of everything: 1 or 3 [default: 3 if at least three servers are named].
    #[arg(long, value_name = "NUMBER", value_parser = ["1", "3"])]
    replicas: Option<String>,
    /// The space that the fleet may use on each server, in bytes, divided among its streams.
    #[arg(long, value_name = "BYTES", default_value_t = 16 * GIGABYTE, value_parser = clap::value_parser!(u64).range(256 << 20..=1 << 50))]
    storage: u64,
    /// How long a robot counts as alive after its last sign of life.
    ///
    /// After that, others take over its servers. When a NATS server dies, signs of life stop for up to ten
    /// seconds: with less than 30 s, live robots may be taken for dead, which costs time but loses no page.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    lease: Seconds,
    /// How long a dead robot's servers are left alone [default: by politeness and the time limits of requests].
    #[arg(long, value_name = "TIME")]
    quiet: Option<Seconds>,
    /// How to divide the Web among robots.
    #[arg(long, value_enum, default_value_t = By::Links)]
    division: By,
    /// Send no probes: judge distances by the servers' answers alone.
    ///
    /// Without this option, about five robots send seven small packets (ICMP or TCP) to one server of each block of
    /// addresses, once a day, so that servers go to robots near them.
    #[arg(long)]
    no_probes: bool,
    /// How many routes each robot may trace per minute; 0 for none.
    ///
    /// Where a server answers no probes, up to five robots look for the routers on the way. Distances are then shortest
    /// paths over them.
    #[arg(long, value_name = "NUMBER", default_value_t = TRACES_PER_MINUTE)]
    traces_per_minute: f64,
    /// Accept servers older than 2.10.23, which may lose data when they are killed.
    #[arg(long)]
    allow_old: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let place = arguments.place.find()?;
    let config = read_config(Some(&arguments.config))?;
    robot::check(&config).map_err(explain)?;
    if !(2.0..=3600.0).contains(&arguments.lease.0) {
        return Err(BadInput("--lease: expected a time from 2s to 1h".into()).into());
    }
    if !(0.0..=600.0).contains(&arguments.traces_per_minute) {
        return Err(BadInput("--traces-per-minute: expected a number from 0 to 600".into()).into());
    }
    let servers = place.nats.split(',').count();
    let three = (arguments.replicas.as_deref()).map_or(servers >= 3, |said| said == "3");
    let replicas = if three { 3 } else { 1 };
    let mut articles = Articles::new(
        &config,
        arguments.lease.0,
        arguments.quiet.map(|quiet| quiet.0),
    )?;
    articles.replicas = replicas;
    articles.storage = arguments.storage;
    articles.division = arguments.division;
    articles.probes = !arguments.no_probes;
    articles.traces_per_minute = arguments.traces_per_minute;
    articles.check_new(&config)?;
    let seeds = robot::seeds::read_all(&config.seeds).map_err(explain)?;
    let room = Room {
        most: articles.layout().key_bytes,
        // its papers and those of its groups come first
        taken: articles.config.len() as u64 + (64 << 10),
    };
    seed::check_room(&seed::cut(&seeds), room)?;
    let office = Office::connect(&place, "operator", articles.layout(), arguments.allow_old)?;
    // servers that were started just now cannot tell yet; it is looked at again
    if let Ok(Some((_, known))) = office.read::<Articles>("fleet") {
        check_same(&known, &articles, &place.name)?;
    }
    let prepared = prepare(&office)?;
    if replicas == 1 {
        warn(
            false,
            "everything is stored once: if the server's disk is lost, so are the URLs under way between robots",
        );
    }
    for server in &prepared.unreachable {
        warn(
            false,
            &format!("{server} does not answer; its version was not checked"),
        );
    }
    match office.read::<Articles>("fleet")? {
        None => {
            office.write("fleet", 0, &articles)?;
        }
        Some((_, known)) => {
            articles.id.clone_from(&known.id);
            check_same(&known, &articles, &place.name)?;
        }
    }
    if office.read::<Groups>("groups")?.is_none() {
        office.write("groups", 0, &Groups::founded(&place.name))?;
    }
    // in place of a lost fleet: its robots may still be at work
    if arguments.place.has_written(&place) {
        groups::found_again(&office, TOP, None)?;
    } else {
        groups::found(&office, TOP, None)?;
    }
    let (_, known) = office.groups()?;
    groups::charter(&office, &known, TOP, |charter| charter.parent = None)?;
    let added = seed::add(&office, &config, &seeds)?;
    if !added.barred.is_empty() {
        warn(false, &seed::refusal(&added.barred));
    }
    let file = arguments.place.write(&place)?;
    let mut text = String::new();
    let made = prepared.made.len() + prepared.found.len();
    writeln!(
        text,
        "created the fleet {}: {} ({} new), {} of everything, {} added",
        place.name,
        terminal::count(made as u64, "stream"),
        prepared.made.len(),
        terminal::count(replicas as u64, "copy"),
        terminal::count(added.new as u64, "seed"),
    )?;
    writeln!(
        text,
        "wrote {}, which tells the other commands where it is",
        file.display()
    )?;
    Ok(terminal::print(&text)?)
}

fn prepare(office: &Office) -> Result<bus::nats::setup::Prepared> {
    let until = Instant::now() + PATIENCE;
    loop {
        match office.runtime.block_on(office.nats.found(&[TOP])) {
            Ok(prepared) => return Ok(prepared),
            // of a cluster that has no leader yet nobody answers for JetStream
            Err(SetupError::Bus(_) | SetupError::NoJetStream(_) | SetupError::Peers { .. })
                if Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(500));
            }
            Err(error @ (SetupError::Bus(_) | SetupError::Peers { .. })) => {
                return Err(anyhow!("{error}"));
            }
            Err(error) => return Err(BadInput(error.to_string()).into()),
        }
    }
}

/// Refuses to found a fleet again in another way.
fn check_same(known: &Articles, wanted: &Articles, name: &str) -> Result<()> {
    let Some(what) = difference(known, wanted) else {
        return Ok(());
    };
    let text = format!(
        "the fleet {name:?} already exists with another {what}; choose another --name, or use its {what}"
    );
    Err(BadInput(text).into())
}

/// What two foundings do not agree on.
fn difference(known: &Articles, wanted: &Articles) -> Option<&'static str> {
    [
        ("configuration", known.config != wanted.config),
        ("--lease", known.lease != wanted.lease),
        ("--quiet", known.quiet != wanted.quiet),
        ("--replicas", known.replicas != wanted.replicas),
        ("--storage", known.storage != wanted.storage),
        ("--division", known.division != wanted.division),
        ("--no-probes", known.probes != wanted.probes),
        (
            "--traces-per-minute",
            known.traces_per_minute != wanted.traces_per_minute,
        ),
    ]
    .into_iter()
    .find_map(|(what, differs)| differs.then_some(what))
}
