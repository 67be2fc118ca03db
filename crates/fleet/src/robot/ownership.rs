//! The life of a unit at a robot. See the crate's README for the picture.

use super::{Level, Robot, Route};
use crate::identity::{Millis, Unit};
use crate::io::{Output, Token};
use crate::moves::Ages;
use crate::record::Record;

/// What a robot has to do with a unit; with all others nothing (`Foreign`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Ours by the plan; whether another still has it is not known. URLs are kept meanwhile.
    Arriving {
        /// How long its server has to be left alone, from when it was said.
        quiet_until: Millis,
    },
    /// Ours alone, from this time on (`Quiet` before it).
    Own {
        /// The end of the quiet time.
        from: Millis,
    },
    /// Another's by the plan; the last requests end, and this answer is awaited.
    Closing {
        /// Which.
        answer: Token,
        /// What is left of a quiet time goes with it.
        quiet_until: Millis,
    },
    /// Cut in pieces, which go to the object store.
    Packed {
        /// Pieces not yet stored.
        pieces: Vec<Token>,
        /// The notice's number in the outbox, once it is there.
        notice: Option<u64>,
        /// To try again.
        since: Millis,
        /// As in `Closing`.
        quiet_until: Millis,
    },
}

/// Whose a server is, for whoever found something there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The robot's own.
    Mine,
    /// Becoming the robot's own: what is found is kept, nothing is asked.
    Arriving,
    /// Another's, or nobody knows yet.
    Elsewhere,
}

impl Hold {
    /// How long its server has to be left alone, whoever has it.
    fn quiet_until(&self) -> Millis {
        match self {
            Self::Own { from: quiet_until }
            | Self::Arriving { quiet_until }
            | Self::Closing { quiet_until, .. }
            | Self::Packed { quiet_until, .. } => *quiet_until,
        }
    }
}

impl Robot {
    /// Keeps the unit, if the robot does not yet: it has something of it from now on.
    pub(super) fn hold(&mut self, unit: Unit, quiet_until: Millis) {
        if let Some(hold) = self.units.get_mut(&unit) {
            if let Hold::Arriving { quiet_until: until } = hold {
                *until = quiet_until.max(*until);
            } else if let Hold::Own { from } = hold
                && quiet_until > *from
            {
                *from = quiet_until;
                self.outputs.push(Output::Open(unit, quiet_until));
            }
            return;
        }
        self.draft.records.push(Record::Held(unit));
        self.units.insert(unit, Hold::Arriving { quiet_until });
    }

    pub(super) fn advance_units(&mut self) {
        if std::mem::take(&mut self.plans_changed) {
            self.close_what_is_not_ours();
            self.outbox.hurry();
        }
        let arriving = |hold: &Hold| matches!(hold, Hold::Arriving { .. });
        let ready = self.pump.caught_up && self.lease_valid(self.now);
        if ready && self.units.values().any(arriving) && self.others_settled() {
            self.open_what_arrived();
        }
        self.settle();
    }

    fn close_what_is_not_ours(&mut self) {
        let units: Vec<Unit> = self.units.keys().copied().collect();
        for unit in units {
            let mine = match self.route(unit) {
                Route::Mine => true,
                Route::To(_) => false,
                Route::Refused if self.displaced() => {
                    self.tally.refused += 1;
                    self.on_handed(unit);
                    continue;
                }
                // nobody to give it to: it stays, and is not used
                Route::Refused | Route::Unknown => {
                    self.rest(unit);
                    continue;
                }
            };
            let hold = &self.units[&unit];
            match hold {
                Hold::Arriving { .. } | Hold::Own { .. } if !mine => self.close(unit),
                Hold::Closing { .. } | Hold::Packed { .. } if mine => self.take_back(unit),
                _ => {}
            }
        }
    }

    /// The unit is nobody's at present: whoever gets it cannot know when we asked it last.
    fn rest(&mut self, unit: Unit) {
        if let Some(hold @ Hold::Own { .. }) = self.units.get_mut(&unit) {
            let quiet_until = self.now + self.settings.interval + self.settings.longest;
            let quiet_until = quiet_until.max(hold.quiet_until());
            *hold = Hold::Arriving { quiet_until };
        }
    }

