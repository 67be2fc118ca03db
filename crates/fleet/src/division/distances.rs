//! How far members are from servers, by the answers that their robots got.
//!
//! A server is asked by one robot at a time, so few pairs are measured. Of the others most can be guessed: servers of one
//! block of addresses are mostly in one place, so a member is as far from a server as from others of its block that
//! it asked. The ring, which knows no places, gives blocks to many.

use std::collections::BTreeMap;
use std::net::IpAddr;

use partition::solve::{Host, Measured, Robot};

use super::Placed;
use crate::counts::Delay;
use crate::identity::{Member, RobotId};
use crate::plan::Seat;

/// Microseconds between members and servers, by their positions.
pub(super) struct Distances(BTreeMap<(usize, usize), u32>);

/// What is mostly in one place.
fn block(server: IpAddr) -> IpAddr {
    match server {
        IpAddr::V4(v4) => std::net::Ipv4Addr::from(v4.to_bits() & !0xff).into(),
        IpAddr::V6(v6) => std::net::Ipv6Addr::from(v6.to_bits() >> 80 << 80).into(),
    }
}

fn median(mut values: Vec<u32>) -> Option<u32> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

impl Distances {
    pub(super) fn of(seats: &[Seat], placed: &[&Placed]) -> Self {
        let is_of = |seat: &Seat, robot: RobotId, delay: &Delay| match seat.member {
            Member::Robot(member) => member == robot,
            Member::Group(group) => delay.path.contains(&group),
        };
        let mut known = BTreeMap::new();
        let mut blocks: BTreeMap<(usize, IpAddr), Vec<u32>> = BTreeMap::new();
        for (at, placed) in placed.iter().enumerate() {
            for (seat, member) in seats.iter().enumerate() {
                let delays = placed.counts.delays.iter();
                let own = delays.filter(|(robot, delay)| is_of(member, **robot, delay));
                let own = median(own.filter_map(|(_, delay)| delay.median()).collect());
                if let Some(micros) = own {
                    known.insert((at, seat), micros);
                    let block = blocks.entry((seat, block(placed.server))).or_default();
                    block.push(micros);
                }
            }
        }
        for (at, placed) in placed.iter().enumerate() {
            for seat in 0..seats.len() {
                let near = blocks.get(&(seat, block(placed.server)));
                if let Some(micros) = near.and_then(|near| median(near.clone())) {
                    known.entry((at, seat)).or_insert(micros);
                }
            }
        }
        Self(known)
    }

    /// Whether it matters for any server who has it.
    pub(super) fn differ(&self) -> bool {
        let mut pairs = self.0.iter().zip(self.0.iter().skip(1));
        pairs.any(|(((at, _), near), ((next, _), far))| at == next && near != far)
    }

    /// In milliseconds, for the partition.
    pub(super) fn measured(&self) -> Vec<Measured> {
        let measured = self.0.iter().map(|(&(at, seat), &micros)| Measured {
            robot: Robot(seat as u32),
            host: Host(at as u32),
            cost: f64::from(micros) / 1e3,
        });
        measured.collect()
    }

    /// Microseconds from a page to its member, as it is and by a new division, where both are known.
    pub(super) fn mean(&self, placed: &[&Placed], part: &[u32]) -> Option<(u32, u32)> {
        let (mut pages, mut now, mut then) = (0, 0, 0);
        for (at, placed) in placed.iter().enumerate() {
            let Some(owner) = placed.owner else { continue };
            let of = |seat: usize| self.0.get(&(at, seat)).copied().map(u64::from);
            if let (Some(before), Some(after)) = (of(owner), of(part[at] as usize)) {
                let total = placed.counts.total();
                pages += total;
                now += total * before;
                then += total * after;
            }
        }
        (pages > 0).then(|| ((now / pages) as u32, (then / pages) as u32))
    }
}
