//! The sent cache: URLs that need not be sent again. It never says "sent" of one that was not:
//! whole fingerprints, one place for each, and whoever comes later has the place. A collision
//! costs a duplicate, never a loss.

use partition::hash::stable_hash;

/// Fingerprints of URLs that are in the outbox on disk, or were.
#[derive(Clone, Debug)]
pub struct SentCache(Vec<u128>);

impl SentCache {
    /// A cache with so many places.
    pub fn new(places: usize) -> Self {
        Self(vec![0; places.max(1)])
    }

    /// Sent to its register and sent to its server are two things: a registrar that once found
    /// the URL itself has to send it on all the same.
    fn fingerprint(name: &str, path: &str, bound: bool) -> u128 {
        // two hashes of 64 bits, with the parts apart: "a" + "bc" is not "ab" + "c"
        let url = [name.as_bytes(), &[0, bound.into()], path.as_bytes()].concat();
        let again = [&[1], &url[..]].concat();
        (u128::from(stable_hash(&url)) << 64 | u128::from(stable_hash(&again))).max(1)
    }

    /// Whether the URL is known to be sent, to its server or to its register.
    pub fn knows(&self, name: &str, path: &str, bound: bool) -> bool {
        let fingerprint = Self::fingerprint(name, path, bound);
        self.0[self.place(fingerprint)] == fingerprint
    }

    /// The URL is in the outbox, and that is on disk.
    pub fn enter(&mut self, name: &str, path: &str, bound: bool) {
        let fingerprint = Self::fingerprint(name, path, bound);
        let place = self.place(fingerprint);
        self.0[place] = fingerprint;
    }

    fn place(&self, fingerprint: u128) -> usize {
        (fingerprint % self.0.len() as u128) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_but_never_lies() {
        let mut cache = SentCache::new(64);
        let mut entered = std::collections::BTreeSet::new();
        for i in 0..1_000_u32 {
            let path = format!("/{}", i.wrapping_mul(2_654_435_761) % 300);
            assert!(!cache.knows("host", &path, true) || entered.contains(&path));
            cache.enter("host", &path, true);
            assert!(cache.knows("host", &path, true));
            entered.insert(path);
        }
        assert!(!cache.knows("hos", "t/1", true) && !cache.knows("host", "/1", false));
    }
}