    /// Whether the robot, or a group that it is in, has no share any more.
    fn displaced(&self) -> bool {
        self.levels.iter().any(Level::displaced)
    }

    /// Asks for all that is known of a unit.
    pub(super) fn close(&mut self, unit: Unit) {
        // the store can give only what it has: what came in this same step goes there first
        self.close_draft();
        self.counter += 1;
        let token = Token(self.counter);
        let quiet_until = self.units.get(&unit).map_or(0, Hold::quiet_until);
        let closing = Hold::Closing {
            answer: token,
            quiet_until,
        };
        self.units.insert(unit, closing);
        match unit {
            // a register has no requests that would have to end
            Unit::Register(number) => {
                let records = self.register_records(number);
                self.on_exported(token, unit, records, Ages::default());
            }
            Unit::Server(_) => self.outputs.push(Output::Close(token, unit)),
        }
    }

    /// The plan gives back what was about to be handed over.
    fn take_back(&mut self, unit: Unit) {
        if let Some(Hold::Packed {
            notice: Some(notice),
            ..
        }) = self.units.get(&unit)
        {
            let number = *notice;
            self.draft.records.push(Record::Receipted(number));
            self.forget(number);
        }
        let quiet_until = self.now + self.settings.interval + self.settings.longest;
        self.units.insert(unit, Hold::Arriving { quiet_until });
    }

    fn open_what_arrived(&mut self) {
        let floor = self.quiet_floor.max(self.quiet_after_start());
        let mut opened = Vec::new();
        for (&unit, hold) in &mut self.units {
            if let Hold::Arriving { quiet_until } = *hold {
                let from = quiet_until.max(floor);
                *hold = Hold::Own { from };
                opened.push((unit, from));
            }
        }
        for (unit, from) in opened {
            if self.route(unit) != Route::Mine {
                // refused by all filters since
                self.units
                    .insert(unit, Hold::Arriving { quiet_until: from });
                continue;
            }
            self.outputs.push(Output::Open(unit, from));
            if let Unit::Register(number) = unit {
                self.open_register(number);
            }
        }
    }

    /// Says how far the robot has come, when nothing stands in the way.
    fn settle(&mut self) {
        let on_the_way = |hold| matches!(hold, &Hold::Closing { .. } | &Hold::Packed { .. });
        if self.units.values().any(on_the_way) {
            return;
        }
        let holds = !self.units.is_empty();
        for level in &mut self.levels {
            let Some(plan) = &level.plan else { continue };
            // what a group that has no share cannot hand on stays its members' until it can
            let stays = holds && level.displaced();
            let done = !stays
                && level.durable == plan.version
                && plan.dead.iter().all(|dead| level.taken.contains(dead));
            if done && level.settled != plan.version {
                level.settled = plan.version;
                self.news = true;
            }
        }
    }

    /// Whose a unit is.
    pub fn share(&self, unit: Unit) -> Share {
        match self.units.get(&unit) {
            Some(Hold::Own { .. }) => Share::Mine,
            Some(Hold::Arriving { .. }) => Share::Arriving,
            Some(Hold::Closing { .. } | Hold::Packed { .. }) | None => Share::Elsewhere,
        }
    }

    /// All units that the robot has to do with, and what.
    pub fn holds(&self) -> impl Iterator<Item = (Unit, &Hold)> {
        self.units.iter().map(|(unit, hold)| (*unit, hold))
    }

    /// How the robot holds a unit, if it does.
    pub fn hold_of(&self, unit: Unit) -> Option<&Hold> {
        self.units.get(&unit)
    }

    /// The units that the robot alone may use, as it thinks.
    pub fn owned(&self) -> impl Iterator<Item = Unit> + '_ {
        (self.units.iter())
            .filter(|(_, hold)| matches!(hold, Hold::Own { .. }))
            .map(|(unit, _)| *unit)
    }
}
