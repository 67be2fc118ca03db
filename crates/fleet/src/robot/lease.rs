//! The robot's own lease: begun, renewed, lost.

use super::{Robot, Task};
use crate::identity::{GroupId, Millis, Session};
use crate::io::{Outcome, Output};
use crate::key::{Key, Lease, Progress, Value, What};
use crate::record::Record;

/// Where the renewal of the lease stands.
#[derive(Debug, Default)]
pub(super) struct Renewal {
    /// When the next one is due.
    pub at: Millis,
    /// The revision to compare with; nothing if it has to be read first.
    revision: Option<u64>,
    /// An answer is awaited.
    busy: bool,
    /// The key was named since the last poll began.
    named: bool,
    /// The lease had lapsed: plans are read again before the robot acts.
    pub doubt_until: Millis,
    /// The highest nonce seen under the key.
    nonce: u64,
    /// The session as far as it is on disk.
    pub begun: bool,
    /// Who wrote the session's lease.
    wrote: Wrote,
}

/// Who wrote a session's lease, as far as this start of the process knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wrote {
    /// An earlier start, with the same data.
    #[default]
    Earlier,
    /// Nobody: the session began with this start.
    Nobody,
    /// This start, up to this nonce.
    This(u64),
}

impl Robot {
    /// The key of the robot's lease.
    pub(super) fn lease_key(&self) -> Key {
        Key {
            group: self.home(),
            what: What::Lease(self.settings.robot),
        }
    }

    pub(super) fn on_own_lease(&mut self, revision: u64, lease: &Lease) {
        self.renewal.named = true;
        self.renewal.nonce = self.renewal.nonce.max(lease.nonce);
        match self.session {
            Some(session) if lease.session == session => {
                if lease.sealed {
                    return self.reset();
                }
                if self.is_anothers(lease.nonce) {
                    return self.replaced();
                }
                if self.stored(lease.nonce) || self.renewal.revision.is_none() {
                    // a nonce that is not the open one says that the open one was not applied,
                    // or not yet: then the next renewal is refused and we read again
                    self.holder.failed();
                    self.renewal.revision = Some(revision);
                }
            }
            // whoever began it found ours, and nobody at work
            Some(session) if lease.session > session => match self.renewal.wrote {
                Wrote::This(_) => self.replaced(),
                Wrote::Earlier | Wrote::Nobody => self.reset(),
            },
            Some(_) => self.renewal.revision = self.renewal.revision.or(Some(revision)),
            None => {
                self.begin(Session {
                    robot: self.settings.robot,
                    incarnation: lease.session.incarnation + 1,
                });
                self.renewal.revision = Some(revision);
            }
        }
    }

    /// Whether a lease of this session was written by another process: two that are started at the same time begin
    /// the same session, and one that has a copy of our data continues it. What an earlier start of ours wrote is lower.
    fn is_anothers(&self, nonce: u64) -> bool {
        let is_later = match self.renewal.wrote {
            Wrote::Earlier => false,
            Wrote::Nobody => true,
            Wrote::This(highest) => nonce > highest,
        };
        is_later && nonce as u16 != self.boot
    }

    fn begin(&mut self, session: Session) {
        self.renewal.wrote = Wrote::Nobody;
        self.session = Some(session);
        self.draft.records.push(Record::Began(session));
        self.draft.begins = true;
    }

    /// All keys of the bucket have been named.
    pub(super) fn on_polled(&mut self, group: GroupId) {
        // what the engine does not name it does not have, or not any more
        let named = &self.named;
        self.seen
            .retain(|key, _| key.group != group || named.contains(key));
        self.named.retain(|key| key.group != group);
        if group != self.lease_key().group {
            return;
        }
        if !self.renewal.named && self.renewal.revision.is_none() {
            self.renewal.revision = Some(0);
            if self.session.is_none() {
                self.begin(Session {
                    robot: self.settings.robot,
                    incarnation: 1,
                });
            }
        }
        self.renewal.named = false;
    }

