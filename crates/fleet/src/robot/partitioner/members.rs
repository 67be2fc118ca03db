//! Members that come and go of their own will, and what the group's owners want.

use super::super::Robot;
use crate::identity::{GroupId, Member};
use crate::key::{Charter, Key, Progress, Summary, Value, What};
use crate::plan::{Plan, Seat, Standing};

impl Robot {
    /// Fills in the next plan of a group. Unless the present one is settled only those who come
    /// are looked at.
    pub(super) fn change(&self, depth: usize, next: &mut Plan, settled: bool) {
        if settled {
            next.seats
                .retain_mut(|seat| match (seat.standing, seat.member) {
                    (Standing::Leaving, Member::Robot(_)) => false,
                    (Standing::Leaving, Member::Group(_)) => {
                        empty(seat);
                        true
                    }
                    _ => true,
                });
            self.carry_out_charter(depth, next);
            self.let_go(depth, next);
        }
        if self.may_seat(depth, next) {
            self.seat_robots(depth, next);
            self.seat_groups(depth, next);
            if next.has_active() && next.buried.take().is_some() {
                // the group above took over what was left here
                next.dead.clear();
            }
        }
        if settled {
            self.pass_on_making(next);
        }
        self.ask_for_burial(depth, next);
        let ring = self.charter(next).is_some_and(|charter| charter.ring);
        if let Some((_, table)) = self.partitioner.tables.get(&next.group).filter(|_| !ring) {
            next.table.clone_from(table);
        }
        let seats = &next.seats;
        (next.table).retain(|(_, member)| !ring && seats.iter().any(|s| s.member == *member));
    }

    /// The newest wishes of the group's owners, unless newer ones were carried out before.
    pub(in crate::robot) fn charter(&self, plan: &Plan) -> Option<&Charter> {
        let key = Key {
            group: plan.group,
            what: What::Charter,
        };
        match self.seen.get(&key) {
            Some((_, Value::Charter(charter))) if charter.number >= plan.charter => Some(charter),
            _ => None,
        }
    }

    fn carry_out_charter(&self, depth: usize, next: &mut Plan) {
        let Some(charter) = self.charter(next) else {
            return;
        };
        next.charter = charter.number;
        if charter.parent != next.parent && self.is_free(depth, next.group) {
            next.parent = charter.parent;
        }
        let wanted = |seat: &Seat| match seat.member {
            Member::Group(group) => charter.groups.contains(&group),
            Member::Robot(_) => true,
        };
        next.seats
            .retain(|seat| wanted(seat) || seat.standing != Standing::Empty);
        for &group in &charter.groups {
            let member = Member::Group(group);
            if next.seat(member).is_none() {
                let mut seat = Seat::new(member, 0, 0);
                seat.standing = Standing::Empty;
                next.seats.push(seat);
            }
        }
        for seat in &mut next.seats {
            let filter = charter.filters.get(&seat.member);
            seat.filter = filter.cloned().unwrap_or_default();
        }
    }

    /// Whether the group above has no place for the group any more.
    fn is_free(&self, depth: usize, group: GroupId) -> bool {
        let Some(above) = depth.checked_sub(1).map(|above| &self.levels[above]) else {
            return true;
        };
        let plan = above.plan.as_ref().filter(|p| p.version == above.durable);
        plan.is_some_and(|plan| plan.seat(Member::Group(group)).is_none())
    }

    /// Members that want to go may, if others stay, or if the group itself has no share any more:
    /// until then somebody has to answer for it.
    fn let_go(&self, depth: usize, next: &mut Plan) {
        let active = |seat: &Seat| seat.standing == Standing::Active;
        let goes: Vec<bool> = (next.seats.iter())
            .map(|seat| active(seat) && self.is_to_go(next, seat))
            .collect();
        let stays = (next.seats.iter().zip(&goes)).any(|(seat, goes)| active(seat) && !goes);
        if !stays && !self.has_no_share(depth, next.group) {
            return;
        }
        for (seat, goes) in next.seats.iter_mut().zip(goes) {
            if goes {
                seat.standing = Standing::Leaving;
            }
        }
    }

    /// Those who were to go on are gone: whoever wanted to leave stays until others come, or the
    /// group has no share any more.
    pub(super) fn recall(&self, depth: usize, next: &mut Plan) {
        if next.has_active() || self.has_no_share(depth, next.group) {
            return;
        }
        for seat in &mut next.seats {
            if seat.standing == Standing::Leaving {
                seat.standing = Standing::Active;
            }
        }
    }

    /// Whether a member wants no share any more, or is to have none.
    pub(super) fn is_to_go(&self, plan: &Plan, seat: &Seat) -> bool {
        let group = plan.group;
        match seat.member {
            Member::Robot(_) if self.has(seat) => self.leaving,
            Member::Robot(robot) => {
                let what = What::Lease(robot);
                match self.seen.get(&Key { group, what }) {
                    Some((_, Value::Lease(lease))) => {
                        lease.leaving && lease.session.incarnation == seat.incarnation
                    }
                    _ => false,
                }
            }
            Member::Group(below) => {
                let summary = self.summary_of(group, below);
                let charter = self.charter(plan);
                summary.is_some_and(|summary| summary.capacity == 0)
                    || charter.is_some_and(|charter| !charter.groups.contains(&below))
            }
        }
    }

