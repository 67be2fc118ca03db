//! URLs between robots: taken, sent, passed on, receipted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Robot, Route, Task};
use crate::counts::Reading;
use crate::flaw::Flaw;
use crate::identity::{Millis, Unit};
use crate::io::{Delivery, Outcome, Output};
use crate::parcel::{Batch, Cargo, Message, Origin, Parcel, Receipt, Subject, To};
use crate::plan::Version;
use crate::record::Record;
use crate::sent::Print;
use crate::wire::limits;

/// Most entries in one message, and about so many bytes.
const BATCH: usize = limits::SENT_ENTRIES;
const BATCH_BYTES: usize = 1 << 20;
/// Receivers with newer or older plans than the sender may pass a batch on twice beyond the
/// levels of the tree.
const EXTRA_HOPS: usize = 2;

/// Deliveries that are not acknowledged yet: how many things that waits for, and since when. What
/// is not dealt with in time is returned, and comes again as another delivery.
#[derive(Debug, Default)]
pub(super) struct Transit(BTreeMap<Delivery, (usize, Millis)>);

/// Entries for one receiver, as many in each message as it may have.
fn messages(entries: Vec<(u64, Cargo)>) -> Vec<Vec<(u64, Cargo)>> {
    let mut messages: Vec<Vec<(u64, Cargo)>> = Vec::new();
    let mut bytes = 0;
    for entry in entries {
        bytes += entry.1.bytes();
        match messages.last_mut() {
            Some(last) if last.len() < BATCH && bytes <= BATCH_BYTES => last.push(entry),
            _ => {
                bytes = entry.1.bytes();
                messages.push(vec![entry]);
            }
        }
    }
    messages
}

impl Robot {
    pub(super) fn on_message(&mut self, delivery: Delivery, message: Message) {
        match message {
            Message::Receipt(receipt) => {
                self.on_receipt(receipt);
                self.outputs.push(Output::Acknowledge(delivery));
            }
            Message::Batch(batch) => self.on_batch(delivery, batch),
        }
    }

    fn on_batch(&mut self, delivery: Delivery, batch: Batch) {
        let (group, version) = batch.by;
        let level = self.levels.iter().find(|level| level.group == group);
        let known = level.map(|level| {
            level
                .plan
                .as_ref()
                .map_or(Version::default(), |p| p.version)
        });
        // of a group that died out the plan is of no use any more
        if known.is_some_and(|known| known < version) {
            // the newer plan first; the message comes again
            self.tally.early += 1;
            self.outputs.push(Output::Poll(group));
            return self.give_back(delivery);
        }
        let mut onward: BTreeMap<Subject, Vec<(u64, Cargo)>> = BTreeMap::new();
        let mut waits = 1;
        let mut mine = Vec::new();
        if let [(_, Cargo::Seen(_))] = batch.entries[..] {
            self.transit.0.insert(delivery, (1, self.now));
            for (_, cargo) in batch.entries {
                if let Cargo::Seen(all) = cargo {
                    self.on_observed(group, all, Some(delivery));
                }
            }
            return;
        }
        for (number, cargo) in batch.entries {
            let Some(unit) = cargo.unit() else { continue };
            match self.route(unit) {
                Route::Mine => mine.push((number, cargo)),
                Route::To(subject) => onward.entry(subject).or_default().push((number, cargo)),
                Route::Unknown => return self.give_back(delivery),
                Route::Refused => {
                    self.tally.refused += 1;
                    self.draft.receipts.push((batch.origin, number, None));
                }
            }
        }
        let notices = |entry: &&(u64, Cargo)| matches!(entry.1, Cargo::Moved(_));
        waits += mine.iter().filter(notices).count();
        let hops = batch.hops + 1;
        if usize::from(hops) > self.levels.len() + EXTRA_HOPS {
            // whoever is asked to pass a URL on once too often takes custody of it; a package
            // stays with who packed it, and its notice comes again
            for (number, cargo) in std::mem::take(&mut onward).into_values().flatten() {
                self.tally.too_many_hops += 1;
                if let Cargo::Url(_) = cargo {
                    self.draft.receipts.push((batch.origin, number, None));
                    self.send(cargo);
                }
            }
        }
        waits += onward.len();
        self.transit.0.insert(delivery, (waits, self.now));
        if !mine.is_empty() {
            self.tally.most_hops = self.tally.most_hops.max(hops);
        }
        for (number, cargo) in mine {
            match cargo {
                Cargo::Url(parcel) => {
                    let server = self.server_of(&parcel.name);
                    let hint = match parcel.server {
                        None => server.map(|server| (parcel.name.clone(), server)),
                        Some(_) => None,
                    };
                    self.draft.receipts.push((batch.origin, number, hint));
                    self.take(parcel);
                }
                Cargo::Moved(notice) => self.on_notice(notice, (batch.origin, number), delivery),
                Cargo::Seen(_) => {}
            }
        }
        self.draft.deliveries.push(delivery);
        for (subject, entries) in onward {
            self.tally.passed_on += entries.len() as u64;
            let batch = Batch {
                origin: batch.origin,
                hops,
                by: self.by(subject),
                entries,
            };
            let token = self.token(Task::PassOn(delivery));
            self.outputs.push(Output::Publish {
                token,
                subject,
                message: Message::Batch(batch),
            });
        }
    }

