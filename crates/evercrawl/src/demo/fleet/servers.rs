//! The nats-servers of the demo: one, or a cluster of three.

mod forming;

use crate::bad_input::BadInput;
use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where clients, other servers and onlookers reach a server.
#[derive(Clone, Copy)]
struct Ports {
    clients: u16,
    routes: u16,
    looks: u16,
}

pub struct Servers {
    program: PathBuf,
    directory: PathBuf,
    /// How robots reach them: this machine, or the addresses of a namespace.
    host: String,
    ports: Vec<Ports>,
    children: Vec<Option<Child>>,
}

impl Servers {
    pub fn start(directory: &Path, count: usize, host: Option<&str>) -> Result<Self> {
        let ports = free_ports(3 * count)?;
        let ports: Vec<Ports> = (ports.chunks(3))
            .map(|three| Ports {
                clients: three[0],
                routes: three[1],
                looks: three[2],
            })
            .collect();
        let mut servers = Self {
            program: program()?,
            directory: directory.to_owned(),
            host: host.unwrap_or("127.0.0.1").to_owned(),
            children: ports.iter().map(|_| None).collect(),
            ports,
        };
        (0..count).try_for_each(|at| servers.run(at))?;
        servers.await_all()?;
        servers.form()?;
        Ok(servers)
    }

    /// With commas between them; through another address of theirs, if one is named.
    pub fn urls(&self, host: Option<&str>) -> String {
        let host = host.unwrap_or(&self.host);
        let urls = self.ports.iter();
        let urls = urls.map(|ports| format!("nats://{host}:{}", ports.clients));
        urls.collect::<Vec<_>>().join(",")
    }

    pub fn count(&self) -> usize {
        self.ports.len()
    }

    /// Starts a server that does not run.
    pub fn run(&mut self, at: usize) -> Result<()> {
        let conf = self.directory.join(format!("nats-{at}.conf"));
        let Ports {
            clients,
            routes,
            looks,
        } = self.ports[at];
        let everywhere = if self.host == "127.0.0.1" {
            "127.0.0.1"
        } else {
            "0.0.0.0"
        };
        let mut text = format!(
            "server_name: s{at}\nlisten: {everywhere}:{clients}\nhttp: {everywhere}:{looks}\nmax_payload: 8MB\n\
             jetstream {{ store_dir: \"{}\", sync_interval: always, max_file: 2GB }}\n",
            self.store(at).display()
        );
        if self.count() > 1 {
            let urls = self
                .ports
                .iter()
                .map(|p| format!("nats://127.0.0.1:{}", p.routes));
            let urls = urls.collect::<Vec<_>>().join(", ");
            let cluster =
                format!("cluster {{ name: demo, listen: 127.0.0.1:{routes}, routes: [{urls}] }}\n");
            text.push_str(&cluster);
        }
        std::fs::write(&conf, text)?;
        let started = Command::new(&self.program)
            .arg("-c")
            .arg(conf)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let started = started.with_context(|| format!("{}", self.program.display()))?;
        self.children[at] = Some(started);
        Ok(())
    }

    pub fn run_all(&mut self) -> Result<()> {
        for at in 0..self.count() {
            if self.children[at].is_none() {
                self.run(at)?;
            }
        }
        self.await_all()
    }

    /// As `kill -9`.
    pub fn kill(&mut self, at: usize) -> Result<()> {
        if let Some(mut child) = self.children[at].take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    pub fn kill_all(&mut self) -> Result<()> {
        (0..self.count()).try_for_each(|at| self.kill(at))
    }

    /// All that they stored.
    pub fn wipe(&self) -> Result<()> {
        for at in 0..self.count() {
            std::fs::remove_dir_all(self.store(at))?;
        }
        Ok(())
    }

    fn store(&self, at: usize) -> PathBuf {
        self.directory.join(format!("jetstream-{at}"))
    }

    /// Which of them leads a stream, as they say themselves.
    pub fn leader(&self, stream: &str) -> Option<usize> {
        let told = (0..self.count()).find_map(|at| {
            let answer = self.look(at, "/jsz?accounts=true&streams=true").ok()?;
            let accounts = answer["account_details"].as_array()?.clone();
            let details = accounts.into_iter().flat_map(|account| {
                let streams = account["stream_detail"].as_array().cloned();
                streams.unwrap_or_default()
            });
            let mut found = details.filter(|detail| detail["name"] == stream);
            found.find_map(|detail| detail["cluster"]["leader"].as_str().map(str::to_owned))
        })?;
        told.strip_prefix('s')?.parse().ok()
    }

    fn look(&self, at: usize, path: &str) -> Result<Value> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.ports[at].looks))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: nats\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        Ok(serde_json::from_str(body)?)
    }

    fn await_all(&self) -> Result<()> {
        for ports in &self.ports {
            let mut tries = 0;
            while TcpStream::connect((self.host.as_str(), ports.clients)).is_err() {
                tries += 1;
                if tries > 200 {
                    let port = ports.clients;
                    return Err(anyhow!("nats-server does not listen on port {port}"));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Free at this moment, and all different.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<_, _>>()?;
    let ports = listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.port()));
    ports.collect()
}

/// A nats-server on this machine.
fn program() -> Result<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| Path::new(&home).join(".cache"), PathBuf::from);
    let named = std::env::var_os("EVERCRAWL_NATS_SERVER").map(PathBuf::from);
    let fetched = cache.join("evercrawl/nats-server");
    let runs = |program: &PathBuf| {
        let version = Command::new(program).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    // whoever names one wants no other
    if let Some(named) = named {
        if runs(&named) {
            return Ok(named);
        }
        let text = format!(
            "EVERCRAWL_NATS_SERVER = {}: expected a nats-server that answers to --version",
            named.display()
        );
        return Err(BadInput(text).into());
    }
    let candidates = ["nats-server".into(), fetched];
    candidates.into_iter().find(runs).ok_or_else(|| {
        BadInput(
            "there is no nats-server on this machine. scripts/get-nats-server fetches one (Debian, Ubuntu); \
             otherwise see https://nats.io/download, and put it on the PATH or set EVERCRAWL_NATS_SERVER to it"
                .into(),
        )
        .into()
    })
}
