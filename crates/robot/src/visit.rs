//! One visit: fetch, read, compare, pack. Runs on the workers.

mod compare;
mod fetch;
mod intake;
mod pack;

use self::fetch::RobotsTxt;
pub(crate) use self::fetch::Watched;
pub use self::intake::Intake;
use crate::archivist::SharedSeam;
use crate::cause;
use crate::clock::{Clock, Now};
use crate::config::Config;
use crate::message::{Event, Job, Task, Visit, VisitResult, Visited};
use crate::overrides::{Headers, Proxies};
use crate::reading::{Rules, Standpoint};
use ::fetch::Fetcher;
use ::fetch::proxy::is_stand_in;
use std::net::IpAddr;
use std::sync::Arc;
use storage::{PageState, Reader, Time};

/// Bodies as transferred: reading one takes longer than handing it over does.
const LONG_BODY: usize = 64 << 10;

/// What all workers share.
pub(crate) struct Workers {
    fetcher: Fetcher,
    headers: Headers,
    proxies: Proxies,
    reader: Reader,
    clock: Clock,
    intake: Intake,
    /// Who says last whether a request may leave; nobody on one machine.
    seam: Option<SharedSeam>,
    /// Long bodies are read at so many places at a time.
    desks: tokio::sync::Semaphore,
    /// Tells the keeper.
    tell: Box<dyn Fn(Event) + Send + Sync>,
}

/// Milliseconds since the epoch, as they are stored.
pub fn millis(seconds: f64) -> Time {
    (seconds * 1e3) as Time
}

impl Workers {
    pub fn new(
        config: &Config,
        (fetcher, headers, proxies): (Fetcher, Headers, Proxies),
        reader: Reader,
        rules: Arc<Rules>,
        (clock, seam): (Clock, Option<SharedSeam>),
        tell: Box<dyn Fn(Event) + Send + Sync>,
    ) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            fetcher,
            headers,
            proxies,
            reader,
            clock,
            intake: Intake::new(config, rules),
            seam,
            desks: tokio::sync::Semaphore::new(cores),
            tell,
        }
    }

    /// Does one job; says what came of it.
    pub async fn work(&self, job: Job, watched: &Watched) -> Event {
        let Job { ticket, task } = job;
        let now = self.clock.now();
        match task {
            Task::Resolve { name } => {
                let found = self.resolve(&name).await;
                Event::Resolved { ticket, found }
            }
            Task::Robots {
                url,
                address,
                hops,
                previous,
            } => {
                let wanted = RobotsTxt {
                    ticket,
                    url,
                    address,
                    hops,
                    previous,
                };
                self.robots(wanted, watched, now).await
            }
            Task::Visit(visit) => match self.visit(ticket, &visit, watched, now).await {
                Some(visited) => Event::Visited {
                    ticket,
                    visited: Box::new(visited),
                },
                None => self.barred(ticket, visit.address),
            },
        }
    }

    /// Where a server with this host is, in words.
    pub fn place(&self, name: &str, address: IpAddr) -> Option<String> {
        self.intake.rules.place(name, address)
    }

    /// An address of a host that may be contacted, and for how many seconds it holds.
    pub async fn resolve(&self, name: &str) -> Result<(IpAddr, f64), u8> {
        let rules = &self.intake.rules;
        let found = if self.proxies.of_name(name).is_some() {
            // where it is, only the proxy knows, unless the name says so
            let address = name.parse::<IpAddr>().ok();
            if let Some(cause) = address.and_then(|address| rules.refuses(name, address)) {
                return Err(cause);
            }
            self.fetcher.resolve_behind_proxy(name)
        } else {
            self.fetcher.resolve(name).await
        };
        let found = found.map_err(|error| error.code())?;
        let mut refused = cause::ADDRESS;
        let mut addresses = found.addresses.into_iter();
        let address = addresses.find(|&address| {
            let why = if is_stand_in(address) {
                None
            } else {
                rules.refuses(name, address)
            };
            refused = why.unwrap_or(refused);
            why.is_none()
        });
        let address = address.ok_or(refused)?;
        Ok((address, found.expires_in.as_secs_f64().max(1.0)))
    }

    /// Nothing if the fleet let no request leave.
    async fn visit(
        &self,
        ticket: u64,
        visit: &Visit,
        watched: &Watched,
        now: Now,
    ) -> Option<Visited> {
        let row = self.reader.page(visit.page).ok().flatten();
        let row = row.unwrap_or_default();
        let address = match self.reader.address(visit.page) {
            Ok(address) => address,
            Err(error) => {
                tracing::error!(%error, "a page cannot be read from the store");
                let excluded = compare::excluded(row, cause::OUT_OF_SCOPE, now.wall);
                self.unused(ticket);
                return Some(self.intake.report(visit, now, excluded));
            }
        };
        let url = match self.intake.judge(&self.reader, visit, &address, &row, now) {
            Ok(url) => url,
            Err(visited) => {
                tracing::debug!(url = address.url, result = ?visited.done.result, "not fetched");
                self.unused(ticket);
                return Some(*visited);
            }
        };
        let had_copy = matches!(row.state, PageState::Live | PageState::Redirect);
        let quotas = &self.intake.rules.overrides.quotas;
        let reserved = match quotas.begin(&url, !had_copy && !visit.requisite) {
            Ok(reserved) => reserved,
            Err(rule) => {
                tracing::debug!(%url, rule, "not fetched: the limit of a rule is reached");
                let excluded = compare::excluded(row, cause::RULE_LIMIT, now.wall);
                self.unused(ticket);
                return Some(self.intake.report(visit, now, excluded));
            }
        };
        let validators = Intake::validators(visit, &row);
        let fetched = self
            .page((ticket, watched), visit, &url, validators.as_ref(), now)
            .await;
        if fetched.is_barred() {
            return None;
        }
        let mut visited = match &fetched.answer {
            Err(error) => self.intake.failed(visit, now, row, error.code()),
            Ok(exchange) => {
                let from = Standpoint {
                    page: visit.page,
                    url: &url,
                    depth: address.depth,
                    at: millis(now.wall),
                };
                let take_in = || {
                    let conditional = validators.is_some();
                    self.intake
                        .take_in(visit, from, now, row, exchange, conditional)
                };
                self.read(exchange.body.len(), take_in).await
            }
        };
        let has_copy = matches!(visited.done.result, VisitResult::Copy { .. });
        reserved.end(has_copy, fetched.bytes());
        if had_copy && matches!(visited.done.result, VisitResult::Gone) {
            quotas.uncount_copy(&url);
        }
        visited.done.terms = self.intake.rules.overrides.page(&url);
        visited.millis = fetched.took.as_millis().min(u128::from(u32::MAX)) as u32;
        visited.delay = (fetched.answer.as_ref().ok())
            .map(|exchange| exchange.first_byte.as_micros().min(u128::from(u32::MAX)) as u32);
        visited.bytes = fetched.bytes().min(u64::from(u32::MAX)) as u32;
        Some(visited)
    }

    /// Reads a body of so many bytes. Long ones take turns: the network, and whoever asks how the
    /// crawl goes, must not wait until all are read.
    async fn read(&self, bytes: usize, take_in: impl FnOnce() -> Visited) -> Visited {
        if bytes < LONG_BODY {
            return take_in();
        }
        let _turn = self.desks.acquire().await;
        tokio::task::block_in_place(take_in)
    }

    /// No request was made.
    fn unused(&self, ticket: u64) {
        (self.tell)(Event::Ended {
            ticket,
            answer: None,
            bytes: 0,
        });
    }
}
