//! Consistent hashing with virtual nodes.

use super::{check_capacities, mix, stable_hash};
use crate::task::PartitionError;

/// Points of a robot of average capacity: shares then vary by about `1/√256`, 6 %.
const POINTS: f64 = 256.0;

/// The largest robot has points as if its capacity were between these: fewer would lose the
/// proportions, more would be no use.
const LARGEST: (f64, f64) = (1.0, 64.0);

/// Robots on a circle of hashes, each many times.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Ascending by hash.
    points: Vec<(u64, u32)>,
}

impl Ring {
    /// Robots `0..n` of these capacities, known by their numbers.
    pub fn new(capacities: &[f64]) -> Result<Self, PartitionError> {
        let members: Vec<(u64, f64)> = (0..).zip(capacities.iter().copied()).collect();
        Self::with_identities(&members)
    }

    /// Members by lasting identities, so that a member that leaves does not rename the others:
    /// answers are positions in this list. A capacity of 1 is average: unless the largest is far
    /// from that, the number of a member's points depends on nobody else.
    pub fn with_identities(members: &[(u64, f64)]) -> Result<Self, PartitionError> {
        let capacities: Vec<f64> = members.iter().map(|member| member.1).collect();
        check_capacities(&capacities)?;
        let largest = capacities.iter().copied().fold(0.0, f64::max);
        let unit = largest / largest.clamp(LARGEST.0, LARGEST.1);
        let mut points: Vec<(u64, u32)> = Vec::new();
        for (position, &(identity, capacity)) in (0..).zip(members) {
            let own = mix(identity.wrapping_add(0x9e37_79b9_7f4a_7c15));
            let count = (capacity / unit * POINTS).round().max(1.0) as u64;
            points.extend((0..count).map(|i| (mix(own ^ mix(i + 1)), position)));
        }
        points.sort_unstable();
        Ok(Self { points })
    }

    /// The robot of a host name.
    pub fn of_host(&self, host: &str) -> u32 {
        let hash = stable_hash(host.as_bytes());
        let next = self.points.partition_point(|point| point.0 < hash);
        self.points[next % self.points.len()].1
    }
}
