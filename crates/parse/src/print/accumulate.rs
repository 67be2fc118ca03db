//! Hashes of words, folded into an exact fingerprint and into a `SimHash` of three-word shingles.

/// Odd, with an even spread of bits: digits of the golden ratio, and of π.
pub(crate) const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const SEED: u64 = 0x243F_6A88_85A3_08D3;

/// Both halves of the 128-bit product, mixed.
#[inline]
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128) * (b as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Each bit of a byte as a byte of its own.
const SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte] |= ((byte as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Adds three numbers in each of 64 columns: the sums, and what is carried.
#[inline]
const fn add_columns(a: u64, b: u64, c: u64) -> (u64, u64) {
    let either = a ^ b;
    (either ^ c, (a & b) | (either & c))
}

/// A polynomial of word hashes: of two texts joined it follows from those of both, wherever they
/// were cut. Texts are equal when it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    value: u64,
    /// The base to the power of the number of words.
    scale: u64,
    /// What has no place in the order.
    beside: u64,
}

impl Default for Exact {
    fn default() -> Self {
        Self {
            value: 0,
            scale: 1,
            beside: 0,
        }
    }
}

impl Exact {
    /// The polynomial of words, each told to `with`; and what has no place in their order.
    #[inline]
    pub(super) fn of(
        words: impl Iterator<Item = u64>,
        beside: u64,
        mut with: impl FnMut(u64),
    ) -> Self {
        let (mut value, mut count) = (0u64, 0);
        for word in words {
            value = value.wrapping_mul(MULTIPLIER).wrapping_add(word);
            count += 1;
            with(word);
        }
        Self {
            value,
            scale: MULTIPLIER.wrapping_pow(count),
            beside,
        }
    }

    /// Adds what another text says after this one.
    #[inline]
    pub(super) fn join(&mut self, after: Self) {
        self.value = self
            .value
            .wrapping_mul(after.scale)
            .wrapping_add(after.value);
        self.scale = self.scale.wrapping_mul(after.scale);
        self.beside = self.beside.wrapping_add(after.beside);
    }

    /// Counts something that has no place in the order.
    pub(super) fn add(&mut self, beside: u64) {
        self.beside = self.beside.wrapping_add(beside);
    }

    /// Well mixed; 0 for nothing at all.
    pub(super) fn finish(self) -> u64 {
        if self == Self::default() {
            0
        } else {
            let value = fold(self.value ^ self.scale.rotate_left(32), MULTIPLIER);
            (value ^ fold(self.beside, MULTIPLIER)).max(1)
        }
    }
}

/// Words go in, a `SimHash` comes out.
#[derive(Default)]
pub(super) struct Similar {
    words: u64,
    /// The two words before the next one.
    before: [u64; 2],
    counts: Counts,
}

impl Similar {
    #[inline]
    pub(super) fn push(&mut self, word: u64) {
        self.words += 1;
        if self.words > 2 {
            let shingle = self.before[0].rotate_left(17) ^ self.before[1].rotate_left(31) ^ word;
            self.counts.add(fold(shingle ^ SEED, MULTIPLIER));
        }
        self.before = [self.before[1], word];
    }

    /// The fingerprint; 0 of nothing.
    pub(super) fn finish(mut self) -> u64 {
        if self.words == 0 {
            return 0;
        }
        if self.words < 3 {
            let both = self.before[0].rotate_left(31) ^ self.before[1];
            self.counts.add(fold(both ^ SEED, MULTIPLIER));
        }
        self.counts.majority()
    }
}

/// For each of 64 bits, how many hashes had it: the low digits of all counts in three numbers, one
/// bit a count; every eighth hash carries over into bytes, eight counts to a number; and every 255
/// carries into whole numbers.
#[derive(Default)]
struct Counts {
    hashes: u64,
    held: [u64; 8],
    ones: u64,
    twos: u64,
    fours: u64,
    eights: [u64; 8],
    carried: u8,
    totals: Totals,
}

/// Counts of eight.
struct Totals([u64; 64]);

impl Default for Totals {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Counts {
    #[inline]
    fn add(&mut self, hash: u64) {
        let place = (self.hashes % 8) as usize;
        self.held[place] = hash;
        self.hashes += 1;
        if place == 7 {
            self.carry();
        }
    }

    /// Adds the eight held hashes (Harley and Seal's tree of adders).
    fn carry(&mut self) {
        let held = self.held;
        let (ones, two_a) = add_columns(self.ones, held[0], held[1]);
        let (ones, two_b) = add_columns(ones, held[2], held[3]);
        let (twos, four_a) = add_columns(self.twos, two_a, two_b);
        let (ones, two_a) = add_columns(ones, held[4], held[5]);
        let (ones, two_b) = add_columns(ones, held[6], held[7]);
        let (twos, four_b) = add_columns(twos, two_a, two_b);
        let (fours, eight) = add_columns(self.fours, four_a, four_b);
        (self.ones, self.twos, self.fours) = (ones, twos, fours);
        for (lane, byte) in self.eights.iter_mut().zip(eight.to_le_bytes()) {
            *lane += SPREAD[byte as usize];
        }
        self.carried += 1;
        if self.carried == u8::MAX {
            self.empty_lanes();
        }
    }

    fn empty_lanes(&mut self) {
        for (totals, lane) in self.totals.0.chunks_exact_mut(8).zip(&mut self.eights) {
            for (total, byte) in totals.iter_mut().zip(lane.to_le_bytes()) {
                *total += u64::from(byte);
            }
            *lane = 0;
        }
        self.carried = 0;
    }

    /// The bits that more than half of the hashes had.
    fn majority(mut self) -> u64 {
        self.empty_lanes();
        let held = &self.held[..(self.hashes % 8) as usize];
        (0..64).fold(0, |majority, bit| {
            let at = |number: u64| number >> bit & 1;
            let low = at(self.ones) + 2 * at(self.twos) + 4 * at(self.fours);
            let waiting: u64 = held.iter().map(|hash| at(*hash)).sum();
            let count = 8 * self.totals.0[bit] + low + waiting;
            majority | u64::from(2 * count > self.hashes) << bit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_count_as_a_plain_counter_does() {
        for length in (3..40).chain([2000, 2046, 5003]) {
            check_counts(length);
        }
    }

    #[test]
    fn wherever_a_text_is_cut_it_is_the_same() {
        let of = |words: &[u64]| Exact::of(words.iter().copied(), 0, |_| ());
        let words: Vec<u64> = (1..20).map(|i| fold(SEED ^ i, MULTIPLIER)).collect();
        for cut in 0..words.len() {
            let mut joined = of(&words[..cut]);
            joined.join(of(&words[cut..]));
            assert_eq!(joined, of(&words));
        }
        assert_ne!(of(&words[..2]).finish(), of(&[words[1], words[0]]).finish());
        assert_eq!(Exact::default().finish(), 0);
    }

    fn check_counts(length: u64) {
        let words: Vec<u64> = (0..length).map(|i| fold(SEED ^ i, MULTIPLIER)).collect();
        let mut accumulator = Similar::default();
        for word in &words {
            accumulator.push(*word);
        }
        let mut plain = [0i64; 64];
        for three in words.windows(3) {
            let shingle = three[0].rotate_left(17) ^ three[1].rotate_left(31) ^ three[2];
            let hash = fold(shingle ^ SEED, MULTIPLIER);
            for (bit, count) in plain.iter_mut().enumerate() {
                *count += if hash >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
        let expected = plain
            .iter()
            .enumerate()
            .fold(0, |s, (bit, count)| s | (u64::from(*count > 0) << bit));
        assert_eq!(accumulator.finish(), expected);
    }
}
