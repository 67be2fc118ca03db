//! Settings for some hosts and pages: how much they matter, and what is sent along with requests.

use crate::config::{Config, Invalid, Rule};
use crate::secret::Secret;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use regex::{Regex, RegexBuilder};
use std::path::Path;
use url::Url;

/// A pattern that is larger than this, compiled, is refused.
const LARGEST: usize = 1 << 20;

/// For which pages something holds.
struct Where {
    hosts: Vec<HostPattern>,
    pages: Option<Regex>,
}

/// A host as a rule names it.
struct HostPattern {
    /// `http` or `https`, if it says so.
    scheme: Option<String>,
    name: String,
    /// All under the name, not the name itself.
    below: bool,
    port: Option<u16>,
}

/// How much pages matter.
#[derive(Default)]
pub struct Weights(Vec<(Where, f64)>);

/// What is sent along, and to whom. Made when a crawl starts: it holds secrets.
#[derive(Default)]
pub(crate) struct Headers(Vec<(Where, Sent)>);

#[derive(Default)]
struct Sent {
    open: Vec<(String, String)>,
    secret: Vec<(String, String)>,
}

impl Where {
    fn new(rule: &Rule) -> Result<Self, Invalid> {
        if rule.hosts.is_empty() && rule.pages.is_none() {
            let expected = "expected hosts, pages, or both, for which the rule holds";
            return Err(Invalid::new("rules", "a rule", expected));
        }
        let pages = rule.pages.as_ref().map(|pages| {
            let built = RegexBuilder::new(pages).size_limit(LARGEST).build();
            built.map_err(|error| {
                Invalid::new(
                    "rules.pages",
                    pages,
                    &format!("no regular expression: {error}"),
                )
            })
        });
        let hosts = rule.hosts.iter().map(|host| HostPattern::read(host));
        Ok(Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            pages: pages.transpose()?,
        })
    }

    fn fits(&self, url: &Url) -> bool {
        self.fits_pages(url) && (self.hosts.is_empty() || self.host(url).is_some())
    }

    fn fits_pages(&self, url: &Url) -> bool {
        let pages = self.pages.as_ref();
        pages.is_none_or(|pages| pages.is_match(url.as_str()))
    }

    /// The host that is named, if one is.
    fn host(&self, url: &Url) -> Option<&HostPattern> {
        self.hosts.iter().find(|host| host.fits(url))
    }
}

impl HostPattern {
    fn read(text: &str) -> Result<Self, Invalid> {
        let invalid = || {
            let expected = "expected a name (shop.example), all below one (*.example.org), or a host with scheme (https://shop.example:8443)";
            Invalid::new("rules.hosts", text, expected)
        };
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (Some(scheme.to_owned()), rest),
            Some(_) => return Err(invalid()),
            None => (None, text),
        };
        let (below, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let url = Url::parse(&format!(
            "{}://{rest}/",
            scheme.as_deref().unwrap_or("http")
        ));
        let url = url
            .ok()
            .filter(|url| url.path() == "/" && url.query().is_none());
        let url = url
            .filter(|url| url.username().is_empty())
            .ok_or_else(invalid)?;
        Ok(Self {
            name: url.host_str().ok_or_else(invalid)?.to_owned(),
            // with a scheme its own port is meant where there is none
            port: if scheme.is_some() {
                url.port_or_known_default()
            } else {
                url.port()
            },
            scheme,
            below,
        })
    }

    fn fits(&self, url: &Url) -> bool {
        let is_named = url.host_str().is_some_and(|host| {
            if self.below {
                let front = host.strip_suffix(self.name.as_str());
                front.is_some_and(|front| front.ends_with('.'))
            } else {
                host == self.name
            }
        });
        let port = url.port_or_known_default();
        is_named
            && self
                .scheme
                .as_ref()
                .is_none_or(|scheme| url.scheme() == scheme)
            && self.port.is_none_or(|wanted| port == Some(wanted))
    }

    /// Whether secrets may go there by this URL: in the clear only where the rule says so.
    fn trusts(&self, url: &Url) -> bool {
        url.scheme() == "https" || self.scheme.as_deref() == Some("http")
    }
}

