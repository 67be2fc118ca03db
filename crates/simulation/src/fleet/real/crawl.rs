//! What a robot's driver and workers do, in virtual time.

use std::net::IpAddr;
use std::sync::Arc;

use fleet::io::Input;
use fleet::parcel::Cargo;
use fleet::record::Record;
use frontier::politeness::Answer;
use frontier::robots::{Fetched, Standing};
use rand::RngExt;
use robot::Intake;
use robot::message::{Event as Told, Job, Task, Visit, Write};
use robot::reading::Standpoint;
use storage::{PageId, PageState};
use url::Url;

use super::super::checks::{Broken, broken};
use super::super::web::Page;
use super::web::{Place, RealWeb};
use super::{Event, Real};

/// Seconds that a commit takes; and one in twenty, while things go wrong.
const COMMITS: f64 = 0.05;
const SLOW_COMMITS: f64 = 4.0;

impl Real {
    pub(super) fn hear(&mut self, index: usize, input: Input) {
        let machine = &self.machines[index];
        if let Some(life) = &machine.life {
            life.seam().hear(machine.clock(self.now), input);
        }
    }

    /// A timer.
    pub(super) fn wake(&mut self, index: usize) -> Result<(), Broken> {
        let machine = &mut self.machines[index];
        let now = machine.clock(self.now);
        let leaving = machine.leaving;
        let Some(life) = &mut machine.life else {
            return Ok(());
        };
        life.wakes_at = f64::INFINITY;
        let (wanted, idle) = (life.keeper.wanted(), life.keeper.is_quiet());
        let mut subjects = Vec::new();
        {
            let mut seam = life.seam.lock().expect("nobody fell");
            if seam.deadline() <= now.at {
                seam.tick(now, wanted, idle && life.writes.is_empty());
                if leaving {
                    seam.hear(now, Input::Leave);
                }
                subjects = seam.protocol().subjects();
            }
            if seam.protocol().has_left() {
                drop(seam);
                self.tell(|| format!("{index} has left"));
                self.machines[index].lives += 1;
                self.machines[index].life = None;
                return Ok(());
            }
        }
        if !subjects.is_empty() {
            life.subjects.clone_from(&subjects);
            for subject in subjects {
                if self.engine.depth(subject) > 0 {
                    self.deliver(subject);
                }
            }
        }
        self.drive(index, Vec::new())
    }

    /// Lets the keeper think, and does what it and the fleet want.
    pub(super) fn drive(&mut self, index: usize, mut events: Vec<Told>) -> Result<(), Broken> {
        loop {
            let machine = &mut self.machines[index];
            let now = machine.clock(self.now);
            let Some(life) = &mut machine.life else {
                return Ok(());
            };
            let (orders, wishes, over) = {
                let mut seam = life.seam();
                (
                    seam.take_orders(),
                    seam.take_wishes(),
                    seam.lost().is_some(),
                )
            };
            if over {
                self.reset(index);
                return Ok(());
            }
            for order in &orders {
                self.story
                    .push(format!("{:10.3} {index} {order:?}", self.now));
            }
            events.extend(orders.into_iter().map(Told::Fleet));
            let actions = life.keeper.step(now, events.drain(..));
            for write in actions.writes {
                if let Write::Visited(visited) = &write {
                    life.unwritten.insert(visited.done.page.0);
                }
                if matches!(write, Write::Export { .. }) {
                    self.dues.extend(life.dues());
                }
                life.writes.push(write);
            }
            let to_commit = !life.writes.is_empty() || life.seam().has_commits();
            if to_commit && !std::mem::replace(&mut life.commit_due, true) {
                let slow = self.now < self.calm_from && self.random.random_range(0..20) == 0;
                let takes = if slow { SLOW_COMMITS } else { COMMITS };
                self.push(self.now + takes, index, Event::Commit);
            }
            for wish in wishes {
                self.send(index, wish);
            }
            for job in actions.jobs {
                self.begin(index, job)?;
            }
            let machine = &mut self.machines[index];
            let Some(life) = &mut machine.life else {
                return Ok(());
            };
            let (deadline, more) = {
                let seam = life.seam();
                (seam.deadline(), seam.has_orders())
            };
            if more {
                continue;
            }
            let until = actions.until.min(deadline);
            let at = machine.when(until).max(self.now + 1e-4);
            let life = machine.life.as_mut().expect("it runs");
            if at < life.wakes_at {
                life.wakes_at = at;
                self.push(at, index, Event::Wake);
            }
            return Ok(());
        }
    }

