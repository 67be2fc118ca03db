//! The workers: jobs begin, the web answers, and after a while the keeper hears of it.

use super::happening::Happening;
use super::web::Web;
use super::{Bottle, Flaw, START};
use fetch::AddressRules;
use frontier::politeness::Answer;
use frontier::robots::{Fetched, Standing};
use rand::RngExt;
use robot::cause::GIVEN_UP;
use robot::message::{Event, Job, Progress, Task, Visit, VisitResult};
use robot::reading::Standpoint;
use robot::{Intake, cause};
use std::net::IpAddr;
use std::sync::Arc;
use storage::{Outcome, PageId};
use url::Url;

/// What requests under way bring, in bytes per second: little.
const PACE: f64 = 1000.0;

/// A request under way.
pub(super) struct UnderWay {
    host: usize,
    ip: IpAddr,
    began: f64,
    /// For so many seconds its host wants to be left alone.
    asks: Option<f64>,
    /// What is heard if it is given up.
    given_up: Option<Event>,
}

impl Bottle {
    /// A job begins; it ends after a while.
    pub(super) fn begin(&mut self, job: Job) -> Result<(), String> {
        let Job { ticket, task } = job;
        let host = match &task {
            Task::Robots { url, .. } => url.host_str().and_then(Web::host_of),
            Task::Visit(visit) => self.host_of(visit.page),
            Task::Resolve { .. } => None,
        };
        let took = self.web.takes(host, self.random.random());
        let silent = self.at < self.web.calm && self.random.random::<f64>() < self.web.spec.silent;
        match task {
            Task::Resolve { name } => {
                let host = Web::host_of(&name).ok_or("a name that does not exist")?;
                let address = self.web.address(host, self.at);
                let permitted = AddressRules::default().permits(address)
                    || self.spec.flaw == Some(Flaw::AnyAddress);
                let found = if silent {
                    Err(11)
                } else if permitted {
                    Ok((address, 600.0))
                } else {
                    Err(cause::ADDRESS)
                };
                let event = Event::Resolved { ticket, found };
                self.happen(self.at + took, Happening::Heard(Box::new(event)));
            }
            Task::Robots {
                url,
                address,
                previous,
                ..
            } => {
                let host = self.request(&url, address)?;
                self.record.robots += 1;
                let (status, body) = self.web.robots(host, self.at);
                let fetched = if silent {
                    Fetched::Failure
                } else {
                    Fetched::Answer { status, body }
                };
                let at = self.now().at + took;
                let mut standing = Standing::after(previous.as_deref(), fetched, None, at);
                if let (Some(seconds), true) = (self.web.spec.robots_hold, status != 503) {
                    standing.expires = standing.expires.min(at + seconds);
                }
                let robots = Event::Robots {
                    ticket,
                    standing: Arc::new(standing),
                    failure: silent.then_some(51),
                    record: None,
                };
                let at = self.now().at;
                let standing = Standing::after(previous.as_deref(), Fetched::Failure, None, at);
                let given_up = Event::Robots {
                    ticket,
                    standing: Arc::new(standing),
                    failure: Some(GIVEN_UP),
                    record: None,
                };
                let heard = vec![ended(ticket, silent, took), robots];
                self.start(ticket, took, (host, address), None, heard, given_up);
            }
            Task::Visit(visit) => self.visit(ticket, &visit, took, silent)?,
        }
        Ok(())
    }

    /// The host of a page that the robot knows.
    fn host_of(&mut self, page: PageId) -> Option<usize> {
        let known = self.robot().reader.address(page).ok()?;
        Web::host_of(Url::parse(&known.url).ok()?.host_str()?)
    }

