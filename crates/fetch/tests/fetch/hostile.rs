//! Servers that mean harm, or do it by mistake.

use crate::server::{LOOPBACK, Server, fetcher, read_request, say};
use fetch::{FetchError, Flaw, Request, TimeoutStage, Truncation};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::time::{Duration, Instant};
use url::Url;

const OK: &str = "HTTP/1.1 200 OK\r\n";

async fn cause_of(answer: impl Into<Vec<u8>>) -> &'static str {
    let error = Server::saying_once(answer)
        .get()
        .await
        .expect_err("a failure");
    let shown = error.to_string();
    assert!(shown.chars().all(|c| !c.is_control()), "{shown:?}");
    error.cause()
}

#[tokio::test]
async fn bombs_are_small_until_decoded_and_bounded_then() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![0; 32 << 20]).unwrap();
    let bomb = gzip.finish().unwrap();
    let head = format!(
        "{OK}Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        bomb.len()
    );
    let exchange = Server::saying([head.as_bytes(), &bomb].concat())
        .get()
        .await
        .unwrap();
    assert_eq!(
        (exchange.body.len(), exchange.truncated),
        (bomb.len(), None)
    );
    let decoded = exchange.decoded(1 << 20).unwrap();
    assert_eq!(
        (decoded.bytes.len(), decoded.flaw),
        (1 << 20, Some(Flaw::Limit))
    );
}

#[tokio::test]
async fn endless_bodies_end_at_the_limit() {
    for head in [
        "",
        "Content-Length: 1152921504606846976\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        let server = Server::start(move |stream, _| {
            read_request(stream);
            say(stream, format!("{OK}{head}\r\n").as_bytes());
            let piece = [&b"1000\r\n"[..], &[b'x'; 0x1000], b"\r\n"].concat();
            while say(stream, &piece) {}
        });
        let fetcher = fetcher(|options| options.limits.body = 100_000);
        let exchange = server.get_by(&fetcher).await.unwrap();
        assert_eq!(exchange.body.len(), 100_000, "{head}");
        assert_eq!(exchange.truncated, Some(Truncation::Length), "{head}");
        assert_eq!(fetcher.idle_connections(), 0);
        let url = server.url();
        let small = Request {
            max_body: Some(10),
            ..Request::get(&url, LOOPBACK)
        };
        assert_eq!(fetcher.fetch(small).await.unwrap().body.len(), 10);
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_whole() {
    for (head, body) in [
        ("", "0123456789"),
        ("Content-Length: 10\r\n", "0123456789"),
        (
            "Transfer-Encoding: chunked\r\n",
            "a\r\n0123456789\r\n0\r\n\r\n",
        ),
    ] {
        let server = Server::saying_once(format!("{OK}{head}\r\n{body}"));
        let exchange = server
            .get_by(&fetcher(|o| o.limits.body = 10))
            .await
            .unwrap();
        assert_eq!(
            (&exchange.body[..], exchange.truncated),
            (&b"0123456789"[..], None),
            "{head}"
        );
    }
}

/// Says `start`, then `drip` over and over, a few times a second.
fn dripping(start: String, drip: &'static str) -> Server {
    Server::start(move |stream, _| {
        read_request(stream);
        say(stream, start.as_bytes());
        while say(stream, drip.as_bytes()) {
            std::thread::sleep(Duration::from_millis(50));
        }
    })
}

#[tokio::test]
async fn slow_drips_are_given_up() {
    let begun = Instant::now();
    let head = dripping(format!("{OK}X: "), "x").get().await;
    assert_eq!(head.unwrap_err(), FetchError::Timeout(TimeoutStage::Drip));
    for (start, drip) in [
        (format!("{OK}Content-Length: 99999\r\n\r\n"), "x"),
        (
            format!("{OK}Transfer-Encoding: chunked\r\n\r\n"),
            "1\r\nx\r\n",
        ),
        (format!("{OK}\r\n"), "x"),
    ] {
        let exchange = dripping(start, drip).get().await.unwrap();
        assert_eq!(exchange.truncated, Some(Truncation::Time));
        assert!(exchange.body.iter().all(|&b| b == b'x') && !exchange.body.is_empty());
    }
    let silent = dripping(format!("{OK}Content-Length: 9\r\n\r\n"), "")
        .get()
        .await;
    assert_eq!(silent.unwrap_err(), FetchError::Timeout(TimeoutStage::Drip));
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "each within its window"
    );
}

