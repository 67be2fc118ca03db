//! How long a host and an address are left alone between two requests.
#![doc = include_str!("politeness/README.md")]

use serde::{Deserialize, Serialize};

/// How the interval between two requests to a host is found, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "rule", deny_unknown_fields)]
pub enum Interval {
    /// Always the same.
    Fixed {
        /// The interval.
        seconds: f64,
    },
    /// Larger hosts can take more: from `longest` for a host of one page down to one second for
    /// one of `pages_of_largest` pages.
    Density {
        /// The interval of the smallest host.
        longest: f64,
        /// The size at which the interval is one second.
        pages_of_largest: f64,
    },
    /// A multiple of the time the last answer took.
    Latency {
        /// How many times the response time.
        factor: f64,
        /// Never shorter than this.
        least: f64,
    },
}

/// A host is left alone for so many times as long as its last answer took: in the robot by default,
/// and in the simulator.
pub const LATENCY_FACTOR: f64 = 10.0;

impl Default for Interval {
    fn default() -> Self {
        Self::Latency {
            factor: LATENCY_FACTOR,
            least: 1.0,
        }
    }
}

impl Interval {
    /// The interval for a host of so many pages whose last answer took `response` seconds.
    pub fn seconds(&self, pages: u32, response: f64) -> f64 {
        match *self {
            Self::Fixed { seconds } => seconds,
            Self::Density {
                longest,
                pages_of_largest,
            } => {
                let size = f64::from(pages.max(1)).ln() / pages_of_largest.max(2.0).ln();
                longest - size.min(1.0) * (longest - 1.0).max(0.0)
            }
            Self::Latency { factor, least } => (factor * response).max(least),
        }
    }
}

/// What a request to a host led to, as far as politeness is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// An answer that does not complain, after so many seconds.
    Fine {
        /// From the request to the end of the answer.
        seconds: f64,
    },
    /// "Too many requests" or "unavailable", with the wait it asks for.
    Slower {
        /// `Retry-After`, in seconds from now.
        retry_after: Option<f64>,
    },
    /// No answer at all.
    Silent,
}

/// The first extra wait after a complaint, and the extra wait after the first silence.
const FIRST_EXTRA: f64 = 5.0;
/// No host is left alone for longer without having asked for it.
const LONGEST_EXTRA: f64 = 3600.0;
/// Every answer without a complaint takes this share of the first extra wait away.
const RECOVERY: f64 = 0.2;

/// A host's standing: small, and kept across restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Courtesy {
    /// No request before this instant.
    pub not_before: f64,
    /// What robots.txt asks for; zero when it does not.
    pub crawl_delay: f64,
    /// Added to the interval since the host complained.
    pub extra: f64,
    /// How long the last answer took.
    pub response: f64,
}

impl Courtesy {
    /// The interval to keep now.
    pub fn interval(&self, rule: Interval, pages: u32) -> f64 {
        rule.seconds(pages, self.response).max(self.crawl_delay) + self.extra
    }

    /// The interval to keep at the host's address. What a host asks for, and how often it failed,
    /// is its own affair: it must not keep its neighbours waiting for long.
    pub fn address_interval(&self, rule: Interval, pages: u32) -> f64 {
        rule.seconds(pages, self.response) + self.extra.min(FIRST_EXTRA)
    }

    /// A request ended at `now`: finds when the next one may begin.
    pub fn ended(&mut self, rule: Interval, pages: u32, now: f64, answer: Answer) {
        let mut asked = 0.0;
        match answer {
            Answer::Fine { seconds } => {
                self.response = seconds;
                self.extra = (self.extra - RECOVERY * FIRST_EXTRA).max(0.0);
            }
            Answer::Slower { retry_after } => {
                asked = retry_after.unwrap_or(0.0);
                self.worse();
            }
            Answer::Silent => self.worse(),
        }
        let wait = self.interval(rule, pages).max(asked);
        self.not_before = self.not_before.max(now + wait);
    }

    fn worse(&mut self) {
        self.extra = (2.0 * self.extra).clamp(FIRST_EXTRA, LONGEST_EXTRA);
    }

    /// After a restart at `now` the last request may have been a moment ago.
    pub fn restarted(&mut self, rule: Interval, pages: u32, now: f64) {
        let wait = self.interval(rule, pages);
        self.not_before = self.not_before.max(now + wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Interval = Interval::Latency {
        factor: 5.0,
        least: 1.0,
    };

    #[test]
    fn intervals_follow_their_rule() {
        assert_eq!(RULE.seconds(10, 0.01), 1.0);
        assert_eq!(RULE.seconds(10, 2.0), 10.0);
        let density = Interval::Density {
            longest: 15.0,
            pages_of_largest: 10_000.0,
        };
        assert_eq!(density.seconds(1, 0.0), 15.0);
        assert!((density.seconds(100, 0.0) - 8.0).abs() < 1e-12);
        assert_eq!(density.seconds(1_000_000, 0.0), 1.0);
        assert_eq!(Interval::Fixed { seconds: 3.0 }.seconds(5, 9.0), 3.0);
    }

    #[test]
    fn crawl_delay_is_never_undercut() {
        let mut courtesy = Courtesy {
            crawl_delay: 20.0,
            ..Courtesy::default()
        };
        courtesy.ended(RULE, 1, 100.0, Answer::Fine { seconds: 0.1 });
        assert_eq!(courtesy.not_before, 120.0);
    }

    #[test]
    fn complaints_double_the_wait_and_answers_shorten_it_step_by_step() {
        let mut courtesy = Courtesy::default();
        let slower = Answer::Slower { retry_after: None };
        courtesy.ended(RULE, 1, 0.0, slower);
        assert_eq!(courtesy.not_before, 6.0);
        courtesy.ended(RULE, 1, 6.0, slower);
        assert_eq!(courtesy.extra, 10.0);
        for step in 1..=10 {
            courtesy.ended(RULE, 1, 100.0, Answer::Fine { seconds: 0.0 });
            assert!((courtesy.extra - (10.0 - f64::from(step))).abs() < 1e-9);
        }
        for _ in 0..50 {
            courtesy.ended(RULE, 1, 200.0, Answer::Silent);
        }
        assert_eq!(courtesy.extra, LONGEST_EXTRA);
    }

    #[test]
    fn what_a_host_asks_for_is_kept_even_when_answers_come_in_late() {
        let mut courtesy = Courtesy::default();
        let asked = Answer::Slower {
            retry_after: Some(600.0),
        };
        courtesy.ended(RULE, 1, 0.0, asked);
        assert_eq!(courtesy.not_before, 600.0);
        courtesy.ended(RULE, 1, 1.0, Answer::Fine { seconds: 0.1 });
        assert_eq!(courtesy.not_before, 600.0);
        courtesy.restarted(RULE, 1, 300.0);
        assert_eq!(courtesy.not_before, 600.0);
        courtesy.restarted(RULE, 1, 700.0);
        assert!(courtesy.not_before > 701.0);
    }
}
