//! A crawl from start to stop: threads, channels, and who owns what.

mod error;
mod handle;
mod opening;
mod served;

pub use error::StartError;
pub(crate) use opening::address_rules;
pub use opening::{check_start, may_contact, may_probe};

use crate::archivist::{Archivist, SharedSeam};
use crate::barred;
use crate::clock::Clock;
use crate::config::{Config, Limits};
use crate::courier::{Berth, Courier, Figures};
use crate::drive::{Driver, Heard};
use crate::keeper::{self, Keeper, Until};
use crate::link_weights::LinkWeights;
use crate::losses::Losses;
use crate::message::Write;
use crate::offline;
use crate::overrides::{Headers, Proxies};
use crate::ranks::Ranks;
use crate::reading::Rules;
use crate::seam::Seam;
use crate::seeds::SeedList;
use crate::steering::Steering;
use crate::view::Status;
use crate::visit::Workers;
use crate::webhooks::Webhooks;
use fetch::Fetcher;
use frontier::scope::{Scope, Seed};
use frontier::trap::Traps;
use opening::{fetch_options, open_archive, open_store};
use places::Sources;
use served::Served;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use storage::archive::{Recovered, identify};
use storage::{Damage, Durability, Reader, Store};

/// Requests under way when the crawl is stopped have this long to end.
const LAST_REQUESTS: Duration = Duration::from_millis(1200);

/// What had to be mended before the crawl could start.
#[derive(Debug, Default)]
pub struct Mended {
    /// Entries of the store that are lost.
    pub store: Vec<Damage>,
    /// Archive records that were cut off.
    pub archive: Vec<Recovered>,
}

/// A crawl at work.
pub struct Crawl {
    events: Sender<Heard>,
    shown: Arc<Mutex<Status>>,
    thread: Option<JoinHandle<Result<(), String>>>,
    /// What had to be mended at the start.
    pub mended: Mended,
    courier: Option<Arc<Courier>>,
}

/// The directories of a crawl's data.
pub fn state_directory(data: &Path) -> PathBuf {
    data.join("state")
}

/// Where the WARC files are.
pub fn archive_directory(data: &Path) -> PathBuf {
    data.join("archive")
}

/// Whether a crawl could be started with it, as far as can be told without its data.
pub fn check(config: &Config) -> Result<(), StartError> {
    let prepared = Prepared::new(config)?;
    let clock = Clock::start(None);
    let now = clock.now();
    Keeper::new(
        config.clone(),
        Until::Stopped,
        prepared.rules,
        clock,
        now,
        None,
    )?;
    Ok(())
}

/// All that a crawl needs besides its data.
struct Prepared {
    seeds: Vec<Seed>,
    rules: Arc<Rules>,
    fetcher: Fetcher,
    headers: Headers,
    proxies: Proxies,
}

impl Prepared {
    fn new(config: &Config) -> Result<Self, StartError> {
        config.check()?;
        let seeds = SeedList::of(config)?.read_all(config)?;
        barred::check(config, &seeds)?;
        let scope = Scope::new(&config.scope, &seeds)?;
        let (city, registries) = (&config.places.city_db, &config.places.registries);
        let places = Sources::open(city.as_deref(), registries)?;
        Ok(Self {
            seeds,
            rules: Arc::new(Rules::new(config, scope).with_places(places)),
            fetcher: Fetcher::new(fetch_options(config)?)?,
            headers: Headers::new(config)?,
            proxies: Proxies::new(config)?,
        })
    }
}

/// Starts a crawl, or goes on with the one in the data directory.
pub fn start(config: &Config, until: Until) -> Result<Crawl, StartError> {
    start_within(config, until, &config.limits)
}

/// The same, with limits in place of those of the configuration.
pub fn start_within(config: &Config, until: Until, limits: &Limits) -> Result<Crawl, StartError> {
    launch(config, until, limits, None)
}

/// Starts a robot that shares the work with others. Its seeds say what is in scope; they are given to the
/// fleet once, by [`Crawl::give`].
pub fn start_in_fleet(config: &Config, until: Until, berth: Berth) -> Result<Crawl, StartError> {
    launch(config, until, &config.limits, Some(berth))
}

