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
        let ring = self.charter(next).is_some_and(|charter| charter.ring);
        if let Some(table) = self.partitioner.tables.get(&next.group).filter(|_| !ring) {
            next.table.clone_from(table);
        }
        let seats = &next.seats;
        (next.table).retain(|(_, member)| !ring && seats.iter().any(|s| s.member == *member));
    }

    /// The newest wishes of the group's owners, unless newer ones were carried out before.
    fn charter(&self, plan: &Plan) -> Option<&Charter> {
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
            if !wanted(seat) && seat.standing == Standing::Active {
                seat.standing = Standing::Leaving;
            }
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

    /// Members that want to go may, if there is anybody to go on.
    fn let_go(&self, depth: usize, next: &mut Plan) {
        for position in 0..next.seats.len() {
            let seat = &next.seats[position];
            let goes = match seat.member {
                Member::Robot(robot) => {
                    let key = Key {
                        group: next.group,
                        what: What::Lease(robot),
                    };
                    let lease = match self.seen.get(&key) {
                        Some((_, Value::Lease(lease))) => Some(lease),
                        _ => None,
                    };
                    let own = self.has(seat) && self.leaving;
                    own || lease.is_some_and(|lease| {
                        lease.leaving && lease.session.incarnation == seat.incarnation
                    })
                }
                Member::Group(group) => {
                    let summary = self.summary_of(next.group, group);
                    summary.is_some_and(|summary| summary.capacity == 0)
                }
            };
            let active = (next.seats.iter()).filter(|seat| seat.standing == Standing::Active);
            let others = active.count() > 1 || depth > 0;
            let seat = &mut next.seats[position];
            if goes && others && seat.standing == Standing::Active {
                seat.standing = Standing::Leaving;
            }
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
