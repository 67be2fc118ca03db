//! Honest exchanges: what is sent and kept, and connections that serve more than once.

use crate::server::{AGENT, LOOPBACK, Server, fetcher, read_request, say};
use fetch::{ConnectFault, FetchError, Gate, Method, Request, Step, Validators, Version};
use std::time::Duration;
use url::Url;

const HI: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

#[tokio::test]
async fn an_exchange_keeps_everything() {
    let answer = "HTTP/1.1 200 Fine\r\nX-Odd-CASE: 1\r\nContent-Type: text/html\r\nETag: \"v\"\r\n\
        Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nCache-Control: public, Max-Age=60\r\n\
        Retry-After: 1.5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    let server = Server::saying(answer);
    let exchange = server.get().await.unwrap();
    assert_eq!((exchange.status, exchange.reason.as_str()), (200, "Fine"));
    assert_eq!(exchange.version, Version::Http11);
    assert_eq!(
        exchange.headers.iter().next(),
        Some((&b"X-Odd-CASE"[..], &b"1"[..]))
    );
    assert!(answer.as_bytes().starts_with(&exchange.head));
    assert_eq!((&exchange.body[..], exchange.truncated), (&b"hi"[..], None));
    assert_eq!(exchange.content_type().as_deref(), Some("text/html"));
    assert_eq!(exchange.max_age(), Some(Duration::from_mins(1)));
    assert_eq!(exchange.retry_after().as_deref(), Some("1.5"));
    let modified = exchange.last_modified().unwrap();
    assert_eq!(
        modified
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs(),
        784_111_777
    );
    assert_eq!(
        exchange.validators().unwrap().etag.as_deref(),
        Some("\"v\"")
    );
    assert_eq!(exchange.address, LOOPBACK);
    assert!(exchange.total >= exchange.first_byte + exchange.connect_time);
    assert!(!exchange.reused && exchange.connect_time > Duration::ZERO);
    let sent = String::from_utf8(exchange.request_head).unwrap();
    assert!(sent.starts_with("GET / HTTP/1.1\r\nHost: 127.0.0.1:") && sent.contains(AGENT));
}

