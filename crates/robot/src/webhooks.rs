//! Changes posted to whoever wants to know of them, each at least once.
//!
//! What is told comes from the log of visits, which is on disk; how far it was told is kept beside
//! it. So nothing is lost by a crash, nor by a receiver that is away for days, and nothing waits in
//! memory. A post is signed as <https://www.standardwebhooks.com> says, for which there are
//! libraries in most languages; whoever gets one twice knows it by its `webhook-id`.

mod place;
mod post;

use crate::StartError;
use crate::changes::{self, Change};
use crate::config::{Config, Webhook};
use crate::view::WebhookView;
use crate::watch::Watch;
use place::Place;
use post::{Answer, Post};
use regex::Regex;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use storage::{Observation, PageId, Reader};
use tokio::runtime::Runtime;

/// Between two looks at the log when nothing is left to tell.
const PACE: f64 = 0.25;
/// Seconds before a post is tried again; doubled each time.
const FIRST_RETRY: f64 = 1.0;
const LONGEST_RETRY: f64 = 300.0;
/// A receiver that refuses a post has it so often, and then the next.
const MOST_REFUSALS: u32 = 5;
/// When the crawl ends, what is left is told for so long; the rest at the next start.
const LAST_POSTS: Duration = Duration::from_secs(5);
/// Visits passed over before that is written down.
const PASSED: u32 = 10_000;
/// The address of a new page may come a moment after its visit.
const LOOKS: u32 = 50;

/// All webhooks of a crawl, each on its thread.
pub(crate) struct Webhooks {
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// When all must end, if the crawl does.
    end: Mutex<Option<Instant>>,
    ended: Condvar,
    views: Mutex<Vec<WebhookView>>,
}

/// One of them.
struct Hook {
    number: usize,
    kinds: Vec<String>,
    pages: Option<Regex>,
    post: Post,
    place: Place,
    reader: Reader,
    archive: PathBuf,
    watch: Watch,
    limit: u64,
    shared: Arc<Shared>,
}

impl Webhooks {
    /// Starts them. Where each begins is on disk then: with what comes, or where it was.
    pub fn start(config: &Config) -> Result<Self, StartError> {
        let shared = Arc::new(Shared::default());
        let mut hooks = Vec::new();
        for (number, hook) in config.webhooks.iter().enumerate() {
            hooks.push(Hook::new(number, hook, config, shared.clone())?);
        }
        if let Ok(mut views) = shared.views.lock() {
            views.extend(hooks.iter().map(|hook| WebhookView {
                to: hook.post.origin(),
                ..WebhookView::default()
            }));
        }
        let threads = hooks.into_iter().map(|hook| {
            let named = std::thread::Builder::new().name("webhook".into());
            named
                .spawn(move || hook.run())
                .map_err(|error| StartError::System {
                    what: "starting threads".into(),
                    error,
                })
        });
        Ok(Self {
            threads: threads.collect::<Result<_, _>>()?,
            shared,
        })
    }

    /// How they go.
    pub fn views(&self) -> Vec<WebhookView> {
        let views = self.shared.views.lock();
        views.map(|views| views.clone()).unwrap_or_default()
    }

    /// The crawl has ended and all is on disk: tells what is left, as far as that can be done soon.
    pub fn end(self) {
        if let Ok(mut end) = self.shared.end.lock() {
            *end = Some(Instant::now() + LAST_POSTS);
        }
        self.shared.ended.notify_all();
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Waits so many seconds, or until the crawl ends and the last moment has come; says whether
    /// it has. A crawl that has ended waits for nothing but that.
    fn wait(&self, seconds: f64) -> bool {
        let Ok(end) = self.end.lock() else {
            return true;
        };
        let was_over = end.is_some();
        let limit = Instant::now() + Duration::from_secs_f64(seconds);
        let until = end.map_or(limit, |end| end.min(limit));
        let left = until.saturating_duration_since(Instant::now());
        let waited = self
            .ended
            .wait_timeout_while(end, left, |end| end.is_some() == was_over);
        waited.map_or(true, |(end, _)| {
            end.is_some_and(|end| Instant::now() >= end)
        })
    }

    fn is_ending(&self) -> bool {
        self.end.lock().map_or(true, |end| end.is_some())
    }
}

impl Hook {
    fn new(
        number: usize,
        hook: &Webhook,
        config: &Config,
        shared: Arc<Shared>,
    ) -> Result<Self, StartError> {
        let state = crate::state_directory(&config.data.0);
        let reader = Reader::open(&state)?;
        let pages = hook.pages.as_ref().map(|pages| Regex::new(pages));
        let before = config.webhooks[..number].iter();
        let earlier = before.filter(|other| other.url == hook.url).count();
        Ok(Self {
            number,
            kinds: hook.kinds.clone(),
            // checked with the configuration
            pages: pages.transpose().unwrap_or_default(),
            post: Post::new(hook, config)?,
            place: Place::open(&state, &hook.url, earlier).map_err(|error| StartError::System {
                what: format!("the place of webhook {}", number + 1),
                error,
            })?,
            reader,
            archive: crate::archive_directory(&config.data.0),
            watch: Watch::new(&config.watch).unwrap_or_default(),
            limit: config.fetch.max_decoded_bytes,
            shared,
        })
    }

    fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let result = match runtime {
            Ok(runtime) => self.tell_all(&runtime).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = result {
            let to = self.post.origin();
            tracing::error!(%error, to, "a webhook has ended; the next start takes it up again");
            self.note(|view| view.failing = Some(error));
        }
    }

    fn tell_all(&mut self, runtime: &Runtime) -> storage::Result<()> {
        let mut log = self.reader.observations(self.place.position())?;
        let mut passed = 0;
        let mut lost = 0;
        loop {
            let read = log.read()?;
            self.count_lost(&mut lost, log.dropped() + log.damaged());
            let Some(observation) = read else {
                let at = log.position();
                self.keep_place(at);
                // nothing is left when the crawl has ended
                if self.shared.is_ending() || self.shared.wait(PACE) && self.shared.is_ending() {
                    return Ok(());
                }
                continue;
            };
            if let Some(change) = self.wanted(&observation) {
                // its number in the log, for those who are told twice
                if !self.tell(runtime, log.position().0 - 1, change) {
                    return Ok(());
                }
                passed = 0;
                self.keep_place(log.position());
            } else {
                passed += 1;
                if passed == PASSED {
                    passed = 0;
                    self.keep_place(log.position());
                }
            }
        }
    }

    /// The change, if it is one that is to be told.
    fn wanted(&self, observation: &Observation) -> Option<Change> {
        let kind = changes::kind(observation.outcome, true)?;
        if !self.kinds.iter().any(|wanted| wanted == kind) {
            return None;
        }
        let url = self.url(observation.page)?;
        let fits = self.pages.as_ref().is_none_or(|pages| pages.is_match(&url));
        fits.then(|| Change::of(observation, url, None, true))
            .flatten()
    }

    fn url(&self, page: PageId) -> Option<String> {
        for _ in 0..LOOKS {
            if let Ok(address) = self.reader.address(page) {
                return Some(address.url);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        tracing::warn!(
            page = page.0,
            "a page cannot be read: its change is not delivered"
        );
        self.note(|view| view.lost += 1);
        None
    }

    /// Posts a change until it is taken, or refused for good; `false` if the crawl ended before.
    fn tell(&self, runtime: &Runtime, number: u64, mut change: Change) -> bool {
        if let Err(error) = change.compare(&self.archive, &self.watch, self.limit) {
            // without the difference, then
            tracing::warn!(%error, url = change.url, "a copy cannot be read");
        }
        let body = serde_json::to_vec(&change).expect("plain values");
        let mut refusals = 0;
        let mut wait = FIRST_RETRY;
        loop {
            let problem = match runtime.block_on(self.post.send(number, &body)) {
                Answer::Taken => {
                    self.note(|view| {
                        view.told += 1;
                        view.failing = None;
                    });
                    return true;
                }
                Answer::Refused(status) => {
                    refusals += 1;
                    format!("refused with status {status}")
                }
                Answer::Away(why) => why,
            };
            if refusals == MOST_REFUSALS {
                let to = self.post.origin();
                tracing::warn!(
                    to,
                    url = change.url,
                    problem,
                    "a change is no longer delivered"
                );
                self.note(|view| view.refused += 1);
                return true;
            }
            self.note(|view| {
                if view.failing.is_none() {
                    tracing::warn!(
                        to = view.to,
                        problem,
                        "a webhook is retried until it is accepted"
                    );
                }
                view.failing = Some(problem);
            });
            // at the end there is no time for patience
            let seconds = if self.shared.is_ending() { 0.2 } else { wait };
            if self.shared.wait(seconds) {
                return false;
            }
            wait = (wait * 2.0).min(LONGEST_RETRY);
        }
    }

    /// What it is too late to tell is counted and said.
    fn count_lost(&self, known: &mut u64, lost: u64) {
        if lost > *known {
            let to = self.post.origin();
            let more = lost - *known;
            tracing::warn!(
                to,
                visits = more,
                "a webhook was behind for so long that the log of these visits is gone: if they were \
                 changes, nobody is told"
            );
            self.note(|view| view.lost += more);
            *known = lost;
        }
    }

    fn keep_place(&mut self, position: storage::Position) {
        if let Err(error) = self.place.keep(position) {
            // what was told may be told again
            tracing::warn!(%error, "the progress of a webhook cannot be saved");
        }
    }

    fn note(&self, with: impl FnOnce(&mut WebhookView)) {
        if let Ok(mut views) = self.shared.views.lock()
            && let Some(view) = views.get_mut(self.number)
        {
            with(view);
        }
    }
}
