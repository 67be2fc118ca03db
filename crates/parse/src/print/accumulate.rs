//! Hashes of words, folded into one exact fingerprint and one SimHash of three-word shingles.

/// Odd, with an even spread of bits: digits of the golden ratio, and of π.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const SEED: u64 = 0x243F_6A88_85A3_08D3;

/// Both halves of the 128-bit product, mixed.
#[inline]
pub(super) const fn fold(a: u64, b: u64) -> u64 {
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

/// Words go in, two fingerprints come out.
pub(super) struct Accumulator {
    exact: u64,
    words: u64,
    /// The two words before the next one.
    before: [u64; 2],
    shingles: u64,
    /// For each bit how many shingles had it: eight 8-bit counts a word, emptied into `ones`
    /// before they overflow.
    lanes: [u64; 8],
    pending: u8,
    ones: [u64; 64],
}

impl Accumulator {
    pub(super) fn new() -> Self {
        Self {
            exact: SEED,
            words: 0,
            before: [0; 2],
            shingles: 0,
            lanes: [0; 8],
            pending: 0,
            ones: [0; 64],
        }
    }

    #[inline]
    pub(super) fn push(&mut self, word: u64) {
        self.exact = fold(self.exact ^ word, MULTIPLIER);
        self.words += 1;
        if self.words > 2 {
            let shingle = self.before[0].rotate_left(17) ^ self.before[1].rotate_left(31) ^ word;
            self.add_shingle(fold(shingle ^ SEED, MULTIPLIER));
        }
        self.before = [self.before[1], word];
    }

    #[inline]
    fn add_shingle(&mut self, hash: u64) {
        for (lane, byte) in self.lanes.iter_mut().zip(hash.to_le_bytes()) {
            *lane += SPREAD[byte as usize];
        }
        self.shingles += 1;
        self.pending += 1;
        if self.pending == u8::MAX {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (ones, lane) in self.ones.chunks_exact_mut(8).zip(&mut self.lanes) {
            for (count, byte) in ones.iter_mut().zip(lane.to_le_bytes()) {
                *count += u64::from(byte);
            }
            *lane = 0;
        }
        self.pending = 0;
    }

    /// The fingerprints `(exact, similar)`; `(0, 0)` of nothing.
    pub(super) fn finish(mut self) -> (u64, u64) {
        if self.words == 0 {
            return (0, 0);
        }
        if self.shingles == 0 {
            let both = self.before[0].rotate_left(31) ^ self.before[1];
            self.add_shingle(fold(both ^ SEED, MULTIPLIER));
        }
        self.flush();
        let half = self.shingles;
        let similar = self
            .ones
            .iter()
            .enumerate()
            .fold(0, |similar, (bit, ones)| {
                similar | (u64::from(2 * ones > half) << bit)
            });
        // zero is kept for "no text"
        (self.exact.max(1), similar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_count_as_a_plain_counter_does() {
        let words: Vec<u64> = (0..2000).map(|i| fold(SEED ^ i, MULTIPLIER)).collect();
        let mut accumulator = Accumulator::new();
        words.iter().for_each(|word| accumulator.push(*word));
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
        assert_eq!(accumulator.finish().1, expected);
    }
}
