//! Partitioners that look at nothing but names: hashes and the consistent-hash ring.
#![doc = include_str!("hash/README.md")]

mod ring;

pub use ring::Ring;

use std::net::IpAddr;

use crate::task::PartitionError;

/// A 64-bit hash that is the same on every machine and in every version: FNV-1a, then mixed so
/// that all bits depend on all bytes.
pub fn stable_hash(bytes: &[u8]) -> u64 {
    mix(ground::hash::fnv(bytes))
}

/// The finaliser of `SplitMix64`.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Divides the space of hashes in proportion to capacities.
#[derive(Clone, Debug)]
pub struct Shares {
    /// The last hash of each robot.
    ends: Vec<u64>,
}

impl Shares {
    /// Each robot's share of the hashes is its share of the capacity.
    pub fn new(capacities: &[f64]) -> Result<Self, PartitionError> {
        check_capacities(capacities)?;
        let total: f64 = capacities.iter().sum();
        let mut sum = 0.0;
        let mut ends: Vec<u64> = capacities
            .iter()
            .map(|capacity| {
                sum += capacity;
                // the product rounds to 2^64 at most, and the cast saturates
                (sum / total * 2.0_f64.powi(64)) as u64
            })
            .collect();
        if let Some(last) = ends.last_mut() {
            *last = u64::MAX;
        }
        Ok(Self { ends })
    }

    fn part(&self, hash: u64) -> u32 {
        let part = self.ends.partition_point(|&end| end < hash);
        part.min(self.ends.len() - 1) as u32
    }

    /// hash-host: all of a host's pages go together.
    pub fn of_host(&self, host: &str) -> u32 {
        self.part(stable_hash(host.as_bytes()))
    }

    /// hash-address: all hosts of an address go together.
    pub fn of_address(&self, address: IpAddr) -> u32 {
        match address {
            IpAddr::V4(v4) => self.part(stable_hash(&v4.octets())),
            IpAddr::V6(v6) => self.part(stable_hash(&v6.octets())),
        }
    }

    /// hash-url: the pages of one host go everywhere, so even links within a host are exchanged
    /// and no robot alone is polite to a server. A host belongs to nobody: each robot has its
    /// share of it, [`Shares::url_share`].
    pub fn of_url(&self, url: &str) -> u32 {
        self.part(stable_hash(url.as_bytes()))
    }

    /// The share of any host's pages that hash-url gives to a robot.
    pub fn url_share(&self, robot: u32) -> f64 {
        let r = robot as usize;
        let begin = if r == 0 { 0 } else { self.ends[r - 1] };
        (self.ends[r] - begin) as f64 / 2.0_f64.powi(64)
    }

    /// The share of links that hash-url is expected to hand over: those whose two ends, drawn
    /// independently, have different robots.
    pub fn url_cut(&self) -> f64 {
        1.0 - (0..self.ends.len() as u32)
            .map(|robot| self.url_share(robot).powi(2))
            .sum::<f64>()
    }
}

pub(crate) fn check_capacities(capacities: &[f64]) -> Result<(), PartitionError> {
    if capacities.is_empty() {
        return Err(PartitionError::NoRobots);
    }
    for (robot, &capacity) in capacities.iter().enumerate() {
        if !(capacity > 0.0 && capacity.is_finite()) {
            return Err(PartitionError::BadCapacity { robot, capacity });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
