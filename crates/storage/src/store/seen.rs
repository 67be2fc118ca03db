//! Which fingerprints are known, and under which number: an exact table in memory.

/// Shards grow one after another, so that growing never holds the whole table twice.
const SHARDS: usize = 256;
/// A shard grows when more than this share of its slots is taken (in tenths) …
const FULL_TENTHS: usize = 8;
/// … to this many tenths of its size: 20 to 26 bytes for each entry.
const GROWTH_TENTHS: usize = 13;
/// Enough that there is always an empty slot, where a search ends.
const LEAST_SLOTS: usize = 16;

/// Maps 128-bit fingerprints to numbers. A slot holds 96 bits of the fingerprint above the number
/// plus one; with the 8 bits that choose the shard, two of a billion keys are taken for each other
/// with a probability below 10⁻¹³, and nobody without the key can make it happen.
pub(crate) struct Seen {
    shards: Vec<Shard>,
}

struct Shard {
    slots: Vec<u128>,
    taken: usize,
}

impl Seen {
    pub(crate) fn new() -> Self {
        Self::with_room(0)
    }

    /// A table that takes `entries` without growing.
    pub(crate) fn with_room(entries: usize) -> Self {
        // no shard gets a twentieth more than its share, unless there are few
        let share = entries.div_ceil(SHARDS) * 21 / 20;
        let slots = if share == 0 {
            0
        } else {
            (share * 10 / FULL_TENTHS).max(LEAST_SLOTS)
        };
        Self {
            shards: (0..SHARDS).map(|_| Shard::new(slots)).collect(),
        }
    }

    pub(crate) fn get(&self, fingerprint: u128) -> Option<u32> {
        let shard = &self.shards[shard_of(fingerprint)];
        if shard.slots.is_empty() {
            return None;
        }
        match shard.slots[shard.place(tag(fingerprint))] {
            0 => None,
            slot => Some(number(slot)),
        }
    }

    /// Returns the number already there, or enters `id`.
    pub(crate) fn insert(&mut self, fingerprint: u128, id: u32) -> Option<u32> {
        let shard = &mut self.shards[shard_of(fingerprint)];
        if shard.taken * 10 >= shard.slots.len() * FULL_TENTHS {
            shard.grow();
        }
        let place = shard.place(tag(fingerprint));
        let slot = &mut shard.slots[place];
        if *slot != 0 {
            return Some(number(*slot));
        }
        *slot = tag(fingerprint) << 32 | (u128::from(id) + 1);
        shard.taken += 1;
        None
    }

    /// Bytes of memory taken.
    pub(crate) fn memory(&self) -> usize {
        self.shards.iter().map(|s| s.slots.capacity() * 16).sum()
    }
}

impl Shard {
    fn new(slots: usize) -> Self {
        Self {
            slots: vec![0; slots],
            taken: 0,
        }
    }

    /// Where `tag` is, or the empty slot where it would be.
    fn place(&self, tag: u128) -> usize {
        // the upper 32 bits of the tag, scaled to the number of slots
        let mut place = (((tag >> 64) as u64 * self.slots.len() as u64) >> 32) as usize;
        loop {
            let slot = self.slots[place];
            if slot == 0 || slot >> 32 == tag {
                return place;
            }
            place += 1;
            if place == self.slots.len() {
                place = 0;
            }
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * GROWTH_TENTHS / 10).max(LEAST_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            let place = self.place(slot >> 32);
            self.slots[place] = slot;
        }
    }
}

fn shard_of(fingerprint: u128) -> usize {
    (fingerprint >> 120) as usize
}

fn tag(fingerprint: u128) -> u128 {
    fingerprint & ((1 << 96) - 1)
}

fn number(slot: u128) -> u32 {
    (slot as u32).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn agrees_with_a_map(room in 0usize..3000, keys in prop::collection::vec((0u8..4, 0u128..300, any::<bool>()), 0..2000)) {
            let mut seen = Seen::with_room(room);
            let mut map = HashMap::new();
            for (id, (shard, key, far)) in keys.into_iter().enumerate() {
                // clustered and spread homes alike
                let spread = if far { key << 87 >> 32 } else { key };
                let fingerprint = u128::from(shard) << 120 | spread;
                let known = map.get(&fingerprint).copied();
                prop_assert_eq!(seen.get(fingerprint), known);
                prop_assert_eq!(seen.insert(fingerprint, id as u32), known);
                map.entry(fingerprint).or_insert(id as u32);
            }
            for (fingerprint, id) in map {
                prop_assert_eq!(seen.get(fingerprint), Some(id));
            }
        }
    }
}
