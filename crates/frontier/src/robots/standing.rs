//! What a fetch of robots.txt means for its host, and for how long.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use super::rules::{Rules, Ruling};
use crate::key::parse_link;

/// Redirects followed from a robots.txt, to any host: RFC 9309 §2.3.1.2.
pub const MAX_REDIRECTS: u8 = 5;

/// Seconds after which a robots.txt is asked for again at the latest: RFC 9309 §2.4.
pub const LONGEST_LIFE: f64 = 24.0 * 3600.0;

/// Seconds for which an answer holds at the least: one that must never be cached would otherwise
/// double every request.
const SHORTEST_LIFE: f64 = 300.0;

/// Seconds of being unreachable after which there may as well be none: RFC 9309 §2.3.1.4.
const GIVEN_UP: f64 = 30.0 * 24.0 * 3600.0;

/// How the last fetch of a robots.txt ended, redirects followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched<'a> {
    /// The server answered.
    Answer {
        /// The status of the last answer.
        status: u16,
        /// Its body, decoded.
        body: &'a [u8],
    },
    /// No address, no connection, no answer in time, a broken answer.
    Failure,
}

/// What a host's robots.txt comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is one.
    Rules(Rules),
    /// There is none (4xx, or redirects without end): everything may be fetched.
    AllowAll,
    /// Nobody can tell (5xx, 429, or no answer): nothing may be fetched for now.
    DisallowForNow,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rules(_) => "there is a robots.txt",
            Self::AllowAll => "no robots.txt: everything may be fetched",
            Self::DisallowForNow => "robots.txt cannot be fetched: nothing else may be for now",
        })
    }
}

/// What is known of a host's robots.txt, kept with the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// What it says.
    pub verdict: Verdict,
    /// When it must be fetched again, in seconds since the epoch.
    pub expires: f64,
    /// Since when it has not been reachable.
    pub unreachable_since: Option<f64>,
}

impl Standing {
    /// What a fetch that ended at `now` means. `max_age` is that of the answer's Cache-Control,
    /// `previous` what was known before.
    pub fn after(
        previous: Option<&Self>,
        fetched: Fetched<'_>,
        max_age: Option<f64>,
        now: f64,
    ) -> Self {
        let verdict = match fetched {
            Fetched::Answer {
                status: 200..=299,
                body,
            } => Verdict::Rules(Rules::parse(body)),
            // 429 is a 4xx, but it says "not now" and no more
            Fetched::Answer {
                status: 300..=428 | 430..=499,
                ..
            } => Verdict::AllowAll,
            Fetched::Answer { .. } | Fetched::Failure => {
                return Self::unreachable(previous, now);
            }
        };
        let asked = max_age.filter(|age| !age.is_nan()).unwrap_or(LONGEST_LIFE);
        let life = asked.clamp(SHORTEST_LIFE, LONGEST_LIFE);
        Self {
            verdict,
            expires: now + life,
            unreachable_since: None,
        }
    }

    /// Asked again after as long as it has been gone: often at first, daily in the end.
    fn unreachable(previous: Option<&Self>, now: f64) -> Self {
        let since = previous
            .and_then(|known| known.unreachable_since)
            .unwrap_or(now);
        let gone = (now - since).max(0.0);
        let verdict = if gone >= GIVEN_UP {
            Verdict::AllowAll
        } else {
            Verdict::DisallowForNow
        };
        Self {
            verdict,
            expires: now + gone.clamp(SHORTEST_LIFE, LONGEST_LIFE),
            unreachable_since: Some(since),
        }
    }

    /// Whether the agent may fetch the URL, by which rule.
    pub fn judge(&self, agent: &str, url: &Url) -> Ruling {
        match &self.verdict {
            Verdict::Rules(rules) => rules.judge(agent, url),
            Verdict::AllowAll => Ruling {
                allowed: true,
                rule: None,
                line: None,
            },
            Verdict::DisallowForNow => Ruling {
                allowed: url.path() == "/robots.txt",
                rule: None,
                line: None,
            },
        }
    }

    /// [`judge`](Self::judge) without the reasons.
    pub fn allows(&self, agent: &str, url: &Url) -> bool {
        match &self.verdict {
            Verdict::Rules(rules) => rules.allows(agent, url),
            Verdict::AllowAll => true,
            Verdict::DisallowForNow => url.path() == "/robots.txt",
        }
    }

    /// The rules, where there are any.
    pub fn rules(&self) -> Option<&Rules> {
        match &self.verdict {
            Verdict::Rules(rules) => Some(rules),
            Verdict::AllowAll | Verdict::DisallowForNow => None,
        }
    }

    /// Whether it must be fetched again.
    pub fn is_expired(&self, now: f64) -> bool {
        now >= self.expires
    }
}

/// Where to go on after an answer to a request for robots.txt at `from`, `hops` redirects already
/// followed; `None` when the answer is the last one, to be given to [`Standing::after`].
pub fn next_hop(from: &Url, status: u16, location: Option<&str>, hops: u8) -> Option<Url> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) || hops >= MAX_REDIRECTS {
        return None;
    }
    parse_link(from, location?).ok()
}
