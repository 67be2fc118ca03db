//! Proxies: HTTP (a tunnel for https, the whole URL for http) and SOCKS5 (RFC 1928 and 1929).
//!
//! Names are resolved by the proxy, so that nobody here knows their addresses. What can be told from the URL alone
//! is refused as it would be without a proxy: addresses and names of private networks.

mod http;
mod socks5;

pub(crate) use http::WANTS_A_LOGIN;

use crate::address::AddressRules;
use crate::connect;
use crate::dns;
use crate::error::FetchError;
use crate::options::Options;
use crate::request::{Target, is_field_value};
use hickory_resolver::TokioResolver;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::TcpStream;
use url::Url;

/// Names that mean something else, or nothing, outside of a private network.
const PRIVATE: [&str; 4] = ["local", "internal", "home.arpa", "localdomain"];
/// Nobody is contacted there (RFC 6666): the first half of addresses that stand for names.
const DISCARD: u128 = 0x0100 << 112;

/// Whom requests go through.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Proxy {
    kind: Kind,
    host: String,
    port: u16,
    login: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Http,
    Socks5,
}

impl Proxy {
    /// From a URL (`http://host:port` or `socks5://host:port`) and, if it asks for one, `user:password`. What is
    /// wrong repeats no secret.
    pub fn new(url: &str, login: Option<&str>) -> Result<Self, &'static str> {
        let expected = "expected http://host:port or socks5://host:port";
        let url = Url::parse(url).map_err(|_| expected)?;
        let (kind, usual) = match url.scheme() {
            "http" => (Kind::Http, 80),
            // names are the proxy's to resolve in any case
            "socks5" | "socks5h" => (Kind::Socks5, 1080),
            _ => return Err(expected),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the login belongs in a file or the environment, not here");
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let bare = matches!(url.path(), "" | "/") && url.query().is_none();
        let host = host.filter(|_| bare).ok_or(expected)?;
        let login = login.map(|login| {
            let (user, password) = login.split_once(':')?;
            let fits = |part: &str| (1..=255).contains(&part.len()) && is_field_value(part);
            (fits(user) && fits(password)).then(|| (user.to_owned(), password.to_owned()))
        });
        if login == Some(None) {
            return Err("expected user:password, each of up to 255 printable characters");
        }
        Ok(Self {
            kind,
            host: bare_address(host).to_owned(),
            port: url.port().unwrap_or(usual),
            login: login.flatten(),
        })
    }

    /// Whether it is asked for the page itself rather than for a way to its server.
    pub(crate) fn is_asked(&self, target: &Target) -> bool {
        self.kind == Kind::Http && !target.https
    }

    /// What it is shown, if it wants to know who asks.
    pub(crate) fn authorization(&self) -> Option<String> {
        self.login.as_ref().map(http::authorization)
    }

    /// A connection to the target's server, or to the proxy where that is asked for the page.
    pub(crate) async fn connect(
        &self,
        target: &Target,
        options: &Options,
        resolver: Option<&TokioResolver>,
    ) -> Result<TcpStream, FetchError> {
        // who runs the crawl named it: it may be on this machine
        let found = dns::find(&self.host, options, resolver).await;
        let (addresses, _) = found.map_err(|error| FetchError::proxy(error.to_string()))?;
        let mut stream = Err(FetchError::proxy("it has no address"));
        for address in addresses {
            let connected =
                connect::reach(SocketAddr::new(address, self.port), options.source).await;
            stream =
                connected.map_err(|error| FetchError::proxy(format!("not connected: {error}")));
            if stream.is_ok() {
                break;
            }
        }
        let mut stream = stream?;
        match self.kind {
            Kind::Http if !target.https => {}
            Kind::Http => http::tunnel(&mut stream, target, self.authorization()).await?,
            Kind::Socks5 => socks5::ask(&mut stream, target, self.login.as_ref()).await?,
        }
        Ok(stream)
    }
}

