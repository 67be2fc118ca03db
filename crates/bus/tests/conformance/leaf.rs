//! A site behind a leaf node, with the sample configurations: its robots reach the hub's streams through it, and find
//! everything again after the hub was away.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bus::access::{Access, Credentials};
use bus::layout::Layout;
use bus::names::Names;
use bus::nats::Nats;
use bus::{Bus, BusError};
use fleet::io::Outcome;
use nkeys::KeyPair;

use crate::rig::{GROUPS, layout, limited, prepare};
use crate::servers::{free_ports, listens, program};
use crate::suite::{next_message, number, numbered, robot};

/// A server that is ended with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A hub and the leaf node of a site, as in `packaging/nats`.
struct Site {
    directory: tempfile::TempDir,
    environment: Vec<(&'static str, String)>,
    program: std::path::PathBuf,
    users: [KeyPair; 3],
    ports: [u16; 3],
    /// The leaf node, and the hub unless it is away.
    running: Vec<Server>,
}

impl Site {
    async fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("skipped: no nats-server; scripts/get-nats-server fetches one");
            return None;
        };
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/nats");
        for name in ["server.conf", "hub.conf", "leaf.conf", "roles.conf"] {
            std::fs::copy(samples.join(name), at(name)).expect("a sample");
        }
        let main = "include \"server.conf\"\ninclude \"hub.conf\"\n";
        std::fs::write(at("main.conf"), main).expect("written");
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]);
        let made = made.expect("a certificate");
        std::fs::write(at("cert.pem"), made.cert.pem()).expect("written");
        std::fs::write(at("key.pem"), made.signing_key.serialize_pem()).expect("written");
        let users: [KeyPair; 3] = std::array::from_fn(|_| KeyPair::new_user());
        let leaf = KeyPair::new_user();
        let ports = free_ports(3);
        let ports = [ports[0], ports[1], ports[2]];
        let path = |name: &str| at(name).display().to_string();
        let environment = vec![
            ("NATS_STORE", path("store")),
            ("NATS_CERTIFICATE", path("cert.pem")),
            ("NATS_KEY", path("key.pem")),
            ("NATS_AUTHORITY", path("cert.pem")),
            ("NATS_LEAF_LISTEN", format!("127.0.0.1:{}", ports[1])),
            ("NATS_HUB", format!("tls://127.0.0.1:{}", ports[1])),
            ("ROBOT_NKEY", users[0].public_key()),
            ("PARTITIONER_NKEY", users[1].public_key()),
            ("OPERATOR_NKEY", users[2].public_key()),
            ("LEAF_NKEY", leaf.public_key()),
            ("LEAF_SEED", leaf.seed().expect("a seed")),
        ];
        let mut site = Self {
            directory,
            environment,
            program,
            users,
            ports,
            running: Vec::new(),
        };
        let hub = site.run("main.conf", "hub", ports[0]).await;
        let leaf = site.run("leaf.conf", "braga", ports[2]).await;
        site.running = vec![leaf, hub];
        Some(site)
    }

    async fn run(&self, conf: &str, name: &str, port: u16) -> Server {
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(self.directory.path().join(conf))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("NATS_NAME", name)
            .env("NATS_LISTEN", format!("127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let server = Server(child.expect("nats-server starts"));
        listens(port).await;
        server
    }

    async fn connect(&self, user: usize, port: u16) -> Result<Nats, BusError> {
        let mut access = Access::new(&format!("tls://127.0.0.1:{port}")).expect("an address");
        access.authority = Some(self.directory.path().join("cert.pem"));
        access.require_tls = true;
        access.inbox = Some("web.r5".to_owned());
        let file = self.directory.path().join("seed");
        std::fs::write(&file, self.users[user].seed().expect("a seed")).expect("written");
        access.credentials = Credentials::from_file(&file).expect("a seed");
        let layout = Layout {
            patience: Duration::from_secs(1),
            ..layout(1)
        };
        let names = Names::new("web").expect("a good name");
        Nats::connect(&access, names, layout, GROUPS[1]).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_behind_a_leaf_node_loses_nothing_while_its_hub_is_away() {
    let Some(mut site) = Site::start().await else {
        return;
    };
    let test = async {
        let operator = site.connect(2, site.ports[0]).await.expect("a connection");
        prepare(&operator).await;
        let here = site.connect(0, site.ports[2]).await.expect("at the leaf");
        // the leaf may still be on its way to the hub
        let mut sent = here.publish(robot(1, 5), &numbered(1)).await;
        let began = Instant::now();
        while !matches!(sent, Outcome::Done(_)) && began.elapsed() < Duration::from_secs(10) {
            tokio::time::sleep(Duration::from_millis(200)).await;
            sent = here.publish(robot(1, 5), &numbered(1)).await;
        }
        assert!(matches!(sent, Outcome::Done(_)), "{sent:?}");
        // the stream is at the hub, and is read from there and from the site
        let mut there = operator.consume(robot(1, 5)).await.expect("a reader");
        let delivered = next_message(&mut there).await;
        assert_eq!(number(&delivered.message), 1);
        delivered.acknowledge();
        drop(there);
        let mut arrivals = here.consume(robot(1, 5)).await.expect("a reader");

        drop(site.running.pop());
        let lost = here.publish(robot(1, 5), &numbered(2)).await;
        assert!(
            !matches!(lost, Outcome::Done(_)),
            "nobody may say that it is kept: {lost:?}"
        );
        let hub = site.run("main.conf", "hub", site.ports[0]).await;
        site.running.push(hub);
        let back = Instant::now();
        while !matches!(
            here.publish(robot(1, 5), &numbered(2)).await,
            Outcome::Done(_)
        ) {
            assert!(back.elapsed() < Duration::from_secs(20), "not back in time");
        }
        println!("written {:.1?} after the hub's return", back.elapsed());
        // sent twice perhaps, and the first may come again; delivered for certain
        loop {
            let delivered = next_message(&mut arrivals).await;
            let number = number(&delivered.message);
            delivered.acknowledge();
            if number == 2 {
                break;
            }
        }
        println!("delivered {:.1?} after the hub's return", back.elapsed());
    };
    limited(90, test).await;
}
