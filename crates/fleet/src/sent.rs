//! The sent cache: URLs that need not be sent again. It never says "sent" of one that was not: fingerprints
//! are whole. It grows with what is sent; beyond its bound it forgets, which costs a duplicate, never a loss.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Places to begin with.
const FIRST: usize = 1 << 8;
/// Places that are looked at for a fingerprint. With at most half of all places taken hardly any needs more.
const REACH: usize = 32;

/// What a URL is known by.
#[derive(Clone, Copy, Debug)]
pub struct Print(u128);

impl Print {
    /// Of a URL.
    pub fn of(name: &str, url: &str) -> Self {
        let mut hasher = SipHasher13::new();
        // the parts are told apart: "a" + "bc" is not "ab" + "c"
        for part in [name.as_bytes(), &[0], url.as_bytes()] {
            hasher.write(part);
        }
        Self(hasher.finish128().as_u128())
    }

    /// Never nothing.
    fn sent(self, bound: bool) -> u128 {
        self.0 & !3 | 2 | u128::from(bound)
    }
}

/// Fingerprints of URLs that are in the outbox on disk, or were: 32 to 64 bytes each.
#[derive(Clone, Debug)]
pub struct SentCache {
    places: Vec<u128>,
    taken: usize,
    most: usize,
}

impl SentCache {
    /// A cache that grows up to so many places.
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            places: vec![0; FIRST.min(most)],
            taken: 0,
            most,
        }
    }

    /// Whether the URL is known to be sent, to its server or to its register. These are two things: a registrar that
    /// once found the URL itself has to send it on all the same.
    pub fn knows(&self, print: Print, bound: bool) -> bool {
        let print = print.sent(bound);
        // nothing is ever taken out, so that a free place ends the search
        let near = self.near(print).map(|place| self.places[place]);
        near.take_while(|&there| there != 0)
            .any(|there| there == print)
    }

    /// The URL is in the outbox, and that is on disk.
    pub fn enter(&mut self, print: Print, bound: bool) {
        if 2 * (self.taken + 1) > self.places.len() && self.places.len() < self.most {
            self.grow();
        }
        self.put(print.sent(bound));
    }

    /// How many URLs it knows.
    pub fn len(&self) -> usize {
        self.taken
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    fn put(&mut self, fingerprint: u128) {
        let mut near = self.near(fingerprint);
        let free = near.find(|&place| [0, fingerprint].contains(&self.places[place]));
        // whoever comes later has the place
        let place = free.unwrap_or_else(|| self.home(fingerprint));
        self.taken += usize::from(self.places[place] == 0);
        self.places[place] = fingerprint;
    }

    fn grow(&mut self) {
        let wider = vec![0; (2 * self.places.len()).min(self.most)];
        let known = std::mem::replace(&mut self.places, wider);
        self.taken = 0;
        for fingerprint in known.into_iter().filter(|&known| known != 0) {
            self.put(fingerprint);
        }
    }

    fn home(&self, fingerprint: u128) -> usize {
        // the upper half, scaled to the number of places
        (((fingerprint >> 64) * self.places.len() as u128) >> 64) as usize
    }

    /// The places that it may have.
    fn near(&self, fingerprint: u128) -> impl Iterator<Item = usize> + use<> {
        let (home, all) = (self.home(fingerprint), self.places.len());
        (home..home + REACH.min(all)).map(move |place| place % all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_but_never_lies() {
        let mut cache = SentCache::new(64);
        let mut entered = std::collections::BTreeSet::new();
        let mut forgotten = 0;
        for i in 0..1_000_u32 {
            let path = format!("/{}", i.wrapping_mul(2_654_435_761) % 300);
            let known = cache.knows(Print::of("host", &path), true);
            assert!(!known || entered.contains(&path));
            forgotten += usize::from(!known && entered.contains(&path));
            cache.enter(Print::of("host", &path), true);
            assert!(cache.knows(Print::of("host", &path), true));
            entered.insert(path);
        }
        assert!(forgotten > 100 && cache.len() <= 64);
        let others = [
            (Print::of("hos", "t/1"), true),
            (Print::of("host", "/1"), false),
        ];
        assert!(
            !others
                .iter()
                .any(|(print, bound)| cache.knows(*print, *bound))
        );
    }

    /// A large share, each page of which is read twenty times.
    #[test]
    fn within_its_bound_it_forgets_next_to_nothing() {
        let urls = 200_000;
        let mut cache = SentCache::new(1 << 22);
        let mut sent = 0;
        for _ in 0..20 {
            for url in 0..urls {
                let path = format!("https://www.example.org/{url}");
                let print = Print::of("www.example.org", &path);
                if !cache.knows(print, true) {
                    cache.enter(print, true);
                    sent += 1;
                }
            }
        }
        assert!(sent * 1_000 <= urls * 1_001, "{sent} sent of {urls}");
        assert!(cache.places.len() <= 4 * urls, "{}", cache.places.len());
    }
}