/// The login is nobody's business.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Http => "http",
            Kind::Socks5 => "socks5",
        };
        if self.host.contains(':') {
            write!(f, "{kind}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{kind}://{}:{}", self.host, self.port)
        }
    }
}

fn bare_address(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether a proxy may be asked for this host, as far as its name tells.
pub(crate) fn may_be_named(host: &str, rules: &AddressRules) -> Result<(), FetchError> {
    let name = bare_address(host)
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let is_below = |top: &str| {
        let front = name.strip_suffix(top);
        front.is_some_and(|front| front.is_empty() || front.ends_with('.'))
    };
    if let Ok(address) = name.parse::<IpAddr>() {
        return refuse_unless(rules.permits(address), FetchError::AddressRefused(address));
    }
    if is_below("localhost") {
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        return refuse_unless(rules.permits(here), FetchError::AddressRefused(here));
    }
    let is_private = !name.contains('.') || PRIVATE.into_iter().any(is_below);
    // whoever lets a private network be contacted may name its hosts
    refuse_unless(
        !is_private || !rules.allowed.is_empty(),
        FetchError::NameRefused,
    )
}

fn refuse_unless(permitted: bool, error: FetchError) -> Result<(), FetchError> {
    if permitted { Ok(()) } else { Err(error) }
}

/// What stands for the address of a host that only a proxy can resolve: the same for the same name, and
/// nobody's.
pub fn stand_in(host: &str) -> IpAddr {
    let hash = ground::hash::fnv(bare_address(host).as_bytes());
    Ipv6Addr::from_bits(DISCARD | u128::from(hash)).into()
}

/// Whether an address only stands for a name.
pub fn is_stand_in(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_bits() >> 64 == DISCARD >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read_and_no_login_is_shown() {
        let proxy = Proxy::new("socks5://[::1]:9050", Some("me:se:cret")).unwrap();
        assert_eq!(
            format!("{proxy} {proxy:?}"),
            "socks5://[::1]:9050 socks5://[::1]:9050"
        );
        assert_eq!(proxy.login, Some(("me".into(), "se:cret".into())));
        assert_eq!(Proxy::new("http://proxy.example", None).unwrap().port, 80);
        assert_eq!(Proxy::new("socks5h://a", None).unwrap().port, 1080);
        for (url, login) in [
            ("proxy.example:3128", None),
            ("https://proxy.example", None),
            ("http://me:secret@proxy.example", None),
            ("http://proxy.example/path", None),
            ("socks5://", None),
            ("socks5://a", Some("secret")),
            ("socks5://a", Some("me:")),
            ("socks5://a", Some("me:sec\nret")),
        ] {
            let error = Proxy::new(url, login).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn private_names_and_addresses_are_refused_unless_allowed() {
        let none = AddressRules::default();
        let some = AddressRules {
            allowed: vec!["127.0.0.0/8".parse().unwrap()],
        };
        for host in [
            "127.0.0.1",
            "localhost",
            "a.localhost.",
            "intranet",
            "nas.local",
            "db.INTERNAL",
        ] {
            assert!(may_be_named(host, &none).is_err(), "{host}");
            assert!(may_be_named(host, &some).is_ok(), "{host}");
        }
        for host in ["10.0.0.1", "[::1]", "::ffff:10.1.1.1", "0.0.0.0"] {
            assert!(may_be_named(host, &some).is_err(), "{host}");
        }
        for host in [
            "example.org",
            "local.example",
            "mylocal.org",
            "8.8.8.8",
            "abc.onion",
        ] {
            assert!(may_be_named(host, &none).is_ok(), "{host}");
        }
    }

    #[test]
    fn what_stands_for_a_name_is_nobodys_address() {
        let a = stand_in("a.example");
        assert_eq!(a, stand_in("a.example"));
        assert_ne!(a, stand_in("b.example"));
        assert!(is_stand_in(a) && !AddressRules::default().permits(a));
        assert!(!is_stand_in("2001:db8::1".parse().unwrap()));
        assert!(!is_stand_in("100:0:0:1::1".parse().unwrap()));
    }
}
