//! The server: a small HTTP/1.1 responder over real sockets. Written by hand, since it has to send
//! what a proper server library refuses to send.

use super::{Site, clock::Clock, delivery::Delivery, http::Request, record::Record};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

/// A longer head is refused.
const LONGEST_HEAD: usize = 64 * 1024;
/// How often a port that is free on all addresses is looked for.
const ATTEMPTS: u32 = 20;

/// How to serve. The default: on a port that is free, with a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    /// The port on every address; zero for one that is free.
    pub port: u16,
    /// Whether to keep no record.
    pub unrecorded: bool,
    /// How much longer an answer takes from a client's place to a server's; nothing if all are near.
    pub distance: Option<Distance>,
}

/// The time to and fro between the address of a client and that of a server.
pub type Distance = fn(Ipv4Addr, Ipv4Addr) -> Duration;

/// A server that runs, on a thread of its own, until it is stopped or dropped.
#[derive(Debug)]
pub struct Running {
    /// The port on every address.
    pub port: u16,
    /// The address of each host, for a resolver.
    pub addresses: BTreeMap<String, IpAddr>,
    /// What was requested.
    pub record: Record,
    /// Its clock.
    pub clock: Clock,
    base: Base,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Microseconds since the epoch of the clock, by a clock that never goes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    started: Instant,
    micros_at_start: u64,
}

impl Base {
    pub fn now(&self) -> u64 {
        self.micros_at_start + self.started.elapsed().as_micros() as u64
    }
}

struct Shared<S> {
    site: Arc<S>,
    clock: Clock,
    base: Base,
    port: u16,
    record: Option<Record>,
    distance: Option<Distance>,
}

impl Server {
    /// Serves on a free port, with a record.
    pub fn start<S: Site>(site: Arc<S>, clock: Clock) -> io::Result<Running> {
        Self::default().serve(site, clock)
    }

    /// Serves.
    pub fn serve<S: Site>(self, site: Arc<S>, clock: Clock) -> io::Result<Running> {
        let hosts = site.hosts();
        let addresses: BTreeSet<Ipv4Addr> = hosts.iter().map(|&(_, address)| address).collect();
        let (port, listeners) = listen(&addresses, self.port)?;
        let since = SystemTime::now().duration_since(clock.epoch);
        let base = Base {
            started: Instant::now(),
            micros_at_start: since.unwrap_or_default().as_micros() as u64,
        };
        let record = Record::default();
        let shared = Arc::new(Shared {
            site,
            clock,
            base,
            port,
            record: (!self.unrecorded).then(|| record.clone()),
            distance: self.distance,
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("demo-web".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    for listener in listeners {
                        match TcpListener::from_std(listener) {
                            Ok(listener) => drop(tokio::spawn(accept(listener, shared.clone()))),
                            Err(error) => eprintln!("demo web: {error}"),
                        }
                    }
                    // a sender that is dropped stops the server too
                    let _ = stopped.await;
                });
            })?;
        Ok(Running {
            port,
            addresses: hosts
                .into_iter()
                .map(|(name, address)| (name, IpAddr::V4(address)))
                .collect(),
            record,
            clock,
            base,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Running {
    /// Web time now, in days.
    pub fn now(&self) -> f64 {
        self.clock.web(self.base.now())
    }

    /// Stops the server; open connections are cut.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // a thread that panicked has said so already
            let _ = thread.join();
        }
    }
}

/// Listens on the same port of all addresses.
fn listen(
    addresses: &BTreeSet<Ipv4Addr>,
    wanted: u16,
) -> io::Result<(u16, Vec<std::net::TcpListener>)> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "there is no host to serve");
    for _ in 0..ATTEMPTS {
        let mut port = wanted;
        let bound: io::Result<Vec<_>> = addresses
            .iter()
            .map(|&address| {
                let listener = std::net::TcpListener::bind(SocketAddr::from((address, port)))?;
                listener.set_nonblocking(true)?;
                port = listener.local_addr()?.port();
                Ok(listener)
            })
            .collect();
        match bound {
            Ok(listeners) if !listeners.is_empty() => return Ok((port, listeners)),
            Ok(_) => break,
            Err(error) => last = error,
        }
        if wanted != 0 {
            break;
        }
    }
    Err(last)
}

async fn accept<S: Site>(listener: TcpListener, shared: Arc<Shared<S>>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let shared = Arc::clone(&shared);
                // a client that breaks off is its own affair
                tokio::spawn(async move { drop(converse(stream, &shared).await) });
            }
            // too many open files: others will be closed
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse<S: Site>(mut stream: TcpStream, shared: &Shared<S>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let plain = |address: SocketAddr| match address.ip() {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    let (client, address) = (plain(stream.peer_addr()?), plain(stream.local_addr()?));
    let far = shared.distance.map(|distance| distance(client, address));
    let mut input = Vec::with_capacity(4096);
    let mut output = Vec::new();
    while let Some(length) = read_head(&mut stream, &mut input).await? {
        let request = std::str::from_utf8(&input[..length])
            .ok()
            .and_then(|head| Request::parse(head, shared.port));
        // what cannot be read is nobody's, but it is recorded
        let request = request.unwrap_or(Request {
            keep_alive: false,
            ..Request::get("", "")
        });
        let ends = (client, address);
        let mut delivery = Delivery::begin(shared.record.as_ref(), shared.base, &request, ends);
        let at = shared.clock.web(delivery.start);
        let mut response = shared.site.respond(&request, at, &shared.clock);
        response.wait += far.unwrap_or_default();
        let keeps = response.keeps_connection() && request.keep_alive;
        let delivered = delivery
            .send(&mut stream, &response, &request, &mut output)
            .await;
        delivery.end(delivered.is_ok());
        delivered?;
        if !keeps {
            return stream.shutdown().await;
        }
        input.drain(..length + 4);
    }
    Ok(())
}

/// Reads until the input holds a head; says how long it is without its empty line. `None` at the
/// end of the connection.
async fn read_head(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let mut seen = 0;
    loop {
        let from = usize::max(seen, 3) - 3;
        if let Some(at) = input[from..].windows(4).position(|end| end == b"\r\n\r\n") {
            return Ok(Some(from + at));
        }
        seen = input.len();
        if seen > LONGEST_HEAD || stream.read_buf(input).await? == 0 {
            return Ok(None);
        }
    }
}