    pub(super) fn commit(&mut self, index: usize) -> Result<(), Broken> {
        let machine = &mut self.machines[index];
        let Some(life) = &mut machine.life else {
            return Ok(());
        };
        life.commit_due = false;
        life.unwritten.clear();
        let writes = std::mem::take(&mut life.writes);
        let stored = life.archivist.write(writes);
        let stored = stored.map_err(|error| Broken {
            rule: "the archivist writes",
            what: error.to_string(),
        })?;
        // W13 and W14: what was written, and what each visited row depends on
        let session = life.seam().protocol().session();
        for records in &stored.fleet.commits {
            self.checks.wrote(index, records)?;
            if let Some(session) = session {
                self.checks.visited(session, records);
            }
        }
        for records in &stored.fleet.commits {
            self.tell(|| format!("{index} commits {}", words(records)));
        }
        self.compare_rows(index, &stored)?;
        self.report.refused += stored.fleet.refused;
        self.report.unlearnt += stored.fleet.unlearnt;
        self.report.trapped += stored.trapped;
        let arrived = (stored.fleet.arrived.iter())
            .filter(|arrived| arrived.row.state == PageState::Live)
            .map(|arrived| arrived.page);
        let arrived: Vec<PageId> = arrived.collect();
        self.drive(index, vec![Told::Stored(Box::new(stored))])?;
        self.compare_dues(index, &arrived);
        Ok(())
    }

    /// A job begins; it ends after a while.
    fn begin(&mut self, index: usize, job: Job) -> Result<(), Broken> {
        let Job { ticket, task } = job;
        match task {
            Task::Resolve { name } => broken(
                "names are bound by the fleet",
                format!("{index} resolves {name} itself"),
            ),
            Task::Robots {
                url,
                address,
                previous,
                hops,
            } => {
                if !self.pass(index, ticket, &url, address)? {
                    return Ok(());
                }
                self.report.robots += 1;
                let took = self.random.random_range(0.03..2.0);
                let host = url.host_str().and_then(RealWeb::host);
                let moved = host.and_then(|host| self.web.robots_moved(host));
                let robots = if let Some(to) = moved {
                    let hops = hops + 1;
                    Told::RobotsMoved { ticket, to, hops }
                } else {
                    let at = self.machines[index].clock(self.now).at + took;
                    let fetched = Fetched::Answer {
                        status: 200,
                        body: b"User-agent: *\nDisallow: /private\n",
                    };
                    let standing = Standing::after(previous.as_deref(), fetched, None, at);
                    Told::Robots {
                        ticket,
                        standing: Arc::new(standing),
                        failure: None,
                        record: None,
                    }
                };
                let heard = vec![ended(ticket, took), robots];
                self.push(self.now + took, index, Event::Ended(ticket, heard));
                Ok(())
            }
            Task::Visit(visit) => self.visit(index, ticket, &visit),
        }
    }