#[tokio::test]
async fn the_whole_response_has_a_deadline_however_lively() {
    let fetcher = fetcher(|options| {
        options.timeouts.body = Duration::from_millis(600);
        options.timeouts.drip.bytes_per_second = 1;
    });
    let body = dripping(format!("{OK}\r\n"), "lively")
        .get_by(&fetcher)
        .await
        .unwrap();
    assert_eq!(body.truncated, Some(Truncation::Time));
    let head = dripping(format!("{OK}X: "), "lively")
        .get_by(&fetcher)
        .await;
    assert_eq!(head.unwrap_err(), FetchError::Timeout(TimeoutStage::Body));
}

#[tokio::test]
async fn silence_is_timed_out() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        std::thread::sleep(Duration::from_secs(5));
    });
    let fetcher = fetcher(|o| o.timeouts.first_byte = Duration::from_millis(200));
    let error = server.get_by(&fetcher).await.unwrap_err();
    assert_eq!(error, FetchError::Timeout(TimeoutStage::FirstByte));
}

#[tokio::test]
async fn floods_of_headers_are_refused() {
    let many = format!("{OK}{}\r\n", "A: b\r\n".repeat(300));
    let location = format!(
        "HTTP/1.1 302 Found\r\nLocation: /{}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    assert_eq!(cause_of(many).await, "headers-too-large");
    assert_eq!(cause_of(location).await, "headers-too-large");
    let endless = Server::start(|stream, _| {
        read_request(stream);
        say(stream, OK.as_bytes());
        while say(stream, b"X-Flood: again and again\r\n") {}
    });
    assert_eq!(
        endless.get().await.unwrap_err(),
        FetchError::HeadersTooLarge
    );
}

#[tokio::test]
async fn lengths_that_lie() {
    let fetcher = fetcher(|_| {});
    let short = Server::saying(format!("{OK}Content-Length: 5\r\n\r\nhelloEXTRA"));
    let exchange = short.get_by(&fetcher).await.unwrap();
    assert_eq!(
        (&exchange.body[..], exchange.truncated),
        (&b"hello"[..], None)
    );
    assert_eq!(
        fetcher.idle_connections(),
        0,
        "what follows is nobody's answer"
    );

    let long = Server::saying_once(format!("{OK}Content-Length: 500\r\n\r\nhello"));
    let exchange = long.get().await.unwrap();
    assert_eq!(&exchange.body[..], b"hello");
    assert_eq!(exchange.truncated, Some(Truncation::Disconnect));

    assert_eq!(
        cause_of(format!("{OK}Content-Length: 500\r\n\r\n")).await,
        "disconnected"
    );
    let two = format!("{OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!");
    assert_eq!(cause_of(two).await, "protocol");
    assert_eq!(
        cause_of(format!("{OK}Content-Length: -5\r\n\r\nhello")).await,
        "protocol"
    );
}

#[tokio::test]
async fn broken_chunks_keep_what_came() {
    let chunked = format!("{OK}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(cause_of(format!("{chunked}zz\r\nhello")).await, "protocol");
    for (body, truncation) in [
        ("5\r\nhelloNO", Truncation::Unspecified),
        (
            "5\r\nhello\r\nfffffffffffffffffff\r\n",
            Truncation::Unspecified,
        ),
        ("5\r\nhello\r\n", Truncation::Disconnect),
        ("5\r\nhello\r\n0\r\n", Truncation::Disconnect),
    ] {
        let exchange = Server::saying_once(format!("{chunked}{body}"))
            .get()
            .await
            .unwrap();
        assert_eq!(
            (&exchange.body[..], exchange.truncated),
            (&b"hello"[..], Some(truncation))
        );
    }
}

#[tokio::test]
async fn control_characters_reach_nobody() {
    let answer = format!(
        "{OK}Location: /a\0b\r\nX-Title: \u{1b}]0;owned\u{7}\r\nEtag: \"ok\"\r\nContent-Length: 0\r\n\r\n"
    );
    let exchange = Server::saying(answer.clone()).get().await.unwrap();
    assert_eq!(exchange.location(), None);
    assert_eq!(exchange.header("x-title"), None);
    assert_eq!(exchange.etag().as_deref(), Some("\"ok\""));
    assert_eq!(
        exchange.head,
        answer.as_bytes(),
        "the archive gets what came"
    );
    assert_eq!(
        cause_of("HTTP/1.1 200 \u{1b}[31mOK\r\n\r\n").await,
        "protocol"
    );
    assert_eq!(cause_of("HTTP/1.1 2\0\0 OK\r\n\r\n").await, "protocol");
}

#[tokio::test]
async fn interim_responses_pass_but_do_not_flood() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let good = format!("HTTP/1.1 100 Continue\r\n\r\n{interim}{OK}Content-Length: 2\r\n\r\nhi");
    let exchange = Server::saying(good).get().await.unwrap();
    assert_eq!((exchange.status, &exchange.body[..]), (200, &b"hi"[..]));
    let flood = Server::start(move |stream, _| {
        read_request(stream);
        while say(stream, interim.as_bytes()) {}
    });
    assert_eq!(flood.get().await.unwrap_err().cause(), "protocol");
    assert_eq!(
        cause_of("HTTP/1.1 101 Switching Protocols\r\n\r\n").await,
        "protocol"
    );
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    for garbage in [
        "<html>HTTP/0.9</html>",
        "SSH-2.0-OpenSSH\r\n",
        "\0\0\0\0",
        "HTTP/2.0 200 OK\r\n\r\n",
    ] {
        assert_eq!(cause_of(garbage).await, "protocol", "{garbage:?}");
    }
    let fields = "Transfer-Encoding: gzip\r\n\r\n";
    assert_eq!(cause_of(format!("{OK}{fields}")).await, "protocol");
}

#[tokio::test]
async fn hanging_up_before_the_body_is_a_failure() {
    for answer in [
        "",
        "HT",
        "HTTP/1.1 200 OK\r\nContent-",
        "HTTP/1.1 200 OK\r\nA: b\r\n",
    ] {
        assert_eq!(cause_of(answer).await, "disconnected", "{answer:?}");
    }
}

#[tokio::test]
async fn a_second_response_is_nobodys_answer() {
    let split = format!("{OK}Content-Length: 2\r\n\r\nhi{OK}Content-Length: 6\r\n\r\npoison");
    let server = Server::saying(split);
    let together = fetcher(|_| {});
    for _ in 0..3 {
        assert_eq!(&server.get_by(&together).await.unwrap().body[..], b"hi");
    }
    // the same, said while the connection rests
    let server = Server::start(|stream, _| {
        read_request(stream);
        say(
            stream,
            format!("{OK}Content-Length: 2\r\n\r\nhi").as_bytes(),
        );
        std::thread::sleep(Duration::from_millis(100));
        say(
            stream,
            format!("{OK}Content-Length: 6\r\n\r\npoison").as_bytes(),
        );
        read_request(stream);
    });
    let apart = fetcher(|_| {});
    for _ in 0..3 {
        assert_eq!(&server.get_by(&apart).await.unwrap().body[..], b"hi");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn no_connection_to_an_address_that_is_not_public() {
    let server = Server::saying(format!("{OK}Content-Length: 0\r\n\r\n"));
    let careful = fetcher(|options| options.addresses.allowed.clear());
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "[::]",
    ] {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        let address = url
            .host_str()
            .unwrap()
            .trim_matches(['[', ']'])
            .parse()
            .unwrap();
        let error = careful
            .fetch(Request::get(&url, address))
            .await
            .unwrap_err();
        assert_eq!(error, FetchError::AddressRefused(address), "{host}");
        assert_eq!(
            careful.resolve(url.host_str().unwrap()).await.unwrap_err(),
            error
        );
    }
    // a name that looks public does not help
    let url = Url::parse(&format!("http://example.org:{port}/")).unwrap();
    let error = careful
        .fetch(Request::get(&url, LOOPBACK))
        .await
        .unwrap_err();
    assert_eq!(error, FetchError::AddressRefused(LOOPBACK));
    assert_eq!(server.connections(), 0);
}
