//! TLS with a root of our own, and HTTP/2 on top of it.

use crate::server::{LOOPBACK, fetcher};
use bytes::Bytes;
use fetch::{Exchange, FetchError, Fetcher, Request, Truncation, Version};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use url::Url;

pub struct SecureServer {
    pub url: Url,
    root: String,
    connections: Arc<AtomicUsize>,
}

impl SecureServer {
    /// Serves `secure.test`, in the protocols named.
    async fn start(protocols: &[&str]) -> Self {
        Self::start_as("secure.test", protocols).await
    }

    pub async fn start_as(name: &str, protocols: &[&str]) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority =
            CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.into()])
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        tokio::spawn(serve(listener, config.into(), connections.clone()));
        Self {
            url: Url::parse(&format!("https://{name}:{port}/page")).unwrap(),
            root: authority.pem(),
            connections,
        }
    }

    pub fn fetcher(&self) -> Fetcher {
        fetcher(|options| options.extra_roots = self.root.clone().into_bytes())
    }

    async fn get(&self, fetcher: &Fetcher) -> Result<Exchange, FetchError> {
        fetcher.fetch(Request::get(&self.url, LOOPBACK)).await
    }
}

async fn serve(listener: TcpListener, config: Arc<ServerConfig>, connections: Arc<AtomicUsize>) {
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let acceptor = TlsAcceptor::from(config.clone());
        tokio::spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
                return;
            }
            let mut request = [0; 4096];
            while stream.read(&mut request).await.is_ok_and(|n| n > 0) {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecure";
                let _ = stream.write_all(answer).await;
                let _ = stream.flush().await;
            }
        });
    }
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
) -> Result<http::Response<Full<Bytes>>, http::Error> {
    if request.uri().query() == Some("silent") {
        std::future::pending::<()>().await;
    }
    let validated = request.headers().get("if-none-match").is_some();
    let builder = http::Response::builder()
        .status(if validated { 304 } else { 200 })
        .header("x-path", request.uri().path())
        .header("x-agent", request.headers()["user-agent"].clone());
    let builder = match request.uri().query() {
        Some("many") => (0..300).fold(builder, |b, i| b.header("x-many", i)),
        Some("large") => builder.header("x-large", "x".repeat(100_000)),
        _ => builder,
    };
    builder.body(Full::new(
        vec![b'2'; if validated { 0 } else { 300_000 }].into(),
    ))
}

#[tokio::test]
async fn tls_with_a_root_of_our_own() {
    let server = SecureServer::start(&["http/1.1"]).await;
    let fetcher = server.fetcher();
    let exchange = server.get(&fetcher).await.unwrap();
    assert_eq!(
        (exchange.version, &exchange.body[..]),
        (Version::Http11, &b"secure"[..])
    );
    assert!(server.get(&fetcher).await.unwrap().reused);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn certificates_are_checked() {
    let server = SecureServer::start(&["http/1.1"]).await;
    let stranger = server.get(&fetcher(|_| {})).await.unwrap_err();
    assert_eq!(stranger.cause(), "tls", "{stranger}");
    let mut other = server.url.clone();
    other.set_host(Some("other.test")).unwrap();
    let wrong = server
        .fetcher()
        .fetch(Request::get(&other, LOOPBACK))
        .await
        .unwrap_err();
    assert_eq!(wrong.cause(), "tls", "{wrong}");
    let broken = fetch::Options {
        extra_roots: b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(),
        ..fetch::Options::new(crate::server::AGENT)
    };
    assert!(matches!(
        Fetcher::new(broken).err(),
        Some(fetch::BuildError::Roots(_))
    ));
}

#[tokio::test]
async fn plain_text_where_tls_should_be() {
    let server = crate::server::Server::saying_once("HTTP/1.1 400 Bad Request\r\n\r\n");
    let url = Url::parse(&format!("https://secure.test:{}/", server.address.port())).unwrap();
    let error = fetcher(|o| o.timeouts.connect = std::time::Duration::from_millis(500))
        .fetch(Request::get(&url, LOOPBACK))
        .await
        .unwrap_err();
    // the server waits for the end of a head that never comes
    assert_eq!(error.cause(), "timeout-connect");
}

#[tokio::test]
async fn http2_when_both_speak_it() {
    let server = SecureServer::start(&["h2", "http/1.1"]).await;
    let fetcher = server.fetcher();
    for round in 0..3 {
        let exchange = server.get(&fetcher).await.unwrap();
        assert_eq!((exchange.version, exchange.status), (Version::Http2, 200));
        assert_eq!((exchange.body.len(), exchange.truncated), (300_000, None));
        assert_eq!(exchange.header("X-Path").as_deref(), Some("/page"));
        assert_eq!(
            exchange.header("x-agent").as_deref(),
            Some(crate::server::AGENT)
        );
        assert!(
            exchange.head.starts_with(b"HTTP/1.1 200 OK\r\n")
                && exchange.head.ends_with(b"\r\n\r\n")
        );
        assert_eq!(exchange.reused, round > 0);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    let validators = fetch::Validators {
        etag: Some("\"v\"".into()),
        last_modified: None,
    };
    let request = Request {
        validators: Some(&validators),
        ..Request::get(&server.url, LOOPBACK)
    };
    assert_eq!(fetcher.fetch(request).await.unwrap().status, 304);

    let one = fetcher_without_http2(&server);
    assert_eq!(server.get(&one).await.unwrap().version, Version::Http11);
}

#[tokio::test]
async fn http2_silence_is_timed_out() {
    let server = SecureServer::start(&["h2"]).await;
    let fetcher = fetcher(|options| {
        options.extra_roots = server.root.clone().into_bytes();
        options.timeouts.first_byte = std::time::Duration::from_millis(200);
    });
    let mut url = server.url.clone();
    url.set_query(Some("silent"));
    let error = fetcher
        .fetch(Request::get(&url, LOOPBACK))
        .await
        .unwrap_err();
    assert_eq!(error, FetchError::Timeout(fetch::TimeoutStage::FirstByte));
    assert_eq!(fetcher.idle_connections(), 0);
}

fn fetcher_without_http2(server: &SecureServer) -> Fetcher {
    fetcher(|options| {
        options.extra_roots = server.root.clone().into_bytes();
        options.http2 = false;
    })
}

#[tokio::test]
async fn http2_has_the_same_limits() {
    let server = SecureServer::start(&["h2"]).await;
    let fetcher = server.fetcher();
    let small = Request {
        max_body: Some(1000),
        ..Request::get(&server.url, LOOPBACK)
    };
    let exchange = fetcher.fetch(small).await.unwrap();
    assert_eq!(
        (exchange.body.len(), exchange.truncated),
        (1000, Some(Truncation::Length))
    );
    for query in ["many", "large"] {
        let mut url = server.url.clone();
        url.set_query(Some(query));
        let error = fetcher
            .fetch(Request::get(&url, LOOPBACK))
            .await
            .unwrap_err();
        assert!(
            matches!(error.cause(), "headers-too-large" | "protocol"),
            "{error}"
        );
    }
}
