//! How many URLs a second go from one robot to another through one server: published, stored,
//! delivered, read and acknowledged. `cargo bench -p bus`; rows for `experiments/fleet`.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bus::access::Access;
use bus::layout::Layout;
use bus::names::Names;
use bus::nats::Nats;
use bus::{Arrival, Bus};
use fleet::identity::{GroupId, Member, RobotId, Session};
use fleet::io::Outcome;
use fleet::parcel::{Batch, Cargo, Message, Origin, Parcel, Subject, To};
use fleet::plan::Version;
use fleet::wire::encode;

/// URLs in a message: as many as the wire's limits allow.
const BATCH: u64 = 1_000;
/// Messages of a run.
const MESSAGES: u64 = 600;
/// Publications under way at a time.
const AT_ONCE: usize = 8;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn batch(number: u64, to: Subject) -> Message {
    let urls = (0..BATCH).map(|at| {
        let name = format!("www.host-{}.example", (number * BATCH + at) % 977);
        let path = format!("/articles/2026/some-title-of-usual-length-{number}-{at}.html");
        let mut parcel = Parcel::new(name.into(), path.into());
        parcel.server = Some([192, 0, 2, (at % 250) as u8].into());
        (at, Cargo::Url(parcel))
    });
    Message::Batch(Batch {
        origin: Origin {
            session: Session {
                robot: RobotId(1),
                incarnation: 1,
            },
            reply: to,
        },
        hops: 0,
        by: (to.group, Version::default()),
        entries: urls.collect(),
    })
}

async fn run(program: &str, sync: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let text = format!(
        "listen: 127.0.0.1:{port}\nmax_payload: 8MB\njetstream {{ store_dir: \"{}\", sync_interval: {sync} }}\n",
        directory.path().display()
    );
    let file = directory.path().join("server.conf");
    std::fs::write(&file, text).expect("written");
    let mut command = Command::new(program);
    command
        .arg("-c")
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _server = Server(command.spawn().expect("nats-server starts"));
    let access = Access::new(&format!("nats://127.0.0.1:{port}")).expect("an address");
    let layout = Layout {
        replicas: 1,
        // small disks have to do
        key_bytes: 64 << 20,
        queue_bytes: 1 << 30,
        log_bytes: 2 << 30,
        object_bytes: 256 << 20,
        ..Layout::default()
    };
    let connect = || {
        let names = Names::new("web").expect("a name");
        Nats::connect(&access, names, layout.clone(), GroupId(0))
    };
    let mut sender = connect().await;
    for _ in 0..50 {
        if sender.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        sender = connect().await;
    }
    let sender = sender.expect("a connection");
    let receiver = connect().await.expect("a connection");
    sender.init(&[GroupId(0)]).await.expect("streams");
    let to = Subject {
        group: GroupId(0),
        to: To::Member(Member::Robot(RobotId(2))),
    };
    let mut arrivals = receiver.consume(to).await.expect("a reader");
    let bytes = encode(&batch(0, to)).len();
    let begun = Instant::now();
    let turns = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let publishing = tokio::spawn(async move {
        for number in 0..MESSAGES {
            let turn = Arc::clone(&turns).acquire_owned().await.expect("open");
            let sender = sender.clone();
            tokio::spawn(async move {
                let outcome = sender.publish(to, &batch(number, to)).await;
                assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
                drop(turn);
            });
        }
    });
    let mut urls = 0;
    while urls < MESSAGES * BATCH {
        match arrivals.recv().await {
            Some(Arrival::Message(delivered)) => {
                if let Message::Batch(batch) = &delivered.message {
                    urls += batch.entries.len() as u64;
                }
                delivered.acknowledge();
            }
            other => panic!("{other:?}"),
        }
    }
    publishing.await.expect("it ran");
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{sync},1,{BATCH},{bytes},{urls},{seconds:.2},{:.0}",
        urls as f64 / seconds
    );
}

fn main() {
    let Some(program) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else {
        // `cargo test --benches` asks for nothing
        eprintln!("usage: cargo bench -p bus -- \"$(scripts/get-nats-server)\"");
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    println!(
        "sync_interval,replicas,urls_per_message,bytes_per_message,urls,seconds,urls_per_second"
    );
    for sync in ["always", "2m"] {
        runtime.block_on(run(&program, sync));
    }
}
