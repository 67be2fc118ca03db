//! The counters as bytes, so that a restart need not count every URL again.

use url::Url;

use super::counters::{Counter, Counters};
use super::{Places, TrapConfig, Traps};

/// The first byte; others are not understood.
const VERSION: u8 = 1;
/// Version and a sample of the hashes.
const HEAD: usize = 9;
/// A place's hash, its URLs, its run and its halvings.
const ENTRY: usize = 15;

impl Traps {
    /// All that was counted.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries: Vec<(u64, Counter)> = self.counters.iter().collect();
        entries.sort_unstable_by_key(|(place, _)| *place);
        let mut bytes = Vec::with_capacity(HEAD + ENTRY * entries.len());
        bytes.push(VERSION);
        bytes.extend(sample().to_le_bytes());
        for (place, counter) in entries {
            bytes.extend(place.to_le_bytes());
            bytes.extend(counter.urls.to_le_bytes());
            bytes.extend(counter.run.to_le_bytes());
            bytes.push(counter.halvings);
        }
        bytes
    }

    /// What was counted before. Nothing for other bytes, or where places are hashed in another way:
    /// then the URLs must be counted again.
    pub fn from_bytes(config: TrapConfig, bytes: &[u8]) -> Option<Self> {
        let (head, entries) = bytes.split_at_checked(HEAD)?;
        let is_ours = head[0] == VERSION && head[1..] == sample().to_le_bytes();
        if !is_ours || entries.len() % ENTRY != 0 {
            return None;
        }
        let mut counters = Counters::new(config.counters);
        for entry in entries.chunks_exact(ENTRY) {
            let (place, entry) = entry.split_first_chunk()?;
            let (urls, entry) = entry.split_first_chunk()?;
            let (run, entry) = entry.split_first_chunk()?;
            let counter = Counter {
                urls: u32::from_le_bytes(*urls),
                run: u16::from_le_bytes(*run),
                halvings: *entry.first()?,
            };
            counters.set(u64::from_le_bytes(*place), counter);
        }
        Some(Self { config, counters })
    }
}

/// The hash of a known place: the standard library may hash otherwise one day.
fn sample() -> u64 {
    let url = Url::parse("http://host/a/b?c").expect("a URL");
    let places = Places::of("http://host", &url);
    places
        .prefixes()
        .iter()
        .fold(places.host, |sum, place| sum.rotate_left(7) ^ place)
}
