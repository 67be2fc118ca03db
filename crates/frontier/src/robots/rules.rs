//! Groups and their rules: who may fetch what.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::{Position, Url};

use super::pattern::{Pattern, normal_path};
use super::syntax::{Line, lines};

/// Bytes of a robots.txt that are read, as RFC 9309 §2.5 asks: 500 KiB.
pub const MAX_BYTES: usize = 500 * 1024;

/// The rules of one robots.txt, for every agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    groups: Vec<Group>,
    sitemaps: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Group {
    /// Product tokens, of any case; `*` is everybody else.
    agents: Vec<String>,
    /// The most specific first; of equally specific ones those that allow.
    rules: Vec<Rule>,
    delay: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Rule {
    pattern: Pattern,
    allow: bool,
    line: u32,
}

/// The answer to "may this agent fetch this URL", and which rule gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The rule that decided, its path in normal form; none where no rule matches.
    pub rule: Option<String>,
    /// The line where that rule stands, from 1.
    pub line: Option<u32>,
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.allowed { "allowed" } else { "forbidden" })?;
        match (&self.rule, self.line) {
            (Some(rule), Some(line)) => write!(f, " by line {line}, {rule}"),
            _ => Ok(()),
        }
    }
}

impl Rules {
    /// Reads a robots.txt. Never fails: what cannot be understood is passed over, and what stands
    /// beyond [`MAX_BYTES`] is not read, nor is the line cut there.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut text = bytes;
        if bytes.len() > MAX_BYTES {
            let ends_line = |&byte: &u8| matches!(byte, b'\n' | b'\r');
            let whole = bytes[..MAX_BYTES].iter().rposition(ends_line);
            text = &bytes[..whole.unwrap_or(0)];
        }
        text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut read = Self::default();
        let mut names_agents = false;
        for (number, line) in lines(text) {
            match line {
                Line::Agent(value) => {
                    if !names_agents {
                        read.groups.push(Group::default());
                        names_agents = true;
                    }
                    if let (Some(token), Some(group)) = (token(value), read.groups.last_mut()) {
                        group.agents.push(token.to_owned());
                    }
                }
                Line::Allow(path) | Line::Disallow(path) => {
                    names_agents = false;
                    // an empty path forbids nothing; rules before the first agent bind nobody
                    if let (false, Some(group)) = (path.is_empty(), read.groups.last_mut()) {
                        group.rules.push(Rule {
                            pattern: Pattern::new(path),
                            allow: matches!(line, Line::Allow(_)),
                            line: number,
                        });
                    }
                }
                Line::Delay(value) => {
                    if let (Some(delay), Some(group)) = (seconds(value), read.groups.last_mut()) {
                        group.delay = Some(group.delay.map_or(delay, |other| delay.max(other)));
                    }
                }
                Line::Sitemap(address) => {
                    read.sitemaps
                        .push(String::from_utf8_lossy(address).into_owned());
                }
            }
        }
        for group in &mut read.groups {
            group
                .rules
                .sort_by_key(|rule| (usize::MAX - rule.pattern.octets(), !rule.allow));
        }
        read
    }

    /// Whether the agent with this product token (`evercrawl`) may fetch the URL.
    pub fn judge(&self, agent: &str, url: &Url) -> Ruling {
        let rule = self.decisive(agent, url);
        Ruling {
            allowed: rule.is_none_or(|rule| rule.allow),
            rule: rule.map(|rule| {
                let verb = if rule.allow { "Allow" } else { "Disallow" };
                format!("{verb}: {}", rule.pattern.as_str())
            }),
            line: rule.map(|rule| rule.line),
        }
    }

    /// [`judge`](Self::judge) without the reasons.
    pub fn allows(&self, agent: &str, url: &Url) -> bool {
        self.decisive(agent, url).is_none_or(|rule| rule.allow)
    }

    /// The largest Crawl-delay of the agent's groups, in seconds.
    pub fn crawl_delay(&self, agent: &str) -> Option<f64> {
        self.groups_of(agent)
            .filter_map(|group| group.delay)
            .reduce(f64::max)
    }

    /// The addresses of sitemaps, as written: they belong to no group.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    fn decisive<'a>(&'a self, agent: &str, url: &Url) -> Option<&'a Rule> {
        if self.groups.is_empty() || url.path() == "/robots.txt" {
            return None;
        }
        let path = normal_path(&url[Position::BeforePath..Position::AfterQuery]);
        let mut best: Option<&'a Rule> = None;
        for group in self.groups_of(agent) {
            let is_better = |rule: &&Rule| {
                let rank = |rule: &Rule| (rule.pattern.octets(), rule.allow);
                best.is_none_or(|best| rank(rule) > rank(best))
            };
            // within a group the first that matches is the most specific
            let mut candidates = group.rules.iter().take_while(is_better);
            best = candidates.find(|rule| rule.pattern.matches(&path)).or(best);
        }
        best
    }

    /// All groups that name the agent, or where none does, those of everybody else.
    fn groups_of<'a, 'b>(
        &'a self,
        agent: &'b str,
    ) -> impl Iterator<Item = &'a Group> + use<'a, 'b> {
        let names = |group: &Group, name: &str| {
            group
                .agents
                .iter()
                .any(|agent| agent.eq_ignore_ascii_case(name))
        };
        let own =
            token(agent.as_bytes()).filter(|own| self.groups.iter().any(|group| names(group, own)));
        let name = own.unwrap_or("*");
        self.groups.iter().filter(move |group| names(group, name))
    }
}

/// The product token that begins a value (`FooBot/1.0` names `FooBot`), or `*`.
fn token(value: &[u8]) -> Option<&str> {
    let token = match value {
        [b'*'] => value,
        [b'*', next, ..] if next.is_ascii_whitespace() => &value[..1],
        _ => {
            let is_part = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
            let end = value
                .iter()
                .position(|byte| !is_part(byte))
                .unwrap_or(value.len());
            &value[..end]
        }
    };
    str::from_utf8(token).ok().filter(|token| !token.is_empty())
}

/// A number of seconds, whatever unit is written behind it.
fn seconds(value: &[u8]) -> Option<f64> {
    let start = |is_part: fn(&u8) -> bool| {
        let end = value.iter().position(|byte| !is_part(byte));
        str::from_utf8(&value[..end.unwrap_or(value.len())]).ok()
    };
    let plain = || {
        start(|byte| byte.is_ascii_digit() || *byte == b'.')?
            .parse()
            .ok()
    };
    let scientific = start(|byte| byte.is_ascii_digit() || b".eE+".contains(byte));
    let number: Option<f64> = scientific.and_then(|text| text.parse().ok()).or_else(plain);
    // what is too large to be told is still too large
    number.map(|number| number.min(f64::MAX))
}
