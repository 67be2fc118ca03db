//! How many URLs a second go from a commit at one robot to a commit at another through one nats-server.
//! `cargo bench -p dock --profile dist -- "$(scripts/get-nats-server)" [stores|robots] [always|2m]`; rows for
//! `experiments/fleet`.
//!
//! `stores`: what the path costs by itself. One store commits URLs for another, they are published, delivered, admitted to the
//! other store, committed there, and acknowledged. `robots`: the same between two whole robots, each a process of its own, with
//! the protocol's custody, logs and receipts, scope, and keys of URLs. The clock runs from before the first URL is found until
//! the last one is in the tables of the receiver's store, where it comes after it is on disk; `settled` is when the sender
//! had receipts for all.

mod cores;
mod robots;
mod server;
mod stores;

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let Some(program) = words.next() else {
        // `cargo test --benches` asks for nothing
        eprintln!("usage: cargo bench -p dock -- \"$(scripts/get-nats-server)\"");
        return;
    };
    if program == "receive" {
        let port = words.next().and_then(|word| word.parse().ok());
        return robots::receive(port.expect("a port"));
    }
    println!(
        "path,sync_interval,replicas,urls,seconds,urls_per_second,settled,sender_us,receiver_us,server_us,other_cores"
    );
    let wanted: Vec<String> = words.collect();
    let all = [
        ("always", "stores"),
        ("always", "robots"),
        ("2m", "stores"),
        ("2m", "robots"),
    ];
    for (sync, path) in all {
        if !wanted.iter().all(|word| [sync, path].contains(&&**word)) {
            continue;
        }
        let server = server::Server::start(&program, sync);
        let measured = match path {
            "stores" => stores::run(&server),
            _ => robots::run(&server),
        };
        report(path, sync, &measured);
    }
}

/// What a run found.
struct Measured {
    urls: u64,
    seconds: f64,
    /// When the sender had receipts for all.
    settled: Option<f64>,
    /// Seconds of processor time of the sender, the receiver and the server, and of the whole machine, until the last
    /// URL was committed.
    cores: Option<([f64; 3], f64)>,
}

fn report(path: &str, sync: &str, measured: &Measured) {
    let Measured {
        urls,
        seconds,
        settled,
        cores,
    } = measured;
    let settled = settled.map_or_else(String::new, |settled| format!("{settled:.2}"));
    let micros = |part: f64| format!("{:.2}", part * 1e6 / *urls as f64);
    let cores = cores.map_or_else(
        || ",,,".to_owned(),
        |(ours, all)| {
            let others = (all - ours.iter().sum::<f64>()) / seconds;
            format!("{},{others:.2}", ours.map(micros).join(","))
        },
    );
    let rate = *urls as f64 / seconds;
    println!("{path},{sync},1,{urls},{seconds:.2},{rate:.0},{settled},{cores}");
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
