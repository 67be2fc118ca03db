//! The ways of members to servers that answer no probes, found by those who probed them. Kept in memory only, as probes are.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Robot;
use super::probing::{PROBERS, Wanted};
use crate::counts::block;
use crate::identity::{GroupId, Member, Millis, RobotId};
use crate::trace::{Trace, Traced};

/// Most routes that are kept.
const MOST: usize = 1 << 14;
/// Then they are looked for again: ways change less than times.
const LASTS: Millis = 7 * 24 * 3_600_000;

/// The routes that were found.
#[derive(Debug, Default)]
pub(super) struct Tracing {
    routes: BTreeMap<(IpAddr, RobotId), (Millis, Traced)>,
    dropped: u64,
}

impl Tracing {
    /// To a server's block, by anybody.
    fn to(&self, block: IpAddr) -> impl Iterator<Item = &(Millis, Traced)> {
        let all = (block, RobotId(0))..=(block, RobotId(u64::MAX));
        self.routes.range(all).map(|(_, found)| found)
    }

    /// Whether as many members as are asked for it looked for the way to a server's block.
    pub(super) fn knows(&self, server: IpAddr, members: &[Member]) -> bool {
        let of = |member: &&Member| {
            self.to(block(server))
                .any(|(_, found)| found.is_of(**member))
        };
        members.iter().filter(of).count() >= PROBERS.min(members.len())
    }

    /// All.
    pub(super) fn all(&self) -> Vec<Traced> {
        self.routes
            .values()
            .map(|(_, found)| found.clone())
            .collect()
    }

    fn has(&self, block: IpAddr, member: Member, now: Millis) -> bool {
        let mut routes = self.to(block);
        routes.any(|(at, found)| found.is_of(member) && now < at.saturating_add(LASTS))
    }

    fn is_full(&self, now: Millis) -> bool {
        let mut routes = self.routes.values();
        self.routes.len() >= MOST && routes.all(|(at, _)| now < at.saturating_add(LASTS))
    }

    fn keep(&mut self, now: Millis, found: Traced) {
        let key = (block(found.server), found.robot);
        if self.routes.len() >= MOST && !self.routes.contains_key(&key) {
            self.routes
                .retain(|_, (at, _)| now < at.saturating_add(LASTS));
        }
        if self.routes.len() >= MOST && !self.routes.contains_key(&key) {
            self.dropped += 1;
        } else {
            self.routes.insert(key, (now, found));
        }
    }
}

impl Robot {
    /// The ways that are to be found for a group whose partitioner this robot is, those to blocks with most pages first.
    pub fn untraced(&self, group: GroupId, most: usize) -> Vec<Wanted> {
        let routes = self.settings.division.is_some_and(|terms| terms.routes);
        if !routes || self.tracing.is_full(self.now) {
            return Vec::new();
        }
        let members = self.members_of(group);
        let wanted = self.wanted(group, &members);
        let silent = wanted.filter(|wanted| self.probing.is_silent(wanted.server, &members));
        let wanted = silent.filter_map(|mut wanted| {
            let block = block(wanted.server);
            let known = |member: &Member| self.tracing.has(block, *member, self.now);
            wanted.by.retain(|member| !known(member));
            (!wanted.by.is_empty()).then_some(wanted)
        });
        wanted.take(most).collect()
    }

    /// A robot found the way to a server, or found nothing.
    pub fn traced(&mut self, server: IpAddr, robot: RobotId, path: Vec<GroupId>, trace: Trace) {
        let found = Traced {
            robot,
            path,
            server,
            trace,
        };
        self.tracing.keep(self.now, found);
    }

    /// Routes that are known, and those that there was no room for.
    pub fn traces(&self) -> (usize, u64) {
        (self.tracing.routes.len(), self.tracing.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(number: u32, robot: u64) -> Traced {
        Traced {
            robot: RobotId(robot),
            path: vec![GroupId(1)],
            server: std::net::Ipv4Addr::from(number << 8 | 1).into(),
            trace: Trace::default(),
        }
    }

    #[test]
    fn routes_are_bounded_and_what_is_dropped_is_counted() {
        let mut tracing = Tracing::default();
        for number in 0..MOST as u32 {
            tracing.keep(0, found(number, 7));
        }
        assert!(tracing.is_full(0));
        tracing.keep(1, found(3, 7));
        assert_eq!((tracing.routes.len(), tracing.dropped), (MOST, 0));
        tracing.keep(1, found(3, 8));
        assert_eq!((tracing.routes.len(), tracing.dropped), (MOST, 1));
        let member = Member::Robot(RobotId(7));
        let to = block(found(3, 7).server);
        assert!(tracing.has(to, member, LASTS) && !tracing.has(to, member, LASTS + 1));
        // what is old gives way
        assert!(!tracing.is_full(LASTS));
        tracing.keep(LASTS, found(MOST as u32, 8));
        assert_eq!((tracing.routes.len(), tracing.dropped), (2, 1));
        let knows = |number| tracing.knows(found(number, 1).server, &[member]);
        assert!(knows(3) && !knows(4));
    }
}
