//! One visit: fetch, read, compare. Runs on the workers.

use crate::cause;
use crate::config::Config;
use crate::message::{Done, Event, Found, Job, Visit, VisitResult, Visited, Write};
use crate::reading::{Reading, Rules, Standpoint};
use fetch::{Exchange, FetchError, Fetcher, Request, Truncation, Validators, Version};
use frontier::politeness::Answer;
use frontier::retry_after;
use frontier::robots::{Fetched, Standing, Verdict, next_hop};
use std::net::IpAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use storage::archive::{HttpVersion, Original, Packer, Revisit, Truncated};
use storage::{Outcome, PageAddress, PageRow, PageState, Reader, Time};
use tokio::sync::mpsc;
use url::Url;

/// robots.txt beyond this is not read.
const ROBOTS_BYTES: u64 = 512 << 10;
/// Fast rather than small: compressing must not cost more than fetching.
const COMPRESSION: u8 = 1;

/// What all workers share.
pub(crate) struct Workers {
    pub fetcher: Fetcher,
    pub reader: Reader,
    pub rules: Arc<Rules>,
    pub keeper: Sender<Event>,
    pub archivist: mpsc::Sender<Write>,
    pub archive: bool,
    pub archive_noindex: bool,
    /// Compressors are large: as many as workers at work, not as many as connections.
    pub packers: Mutex<Vec<Packer>>,
    pub seed: u128,
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
        Self {
            fetcher,
            reader,
            rules,
            keeper,
            archivist,
            archive: config.archive.enabled,
            archive_noindex: config.directives.archive_noindex,
            packers: Mutex::default(),
            seed: u128::from_le_bytes(identity[..16].try_into().expect("16 bytes")),
        }
    }

    /// Does one job and reports.
    pub async fn work(self: Arc<Self>, job: Job) {
        match job {
            Job::Resolve { host, name } => {
                let found = self.fetcher.resolve(&name).await;
                let found = found.map_err(|error| error.code()).and_then(|found| {
                    let mut addresses = found.addresses.into_iter();
                    let address = addresses.find(|&a| self.rules.scope.judge_address(a).is_in());
                    let address = address.ok_or(cause::ADDRESS)?;
                    Ok((address, found.expires_in.as_secs_f64().max(1.0)))
                });
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
                let event = self
                    .robots(host, of, &url, address, hops, previous.as_deref())
                    .await;
                self.tell(event);
            }
            Job::Visit(visit) => {
                let visited = self.visit(visit).await;
                // a full channel holds the worker back; a closed one means the end
                let _ = self.archivist.send(Write::Visited(Box::new(visited))).await;
            }
        }
    }

    fn tell(&self, event: Event) {
        // the keeper is gone only when all ends
        let _ = self.keeper.send(event);
    }

    fn ended(&self, host: u32, address: IpAddr, answer: Option<Answer>, bytes: u64) {
        self.tell(Event::Ended {
            host,
            address,
            answer,
            bytes,
        });
    }

    async fn robots(
        &self,
        host: u32,
        of: u32,
        url: &Url,
        address: IpAddr,
        hops: u8,
        previous: Option<&Standing>,
    ) -> Event {
        let request = Request {
            max_body: Some(ROBOTS_BYTES),
            accept: Some("text/plain,*/*;q=0.8"),
            ..Request::get(url, address)
        };
        let fetched = self.fetcher.fetch(request).await;
        let answer = answer_of(fetched.as_ref());
        let bytes = fetched
            .as_ref()
            .map_or(0, |exchange| exchange.body.len() as u64);
        self.ended(host, address, Some(answer), bytes);
        let at = now();
        let exchange = match fetched {
            Ok(exchange) => exchange,
            Err(error) => {
                tracing::debug!(%url, %error, "robots.txt cannot be fetched");
                let standing = Arc::new(Standing::after(previous, Fetched::Failure, None, at));
                return Event::Robots {
                    of,
                    standing,
                    failure: Some(error.code()),
                };
            }
        };
        tracing::debug!(%url, status = exchange.status, bytes, "robots.txt");
        let location = exchange.location();
        if let Some(to) = next_hop(url, exchange.status, location.as_deref(), hops) {
            let hops = hops + 1;
            return Event::RobotsMoved { of, to, hops };
        }
        let body = exchange.decoded(ROBOTS_BYTES).map(|decoded| decoded.bytes);
        let fetched = Fetched::Answer {
            status: exchange.status,
            body: body.as_deref().unwrap_or_default(),
        };
        let max_age = exchange.max_age().map(|age| age.as_secs_f64());
        let standing = Arc::new(Standing::after(previous, fetched, max_age, at));
        Event::Robots {
            of,
            standing,
            failure: match exchange.status {
                429 => Some(cause::TOO_MANY),
                500.. => Some(cause::SERVER_ERROR),
                _ => None,
            },
        }
    }

    async fn visit(&self, visit: Visit) -> Visited {
        let at = now();
        let known = self.reader.address(visit.page);
        let row = self.reader.page(visit.page).ok().flatten();
        let row = row.unwrap_or_default();
        let address = match known {
            Ok(address) => address,
            Err(error) => {
                tracing::error!(%error, "a page cannot be read from the store");
                self.ended(visit.host, visit.address, None, 0);
                return unmade(&visit, at, &row, VisitResult::Excluded(cause::OUT_OF_SCOPE));
            }
        };
        let (url, refused) = self.judge(&visit, &address);
        if let Some(result) = refused {
            tracing::debug!(%url, ?result, "not fetched");
            self.ended(visit.host, visit.address, None, 0);
            return unmade(&visit, at, &row, result);
        }
        let validators = visit.conditional.then(|| validators_of(&row)).flatten();
        let request = Request {
            validators: validators.as_ref(),
            ..Request::get(&url, visit.address)
        };
        let started = Instant::now();
        let fetched = self.fetcher.fetch(request).await;
        let took = started.elapsed();
        match &fetched {
            Ok(exchange) => tracing::debug!(
                %url, status = exchange.status, bytes = exchange.body.len(), ?took, "fetched"
            ),
            Err(error) => tracing::debug!(%url, %error, ?took, "failed"),
        }
        let answer = answer_of(fetched.as_ref());
        let bytes = fetched
            .as_ref()
            .map_or(0, |exchange| exchange.body.len() as u64);
        self.ended(visit.host, visit.address, Some(answer), bytes);
        let mut visited = match fetched {
            Err(error) => failed(&visit, at, row, error.code(), 0),
            Ok(exchange) => {
                let from = Standpoint {
                    page: visit.page,
                    url: &url,
                    depth: address.depth,
                    at: millis(at),
                };
                self.take_in(&visit, from, at, row, &exchange, validators.is_some())
            }
        };
        visited.millis = took.as_millis().min(u128::from(u32::MAX)) as u32;
        visited.bytes = bytes.min(u64::from(u32::MAX)) as u32;
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
        match status {
            304 if conditional => self.not_modified(visit, from, at, row, exchange),
            200..=299 => match exchange.truncated {
                None | Some(Truncation::Length) => self.copy(visit, from, at, row, exchange),
                Some(_) => failed(visit, at, row, cause::CUT_SHORT, status),
            },
            301 | 302 | 303 | 307 | 308 => self.redirect(visit, from, at, row, exchange),
            404 | 410 => missing(visit, at, row, status),
            429 => failed(visit, at, row, cause::TOO_MANY, status),
            500.. => failed(visit, at, row, cause::SERVER_ERROR, status),
            _ => failed(visit, at, row, cause::REFUSED, status),
        }
    }

    fn not_modified(
        &self,
        visit: &Visit,
        from: Standpoint,
        at: f64,
        mut row: PageRow,
        exchange: &Exchange,
    ) -> Visited {
        let record = self.archive.then(|| {
            let original = original_of(from, &row);
            self.pack(from, exchange, row.digest, |packer, exchange| {
                let how = Revisit::NotModified;
                (packer.revisit(exchange, &original, how), false)
            })
        });
        row.status = 304;
        answered(&mut row, at);
        Visited {
            record: record.filter(|_| row.place.is_some()),
            ..reported(visit, at, row, Outcome::Unchanged, None)
        }
    }

    fn copy(
        &self,
        visit: &Visit,
        from: Standpoint,
        at: f64,
        mut row: PageRow,
        exchange: &Exchange,
    ) -> Visited {
        let content_type = exchange.content_type();
        let is_wanted = content_type
            .as_deref()
            .is_none_or(|content_type| self.rules.scope.judge_type(content_type).is_in());
        if !is_wanted {
            return unmade(visit, at, &row, VisitResult::Excluded(cause::TYPE));
        }
        let Reading {
            links,
            print,
            directives,
            ..
        } = self.rules.read(from, exchange);
        let digest = storage::digest(&exchange.body);
        let has_copy = row.state == PageState::Live && row.visits > 0;
        let outcome = if !has_copy {
            Outcome::FirstSeen
        } else if row.digest == digest {
            Outcome::Unchanged
        } else if row.text == print.exact {
            Outcome::Minor
        } else {
            Outcome::Changed
        };
        let validators = exchange.validators().unwrap_or_default();
        let liar = has_copy
            .then(|| unchanged_by_its_word(&row, &validators))
            .flatten()
            .map(|same| same && outcome == Outcome::Changed);
        let keep = self.archive && directives.archive && (directives.index || self.archive_noindex);
        let identical = outcome == Outcome::Unchanged && row.place.is_some();
        let (record, request) = if keep {
            let original = original_of(from, &row);
            self.pack(from, exchange, digest, |packer, exchange| {
                if identical {
                    let how = Revisit::IdenticalDigest;
                    let revisit = packer.revisit(exchange, &original, how);
                    (Some((revisit, false)), None)
                } else {
                    let request = packer.request(exchange, None);
                    (Some((packer.response(exchange), true)), Some(request))
                }
            })
        } else {
            (None, None)
        };
        let modified = exchange.last_modified().and_then(|time| {
            let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(since.as_secs_f64())
        });
        row.state = PageState::Live;
        row.status = exchange.status;
        row.digest = digest;
        row.text = print.exact;
        row.length = exchange.body.len() as u64;
        row.etag = validators.etag.map(String::into_bytes);
        row.modified = validators.last_modified.map(String::into_bytes);
        row.content_type = content_type.map(|kind| kind.as_bytes().to_vec());
        row.last_modified = modified.map(millis);
        answered(&mut row, at);
        row.redirect_to = None;
        count(&mut row, outcome, at);
        let mut visited = reported(visit, at, row, outcome, modified);
        visited.done.liar = liar;
        visited.record = record;
        visited.request = request;
        visited.links = links;
        visited.print = (outcome == Outcome::FirstSeen).then(|| (print, from.url.clone()));
        visited
    }

    fn redirect(
        &self,
        visit: &Visit,
        from: Standpoint,
        at: f64,
        mut row: PageRow,
        exchange: &Exchange,
    ) -> Visited {
        let Some(location) = exchange.location() else {
            return failed(visit, at, row, cause::REFUSED, exchange.status);
        };
        let depth = from.depth.saturating_add(1);
        let target: Option<Found> = self.rules.found(from, from.url, &location, depth);
        let digest = storage::digest(location.as_bytes());
        let known = row.state == PageState::Redirect && row.visits > 0;
        let outcome = match known {
            false if row.visits == 0 => Outcome::FirstSeen,
            true if row.digest == digest => Outcome::Unchanged,
            _ => Outcome::Changed,
        };
        let record = (self.archive && outcome != Outcome::Unchanged).then(|| {
            let digest = storage::digest(&exchange.body);
            self.pack(from, exchange, digest, |packer, exchange| {
                (packer.response(exchange), true)
            })
        });
        row.state = PageState::Redirect;
        row.status = exchange.status;
        row.digest = digest;
        row.text = 0;
        row.length = 0;
        row.etag = None;
        row.modified = None;
        answered(&mut row, at);
        count(&mut row, outcome, at);
        let mut visited = reported(visit, at, row, outcome, None);
        visited.record = record;
        visited.redirect = target.is_some();
        visited.links = target.into_iter().collect();
        visited
    }

    /// Makes archive records of an exchange.
    fn pack<T>(
        &self,
        from: Standpoint,
        exchange: &Exchange,
        digest: storage::Digest,
        with: impl FnOnce(&mut Packer, &storage::archive::Exchange) -> T,
    ) -> T {
        let headers: Vec<_> = exchange.headers.iter().collect();
        let exchange = warc(from, exchange, &headers, digest);
        let kept = self.packers.lock().expect("nobody panics with it").pop();
        let mut packer = kept.unwrap_or_else(|| Packer::new(COMPRESSION, self.seed));
        let packed = with(&mut packer, &exchange);
        self.packers
            .lock()
            .expect("nobody panics with it")
            .push(packer);
        packed
    }
}

