//! Starts real servers and ends them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Servers that are ended with the test.
pub struct Cluster {
    program: PathBuf,
    directory: TempDir,
    ports: Vec<u16>,
    children: Vec<Option<Child>>,
}

impl Cluster {
    /// So many servers; nothing, and a word about it, if the machine has no nats-server.
    pub async fn start(servers: usize) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!(
                "skipped: no nats-server of version 2.10.23 or newer; scripts/get-nats-server fetches one"
            );
            return None;
        };
        for _ in 0..5 {
            let mut cluster = Self::new(program.clone(), servers);
            (0..servers).for_each(|at| cluster.run(at));
            if cluster.is_up().await {
                return Some(cluster);
            }
        }
        panic!("nats-server does not stay");
    }

    fn new(program: PathBuf, servers: usize) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let ports = free_ports(2 * servers);
        let (ports, routes) = ports.split_at(servers);
        for (at, port) in ports.iter().enumerate() {
            let text = configuration(directory.path(), at, *port, routes);
            let path = directory.path().join(format!("{at}.conf"));
            std::fs::write(path, text).expect("a configuration");
        }
        Self {
            program,
            directory,
            ports: ports.to_vec(),
            children: (0..servers).map(|_| None).collect(),
        }
    }

    /// Whether all servers run and work together: somebody else may have taken a port since it was found free, and
    /// now and then a leader that was elected before the last server came never counts that one.
    async fn is_up(&mut self) -> bool {
        for port in &self.ports {
            listens(*port).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut children = self.children.iter_mut().flatten();
        let dead = children.position(|child| !matches!(child.try_wait(), Ok(None)));
        if let Some(at) = dead {
            let log = std::fs::read_to_string(self.directory.path().join(format!("{at}.log")));
            eprintln!("a server has ended: {}", log.unwrap_or_default());
        }
        dead.is_none() && self.places_streams().await
    }

    /// Whether a stream finds a place on all of them.
    async fn places_streams(&self) -> bool {
        let client = async_nats::connect(self.list()).await;
        let jetstream = async_nats::jetstream::new(client.expect("a connection"));
        let stream = async_nats::jetstream::stream::Config {
            name: "READY".to_owned(),
            num_replicas: self.ports.len(),
            ..Default::default()
        };
        let begun = Instant::now();
        loop {
            match jetstream.create_stream(&stream).await {
                Ok(_) => return jetstream.delete_stream("READY").await.is_ok(),
                Err(error) if begun.elapsed() > Duration::from_secs(15) => {
                    eprintln!("the servers do not work together: {error}");
                    return false;
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(250)).await,
            }
        }
    }

    /// A server with a configuration that reads its environment.
    pub async fn with(sample: PathBuf, environment: &[(&str, String)], port: u16) -> Option<Self> {
        let program = program().or_else(|| {
            eprintln!("skipped: no nats-server; scripts/get-nats-server fetches one");
            None
        })?;
        let child = Command::new(&program)
            .arg("-c")
            .arg(sample)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let cluster = Self {
            program,
            directory: tempfile::tempdir().expect("a directory"),
            ports: vec![port],
            children: vec![Some(child.expect("nats-server starts"))],
        };
        listens(port).await;
        Some(cluster)
    }

    /// Starts a server that does not run.
    pub fn run(&mut self, at: usize) {
        let log = self.directory.path().join(format!("{at}.log"));
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(self.directory.path().join(format!("{at}.conf")))
            .arg("-l")
            .arg(log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.children[at] = Some(child.expect("nats-server starts"));
    }

    /// As `kill -9`.
    pub fn kill(&mut self, at: usize) {
        if let Some(mut child) = self.children[at].take() {
            child.kill().expect("it ran");
            child.wait().expect("it ended");
        }
    }

    /// All that a server that does not run has stored.
    pub fn wipe(&mut self, at: usize) {
        let store = self.directory.path().join(format!("store-{at}"));
        std::fs::remove_dir_all(store).expect("it had stored something");
    }

    /// With commas between them.
    pub fn addresses(&self) -> String {
        self.list().join(",")
    }

    pub fn list(&self) -> Vec<String> {
        let address = |port| format!("nats://127.0.0.1:{port}");
        self.ports.iter().map(address).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for at in 0..self.children.len() {
            self.kill(at);
            let log = std::fs::read_to_string(self.directory.path().join(format!("{at}.log")));
            if let Some(log) = log.ok().filter(|_| std::thread::panicking()) {
                eprintln!("server {at}:\n{log}");
            }
        }
    }
}

/// A server that is new enough: named by the environment, installed, or fetched by
/// `scripts/get-nats-server`.
pub fn program() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache"),
        PathBuf::from,
    );
    let named = std::env::var_os("EVERCRAWL_NATS_SERVER").map(PathBuf::from);
    let candidates = [
        named,
        Some(PathBuf::from("nats-server")),
        Some(cache.join("evercrawl/nats-server")),
    ];
    candidates.into_iter().flatten().find(|program| {
        let output = Command::new(program).arg("--version").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let numbers: Option<Vec<u32>> = text.ok().and_then(|text| {
            let (_, version) = text.trim().split_once(" v")?;
            version
                .split('.')
                .map(|number| number.parse().ok())
                .collect()
        });
        numbers.is_some_and(|numbers| numbers >= vec![2, 10, 23])
    })
}

pub fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
        .collect();
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    listeners.iter().map(port).collect()
}

pub async fn listens(port: u16) {
    for _ in 0..100 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_ok()
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nats-server does not listen");
}

fn configuration(directory: &Path, at: usize, port: u16, routes: &[u16]) -> String {
    let store = directory.join(format!("store-{at}"));
    let mut text = format!(
        "server_name: s{at}\nlisten: 127.0.0.1:{port}\nmax_payload: 8MB\n\
         jetstream {{ store_dir: \"{}\", sync_interval: always, max_mem: 64MB, max_file: 8GB }}\n",
        store.display()
    );
    if routes.len() > 1 {
        let urls: Vec<String> =
            (routes.iter().map(|port| format!("nats://127.0.0.1:{port}"))).collect();
        let (port, urls) = (routes[at], urls.join(", "));
        let cluster = format!(
            "cluster {{ name: c{}, listen: 127.0.0.1:{port}, routes: [{urls}] }}\n",
            routes[0]
        );
        text.push_str(&cluster);
    }
    text
}
