//! A fast 64-bit fingerprint of byte strings. Equal fingerprints are only a hint: whoever uses
//! them compares the strings.

use std::hash::{BuildHasherDefault, Hasher};

/// Odd constants with evenly mixed bits (from the digits of π and the golden ratio).
const KEYS: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15];

/// The fingerprint of `bytes`.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let mut state = KEYS[0] ^ bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("chunks of eight"));
        state = fold(state ^ word, KEYS[1]);
    }
    let rest = words
        .remainder()
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte));
    fold(fold(state ^ rest, KEYS[1]), KEYS[0])
}

/// Both halves of the 128-bit product, so that every bit of the input reaches every bit.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Makes hash maps keyed by byte strings use the fingerprint.
pub type ByFingerprint = BuildHasherDefault<Fingerprinter>;

/// See [`ByFingerprint`].
#[derive(Default)]
pub struct Fingerprinter(u64);

impl Hasher for Fingerprinter {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = fold(self.0 ^ fingerprint(bytes), KEYS[1]);
    }

    fn write_usize(&mut self, _length: usize) {
        // the fingerprint contains the length already
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tells_similar_strings_apart() {
        let names = (0..200_000).map(|k| format!("http://example.org/page/{k}"));
        let zeros = (0..64).map(|length| "\0".repeat(length));
        let all: Vec<String> = names.chain(zeros).collect();
        let seen: HashSet<u64> = all.iter().map(|n| fingerprint(n.as_bytes())).collect();
        assert_eq!(seen.len(), all.len());
    }
}
