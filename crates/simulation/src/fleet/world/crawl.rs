//! What processes do for themselves: write to disk, and fetch.

use fleet::flaw::Flaw;
use fleet::identity::Unit;
use fleet::io::{Input, Output, Token};
use fleet::record::{Record, is_checkpoint};
use rand::RngExt;

use super::super::checks::{Broken, broken};
use super::super::process::{Writing, apply, row};
use super::super::web::{Page, Request, Web};
use super::{Event, Happening, World};

impl World<'_> {
    pub(super) fn perform(&mut self, index: usize, outputs: Vec<Output>) -> Result<(), Broken> {
        for output in outputs {
            match output {
                Output::Write(number, records) => {
                    let robot = self.processes[index].settings.robot;
                    self.note_sent(robot, &records);
                    let fast = self.rng.random_range(2..40);
                    let process = &mut self.processes[index];
                    apply(&mut process.rows, &records);
                    process.unwritten.push_back((number, records));
                    let slow = if self.now < self.calm_from {
                        process.slow
                    } else {
                        0
                    };
                    let extra = if slow > 0 {
                        self.rng.random_range(0..slow)
                    } else {
                        0
                    };
                    let process = &mut self.processes[index];
                    let at = process.commit_at(self.now, fast + extra);
                    self.push(at, index, Event::Written(number));
                }
                Output::Resolve(name) => {
                    let robot = self.processes[index].settings.robot;
                    let server = self.web.resolve(Web::host(&name), robot, self.now);
                    let at = self.now + self.rng.random_range(5..300);
                    let input = Input::Resolved(name, Some(server));
                    self.push(at, index, Event::Hear(vec![input]));
                }
                Output::Survey(token, from) => {
                    let process = &self.processes[index];
                    let (records, next) = process.survey(&self.web, from);
                    let surveyed = Input::Surveyed {
                        token,
                        records,
                        next,
                    };
                    // when all that was written before is on disk
                    let at = self.now.max(process.commits.1) + self.rng.random_range(1..50);
                    self.push(at, index, Event::Hear(vec![surveyed]));
                }
                Output::Recall(numbers) => {
                    let found = self.processes[index].recall(&numbers);
                    self.report.recalled += found.len() as u64;
                    for part in found.chunks(2) {
                        let at = self.now + self.rng.random_range(1..50);
                        let recalled = Input::Recalled(part.to_vec());
                        self.push(at, index, Event::Hear(vec![recalled]));
                    }
                }
                Output::Open(unit, from) => self.open(index, unit, from)?,
                Output::Close(token, unit) => self.close(index, token, unit),
                Output::Forget(unit) => {
                    let process = &mut self.processes[index];
                    let robot = process.settings.robot;
                    process.rows.remove(&unit);
                    process.lines.remove(&unit);
                    self.report.handed += 1;
                    self.note(Some(index), Happening::Hands);
                    self.tell(|| format!("{robot} has handed {unit} over"));
                }
                // whoever looks after the machine starts it again
                Output::Reset | Output::Replaced => {
                    let robot = self.processes[index].settings.robot;
                    self.tell(|| format!("{robot} lost its share and begins anew"));
                    self.processes[index].die();
                    self.note(Some(index), Happening::Ends);
                    self.processes[index].wipe();
                    self.checks.wiped(index);
                    let at = self.now + 500;
                    self.push(at, index, Event::Start);
                    return Ok(());
                }
                wish => {
                    if let Output::Remove(name) = &wish {
                        self.removing.insert(name.clone(), self.now);
                    }
                    self.send(index, wish);
                }
            }
        }
        Ok(())
    }

    pub(super) fn written(&mut self, index: usize, number: u64) -> Result<(), Broken> {
        let process = &mut self.processes[index];
        if let Some((loses_disk, down)) = process.doomed.take() {
            self.kill(index, loses_disk, down);
            return Ok(());
        }
        while let Some((_, records)) = process.unwritten.pop_front_if(|(n, _)| *n <= number) {
            self.checks.wrote(index, &records)?;
            for record in records.iter().filter(|_| !is_checkpoint(&records)) {
                if let Record::Adopted(plan) = record {
                    self.adoptions.push((self.now, plan.group));
                }
            }
            self.report.checkpoints += u64::from(is_checkpoint(&records));
            let renumbered = matches!(records[..], [Record::Renumbered(..)]);
            self.report.renumbered += u64::from(renumbered);
            process.committed(records);
        }
        self.report.longest_disk = self.report.longest_disk.max(process.disk.len() as u64);
        self.hear(index, Input::Committed(number))
    }

    fn open(&mut self, index: usize, unit: Unit, from: u64) -> Result<(), Broken> {
        let robot = self.processes[index].settings.robot;
        self.tell(|| format!("{robot} owns {unit}"));
        self.note(Some(index), Happening::Opens);
        // an engine that forgets renewals makes others think a sleeper dead whose own lease holds:
        // then the quiet time holds alone, and requests are what counts
        if !self.forgetful {
            self.alone(index, unit)?;
        }
        if matches!(unit, Unit::Server(_)) {
            let process = &mut self.processes[index];
            let line = process.lines.entry(unit).or_default();
            line.closing = None;
            line.next = line.next.max(from);
            self.look(index);
            return Ok(());
        }
        Ok(())
    }

    /// W1: nobody else who could act owns the unit.
    fn alone(&self, index: usize, unit: Unit) -> Result<(), Broken> {
        for (other, process) in self.processes.iter().enumerate() {
            let Some(robot) = process.robot.as_ref().filter(|_| other != index) else {
                continue;
            };
            let local = process.clock.local(self.now);
            if robot.lease_valid(local) && robot.owned().any(|owned| owned == unit) {
                let (a, b) = (self.processes[index].settings.robot, process.settings.robot);
                return broken("W1 one owner", format!("{a} and {b} own {unit}"));
            }
        }
        Ok(())
    }

    fn close(&mut self, index: usize, token: Token, unit: Unit) {
        let process = &mut self.processes[index];
        let robot = process.settings.robot;
        let line = process.lines.entry(unit).or_default();
        line.closing = Some(token);
        // a request at the gate is as good as under way
        let busy = line.busy || process.writing.is_some_and(|writing| writing.unit == unit);
        self.tell(|| format!("{robot} closes {unit}"));
        if !busy {
            self.export(index, token, unit);
        }
    }

    fn export(&mut self, index: usize, token: Token, unit: Unit) {
        let (records, ages) = self.processes[index].export(unit, &self.web, self.now);
        let input = Input::Exported {
            token,
            unit,
            records,
            ages,
        };
        // told in its own turn, so that the protocol is never called inside itself
        self.push(self.now, index, Event::Hear(vec![input]));
    }

    /// Sends the next request to the gate, or looks again when one may go.
    pub(super) fn look(&mut self, index: usize) {
        let visits = self.scenario.visits;
        let now = self.now;
        let process = &mut self.processes[index];
        let Some(robot) = &process.robot else {
            return;
        };
        if process.writing.is_some() {
            return;
        }
        let local = process.clock.local(now);
        let paced = robot.paced();
        let mut soonest = u64::MAX;
        let mut chosen = None;
        for (&unit, line) in &process.lines {
            if line.busy || line.closing.is_some() {
                continue;
            }
            let Some(page) = process.next_page(unit, visits) else {
                continue;
            };
            let at = line.next.max(paced);
            if at <= local && robot.may_request(local, unit) {
                // of all that may be asked, the page that was seen least
                let seen = process.rows[&unit][&page];
                if chosen.is_none_or(|(least, _, _)| seen < least) {
                    chosen = Some((seen, unit, page));
                }
            }
            if at > local {
                soonest = soonest.min(at);
            }
        }
        if let Some((_, unit, page)) = chosen {
            process.writing = Some(Writing {
                unit,
                page,
                checked: now,
            });
            self.push(now + 1, index, Event::Bytes);
            if let Some(sleep) = self.processes[index].sleepy.take() {
                self.report.pauses_at_gate += 1;
                self.pause(index, sleep);
            }
        } else if soonest < u64::MAX {
            let at = process.clock.when(soonest);
            // ticks come every second anyway
            if at < now + 1_000 && (process.look_at <= now || at < process.look_at) {
                process.look_at = at.max(now + 1);
                self.push(at.max(now + 1), index, Event::Look);
            }
        }
    }

    pub(super) fn bytes(&mut self, index: usize) -> Result<(), Broken> {
        let now = self.now;
        let process = &mut self.processes[index];
        let (Some(writing), Some(robot)) = (process.writing.take(), &mut process.robot) else {
            return Ok(());
        };
        let Writing {
            unit,
            page,
            checked,
        } = writing;
        let local = process.clock.local(now);
        let (slept, valid) = (now > checked + 1, robot.lease_valid(local));
        let session = robot.session();
        robot.requested(local);
        let id = process.settings.robot;
        let line = process.lines.entry(unit).or_default();
        line.busy = true;
        line.last = Some(local);
        line.next = local + self.scenario.interval;
        let lasts = self.rng.random_range(30..2_000);
        let lasts = if self.rng.random_range(0..20) == 0 {
            lasts * 4
        } else {
            lasts
        };
        let Unit::Server(server) = unit else {
            return Ok(());
        };
        self.report.requests += 1;
        self.push(now + lasts, index, Event::Ended(unit, page));
        if slept && !valid {
            // the one that nobody can prevent
            self.report.late += 1;
            self.web.late(page);
            self.tell(|| format!("{id} asks {server} in its sleep"));
            self.look(index);
            return Ok(());
        }
        if !valid {
            return broken("W15 no lease, no request", format!("{id} asks {server}"));
        }
        self.requests.push((now, index, page));
        self.tell(|| format!("{id} {session:?} asks {server} for {page:?}"));
        self.alone(index, unit)?;
        self.checks.requested(now, self.scenario.budget)?;
        let request = Request {
            robot: id,
            start: now,
            end: now + lasts,
        };
        if let Some(last) = self
            .web
            .request(page, server, request, self.scenario.interval)
        {
            return broken(
                "W3/W4 politeness",
                format!("{id} asks {server} for {page:?}; before: {last:?}"),
            );
        }
        self.look(index);
        Ok(())
    }

    pub(super) fn ended(&mut self, index: usize, unit: Unit, page: Page) -> Result<(), Broken> {
        let own_dns = self.scenario.flaw == Some(Flaw::OwnDns);
        let (now, process) = (self.now, &mut self.processes[index]);
        let Some(robot) = &mut process.robot else {
            return Ok(());
        };
        let line = process.lines.entry(unit).or_default();
        line.busy = false;
        if let (Some(long), Unit::Server(server)) = (self.scenario.retry_after, unit)
            // clocks run one per cent fast or slow
            && self.web.wants_peace(server, now + long * 97 / 100)
        {
            line.next = line.next.max(process.clock.local(now) + long);
        }
        let closing = line.closing;
        let id = process.settings.robot;
        let seen = process.rows.get(&unit).and_then(|rows| rows.get(&page));
        let visits = seen.copied().unwrap_or(0) + 1;
        let mut links: Vec<_> = self.web.links(page).collect();
        let read = (visits == 1).then(|| self.web.reading(page));
        let delay = match (self.scenario.distance, unit) {
            (Some(distance), Unit::Server(server)) => Some(distance(index, server)),
            _ => None,
        };
        for link in &mut links {
            if own_dns {
                link.server = Some(self.web.resolve(Web::host(&link.name), id, now));
            }
        }
        let local = process.clock.local(now);
        let outputs = robot.handle(
            local,
            Input::Visited {
                unit,
                row: row(page, visits),
                links,
                read,
                delay,
            },
        );
        if let Some(session) = robot.session() {
            for output in &outputs {
                if let Output::Write(_, records) = output {
                    self.checks.visited(session, records);
                }
            }
        }
        self.perform(index, outputs)?;
        if let Some(token) = closing {
            self.export(index, token, unit);
        }
        self.look(index);
        Ok(())
    }
}
