//! Which URLs belong to the crawl, and why the others do not.
//!
//! A URL is in when a seed reaches it and `include` has nothing against it, or when one of the lists that
//! widen the scope (`also`, `prefixes`, `suffixes`) names it; and when neither `exclude` nor a filter holds
//! it back. Of a filter `deny` wins; an `allow` that names nothing lets everything pass.

mod config;
mod index;
mod names;
mod reason;
mod seed;
mod table;

use std::net::IpAddr;
use std::sync::Arc;

use ground::Prefix;
use regex::{Regex, RegexSet};
use url::{Position, Url};

pub use config::{Filter, Reach, ScopeConfig};
pub use reason::{Invalid, Judgement, Reason, Rule, in_a_line};
pub use seed::{Reaching, Seed};

use crate::robots::Pattern;
use index::Index;
use names::{Territory, is_under};

/// The scope, ready to judge.
#[derive(Debug, Clone)]
pub struct Scope {
    /// How far seeds reach, if all reach as far.
    reach: Option<Reach>,
    /// A seed reaches the whole Web.
    anywhere: bool,
    /// What seeds reach.
    reached: Index,
    /// Seeds that reach nothing but themselves.
    pages: Index,
    /// What is in besides.
    more: Index,
    also: RegexSet,
    include: RegexSet,
    exclude: RegexSet,
    max_depth: u16,
    domains: Resolved<String>,
    paths: Resolved<Pattern>,
    types: Resolved<String>,
    addresses: Resolved<Prefix>,
    places: Resolved<String>,
}

/// A filter, each of its entries with its text as written.
#[derive(Debug, Clone)]
struct Resolved<T> {
    allow: Vec<T>,
    deny: Vec<(T, Arc<str>)>,
}

/// What a filter says: passed, denied by an entry, or not among those allowed.
enum Sieved {
    Passed,
    Denied(Arc<str>),
    NotAllowed,
}

impl<T> Resolved<T> {
    fn new<E>(filter: &Filter, read: impl Fn(&str) -> Result<T, E>) -> Result<Self, E> {
        let with_text = |text: &String| Ok((read(text)?, Arc::from(text.as_str())));
        Ok(Self {
            allow: filter
                .allow
                .iter()
                .map(|text| read(text))
                .collect::<Result<_, E>>()?,
            deny: filter
                .deny
                .iter()
                .map(with_text)
                .collect::<Result<_, E>>()?,
        })
    }

    fn sieve(&self, matches: impl Fn(&T) -> bool) -> Sieved {
        if let Some((_, text)) = self.deny.iter().find(|(entry, _)| matches(entry)) {
            Sieved::Denied(text.clone())
        } else if self.allow.is_empty() || self.allow.iter().any(matches) {
            Sieved::Passed
        } else {
            Sieved::NotAllowed
        }
    }

    fn is_open(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }
}

impl Scope {
    /// The scope that the configuration and the seeds draw.
    pub fn new(config: &ScopeConfig, seeds: &[impl Reaching]) -> Result<Self, Invalid> {
        let more = more(config)?;
        let around_seeds = seeds
            .iter()
            .filter_map(|seed| Territory::around(seed.url(), reach_of(config, seed)));
        let pages = seeds
            .iter()
            .filter(|seed| reach_of(config, *seed) == Reach::Page)
            .filter_map(|seed| Territory::around(seed.url(), Reach::Page));
        let mut reaches = seeds.iter().map(|seed| reach_of(config, seed));
        let reach = reaches.next().unwrap_or(config.reach);
        let alike = reaches.clone().all(|other| other == reach);
        let expressions = |key, list: &[String]| {
            RegexSet::new(list).map_err(|error| {
                let is_wrong = |text: &&String| Regex::new(text).is_err();
                let wrong = list.iter().find(is_wrong).cloned().unwrap_or_default();
                Invalid::Expression(key, wrong, reason::in_a_line(&error))
            })
        };
        let lower = |text: &str| Ok::<_, Invalid>(text.trim().to_ascii_lowercase());
        Ok(Self {
            reach: alike.then_some(reach),
            anywhere: reach == Reach::Anywhere || reaches.any(|other| other == Reach::Anywhere),
            reached: Index::new(around_seeds),
            pages: Index::new(pages),
            more: Index::new(more.into_iter().map(|(territory, _)| territory)),
            also: expressions("also", &config.also)?,
            include: expressions("include", &config.include)?,
            exclude: expressions("exclude", &config.exclude)?,
            max_depth: config.max_depth.unwrap_or(u16::MAX),
            domains: Resolved::new(&config.domains, names::read)?,
            paths: Resolved::new(&config.paths, |text| {
                Ok::<_, Invalid>(Pattern::new(text.as_bytes()))
            })?,
            types: Resolved::new(&config.types, lower)?,
            addresses: Resolved::new(&config.addresses, |text| {
                text.parse().map_err(|_| Invalid::Address(text.to_owned()))
            })?,
            places: Resolved::new(&config.places, |text| {
                let is_country = text.len() == 2 && text.bytes().all(|b| b.is_ascii_alphabetic());
                let upper = is_country.then(|| text.to_ascii_uppercase());
                upper.ok_or_else(|| Invalid::Country(text.to_owned()))
            })?,
        })
    }

