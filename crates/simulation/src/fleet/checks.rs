//! What must hold after every step, judged by what is true and not by what robots believe.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use fleet::flaw::Flaw;
use fleet::identity::{GroupId, Member, Millis, Session, Unit};
use fleet::plan::{Plan, Standing, Version};
use fleet::record::{Record, is_checkpoint};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which invariant.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
}

pub(super) fn broken(rule: &'static str, what: String) -> Result<(), Broken> {
    Err(Broken { rule, what })
}

/// What the checks remember.
#[derive(Debug, Default)]
pub struct Checks {
    /// Outbox entries that each visited row depends on.
    depends: BTreeMap<(Session, Vec<u8>), Vec<u64>>,
    /// Entries that the engine had, or that were their owner's own after all.
    published: BTreeSet<(Session, u64)>,
    adopted: BTreeMap<(usize, GroupId), Version>,
    requests: VecDeque<Millis>,
}

impl Checks {
    /// A page was visited and its links are in the outbox.
    pub fn visited(&mut self, session: Session, records: &[Record]) {
        let outs: Vec<u64> = (records.iter())
            .filter_map(|record| match record {
                Record::Out(number, _) => Some(*number),
                _ => None,
            })
            .collect();
        for record in records {
            if let Record::Row(_, bytes) = record {
                self.depends.insert((session, bytes.to_vec()), outs.clone());
            }
        }
    }

    /// What was not on disk when the process died was never visited.
    pub fn died(&mut self, session: Session, records: &[Record]) {
        for record in records {
            if let Record::Row(_, bytes) = record {
                self.depends.remove(&(session, bytes.to_vec()));
            }
        }
    }

    /// The engine has an entry.
    pub fn published(&mut self, session: Session, number: u64) {
        self.published.insert((session, number));
    }

    /// W13: a row is logged only when its links are published, or in the log themselves.
    pub fn logged(&mut self, session: Session, records: &[Record]) -> Result<(), Broken> {
        for record in records {
            if let Record::Kept(_, entries) = record {
                let numbers = entries.iter().map(|(number, _)| (session, *number));
                self.published.extend(numbers);
            }
            let Record::Row(_, bytes) = record else {
                continue;
            };
            let outs = self.depends.get(&(session, bytes.to_vec()));
            for number in outs.into_iter().flatten() {
                if !self.published.contains(&(session, *number)) {
                    return broken(
                        "W13 replication order",
                        format!(
                            "a row of {} is in the log, its link {number} nowhere",
                            session.robot
                        ),
                    );
                }
            }
        }
        Ok(())
    }

    /// W14: what a robot has on disk is never replaced by something lower.
    pub fn wrote(&mut self, robot: usize, records: &[Record]) -> Result<(), Broken> {
        // a checkpoint says again what was adopted before
        let again = is_checkpoint(records);
        for record in records {
            if let Record::Adopted(plan) = record {
                let known = self.adopted.insert((robot, plan.group), plan.version);
                let lower =
                    |known: Version| known > plan.version || known == plan.version && !again;
                if known.is_some_and(lower) {
                    let known = known.unwrap_or_default();
                    return broken(
                        "W14 no lower version",
                        format!("robot {robot} adopts {} after {known}", plan.version),
                    );
                }
            }
        }
        Ok(())
    }

    /// The disk is empty again.
    pub fn wiped(&mut self, robot: usize) {
        self.adopted.retain(|(owner, _), _| *owner != robot);
    }

    /// W5: no window of ten seconds has more requests than the budget.
    pub fn requested(&mut self, now: Millis, budget: Option<u32>) -> Result<(), Broken> {
        let Some(budget) = budget else { return Ok(()) };
        self.requests.push_back(now);
        while self.requests.front().is_some_and(|&at| at + 10_000 <= now) {
            self.requests.pop_front();
        }
        if self.requests.len() > budget as usize {
            let count = self.requests.len();
            return broken(
                "W5 budget",
                format!("{count} requests in ten seconds, allowed are {budget}"),
            );
        }
        Ok(())
    }
}

/// A new plan moves nothing between members that both plans have and that weigh what they did, but
/// for what the table lists.
pub fn moves_only_what_it_must(
    before: &Plan,
    after: &Plan,
    addresses: &[IpAddr],
    flaw: Option<Flaw>,
) -> Result<(), Broken> {
    let active = |plan: &Plan, member: Member| {
        (plan.seat(member)).is_some_and(|seat| seat.standing == Standing::Active)
    };
    if !before.table.is_empty() || !after.table.is_empty() {
        return Ok(());
    }
    for &address in addresses {
        let unit = Unit::Server(address);
        let (Some(old), Some(new)) = (before.owner(unit, flaw), after.owner(unit, flaw)) else {
            continue;
        };
        let capacity = |plan: &Plan, member| plan.seat(member).map_or(0, |seat| seat.capacity);
        // a group with more robots than before takes from others, one with fewer gives
        let weighed = capacity(after, old) < capacity(before, old)
            || capacity(after, new) > capacity(before, new);
        let filtered = [old, new].iter().any(|member| {
            let filter = |plan: &Plan| plan.seat(*member).map(|seat| seat.filter.clone());
            filter(before) != filter(after)
        });
        let stayed = active(after, old) && active(before, new);
        if old != new && stayed && !weighed && !filtered {
            return broken(
                "ring by identity",
                format!(
                    "{} moves {address} from {old:?} to {new:?}, who were both there",
                    after.version
                ),
            );
        }
    }
    Ok(())
}