    fn visit(&mut self, ticket: u64, visit: &Visit, took: f64, silent: bool) -> Result<(), String> {
        let now = self.now();
        let page = visit.page.0;
        if self.robot().unwritten.contains(&page) {
            return Err(format!(
                "W6: page {page} is asked for before its last visit is on disk"
            ));
        }
        let row = self
            .robot()
            .reader
            .page(visit.page)
            .map_err(|e| e.to_string())?;
        let row = row.unwrap_or_default();
        let known = self
            .robot()
            .reader
            .address(visit.page)
            .map_err(|e| e.to_string())?;
        let robot = self.robot();
        let url = match robot.intake.judge(&robot.reader, visit, &known, &row, now) {
            Ok(url) => url,
            Err(visited) => {
                let unused = Event::Ended {
                    ticket,
                    answer: None,
                    bytes: 0,
                };
                self.happen(self.at, Happening::Heard(Box::new(unused)));
                self.happen(
                    self.at,
                    Happening::Heard(Box::new(Event::Visited { ticket, visited })),
                );
                return Ok(());
            }
        };
        let host = self.request(&url, visit.address)?;
        self.report.visits.push((self.at - START, page));
        let number = self.web.find(host, url.path());
        if let Some(number) = number {
            if self.web.pages[number].forbidden && self.web.robots(host, self.at).0 == 200 {
                return Err(format!("robots.txt forbids {url}"));
            }
            self.record.visits.entry(number).or_default().push(self.at);
        }
        let validators = Intake::validators(visit, &row);
        let given_up = self
            .robot()
            .intake
            .failed(visit, now, row.clone(), GIVEN_UP);
        let given_up = Event::Visited {
            ticket,
            visited: Box::new(given_up),
        };
        let mut visited = if silent {
            self.robot().intake.failed(visit, now, row, 51)
        } else {
            let etag = validators.as_ref().and_then(|v| v.etag.as_deref());
            let exchange = self.web.answer(number, self.at, etag, visit.address);
            let from = Standpoint {
                page: visit.page,
                url: &url,
                depth: known.depth,
                at: (now.wall * 1e3) as i64,
            };
            let conditional = validators.is_some();
            self.robot()
                .intake
                .take_in(visit, from, now, row, &exchange, conditional)
        };
        self.mishear(&mut visited.done.result);
        let visited = Box::new(visited);
        let mut heard = vec![
            ended(ticket, silent, took),
            Event::Visited { ticket, visited },
        ];
        let asks = self.web.patience(host, self.at).filter(|_| !silent);
        if let (Event::Ended { answer, .. }, Some(seconds)) = (&mut heard[0], asks) {
            let retry_after = Some(seconds);
            *answer = Some(Answer::Slower { retry_after });
        }
        let place = (host, visit.address);
        self.start(ticket, took, place, asks, heard, given_up);
        Ok(())
    }

    /// Some flaws are in what the keeper is told.
    fn mishear(&self, result: &mut VisitResult) {
        match (self.spec.flaw, &mut *result) {
            (Some(Flaw::ChangesUnheard), VisitResult::Copy { outcome, .. })
                if *outcome == Outcome::Changed =>
            {
                *outcome = Outcome::Unchanged;
            }
            (Some(Flaw::GoneUnheard), VisitResult::Gone) => {
                *result = VisitResult::Failed(cause::MISSING);
            }
            _ => {}
        }
    }

    /// A request begins, and is checked.
    fn request(&mut self, url: &Url, address: IpAddr) -> Result<usize, String> {
        if !AddressRules::default().permits(address) {
            return Err(format!("W11: {address} is contacted"));
        }
        let host = url.host_str().and_then(Web::host_of);
        let host = host.ok_or_else(|| format!("{url} is nowhere"))?;
        let begun = self
            .record
            .begin(host, address, self.at, self.spec.interval);
        begun.map_err(|what| format!("{:.3} s: {what}", self.at - START))?;
        Ok(host)
    }

    /// A request is under way, and ends after a while.
    fn start(
        &mut self,
        ticket: u64,
        took: f64,
        (host, ip): (usize, IpAddr),
        asks: Option<f64>,
        heard: Vec<Event>,
        given_up: Event,
    ) {
        let under_way = UnderWay {
            host,
            ip,
            began: self.at,
            asks,
            given_up: Some(given_up),
        };
        self.under_way.insert(ticket, under_way);
        self.happen(self.at + took, Happening::Ended(ticket, heard));
    }

    /// A request ends; false if it has before.
    pub(super) fn end(&mut self, ticket: u64) -> bool {
        let ended = self.under_way.remove(&ticket);
        if let Some(request) = &ended {
            self.record.end(request.host, request.ip, self.at);
            let at = self.at;
            let asked = request.asks.map(|seconds| (request.host, at + seconds));
            self.robot().asked.extend(asked);
        }
        ended.is_some()
    }

    /// Tells how far requests have come.
    pub(super) fn measure(&mut self, tickets: &[u64]) {
        let progress = |&ticket: &u64| {
            let seconds = self.at - self.under_way.get(&ticket)?.began;
            Some(Progress {
                ticket,
                bytes: (PACE * seconds) as u64,
                seconds,
            })
        };
        let told: Vec<Progress> = tickets.iter().filter_map(progress).collect();
        if !told.is_empty() {
            self.happen(self.at, Happening::Heard(Box::new(Event::Measured(told))));
        }
    }

    /// Gives requests up.
    pub(super) fn give_up(&mut self, tickets: &[u64]) {
        for &ticket in tickets {
            let request = self.under_way.get_mut(&ticket);
            if let Some(given_up) = request.and_then(|request| request.given_up.take()) {
                self.report.given_up += 1;
                let heard = vec![ended(ticket, true, 0.0), given_up];
                self.happen(self.at, Happening::Ended(ticket, heard));
            }
        }
    }
}

fn ended(ticket: u64, silent: bool, took: f64) -> Event {
    let answer = if silent {
        Answer::Silent
    } else {
        Answer::Fine { seconds: took }
    };
    Event::Ended {
        ticket,
        answer: Some(answer),
        bytes: 1000,
    }
}
