//! One visit: fetch, read, compare, pack. Runs on the workers.

mod compare;
mod fetch;
mod pack;

use self::fetch::RobotsTxt;
use crate::cause;
use crate::config::Config;
use crate::message::{Done, Event, Found, Job, Visit, VisitResult, Visited, Write};
use crate::reading::{Rules, Standpoint};
use ::fetch::{Exchange, Fetcher, Truncation};
use compare::{Answer, Comparison};
use frontier::robots::Verdict;
use pack::{Packers, Records};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use storage::{PageAddress, PageRow, Reader, Time};
use tokio::sync::mpsc;
use url::Url;

/// What all workers share.
pub(crate) struct Workers {
    fetcher: Fetcher,
    reader: Reader,
    rules: Arc<Rules>,
    keeper: Sender<Event>,
    archivist: mpsc::Sender<Write>,
    archive: bool,
    archive_noindex: bool,
    packers: Packers,
}

/// Now, in seconds since the epoch.
pub(crate) fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

pub(crate) fn millis(seconds: f64) -> Time {
    (seconds * 1e3) as Time
}

impl Workers {
    pub fn new(
        config: &Config,
        fetcher: Fetcher,
        reader: Reader,
        rules: Arc<Rules>,
        keeper: Sender<Event>,
        archivist: mpsc::Sender<Write>,
    ) -> Self {
        // record ids are made from it, and must be found again after a restart
        let identity = storage::digest(config.data.0.as_os_str().as_encoded_bytes());
        let seed = u128::from_le_bytes(identity[..16].try_into().expect("16 bytes"));
        Self {
            fetcher,
            reader,
            rules,
            keeper,
            archivist,
            archive: config.archive.enabled,
            archive_noindex: config.directives.archive_noindex,
            packers: Packers::new(seed),
        }
    }

    /// Does one job and reports. The clock is read here and nowhere else.
    pub async fn work(self: Arc<Self>, job: Job) {
        let at = now();
        match job {
            Job::Resolve { host, name } => {
                let found = self.resolve(&name).await;
                self.tell(Event::Resolved { host, found });
            }
            Job::Robots {
                host,
                of,
                url,
                address,
                hops,
                previous,
            } => {
                let wanted = RobotsTxt {
                    host,
                    of,
                    url,
                    address,
                    hops,
                    previous,
                };
                let event = self.robots(wanted, at).await;
                self.tell(event);
            }
            Job::Visit(visit) => {
                let visited = self.visit(&visit, at).await;
                // a full channel holds the worker back; a closed one means the end
                let _ = self.archivist.send(Write::Visited(Box::new(visited))).await;
            }
        }
    }

    fn tell(&self, event: Event) {
        // the keeper is gone only when all ends
        let _ = self.keeper.send(event);
    }

    /// An address of a host that may be contacted, and for how many seconds it holds.
    async fn resolve(&self, name: &str) -> Result<(IpAddr, f64), u8> {
        let found = self.fetcher.resolve(name).await;
        let found = found.map_err(|error| error.code())?;
        let mut addresses = found.addresses.into_iter();
        let address = addresses.find(|&a| self.rules.scope.judge_address(a).is_in());
        let address = address.ok_or(cause::ADDRESS)?;
        Ok((address, found.expires_in.as_secs_f64().max(1.0)))
    }

    async fn visit(&self, visit: &Visit, at: f64) -> Visited {
        let row = self.reader.page(visit.page).ok().flatten();
        let row = row.unwrap_or_default();
        let address = match self.reader.address(visit.page) {
            Ok(address) => address,
            Err(error) => {
                tracing::error!(%error, "a page cannot be read from the store");
                let excluded = compare::excluded(row, cause::OUT_OF_SCOPE, at);
                return self.refused(visit, at, excluded);
            }
        };
        let (url, refused) = self.judge(visit, &address);
        if let Some(result) = refused {
            tracing::debug!(%url, ?result, "not fetched");
            let comparison = match result {
                VisitResult::Excluded(cause) => compare::excluded(row, cause, at),
                result => Comparison::of(result),
            };
            return self.refused(visit, at, comparison);
        }
        let validators = visit.conditional.then(|| compare::validators_of(&row));
        let validators = validators.flatten();
        let fetched = self.page(visit, &url, validators.as_ref(), at).await;
        let mut visited = match &fetched.answer {
            Err(error) => report(visit, at, compare::failed(row, error.code(), 0, at)),
            Ok(exchange) => {
                let from = Standpoint {
                    page: visit.page,
                    url: &url,
                    depth: address.depth,
                    at: millis(at),
                };
                self.take_in(visit, from, at, row, exchange, validators.is_some())
            }
        };
        visited.millis = fetched.took.as_millis().min(u128::from(u32::MAX)) as u32;
        visited.bytes = fetched.bytes().min(u64::from(u32::MAX)) as u32;
        visited
    }

