//! A crawl from start to stop: threads, channels, and who owns what.

use crate::archivist::{Archivist, SharedSeam};
use crate::barred;
use crate::clock::Clock;
use crate::config::{Config, Invalid, Limits};
use crate::control;
use crate::courier::{Berth, Courier};
use crate::drive::{Driver, Heard, Question};
use crate::keeper::{self, Keeper, Until};
use crate::link_weights::LinkWeights;
use crate::losses::Losses;
use crate::message::Write;
use crate::metrics;
use crate::offline;
use crate::overrides::{Headers, Proxies};
use crate::ranks::Ranks;
use crate::reading::Rules;
use crate::seam::Seam;
use crate::seeds::SeedList;
use crate::steering::Steering;
use crate::view::Status;
use crate::visit::{Workers, millis};
use crate::webhooks::Webhooks;
use fetch::{AddressRules, Fetcher, Options};
use frontier::scope::{Scope, Seed};
use frontier::trap::Traps;
use places::{Sources, SourcesError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use storage::archive::{Archive, ArchiveOptions, Recovered, identify};
use storage::{Damage, Durability, Reader, Store, StoreOptions};

/// Requests under way when the crawl is stopped have this long to end.
const LAST_REQUESTS: Duration = Duration::from_millis(1200);

/// Why a crawl cannot be started.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum StartError {
    #[error(transparent)]
    Config(#[from] Invalid),
    #[error("seed {0:?}: {1}")]
    Seed(String, frontier::key::Refused),
    #[error("webhooks: {0}")]
    Webhook(String),
    #[error("{path}: {why}")]
    SeedList { path: PathBuf, why: String },
    #[error("no seeds, and nothing crawled before in {0}")]
    NoSeeds(PathBuf),
    #[error("{0}")]
    NothingToFetch(String),
    #[error("scope.{0}")]
    Scope(#[from] frontier::scope::Invalid),
    #[error(transparent)]
    Keeper(#[from] keeper::Refused),
    #[error("fetch.allow_networks: {0}")]
    Network(String),
    #[error("fetch.extra_roots: {path}: {error}")]
    Roots {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("places: {0}")]
    Places(#[from] SourcesError),
    #[error("identity: {0}")]
    Fetcher(#[from] fetch::BuildError),
    #[error(transparent)]
    Store(#[from] storage::Error),
    #[error("{what}: {error}")]
    System { what: String, error: std::io::Error },
}

impl StartError {
    /// Whether what was given is wrong, rather than the state of the machine.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Store(_) | Self::System { .. })
    }
}

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
        let first = Write::Links(first.collect());
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
    let served = Served::open(config, &runtime, &events, &shown)?;
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
        let hands = (runtime.handle().clone(), workers.clone());
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

/// What others can reach while the crawl runs.
struct Served {
    socket: Option<PathBuf>,
}

impl Served {
    fn open(
        config: &Config,
        runtime: &tokio::runtime::Runtime,
        events: &Sender<Heard>,
        shown: &Arc<Mutex<Status>>,
    ) -> Result<Self, StartError> {
        let _inside = runtime.enter();
        let socket = match control::open(&config.data.0) {
            Ok((listener, path)) => {
                runtime.spawn(control::serve(listener, events.clone()));
                Some(path)
            }
            Err(error) => {
                // too long a path, or a file system without sockets: the crawl goes on unseen
                tracing::warn!(%error, "nobody can ask this crawl");
                None
            }
        };
        if let Some(address) = config.metrics.listen {
            let listener = std::net::TcpListener::bind(address)
                .and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    tokio::net::TcpListener::from_std(listener)
                })
                .map_err(|error| StartError::System {
                    what: format!("metrics.listen = {address}"),
                    error,
                })?;
            runtime.spawn(metrics::serve(listener, shown.clone()));
        }
        Ok(Self { socket })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Crawl {
    /// How it goes.
    pub fn status(&self) -> Status {
        self.shown
            .lock()
            .map(|shown| shown.clone())
            .unwrap_or_default()
    }

    /// Asks it to stop; `wait` tells when it has.
    pub fn stop(&self) {
        let _ = self.events.send(Heard::Stop);
    }

    /// Gives seeds to the fleet, or wants pages visited now.
    pub fn give(&self, url: &str) -> Result<(), String> {
        let (reply, answer) = channel();
        let question = Question::Visit(url.to_owned(), reply);
        let over = |_| "the crawl has ended".to_owned();
        self.events.send(Heard::Ask(question)).map_err(over)?;
        answer
            .recv()
            .map_err(|_| "the crawl has ended".to_owned())?
    }

    /// The list of seeds in the data directory is another one: what they reach is in scope, and those that
    /// are new are passed on. Says how many there are.
    pub fn look_at_seeds(&self) -> Result<usize, String> {
        let (reply, answer) = channel();
        let over = || "the crawl has ended".to_owned();
        let asked = self.events.send(Heard::Ask(Question::Seeds(reply)));
        asked.map_err(|_| over())?;
        answer.recv().map_err(|_| over())?
    }

    /// Whether it ended because its share was lost: its data are to be removed before it starts anew.
    pub fn lost_share(&self) -> bool {
        self.courier
            .as_ref()
            .is_some_and(|courier| courier.is_over())
    }

    /// Something that tells how it goes, for another thread; asks nobody.
    pub fn shown(&self) -> impl Fn() -> Status + Send + Sync + 'static {
        let shown = self.shown.clone();
        move || shown.lock().map(|shown| shown.clone()).unwrap_or_default()
    }

    /// Something that stops it, for another thread.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let events = self.events.clone();
        move || {
            let _ = events.send(Heard::Stop);
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until it has ended and all is on disk.
    pub fn wait(mut self) -> Result<Status, String> {
        let thread = self.thread.take().expect("waited for once");
        match thread.join() {
            Ok(result) => result.map(|()| self.status()),
            Err(_) => Err("the keeper panicked".into()),
        }
    }
}

fn open_store(
    config: &Config,
    seeds: &[Seed],
    durability: Durability,
) -> Result<Store, StartError> {
    let state = state_directory(&config.data.0);
    let nothing = || StartError::NoSeeds(config.data.0.clone());
    if seeds.is_empty() && !state.exists() {
        return Err(nothing());
    }
    let options = StoreOptions {
        durability,
        ..StoreOptions::default()
    };
    let store = Store::open(&state, options)?;
    if seeds.is_empty() && store.page_count() == 0 {
        return Err(nothing());
    }
    Ok(store)
}

/// Opens the archive, and takes out what is not to be kept.
fn open_archive(
    config: &Config,
    durability: Durability,
    store: &mut Store,
) -> storage::Result<Option<Archive>> {
    if !config.archive.enabled {
        return Ok(None);
    }
    let mut options = ArchiveOptions {
        rotate_bytes: config.archive.rotate_bytes,
        durability,
        ..ArchiveOptions::default()
    };
    let agent = config.identity.user_agent();
    options.info.push(("http-header-user-agent".into(), agent));
    if let Some(contact) = config.identity.contact() {
        options.info.push(("operator".into(), contact.into()));
    }
    let mut archive = Archive::open(&archive_directory(&config.data.0), options)?;
    let now = millis(Clock::start(None).now().wall);
    storage::archive::prune(&mut archive, store, &config.archive.keep(), now)?;
    Ok(Some(archive))
}

fn fetch_options(config: &Config) -> Result<Options, StartError> {
    let mut options = Options::new(config.identity.user_agent());
    let f = &config.fetch;
    options.timeouts.connect = Duration::from_secs_f64(f.connect_seconds);
    options.timeouts.first_byte = Duration::from_secs_f64(f.first_byte_seconds);
    options.timeouts.body = Duration::from_secs_f64(f.body_seconds);
    options.timeouts.drip.bytes_per_second = f.least_bytes_per_second;
    options.limits.body = f.max_bytes;
    options.limits.decoded = f.max_decoded_bytes;
    options.http2 = f.http2;
    options.source = f.source;
    options.dns.server = f.dns_server;
    options.hosts = f
        .hosts
        .iter()
        .map(|(name, to)| (name.clone(), to.clone()))
        .collect();
    options.addresses = address_rules(config)?;
    if let Some(path) = &f.extra_roots {
        options.extra_roots = std::fs::read(path).map_err(|error| StartError::Roots {
            path: path.clone(),
            error,
        })?;
    }
    Ok(options)
}

/// Which addresses may be contacted.
pub(crate) fn address_rules(config: &Config) -> Result<AddressRules, StartError> {
    let mut rules = AddressRules::default();
    for network in &config.fetch.allow_networks {
        let parsed = network.parse();
        let parsed =
            parsed.map_err(|error| StartError::Network(format!("{network:?}: {error}")))?;
        rules.allowed.push(parsed);
    }
    Ok(rules)
}