fn reported(
    visit: &Visit,
    at: f64,
    row: PageRow,
    outcome: Outcome,
    modified: Option<f64>,
) -> Visited {
    Visited {
        status: row.status,
        row: Some(row),
        ..unmade(
            visit,
            at,
            &PageRow::default(),
            VisitResult::Copy { outcome, modified },
        )
    }
}

/// No copy came of it; the row stays as it is but for what the result says.
fn unmade(visit: &Visit, at: f64, row: &PageRow, result: VisitResult) -> Visited {
    let row = match result {
        VisitResult::Excluded(cause) => Some(PageRow {
            state: PageState::Excluded,
            last_failure: Some((millis(at), cause)),
            ..row.clone()
        }),
        _ => None,
    };
    Visited {
        done: Done {
            page: visit.page,
            host: visit.host,
            new: visit.new,
            at,
            result,
            failures: 0,
            liar: None,
        },
        row,
        status: 0,
        millis: 0,
        bytes: 0,
        record: None,
        request: None,
        links: Vec::new(),
        redirect: false,
        print: None,
    }
}

fn failed(visit: &Visit, at: f64, mut row: PageRow, cause: u8, status: u16) -> Visited {
    row.failures_in_a_row = row.failures_in_a_row.saturating_add(1);
    row.last_failure = Some((millis(at), cause));
    let mut visited = unmade(visit, at, &row, VisitResult::Failed(cause));
    visited.done.failures = row.failures_in_a_row;
    visited.status = status;
    visited.row = Some(row);
    visited
}

