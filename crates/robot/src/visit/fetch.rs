//! The requests of a visit, and what their ends mean for politeness.

use super::{Workers, millis};
use crate::cause;
use crate::clock::Now;
use crate::message::{Event, Progress, Visit};
use crate::reading::Standpoint;
use fetch::{Exchange, FetchError, Gate, Request, Step, Validators};
use frontier::politeness::Answer;
use frontier::retry_after;
use frontier::robots::{Fetched, Standing, next_hop};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use storage::PageId;
use tokio::sync::Notify;
use url::Url;

/// robots.txt beyond this is not read.
const ROBOTS_BYTES: u64 = 512 << 10;

/// How a request ended.
pub(super) struct Ended {
    pub answer: Result<Exchange, FetchError>,
    pub took: Duration,
}

impl Ended {
    /// Whether nothing was sent, because the fleet did not let it pass.
    pub fn is_barred(&self) -> bool {
        matches!(self.answer, Err(FetchError::Barred))
    }

    pub fn bytes(&self) -> u64 {
        let exchange = self.answer.as_ref();
        exchange.map_or(0, |exchange| exchange.body.len() as u64)
    }
}

/// A request that can be watched, and given up, by others.
#[derive(Debug)]
pub(crate) struct Watched {
    received: Arc<AtomicU64>,
    began: Instant,
    given_up: Notify,
}

impl Watched {
    pub fn new() -> Self {
        Self {
            received: Arc::new(AtomicU64::new(0)),
            began: Instant::now(),
            given_up: Notify::new(),
        }
    }

    /// How far it has come.
    pub fn progress(&self, ticket: u64) -> Progress {
        Progress {
            ticket,
            bytes: self.received.load(Ordering::Relaxed),
            seconds: self.began.elapsed().as_secs_f64(),
        }
    }

    pub fn give_up(&self) {
        self.given_up.notify_one();
    }
}

/// A robots.txt to be fetched.
pub(super) struct RobotsTxt {
    pub ticket: u64,
    pub url: Url,
    pub address: IpAddr,
    pub hops: u8,
    pub previous: Option<Arc<Standing>>,
}

impl Workers {
    /// Makes a request, begun `now`, and lets the keeper know that the host is free again.
    async fn request(
        &self,
        (ticket, watched): (u64, &Watched),
        request: Request<'_>,
        now: Now,
    ) -> Ended {
        let started = Instant::now();
        let address = request.address;
        let ask = |step| self.may(step, address);
        let request = Request {
            received: Some(&watched.received),
            gate: self.seam.is_some().then_some(Gate(&ask)),
            ..request
        };
        let answer = tokio::select! {
            biased;
            answer = self.fetcher.fetch(request) => answer,
            () = watched.given_up.notified() => Err(FetchError::GivenUp),
        };
        let took = started.elapsed();
        let ended = Ended { answer, took };
        if ended.is_barred() {
            // the job's last event says so
            return ended;
        }
        let bytes = match &ended.answer {
            Ok(_) => ended.bytes(),
            Err(_) => watched.received.load(Ordering::Relaxed),
        };
        (self.tell)(Event::Ended {
            ticket,
            answer: Some(for_politeness(&ended, now)),
            bytes,
        });
        ended
    }

    /// Whether the fleet lets a request take this step.
    fn may(&self, step: Step, server: IpAddr) -> bool {
        let Some(seam) = &self.seam else { return true };
        let mut seam = crate::archivist::lock(seam);
        let now = self.clock.now();
        match step {
            Step::Connect => seam.may_pass(now, server).is_ok(),
            Step::Write => seam.pass(now, server).is_ok(),
        }
    }

    /// What a job ends with that the fleet did not let pass.
    pub(super) fn barred(&self, ticket: u64, server: IpAddr) -> Event {
        let now = self.clock.now();
        let again = |seam| crate::archivist::lock(seam).may_pass(now, server).err();
        let until = self.seam.as_ref().and_then(again).unwrap_or(now.at);
        Event::Barred { ticket, until }
    }

