//! One thread looks at the crawl every second, for all who look at the dashboard: what they ask for costs the
//! robot nothing.

use crate::alerts::{Alert, Alerts};
use crate::crawl::Crawl;
use crate::history::{History, Sample};
use crate::server::House;
use crate::words;
use robot::view::Status;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;

/// Between two looks.
const PACE: Duration = Duration::from_secs(1);

/// What happened, for those who listen: they look themselves if it is their business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beat {
    requests: u64,
    log: u64,
    running: bool,
    paused: bool,
    /// Looks at a fleet that showed something new.
    fleet: u64,
}

impl Beat {
    /// As an event of a stream.
    pub fn line(&self) -> String {
        let Self {
            requests,
            log,
            fleet,
            ..
        } = self;
        format!("data: {{\"requests\":{requests},\"log\":{log},\"fleet\":{fleet}}}\n\n")
    }
}

/// What was seen last.
pub(crate) struct Pulse {
    status: Mutex<Arc<Status>>,
    alerts: Mutex<Arc<Vec<Alert>>>,
    history: Mutex<History>,
    beat: watch::Sender<Beat>,
    over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Pulse {
    pub fn new(crawl: Option<&Crawl>, history: Option<PathBuf>) -> Self {
        let status = crawl.map(Crawl::status).unwrap_or_default();
        let history = crawl.map_or_else(History::default, |crawl| {
            History::open(&History::file(&crawl.data), history)
        });
        Self {
            status: Mutex::new(Arc::new(status)),
            alerts: Mutex::default(),
            history: Mutex::new(history),
            beat: watch::Sender::new(Beat::default()),
            over: AtomicBool::new(false),
        }
    }

    pub fn status(&self) -> Arc<Status> {
        lock(&self.status).clone()
    }

    pub fn alerts(&self) -> Arc<Vec<Alert>> {
        lock(&self.alerts).clone()
    }

    pub fn samples(&self) -> Vec<Sample> {
        lock(&self.history).samples().to_vec()
    }

    pub fn beats(&self) -> watch::Receiver<Beat> {
        self.beat.subscribe()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// No more looks.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        lock(&self.history).keep();
    }

    /// Tells those who listen what is new.
    fn tell(&self, change: impl FnOnce(Beat) -> Beat) {
        self.beat.send_if_modified(|beat| {
            let new = change(*beat);
            std::mem::replace(beat, new) != new
        });
    }

    fn look(&self, crawl: &Crawl, alerts: &mut Alerts) {
        let status = crawl.status();
        let log = storage::log_end(&robot::state_directory(&crawl.data)).unwrap_or_default();
        let now = words::now();
        lock(&self.history).take(Sample::of(now, &status));
        if let Some(found) = alerts.look(crawl, &status, now) {
            *lock(&self.alerts) = Arc::new(found);
        }
        let (requests, running, paused) = (status.requests, status.running, status.paused);
        *lock(&self.status) = Arc::new(status);
        self.tell(|beat| Beat {
            requests,
            log: log.0,
            running,
            paused,
            ..beat
        });
    }
}

/// Looks until the end, on threads of their own: a fleet may take longer to answer.
pub(crate) fn start(house: &Arc<House>) -> std::io::Result<()> {
    let named = |name: &str| std::thread::Builder::new().name(name.into());
    if house.crawl.is_some() {
        let house = house.clone();
        named("dashboard-look").spawn(move || {
            let mut alerts = Alerts::default();
            while let Some(crawl) = &house.crawl
                && !house.pulse.is_over()
            {
                house.pulse.look(crawl, &mut alerts);
                std::thread::sleep(PACE);
            }
        })?;
    }
    if house.fleet.is_some() {
        let house = house.clone();
        named("dashboard-fleet").spawn(move || {
            while let Some(fleet) = &house.fleet
                && !house.pulse.is_over()
            {
                let looks = fleet.look();
                house.pulse.tell(|beat| Beat {
                    fleet: looks,
                    ..beat
                });
                std::thread::sleep(PACE);
            }
        })?;
    }
    Ok(())
}
