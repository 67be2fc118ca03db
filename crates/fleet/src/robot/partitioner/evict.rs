//! The end of a session that expired: its lease is sealed, then its log; others take over then.

use super::super::{Robot, Task};
use super::Eviction;
use crate::identity::Session;
use crate::io::{Outcome, Output};
use crate::key::{Key, Lease, Value, What};
use crate::plan::Plan;

impl Robot {
    pub(super) fn evict(&mut self, plan: &Plan) {
        let mine = self.session;
        let expired: Vec<Session> = plan
            .sessions()
            .filter(|s| Some(*s) != mine && self.observer.expired(*s, self.now))
            .collect();
        // whoever is heard of again is not evicted; other groups' members are not judged here
        let renewed =
            |s: &Session| plan.sessions().any(|seated| seated == *s) && !expired.contains(s);
        (self.partitioner.evictions)
            .retain(|session, step| *step == Eviction::Done || !renewed(session));
        for session in expired {
            let key = Key {
                group: plan.group,
                what: What::Lease(session.robot),
            };
            let step = self.partitioner.evictions.get(&session).copied();
            match (step, self.seen.get(&key)) {
                (None, Some((revision, Value::Lease(lease))))
                    if lease.session == session && !lease.sealed =>
                {
                    let (revision, sealed) = (*revision, sealed(lease));
                    self.partitioner.evictions.insert(session, Eviction::Lease);
                    let token = self.token(Task::SealLease(session));
                    self.swap(token, key, revision, Value::Lease(sealed));
                }
                // sealed before, or another life of the robot has the key: this one cannot renew
                (None, Some((_, Value::Lease(lease)))) if lease.session >= session => {
                    self.partitioner.evictions.insert(session, Eviction::Log);
                }
                // it never had a lease: nobody else can make one for it once there is a sealed one
                (None, _) => {
                    let lease = never_came(session);
                    self.partitioner.evictions.insert(session, Eviction::Lease);
                    let token = self.token(Task::SealLease(session));
                    self.swap(token, key, 0, Value::Lease(lease));
                }
                (Some(Eviction::Log), _) => {
                    self.partitioner
                        .evictions
                        .insert(session, Eviction::Sealing);
                    let token = self.token(Task::SealLog(session));
                    self.outputs.push(Output::Seal(token, session));
                }
                _ => {}
            }
        }
    }

    pub(in crate::robot) fn on_lease_sealed(&mut self, session: Session, outcome: Outcome) {
        if let Outcome::Done(_) = outcome {
            self.partitioner.evictions.insert(session, Eviction::Log);
        } else {
            // renewed, or unknown: looked at again
            self.partitioner.evictions.remove(&session);
            self.poll_at = self.now;
        }
    }

    pub(in crate::robot) fn on_log_sealed(&mut self, session: Session, outcome: Outcome) {
        let step = match outcome {
            Outcome::Done(_) => Eviction::Done,
            _ => Eviction::Log,
        };
        self.partitioner.evictions.insert(session, step);
    }
}

fn sealed(lease: &Lease) -> Lease {
    Lease {
        sealed: true,
        ..lease.clone()
    }
}

/// The end of a session that never wrote its key.
fn never_came(session: Session) -> Lease {
    Lease {
        session,
        nonce: 0,
        sealed: true,
        leaving: false,
        capacity: 1,
        load: 0,
        responses: std::collections::BTreeMap::new(),
        progress: crate::key::Progress::default(),
    }
}
