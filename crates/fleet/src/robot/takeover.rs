//! Unplanned moves: a session ended without handing over; its log is sealed and everybody takes
//! its part from it.

use std::collections::BTreeMap;

use super::pump::{After, Entry};
use super::{Hold, Robot, Route, Task};
use crate::counts::Counts;
use crate::flaw::Flaw;
use crate::identity::{Session, Unit};
use crate::io::Output;
use crate::parcel::{Cargo, Parcel};
use crate::record::Record;

/// What a log says, unit by unit.
pub(super) fn contents(log: &[Entry]) -> BTreeMap<Unit, Vec<Record>> {
    let mut units: BTreeMap<Unit, Vec<Record>> = BTreeMap::new();
    let mut counts: BTreeMap<Unit, Counts> = BTreeMap::new();
    for record in log.iter().flat_map(|entry| entry.iter()) {
        match (record, record.unit()) {
            (Record::Handed(unit), _) => {
                units.remove(unit);
                counts.remove(unit);
            }
            (Record::Dispatched(name), Some(unit)) => {
                if let Some(records) = units.get_mut(&unit) {
                    records.retain(|r| !matches!(r, Record::Waiting(p) if p.name == *name));
                }
            }
            // as a sum: a log may be read more than once
            (Record::Read(unit, reading), _) => counts.entry(*unit).or_default().add(reading),
            (Record::Timed(unit, answered), _) => counts.entry(*unit).or_default().time(answered),
            (Record::Counted(unit, sums), _) => {
                counts.entry(*unit).or_default().renew(sums.clone());
            }
            (record, Some(unit)) => units.entry(unit).or_default().push(record.clone()),
            _ => {}
        }
    }
    for (unit, sums) in counts {
        if let Some(records) = units.get_mut(&unit) {
            records.push(Record::Counted(unit, sums));
        }
    }
    units
}

/// URLs for others that the session could not publish.
fn kept(log: &[Entry]) -> impl Iterator<Item = &Parcel> {
    let records = log.iter().flat_map(|entry| entry.iter());
    let entries = records.filter_map(|record| match record {
        Record::Kept(_, entries) => Some(entries),
        _ => None,
    });
    entries.flatten().filter_map(|(_, cargo)| match cargo {
        Cargo::Url(parcel) => Some(parcel),
        Cargo::Moved(_) | Cargo::Seen(_) => None,
    })
}

impl Robot {
    pub(super) fn advance_takeover(&mut self) {
        for level in &mut self.levels {
            let Some(plan) = &level.plan else { continue };
            for dead in &plan.dead {
                if !level.taken.contains(dead) && !level.asked.contains(dead) {
                    level.asked.push(*dead);
                    self.outputs.push(Output::Replay(*dead));
                }
            }
        }
    }

    pub(super) fn on_records(&mut self, session: Session, log: Option<&[Entry]>) {
        match log {
            Some(entries) => {
                if let Some(whole) = self.read_log(session, entries) {
                    self.on_log_read(session, Some(&whole));
                }
            }
            None => self.on_log_read(session, None),
        }
    }

    /// A log with all that it said before it was cut.
    pub(super) fn on_log_read(&mut self, session: Session, log: Option<&[Entry]>) {
        for depth in 0..self.levels.len() {
            let level = &mut self.levels[depth];
            let Some(asked) = level.asked.iter().position(|asked| *asked == session) else {
                continue;
            };
            let Some(log) = log else {
                level.asked.remove(asked);
                // the engine may have forgotten the seal, after the partitioner had read the log
                let token = self.token(Task::Heal);
                self.outputs.push(Output::Seal(token, session));
                continue;
            };
            let Some(plan) = level.plan.clone() else {
                continue;
            };
            let round = level.round;
            let mut quiet = self.now + self.settings.interval + self.settings.longest;
            if self.flaw == Some(Flaw::NoQuietTime) {
                quiet = 0;
            }
            for (unit, records) in contents(log) {
                // whatever the groups above say: if they gave it away, we hand it on
                if self.route_from(depth, unit) != Route::Mine {
                    continue;
                }
                self.tally.taken_over += 1;
                self.hold(unit, quiet);
                for record in records {
                    self.apply_register(&record);
                    self.apply_counts(&record);
                    if !matches!(record, Record::Held(_)) {
                        self.draft.records.push(record);
                    }
                }
                if let (Unit::Register(number), Some(Hold::Own { .. })) =
                    (unit, self.units.get(&unit))
                {
                    self.open_register(number);
                }
                // what is on its way to another already goes again, with this
                if matches!(self.units.get(&unit), Some(Hold::Packed { .. })) {
                    self.pack_again(unit);
                }
            }
            for parcel in kept(log) {
                if self.route_from(depth, parcel.unit()) == Route::Mine {
                    self.pass_to_owner(parcel.clone());
                }
            }
            self.draft
                .records
                .push(Record::Taken(session, plan.version));
            let after = After::Taken(plan.group, round, session);
            self.draft.after.push(after);
            self.plans_changed = true;
        }
    }
}
