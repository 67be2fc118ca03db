//! Through proxies: real ones, and ones that lie.

use crate::real_proxy::{LOGIN, RealProxy};
use crate::secure::SecureServer;
use crate::server::{Server, fetcher, read_request, say};
use fetch::{Exchange, FetchError, Fetcher, Proxy, Request, Version};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use url::Url;

async fn through(
    proxy: &str,
    login: Option<&str>,
    fetcher: &Fetcher,
    url: &Url,
) -> Result<Exchange, FetchError> {
    let proxy = Arc::new(Proxy::new(proxy, login).unwrap());
    let resolved = fetcher.resolve_behind_proxy(url.host_str().unwrap())?;
    let request = Request {
        proxy: Some(&proxy),
        ..Request::get(url, resolved.addresses[0])
    };
    fetcher.fetch(request).await
}

/// A server that keeps what it was asked.
fn listener() -> (Server, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = heads.clone();
    let server = Server::start(move |stream, _| {
        while let Some(head) = read_request(stream) {
            kept.lock().unwrap().push(head);
            say(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        }
    });
    (server, heads)
}

#[tokio::test]
async fn pages_come_through_real_proxies_with_and_without_a_login() {
    let (server, heads) = listener();
    // no name server: only the proxy can know what localhost is
    let fetcher = fetcher(|options| options.dns.server = Some("127.0.0.1:1".parse().unwrap()));
    let url = format!("http://localhost:{}/a?b=c", server.address.port());
    let url = Url::parse(&url).unwrap();
    for login in [None, Some(LOGIN)] {
        let proxies = [
            RealProxy::http(login.is_some()),
            RealProxy::socks5(login.is_some()),
        ];
        for proxy in proxies.iter().flatten() {
            let exchange = through(&proxy.url, login, &fetcher, &url).await.unwrap();
            assert_eq!((exchange.status, &exchange.body[..]), (200, &b"hi"[..]));
            let head = heads.lock().unwrap().pop().unwrap();
            assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{head}");
            // neither the server nor the archive hears of the login
            let told = String::from_utf8(exchange.request_head).unwrap();
            assert!(told.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{told}");
            for text in [head, told] {
                assert!(
                    !text.to_ascii_lowercase().contains("proxy-authorization"),
                    "{text}"
                );
            }
            if login.is_some() {
                for wrong in [None, Some("aladdin:closesesame")] {
                    match through(&proxy.url, wrong, &fetcher, &url).await {
                        Err(error) => assert_eq!(error.cause(), "proxy", "{error}"),
                        // tinyproxy speaks as if it were the server
                        Ok(exchange) => assert_eq!(exchange.status, 401),
                    }
                }
                assert!(heads.lock().unwrap().is_empty());
            }
        }
    }
}

#[tokio::test]
async fn tls_and_http2_go_through_the_tunnel_end_to_end() {
    let server = SecureServer::start_as("localhost", &["h2"]).await;
    let fetcher = server.fetcher();
    for proxy in [RealProxy::http(true), RealProxy::socks5(true)]
        .iter()
        .flatten()
    {
        let first = through(&proxy.url, Some(LOGIN), &fetcher, &server.url)
            .await
            .unwrap();
        assert_eq!((first.status, first.version), (200, Version::Http2));
        // the certificate is the server's: through a tunnel too it is checked
        let strangers = crate::server::fetcher(|_| {});
        let error = through(&proxy.url, Some(LOGIN), &strangers, &server.url)
            .await
            .unwrap_err();
        assert_eq!(error.cause(), "tls");
    }
}

#[tokio::test]
async fn what_the_proxy_cannot_reach_says_so() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let fetcher = fetcher(|_| {});
    let url = Url::parse(&format!("https://127.0.0.1:{port}/")).unwrap();
    if let Some(proxy) = RealProxy::socks5(false) {
        let error = through(&proxy.url, None, &fetcher, &url).await.unwrap_err();
        assert_eq!(error.cause(), "connect-refused");
    }
    if let Some(proxy) = RealProxy::http(false) {
        let error = through(&proxy.url, None, &fetcher, &url).await.unwrap_err();
        assert!(
            matches!(&error, FetchError::Proxy(why) if why.contains(" 50")),
            "{error}"
        );
    }
    // the proxy itself is away
    let away = format!("socks5://127.0.0.1:{port}");
    let error = through(&away, None, &fetcher, &url).await.unwrap_err();
    assert!(
        error.to_string().starts_with("proxy: not connected"),
        "{error}"
    );
}

#[tokio::test]
async fn private_names_are_not_asked_of_a_proxy_unless_allowed() {
    let server = Server::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let fetcher = Fetcher::new(fetch::Options::new("bot/1.0")).unwrap();
    let proxy = Arc::new(Proxy::new(server.url().as_str(), None).unwrap());
    for (host, cause) in [
        ("127.0.0.1", "address-refused"),
        ("localhost", "address-refused"),
        ("[fd00::1]", "address-refused"),
        ("intranet", "name-refused"),
        ("printer.local", "name-refused"),
    ] {
        let error = fetcher.resolve_behind_proxy(host).unwrap_err();
        assert_eq!(error.cause(), cause, "{host}");
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        let request = Request {
            proxy: Some(&proxy),
            ..Request::get(&url, [192, 0, 2, 1].into())
        };
        assert_eq!(fetcher.fetch(request).await.unwrap_err().cause(), cause);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn proxies_that_lie_are_caught_and_cost_no_more_than_the_time_to_connect() {
    let url = Url::parse("https://www.example.org/").unwrap();
    let fetcher = fetcher(|options| options.timeouts.connect = Duration::from_millis(500));
    for answer in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nmore",
        b"\x05\x00\x05\x00\x00\x09",
        b"\x05\xff",
        b"\x04\x00",
        b"\x05\x02\x01\x00",
    ] {
        let server = Server::start(move |stream, _| {
            say(stream, answer);
            std::thread::sleep(Duration::from_secs(2));
        });
        for scheme in ["http", "socks5"] {
            let proxy = format!("{scheme}://{}", server.address);
            let began = std::time::Instant::now();
            let error = through(&proxy, None, &fetcher, &url).await.unwrap_err();
            let causes = ["proxy", "timeout-connect"];
            assert!(
                causes.contains(&error.cause()),
                "{scheme} {answer:?}: {error}"
            );
            assert!(began.elapsed() < Duration::from_secs(2));
        }
    }
    let endless = Server::start(|stream, _| while say(stream, &[b'x'; 4096]) {});
    let proxy = format!("http://{}", endless.address);
    let error = through(&proxy, None, &fetcher, &url).await.unwrap_err();
    assert_eq!(error.cause(), "proxy");
}