#[allow(clippy::too_many_lines)] // one thing after the other
fn launch(
    config: &Config,
    until: Until,
    limits: &Limits,
    berth: Option<Berth>,
) -> Result<Crawl, StartError> {
    check(config)?;
    let Prepared {
        seeds,
        rules,
        fetcher,
        headers,
        proxies,
    } = Prepared::new(config)?;
    let durability = if config.state.synced {
        Durability::Synced
    } else {
        Durability::Buffered
    };
    let mut store = open_store(config, &seeds, durability)?;
    config.keep().map_err(|error| StartError::System {
        what: Config::kept_file(&config.data.0).display().to_string(),
        error,
    })?;
    let archive = open_archive(config, durability, &mut store)?;
    let mut losses = Losses::default();
    let limited = Config {
        limits: limits.clone(),
        ..config.clone()
    };
    let (keeper, clock, traps, seam) =
        remember(&limited, until, &rules, &store, berth.as_ref(), &mut losses)?;
    let mended = Mended {
        store: losses.beside(store.damage()),
        archive: archive
            .as_ref()
            .map(|a| a.recovered().to_vec())
            .unwrap_or_default(),
    };
    let reader = Reader::open(&state_directory(&config.data.0))?;
    let webhooks = Webhooks::start(config)?;

    let (events, heard) = channel();
    let (archivist, inbox) = channel();
    let steering = Steering::new(config, seeds.clone(), rules.clone());
    let wall = clock.now().wall;
    if seam.is_none() {
        let first = seeds.into_iter().map(|seed| rules.given(seed.url, wall));
        let first = Write::Seeds(first.collect());
        archivist.send(first).expect("its other end is here");
    }
    let teller = events.clone();
    let tell = move |event| {
        // the keeper is gone only when all ends
        let _ = teller.send(Heard::Event(event));
    };
    let workers = Workers::new(
        config,
        (fetcher, headers, proxies),
        reader,
        rules.clone(),
        (clock.clone(), seam.clone()),
        Box::new(tell),
    );
    let workers = Arc::new(workers);
    let system = |what: &str| {
        let what = what.to_owned();
        move |error| StartError::System { what, error }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(system("starting threads"))?;
    let shown = Arc::new(Mutex::new(Status::default()));
    let figures = (berth.as_ref()).map_or_else(Figures::default, |berth| berth.figures.clone());
    let served = Served::open(config, &runtime, &events, (&shown, figures))?;
    let own = match &archive {
        Some(_) if seam.is_some() => Some(identify(&archive_directory(&config.data.0))?),
        _ => None,
    };
    let weights = LinkWeights::read(config, store.reader());
    let ranks = Ranks::read(config, store.reader());
    let storer = Archivist::new(store, archive, traps);
    let mut storer = storer
        .keeping(config.archive.keep())
        .weighing(weights)
        .ranking(ranks);
    let mut courier = None;
    if let (Some(berth), Some(seam)) = (berth, seam) {
        storer = storer.in_fleet(seam.clone(), config, rules, own)?;
        let tellers = (events.clone(), archivist.clone());
        let judge = storer.judge().expect("it is in a fleet");
        let hands = (runtime.handle().clone(), workers.clone(), judge);
        let started = Courier::start(berth, (seam, clock.clone()), tellers, hands);
        let started = started.map_err(system("starting threads"))?;
        let after = started.clone();
        storer = storer.telling(Box::new(move || after.pass_on()));
        courier = Some(started);
    }
    let storing = Storing {
        archivist: storer,
        inbox,
        keeper: events.clone(),
    };
    let driver = Driver {
        keeper,
        clock,
        heard,
        teller: events.clone(),
        archivist,
        runtime: runtime.handle().clone(),
        workers,
        watched: HashMap::new(),
        steering,
        webhooks: Some(webhooks),
        courier: courier.clone(),
        shown: shown.clone(),
    };
    let thread = std::thread::Builder::new()
        .name("keeper".into())
        .spawn(move || run(driver, storing, runtime, served))
        .map_err(system("starting threads"))?;
    Ok(Crawl {
        events,
        shown,
        thread: Some(thread),
        mended,
        courier,
    })
}

/// What the store has of an earlier crawl: the keeper, its clock, and the traps.
fn remember(
    config: &Config,
    until: Until,
    rules: &Arc<Rules>,
    store: &Store,
    berth: Option<&Berth>,
    losses: &mut Losses,
) -> Result<(Keeper, Clock, Traps, Option<SharedSeam>), StartError> {
    let learnt = Some(store.learnt()).filter(|record| !record.is_empty());
    let stood = learnt.and_then(keeper::clock_stood);
    let clock = Clock::start(stood.as_ref());
    let now = clock.now();
    let mut keeper = Keeper::new(
        config.clone(),
        until,
        rules.clone(),
        clock.clone(),
        now,
        learnt,
    )?;
    let mut seam = None;
    if let Some(berth) = berth {
        let joined = Seam::new(berth.settings.clone(), berth.boot, now, store)?;
        keeper.join(joined.servers());
        seam = Some(Arc::new(Mutex::new(joined)));
    }
    let unreadable = |error| losses.note(&error, "URLs are not readable; those pages are lost");
    let traps = offline::traps(config, store.reader(), None, unreadable)?;
    keeper.restore(now, store, losses)?;
    Ok((keeper, clock, traps, seam))
}

/// The archivist and its channels.
struct Storing {
    archivist: Archivist,
    inbox: Receiver<Write>,
    keeper: Sender<Heard>,
}

/// Runs all stages until the keeper is done, and lets the others finish.
fn run(
    mut driver: Driver,
    storing: Storing,
    runtime: tokio::runtime::Runtime,
    served: Served,
) -> Result<(), String> {
    let storing = std::thread::Builder::new()
        .name("archivist".into())
        .spawn(move || storing.archivist.run(&storing.inbox, &storing.keeper))
        .map_err(|error| format!("starting threads: {error}"))?;
    driver.run();
    // no more jobs; what is under way may end, and is stored
    driver.end(Instant::now() + LAST_REQUESTS);
    driver.archivist = channel().0;
    if let Some(courier) = driver.courier.take() {
        courier.end();
    }
    drop(served);
    runtime.shutdown_timeout(Duration::from_millis(100));
    let stored = storing.join();
    // all is on disk that there is to tell
    if let Some(webhooks) = driver.webhooks.take() {
        webhooks.end();
    }
    let result = driver.settle();
    result.and(stored.map_err(|_| "the archivist panicked".into()))
}
