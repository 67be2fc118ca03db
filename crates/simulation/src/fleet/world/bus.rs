//! Between processes and the engine: delays, losses, doubles, gaps.

use std::sync::Arc;

use fleet::identity::Millis;
use fleet::io::{Delivery, Input, Outcome, Output};
use fleet::key::{Key, Value};
use fleet::parcel::{Cargo, Message, Subject};
use rand::RngExt;

use super::super::checks::{Broken, broken, moves_only_what_it_must};
use super::{Event, Happening, NOBODY, World};
use crate::fleet::engine::unanswered;
use crate::fleet::hands::Reader;

/// A process that gets no answer gives up after this.
const TIMEOUT: Millis = 5_000;
/// A delivery that is not acknowledged comes again after this.
const ACKNOWLEDGE: Millis = 15_000;
/// One that was returned comes again after this.
const AGAIN: Millis = 1_000;

impl World<'_> {
    fn delay(&mut self) -> Millis {
        if self.noisy() && self.rng.random_range(0..20) == 0 {
            return self.rng.random_range(100..3_000);
        }
        self.rng.random_range(2..40)
    }

    /// How far a robot's place is from the engine.
    fn away(&self, index: usize) -> Millis {
        self.scenario.delays.get(index).copied().unwrap_or(0)
    }

    fn noisy(&self) -> bool {
        self.scenario.noisy && self.now < self.calm_from
    }

    /// Whether something gets lost on the way.
    fn lost(&mut self, index: usize) -> bool {
        let cut = self
            .processes
            .get(index)
            .is_some_and(|p| p.cut_until > self.now);
        cut || (self.noisy() && self.rng.random_range(0..50) == 0)
    }

    pub(super) fn send(&mut self, index: usize, output: Output) {
        if let Output::Acknowledge(delivery) | Output::Return(delivery) = output {
            self.hands.let_go(delivery);
        }
        if self.lost(index) {
            return self.no_answer(index, &output);
        }
        let at = self.now + self.delay() + self.away(index);
        self.push(at, index, Event::Reach(output));
    }

    /// The process will give up on it.
    fn no_answer(&mut self, index: usize, output: &Output) {
        let Some(input) = unanswered(output) else {
            return;
        };
        let at = self.now + TIMEOUT;
        self.push(at, index, Event::Hear(vec![input]));
    }

    fn answer(&mut self, index: usize, output: &Output, inputs: Vec<Input>) {
        if self.lost(index) {
            return self.no_answer(index, output);
        }
        let mut at = self.now + self.delay() + self.away(index);
        let late = self.processes[index].late_until;
        if late > self.now && matches!(output, Output::Swap { .. } | Output::Poll(_)) {
            at = late + 1;
        }
        self.push(at, index, Event::Hear(inputs));
    }

    pub(super) fn reach(&mut self, index: usize, output: Output) -> Result<(), Broken> {
        let now = self.now;
        if now < self.gap_until {
            self.no_answer(index, &output);
            if self.rng.random() {
                let at = self.gap_until + self.rng.random_range(1..500);
                self.push(at, index, Event::Reach(output));
            }
            return Ok(());
        }
        let inputs = match &output {
            Output::Poll(group) => {
                let stale = self.noisy() && self.rng.random_range(0..10) == 0;
                let lag = if stale { 3_000 } else { 0 };
                let cells = self.engine.read(now, *group, lag);
                let reads = cells.into_iter().map(|(key, revision, value)| Input::Read {
                    key,
                    revision,
                    value,
                });
                reads.chain([Input::Polled(*group)]).collect()
            }
            Output::Swap {
                token,
                key,
                revision,
                value,
            } => {
                let outcome = self.swap(*key, *revision, value)?;
                vec![Input::Outcome(*token, outcome)]
            }
            Output::Publish {
                token,
                subject,
                message,
            } => {
                let crowd = |most| self.engine.crowd(subject.group) >= most;
                let full = (now < self.full_until && matches!(message, Message::Batch(_)))
                    || self.scenario.stream.is_some_and(crowd);
                let outcome = if full {
                    self.report.refused += 1;
                    Outcome::Refused
                } else {
                    self.publish(*subject, message)
                };
                vec![Input::Outcome(*token, outcome)]
            }
            Output::Acknowledge(delivery) => {
                self.acknowledged(*delivery);
                return Ok(());
            }
            Output::Return(delivery) => {
                self.returned(*delivery);
                return Ok(());
            }
            Output::Append {
                session,
                expected,
                entries,
            } => {
                let tail = self.engine.append(*session, *expected, entries);
                self.report.appends_refused += u64::from(tail.sealed);
                if !tail.sealed && tail.entries == Some(expected + entries.len() as u64) {
                    for entry in entries {
                        self.checks.logged(*session, entry)?;
                    }
                }
                vec![Input::Log(tail)]
            }
            Output::Tail(session) => vec![Input::Log(self.engine.tail(*session))],
            Output::Purge(session, upto) => {
                self.report.purged += self.engine.purge(*session, *upto);
                return Ok(());
            }
            Output::Seal(token, session) => {
                self.engine.seal(*session);
                self.report.evicted += 1;
                self.tell(|| format!("the log of {session:?} is sealed"));
                vec![Input::Outcome(*token, Outcome::Done(0))]
            }
            Output::Replay(session) => vec![Input::Records(*session, self.engine.replay(*session))],
            Output::Put(token, name, bytes) => {
                // the engine may say that it has an object and not have it
                if !(self.noisy() && self.rng.random_range(0..40) == 0) {
                    self.engine.put(name.clone(), Arc::clone(bytes));
                }
                vec![Input::Outcome(*token, Outcome::Done(0))]
            }
            Output::Get(name) => vec![Input::Object(name.clone(), self.engine.object(name))],
            Output::Remove(name) => {
                self.engine.remove(name);
                return Ok(());
            }
            Output::Sweep(session, needed) => {
                self.engine.sweep(*session, needed);
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.answer(index, &output, inputs);
        Ok(())
    }

    pub(super) fn swap(
        &mut self,
        key: Key,
        revision: u64,
        value: &Value,
    ) -> Result<Outcome, Broken> {
        if let (Value::Plan(plan), Some((_, Value::Plan(before)))) = (value, self.engine.get(&key))
        {
            let addresses = self.web.addresses();
            moves_only_what_it_must(before, plan, &addresses, self.scenario.flaw)?;
        }
        let outcome = self.engine.swap(self.now, key, revision, value.clone());
        let Outcome::Done(revision) = outcome else {
            return Ok(outcome);
        };
        self.report.swaps += 1;
        let bytes = fleet::wire::encode(value).len() as u64;
        match value {
            Value::Lease(_) => self.report.lease_bytes = self.report.lease_bytes.max(bytes),
            Value::Plan(_) => self.report.plan_bytes = self.report.plan_bytes.max(bytes),
            Value::Summary(_) => self.report.summary_bytes = self.report.summary_bytes.max(bytes),
            _ => {}
        }
        match value {
            Value::Lease(lease) if lease.sealed => self.lease_is_over(lease.session)?,
            Value::Plan(plan) => {
                self.note(None, Happening::Plan);
                self.tell(|| {
                    let members: Vec<String> = (plan.seats.iter())
                        .map(|s| format!("{:?}.{} {:?}", s.member, s.incarnation, s.standing))
                        .collect();
                    let dead = &plan.dead;
                    format!(
                        "plan {} of {} by {}: {}; dead {dead:?}",
                        plan.version,
                        plan.group,
                        plan.maker,
                        members.join(", ")
                    )
                });
            }
            _ => {}
        }
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            let robot = process.robot.as_ref();
            let reads = robot.is_some_and(|robot| robot.above().any(|group| group == key.group));
            // watches are late or hang
            if !reads || (self.scenario.noisy && self.rng.random_range(0..10) == 0) {
                continue;
            }
            let value = value.clone();
            let input = Input::Read {
                key,
                revision,
                value,
            };
            if self.lost(index) {
                continue;
            }
            let mut at = self.now + self.delay() + self.away(index);
            // what comes to it is late by whichever way
            let late = self.processes[index].late_until;
            if late > self.now {
                at = late + 1;
            }
            self.push(at, index, Event::Hear(vec![input]));
        }
        Ok(outcome)
    }

    /// W15: when others say that a session is over, its holder says so too.
    fn lease_is_over(&mut self, session: fleet::identity::Session) -> Result<(), Broken> {
        self.tell(|| format!("the lease of {session:?} is sealed"));
        let holder = self
            .processes
            .iter()
            .find(|p| p.settings.robot == session.robot);
        let Some((process, robot)) = holder.and_then(|p| Some((p, p.robot.as_ref()?))) else {
            return Ok(());
        };
        let local = process.clock.local(self.now);
        // an engine that forgets renewals may be trusted less: then the quiet time holds alone
        if robot.session() == Some(session) && robot.lease_until() > local && !self.forgetful {
            let left = robot.lease_until() - local;
            return broken(
                "W15 leases end first for the holder",
                format!("{} still has {left} ms", session.robot),
            );
        }
        Ok(())
    }

    fn publish(&mut self, subject: Subject, message: &Message) -> Outcome {
        self.report.messages += 1;
        if let Message::Batch(batch) = message {
            self.report.most_hops = self.report.most_hops.max(batch.hops);
            if batch.hops > 0 {
                self.report.passed_on += batch.entries.len() as u64;
            }
            for (number, cargo) in &batch.entries {
                self.report.entries += u64::from(matches!(cargo, Cargo::Url(_)));
                self.checks.published(batch.origin.session, *number);
            }
        }
        let id = self.engine.publish(subject, Arc::new(message.clone()));
        self.deliver(subject);
        Outcome::Done(id)
    }

    fn acknowledged(&mut self, delivery: Delivery) {
        if let Some(subject) = self.hands.acknowledged(&mut self.engine, delivery) {
            self.deliver_if_starved(subject);
        }
    }

    fn returned(&mut self, delivery: Delivery) {
        let again = self.now + AGAIN;
        if let Some(subject) = self.hands.returned(&mut self.engine, delivery, again) {
            self.push(again, NOBODY, Event::Deliver(subject));
            self.deliver_if_starved(subject);
        }
    }

    fn deliver_if_starved(&mut self, subject: Subject) {
        if self.hands.was_starved(subject) {
            self.deliver(subject);
        }
    }

    /// Gives what waits in a queue to whoever reads it.
    pub(super) fn deliver(&mut self, subject: Subject) {
        let now = self.now;
        let readers: Vec<Reader> = (self.processes.iter().enumerate())
            .filter(|(_, process)| {
                process.robot.is_some()
                    && process.cut_until <= now
                    && process.subjects.contains(&subject)
            })
            .map(|(index, process)| (index, process.life))
            .collect();
        let times = (now, now + ACKNOWLEDGE);
        let taken = (self.hands).take(&mut self.engine, &readers, subject, times);
        for (id, message) in taken {
            let copies = 1 + usize::from(self.noisy() && self.rng.random_range(0..60) == 0);
            for _ in 0..copies {
                let wanted = self.rng.random_range(0..readers.len());
                let Some((delivery, to)) = self.hands.give(id, &readers, wanted, subject) else {
                    break;
                };
                let input = Input::Message(delivery, Message::clone(&message));
                let at = now + self.delay() + self.away(to);
                self.push(at, to, Event::Hear(vec![input]));
            }
        }
        if self.engine.depth(subject) > 0 && self.scheduled.insert(subject) {
            self.push(now + ACKNOWLEDGE, NOBODY, Event::Deliver(subject));
        }
    }
}
