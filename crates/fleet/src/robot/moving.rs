//! Planned moves: a unit is packed for its next owner, or a package is opened.

use std::sync::Arc;

use super::{Hold, Robot, Task};
use crate::identity::{Millis, Text, Unit};
use crate::io::{Delivery, Outcome, Output, Token};
use crate::moves::{Ages, Notice, Package};
use crate::parcel::{Cargo, Origin};
use crate::record::Record;

/// A package whose pieces are being fetched.
#[derive(Debug)]
pub(super) struct Arrival {
    notice: Notice,
    pieces: Vec<Option<Arc<[u8]>>>,
    since: Millis,
    /// For the receipt.
    entry: (Origin, u64),
    delivery: Delivery,
}

impl Robot {
    /// A register has no requests that would have to end.
    pub(super) fn pack_register(&mut self, number: u8) {
        let records = self.register_records(number);
        self.on_exported(Unit::Register(number), records, Ages::default());
    }

    pub(super) fn on_exported(&mut self, unit: Unit, records: Vec<Record>, ages: Ages) {
        let (Some(Hold::Closing), Some(session)) = (self.units.get(&unit), self.session) else {
            return;
        };
        let package = Package {
            unit,
            ages,
            records,
        };
        self.counter += 1;
        // no two starts of one session may give two packages one name
        let number = self.counter << 16 | u64::from(self.boot);
        let (notice, pieces) = package.cut(session, number, self.settings.piece);
        let mut tokens: Vec<Token> = Vec::new();
        for (index, piece) in (0..).zip(pieces) {
            let token = self.token(Task::Put(unit));
            tokens.push(token);
            self.outputs
                .push(Output::Put(token, notice.piece(index), piece));
        }
        self.outbox.prepared.insert(unit, notice);
        self.units.insert(
            unit,
            Hold::Packed {
                pieces: tokens,
                notice: None,
                since: self.now,
            },
        );
    }

    pub(super) fn on_put(&mut self, unit: Unit, outcome: Outcome) {
        let tasks = &self.tasks;
        let Some(Hold::Packed {
            pieces,
            notice: None,
            ..
        }) = self.units.get_mut(&unit)
        else {
            return;
        };
        if !matches!(outcome, Outcome::Done(_)) {
            return self.pack_again(unit);
        }
        pieces.retain(|token| tasks.contains_key(token));
        if pieces.is_empty() {
            let notice = (self.outbox.prepared.remove(&unit)).expect("packed units have a notice");
            let number = self.send(Cargo::Moved(notice));
            if let Some(Hold::Packed { notice, .. }) = self.units.get_mut(&unit) {
                *notice = Some(number);
            }
        }
    }

    pub(super) fn pack_again(&mut self, unit: Unit) {
        if let Some(Hold::Packed {
            notice: Some(notice),
            ..
        }) = self.units.get(&unit)
        {
            self.draft.records.push(Record::Receipted(*notice));
            self.outbox.forget(*notice);
        }
        self.units.insert(unit, Hold::Closing);
        match unit {
            Unit::Register(number) => self.pack_register(number),
            Unit::Server(_) => self.outputs.push(Output::Close(unit)),
        }
    }

    /// The next owner has it.
    pub(super) fn on_handed(&mut self, unit: Unit) {
        self.units.remove(&unit);
        self.tally.handed += 1;
        self.draft.records.push(Record::Handed(unit));
        self.outputs.push(Output::Forget(unit));
        if let Unit::Register(number) = unit {
            self.forget_register(number);
        }
    }

    /// A package for us: its pieces are fetched before anything is said.
    pub(super) fn on_notice(&mut self, notice: Notice, entry: (Origin, u64), delivery: Delivery) {
        let name: Text = notice.piece(0);
        if self.arrivals.contains_key(&name) {
            return;
        }
        for index in 0..notice.pieces {
            self.outputs.push(Output::Get(notice.piece(index)));
        }
        let arrival = Arrival {
            pieces: vec![None; notice.pieces as usize],
            notice,
            since: self.now,
            entry,
            delivery,
        };
        self.arrivals.insert(name, arrival);
    }

    pub(super) fn on_object(&mut self, name: &Text, bytes: Option<Arc<[u8]>>) {
        let Some((package, index)) = name.rsplit_once('/') else {
            return;
        };
        let first: Text = format!("{package}/0").into();
        let (Some(arrival), Ok(index)) = (self.arrivals.get_mut(&first), index.parse::<usize>())
        else {
            return;
        };
        let Some(bytes) = bytes else {
            // the sender puts it there again when no receipt comes
            self.tally.incomplete += 1;
            self.arrivals.remove(&first);
            return;
        };
        let Some(piece) = arrival.pieces.get_mut(index) else {
            return;
        };
        *piece = Some(bytes);
        if arrival.pieces.iter().all(Option::is_some) {
            let arrival = self.arrivals.remove(&first).expect("found above");
            self.import(&arrival);
        }
    }

    fn import(&mut self, arrival: &Arrival) {
        let pieces: Vec<Arc<[u8]>> = arrival.pieces.iter().flatten().cloned().collect();
        let Ok(package) = Package::join(&arrival.notice, &pieces) else {
            self.tally.incomplete += 1;
            return;
        };
        if self.route(package.unit) != super::Route::Mine {
            // delivered again, and passed on
            return;
        }
        self.hold(
            package.unit,
            self.now + package.ages.wait(self.settings.interval),
        );
        for record in package.records {
            if record.unit() == Some(package.unit) {
                self.apply_register(&record);
                self.draft.records.push(record);
            }
        }
        let (origin, number) = arrival.entry;
        self.counters.taken += 1;
        self.draft.receipts.push((origin, number, None));
        self.draft.deliveries.push(arrival.delivery);
        if let (Unit::Register(number), Some(Hold::Own { .. })) =
            (package.unit, self.units.get(&package.unit))
        {
            self.open_register(number);
        }
    }

    /// Pieces that never came are asked for again by the next delivery; packages without a receipt
    /// are packed again, because the pieces may be gone.
    pub(super) fn advance_moves(&mut self) {
        let now = self.now;
        let patience = 3 * self.settings.resend;
        self.arrivals
            .retain(|_, arrival| now < arrival.since + patience / 3);
        let stale: Vec<Unit> = (self.units.iter())
            .filter(
                |(_, hold)| matches!(hold, Hold::Packed { since, .. } if now >= since + patience),
            )
            .map(|(unit, _)| *unit)
            .collect();
        for unit in stale {
            self.pack_again(unit);
        }
    }
}
