//! What a fetch costs the client: 64 at a time of a 20 KB page over plain HTTP/1.1 on loopback,
//! by this crate and, for comparison, by a bare loop over hyper's client connections.
//!
//! `cargo bench -p fetch --bench fetch [-- REQUESTS]`

use bytes::Bytes;
use fetch::{Fetcher, Options, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use url::Url;

const CONCURRENT: usize = 64;
const PAGE: usize = 20_000;

fn main() {
    let requests = std::env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(100_000);
    let server = start_server();
    let mut options = Options::new("evercrawl-bench/0 (+https://example.org/bot)");
    options.addresses.allowed = vec!["127.0.0.0/8".parse().expect("a network")];
    let fetcher = Rc::new(Fetcher::new(options).expect("options"));
    let url = Rc::new(Url::parse(&format!("http://{server}/page")).expect("a URL"));
    for round in 1..=3 {
        println!("round {round}");
        measure("fetch", requests, |share| {
            let (fetcher, url) = (fetcher.clone(), url.clone());
            async move {
                for _ in 0..share {
                    let request = Request::get(&url, server.ip());
                    let exchange = fetcher.fetch(request).await.expect("a page");
                    assert_eq!(exchange.body.len(), PAGE);
                }
            }
        });
        measure("hyper", requests, |share| by_hyper(server, share));
    }
}

/// Runs `CONCURRENT` tasks on this thread and prints what they cost it.
fn measure<F: Future<Output = ()> + 'static>(
    name: &str,
    requests: usize,
    task: impl Fn(usize) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (begun, cpu) = (Instant::now(), cpu_time());
    let local = LocalSet::new();
    for _ in 0..CONCURRENT {
        local.spawn_local(task(requests / CONCURRENT));
    }
    runtime.block_on(local);
    let done = (requests / CONCURRENT * CONCURRENT) as f64;
    println!(
        "  {name}: {:.0} requests/s, {:.4} CPU ms per request",
        done / begun.elapsed().as_secs_f64(),
        cpu_time().saturating_sub(cpu).as_secs_f64() * 1000.0 / done,
    );
}

/// What this thread has used of a processor, in the kernel too.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let first = text.split(' ').next().and_then(|n| n.parse().ok());
    Duration::from_nanos(first.expect("nanoseconds"))
}

async fn by_hyper(server: SocketAddr, share: usize) {
    let stream = TcpStream::connect(server).await.expect("a connection");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .expect("a handshake");
    tokio::task::spawn_local(connection);
    for _ in 0..share {
        let request = http::Request::get("/page")
            .header("host", "127.0.0.1")
            .header("accept-encoding", "gzip, br, zstd, deflate")
            .body(Empty::<Bytes>::new())
            .expect("a request");
        sender.ready().await.expect("a connection");
        let response = sender.send_request(request).await.expect("a response");
        let body = response.into_body().collect().await.expect("a body");
        assert_eq!(body.to_bytes().len(), PAGE);
    }
}

/// Says the same page to whatever comes, on a thread of its own.
fn start_server() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream));
            }
        });
    });
    address
}

async fn answer(mut stream: TcpStream) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: bench\r\n\
         Content-Type: text/html; charset=utf-8\r\nETag: \"bench\"\r\nContent-Length: {PAGE}\r\n\r\n"
    );
    let page = [head.into_bytes(), vec![b'x'; PAGE]].concat();
    let mut request = [0; 4096];
    // a request of either client comes in one piece
    while stream.read(&mut request).await.is_ok_and(|n| n > 0) {
        if stream.write_all(&page).await.is_err() {
            return;
        }
    }
}