    /// Whether a URL found `depth` links away from a seed belongs to the crawl.
    pub fn judge(&self, url: &Url, depth: u16) -> Judgement {
        if depth > self.max_depth {
            return Judgement::Out(Reason::TooDeep {
                depth,
                most: self.max_depth,
            });
        }
        self.judge_place(url, false)
    }

    /// Whether it is a seed that reaches nothing but itself. Where it redirects to is the page that was meant, wherever
    /// that is.
    pub fn is_page(&self, url: &Url) -> bool {
        url.host_str()
            .is_some_and(|host| self.pages.holds(url, host))
    }

    /// Whether the page that was meant belongs to the crawl: whatever seeds reach.
    pub fn judge_meant(&self, url: &Url) -> Judgement {
        self.judge_place(url, true)
    }

    fn judge_place(&self, url: &Url, is_meant: bool) -> Judgement {
        let Some(host) = url.host_str() else {
            return Judgement::Out(Reason::NoHost);
        };
        if !self.is_added(url, host) {
            if !is_meant && !self.is_reached(url, host) {
                return Judgement::Out(Reason::OutOfReach(self.reach));
            }
            if !self.include.is_empty() && !self.include.is_match(url.as_str()) {
                return Judgement::Out(Reason::NotIncluded);
            }
        }
        if !self.exclude.is_empty()
            && let Some(at) = self.exclude.matches(url.as_str()).iter().next()
        {
            return Judgement::Out(Reason::Excluded(
                self.exclude.patterns()[at].as_str().into(),
            ));
        }
        match self.domains.sieve(|domain| is_under(host, domain)) {
            Sieved::Passed => {}
            Sieved::Denied(domain) => return Judgement::Out(Reason::DomainDenied(domain)),
            Sieved::NotAllowed => return Judgement::Out(Reason::DomainNotAllowed),
        }
        if self.paths.is_open() {
            return Judgement::In;
        }
        let path = crate::robots::normal_path(&url[Position::BeforePath..Position::AfterQuery]);
        match self.paths.sieve(|pattern| pattern.matches(&path)) {
            Sieved::Passed => Judgement::In,
            Sieved::Denied(pattern) => Judgement::Out(Reason::PathDenied(pattern)),
            Sieved::NotAllowed => Judgement::Out(Reason::PathNotAllowed),
        }
    }

    /// Whether what a page of the crawl embeds is taken: wherever it lives, unless something denies
    /// it. Lists of what is allowed are about pages.
    pub fn judge_requisite(&self, url: &Url) -> Judgement {
        let Some(host) = url.host_str() else {
            return Judgement::Out(Reason::NoHost);
        };
        if let Some(at) = self.exclude.matches(url.as_str()).iter().next() {
            return Judgement::Out(Reason::Excluded(
                self.exclude.patterns()[at].as_str().into(),
            ));
        }
        if let Sieved::Denied(domain) = self.domains.sieve(|domain| is_under(host, domain)) {
            return Judgement::Out(Reason::DomainDenied(domain));
        }
        let path = crate::robots::normal_path(&url[Position::BeforePath..Position::AfterQuery]);
        match self.paths.sieve(|pattern| pattern.matches(&path)) {
            Sieved::Denied(pattern) => Judgement::Out(Reason::PathDenied(pattern)),
            Sieved::Passed | Sieved::NotAllowed => Judgement::In,
        }
    }

    /// Whether a host at this address may be asked. Whether an address is public at all is not
    /// decided here, but where the connection is made.
    pub fn judge_address(&self, address: IpAddr) -> Judgement {
        let address = address.to_canonical();
        match self.addresses.sieve(|range| range.contains(address)) {
            Sieved::Passed => Judgement::In,
            Sieved::Denied(range) => Judgement::Out(Reason::AddressDenied(range)),
            Sieved::NotAllowed => Judgement::Out(Reason::AddressNotAllowed),
        }
    }

