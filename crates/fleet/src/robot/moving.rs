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
    pub(super) fn on_exported(
        &mut self,
        token: Token,
        unit: Unit,
        mut records: Vec<Record>,
        mut ages: Ages,
    ) {
        let (Some(hold), Some(session)) = (self.units.get(&unit), self.session) else {
            return;
        };
        let quiet_until = match *hold {
            Hold::Closing {
                answer,
                quiet_until,
            } if answer == token => quiet_until,
            _ => return,
        };
        // whoever had it before us may have asked a moment ago, and we not at all
        let quiet = quiet_until.saturating_sub(self.now);
        ages.left_alone = ages.left_alone.max(quiet);
        if let Unit::Server(server) = unit
            && let Some(counts) = self.observing.counts.get(&server)
        {
            records.push(Record::Counted(unit, counts.clone()));
        }
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
                quiet_until,
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
            let number = *notice;
            self.draft.records.push(Record::Receipted(number));
            if let Some(Cargo::Moved(notice)) = self.forget(number) {
                self.discard(notice.all_pieces());
            }
        }
        self.close(unit);
    }

    /// The next owner has it.
    pub(super) fn on_handed(&mut self, unit: Unit) {
        self.units.remove(&unit);
        self.tally.handed += 1;
        self.draft.records.push(Record::Handed(unit));
        self.outputs.push(Output::Forget(unit));
        match unit {
            Unit::Register(number) => self.forget_register(number),
            Unit::Server(server) => {
                self.observing.counts.remove(&server);
            }
        }
    }

    /// A package for us: its pieces are fetched before anything is said.
    pub(super) fn on_notice(&mut self, notice: Notice, entry: (Origin, u64), delivery: Delivery) {
        let name: Text = notice.piece(0);
        if self.imported.contains_key(&name) {
            // applied once; a second time would only keep the server waiting
            self.draft.receipts.push((entry.0, entry.1, None));
            return self.dealt_with(delivery);
        }
        if self.arrivals.contains_key(&name) {
            return self.dealt_with(delivery);
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
            let arrival = self.arrivals.remove(&first).expect("found above");
            return self.leave_packed(&arrival);
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
            return self.leave_packed(arrival);
        };
        if self.route(package.unit) != super::Route::Mine {
            return self.dealt_with(arrival.delivery);
        }
        let name = arrival.notice.piece(0);
        self.imported.insert(name, self.now);
        self.hold(
            package.unit,
            self.now + package.ages.wait(self.settings.interval),
        );
        for record in package.records {
            if record.unit() == Some(package.unit) {
                self.apply_register(&record);
                self.apply_counts(&record);
                self.draft.records.push(record);
            }
        }
        let (origin, number) = arrival.entry;
        self.draft.receipts.push((origin, number, None));
        self.draft.deliveries.push(arrival.delivery);
        if let (Unit::Register(number), Some(Hold::Own { .. })) =
            (package.unit, self.units.get(&package.unit))
        {
            self.open_register(number);
        }
    }

    /// A package that cannot be opened is the sender's still, who packs it again when no receipt
    /// comes. Whatever else came with its notice does not wait for that.
    fn leave_packed(&mut self, arrival: &Arrival) {
        self.tally.incomplete += 1;
        self.dealt_with(arrival.delivery);
    }

    /// Packages without a receipt are packed again, because the pieces may be gone.
    pub(super) fn advance_moves(&mut self) {
        let now = self.now;
        let patience = 3 * self.settings.resend;
        let late = |arrival: &Arrival| now >= arrival.since + patience / 3;
        let names: Vec<Text> = (self.arrivals.iter())
            .filter(|(_, arrival)| late(arrival))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            let arrival = self.arrivals.remove(&name).expect("listed above");
            self.leave_packed(&arrival);
        }
        // by then its sender has packed it again, or has the receipt
        self.imported.retain(|_, at| now < *at + 20 * patience);
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
