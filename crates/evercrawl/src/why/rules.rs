//! Which rules a URL falls under besides the scope: robots.txt, traps.

use crate::moment::Moment;
use anyhow::Result;
use frontier::robots::Verdict;
use robot::config::Config;
use robot::offline::{MOST_REDIRECTS, redirects_before};
use robot::overrides::Overrides;
use serde::Serialize;
use storage::{HostRow, PageId, PageRow, PageState, Reader};
use url::{Position, Url};

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
    pub fn judge(
        config: &Config,
        overrides: &Overrides,
        host: Option<&HostRow>,
        url: &Url,
    ) -> Self {
        let mut robots = Self {
            allowed: None,
            rule: None,
            line: None,
            crawl_delay: None,
            until: None,
            why: String::new(),
        };
        if let (false, rule) = overrides.robots(url) {
            robots.allowed = Some(true);
            robots.why = match rule {
                Some(rule) => format!("not obeyed (robots = false, rule {rule})"),
                None => "not obeyed (politeness.robots = false)".into(),
            };
            return robots;
        }
        let Some(host) = host else {
            robots.why = "not requested: the host is not known".into();
            return robots;
        };
        let Some(standing) = robot::offline::host(&host.blob).standing else {
            robots.why = "not requested yet".into();
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

/// The trap at the end of which a known page redirects.
pub fn redirect_trap(
    reader: &Reader,
    page: PageId,
    row: Option<&PageRow>,
) -> Result<Option<String>> {
    let is_open = |row: &&PageRow| row.state == PageState::Redirect && row.redirect_to.is_none();
    let Some(row) = row.filter(is_open) else {
        return Ok(None);
    };
    let before = redirects_before(reader, page)?;
    let is_trap = before >= MOST_REDIRECTS || before > 0 && row.visits > 1;
    Ok(is_trap.then(|| {
        "redirects that lead to ever new redirects; where this one leads is not followed".into()
    }))
}
