//! A server that says whatever a test wants, byte for byte, and a fetcher that may talk to it.

use fetch::{Drip, Exchange, FetchError, Fetcher, Options, Request};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use url::Url;

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const AGENT: &str = "evercrawl-test/0 (+https://example.org/bot)";

pub struct Server {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Runs `talk` for each connection, with its number, on a thread of its own.
    pub fn start(talk: impl Fn(&mut TcpStream, usize) + Send + Sync + 'static) -> Self {
        Self::start_on("127.0.0.1:0", talk).expect("loopback has room")
    }

    pub fn start_on(
        address: &str,
        talk: impl Fn(&mut TcpStream, usize) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let (talk, count) = (Arc::new(talk), connections.clone());
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let talk = talk.clone();
                std::thread::spawn(move || talk(&mut stream, number));
            }
        });
        Ok(Self {
            address,
            connections,
        })
    }

    /// Answers each request of each connection with the same bytes, and keeps the connection.
    pub fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |stream, _| {
            while read_request(stream).is_some() {
                say(stream, &answer);
            }
        })
    }

    /// Answers one request with these bytes and hangs up.
    pub fn saying_once(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |stream, _| {
            read_request(stream);
            say(stream, &answer);
        })
    }

    pub fn url(&self) -> Url {
        Url::parse(&format!("http://{}/", self.address)).expect("a URL")
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub async fn get(&self) -> Result<Exchange, FetchError> {
        self.get_by(&fetcher(|_| {})).await
    }

    pub async fn get_by(&self, fetcher: &Fetcher) -> Result<Exchange, FetchError> {
        let url = self.url();
        fetcher.fetch(Request::get(&url, self.address.ip())).await
    }
}

/// Sends all of it, or as much as the other side takes.
pub fn say(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).is_ok()
}

/// The next request's head.
pub fn read_request(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// Impatient, and allowed on loopback.
pub fn fetcher(change: impl FnOnce(&mut Options)) -> Fetcher {
    let mut options = Options::new(AGENT);
    options.addresses.allowed = vec!["127.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()];
    options.timeouts.connect = Duration::from_secs(5);
    options.timeouts.first_byte = Duration::from_secs(5);
    options.timeouts.body = Duration::from_secs(10);
    options.timeouts.drip = Drip {
        bytes_per_second: 1000,
        window: Duration::from_millis(500),
    };
    change(&mut options);
    Fetcher::new(options).expect("options of a test")
}