    /// As [`Robot::has_no_share`], for a group above the robot.
    pub(in crate::robot) fn is_without_share(&self, group: GroupId) -> bool {
        let depth = self.levels.iter().position(|level| level.group == group);
        depth.is_some_and(|depth| self.has_no_share(depth, group))
    }

    /// Whether the group above gives the group nothing any more, and it has nothing left.
    fn has_no_share(&self, depth: usize, group: GroupId) -> bool {
        let Some(above) = depth.checked_sub(1).map(|above| &self.levels[above]) else {
            return false;
        };
        let plan = above.plan.as_ref().filter(|p| p.version == above.durable);
        plan.is_some_and(|plan| {
            let seat = plan.seat(Member::Group(group));
            seat.is_none_or(|seat| seat.standing == Standing::Empty)
        })
    }

    /// Nobody is here to take over from the dead, and nobody comes: that is for the group above.
    fn ask_for_burial(&self, depth: usize, next: &mut Plan) {
        let nobody = next.asked().next().is_none() && !next.dead.is_empty();
        if let Some(above) = depth.checked_sub(1).map(|above| &self.levels[above])
            && nobody
            && !self.has_no_share(depth, next.group)
        {
            next.buried = Some(above.durable);
        }
    }

    /// A group whose robots were all gone waits until the group above has taken over from them.
    fn may_seat(&self, depth: usize, next: &Plan) -> bool {
        let Some(buried) = next.buried else {
            return true;
        };
        let Some(above) = depth.checked_sub(1).map(|above| &self.levels[above]) else {
            return true;
        };
        let plan = above.plan.as_ref().filter(|p| p.version == above.durable);
        let seat = plan.and_then(|plan| plan.seat(Member::Group(next.group)));
        above.durable > buried && seat.is_none_or(|seat| seat.standing == Standing::Empty)
    }

    /// Whoever joins is at least as far as we are: what the group has said of its progress stays
    /// true.
    fn knows_all(&self, depth: usize, progress: &Progress) -> bool {
        self.levels[..=depth].iter().all(|level| {
            let adopted = progress.adopted.get(&level.group);
            adopted.is_some_and(|adopted| *adopted >= level.durable)
        })
    }

    fn seat_robots(&self, depth: usize, next: &mut Plan) {
        for (key, (_, value)) in &self.seen {
            let Value::Lease(lease) = value else { continue };
            let member = Member::Robot(lease.session.robot);
            let comes = key.group == next.group
                && next.seat(member).is_none()
                && !lease.sealed
                && !lease.leaving
                && !self.observer.expired(lease.session, self.now);
            if comes && self.knows_all(depth, &lease.progress) {
                let seat = Seat::new(member, lease.session.incarnation, lease.capacity);
                next.seats.push(seat);
            }
        }
    }

    fn seat_groups(&self, depth: usize, next: &mut Plan) {
        let above = next.group;
        for seat in &mut next.seats {
            let Member::Group(group) = seat.member else {
                continue;
            };
            let summary = self.summary_of(above, group);
            let Some(summary) = summary.filter(|_| self.group_lives(above, group)) else {
                continue;
            };
            let comes = seat.standing == Standing::Empty
                && summary.capacity > 0
                && self.knows_all(depth, &summary.progress);
            if comes {
                seat.standing = Standing::Active;
                seat.capacity = summary.capacity;
            }
            if seat.standing == Standing::Active {
                weigh(seat, summary);
            }
        }
    }

    /// A partitioner that left.
    fn pass_on_making(&self, next: &mut Plan) {
        if next.seat(Member::Robot(next.maker)).is_some() || !self.is_home(next.group) {
            return;
        }
        let robots = next.seats.iter().filter_map(|seat| match seat.member {
            Member::Robot(robot) if seat.standing == Standing::Active => Some(robot),
            _ => None,
        });
        if let Some(heir) = robots.min() {
            next.version.term += 1;
            next.maker = heir;
        }
    }
}

/// A group without robots: its place is kept.
pub(super) fn empty(seat: &mut Seat) {
    seat.standing = Standing::Empty;
    seat.capacity = 0;
    seat.representatives.clear();
}

/// What a group says of itself. Its share follows its robots only when a quarter of them came or
/// went: each change is told to everybody below the group above.
fn weigh(seat: &mut Seat, summary: &Summary) {
    let change = summary.capacity.abs_diff(seat.capacity);
    if summary.capacity > 0 && change * 4 >= seat.capacity {
        seat.capacity = summary.capacity;
    }
    seat.representatives.clone_from(&summary.representatives);
}