    /// Whether the page may be fetched, by what is known now.
    fn judge(&self, visit: &Visit, address: &PageAddress) -> (Url, Option<VisitResult>) {
        let Ok(url) = Url::parse(&address.url) else {
            let nowhere = Url::parse("http://invalid/").expect("a URL");
            return (nowhere, Some(VisitResult::Excluded(cause::OUT_OF_SCOPE)));
        };
        let refused = match &visit.standing {
            _ if !self.rules.scope.judge(&url, address.depth).is_in() => {
                Some(VisitResult::Excluded(cause::OUT_OF_SCOPE))
            }
            Some(standing) if !standing.allows(&self.rules.agent, &url) => {
                let now = standing.verdict == Verdict::DisallowForNow;
                let excluded = VisitResult::Excluded(cause::ROBOTS);
                Some(if now { VisitResult::NotNow } else { excluded })
            }
            _ => None,
        };
        (url, refused)
    }

    /// No request was made.
    fn refused(&self, visit: &Visit, at: f64, comparison: Comparison) -> Visited {
        self.tell(Event::Ended {
            host: visit.host,
            address: visit.address,
            answer: None,
            bytes: 0,
        });
        report(visit, at, comparison)
    }

    /// Makes of an answer what is to be stored.
    fn take_in(
        &self,
        visit: &Visit,
        from: Standpoint,
        at: f64,
        row: PageRow,
        exchange: &Exchange,
        conditional: bool,
    ) -> Visited {
        let status = exchange.status;
        let failed = |row, cause| report(visit, at, compare::failed(row, cause, status, at));
        match status {
            304 if conditional => {
                let record = self
                    .archive
                    .then(|| self.packers.not_modified(from, exchange, &row));
                let comparison = compare::not_modified(row, at);
                let archived = comparison
                    .row
                    .as_ref()
                    .is_some_and(|row| row.place.is_some());
                Visited {
                    record: record.filter(|_| archived),
                    ..report(visit, at, comparison)
                }
            }
            200..=299 => match exchange.truncated {
                None | Some(Truncation::Length) => self.copy(visit, from, at, row, exchange),
                Some(_) => failed(row, cause::CUT_SHORT),
            },
            301 | 302 | 303 | 307 | 308 => match exchange.location() {
                Some(location) => self.redirect(visit, from, at, row, exchange, &location),
                None => failed(row, cause::REFUSED),
            },
            404 | 410 => report(visit, at, compare::missing(row, status, at)),
            429 => failed(row, cause::TOO_MANY),
            500.. => failed(row, cause::SERVER_ERROR),
            _ => failed(row, cause::REFUSED),
        }
    }

    fn copy(
        &self,
        visit: &Visit,
        from: Standpoint,
        at: f64,
        row: PageRow,
        exchange: &Exchange,
    ) -> Visited {
        let content_type = exchange.content_type();
        let is_wanted = content_type
            .as_deref()
            .is_none_or(|content_type| self.rules.scope.judge_type(content_type).is_in());
        if !is_wanted {
            return report(visit, at, compare::excluded(row, cause::TYPE, at));
        }
        let reading = self.rules.read(from, exchange);
        let directives = reading.directives;
        let keep = self.archive && directives.archive && (directives.index || self.archive_noindex);
        let digest = storage::digest(&exchange.body);
        let answer = Answer::of(exchange, digest, reading.print, reading.cut);
        let original = keep.then(|| row.clone());
        let comparison = compare::copy(row, answer, at);
        let records = original.map_or_else(Records::default, |original| {
            self.packers
                .copy(from, exchange, &original, digest, &comparison)
        });
        let first = comparison.is_first();
        Visited {
            record: records.copy,
            request: records.request,
            links: reading.links,
            print: first.then(|| (reading.print, from.url.clone())),
            ..report(visit, at, comparison)
        }
    }

    fn redirect(
        &self,
        visit: &Visit,
        from: Standpoint,
        at: f64,
        row: PageRow,
        exchange: &Exchange,
        location: &str,
    ) -> Visited {
        let depth = from.depth.saturating_add(1);
        let target: Option<Found> = self.rules.found(from, from.url, location, depth);
        let comparison = compare::redirect(row, exchange.status, location, at);
        let keep = self.archive && !comparison.is_unchanged();
        Visited {
            record: keep.then(|| self.packers.redirect(from, exchange)),
            redirect: target.is_some(),
            links: target.into_iter().collect(),
            ..report(visit, at, comparison)
        }
    }
}

/// A visit with nothing but what it says of the page.
fn report(visit: &Visit, at: f64, comparison: Comparison) -> Visited {
    Visited {
        done: Done {
            page: visit.page,
            host: visit.host,
            new: visit.new,
            at,
            result: comparison.result,
            failures: comparison.failures,
            liar: comparison.liar,
            cut: comparison.cut,
        },
        row: comparison.row,
        status: comparison.status,
        millis: 0,
        bytes: 0,
        record: None,
        request: None,
        links: Vec::new(),
        redirect: false,
        print: None,
    }
}