#[tokio::test]
async fn validators_are_answered_and_a_head_has_no_body() {
    let server = Server::start(|stream, _| {
        while let Some(request) = read_request(stream) {
            let status = if request.contains("If-None-Match: \"v\"") {
                304
            } else {
                200
            };
            let body = if status == 200 && request.starts_with("GET") {
                "hi"
            } else {
                ""
            };
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: 2\r\n\r\n{body}");
            say(stream, head.as_bytes());
        }
    });
    let (fetcher, url) = (fetcher(|_| {}), server.url());
    let validators = Validators {
        etag: Some("\"v\"".into()),
        last_modified: None,
    };
    let get = Request::get(&url, LOOPBACK);
    let conditional = Request {
        validators: Some(&validators),
        ..get.clone()
    };
    let head = Request {
        method: Method::Head,
        ..get.clone()
    };
    for (request, status, length) in [(conditional, 304, 0), (head, 200, 0), (get, 200, 2)] {
        let exchange = fetcher.fetch(request).await.unwrap();
        assert_eq!((exchange.status, exchange.body.len()), (status, length));
    }
    assert_eq!(
        server.connections(),
        1,
        "none of them spoils the connection"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_run_on_any_thread() {
    let server = Server::saying(HI);
    let fetcher = fetcher(|_| {});
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (fetcher, url) = (fetcher.clone(), server.url());
            tokio::spawn(async move { fetcher.fetch(Request::get(&url, LOOPBACK)).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(&task.await.unwrap().unwrap().body[..], b"hi");
    }
}

#[tokio::test]
async fn connections_are_kept_per_name_and_address() {
    let server = Server::saying(HI);
    let fetcher = fetcher(|_| {});
    assert!(!server.get_by(&fetcher).await.unwrap().reused);
    let again = server.get_by(&fetcher.clone()).await.unwrap();
    assert!(again.reused && again.connect_time == Duration::ZERO);
    let other = Url::parse(&format!("http://other.test:{}/", server.address.port())).unwrap();
    assert!(
        !fetcher
            .fetch(Request::get(&other, LOOPBACK))
            .await
            .unwrap()
            .reused
    );
    assert_eq!((server.connections(), fetcher.idle_connections()), (2, 2));
}

#[tokio::test]
async fn one_cap_for_all_idle_connections() {
    let servers: Vec<_> = (0..4).map(|_| Server::saying(HI)).collect();
    let fetcher = fetcher(|options| options.idle.connections = 2);
    for server in &servers {
        server.get_by(&fetcher).await.unwrap();
    }
    assert_eq!(fetcher.idle_connections(), 2);
    assert!(servers[3].get_by(&fetcher).await.unwrap().reused);
    assert!(!servers[0].get_by(&fetcher).await.unwrap().reused);
}

#[tokio::test]
async fn a_kept_connection_that_died_is_replaced_once() {
    // each connection answers one request and hangs up on the next, unanswered
    let server = Server::start(|stream, _| {
        read_request(stream);
        say(stream, HI.as_bytes());
        read_request(stream);
    });
    let fetcher = fetcher(|_| {});
    for number in 1..4 {
        let exchange = server.get_by(&fetcher).await.unwrap();
        assert_eq!((&exchange.body[..], exchange.reused), (&b"hi"[..], false));
        assert_eq!(server.connections(), number);
    }
    // a fresh connection that dies is not tried again
    let dead = Server::start(|stream, _| drop(read_request(stream)));
    assert_eq!(
        dead.get_by(&fetcher).await.unwrap_err(),
        FetchError::Disconnected
    );
    assert_eq!(dead.connections(), 1);
}

#[tokio::test]
async fn a_half_answered_request_is_not_sent_again() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        say(stream, HI.as_bytes());
        read_request(stream);
        say(stream, b"HTTP/1.1 200");
    });
    let fetcher = fetcher(|_| {});
    server.get_by(&fetcher).await.unwrap();
    assert_eq!(
        server.get_by(&fetcher).await.unwrap_err(),
        FetchError::Disconnected
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn nobody_listening() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = Url::parse(&format!("http://{free}/")).unwrap();
    let error = fetcher(|_| {})
        .fetch(Request::get(&url, LOOPBACK))
        .await
        .unwrap_err();
    assert_eq!(error, FetchError::Connect(ConnectFault::Refused));
}

#[tokio::test]
async fn over_ipv6() {
    let talk = |stream: &mut std::net::TcpStream, _| {
        read_request(stream);
        say(stream, HI.as_bytes());
    };
    let Ok(server) = Server::start_on("[::1]:0", talk) else {
        eprintln!("skipped: no IPv6 on loopback");
        return;
    };
    let exchange = server.get().await.unwrap();
    assert_eq!(
        (&exchange.body[..], exchange.address),
        (&b"hi"[..], server.address.ip())
    );
}

#[test]
fn a_user_agent_is_one_printable_line() {
    for wrong in ["", "bot\r\nX: https://example.org", "b\u{f6}t"] {
        let error = fetch::Fetcher::new(fetch::Options::new(wrong)).err();
        assert_eq!(error, Some(fetch::BuildError::UserAgent), "{wrong:?}");
    }
    for fine in ["bot/1.0 (+https://example.org/bot)", "Mozilla/5.0"] {
        assert!(
            fetch::Fetcher::new(fetch::Options::new(fine)).is_ok(),
            "{fine:?}"
        );
    }
}

#[tokio::test]
async fn a_gate_is_asked_before_connecting_and_last_before_writing() {
    use std::sync::Mutex;
    let server = Server::saying(HI);
    let (fetcher, url) = (fetcher(|_| {}), server.url());
    let asked = Mutex::new(Vec::new());
    let ask = |refused: Option<Step>| {
        let asked = &asked;
        move |step: Step| {
            asked.lock().unwrap().push(step);
            Some(step) != refused
        }
    };
    let gates = [
        (Some(Step::Connect), 0),
        (Some(Step::Write), 1),
        (None, 2),
        (None, 2),
    ];
    for (refused, connections) in gates {
        let gate = ask(refused);
        let request = Request {
            gate: Some(Gate(&gate)),
            ..Request::get(&url, LOOPBACK)
        };
        let answer = fetcher.fetch(request).await.map(|exchange| exchange.status);
        let expected = refused.map_or(Ok(200), |_| Err(FetchError::Barred));
        assert_eq!(answer, expected);
        // a server may learn of a connection a moment later
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(server.connections(), connections, "{refused:?}");
    }
    let expected = [
        Step::Connect,
        Step::Connect,
        Step::Write,
        Step::Connect,
        Step::Write,
        // over the connection that is there
        Step::Write,
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
}
