//! Who may come in. A browser can be made to send requests here by any page it shows; what such a page cannot
//! forge is the name it asked for (`Host`), where it comes from (`Origin`, `Sec-Fetch-Site`) and our cookie.

use crate::settings::Settings;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode};
use ring::hmac;
use robot::secret::Secret;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What keeps others out.
pub(crate) struct Guard {
    names: Vec<String>,
    /// What a cookie must say; nothing where everybody may look.
    session: Option<(Secret, String)>,
    cookie: String,
    actions: bool,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It was sent by way of a name that is not ours.
    Name,
    /// Another site's page sent it.
    Site,
    /// Only reading and posting are known.
    Method,
    /// The token is missing.
    Token,
    /// Nobody may act here.
    Actions,
}

impl Refusal {
    pub fn status(self) -> StatusCode {
        match self {
            Self::Name => StatusCode::MISDIRECTED_REQUEST,
            Self::Site | Self::Actions => StatusCode::FORBIDDEN,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Name => "This name is not one of the dashboard's; dashboard.names adds it.",
            Self::Site => "This request came from another site, or does not say from which.",
            Self::Method => "Only GET, HEAD and POST are allowed here.",
            Self::Token => "The token is missing or wrong.",
            Self::Actions => "Actions are off: dashboard.actions turns them on.",
        }
    }
}

impl Guard {
    pub fn new(settings: &Settings) -> Self {
        Self {
            names: settings.names.clone(),
            session: (settings.token.as_ref()).map(|token| (token.clone(), session(token))),
            // browsers send cookies to every port of a name
            cookie: format!("evercrawl-{}", settings.listen.port()),
            actions: settings.actions,
        }
    }

    /// Whether there is anything to act with.
    pub fn has_actions(&self) -> bool {
        self.actions && self.session.is_some()
    }

    /// What holds for every request, those for the token's form included.
    pub fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(host) = text(headers, &HOST).filter(|host| self.is_ours(host)) else {
            return Err(Refusal::Name);
        };
        let site = text(headers, &FETCH_SITE);
        match *method {
            Method::GET | Method::HEAD => {
                // a link elsewhere may lead here, but no other page may load what is here
                let is_link = text(headers, &FETCH_MODE) == Some("navigate");
                if matches!(site, Some("cross-site" | "same-site")) && !is_link {
                    return Err(Refusal::Site);
                }
            }
            Method::POST => {
                let origin = text(headers, &ORIGIN).and_then(|origin| origin.split_once("://"));
                let is_same = origin.is_some_and(|(_, from)| from.eq_ignore_ascii_case(host));
                // a browser always says from where, and asks before it sends a token for another site
                let is_program = headers.contains_key(&AUTHORIZATION)
                    && !headers.contains_key(&ORIGIN)
                    && site.is_none();
                if !is_program && (!is_same || site.is_some_and(|site| site != "same-origin")) {
                    return Err(Refusal::Site);
                }
            }
            _ => return Err(Refusal::Method),
        }
        Ok(())
    }

    /// Whether whoever asks knows the token, where one is needed.
    pub fn knows(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some((token, session)) = &self.session else {
            return Ok(());
        };
        let bearer = text(headers, &AUTHORIZATION).and_then(|given| given.strip_prefix("Bearer "));
        let is_bearer = bearer.is_some_and(|given| is_same(given, token.text()));
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
        let mut ours = (cookies.flat_map(|cookies| cookies.split("; ")))
            .filter_map(|cookie| cookie.split_once('='))
            .filter(|(name, _)| *name == self.cookie);
        if is_bearer || ours.any(|(_, value)| is_same(value, session)) {
            Ok(())
        } else {
            Err(Refusal::Token)
        }
    }

    /// Whether whoever asks may act; `knows` was asked before.
    pub fn may_act(&self) -> Result<(), Refusal> {
        if self.has_actions() {
            Ok(())
        } else {
            Err(Refusal::Actions)
        }
    }

    /// The cookie for whoever gives the token.
    pub fn enter(&self, given: &str) -> Option<String> {
        let (token, session) = self.session.as_ref()?;
        let cookie = &self.cookie;
        is_same(given.trim(), token.text()).then(|| {
            format!("{cookie}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000")
        })
    }

    /// Names that anybody can point at us are refused; an address cannot be pointed anywhere else.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<Ipv4Addr>().is_ok()
            || bare.is_some_and(|name| name.parse::<Ipv6Addr>().is_ok())
            || self
                .names
                .iter()
                .any(|ours| name.eq_ignore_ascii_case(ours))
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// What stands for a token in a cookie: whoever reads it does not know the token.
fn session(token: &Secret) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.text().as_bytes());
    let tag = hmac::sign(&key, b"evercrawl dashboard session");
    tag.as_ref().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Takes the same time wherever two texts differ.
