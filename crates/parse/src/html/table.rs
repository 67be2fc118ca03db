//! What is known of some names: a hash table with open addressing, made by the compiler.

use super::names::{Name, number};

pub(super) struct Table<const SLOTS: usize>([(Name, u8); SLOTS]);

impl<const SLOTS: usize> Table<SLOTS> {
    pub(super) const fn empty() -> Self {
        assert!(SLOTS.is_power_of_two());
        Table([(0, 0); SLOTS])
    }

    pub(super) const fn with(mut self, name: Name, bits: u8) -> Self {
        let mut slot = Self::first_slot(name);
        while self.0[slot].0 != 0 {
            slot = (slot + 1) % SLOTS;
        }
        self.0[slot] = (name, bits);
        self
    }

    #[inline]
    const fn first_slot(name: Name) -> usize {
        (number(name).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SLOTS.trailing_zeros())) as usize
    }

    /// What is known of a name; nothing of most.
    #[inline]
    pub(super) fn get(&self, name: Name) -> u8 {
        let mut slot = Self::first_slot(name);
        loop {
            let (known, bits) = self.0[slot];
            if known == name {
                return bits;
            }
            if known == 0 {
                return 0;
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}
