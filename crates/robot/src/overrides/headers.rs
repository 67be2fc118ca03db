//! What is sent along with requests, and to whom.

use super::place::Where;
use crate::config::{Config, Invalid, Rule};
use crate::secret::Secret;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::path::Path;
use url::Url;

/// What is sent along, and to whom. Made when a crawl starts: it holds secrets.
#[derive(Default)]
pub(crate) struct Headers {
    sent: Vec<(Where, Sent)>,
    agents: Vec<(Where, String)>,
}

#[derive(Default)]
struct Sent {
    open: Vec<(String, String)>,
    secret: Vec<(String, String)>,
}

impl Headers {
    /// Those of a configuration; secrets are read now.
    pub fn new(config: &Config) -> Result<Self, Invalid> {
        let (mut headers, mut agents) = (Vec::new(), Vec::new());
        for rule in &config.rules {
            if let Some(agent) = &rule.user_agent {
                agents.push((Where::new(rule)?, agent.clone()));
            }
            let sent = Sent::read(rule)?;
            if sent.open.is_empty() && sent.secret.is_empty() {
                continue;
            }
            if rule.hosts.is_empty() {
                let expected =
                    "expected hosts: headers are sent to hosts that are named, and to no other";
                return Err(Invalid::new("rules", "headers or credentials", expected));
            }
            headers.push((Where::new(rule)?, sent));
        }
        Ok(Self {
            sent: headers,
            agents,
        })
    }

    /// What is sent with a request for this URL; of two with the same name the first.
    pub fn of(&self, url: &Url) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        if let Some((_, agent)) = self.agents.iter().find(|(place, _)| place.fits(url)) {
            all.push(("user-agent".into(), agent.clone()));
        }
        for (place, sent) in &self.sent {
            let Some(host) = place.host(url).filter(|_| place.fits(url)) else {
                continue;
            };
            let secret = sent.secret.iter().filter(|_| host.trusts(url));
            for header in sent.open.iter().chain(secret) {
                if all.iter().all(|(name, _)| *name != header.0) {
                    all.push(header.clone());
                }
            }
        }
        all
    }
}

impl Sent {
    fn read(rule: &Rule) -> Result<Self, Invalid> {
        let mut sent = Self::default();
        for (name, value) in &rule.headers {
            let header = (name.to_ascii_lowercase(), value.clone());
            if !fetch::is_header(&header.0, value) {
                let expected = "expected the name of a header that may be set, and printable ASCII";
                return Err(Invalid::new("rules.headers", name, expected));
            }
            sent.open.push(header);
        }
        let secret = |key, file: Option<&Path>, variable: Option<&str>| {
            let read = Secret::read(file, variable);
            let read = read.map_err(|why| Invalid::new(key, "a secret", &why))?;
            let is_plain = |secret: &Secret| fetch::is_header("authorization", secret.text());
            match read {
                Some(secret) if !is_plain(&secret) => Err(Invalid::new(
                    key,
                    "a secret",
                    "expected one line of printable ASCII",
                )),
                read => Ok(read),
            }
        };
        let (file, variable) = (rule.basic_file.as_deref(), rule.basic_env.as_deref());
        if let Some(secret) = secret("rules.basic", file, variable)? {
            let coded = BASE64_STANDARD.encode(secret.text());
            sent.secret
                .push(("authorization".into(), format!("Basic {coded}")));
        }
        let (file, variable) = (rule.bearer_file.as_deref(), rule.bearer_env.as_deref());
        if let Some(secret) = secret("rules.bearer", file, variable)? {
            let value = format!("Bearer {}", secret.text());
            sent.secret.push(("authorization".into(), value));
        }
        let (file, variable) = (rule.cookie_file.as_deref(), rule.cookie_env.as_deref());
        if let Some(secret) = secret("rules.cookie", file, variable)? {
            sent.secret
                .push(("cookie".into(), secret.text().to_owned()));
        }
        Ok(sent)
    }
}