    /// The plan by which something goes to a subject.
    fn by(&self, subject: Subject) -> (crate::identity::GroupId, Version) {
        let level = self.levels.iter().find(|l| l.group == subject.group);
        let plan = level.and_then(|level| level.plan.as_ref());
        (
            subject.group,
            plan.map_or(Version::default(), |plan| plan.version),
        )
    }

    pub(super) fn on_passed_on(&mut self, delivery: Delivery, outcome: Outcome) {
        if matches!(outcome, Outcome::Done(_)) {
            self.dealt_with(delivery);
        } else if self.transit.0.contains_key(&delivery) {
            self.give_back(delivery);
        }
    }

    /// The message comes again.
    fn give_back(&mut self, delivery: Delivery) {
        self.transit.0.remove(&delivery);
        if self.flaw != Some(Flaw::KeepDeliveries) {
            self.outputs.push(Output::Return(delivery));
        }
    }

    pub(super) fn dealt_with(&mut self, delivery: Delivery) {
        if let Some((waits, _)) = self.transit.0.get_mut(&delivery) {
            *waits -= 1;
            if *waits == 0 {
                self.transit.0.remove(&delivery);
                self.outputs.push(Output::Acknowledge(delivery));
            }
        }
    }

    /// A URL of a unit that is ours by the plan.
    fn take(&mut self, parcel: Parcel) {
        match parcel.unit() {
            Unit::Register(_) => self.register_parcel(parcel),
            Unit::Server(_) if !self.takes_page(&parcel) => self.tally.refused += 1,
            unit @ Unit::Server(_) => {
                self.hold(unit, 0);
                self.draft.records.push(Record::Admit(parcel));
            }
        }
    }

    /// Whether the robot, and every group that it is in, wants the page.
    fn takes_page(&self, parcel: &Parcel) -> bool {
        self.levels.iter().all(|level| {
            let plan = level.plan.as_ref();
            let seat = plan.and_then(|plan| plan.seat(level.branch));
            seat.is_none_or(|seat| seat.filter.takes_page(&parcel.name, parcel.path()))
        })
    }

    pub(super) fn on_visited(
        &mut self,
        unit: Unit,
        row: Arc<[u8]>,
        links: Vec<Parcel>,
        read: Option<Reading>,
    ) {
        self.draft.records.push(Record::Row(unit, row));
        if let Some(reading) = read {
            self.count(unit, reading);
        }
        for link in links {
            self.dispatch(link);
        }
    }

    /// A URL that was found here. Whoever was told of it once has it.
    pub(super) fn dispatch(&mut self, mut parcel: Parcel) {
        parcel.server = parcel.server.or_else(|| self.server_of(&parcel.name));
        self.pass(parcel, true);
    }

    /// A URL that is on its way through a register of ours.
    pub(super) fn pass_to_owner(&mut self, parcel: Parcel) {
        self.pass(parcel, false);
    }

    /// To its owner, unless that one was told of it, or its register if it was `found` here. An errand may be asked for
    /// again.
    fn pass(&mut self, parcel: Parcel, found: bool) {
        let route = self.route(parcel.unit());
        if let Route::Mine = route {
            return self.take(parcel);
        }
        let bound = parcel.server.is_some();
        let print = Print::of(&parcel.name, &parcel.url);
        let was_sent = |bound| parcel.errand.is_none() && self.sent.knows(print, bound);
        if found && was_sent(false) {
            self.tally.known_sent += 1;
        } else if let Route::Refused = route {
            self.tally.refused += 1;
        } else if was_sent(bound) {
            self.tally.known_sent += 1;
        } else {
            self.send(Cargo::Url(parcel));
        }
    }

    /// Into custody, in this commit.
    pub(super) fn send(&mut self, cargo: Cargo) -> u64 {
        let number = self.outbox.keep(cargo.clone());
        self.draft.records.push(Record::Out(number, cargo));
        number
    }

