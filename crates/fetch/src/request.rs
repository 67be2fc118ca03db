//! What is asked of a server, and the head that asks it.

use crate::error::FetchError;
use crate::options::Options;
use crate::proxy::Proxy;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use url::Url;

/// Encodings we can take off again, see [`crate::decode`].
const ACCEPT_ENCODING: &str = "gzip, br, zstd, deflate";
/// Longest request target: servers refuse far shorter ones.
const MAX_TARGET: usize = 64 << 10;

/// One request. Redirects are not followed: the caller judges each hop.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What to fetch; `http` or `https`. User name, password and fragment are never sent.
    pub url: &'a Url,
    /// The address to connect to, chosen by the caller among those of [`crate::Fetcher::resolve`]; through a proxy,
    /// what stands for it ([`crate::Fetcher::resolve_behind_proxy`]).
    pub address: IpAddr,
    /// Whom it goes through.
    pub proxy: Option<&'a Arc<Proxy>>,
    /// GET, HEAD or POST.
    pub method: Method,
    /// Header fields besides the usual ones; those of a usual name replace it. Names in lower case.
    pub headers: &'a [(String, String)],
    /// What is sent with a POST.
    pub body: Option<&'a [u8]>,
    /// What an earlier response said about its version, to be answered 304 if it still holds.
    pub validators: Option<&'a Validators>,
    /// The `Accept` header instead of the fetcher's.
    pub accept: Option<&'a str>,
    /// Bytes of body taken instead of the fetcher's limit.
    pub max_body: Option<u64>,
    /// Where the bytes received are counted as they come, for whoever watches.
    pub received: Option<&'a Arc<AtomicU64>>,
    /// Who has a say in whether the server may be contacted.
    pub gate: Option<Gate<'a>>,
}

/// Asked before a connection is made, and again last before the request's bytes are written.
#[derive(Clone, Copy)]
pub struct Gate<'a>(pub &'a (dyn Fn(Step) -> bool + Send + Sync));

/// What the gate is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To connect.
    Connect,
    /// To write the request, which leaves at once if it may.
    Write,
}

impl std::fmt::Debug for Gate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gate")
    }
}

/// The methods of a crawler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Head and body.
    #[default]
    Get,
    /// The head alone.
    Head,
    /// Sends a body.
    Post,
}

/// What a response said about its version, word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    pub last_modified: Option<String>,
}

impl<'a> Request<'a> {
    /// A plain GET.
    pub fn get(url: &'a Url, address: IpAddr) -> Self {
        Self {
            url,
            address,
            proxy: None,
            method: Method::Get,
            headers: &[],
            body: None,
            validators: None,
            accept: None,
            max_body: None,
            received: None,
            gate: None,
        }
    }

    /// Whether the gate lets it take this step.
    pub(crate) fn pass(&self, step: Step) -> Result<(), FetchError> {
        match self.gate {
            Some(gate) if !gate.0(step) => Err(FetchError::Barred),
            _ => Ok(()),
        }
    }

    /// The header fields after `Host`, lower-case as HTTP/2 wants them. Values that could break
    /// out of their line (a validator comes from the network) are left out.
    pub(crate) fn fields<'o>(
        &'o self,
        options: &'o Options,
    ) -> impl Iterator<Item = (&'o str, &'o str)> {
        let validators = self.validators;
        let named = |name: &str| self.headers.iter().any(|(other, _)| other == name);
        let usual = [
            ("user-agent", Some(options.user_agent.as_str())),
            ("accept", Some(self.accept.unwrap_or(&options.accept))),
            ("accept-encoding", Some(ACCEPT_ENCODING)),
            ("if-none-match", validators.and_then(|v| v.etag.as_deref())),
            (
                "if-modified-since",
                validators.and_then(|v| v.last_modified.as_deref()),
            ),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .filter(move |(name, _)| !named(name));
        let more = self.headers.iter();
        let more = more.map(|(name, value)| (name.as_str(), value.as_str()));
        usual
            .chain(more)
            .filter(|(name, value)| is_field_name(name) && is_field_value(value))
    }

    /// The head as it is told to others: what was sent besides the usual may be secret.
    pub(crate) fn head_told(&self, target: &Target, options: &Options) -> Vec<u8> {
        let told = |(name, value): &(String, String)| {
            let open = name == "user-agent";
            let value = if open { value } else { "(withheld)" };
            (name.clone(), value.to_owned())
        };
        let headers: Vec<_> = self.headers.iter().map(told).collect();
        let told = Request {
            headers: &headers,
            ..self.clone()
        };
        told.head(target, options)
    }

    /// The head as HTTP/1.1 sends it.
    pub(crate) fn head(&self, target: &Target, options: &Options) -> Vec<u8> {
        self.head_to(target, options, None)
    }

    /// The same to a proxy that is asked for the page itself.
    pub(crate) fn head_to(
        &self,
        target: &Target,
        options: &Options,
        proxy: Option<&Proxy>,
    ) -> Vec<u8> {
        let mut head = Vec::with_capacity(512);
        let mut put = |parts: &[&str]| {
            for part in parts {
                head.extend_from_slice(part.as_bytes());
            }
        };
        put(&[self.method.name(), " "]);
        if proxy.is_some() {
            put(&["http://", &target.authority]);
        }
        put(&[&target.path, " HTTP/1.1\r\n"]);
        put(&["Host: ", &target.authority, "\r\n"]);
        if let Some(shown) = proxy.and_then(Proxy::authorization) {
            put(&["Proxy-Authorization: ", &shown, "\r\n"]);
        }
        for (name, value) in self.fields(options) {
            put(&[title_case(name), ": ", value, "\r\n"]);
        }
        if let Some(body) = self.body {
            put(&["Content-Length: ", &body.len().to_string(), "\r\n"]);
        }
        put(&["\r\n"]);
        head
    }
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
        }
    }
}