    fn stored(&mut self, nonce: u64) -> bool {
        let lapsed = !self.holder.valid(self.now);
        let stored = if self.flaw == Some(crate::flaw::Flaw::LeaseFromReceipt) {
            self.holder.stored_counted_from(nonce, self.now)
        } else {
            self.holder.stored(nonce)
        };
        if stored {
            self.renewal.wrote = Wrote::This(nonce);
        }
        if stored && lapsed {
            // whoever thought us dead has told the plans by then, even if the engine forgot it
            self.renewal.doubt_until = self.now + 2 * self.settings.poll;
        }
        stored
    }

    pub(super) fn on_renewed(&mut self, nonce: u64, outcome: Outcome) {
        self.renewal.busy = false;
        match outcome {
            Outcome::Done(revision) => {
                self.stored(nonce);
                self.renewal.revision = Some(revision);
            }
            Outcome::Refused => {
                self.holder.failed();
                self.read_back();
            }
            Outcome::Unknown => self.read_back(),
        }
    }

    fn read_back(&mut self) {
        self.renewal.revision = None;
        self.renewal.at = self.now;
        self.outputs.push(Output::Poll(self.lease_key().group));
    }

    pub(super) fn advance_lease(&mut self) {
        let due = self.now >= self.renewal.at || self.news;
        let (Some(session), Some(revision)) = (self.session, self.renewal.revision) else {
            if due {
                self.renewal.at = self.now + 1_000;
                self.outputs.push(Output::Poll(self.lease_key().group));
            }
            return;
        };
        if !due || self.renewal.busy || !self.renewal.begun {
            if self.now >= self.renewal.at {
                self.renewal.at = self.now + 1_000;
            }
            return;
        }
        self.news = false;
        self.renewal.busy = true;
        self.renewal.at = self.now + self.settings.term.lasts / 6;
        self.renewal.nonce = ((self.renewal.nonce >> 16) + 1) << 16 | u64::from(self.boot);
        let nonce = self.renewal.nonce;
        self.holder.sending(self.now, nonce);
        let lease = Lease {
            session,
            nonce,
            sealed: false,
            leaving: self.leaving,
            capacity: self.settings.capacity,
            load: self.load,
            responses: self.responses.clone(),
            progress: self.progress(),
        };
        let token = self.token(Task::Renew(nonce));
        self.outputs.push(Output::Swap {
            token,
            key: self.lease_key(),
            revision,
            value: Value::Lease(lease),
        });
    }

    /// What the robot says of itself.
    fn progress(&self) -> Progress {
        let mut progress = Progress {
            demand: self.demand.clone(),
            counters: self.counters_now(),
            ..Progress::default()
        };
        for level in &self.levels {
            progress.adopted.insert(level.group, level.durable);
            progress.settled.insert(level.group, level.settled);
        }
        for (&group, grant) in &self.grants {
            progress.rounds.insert(group, grant.round);
        }
        progress
    }

    /// The session is over: nothing that it holds counts any more.
    pub(super) fn reset(&mut self) {
        self.end(Output::Reset);
    }

    fn replaced(&mut self) {
        self.end(Output::Replaced);
    }

    fn end(&mut self, output: Output) {
        self.holder.lost();
        self.units.clear();
        self.outputs.clear();
        self.outputs.push(output);
    }

    /// Whether the robot has handed everything over and nobody counts on it any more.
    pub fn has_left(&self) -> bool {
        let plan = self.levels.last().and_then(|level| level.plan.as_ref());
        self.leaving
            && self.units.is_empty()
            && self.outbox.is_empty()
            && self.pump.is_idle()
            && plan.is_some_and(|plan| plan.seat(self.me()).is_none())
    }

    /// Whether the robot may act, as of when it last heard of time.
    pub fn has_lease(&self) -> bool {
        self.lease_valid(self.now)
    }

    /// Whether it is to go.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// The session, while it is known.
    pub fn session(&self) -> Option<Session> {
        self.session
    }

    /// Until when the robot's own lease holds, on its clock.
    pub fn lease_until(&self) -> Millis {
        self.holder.until()
    }
}

#[cfg(test)]
mod tests;