/// Missing twice in a row is gone.
fn missing(visit: &Visit, at: f64, row: PageRow, status: u16) -> Visited {
    let again = row.state == PageState::Gone
        || row.failures_in_a_row > 0 && row.last_failure.is_some_and(|f| f.1 == cause::MISSING);
    let mut visited = failed(visit, at, row, cause::MISSING, status);
    if again {
        visited.done.result = VisitResult::Gone;
        if let Some(row) = &mut visited.row {
            row.state = PageState::Gone;
            row.status = status;
        }
    }
    visited
}

fn answered(row: &mut PageRow, at: f64) {
    row.first_visit = row.first_visit.or(Some(millis(at)));
    row.last_visit = Some(millis(at));
    row.visits = row.visits.saturating_add(1);
    row.failures_in_a_row = 0;
}

fn count(row: &mut PageRow, outcome: Outcome, at: f64) {
    match outcome {
        Outcome::Changed => row.changes += 1,
        Outcome::Minor => row.minor += 1,
        _ => {}
    }
    if matches!(outcome, Outcome::Changed | Outcome::FirstSeen) {
        row.last_change = Some(millis(at));
    }
}

fn validators_of(row: &PageRow) -> Option<Validators> {
    let text = |bytes: &Option<Vec<u8>>| String::from_utf8(bytes.clone()?).ok();
    let validators = Validators {
        etag: text(&row.etag),
        last_modified: text(&row.modified),
    };
    let any = validators.etag.is_some() || validators.last_modified.is_some();
    (any && row.state == PageState::Live).then_some(validators)
}

