//! One thread looks at the crawl every second, for all who look at the dashboard: what they ask for costs the
//! robot nothing.

use crate::alerts::{Alert, Alerts};
use crate::crawl::Crawl;
use crate::history::{History, Sample};
use crate::server::Window;
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
}

impl Beat {
    /// As an event of a stream.
    pub fn line(&self) -> String {
        let Self { requests, log, .. } = self;
        format!("data: {{\"requests\":{requests},\"log\":{log}}}\n\n")
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
    pub fn new(crawl: &Crawl, history: Option<PathBuf>) -> Self {
        let kept = History::file(&crawl.data);
        Self {
            status: Mutex::new(Arc::new(crawl.status())),
            alerts: Mutex::default(),
            history: Mutex::new(History::open(&kept, history)),
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

    /// No more looks.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        lock(&self.history).keep();
    }

    fn look(&self, crawl: &Crawl, alerts: &mut Alerts) {
        let status = crawl.status();
        let log = storage::log_end(&robot::state_directory(&crawl.data)).unwrap_or_default();
        let beat = Beat {
            requests: status.requests,
            log: log.0,
            running: status.running,
            paused: status.paused,
        };
        let now = words::now();
        lock(&self.history).take(Sample::of(now, &status));
        if let Some(found) = alerts.look(crawl, &status, now) {
            *lock(&self.alerts) = Arc::new(found);
        }
        *lock(&self.status) = Arc::new(status);
        self.beat.send_if_modified(|before| {
            let is_news = *before != beat;
            *before = beat;
            is_news
        });
    }
}

/// Looks until the end, on a thread of its own.
pub(crate) fn start(window: Arc<Window>) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("dashboard-look".into());
    thread.spawn(move || {
        let mut alerts = Alerts::default();
        while !window.pulse.over.load(Ordering::Relaxed) {
            window.pulse.look(&window.crawl, &mut alerts);
            std::thread::sleep(PACE);
        }
    })?;
    Ok(())
}
