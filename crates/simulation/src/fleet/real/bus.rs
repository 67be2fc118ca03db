//! Between robots and the engine: delays, losses, doubles, gaps.

use std::sync::Arc;

use fleet::filter::Block;
use fleet::identity::Member;
use fleet::io::{Delivery, Input, Outcome, Output};
use fleet::key::Value;
use fleet::parcel::Cargo;
use fleet::plan::Standing;
use partition::routing::Prefix;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::checks::{Broken, broken};
use super::super::engine::unanswered;
use super::super::hands::Reader;
use super::{Event, GROUP, Message, NOBODY, Real, Subject};

/// A robot that gets no answer gives up after so many seconds.
const TIMEOUT: f64 = 5.0;
/// A delivery that is not acknowledged comes again after this.
const ACKNOWLEDGE: f64 = 15.0;
/// One that was returned comes again after this.
const AGAIN: f64 = 1.0;

impl Real {
    fn ticks(&self) -> u64 {
        (self.now * 1e3) as u64
    }

    fn noisy(&self) -> bool {
        self.spec.noisy && self.now < self.calm_from
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.noisy() && self.random.random_range(0..many) == 0
    }

    fn delay(&mut self) -> f64 {
        if self.one_in(20) {
            return self.random.random_range(0.1..3.0);
        }
        self.random.random_range(0.002..0.04)
    }

    fn lost(&mut self, index: usize) -> bool {
        self.machines[index].cut_until > self.now || self.one_in(50)
    }

    pub(super) fn send(&mut self, index: usize, wish: Output) {
        if let Output::Resolve(name) = &wish {
            let robot = super::identity(index);
            let server = self.web.resolve(name, robot, self.now);
            let input = Input::Resolved(name.clone(), server);
            let at = self.now + self.random.random_range(0.005..0.3);
            return self.push(at, index, Event::Hear(vec![input]));
        }
        if let Output::Acknowledge(delivery) | Output::Return(delivery) = wish {
            self.hands.let_go(delivery);
        }
        if self.lost(index) {
            return self.no_answer(index, &wish);
        }
        let at = self.now + self.delay();
        self.push(at, index, Event::Reach(wish));
    }

    fn no_answer(&mut self, index: usize, wish: &Output) {
        let Some(input) = unanswered(wish) else {
            return;
        };
        self.push(self.now + TIMEOUT, index, Event::Hear(vec![input]));
    }

    /// What nobody needs any more, and nobody is told of.
    fn forget(&mut self, wish: &Output) {
        match wish {
            Output::Purge(session, upto) => {
                self.report.purged += self.engine.purge(*session, *upto);
            }
            Output::Remove(name) => self.engine.remove(name),
            Output::Sweep(session, needed) => self.engine.sweep(*session, needed),
            _ => {}
        }
    }

    pub(super) fn reach(&mut self, index: usize, wish: &Output) -> Result<(), Broken> {
        if self.now < self.gap_until {
            self.no_answer(index, wish);
            return Ok(());
        }
        let inputs = match wish {
            Output::Poll(group) => {
                let lag = if self.one_in(10) { 3_000 } else { 0 };
                let cells = self.engine.read(self.ticks(), *group, lag);
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
                let outcome = self
                    .engine
                    .swap(self.ticks(), *key, *revision, value.clone());
                if let Outcome::Done(revision) = outcome {
                    self.swapped(value)?;
                    for other in 0..self.machines.len() {
                        if self.lost(other) || self.one_in(10) {
                            continue;
                        }
                        let input = Input::Read {
                            key: *key,
                            revision,
                            value: value.clone(),
                        };
                        let at = self.now + self.delay();
                        self.push(at, other, Event::Hear(vec![input]));
                    }
                }
                vec![Input::Outcome(*token, outcome)]
            }
            Output::Publish {
                token,
                subject,
                message,
            } => {
                let outcome = self.publish(*subject, message);
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
                if !tail.sealed && tail.entries == Some(expected + entries.len() as u64) {
                    for entry in entries {
                        self.checks.logged(*session, entry)?;
                    }
                }
                vec![Input::Log(tail)]
            }
            Output::Tail(session) => vec![Input::Log(self.engine.tail(*session))],
            Output::Seal(token, session) => {
                self.engine.seal(*session);
                self.report.evicted += 1;
                self.tell(|| format!("the log of {session:?} is sealed"));
                vec![Input::Outcome(*token, Outcome::Done(0))]
            }
            Output::Replay(session) => {
                vec![Input::Records(*session, self.engine.replay(*session))]
            }
            Output::Put(token, name, bytes) => {
                // the engine may say that it has an object and not have it
                if !self.one_in(40) {
                    self.engine.put(name.clone(), Arc::clone(bytes));
                }
                vec![Input::Outcome(*token, Outcome::Done(0))]
            }
            Output::Get(name) => vec![Input::Object(name.clone(), self.engine.object(name))],
            other => {
                self.forget(other);
                return Ok(());
            }
        };
        if self.lost(index) {
            self.no_answer(index, wish);
        } else {
            let at = self.now + self.delay();
            self.push(at, index, Event::Hear(inputs));
        }
        Ok(())
    }