    fn visit(&mut self, index: usize, ticket: u64, visit: &Visit) -> Result<(), Broken> {
        let machine = &self.machines[index];
        let now = machine.clock(self.now);
        let life = machine.life.as_ref().expect("it runs");
        let page = visit.page.0;
        if life.unwritten.contains(&page) {
            return broken(
                "W6 on disk first",
                format!("{index} asks for page {page} before its last visit is on disk"),
            );
        }
        let row = life
            .reader
            .page(visit.page)
            .ok()
            .flatten()
            .unwrap_or_default();
        let known = life.reader.address(visit.page).expect("it is known");
        let url = match life.intake.judge(&life.reader, visit, &known, &row, now) {
            Ok(url) => url,
            Err(visited) => {
                let unused = Told::Ended {
                    ticket,
                    answer: None,
                    bytes: 0,
                };
                let heard = vec![unused, Told::Visited { ticket, visited }];
                self.push(self.now, index, Event::Told(heard));
                return Ok(());
            }
        };
        if !self.pass(index, ticket, &url, visit.address)? {
            return Ok(());
        }
        let place = self.web.place(&url);
        let asked = match &place {
            Place::Page(page) => Some(*page),
            _ => None,
        };
        let validators = Intake::validators(visit, &row);
        let etag = validators.as_ref().and_then(|v| v.etag.as_deref());
        let name = url.host_str().unwrap_or_default().to_owned();
        let peace = self
            .spec
            .retry_after
            .filter(|_| self.ledger.wants_peace(&name));
        let vanished = self.spec.vanish.is_some_and(|at| self.now >= at);
        let gone = |page: &Page| vanished && page.number % 4 == 3 && self.ledger.visits(*page) > 0;
        let place = match place {
            Place::Page(page) if gone(&page) => Place::Nothing,
            place => place,
        };
        if let (Some(page), None) = (asked, peace) {
            if self.ledger.moved_to(page, index) && row.etag.is_some() {
                self.report.moved_again += 1;
                self.report.moved_conditional += u64::from(validators.is_some());
            }
            let again = self.ledger.had(page);
            self.report.again += u64::from(again);
            self.report.conditional += u64::from(again && validators.is_some());
        }
        let exchange = match peace {
            Some(seconds) => RealWeb::busy(seconds, visit.address),
            None => self.web.answer(&place, etag, visit.address),
        };
        let from = Standpoint {
            page: visit.page,
            url: &url,
            depth: known.depth,
            at: (now.wall * 1e3) as i64,
        };
        let life = self.machines[index].life.as_ref().expect("it runs");
        let visited = life
            .intake
            .take_in(visit, from, now, row, &exchange, validators.is_some());
        let took = self.random.random_range(0.03..2.0);
        let visited = Box::new(visited);
        let mut heard = vec![ended(ticket, took), Told::Visited { ticket, visited }];
        if let Some(seconds) = peace {
            self.report.peace += 1;
            self.ledger.leave_alone(&name, self.now + took + seconds);
            let retry_after = Some(seconds);
            heard[0] = Told::Ended {
                ticket,
                answer: Some(Answer::Slower { retry_after }),
                bytes: 0,
            };
        }
        self.push(self.now + took, index, Event::Ended(ticket, heard));
        Ok(())
    }

    /// The gate: whether the request leaves.
    fn pass(&mut self, index: usize, ticket: u64, url: &Url, ip: IpAddr) -> Result<bool, Broken> {
        let machine = &mut self.machines[index];
        let now = machine.clock(self.now);
        let life = machine.life.as_mut().expect("it runs");
        let passed = life.seam().pass(now, ip);
        if let Err(until) = passed
            && !self.spec.no_gate
        {
            self.report.stopped += 1;
            let barred = Told::Barred { ticket, until };
            self.push(self.now, index, Event::Told(vec![barred]));
            return Ok(false);
        }
        let name = url.host_str().unwrap_or("").to_owned();
        life.under_way.insert(ticket, (name.clone(), ip));
        self.tell(|| format!("{index} asks {ip} for {url}"));
        self.judge_request(index, &name, ip)?;
        Ok(true)
    }

    /// A request ends; false if it has before.
    pub(super) fn end_request(&mut self, index: usize, ticket: u64) -> bool {
        let life = self.machines[index].life.as_mut();
        let Some((name, ip)) = life.and_then(|life| life.under_way.remove(&ticket)) else {
            return false;
        };
        self.ledger.end(&name, ip, self.now);
        true
    }
}

/// Records in a few words.
fn words(records: &[Record]) -> String {
    let word = |record: &Record| match record {
        Record::Admit(parcel) => format!("admit {}", parcel.url),
        Record::Waiting(parcel) => format!("waiting {}", parcel.url),
        Record::Out(number, Cargo::Url(parcel)) => format!("out {number} {}", parcel.url),
        Record::Out(number, Cargo::Moved(notice)) => format!("out {number} {}", notice.unit),
        Record::Row(unit, bytes) => format!("row of {unit} ({} bytes)", bytes.len()),
        Record::Adopted(plan) => format!("plan {}", plan.version),
        Record::Granted(grant) => format!("division {}", grant.round),
        other => format!("{other:?}"),
    };
    records.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn ended(ticket: u64, took: f64) -> Told {
    Told::Ended {
        ticket,
        answer: Some(Answer::Fine { seconds: took }),
        bytes: 1000,
    }
}
