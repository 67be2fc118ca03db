//! Consistent hashing over lasting identities: each member draws a number for each key, and the
//! highest wins (rendezvous). A member that leaves moves only what it had; nothing is built or kept.

use std::net::IpAddr;

use partition::hash::stable_hash;

use crate::identity::Unit;

/// A member of capacity `c` draws `c` times, up to this.
const MOST_DRAWS: u32 = 64;

/// The finaliser of `SplitMix64`.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The number of a unit on the ring.
pub fn key_of(unit: Unit) -> u64 {
    match unit {
        Unit::Server(IpAddr::V4(v4)) => stable_hash(&v4.octets()),
        Unit::Server(IpAddr::V6(v6)) => stable_hash(&v6.octets()),
        Unit::Register(number) => mix(0x5265_6769_7374_6572 + u64::from(number)),
    }
}

/// Which of the members, given as (identity, capacity), has the key.
pub fn choose(key: u64, members: impl Iterator<Item = (u64, u32)>) -> Option<usize> {
    members
        .enumerate()
        .filter_map(|(position, (identity, capacity))| {
            let best = (1..=u64::from(capacity.min(MOST_DRAWS)))
                .map(|draw| mix(key ^ mix(identity.wrapping_add(draw << 56 | draw))))
                .max()?;
            Some((best, identity, position))
        })
        .max()
        .map(|(_, _, position)| position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(members: &[(u64, u32)]) -> Vec<u64> {
        (0..20_000)
            .map(|key| members[choose(mix(key), members.iter().copied()).unwrap()].0)
            .collect()
    }

    #[test]
    fn a_member_that_leaves_moves_only_what_it_had_and_shares_follow_capacity() {
        let members: Vec<(u64, u32)> = (0..9).map(|i| (mix(i + 77), 1 + (i as u32) % 3)).collect();
        let before = owners(&members);
        let gone = members[3];
        let rest: Vec<(u64, u32)> = members.iter().copied().filter(|m| *m != gone).collect();
        let after = owners(&rest);
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after || *before == gone.0);
        }
        let total: u32 = members.iter().map(|m| m.1).sum();
        for (identity, capacity) in members {
            let share = before.iter().filter(|&&o| o == identity).count() as f64 / 20_000.0;
            let fair = f64::from(capacity) / f64::from(total);
            assert!((share / fair - 1.0).abs() < 0.12, "{share} for {fair}");
        }
        assert_eq!(choose(1, std::iter::empty()), None);
        assert_eq!(
            choose(1, [(5, 0)].into_iter()),
            None,
            "no capacity, no share"
        );
    }
}