    /// W15: when others say that a session is over, its holder says so too.
    fn swapped(&mut self, value: &Value) -> Result<(), Broken> {
        match value {
            Value::Plan(plan) => {
                self.tell(|| {
                    format!(
                        "plan {} by {}, dead {:?}",
                        plan.version, plan.maker, plan.dead
                    )
                });
            }
            Value::Lease(lease) if lease.sealed => {
                let session = lease.session;
                self.tell(|| format!("the lease of {session:?} is sealed"));
                for machine in &self.machines {
                    let Some(life) = &machine.life else { continue };
                    let seam = life.seam();
                    let protocol = seam.protocol();
                    let local = (machine.clock(self.now).at * 1e3) as u64;
                    if protocol.session() == Some(session) && protocol.lease_until() > local {
                        return broken(
                            "W15 leases end first for the holder",
                            format!("{session:?}"),
                        );
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn publish(&mut self, subject: Subject, message: &Message) -> Outcome {
        if let Message::Batch(batch) = message {
            for (number, cargo) in &batch.entries {
                if let Cargo::Url(parcel) = cargo {
                    self.report.entries += u64::from(parcel.errand.is_none() && batch.hops == 0);
                    let question = |errand: &fleet::parcel::Errand| errand.answer.is_none();
                    self.report.errands += u64::from(parcel.errand.as_ref().is_some_and(question));
                    let robot = batch.origin.session.robot;
                    self.pairs.insert((robot, parcel.url.clone()));
                }
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
        let from = (again * 1e3) as u64;
        if let Some(subject) = self.hands.returned(&mut self.engine, delivery, from) {
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
        let readers: Vec<Reader> = (self.machines.iter().enumerate())
            .filter(|(_, machine)| {
                let life = machine.life.as_ref();
                machine.cut_until <= now && life.is_some_and(|l| l.subjects.contains(&subject))
            })
            .map(|(index, machine)| (index, machine.lives))
            .collect();
        let times = ((now * 1e3) as u64, ((now + ACKNOWLEDGE) * 1e3) as u64);
        let taken = (self.hands).take(&mut self.engine, &readers, subject, times);
        for (id, message) in taken {
            let copies = 1 + usize::from(self.one_in(60));
            for _ in 0..copies {
                let wanted = self.random.random_range(0..readers.len());
                let Some((delivery, to)) = self.hands.give(id, &readers, wanted, subject) else {
                    break;
                };
                let input = Input::Message(delivery, Message::clone(&message));
                let at = now + self.delay();
                self.push(at, to, Event::Hear(vec![input]));
            }
        }
        if self.engine.depth(subject) > 0 && self.scheduled.insert(subject) {
            self.push(now + ACKNOWLEDGE, NOBODY, Event::Deliver(subject));
        }
    }

    /// A table by which one robot has all servers.
    pub(super) fn give_all(&mut self, to: usize) {
        let member = Member::Robot(super::identity(to));
        let table: Vec<(Block, Member)> = (self.web.addresses().into_iter())
            .map(|address| (Block(Prefix::host(address)), member))
            .collect();
        for machine in &self.machines {
            let Some(life) = &machine.life else { continue };
            let mut seam = life.seam();
            if seam.protocol().makes(GROUP) {
                seam.protocol_mut().divide(GROUP, table.clone());
            }
        }
    }

    /// Another table, from whoever is the partitioner.
    pub(super) fn divide(&mut self, seed: u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let addresses = self.web.addresses();
        for machine in &self.machines {
            let Some(life) = &machine.life else { continue };
            let mut seam = life.seam();
            if !seam.protocol().makes(GROUP) {
                continue;
            }
            let plan = seam.protocol().plans().find(|plan| plan.group == GROUP);
            let members: Vec<Member> = (plan.into_iter())
                .flat_map(|plan| plan.seats.iter())
                .filter(|seat| seat.standing == Standing::Active)
                .map(|seat| seat.member)
                .collect();
            if members.is_empty() {
                continue;
            }
            let table = (addresses.iter())
                .filter_map(|&address| {
                    let member = members[random.random_range(0..members.len())];
                    let listed = random.random_range(0..4) > 0;
                    listed.then(|| (Block(Prefix::host(address)), member))
                })
                .collect();
            seam.protocol_mut().divide(GROUP, table);
        }
    }
}