    /// Publishes entries, wherever they belong by now.
    pub(super) fn publish(&mut self, entries: &[u64]) {
        let Some(session) = self.session else { return };
        let mut batches: BTreeMap<Subject, Vec<(u64, Cargo)>> = BTreeMap::new();
        for &number in entries {
            let Some(kept) = self.outbox.get(number) else {
                continue;
            };
            let mut cargo = kept.cargo.clone();
            if let Cargo::Url(parcel) = &mut cargo {
                parcel.server = parcel.server.or_else(|| self.server_of(&parcel.name));
            }
            let Some(unit) = cargo.unit() else { continue };
            match self.route(unit) {
                Route::To(subject) => batches.entry(subject).or_default().push((number, cargo)),
                Route::Mine if self.pump.waits_for(number) && matches!(cargo, Cargo::Url(_)) => {
                    // the row that named it must not be logged before it is
                    self.outbox.sending(number, 0);
                    self.pump.hurry = true;
                }
                Route::Mine => self.keep_after_all(number, cargo),
                // no plan yet: with those that are overdue
                Route::Unknown => self.outbox.sending(number, 0),
                Route::Refused => {
                    self.tally.refused += 1;
                    self.forget(number);
                    self.draft.records.push(Record::Receipted(number));
                }
            }
        }
        for (subject, all) in batches {
            let reply = Subject {
                group: subject.group,
                to: To::Robot(self.settings.robot),
            };
            for entries in messages(all) {
                let numbers: Vec<u64> = entries.iter().map(|(number, _)| *number).collect();
                for &number in &numbers {
                    let again = self.outbox.publishing(number, subject, self.now);
                    self.tally.sent_again += u64::from(again);
                    self.tally.sent += u64::from(!again);
                    if again {
                        self.put_away(number);
                    }
                }
                let batch = Batch {
                    origin: Origin { session, reply },
                    hops: 0,
                    by: self.by(subject),
                    entries,
                };
                let token = self.token(Task::Send(numbers));
                self.outputs.push(Output::Publish {
                    token,
                    subject,
                    message: Message::Batch(batch),
                });
            }
        }
    }

    /// The plan made ours what was for another.
    fn keep_after_all(&mut self, number: u64, cargo: Cargo) {
        match cargo {
            Cargo::Url(parcel) => {
                self.forget(number);
                self.draft.records.push(Record::Receipted(number));
                self.take(parcel);
            }
            // the unit itself is taken back when the plan is looked at
            Cargo::Moved(_) => self.plans_changed = true,
            Cargo::Seen(_) => {}
        }
    }

    pub(super) fn on_sent(&mut self, entries: &[u64], outcome: Outcome) {
        match outcome {
            Outcome::Done(_) => self.published(entries),
            Outcome::Refused => self.tally.full += 1,
            Outcome::Unknown => {}
        }
        if !matches!(outcome, Outcome::Done(_)) {
            // soon again: rows wait for it
            let soon = self.now.saturating_sub(self.settings.resend * 3 / 4);
            for &number in entries {
                self.outbox.sending(number, soon);
            }
        }
    }

    pub(super) fn resend(&mut self) {
        let (now, patience) = (self.now, 8 * self.settings.resend);
        let late = |since: Millis| now >= since + patience;
        let transit = self.transit.0.iter();
        let late: Vec<Delivery> = transit
            .filter(|(_, (_, since))| late(*since))
            .map(|(delivery, _)| *delivery)
            .collect();
        for delivery in late {
            self.give_back(delivery);
        }
        let overdue = self.outbox.overdue(now, self.settings.resend);
        let overdue: Vec<u64> = overdue.collect();
        self.publish(&overdue);
        let away = self.outbox.overdue_away(now, self.settings.resend);
        if !away.is_empty() {
            self.outputs.push(Output::Recall(away));
        }
    }

    fn on_receipt(&mut self, receipt: Receipt) {
        for (name, server) in receipt.bindings {
            self.register.hints.insert(name, server);
        }
        if self.session != Some(receipt.session) {
            return;
        }
        for number in receipt.entries {
            let Some(cargo) = self.outbox.receipted(number, self.now) else {
                continue;
            };
            self.draft.records.push(Record::Receipted(number));
            self.published(&[number]);
            if let Some(Cargo::Moved(notice)) = cargo {
                self.discard(notice.all_pieces());
                self.on_handed(notice.unit);
            }
        }
    }

    /// What rows wait for, and what is in the log in its place, may be needed at any time; the rest when it is sent again.
    fn put_away(&mut self, number: u64) {
        if !self.pump.waits_for(number) && !self.pump.kept.contains(&number) {
            self.outbox.put_away(number, self.settings.custody);
        }
    }

    /// Whether all that is in custody is in memory; if not, it is asked for. [`Robot::scatter_custody`] ends it.
    pub(super) fn gather_custody(&mut self) -> bool {
        let away = self.outbox.away();
        let patience = self.settings.resend;
        let asked = self.outbox.gathering;
        if !away.is_empty() && asked.is_none_or(|at| self.now >= at + patience) {
            self.outbox.gathering = Some(self.now);
            self.outputs.push(Output::Recall(away));
            return false;
        }
        away.is_empty()
    }

    pub(super) fn scatter_custody(&mut self) {
        self.outbox.gathering = None;
        let numbers: Vec<u64> = self.outbox.numbers().collect();
        for number in numbers {
            self.put_away(number);
        }
    }

    /// What was on disk only is to be sent again, or all is gathered.
    pub(super) fn on_recalled(&mut self, entries: Vec<(u64, Cargo)>) {
        let mut numbers = Vec::new();
        for (number, cargo) in entries {
            if self.outbox.recalled(number, cargo) {
                numbers.push(number);
            }
        }
        if self.outbox.gathering.is_none() {
            self.publish(&numbers);
        }
    }

    pub(super) fn on_load(&mut self, demand: crate::demand::Curve, idle: bool) {
        self.demand = demand;
        self.work.idle = idle;
    }

    /// How much is in custody.
    pub fn in_custody(&self) -> usize {
        self.outbox.len()
    }
}
