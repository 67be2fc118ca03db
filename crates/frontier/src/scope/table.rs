//! Names by the million, each with what belongs to it. A name that is not there costs one look into memory, one
//! that is there two: fingerprints stand in one table, names and what belongs to them beside each other in another.

use std::hash::{BuildHasher, RandomState};

/// The bits of a slot that tell where its entry is.
const PLACE_BITS: u32 = 40;
const PLACE: u64 = (1 << PLACE_BITS) - 1;

/// Names; the fingerprints' key is random, as links are hostile.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    key: RandomState,
    /// The upper bits of a name's fingerprint, and one more than where its entry begins; 0 for none. Half of them
    /// at least are empty.
    slots: Vec<u64>,
    /// Each entry: the lengths of both, a name, and what belongs to it.
    entries: Vec<u8>,
    /// Whether there is a name with so many dots, by bit.
    dots: u64,
}

impl Table {
    /// Of different names.
    pub fn new<'a>(names: impl ExactSizeIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut table = Self::default();
        if names.len() > 0 {
            table.slots = vec![0; (2 * names.len()).next_power_of_two()];
        }
        for (name, belongs) in names {
            let place = table.entries.len() as u64 + 1;
            assert!(place <= PLACE, "a terabyte of names");
            for part in [name.len(), belongs.len()] {
                table.entries.extend((part as u64).to_le_bytes());
            }
            table.entries.extend(name.bytes());
            table.entries.extend(belongs);
            table.dots |= dots(name);
            let fingerprint = table.key.hash_one(name);
            let mut slot = table.slot(fingerprint);
            while table.slots[slot] != 0 {
                slot = (slot + 1) % table.slots.len();
            }
            table.slots[slot] = fingerprint & !PLACE | place;
        }
        table
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// What belongs to a name, if it is there.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        if self.is_empty() || self.dots & dots(name) == 0 {
            return None;
        }
        let fingerprint = self.key.hash_one(name);
        let mut slot = self.slot(fingerprint);
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return None;
            }
            if (found ^ fingerprint) & !PLACE == 0 {
                let (known, belongs) = self.entry((found & PLACE) as usize - 1);
                if known == name.as_bytes() {
                    return Some(belongs);
                }
            }
            slot = (slot + 1) % self.slots.len();
        }
    }

    /// Where the name with this fingerprint is sought first; by its lower bits, as the upper are compared.
    fn slot(&self, fingerprint: u64) -> usize {
        (fingerprint as usize) & (self.slots.len() - 1)
    }

    fn entry(&self, at: usize) -> (&[u8], &[u8]) {
        let entry = &self.entries[at..];
        let length = |at: usize| {
            let bytes = entry[at..].first_chunk().copied();
            u64::from_le_bytes(bytes.unwrap_or_default()) as usize
        };
        let (name, belongs) = (16, 16 + length(0));
        (&entry[name..belongs], &entry[belongs..belongs + length(8)])
    }
}

/// A bit for names with so many dots.
fn dots(name: &str) -> u64 {
    1 << name.bytes().filter(|&byte| byte == b'.').count().min(63)
}
