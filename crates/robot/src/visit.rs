//! One visit: fetch, read, compare, pack. Runs on the workers.

mod compare;
mod fetch;
mod pack;

use self::fetch::RobotsTxt;
pub(crate) use self::fetch::Watched;
use crate::archivist::SharedSeam;
use crate::cause;
use crate::clock::{Clock, Now};
use crate::config::Config;
use crate::message::{Done, Event, Found, Job, Task, Visit, VisitResult, Visited};
use crate::offline;
use crate::overrides::{Headers, Proxies};
use crate::reading::{Rules, Standpoint, deeper};
use ::fetch::proxy::is_stand_in;
use ::fetch::{Exchange, Fetcher, Truncation, Validators};
use compare::{Answer, Comparison};
use frontier::robots::Verdict;
use pack::{Packers, Records};
use std::net::IpAddr;
use std::sync::Arc;
use storage::archive::Packed;
use storage::{PageAddress, PageRow, PageState, REQUISITE, Reader, Time};
use url::Url;

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

/// What is made of an answer: read, compared, packed. No network, no clock.
pub struct Intake {
    rules: Arc<Rules>,
    archive: bool,
    archive_noindex: bool,
    packers: Packers,
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

    /// An address of a host that may be contacted, and for how many seconds it holds.
    pub async fn resolve(&self, name: &str) -> Result<(IpAddr, f64), u8> {
        let scope = self.intake.rules.scope();
        let found = if self.proxies.of_name(name).is_some() {
            // where it is, only the proxy knows, unless the name says so
            let address = name.parse::<IpAddr>();
            if address.is_ok_and(|address| !scope.judge_address(address).is_in()) {
                return Err(cause::ADDRESS);
            }
            self.fetcher.resolve_behind_proxy(name)
        } else {
            self.fetcher.resolve(name).await
        };
        let found = found.map_err(|error| error.code())?;
        let mut addresses = found.addresses.into_iter();
        let is_in = |address| is_stand_in(address) || scope.judge_address(address).is_in();
        let address = addresses.find(|&address| is_in(address));
        let address = address.ok_or(cause::ADDRESS)?;
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

impl Intake {
    /// By these settings and rules.
    pub fn new(config: &Config, rules: Arc<Rules>) -> Self {
        // record ids are made from it, and must be found again after a restart
        let identity = storage::digest(config.data.0.as_os_str().as_encoded_bytes());
        let seed = u128::from_le_bytes(identity[..16].try_into().expect("16 bytes"));
        Self {
            rules,
            archive: config.archive.enabled,
            archive_noindex: config.directives.archive_noindex,
            packers: Packers::new(seed),
        }
    }

    /// Where the page is to be fetched; or, by what is known now, why not.
    pub fn judge(
        &self,
        reader: &Reader,
        visit: &Visit,
        address: &PageAddress,
        row: &PageRow,
        now: Now,
    ) -> Result<Url, Box<Visited>> {
        let refused = |comparison| Err(Box::new(self.report(visit, now, comparison)));
        let excluded = |cause| refused(compare::excluded(row.clone(), cause, now.wall));
        let Ok(url) = Url::parse(&address.url) else {
            return excluded(cause::OUT_OF_SCOPE);
        };
        let scope = self.rules.scope();
        let is_in = self.rules.is_in(&url, address.depth)
            || offline::is_meant(reader, visit.page, address, &scope)
                && scope.judge_meant(&url).is_in();
        match &visit.standing {
            _ if !is_in => excluded(cause::OUT_OF_SCOPE),
            Some(standing) if !standing.allows(&self.rules.agent, &url) => {
                if standing.verdict == Verdict::DisallowForNow {
                    refused(Comparison::of(VisitResult::NotNow))
                } else {
                    excluded(cause::ROBOTS)
                }
            }
            _ => Ok(url),
        }
    }

    /// What the page is asked for with, if only a newer one is wanted.
    pub fn validators(visit: &Visit, row: &PageRow) -> Option<Validators> {
        visit.conditional.then(|| compare::validators_of(row))?
    }

    /// What is archived of a robots.txt, if anything is.
    fn robots_record(&self, from: Standpoint, exchange: &Exchange) -> Option<Packed> {
        let is_answer = exchange.status < 429;
        (self.archive && is_answer).then(|| self.packers.answer(from, exchange))
    }

    /// What is to be stored of a request without an answer.
    pub fn failed(&self, visit: &Visit, now: Now, row: PageRow, cause: u8) -> Visited {
        self.report(visit, now, compare::failed(row, cause, 0, now.wall))
    }

    /// Makes of an answer what is to be stored.
    pub fn take_in(
        &self,
        visit: &Visit,
        from: Standpoint,
        now: Now,
        row: PageRow,
        exchange: &Exchange,
        conditional: bool,
    ) -> Visited {
        let status = exchange.status;
        let failed =
            |row, cause| self.report(visit, now, compare::failed(row, cause, status, now.wall));
        match status {
            304 if conditional => {
                let record = self
                    .archive
                    .then(|| self.packers.not_modified(from, exchange, &row));
                let comparison = compare::not_modified(row, now.wall);
                let archived = comparison
                    .row
                    .as_ref()
                    .is_some_and(|row| row.place.is_some());
                Visited {
                    record: record.filter(|_| archived),
                    ..self.report(visit, now, comparison)
                }
            }
            200..=299 => match exchange.truncated {
                None | Some(Truncation::Length) => self.copy(visit, from, now, row, exchange),
                Some(_) => failed(row, cause::CUT_SHORT),
            },
            301 | 302 | 303 | 307 | 308 => match exchange.location() {
                Some(location) => self.redirect(visit, from, now, row, exchange, &location),
                None => failed(row, cause::REFUSED),
            },
            404 | 410 => {
                let known = row.state == PageState::Gone;
                let record = (self.archive && !known).then(|| self.packers.answer(from, exchange));
                Visited {
                    record: record.map(|record| (record, false)),
                    ..self.report(visit, now, compare::missing(row, status, now.wall))
                }
            }
            429 => failed(row, cause::TOO_MANY),
            500.. => failed(row, cause::SERVER_ERROR),
            _ => failed(row, cause::REFUSED),
        }
    }

    fn copy(
        &self,
        visit: &Visit,
        from: Standpoint,
        now: Now,
        row: PageRow,
        exchange: &Exchange,
    ) -> Visited {
        let content_type = exchange.content_type();
        let is_wanted = content_type
            .as_deref()
            .is_none_or(|content_type| self.rules.scope().judge_type(content_type).is_in());
        if !is_wanted {
            return self.report(visit, now, compare::excluded(row, cause::TYPE, now.wall));
        }
        let reading = self.rules.read(from, exchange);
        let directives = reading.directives;
        let keep = self.archive && directives.archive && (directives.index || self.archive_noindex);
        let digest = storage::digest(&exchange.body);
        let answer = Answer::of(exchange, digest, reading.text, reading.cut);
        let original = keep.then(|| row.clone());
        let comparison = compare::copy(row, answer, now.wall);
        let records = original.map_or_else(Records::default, |original| {
            self.packers
                .copy(from, exchange, &original, digest, &comparison)
        });
        let first = comparison.is_first() && !visit.requisite;
        let mut links = reading.links;
        links.extend(reading.requisites);
        Visited {
            record: records.copy,
            request: records.request,
            links,
            print: first.then(|| (reading.text.print, from.url.clone())),
            ..self.report(visit, now, comparison)
        }
    }

    fn redirect(
        &self,
        visit: &Visit,
        from: Standpoint,
        now: Now,
        row: PageRow,
        exchange: &Exchange,
        location: &str,
    ) -> Visited {
        let depth = match from.depth {
            REQUISITE => REQUISITE,
            depth => deeper(depth, 1),
        };
        let target: Option<Found> = self.rules.redirected(from, location, depth);
        let comparison = compare::redirect(row, exchange.status, location, now.wall);
        let keep = self.archive && !comparison.is_unchanged();
        Visited {
            record: keep.then(|| (self.packers.answer(from, exchange), true)),
            redirect: target.is_some(),
            links: target.into_iter().collect(),
            ..self.report(visit, now, comparison)
        }
    }

    /// A visit with nothing but what it says of the page.
    fn report(&self, visit: &Visit, now: Now, comparison: Comparison) -> Visited {
        Visited {
            done: Done {
                page: visit.page,
                host: visit.host,
                new: visit.new,
                terms: self.rules.overrides.usual_terms(),
                at: now,
                result: comparison.result,
                failures: comparison.failures,
                liar: comparison.liar,
                cut: comparison.cut,
                requisite: visit.requisite,
            },
            row: comparison.row,
            status: comparison.status,
            millis: 0,
            delay: None,
            bytes: 0,
            record: None,
            request: None,
            links: Vec::new(),
            redirect: false,
            print: None,
        }
    }
}
