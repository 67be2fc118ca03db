//! Where a rule holds.

use crate::config::{Invalid, Rule};
use frontier::scope::in_a_line;
use regex::{Regex, RegexBuilder};
use url::Url;

/// A pattern that is larger than this, compiled, is refused.
const LARGEST: usize = 1 << 20;

/// For which pages something holds.
pub(super) struct Where {
    hosts: Vec<HostPattern>,
    pages: Option<Regex>,
}

/// A host as a rule names it.
pub(super) struct HostPattern {
    /// `http` or `https`, if it says so.
    scheme: Option<String>,
    name: String,
    /// All under the name, not the name itself.
    below: bool,
    port: Option<u16>,
}

impl Where {
    pub fn new(rule: &Rule) -> Result<Self, Invalid> {
        if rule.hosts.is_empty() && rule.pages.is_none() {
            let expected = "expected hosts, pages, or both, to which the rule applies";
            return Err(Invalid::new("rules", "a rule", expected));
        }
        let pages = rule.pages.as_ref().map(|pages| {
            let built = RegexBuilder::new(pages).size_limit(LARGEST).build();
            built.map_err(|error| {
                Invalid::new(
                    "rules.pages",
                    pages,
                    &format!("not a regular expression: {}", in_a_line(&error)),
                )
            })
        });
        let hosts = rule.hosts.iter().map(|host| HostPattern::read(host));
        Ok(Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            pages: pages.transpose()?,
        })
    }

    pub fn fits(&self, url: &Url) -> bool {
        self.fits_pages(url) && (self.hosts.is_empty() || self.host(url).is_some())
    }

    fn fits_pages(&self, url: &Url) -> bool {
        let pages = self.pages.as_ref();
        pages.is_none_or(|pages| pages.is_match(url.as_str()))
    }

    /// Whether it is about names alone, whatever the scheme and port.
    pub fn is_by_name(&self) -> bool {
        let is_name = |host: &HostPattern| host.scheme.is_none() && host.port.is_none();
        self.hosts.iter().all(is_name)
    }

    /// The host that is named, if one is.
    pub fn host(&self, url: &Url) -> Option<&HostPattern> {
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
    pub fn trusts(&self, url: &Url) -> bool {
        url.scheme() == "https" || self.scheme.as_deref() == Some("http")
    }
}
