//! Traps: places where URLs never end.
//!
//! Some show in the URL itself: too long, too deep, the same segments again and again. Others only
//! in numbers, so the URLs admitted are counted per host and per path prefix, and no more than a cap
//! are let in. A run of near-duplicate pages below a prefix halves its cap.
//!
//! A URL counts for its host, for the first [`LEVELS`] directories of its path, and if it has a
//! query, for its path as a whole: `/calendar?day=…` is as wide as any directory. The counters are
//! bounded (lossy counting, Manku and Motwani 2002): when there are too many the smallest go, so a
//! prefix may get a little more than its cap but a busy one is never forgotten. The counters can be
//! kept across a restart; URLs that they do not know of yet are counted again then, and caps that
//! were halved are halved again.

mod counters;
mod kept;
mod shape;

use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use url::Url;

use counters::Counters;

/// Directories of a path that are counted, from the first.
pub const LEVELS: usize = 3;

/// What makes a URL suspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrapConfig {
    /// Bytes of a URL at most. Default: 2000.
    pub url_length: usize,
    /// Segments of a path at most. Default: 24.
    pub path_depth: usize,
    /// How often the same segments may follow one another: `/a/b/a/b/a/b` is 3 times `/a/b`. Default: 2.
    pub repeats: usize,
    /// URLs per host at most. Default: 10 million.
    pub per_host: u32,
    /// URLs per path prefix at most. Default: 1 million.
    pub per_prefix: u32,
    /// Near-duplicates in a row below a prefix that halve its cap. Default: 20.
    pub duplicate_run: u16,
    /// URLs that a prefix keeps however often its cap was halved. Default: 100.
    pub least_per_prefix: u32,
    /// Prefixes and hosts counted at most, 16 bytes or so each. Default: 1 million.
    pub counters: usize,
}

impl Default for TrapConfig {
    fn default() -> Self {
        Self {
            url_length: 2000,
            path_depth: 24,
            repeats: 2,
            per_host: 10_000_000,
            per_prefix: 1_000_000,
            duplicate_run: 20,
            least_per_prefix: 100,
            counters: 1_000_000,
        }
    }
}

/// The trap that a URL would lead into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Trap {
    /// A long URL.
    #[error("longer than {0} bytes")]
    Length(usize),
    /// A deep path.
    #[error("more than {0} path segments")]
    Depth(usize),
    /// A path that turns in circles.
    #[error("the same path segments more than {0} times in a row")]
    Repeats(usize),
    /// The host has its share.
    #[error("{0} URLs of this host are known, the most that are allowed")]
    Host(u32),
    /// The path prefix has its share.
    #[error("{0} URLs below this path are known, the most that are allowed")]
    Prefix(u32),
}

/// Counts the URLs admitted and refuses those that lead into traps.
#[derive(Debug, Clone)]
pub struct Traps {
    config: TrapConfig,
    counters: Counters,
}

impl Traps {
    /// Nothing counted yet.
    pub fn new(config: TrapConfig) -> Self {
        let counters = Counters::new(config.counters);
        Self { config, counters }
    }

    /// Lets a new URL of `host` in and counts it, or says into which trap it leads.
    pub fn admit(&mut self, host: &str, url: &Url) -> Result<(), Trap> {
        shape::check(&self.config, url)?;
        let places = Places::of(host, url);
        if self.counters.get(places.host).urls >= self.config.per_host {
            return Err(Trap::Host(self.config.per_host));
        }
        for &prefix in places.prefixes() {
            let counter = self.counters.get(prefix);
            let cap = self.cap(counter.halvings);
            if counter.urls >= cap {
                return Err(Trap::Prefix(cap));
            }
        }
        self.count(&places);
        Ok(())
    }

    /// Counts a URL admitted before a restart, whatever is thought of it now.
    pub fn restore(&mut self, host: &str, url: &Url) {
        self.count(&Places::of(host, url));
    }

    /// Notes whether a page just fetched is nearly the same as others of its host; returns the
    /// prefixes whose caps that halved.
    pub fn note_content(&mut self, host: &str, url: &Url, near_duplicate: bool) -> Vec<Halved> {
        let run = self.config.duplicate_run.max(1);
        let places = Places::of(host, url);
        let mut halved = Vec::new();
        for (level, &prefix) in places.prefixes().iter().enumerate() {
            if self.counters.note(prefix, near_duplicate, run) {
                halved.push(Halved {
                    prefix: prefix_text(url, level, places.known),
                    times: self.counters.get(prefix).halvings,
                });
            }
        }
        halved
    }

    /// Halves caps that were halved before a restart.
    pub fn restore_halved(&mut self, host: &str, halved: &Halved) {
        let mut url = Url::parse("http://host/").expect("a URL");
        let (path, is_query) = match halved.prefix.strip_suffix('?') {
            Some(path) => (path, true),
            None => (&*halved.prefix, false),
        };
        url.set_path(path);
        url.set_query(is_query.then_some(""));
        // a prefix is the last of its own places
        if let Some(&prefix) = Places::of(host, &url).prefixes().last() {
            self.counters.halve(prefix, halved.times);
        }
    }

    fn count(&mut self, places: &Places) {
        self.counters.count(places.host);
        for &prefix in places.prefixes() {
            self.counters.count(prefix);
        }
    }

    fn cap(&self, halvings: u8) -> u32 {
        let most = self.config.per_prefix;
        let halved = most.checked_shr(u32::from(halvings)).unwrap_or(0);
        halved.max(self.config.least_per_prefix.min(most))
    }
}

/// A path prefix whose cap was lowered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halved {
    /// A directory (`/a/b/`), or a path with its question mark (`/calendar?`).
    pub prefix: String,
    /// How often its cap was halved.
    pub times: u8,
}

/// The prefix of a URL that is counted at this level, of so many.
fn prefix_text(url: &Url, level: usize, levels: usize) -> String {
    let path = url.path();
    if url.query().is_some() && level + 1 == levels {
        return format!("{path}?");
    }
    let slashes = path.bytes().enumerate().skip(1);
    let mut slashes = slashes.filter(|(_, byte)| *byte == b'/');
    let end = slashes
        .nth(level)
        .map_or(path.len(), |(slash, _)| slash + 1);
    path[..end].to_owned()
}

/// The places where a URL counts, as hashes.
struct Places {
    host: u64,
    prefixes: [u64; LEVELS + 1],
    known: usize,
}

impl Places {
    fn of(host: &str, url: &Url) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(host.as_bytes());
        let mut places = Self {
            host: hasher.finish(),
            prefixes: [0; LEVELS + 1],
            known: 0,
        };
        let path = url.path();
        let mut begin = 0;
        for slash in path
            .bytes()
            .enumerate()
            .skip(1)
            .filter(|(_, byte)| *byte == b'/')
            .take(LEVELS)
        {
            hasher.write(&path.as_bytes()[begin..=slash.0]);
            begin = slash.0 + 1;
            places.push(hasher.finish());
        }
        if url.query().is_some() {
            hasher.write(&path.as_bytes()[begin..]);
            hasher.write_u8(b'?');
            places.push(hasher.finish());
        }
        places
    }

    fn push(&mut self, prefix: u64) {
        self.prefixes[self.known] = prefix;
        self.known += 1;
    }

    fn prefixes(&self) -> &[u64] {
        &self.prefixes[..self.known]
    }
}

#[cfg(test)]
mod tests;
