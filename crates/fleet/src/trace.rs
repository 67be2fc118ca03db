//! The routers between a robot and a server, as the robot found them.

use std::net::IpAddr;

use crate::counts::is_of;
use crate::identity::{GroupId, Member, RobotId};

/// Most routers of a route; more are cut off.
pub const MOST_HOPS: usize = 30;
/// Nothing on Earth takes longer, in microseconds.
const LONGEST: u32 = 10_000_000;

/// A route. One without routers says that there was nothing to find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Routers that answered, in order, and microseconds to each and back.
    pub hops: Vec<(IpAddr, u32)>,
    /// Microseconds to the server and back; nothing if it did not answer.
    pub end: Option<u32>,
}

/// A route, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Who found it.
    pub robot: RobotId,
    /// The groups above that robot, the fleet first.
    pub path: Vec<GroupId>,
    /// The server that it leads to.
    pub server: IpAddr,
    /// The way.
    pub trace: Trace,
}

impl Traced {
    /// Whether that robot is the member, or below it.
    pub(crate) fn is_of(&self, member: Member) -> bool {
        is_of(member, self.robot, &self.path)
    }
}

impl Trace {
    /// What may be told to others, or believed of them. A router whose address is not public is another one for every
    /// robot: it is left out, and the way goes on behind it. Says how many routers are left out.
    pub fn tidy(&mut self, public: impl Fn(IpAddr) -> bool) -> usize {
        let all = self.hops.len();
        self.hops
            .retain(|(router, micros)| *micros <= LONGEST && public(*router));
        self.hops.truncate(MOST_HOPS);
        self.end = self.end.filter(|micros| *micros <= LONGEST);
        all - self.hops.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_private_and_nothing_endless_is_told() {
        let public = |last: u8| IpAddr::from([8, 8, 8, last]);
        let mut hops = vec![(IpAddr::from([192, 168, 1, 1]), 900), (public(1), 4_000)];
        hops.push((public(2), u32::MAX));
        hops.extend((3..100).map(|last| (public(last), 9_000)));
        let end = Some(u32::MAX);
        let mut trace = Trace { hops, end };
        assert_eq!(trace.tidy(ground::is_public), 2 + 98 - MOST_HOPS);
        assert_eq!(trace.hops[..2], [(public(1), 4_000), (public(3), 9_000)]);
        assert_eq!((trace.hops.len(), trace.end), (MOST_HOPS, None));
        assert_eq!(trace.clone().tidy(ground::is_public), 0);
    }
}
