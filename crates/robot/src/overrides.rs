//! Settings for some hosts and pages: of each setting the first rule that fits and names it holds.

mod headers;
mod place;
mod proxies;
pub(crate) mod quota;
mod read;
mod sheet;

pub(crate) use headers::Headers;
pub(crate) use proxies::Proxies;
pub use sheet::Told;

use crate::config::{Config, Count};
use freshness::revisits::{Limits, Rank};
use frontier::hours::Hours;
use frontier::lines::Manners;
use frontier::politeness::Interval;
use quota::Quotas;
use sheet::Sheet;
use url::Url;

/// All settings that pages and hosts may differ in, but for what is sent along.
pub struct Overrides {
    weight: Sheet<f64>,
    user_agent: Sheet<String>,
    proxy: Sheet<String>,
    /// The names alone: what they say may be secret.
    headers: Sheet<String>,
    interval: Sheet<Interval>,
    at_once: Sheet<u16>,
    robots: Sheet<bool>,
    hours: Sheet<Option<Hours>>,
    audit_every: Sheet<u32>,
    least_interval: Sheet<f64>,
    most_interval: Sheet<f64>,
    least_chance: Sheet<f64>,
    first_guess_days: Sheet<f64>,
    count: Sheet<Count>,
    gone_days: Sheet<f64>,
    /// How much may be had of what fits.
    pub(crate) quotas: Quotas,
}

/// How a host is treated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTerms {
    pub interval: Interval,
    pub at_once: u16,
    pub robots: bool,
    pub hours: Option<Hours>,
    pub audit_every: u32,
}

/// How a page is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageTerms {
    /// How much it matters, and how often it may be visited.
    pub rank: Rank,
    /// Whether a minor change counts.
    pub minor_counts: bool,
    /// The time between two looks at it when it is gone.
    pub gone_seconds: f64,
}

impl Default for Overrides {
    fn default() -> Self {
        Self::new(&Config::default()).expect("no rules, nothing wrong")
    }
}

impl Overrides {
    /// Whether all pages are treated alike, so that nobody need know their URLs.
    pub(crate) fn treats_pages_alike(&self) -> bool {
        self.weight.rules.is_empty()
            && self.least_interval.rules.is_empty()
            && self.most_interval.rules.is_empty()
            && self.least_chance.rules.is_empty()
            && self.first_guess_days.rules.is_empty()
            && self.count.rules.is_empty()
            && self.gone_days.rules.is_empty()
            && self.quotas.is_empty()
    }

    /// Whether rules guess how often some pages change.
    pub(crate) fn guess(&self) -> bool {
        !self.first_guess_days.rules.is_empty()
    }

    /// How a page is treated that no rule is about.
    pub(crate) fn usual_terms(&self) -> PageTerms {
        PageTerms {
            rank: Rank::from(1.0),
            minor_counts: self.count.usual == Count::Body,
            gone_seconds: self.gone_days.usual * 86_400.0,
        }
    }

    /// How a page is treated.
    pub(crate) fn page(&self, url: &Url) -> PageTerms {
        if self.treats_pages_alike() {
            return self.usual_terms();
        }
        let (least, most) = (
            self.least_interval.found(url),
            self.most_interval.found(url),
        );
        let chance = self.least_chance.found(url);
        let own = least.is_some() || most.is_some() || chance.is_some();
        let limits = Limits {
            least_interval: least.map_or(self.least_interval.usual, |found| found.value),
            most_interval: most.map_or(self.most_interval.usual, |found| found.value),
            least_chance: chance.map_or(self.least_chance.usual, |found| found.value),
        };
        let guess = self.first_guess_days.found(url);
        PageTerms {
            rank: Rank {
                weight: *self.weight.of(url),
                limits: own.then_some(limits),
                guess: guess.map(|found| 1.0 / (found.value * 86_400.0)),
            },
            minor_counts: *self.count.of(url) == Count::Body,
            gone_seconds: self.gone_days.of(url) * 86_400.0,
        }
    }

    /// How a host is treated; by its first page.
    pub(crate) fn host(&self, url: &Url) -> HostTerms {
        HostTerms {
            interval: *self.interval.of(url),
            at_once: *self.at_once.of(url),
            robots: *self.robots.of(url),
            hours: *self.hours.of(url),
            audit_every: *self.audit_every.of(url),
        }
    }

    /// All intervals that there are.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = Interval> {
        let of_rules = self.interval.rules.iter().map(|written| written.value);
        of_rules.chain([self.interval.usual])
    }

    /// Whether robots.txt is obeyed on the host of a URL, and by which rule if by one.
    pub fn robots(&self, url: &Url) -> (bool, Option<usize>) {
        let rule = self.robots.found(url).map(|found| found.rule);
        (*self.robots.of(url), rule)
    }

    /// The time between two requests to the host of a URL.
    pub fn interval(&self, url: &Url) -> Interval {
        *self.interval.of(url)
    }

    /// The hours in which the host of a URL may be asked.
    pub fn hours(&self, url: &Url) -> Option<Hours> {
        *self.hours.of(url)
    }

    /// The days between two looks at a page that is gone.
    pub fn gone_days(&self, url: &Url) -> f64 {
        *self.gone_days.of(url)
    }

    /// The limits of rules that a URL falls under, in words.
    pub fn limits_of(&self, url: &Url) -> String {
        let limits = [self.quotas.pages.told(url), self.quotas.bytes.told(url)];
        let words = |told: Told| format!("{} = {}, rule {}", told.key, told.value, told.rule);
        let words: Vec<String> = limits.into_iter().flatten().map(words).collect();
        if words.is_empty() {
            return "by a rule that no longer exists; judged again at the next start".into();
        }
        words.join("; ")
    }

    fn told_headers(&self, url: &Url) -> Option<Told> {
        let value = self.headers.of(url).clone();
        (self.headers.told(url)).map(|told| Told { value, ..told })
    }

    /// All that rules say of a URL.
    pub fn told(&self, url: &Url) -> Vec<Told> {
        let told = [
            self.weight.told(url),
            self.interval.told(url),
            self.at_once.told(url),
            self.robots.told(url),
            self.hours.told(url),
            self.audit_every.told(url),
            self.least_interval.told(url),
            self.most_interval.told(url),
            self.least_chance.told(url),
            self.first_guess_days.told(url),
            self.count.told(url),
            self.gone_days.told(url),
            self.quotas.pages.told(url),
            self.quotas.bytes.told(url),
            self.user_agent.told(url),
            self.proxy.told(url),
            self.told_headers(url),
        ];
        told.into_iter().flatten().collect()
    }
}

impl HostTerms {
    /// As the lines have it, with the number of its hours.
    pub fn manners(&self, hours: u8) -> Manners {
        Manners {
            interval: self.interval,
            parallel: self.at_once,
            hours,
        }
    }
}

#[cfg(test)]
mod tests;
