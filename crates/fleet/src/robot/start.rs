//! How long a robot that starts asks nobody: what politeness remembered is gone, and whoever had its servers before
//! may have asked them a moment ago. In a new fleet nobody had them.

use super::Robot;
use crate::identity::{Millis, Session};
use crate::key::{Lease, Value};
use crate::plan::{Plan, Standing};

/// A start of the robot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    /// Without anything on disk.
    pub empty: bool,
    /// Every request that was made before it has ended by then, and a server's interval after it.
    pub quiet_until: Millis,
}

impl Robot {
    /// Until when the robot asks nobody because it was started.
    pub(super) fn quiet_after_start(&self) -> Millis {
        if self.start.empty && self.is_of_new_fleet() {
            0
        } else {
            self.start.quiet_until
        }
    }

    /// Whether nobody can have asked anything before those who are there now: all groups above were founded once, and
    /// everybody in them is in its first life and has neither died nor left. The engine keeps what says so: the leases of
    /// the dead, and the term of a group that was founded again. Whoever else is there has been heard by
    /// now: a robot reads all keys twice before it acts.
    fn is_of_new_fleet(&self) -> bool {
        let is_first = |session: Session| session.incarnation == 1;
        self.session.is_some_and(is_first)
            && self.levels.iter().all(|level| {
                let plan = level.plan.as_ref().filter(|plan| has_lost_nobody(plan));
                plan.is_some_and(|plan| {
                    let mut leases = self.leases(level.group);
                    leases.all(|lease| {
                        let adopted = lease.progress.adopted.get(&level.group);
                        is_first(lease.session)
                            && !lease.sealed
                            && !lease.leaving
                            && adopted.is_none_or(|adopted| *adopted <= plan.version)
                    })
                })
            })
    }

    /// What the robots of a group said last.
    fn leases(&self, group: crate::identity::GroupId) -> impl Iterator<Item = &Lease> {
        let here = self.seen.iter().filter(move |(key, _)| key.group == group);
        here.filter_map(|(_, (_, value))| match value {
            Value::Lease(lease) => Some(lease),
            _ => None,
        })
    }
}

fn has_lost_nobody(plan: &Plan) -> bool {
    plan.is_of_first_founding()
        && plan.dead.is_empty()
        && plan.buried.is_none()
        && (plan.seats.iter()).all(|seat| seat.standing != Standing::Leaving)
}