/// Some servers know the names of HTTP/1.1 only as they are usually written.
fn title_case(name: &str) -> &str {
    match name {
        "user-agent" => "User-Agent",
        "accept" => "Accept",
        "accept-encoding" => "Accept-Encoding",
        "authorization" => "Authorization",
        "content-type" => "Content-Type",
        "cookie" => "Cookie",
        "if-none-match" => "If-None-Match",
        "if-modified-since" => "If-Modified-Since",
        _ => name,
    }
}

/// Whether a header may be sent besides the usual ones: its name in lower case, and its value.
pub fn is_header(name: &str, value: &str) -> bool {
    is_field_name(name) && is_field_value(value)
}

/// A token as RFC 9110 has it, in lower case, that is not ours to set.
pub(crate) fn is_field_name(name: &str) -> bool {
    let token =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&b);
    let framing = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "te",
        "upgrade",
        "proxy-authorization",
    ];
    !name.is_empty() && name.bytes().all(token) && !framing.contains(&name)
}

/// Printable ASCII, not empty.
pub(crate) fn is_field_value(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|b| (0x20..0x7f).contains(&b))
}

/// Where a URL leads, taken apart once.
#[derive(Debug)]
pub(crate) struct Target {
    pub https: bool,
    /// Without brackets, as TLS and DNS want it.
    pub host: String,
    pub port: u16,
    /// Host and, unless it is the scheme's own, port.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

impl Target {
    /// Host and port, as a tunnel is asked for.
    pub fn place(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub fn of(url: &Url) -> Result<Self, FetchError> {
        let https = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(FetchError::Url("scheme is not http or https")),
        };
        let written = url.host_str().ok_or(FetchError::Url("no host"))?;
        let host = written.trim_start_matches('[').trim_end_matches(']');
        let authority = match url.port() {
            Some(port) => format!("{written}:{port}"),
            None => written.to_owned(),
        };
        let mut path = String::with_capacity(url.path().len() + 32);
        path.push_str(url.path());
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(query);
        }
        if path.len() > MAX_TARGET {
            return Err(FetchError::Url("too long"));
        }
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
        if !plain(&path) || !plain(&authority) {
            return Err(FetchError::Url("not plain ASCII"));
        }
        Ok(Self {
            https,
            host: host.to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            authority,
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(url: &str, validators: Option<&Validators>) -> String {
        let url = Url::parse(url).unwrap();
        let mut request = Request::get(&url, [127, 0, 0, 1].into());
        request.validators = validators;
        let options = Options::new("evercrawl/1 (+https://example.org/bot)");
        String::from_utf8(request.head(&Target::of(&url).unwrap(), &options)).unwrap()
    }

    #[test]
    fn says_who_we_are_and_keeps_secrets() {
        let head = head("https://user:secret@example.org:8443/a?b=c#d", None);
        assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\nHost: example.org:8443\r\n"));
        assert!(head.contains("User-Agent: evercrawl/1 (+https://example.org/bot)\r\n"));
        assert!(head.contains("Accept-Encoding: gzip, br, zstd, deflate\r\n"));
        assert!(head.ends_with("\r\n\r\n"));
        assert!(!head.contains("secret"));
    }

    #[test]
    fn validators_are_sent_unless_they_break_lines() {
        let honest = Validators {
            etag: Some("W/\"x\"".into()),
            last_modified: Some("Sun, 06 Nov 1994 08:49:37 GMT".into()),
        };
        let sent = head("http://a/", Some(&honest));
        assert!(sent.contains("If-None-Match: W/\"x\"\r\n"));
        assert!(sent.contains("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
        let hostile = Validators {
            etag: Some("\"x\"\r\nX-Injected: 1".into()),
            last_modified: Some("\0".into()),
        };
        let sent = head("http://a/", Some(&hostile));
        assert!(!sent.contains("Injected") && !sent.contains("If-"));
    }

    #[test]
    fn only_web_addresses_become_targets() {
        let refused = |url: &str| Target::of(&Url::parse(url).unwrap()).unwrap_err().cause();
        assert_eq!(refused("ftp://a/"), "url");
        assert_eq!(refused("file:///etc/passwd"), "url");
        assert_eq!(refused(&format!("http://a/{}", "x".repeat(1 << 20))), "url");
        let v6 = Target::of(&Url::parse("http://[::1]:81/").unwrap()).unwrap();
        assert_eq!(
            (v6.host.as_str(), v6.authority.as_str(), v6.port),
            ("::1", "[::1]:81", 81)
        );
    }
}