impl Weights {
    /// Those of a configuration.
    pub fn new(config: &Config) -> Result<Self, Invalid> {
        let mut weights = Vec::new();
        for rule in &config.rules {
            let place = Where::new(rule)?;
            if let Some(weight) = rule.weight {
                if !(1e-6..=1e6).contains(&weight) {
                    let expected = "expected a number from 0.000001 to 1000000";
                    return Err(Invalid::new("rules.weight", &weight.to_string(), expected));
                }
                weights.push((place, weight));
            }
        }
        Ok(Self(weights))
    }

    /// Whether all pages are the same.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much a page matters: by the first rule that fits and says so, or 1.
    pub fn of(&self, url: &Url) -> f64 {
        let mut fitting = self.0.iter().filter(|(place, _)| place.fits(url));
        fitting.next().map_or(1.0, |(_, weight)| *weight)
    }
}

impl Headers {
    /// Those of a configuration; secrets are read now.
    pub fn new(config: &Config) -> Result<Self, Invalid> {
        let mut headers = Vec::new();
        for rule in &config.rules {
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
        Ok(Self(headers))
    }

    /// What is sent with a request for this URL; of two with the same name the first.
    pub fn of(&self, url: &Url) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        for (place, sent) in &self.0 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text).unwrap()
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_first_rule_that_fits_weighs() {
        let config = config(
            "[[rules]]\npages = '/item/'\nhosts = ['*.shop.example']\nweight = 5.0\n\
             [[rules]]\nhosts = ['www.shop.example']\nweight = 2.0",
        );
        let weights = Weights::new(&config).unwrap();
        assert_eq!(weights.of(&url("https://www.shop.example/item/1")), 5.0);
        assert_eq!(weights.of(&url("https://www.shop.example/")), 2.0);
        assert_eq!(weights.of(&url("https://shop.example/item/1")), 1.0);
        assert_eq!(weights.of(&url("https://evilshop.example/item/1")), 1.0);
    }

    #[test]
    fn secrets_go_to_their_host_alone_and_not_in_the_clear() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secret");
        std::fs::write(&file, "user:pass\n").unwrap();
        let rule = format!(
            "[[rules]]\nhosts = ['a.example', 'http://b.example:81']\nbasic_file = {file:?}\n\
             headers = {{ Accept-Language = 'no' }}"
        );
        let headers = Headers::new(&config(&rule)).unwrap();
        let names = |text: &str| -> Vec<String> {
            headers
                .of(&url(text))
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        assert_eq!(
            names("https://a.example/x"),
            ["accept-language", "authorization"]
        );
        assert_eq!(names("http://a.example/x"), ["accept-language"]);
        assert_eq!(
            names("http://b.example:81/"),
            ["accept-language", "authorization"]
        );
        assert!(names("http://b.example/").is_empty());
        assert!(names("https://a.example.evil.example/").is_empty());
        let basic = &headers.of(&url("https://a.example/"))[1].1;
        assert_eq!(basic, "Basic dXNlcjpwYXNz");
    }

    #[test]
    fn what_is_wrong_is_named_and_no_secret_told() {
        let wrong = |text: &str| {
            let config = config(text);
            let weights = Weights::new(&config).err();
            weights.or(Headers::new(&config).err()).unwrap().to_string()
        };
        assert!(wrong("[[rules]]\nweight = 1.0").contains("hosts, pages"));
        assert!(wrong("[[rules]]\npages = '('").contains("rules.pages"));
        assert!(wrong("[[rules]]\nhosts = ['ftp://a']").contains("rules.hosts"));
        assert!(wrong("[[rules]]\nhosts = ['a']\nweight = -1.0").contains("rules.weight"));
        assert!(
            wrong("[[rules]]\nhosts = ['a']\nheaders = { Host = 'b' }").contains("rules.headers")
        );
        assert!(wrong("[[rules]]\npages = 'a'\nheaders = { X = 'b' }").contains("expected hosts"));
        assert!(
            wrong("[[rules]]\nhosts = ['a']\nbearer_env = 'EVERCRAWL_NO_SUCH'")
                .contains("EVERCRAWL_NO_SUCH")
        );
    }
}