fn is_same(given: &str, wanted: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, wanted.as_bytes());
    let tag = hmac::sign(&key, wanted.as_bytes());
    hmac::verify(&key, given.as_bytes(), tag.as_ref()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    const TOKEN: &str = "correct horse battery staple";

    fn guard(token: bool) -> Guard {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, TOKEN).unwrap();
        let config = robot::config::Dashboard {
            token_file: token.then_some(file),
            actions: token,
            names: vec!["crawl.example.org".into()],
            ..robot::config::Dashboard::default()
        };
        let listen = "127.0.0.1:9601".parse().unwrap();
        Guard::new(&Settings::new(listen, &config).unwrap())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        });
        pairs.collect()
    }

    #[test]
    fn only_our_names_are_answered() {
        let guard = guard(false);
        let ask = |host: &str| guard.admit(&Method::GET, &headers(&[("host", host)]));
        for host in [
            "127.0.0.1:9601",
            "localhost",
            "LOCALHOST:8080",
            "[::1]:9601",
            "192.0.2.7",
            "Crawl.example.org:443",
        ] {
            assert_eq!(ask(host), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:9601",
            "127.0.0.1.evil.example",
            "0x7f.1",
            "",
            "[::1",
        ] {
            assert_eq!(ask(host), Err(Refusal::Name), "{host}");
        }
        assert_eq!(guard.admit(&Method::GET, &headers(&[])), Err(Refusal::Name));
    }

    #[test]
    fn other_sites_can_neither_read_nor_post() {
        let guard = guard(true);
        let host = ("host", "localhost:9601");
        let get = |more| guard.admit(&Method::GET, &headers(&[host, more]));
        assert_eq!(get(("sec-fetch-site", "same-origin")), Ok(()));
        assert_eq!(get(("sec-fetch-site", "none")), Ok(()));
        assert_eq!(get(("sec-fetch-site", "cross-site")), Err(Refusal::Site));
        // another port of this machine is the same site
        assert_eq!(get(("sec-fetch-site", "same-site")), Err(Refusal::Site));
        let link = [
            host,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
        ];
        assert_eq!(guard.admit(&Method::GET, &headers(&link)), Ok(()));

        let post = |origin| guard.admit(&Method::POST, &headers(&[host, ("origin", origin)]));
        assert_eq!(post("http://localhost:9601"), Ok(()));
        for origin in [
            "null",
            "http://localhost:9602",
            "http://evil.example",
            "localhost:9601",
        ] {
            assert_eq!(post(origin), Err(Refusal::Site), "{origin}");
        }
        assert_eq!(
            guard.admit(&Method::POST, &headers(&[host])),
            Err(Refusal::Site)
        );
        assert_eq!(
            guard.admit(&Method::PUT, &headers(&[host])),
            Err(Refusal::Method)
        );
    }

    #[test]
    fn a_token_opens_and_nothing_else_does() {
        let guard = guard(true);
        assert_eq!(guard.knows(&headers(&[])), Err(Refusal::Token));
        assert!(guard.enter("correct horse").is_none());
        let cookie = guard.enter(&format!("{TOKEN}\n")).unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
        assert!(!cookie.contains("horse"), "{cookie}");
        let value = cookie.split(';').next().unwrap();
        let sent = format!("other=1; {value}");
        assert_eq!(guard.knows(&headers(&[("cookie", &sent)])), Ok(()));
        let wrong = format!("{value}0");
        assert_eq!(
            guard.knows(&headers(&[("cookie", &wrong)])),
            Err(Refusal::Token)
        );
        let bearer = format!("Bearer {TOKEN}");
        assert_eq!(guard.knows(&headers(&[("authorization", &bearer)])), Ok(()));
        assert_eq!(guard.may_act(), Ok(()));
        let open = self::guard(false);
        assert_eq!(open.knows(&headers(&[])), Ok(()));
        assert_eq!(open.may_act(), Err(Refusal::Actions));
    }
}
