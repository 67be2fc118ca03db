//! The fetcher: resolves names and runs requests, over connections it keeps.

use crate::connect::{self, Connection};
use crate::dns::{self, Resolved};
use crate::error::{FetchError, TimeoutStage};
use crate::exchange::{Exchange, Version};
use crate::http1::{self, Failure, Received};
use crate::options::Options;
use crate::patience::Patience;
use crate::pool::{Key, Pool};
use crate::proxy;
use crate::request::{Method, Request, Step, Target, is_field_value};
use hickory_resolver::TokioResolver;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio_rustls::rustls::ClientConfig;

/// Fetches, one request at a time per call; clones share connections and caches.
#[derive(Clone)]
pub struct Fetcher(Arc<Shared>);

struct Shared {
    options: Options,
    tls: Arc<ClientConfig>,
    resolver: Option<TokioResolver>,
    pool: Pool,
}

/// What a user agent says that names no contact: anonymous is nobody by accident.
pub const NO_CONTACT: &str = "no contact given";

/// The options cannot be followed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BuildError {
    /// It must be printable, and not empty.
    #[error("the user agent must be printable ASCII")]
    UserAgent,
    /// The extra root certificates cannot be read.
    #[error("extra root certificates: {0}")]
    Roots(String),
}

/// A request taken apart, and its head as HTTP/1.1 sends it.
struct Prepared<'a> {
    request: &'a Request<'a>,
    target: Target,
    head: Vec<u8>,
    /// The head holds nothing that is not to be told.
    is_plain: bool,
    /// A proxy is asked for the page itself.
    asks_proxy: bool,
    /// The head, and what is sent with it.
    message: Vec<u8>,
    started: Instant,
}

impl Fetcher {
    /// A fetcher that behaves as `options` say. Names can be resolved only if the options or the
    /// system name a server; without one, addresses and [`Options::hosts`] still work.
    pub fn new(options: Options) -> Result<Self, BuildError> {
        if !is_field_value(&options.user_agent) {
            return Err(BuildError::UserAgent);
        }
        let tls = connect::tls_config(&options).map_err(|e| BuildError::Roots(e.to_string()))?;
        let resolver = dns::resolver(&options)
            .inspect_err(|error| tracing::warn!(%error, "no name server"))
            .ok();
        Ok(Self(Arc::new(Shared {
            tls: Arc::new(tls),
            resolver,
            pool: Pool::new(options.idle),
            options,
        })))
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Connections that wait for their next request.
    pub fn idle_connections(&self) -> usize {
        self.0.pool.len()
    }

    /// The addresses of `host` (a name, or an address in its usual form) that may be contacted.
    pub async fn resolve(&self, host: &str) -> Result<Resolved, FetchError> {
        dns::resolve(host, &self.0.options, self.0.resolver.as_ref()).await
    }

    /// What stands for the address of `host` behind a proxy, which alone knows it; unless its name tells that
    /// it may not be contacted.
    pub fn resolve_behind_proxy(&self, host: &str) -> Result<Resolved, FetchError> {
        proxy::may_be_named(host, &self.0.options.addresses)?;
        Ok(Resolved {
            addresses: vec![proxy::stand_in(host)],
            expires_in: self.0.options.dns.most_ttl,
        })
    }

    /// Runs one request. Redirects are answers like any other.
    pub async fn fetch(&self, request: Request<'_>) -> Result<Exchange, FetchError> {
        let shared = &*self.0;
        let target = Target::of(request.url)?;
        if request.proxy.is_some() {
            proxy::may_be_named(&target.host, &shared.options.addresses)?;
        } else if !shared.options.addresses.permits(request.address) {
            return Err(FetchError::AddressRefused(request.address));
        }
        let asked = request.proxy.filter(|proxy| proxy.is_asked(&target));
        let head = request.head_to(&target, &shared.options, asked.map(|proxy| &**proxy));
        let prepared = Prepared {
            message: [&head[..], request.body.unwrap_or_default()].concat(),
            is_plain: asked.is_none() && request.headers.is_empty(),
            asks_proxy: asked.is_some(),
            head,
            request: &request,
            started: Instant::now(),
            target,
        };
        let key = Key {
            https: prepared.target.https,
            host: prepared.target.host.clone(),
            port: prepared.target.port,
            address: request.address,
            proxy: request.proxy.cloned(),
        };
        while let Some(mut connection) = shared.pool.take(&key, Instant::now()) {
            if !connection.is_quiet() {
                continue;
            }
            match shared.run(&prepared, &key, connection, None).await {
                Err(Failure {
                    unanswered: true, ..
                }) => break,
                Err(failure) => return Err(failure.error),
                Ok(exchange) => return Ok(exchange),
            }
        }
        request.pass(Step::Connect)?;
        let connecting = Instant::now();
        let connection = shared.connect(&prepared).await?;
        shared
            .run(&prepared, &key, connection, Some(connecting.elapsed()))
            .await
            .map_err(|failure| failure.error)
    }
}

impl Shared {
    async fn connect(&self, prepared: &Prepared<'_>) -> Result<Connection, FetchError> {
        let Prepared {
            target, request, ..
        } = prepared;
        let connection = async {
            let stream = match request.proxy {
                None => connect::direct(target, request.address, &self.options).await?,
                Some(proxy) => {
                    let resolver = self.resolver.as_ref();
                    proxy.connect(target, &self.options, resolver).await?
                }
            };
            connect::secure(stream, target, &self.tls, self.options.limits.head).await
        };
        tokio::time::timeout(self.options.timeouts.connect, connection)
            .await
            .unwrap_or(Err(FetchError::Timeout(TimeoutStage::Connect)))
    }

    /// Runs the request on `connection`, which took `connect_time` to make unless it was there.
    async fn run(
        &self,
        prepared: &Prepared<'_>,
        key: &Key,
        mut connection: Connection,
        connect_time: Option<Duration>,
    ) -> Result<Exchange, Failure> {
        let Prepared {
            request,
            target,
            head,
            message,
            started,
            is_plain,
            asks_proxy,
        } = prepared;
        request.pass(Step::Write)?;
        let limits = &self.options.limits;
        let max_body = request.max_body.unwrap_or(limits.body);
        let mut patience = Patience::new(self.options.timeouts, request.received.cloned());
        let received = match &mut connection {
            Connection::Http1(stream) => {
                let to_head = request.method == Method::Head;
                http1::exchange(stream, message, to_head, limits, max_body, &mut patience).await?
            }
            Connection::Http2(http2) => {
                http2
                    .exchange(request, target, &self.options, max_body, &mut patience)
                    .await?
            }
        };
        // its own word: no server's, and no robots.txt
        if *asks_proxy && received.head.status == 407 {
            return Err(FetchError::proxy(proxy::WANTS_A_LOGIN).into());
        }
        let version = match (&connection, received.head.old) {
            (Connection::Http2(_), _) => Version::Http2,
            (_, true) => Version::Http10,
            (_, false) => Version::Http11,
        };
        let now = Instant::now();
        let Received {
            head: response,
            body,
            truncated,
            reusable,
        } = received;
        if reusable {
            self.pool.put(key.clone(), connection, now);
        }
        Ok(Exchange {
            status: response.status,
            version,
            reason: response.reason(),
            headers: response.headers,
            request_head: if *is_plain {
                head.clone()
            } else {
                request.head_told(target, &self.options)
            },
            head: response.raw,
            body,
            truncated,
            address: key.address,
            connect_time: connect_time.unwrap_or_default(),
            first_byte: patience.first_byte(),
            total: now.duration_since(*started),
            reused: connect_time.is_none(),
        })
    }
}