    /// Whether places matter at all.
    pub fn has_places(&self) -> bool {
        !self.places.is_open()
    }

    /// Whether a server in this country may be asked. Where countries are allowed by name, one that nobody knows is
    /// not among them.
    pub fn judge_country(&self, country: Option<&str>) -> Judgement {
        let is_it =
            |wanted: &String| country.is_some_and(|country| country.eq_ignore_ascii_case(wanted));
        match self.places.sieve(is_it) {
            Sieved::Passed => Judgement::In,
            Sieved::Denied(country) => Judgement::Out(Reason::PlaceDenied(country)),
            Sieved::NotAllowed if country.is_none() => Judgement::Out(Reason::PlaceUnknown),
            Sieved::NotAllowed => Judgement::Out(Reason::PlaceNotAllowed),
        }
    }

    /// Whether an answer of this content type (parameters do not matter) is wanted.
    pub fn judge_type(&self, content_type: &str) -> Judgement {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let matches = |wanted: &String| match wanted.strip_suffix('*') {
            None => essence.eq_ignore_ascii_case(wanted),
            Some(start) => essence
                .get(..start.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(start)),
        };
        match self.types.sieve(matches) {
            Sieved::Passed => Judgement::In,
            Sieved::Denied(text) => Judgement::Out(Reason::TypeDenied(text)),
            Sieved::NotAllowed => Judgement::Out(Reason::TypeNotAllowed),
        }
    }

    fn is_reached(&self, url: &Url, host: &str) -> bool {
        self.anywhere || self.reached.holds(url, host)
    }

    fn is_added(&self, url: &Url, host: &str) -> bool {
        self.more.holds(url, host) || (!self.also.is_empty() && self.also.is_match(url.as_str()))
    }
}

impl Rule {
    /// What brings a URL into the scope, filters aside: one seed and one entry after the other, for those
    /// who ask.
    pub fn of(config: &ScopeConfig, seeds: &[impl Reaching], url: &Url) -> Option<Self> {
        let host = url.host_str()?;
        let included = match &config.include[..] {
            [] => Some(None),
            list => first_match(list, url).map(Some),
        };
        if let Some(include) = included {
            let usual = seeds.is_empty() || seeds.iter().any(|seed| seed.reach().is_none());
            if usual && config.reach == Reach::Anywhere {
                return Some(Self::Anywhere { include });
            }
            let reaches = |seed: &Url, reach: Reach| match reach {
                Reach::Anywhere => true,
                reach => Territory::around(seed, reach)
                    .is_some_and(|territory| territory.holds(url, host)),
            };
            let mut seeds = seeds.iter();
            if let Some(seed) = seeds.find(|seed| reaches(seed.url(), reach_of(config, *seed))) {
                return Some(Self::Seed {
                    seed: seed.url().clone(),
                    reach: reach_of(config, seed),
                    own: seed.reach().is_some(),
                    include,
                });
            }
        }
        let territories = more(config).ok()?;
        let named = territories
            .into_iter()
            .find(|(territory, _)| territory.holds(url, host));
        match named {
            Some((_, rule)) => Some(rule),
            None => first_match(&config.also, url).map(|entry| Self::Entry("also", entry)),
        }
    }
}

/// How far a seed reaches.
fn reach_of(config: &ScopeConfig, seed: &impl Reaching) -> Reach {
    seed.reach().unwrap_or(config.reach)
}

/// Prefixes and suffixes, and the rule that each is.
fn more(config: &ScopeConfig) -> Result<Vec<(Territory, Rule)>, Invalid> {
    let mut more = Vec::new();
    for prefix in &config.prefixes {
        let url = Url::parse(prefix).map_err(|cause| Invalid::Prefix(prefix.clone(), cause))?;
        let territory = Territory::of_prefix(&url);
        more.extend(territory.map(|t| (t, Rule::Entry("prefixes", prefix.clone()))));
    }
    for name in &config.suffixes {
        let territory = Territory::Under(names::read(name)?);
        more.push((territory, Rule::Entry("suffixes", name.clone())));
    }
    Ok(more)
}

fn first_match(expressions: &[String], url: &Url) -> Option<String> {
    let matches = |text: &&String| Regex::new(text).is_ok_and(|found| found.is_match(url.as_str()));
    expressions.iter().find(matches).cloned()
}

#[cfg(test)]
mod tests;