    /// Requests a page.
    pub(super) async fn page(
        &self,
        job: (u64, &Watched),
        visit: &Visit,
        url: &Url,
        validators: Option<&Validators>,
        now: Now,
    ) -> Ended {
        let headers = self.headers.of(url);
        let request = Request {
            validators,
            headers: &headers,
            proxy: self.proxies.of(url),
            ..Request::get(url, visit.address)
        };
        let ended = self.request(job, request, now).await;
        let took = ended.took;
        match &ended.answer {
            Ok(exchange) => tracing::debug!(
                %url, status = exchange.status, bytes = exchange.body.len(), ?took, "fetched"
            ),
            Err(error) => tracing::debug!(%url, %error, ?took, "failed"),
        }
        ended
    }

    /// Requests robots.txt.
    pub(super) async fn robots(&self, wanted: RobotsTxt, watched: &Watched, now: Now) -> Event {
        let RobotsTxt {
            ticket, url, hops, ..
        } = wanted;
        let headers = self.headers.of(&url);
        let request = Request {
            headers: &headers,
            proxy: self.proxies.of(&url),
            max_body: Some(ROBOTS_BYTES),
            accept: Some("text/plain,*/*;q=0.8"),
            ..Request::get(&url, wanted.address)
        };
        let ended = self.request((ticket, watched), request, now).await;
        if ended.is_barred() {
            return self.barred(ticket, wanted.address);
        }
        let bytes = ended.bytes();
        let at = now.at + ended.took.as_secs_f64();
        let standing = |fetched, max_age| {
            Arc::new(Standing::after(
                wanted.previous.as_deref(),
                fetched,
                max_age,
                at,
            ))
        };
        let exchange = match ended.answer {
            Ok(exchange) => exchange,
            Err(error) => {
                tracing::debug!(%url, %error, "robots.txt cannot be fetched");
                return Event::Robots {
                    ticket,
                    standing: standing(Fetched::Failure, None),
                    failure: Some(error.code()),
                    record: None,
                };
            }
        };
        tracing::debug!(%url, status = exchange.status, bytes, "robots.txt");
        let location = exchange.location();
        if let Some(to) = next_hop(&url, exchange.status, location.as_deref(), hops) {
            let hops = hops + 1;
            return Event::RobotsMoved { ticket, to, hops };
        }
        let from = Standpoint {
            page: PageId(0),
            url: &url,
            depth: 0,
            at: millis(now.wall),
        };
        let record = self.intake.robots_record(from, &exchange);
        let body = exchange.decoded(ROBOTS_BYTES).map(|decoded| decoded.bytes);
        let fetched = Fetched::Answer {
            status: exchange.status,
            body: body.as_deref().unwrap_or_default(),
        };
        let max_age = exchange.max_age().map(|age| age.as_secs_f64());
        Event::Robots {
            ticket,
            standing: standing(fetched, max_age),
            failure: match exchange.status {
                429 => Some(cause::TOO_MANY),
                500.. => Some(cause::SERVER_ERROR),
                _ => None,
            },
            record,
        }
    }
}

/// What an answer to a request begun `now`, or none, means for politeness.
fn for_politeness(ended: &Ended, now: Now) -> Answer {
    match &ended.answer {
        Ok(exchange) if matches!(exchange.status, 429 | 503) => {
            let now = now.wall + ended.took.as_secs_f64();
            let retry_after = exchange.retry_after();
            Answer::Slower {
                retry_after: retry_after.and_then(|value| retry_after::parse(&value, now)),
            }
        }
        Ok(exchange) => Answer::Fine {
            seconds: exchange.total.as_secs_f64(),
        },
        Err(FetchError::AddressRefused(_) | FetchError::NameRefused | FetchError::Url(_)) => {
            Answer::Fine { seconds: 0.0 }
        }
        Err(_) => Answer::Silent,
    }
}
