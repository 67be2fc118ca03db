//! A hash that is the same on every machine and in every version.

/// FNV-1a, 64 bits: small and quick, and not against people who want two texts to have the same.
pub fn fnv(bytes: &[u8]) -> u64 {
    fnv_from(0, bytes)
}

/// A hash of its own for each `salt`; 0 is plain FNV-1a.
pub fn fnv_from(salt: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325 ^ salt, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_hash() {
        // test vectors of its authors
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn salts_tell_hashes_apart() {
        assert_eq!(fnv_from(0, b"foobar"), fnv(b"foobar"));
        assert_ne!(fnv_from(1, b"foobar"), fnv(b"foobar"));
    }
}
