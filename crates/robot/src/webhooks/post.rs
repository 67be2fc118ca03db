//! One post: signed, sent, answered.

use crate::StartError;
use crate::config::{Config, Webhook};
use crate::overrides::Proxies;
use crate::secret::Secret;
use crate::whole_file;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fetch::{Fetcher, Method, Options, Proxy, Request};
use ring::hmac;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::{Host, Url};

/// An answer is taken for none after this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a receiver says is not read beyond this.
const MOST_BYTES: u64 = 64 << 10;

/// Where posts go, and how they are signed.
pub(super) struct Post {
    url: Url,
    key: Option<hmac::Key>,
    fetcher: Fetcher,
    proxy: Option<Arc<Proxy>>,
    /// By which crawls are told apart.
    crawl: String,
}

/// What a receiver says.
pub(super) enum Answer {
    Taken,
    /// It is there and does not want it.
    Refused(u16),
    /// Later, perhaps.
    Away(String),
}

impl Post {
    pub fn new(hook: &Webhook, config: &Config) -> Result<Self, StartError> {
        let invalid = |what: String| StartError::Webhook(what);
        let url = Url::parse(&hook.url).map_err(|error| invalid(format!("url: {error}")))?;
        let secret = Secret::read(hook.secret_file.as_deref(), hook.secret_env.as_deref());
        let key = match secret.map_err(invalid)? {
            None => None,
            Some(secret) => Some(hmac::Key::new(hmac::HMAC_SHA256, &key_bytes(&secret)?)),
        };
        let mut options = Options::new(config.identity.user_agent());
        options.http2 = false;
        options.hosts = config.fetch.hosts.clone().into_iter().collect();
        options.dns.server = config.fetch.dns_server;
        // whoever runs the crawl names the receiver, which may well be at home
        for all in ["0.0.0.0/0", "::/0"] {
            options
                .addresses
                .allowed
                .push(all.parse().expect("a network"));
        }
        if let Some(path) = &config.fetch.extra_roots {
            options.extra_roots =
                whole_file::read(path, whole_file::CERTIFICATES).unwrap_or_default();
        }
        let crawl = storage::digest(config.data.0.as_os_str().as_encoded_bytes());
        Ok(Self {
            proxy: proxy(&url, config)?,
            url,
            key,
            fetcher: Fetcher::new(options)?,
            crawl: storage::archive::digest_text(&crawl)[5..13].to_ascii_lowercase(),
        })
    }

    /// Where it goes, without what may be secret of it.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Sends what stands at this place of the log.
    pub async fn send(&self, number: u64, body: &[u8]) -> Answer {
        match tokio::time::timeout(PATIENCE, self.try_to_send(number, body)).await {
            Err(_) => Answer::Away("no answer within 30 s".into()),
            Ok(Err(error)) => Answer::Away(error.to_string()),
            Ok(Ok(status)) => match status {
                200..=299 => Answer::Taken,
                408 | 429 | 500.. => Answer::Away(format!("answered with status {status}")),
                _ => Answer::Refused(status),
            },
        }
    }

    async fn try_to_send(&self, number: u64, body: &[u8]) -> Result<u16, fetch::FetchError> {
        let host = self.url.host_str().unwrap_or_default();
        let found = match self.proxy {
            None => self.fetcher.resolve(host).await?,
            Some(_) => self.fetcher.resolve_behind_proxy(host)?,
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_secs()).to_string();
        // the same for the same change, however often it is told
        let id = format!("evercrawl-{}-{number}", self.crawl);
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("webhook-id".to_owned(), id.clone()),
            ("webhook-timestamp".to_owned(), now.clone()),
        ];
        if let Some(key) = &self.key {
            let signed = [id.as_bytes(), b".", now.as_bytes(), b".", body].concat();
            let signature = BASE64_STANDARD.encode(hmac::sign(key, &signed));
            headers.push(("webhook-signature".to_owned(), format!("v1,{signature}")));
        }
        let mut last = fetch::FetchError::Disconnected;
        for address in found.addresses {
            let request = Request {
                method: Method::Post,
                headers: &headers,
                body: Some(body),
                max_body: Some(MOST_BYTES),
                proxy: self.proxy.as_ref(),
                ..Request::get(&self.url, address)
            };
            match self.fetcher.fetch(request).await {
                Ok(answer) => return Ok(answer.status),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Whom posts go through: as pages of the same host do, but not to receivers on this machine.
fn proxy(url: &Url, config: &Config) -> Result<Option<Arc<Proxy>>, StartError> {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if is_here {
        return Ok(None);
    }
    let proxies = Proxies::new(config).map_err(|why| StartError::Webhook(why.to_string()))?;
    Ok(proxies.of(url).cloned())
}

/// The bytes of a key: those of the text, or what it stands for as Standard Webhooks write keys.
fn key_bytes(secret: &Secret) -> Result<Vec<u8>, StartError> {
    match secret.text().strip_prefix("whsec_") {
        None => Ok(secret.text().as_bytes().to_vec()),
        Some(coded) => BASE64_STANDARD.decode(coded).map_err(|_| {
            StartError::Webhook("the secret begins with whsec_, but no base64 follows".into())
        }),
    }
}