/// Whether the validators say that nothing changed; nothing when there are none to compare.
fn unchanged_by_its_word(row: &PageRow, new: &Validators) -> Option<bool> {
    let old = validators_of(row)?;
    match (&old.etag, &new.etag) {
        (Some(old), Some(new)) => Some(old == new),
        _ => Some(old.last_modified.as_ref()? == new.last_modified.as_ref()?),
    }
}

fn original_of<'a>(from: Standpoint<'a>, row: &PageRow) -> Original<'a> {
    Original {
        url: from.url.as_str(),
        time: row.copied.unwrap_or_default(),
        digest: row.digest,
    }
}

fn warc<'a>(
    from: Standpoint<'a>,
    exchange: &'a Exchange,
    headers: &'a [(&'a [u8], &'a [u8])],
    digest: storage::Digest,
) -> storage::archive::Exchange<'a> {
    storage::archive::Exchange {
        url: from.url.as_str(),
        time: from.at,
        ip: Some(exchange.address),
        version: match exchange.version {
            Version::Http10 => HttpVersion::Http10,
            Version::Http11 => HttpVersion::Http11,
            Version::Http2 => HttpVersion::Http2,
        },
        status: exchange.status,
        reason: exchange.reason.as_bytes(),
        headers,
        body: &exchange.body,
        digest,
        truncated: exchange.truncated.map(|why| match why {
            Truncation::Length => Truncated::Length,
            Truncation::Time => Truncated::Time,
            Truncation::Disconnect => Truncated::Disconnect,
            Truncation::Unspecified => Truncated::Unspecified,
        }),
        request: &exchange.request_head,
    }
}

/// What an answer, or none, means for politeness.
fn answer_of(fetched: Result<&Exchange, &FetchError>) -> Answer {
    match fetched {
        Ok(exchange) if matches!(exchange.status, 429 | 503) => Answer::Slower {
            retry_after: exchange
                .retry_after()
                .and_then(|value| retry_after::parse(&value, now())),
        },
        Ok(exchange) => Answer::Fine {
            seconds: exchange.total.as_secs_f64(),
        },
        Err(FetchError::AddressRefused(_) | FetchError::Url(_)) => Answer::Fine { seconds: 0.0 },
        Err(_) => Answer::Silent,
    }
}
