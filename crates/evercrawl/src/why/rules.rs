//! Which rules a URL falls under: scope, robots.txt, traps.

use crate::moment::Moment;
use anyhow::Result;
use frontier::robots::Verdict;
use frontier::scope::{self, Judgement, Reach, ScopeConfig};
use robot::config::Config;
use serde::Serialize;
use storage::{HostRow, Order, Reader, Wanted};
use url::{Position, Url};

/// Where a crawl began is told by so many pages at most.
const MOST_SEEDS: usize = 100_000;

/// Whether a URL belongs to the crawl.
#[derive(Serialize)]
pub struct Scope {
    #[serde(rename = "in")]
    pub inside: bool,
    /// By which rule.
    pub why: String,
}

impl Scope {
    pub fn judge(config: &Config, reader: &Reader, url: &Url, depth: u16) -> Result<Self> {
        let mut seeds: Vec<Url> = config
            .seeds
            .iter()
            .filter_map(|s| Url::parse(s).ok())
            .collect();
        if seeds.is_empty() {
            seeds = first_urls(reader)?;
        }
        Ok(
            match scope::Scope::new(&config.scope, &seeds)?.judge(url, depth) {
                Judgement::In => Self {
                    inside: true,
                    why: rule_of(&config.scope, &seeds, url),
                },
                Judgement::Out(reason) => Self {
                    inside: false,
                    why: reason.to_string(),
                },
            },
        )
    }
}

/// Where the crawl began: no page linked there.
fn first_urls(reader: &Reader) -> Result<Vec<Url>> {
    let wanted = Wanted {
        seeds: true,
        ..Wanted::default()
    };
    let first = reader.select(&wanted, Order::Found, MOST_SEEDS, None)?;
    let urls = first.pages.into_iter();
    let urls = urls.filter_map(|page| Url::parse(&reader.address(page).ok()?.url).ok());
    Ok(urls.collect())
}

/// What brings a URL into the scope: each rule is tried alone.
fn rule_of(config: &ScopeConfig, seeds: &[Url], url: &Url) -> String {
    if config.reach == Reach::Anywhere {
        return "everything is (scope.reach = \"anywhere\")".into();
    }
    let alone = |config: ScopeConfig, seeds: &[Url]| {
        scope::Scope::new(&config, seeds).is_ok_and(|scope| scope.judge(url, 0).is_in())
    };
    let nothing = || ScopeConfig {
        reach: Reach::Nowhere,
        ..ScopeConfig::default()
    };
    let around = |seed: &&Url| {
        let config = ScopeConfig {
            reach: config.reach,
            ..ScopeConfig::default()
        };
        alone(config, std::slice::from_ref(*seed))
    };
    if let Some(seed) = seeds.iter().find(around) {
        let where_ = match config.reach {
            Reach::Site => "on the site of",
            Reach::Domain => "in the domain of",
            Reach::Host => "on the host of",
            _ => "below",
        };
        return format!("{where_} the seed {seed}");
    }
    let lists = [
        ("prefixes", &config.prefixes),
        ("suffixes", &config.suffixes),
        ("include", &config.include),
    ];
    for (name, entries) in lists {
        let matches = |entry: &&String| {
            let one = vec![(*entry).clone()];
            let config = match name {
                "prefixes" => ScopeConfig {
                    prefixes: one,
                    ..nothing()
                },
                "suffixes" => ScopeConfig {
                    suffixes: one,
                    ..nothing()
                },
                _ => ScopeConfig {
                    include: one,
                    ..nothing()
                },
            };
            alone(config, &[])
        };
        if let Some(entry) = entries.iter().find(matches) {
            return format!("by scope.{name}: {entry}");
        }
    }
    "in scope".into()
}

/// What robots.txt says of a URL.
#[derive(Serialize)]
pub struct Robots {
    /// Nobody knows before it was asked for.
    pub allowed: Option<bool>,
    pub rule: Option<String>,
    /// Where the rule stands, from 1.
    pub line: Option<u32>,
    pub crawl_delay: Option<f64>,
    /// When it will be asked for again at the latest.
    pub until: Option<Moment>,
    pub why: String,
}

impl Robots {
    pub fn judge(config: &Config, host: Option<&HostRow>, url: &Url) -> Self {
        let mut robots = Self {
            allowed: None,
            rule: None,
            line: None,
            crawl_delay: None,
            until: None,
            why: String::new(),
        };
        if !config.politeness.robots {
            robots.allowed = Some(true);
            robots.why = "not obeyed (politeness.robots = false)".into();
            return robots;
        }
        let Some(host) = host else {
            robots.why = "not asked for: the host is not known".into();
            return robots;
        };
        let Some(standing) = robot::offline::host(&host.blob).standing else {
            robots.why = "not asked for yet".into();
            return robots;
        };
        let agent = &config.identity.agent;
        let ruling = standing.judge(agent, url);
        robots.why = match &standing.verdict {
            Verdict::Rules(_) if ruling.rule.is_none() => "allowed: no rule matches".into(),
            Verdict::Rules(_) => ruling.to_string(),
            verdict => verdict.to_string(),
        };
        robots.allowed = Some(ruling.allowed);
        robots.rule = ruling.rule;
        robots.line = ruling.line;
        robots.crawl_delay = standing.rules().and_then(|rules| rules.crawl_delay(agent));
        robots.until = Some(Moment::from_seconds(standing.expires));
        robots
    }
}

/// The trap that a URL not known would lead into.
pub fn trap(config: &Config, reader: &Reader, url: &Url) -> Result<Option<String>> {
    let origin = &url[..Position::BeforePath];
    let mut traps = robot::offline::traps(config, reader, Some(origin), drop)?;
    Ok(traps.admit(origin, url).err().map(|trap| trap.to_string()))
}
