//! Names of hosts, and what a seed reaches by them.

use suffixes::registrable;
use url::{Host, Position, Url};

use super::{Invalid, Reach};

/// What one seed, or one prefix, brings into scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Territory {
    /// A name and all under it.
    Under(String),
    /// All hosts of a registrable domain.
    Registrable(String),
    /// A host and port; a scheme's own port is none.
    Host(String, Option<u16>),
    /// A host and port, and a beginning of the path.
    Prefix(String, Option<u16>, String),
    /// A page: host, port, path and query as URLs write them.
    Page(String),
}

impl Territory {
    /// What a seed reaches by itself.
    pub fn around(seed: &Url, reach: Reach) -> Option<Self> {
        let host = seed.host_str()?.to_owned();
        let is_name = matches!(seed.host(), Some(Host::Domain(_)));
        let this_host = |host| Self::Host(host, seed.port());
        match reach {
            Reach::Anywhere | Reach::Nowhere => None,
            Reach::Site | Reach::Domain if !is_name => Some(this_host(host)),
            Reach::Site => {
                let site = host.strip_prefix("www.").unwrap_or(&host);
                // no registrable domain: a public suffix, or a name like `localhost`
                Some(match registrable(site) {
                    Some(_) => Self::Under(site.to_owned()),
                    None => this_host(host),
                })
            }
            Reach::Domain => Some(match registrable(&host) {
                Some(domain) => Self::Registrable(domain.to_owned()),
                None => this_host(host),
            }),
            Reach::Host => Some(this_host(host)),
            Reach::Page => Some(Self::Page(page_of(seed).to_owned())),
            Reach::Prefix => {
                let end = seed.path().rfind('/').map_or(0, |slash| slash + 1);
                Some(Self::Prefix(
                    host,
                    seed.port(),
                    seed.path()[..end].to_owned(),
                ))
            }
        }
    }

    /// All that begins with this URL.
    pub fn of_prefix(url: &Url) -> Option<Self> {
        let path = &url[Position::BeforePath..Position::AfterQuery];
        Some(Self::Prefix(
            url.host_str()?.to_owned(),
            url.port(),
            path.to_owned(),
        ))
    }

    /// Whether a URL, whose host is `host`, lies in it.
    pub fn holds(&self, url: &Url, host: &str) -> bool {
        match self {
            Self::Under(name) => is_under(host, name),
            Self::Registrable(domain) => {
                host == domain || (is_under(host, domain) && registrable(host) == Some(domain))
            }
            Self::Host(name, port) => host == name && url.port() == *port,
            Self::Prefix(name, port, start) => {
                let path = &url[Position::BeforePath..Position::AfterQuery];
                host == name && url.port() == *port && path.starts_with(start.as_str())
            }
            Self::Page(page) => page_of(url) == page,
        }
    }
}

/// What tells a page from others, whatever the scheme.
pub fn page_of(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterQuery]
}

/// Whether a host is a name or stands under it.
pub fn is_under(host: &str, name: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.strip_suffix(name)
        .is_some_and(|front| front.is_empty() || front.ends_with('.'))
}

/// A name as URLs write it: lower case, punycode; a leading `*.` or `.` says nothing new.
pub fn read(written: &str) -> Result<String, Invalid> {
    let bare = written.trim().trim_start_matches("*.").trim_matches('.');
    match Host::parse(bare) {
        Ok(host) if !bare.is_empty() => Ok(host.to_string()),
        _ => Err(Invalid::Domain(written.to_owned())),
    }
}
