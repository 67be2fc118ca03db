//! How many URLs a second go from a commit at one robot to a commit at another through one nats-server.
//! `cargo bench -p dock -- "$(scripts/get-nats-server)"`; rows for `experiments/fleet`.
//!
//! `stores`: what the path costs by itself. One store commits URLs for another, they are published, delivered, admitted to the
//! other store, committed there, and acknowledged. `robots`: the same between two whole robots, with the protocol's
//! custody, logs and receipts, scope, and keys of URLs.

mod cores;
mod robots;
mod server;
mod stores;

fn main() {
    let Some(program) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else {
        // `cargo test --benches` asks for nothing
        eprintln!("usage: cargo bench -p dock -- \"$(scripts/get-nats-server)\"");
        return;
    };
    println!(
        "path,sync_interval,replicas,urls,seconds,urls_per_second,sender_us,receiver_us,server_us"
    );
    for sync in ["always", "2m"] {
        let server = server::Server::start(&program, sync);
        report("stores", sync, &stores::run(&server));
        let server = server::Server::start(&program, sync);
        report("robots", sync, &robots::run(&server));
    }
}

/// What a run found.
struct Measured {
    urls: u64,
    seconds: f64,
    /// Seconds of processor time of the sender, the receiver and the server, until the last URL was committed.
    cores: Option<[f64; 3]>,
}

fn report(path: &str, sync: &str, measured: &Measured) {
    let Measured {
        urls,
        seconds,
        cores,
    } = measured;
    let micros = |part: f64| format!("{:.2}", part * 1e6 / *urls as f64);
    let cores = cores.map_or_else(<[String; 3]>::default, |cores| cores.map(micros));
    let rate = *urls as f64 / seconds;
    println!(
        "{path},{sync},1,{urls},{seconds:.2},{rate:.0},{}",
        cores.join(",")
    );
}

/// The `n`th URL of an endless list, about 80 bytes long: its host, its server, and itself.
fn url(n: u64) -> (String, std::net::IpAddr, String) {
    let host = n % 500;
    let name = format!("www.host-{host:03}.example");
    let address = [127, 9, (host / 250) as u8, (host % 250) as u8 + 1];
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let url = format!("http://{name}/articles/{mixed:06x}/some-title-of-usual-length-{n}.html");
    (name, address.into(), url)
}
