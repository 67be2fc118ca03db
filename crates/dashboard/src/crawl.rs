//! The crawl that is looked at: at work in this process or another one, or not at all.

use robot::config::Config;
use robot::control::Remote;
use robot::offline::Offline;
use robot::seeds::SeedList;
use robot::view::Status;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use storage::{Reader, Time};
use url::Url;

/// What a crawl that is not running looks like is found anew so often.
const STALE: Duration = Duration::from_secs(30);

type Tell = Box<dyn Fn() -> Status + Send + Sync>;
type Why = Box<dyn Fn(&Url) -> anyhow::Result<Explained> + Send + Sync>;

/// What is known of a page and why it is treated as it is: what the command `why` says.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    /// Names and values, in order.
    pub rows: Vec<(String, String)>,
    /// What it waits for, in a sentence.
    pub waits_for: String,
    /// Changes per day by the model, with the ends of the 95 % interval.
    pub rate: Option<(f64, f64, f64)>,
    /// The chance that the copy is current.
    pub chance_fresh: Option<f64>,
    /// When it is due.
    pub due: Option<Time>,
}

/// What the dashboard shows.
pub struct Crawl {
    pub(crate) data: PathBuf,
    /// As it was configured.
    pub(crate) config: Config,
    here: Option<Tell>,
    why: Why,
    kept: Mutex<Option<(Instant, Status)>>,
}

impl Crawl {
    /// The crawl with this configuration, which names its directory. `here` tells how it goes if it is at work
    /// in this process.
    pub fn new(config: Config, here: Option<Tell>, why: Why) -> Self {
        Self {
            data: config.data.0.clone(),
            config,
            here,
            why,
            kept: Mutex::new(None),
        }
    }

    /// The pages, hosts and visits.
    pub(crate) fn reader(&self) -> storage::Result<Reader> {
        Reader::open(&robot::state_directory(&self.data))
    }

    /// The robot, if one is at work, here or elsewhere.
    pub(crate) fn robot(&self) -> Option<Remote> {
        Remote::find(&self.data)
    }

    /// As configured, with all seeds that there are now.
    pub(crate) fn config_now(&self) -> Config {
        let seeds = SeedList::of(&self.config).map(|list| list.all(&self.config));
        Config {
            seeds: seeds.unwrap_or_else(|_| self.config.seeds.clone()),
            ..self.config.clone()
        }
    }

    /// How it goes.
    pub(crate) fn status(&self) -> Status {
        if let Some(here) = &self.here {
            return here();
        }
        if let Some(status) = self.robot().and_then(|robot| robot.status().ok()) {
            return status;
        }
        let mut kept = match self.kept.lock() {
            Ok(kept) => kept,
            Err(broken) => broken.into_inner(),
        };
        if let Some((at, status)) = &*kept
            && at.elapsed() < STALE
        {
            return status.clone();
        }
        let offline = Offline::read(&self.data, &self.config);
        let status = offline.map_or_else(|_| Status::default(), |offline| offline.status());
        *kept = Some((Instant::now(), status.clone()));
        status
    }

    /// Why a page is treated as it is.
    pub(crate) fn why(&self, url: &Url) -> anyhow::Result<Explained> {
        (self.why)(url)
    }

    /// The name by which people know it.
    pub(crate) fn name(&self) -> String {
        let path = self
            .data
            .canonicalize()
            .unwrap_or_else(|_| self.data.clone());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        desk::terminal::plain(&name)
    }
}
