//! Starts real servers and ends them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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
        let directory = tempfile::tempdir().expect("a directory");
        let ports = free_ports(2 * servers);
        let (ports, routes) = ports.split_at(servers);
        for (at, port) in ports.iter().enumerate() {
            let text = configuration(directory.path(), at, *port, routes);
            let path = directory.path().join(format!("{at}.conf"));
            std::fs::write(path, text).expect("a configuration");
        }
        let mut cluster = Self {
            program,
            directory,
            ports: ports.to_vec(),
            children: (0..servers).map(|_| None).collect(),
        };
        (0..servers).for_each(|at| cluster.run(at));
        for port in &cluster.ports {
            listens(*port).await;
        }
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
        (0..self.children.len()).for_each(|at| self.kill(at));
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

async fn listens(port: u16) {
    for _ in 0..100 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_ok()
        {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
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
        let cluster =
            format!("cluster {{ name: c, listen: 127.0.0.1:{port}, routes: [{urls}] }}\n");
        text.push_str(&cluster);
    }
    text
}
