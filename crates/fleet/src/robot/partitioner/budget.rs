//! The division of a group's budget by its members' demand curves.

use std::collections::BTreeMap;

use super::super::{Robot, Task};
use crate::demand::Curve;
use crate::identity::{GroupId, Member, Millis};
use crate::key::{Grant, Key, Value, What};
use crate::plan::{Plan, Standing};

/// Shares are looked at again after this.
const ROUND: Millis = 20_000;

/// Whoever wants nothing yet has this part of an even share all the same: until a new share may be used, twice the window
/// passes, and whoever finds something should not be silent for so long.
const TO_BEGIN: u32 = 20;

/// Whole requests for each member: what it wants at the price at which all together want no more
/// than there is, the rounding to the largest remainders. What is left is for those who want nothing yet.
pub fn divide(total: u32, demands: &[(Member, Curve)], window: f64) -> BTreeMap<Member, u32> {
    let is_idle = |curve: &Curve| curve.most() == 0.0;
    let idlers = demands.iter().filter(|(_, curve)| is_idle(curve)).count() as u32;
    let even = total / demands.len().max(1) as u32;
    let least = (even / TO_BEGIN).max(1).min(even);
    let total = total - least * idlers;
    let mut sum = Curve::default();
    for (_, demand) in demands {
        sum.add(demand);
    }
    let clearing = sum.clearing(f64::from(total) / window);
    let mut shares: Vec<(f64, Member, u32)> = (demands.iter())
        .map(|(member, demand)| {
            let exact = demand.at(clearing) * window;
            (exact.fract(), *member, exact.floor() as u32)
        })
        .collect();
    shares.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let given: u32 = shares.iter().map(|share| share.2).sum();
    let mut left = total.saturating_sub(given);
    for share in &mut shares {
        if left > 0 && share.0 > 1e-9 {
            share.2 += 1;
            left -= 1;
        }
    }
    let mut shares: BTreeMap<Member, u32> = (shares.into_iter())
        .map(|(_, member, n)| (member, n))
        .collect();
    // of curves that are met in full; elsewhere the rest is an error of rounding
    let spare = if clearing.is_all() {
        left / idlers.max(1)
    } else {
        0
    };
    for (member, _) in demands.iter().filter(|(_, curve)| is_idle(curve)) {
        shares.insert(*member, least + spare);
    }
    shares
}

impl Robot {
    /// What the group may use, as far as it is certain.
    fn total(&self, depth: usize) -> Option<u32> {
        let fleet = self.settings.budget?;
        let Some(above) = depth.checked_sub(1).map(|above| &self.levels[above]) else {
            return Some(fleet);
        };
        let grant = self.grants.get(&above.group);
        Some(grant.map_or(0, |grant| grant.allowed(above.branch)))
    }

    pub(super) fn grant(&mut self, depth: usize, plan: &Plan) {
        let Some(total) = self.total(depth) else {
            return;
        };
        let key = Key {
            group: plan.group,
            what: What::Grant,
        };
        let (revision, grant) = match self.seen.get(&key) {
            Some((revision, Value::Grant(grant))) => (*revision, grant.clone()),
            _ => (0, Grant::default()),
        };
        let ours = self.grants.get(&plan.group).map_or(0, |grant| grant.round);
        // the engine forgot a round: say it again
        let grant = if grant.round < ours {
            self.grants[&plan.group].clone()
        } else {
            grant
        };
        let kept = self.everybody_keeps(plan, grant.round);
        if !kept || self.partitioner.granting {
            return;
        }
        let since = (self.partitioner.kept_since)
            .entry(plan.group)
            .or_insert((grant.round, self.now));
        if since.0 != grant.round {
            *since = (grant.round, self.now);
        }
        let next = if grant.firm || grant.round == 0 {
            let Some(next) = self.next_round(total, plan, &grant) else {
                return;
            };
            next
        } else if self.now >= since.1 + self.settings.window {
            Grant {
                firm: true,
                ..grant
            }
        } else {
            return;
        };
        self.partitioner.granted_at.insert(plan.group, self.now);
        self.partitioner.granting = true;
        let token = self.token(Task::Grant);
        self.swap(token, key, revision, Value::Grant(next));
        self.outputs.push(crate::io::Output::Poll(plan.group));
    }

    fn next_round(&self, total: u32, plan: &Plan, grant: &Grant) -> Option<Grant> {
        let demands: Vec<(Member, Curve)> = (plan.seats.iter())
            .filter(|seat| seat.standing == Standing::Active)
            .map(|seat| {
                let progress = self.progress_of(plan.group, seat.member, seat.incarnation);
                let demand = progress.map(|progress| progress.demand.clone());
                (seat.member, demand.unwrap_or_default())
            })
            .collect();
        let shares = divide(total, &demands, self.settings.window as f64 / 1_000.0);
        let used: u32 = grant.shares.values().sum();
        let last = self.partitioner.granted_at.get(&plan.group);
        // whoever had nothing and wants something has come, or come back
        let newcomer = (shares.iter()).any(|(member, &share)| {
            (grant.shares.get(member)).is_none_or(|&had| had == 0 && share > 0)
        });
        // where nobody had anything nobody waits, nor has anything to give up first
        let nobody = grant.shares.values().all(|&share| share == 0);
        let rested = newcomer || nobody || last.is_none_or(|&at| self.now >= at + ROUND);
        ((rested || used > total) && shares != grant.shares).then(|| Grant {
            round: grant.round + 1,
            before: grant.shares.clone(),
            shares,
            firm: nobody,
        })
    }

    fn everybody_keeps(&self, plan: &Plan, round: u64) -> bool {
        plan.asked().all(|seat| {
            let own = self.grants.get(&plan.group).map_or(0, |grant| grant.round);
            let progress = self.progress_of(plan.group, seat.member, seat.incarnation);
            let kept = if self.has(seat) {
                own
            } else {
                let rounds = progress.and_then(|p| p.rounds.get(&plan.group));
                rounds.copied().unwrap_or(0)
            };
            kept >= round
        })
    }

    /// The round of the group above that the members keep to together.
    pub(super) fn rounds_kept(&self, depth: usize, plan: &Plan) -> BTreeMap<GroupId, u64> {
        let Some(above) = depth.checked_sub(1).map(|above| &self.levels[above]) else {
            return BTreeMap::new();
        };
        let (Some(parent), Some(own)) =
            (self.grants.get(&above.group), self.grants.get(&plan.group))
        else {
            return BTreeMap::new();
        };
        let used: u32 = own.shares.values().sum();
        let kept = own.firm
            && used <= parent.allowed(above.branch)
            && self.everybody_keeps(plan, own.round);
        let round = if kept { parent.round } else { parent.round - 1 };
        BTreeMap::from([(above.group, round)])
    }
}

#[cfg(test)]
mod tests;
