//! What the demo of a fleet plays on: a web, a nats-server, and robots that are processes of their own.

use super::Fault;
use crate::bad_input::BadInput;
use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use simulation::web::{Clock, Running, Server, Web, WebSpec};
use std::collections::HashSet;
use std::fmt::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Seconds between two requests to a host, or to an address.
pub const DELAY: f64 = 0.3;
/// Seconds that a robot counts as alive after its last sign of life.
pub const LEASE: u64 = 8;
/// Seconds that a dead robot's servers are left alone.
pub const QUIET: u64 = 2;
/// Requests of a robot that has come to work.
const SOME: usize = 10;
/// To and fro between the sites.
const FAR: Duration = Duration::from_millis(40);
const NEAR: Duration = Duration::from_millis(2);

/// Robots, their sites, and the last number of their addresses.
const ROBOTS: [(&str, &str, u8); 3] = [
    ("robot-1", "braga", 11),
    ("robot-2", "braga", 12),
    ("robot-3", "porto", 13),
];

pub struct Stage {
    pub web: Arc<Web>,
    pub running: Running,
    directory: PathBuf,
    nats: Child,
    program: PathBuf,
    port: u16,
    robots: Vec<(&'static str, Child)>,
}

/// Servers with even addresses are near the first site, the others near the second.
fn distance(client: Ipv4Addr, server: Ipv4Addr) -> Duration {
    let is_first = |address: Ipv4Addr| address.octets()[3].is_multiple_of(2);
    let at_first = matches!(client.octets()[3], 11 | 12);
    if is_first(server) == at_first {
        NEAR
    } else {
        FAR
    }
}

impl Stage {
    pub fn build(seed: u64) -> Result<Self> {
        let program = program()?;
        let spec = WebSpec {
            seed,
            hosts: 16,
            largest: 120,
            ..WebSpec::plain()
        };
        let web = Arc::new(Web::new(&spec)?);
        let server = Server {
            distance: Some(distance),
            ..Server::default()
        };
        let running = server
            .serve(web.clone(), Clock::starting_now(1.0))
            .context("the demo's web cannot listen on loopback addresses (127.0.0.0/8)")?;
        let name = format!("evercrawl-fleet-demo-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).with_context(|| format!("{}", directory.display()))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let nats = start_nats(&program, &directory, port)?;
        let stage = Self {
            web,
            running,
            directory,
            nats,
            program,
            port,
            robots: Vec::new(),
        };
        await_listener(port)?;
        stage.found()?;
        Ok(stage)
    }

    fn found(&self) -> Result<()> {
        let mut text = format!(
            "seeds = [\"{}\"]\n[identity]\ncontact = \"https://demo.test/bot\"\n\
             [scope]\nsuffixes = [\"demo.test\"]\n\
             [politeness]\ninterval = {{ rule = \"fixed\", seconds = {DELAY} }}\n\
             [budget]\nrequests_per_second = 0\n[state]\nsynced = true\n\
             [fetch]\nallow_networks = [\"127.0.0.0/8\"]\nconnect_seconds = 1\n\
             first_byte_seconds = 2\nbody_seconds = 2\n[fetch.hosts]\n",
            self.web.seed_url(self.running.port)
        );
        for (name, at) in &self.running.addresses {
            writeln!(text, "\"{name}\" = [\"{at}\"]")?;
        }
        std::fs::write(self.directory.join("crawl.toml"), text)?;
        let nats = format!("nats://127.0.0.1:{}", self.port);
        let (lease, quiet) = (format!("{LEASE}s"), format!("{QUIET}s"));
        self.call(&[
            "init",
            "--nats",
            &nats,
            "--name",
            "demo",
            "-c",
            "crawl.toml",
            "--lease",
            &lease,
            "--quiet",
            &quiet,
            "--storage",
            "536870912",
            "--allow-old",
        ])?;
        self.call(&["group", "add", "braga"])?;
        self.call(&["group", "add", "porto"])?;
        Ok(())
    }

    fn command(&self) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("fleet")
            .current_dir(&self.directory)
            .env_remove("EVERCRAWL_NATS")
            .env_remove("EVERCRAWL_FLEET")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Runs a command of the fleet and returns what it prints.
    fn call(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = self.command()?.args(arguments).output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let what = arguments.first().unwrap_or(&"");
        Err(anyhow!("fleet {what}: {}", errors.trim()))
    }

    pub fn start_robots(&mut self) -> Result<()> {
        ROBOTS
            .iter()
            .try_for_each(|(name, ..)| self.start_robot(name))
    }

    fn start_robot(&mut self, name: &str) -> Result<()> {
        for (name, site, last) in ROBOTS.into_iter().filter(|(known, ..)| *known == name) {
            let local = format!("data = \"{name}\"\n[fetch]\nsource = \"127.0.0.{last}\"\n");
            let file = format!("{name}.toml");
            std::fs::write(self.directory.join(&file), local)?;
            let log = std::fs::File::options()
                .create(true)
                .append(true)
                .open(self.directory.join(format!("{name}.log")))?;
            let mut command = self.command()?;
            command.args(["join", "--as", name, "--in", site, "--once", "-c", &file]);
            let child = command.stdout(Stdio::null()).stderr(log).spawn()?;
            self.robots.retain(|(known, _)| *known != name);
            self.robots.push((name, child));
        }
        Ok(())
    }

    /// How the fleet sees itself; nothing while it does not answer.
    pub fn status(&self) -> Option<Value> {
        serde_json::from_slice(&self.call(&["status", "--json"]).ok()?).ok()
    }

    /// What happened, as the fleet tells it.
    pub fn moves(&self) -> Vec<Value> {
        let told = self
            .call(&["moves", "--json", "--last", "1000"])
            .unwrap_or_default();
        let lines = told.split(|byte| *byte == b'\n');
        lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect()
    }

    /// Something happens.
    pub fn strike(&mut self, fault: Fault, victim: &str) -> Result<()> {
        match fault {
            Fault::Kill | Fault::Disk => {
                for (_, child) in self.robots.iter_mut().filter(|(name, _)| *name == victim) {
                    child.kill()?;
                    child.wait()?;
                }
                if fault == Fault::Disk {
                    std::fs::remove_dir_all(self.directory.join(victim))?;
                }
            }
            Fault::Sleep => self.signal(victim, "-STOP")?,
            Fault::Server | Fault::Wipe => {
                self.nats.kill()?;
                self.nats.wait()?;
                if fault == Fault::Wipe {
                    std::fs::remove_dir_all(self.directory.join("jetstream"))?;
                }
            }
            Fault::None => {}
        }
        Ok(())
    }

    /// All runs again.
    pub fn mend(&mut self, fault: Fault, victim: &str) -> Result<()> {
        match fault {
            Fault::Disk => self.start_robot(victim)?,
            Fault::Sleep => self.signal(victim, "-CONT")?,
            Fault::Server | Fault::Wipe => {
                self.nats = start_nats(&self.program, &self.directory, self.port)?;
                await_listener(self.port)?;
                if fault == Fault::Wipe {
                    self.found()?;
                }
            }
            Fault::Kill | Fault::None => {}
        }
        Ok(())
    }

    fn signal(&self, name: &str, signal: &str) -> Result<()> {
        for (_, child) in self.robots.iter().filter(|(known, _)| *known == name) {
            let pid = child.id().to_string();
            Command::new("kill").args([signal, &pid]).status()?;
        }
        Ok(())
    }

    pub fn all_ended(&mut self) -> Result<bool> {
        let mut all = true;
        for (_, child) in &mut self.robots {
            all &= child.try_wait()?.is_some();
        }
        Ok(all)
    }

    /// Robots that ended with an error that nobody wished for.
    pub fn failed(&mut self, but: &str) -> Result<Vec<String>> {
        let mut failed = Vec::new();
        for (name, child) in &mut self.robots {
            let ended = child.try_wait()?;
            if *name != but && ended.is_some_and(|status| !status.success()) {
                let log = self.directory.join(format!("{name}.log"));
                let log = std::fs::read_to_string(log).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default();
                failed.push(format!("{name}: {last}"));
            }
        }
        Ok(failed)
    }

    /// Whether a robot has a share, by the web's own record.
    pub fn has_worked(&self, name: &str) -> bool {
        let number = ROBOTS.iter().find(|(known, ..)| *known == name);
        let visits = self.running.record.visits();
        let own = visits
            .iter()
            .filter(|visit| number.is_some_and(|(.., last)| visit.client.octets()[3] == *last));
        own.count() >= SOME
    }

    /// Pages that may be fetched.
    pub fn pages(&self) -> usize {
        self.web.pages().iter().filter(|page| page.allowed).count()
    }

    /// Pages that somebody had whole, by the web's own record.
    pub fn pages_had(&self) -> usize {
        let visits = self.running.record.visits();
        let whole = visits.iter().filter(|visit| visit.complete);
        let had: HashSet<usize> = whole
            .filter_map(|visit| self.web.find(&visit.host, &visit.path))
            .collect();
        had.len()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for (_, child) in &mut self.robots {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = self.nats.kill();
        let _ = self.nats.wait();
        // scratch that stays behind harms nobody
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A nats-server on this machine.
fn program() -> Result<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| Path::new(&home).join(".cache"), PathBuf::from);
    let named = std::env::var_os("EVERCRAWL_NATS_SERVER").map(PathBuf::from);
    let fetched = cache.join("evercrawl/nats-server");
    let candidates = [named, Some("nats-server".into()), Some(fetched)];
    let runs = |program: &PathBuf| {
        let version = Command::new(program).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    candidates.into_iter().flatten().find(runs).ok_or_else(|| {
        BadInput(
            "there is no nats-server on this machine. scripts/get-nats-server fetches one (Debian, Ubuntu); \
             otherwise see https://nats.io/download, and put it into the PATH or name it in EVERCRAWL_NATS_SERVER"
                .into(),
        )
        .into()
    })
}

fn start_nats(program: &Path, directory: &Path, port: u16) -> Result<Child> {
    let conf = directory.join("nats.conf");
    let store = directory.join("jetstream");
    let text = format!(
        "server_name: demo\nlisten: 127.0.0.1:{port}\nmax_payload: 8MB\n\
         jetstream {{ store_dir: \"{}\", sync_interval: always, max_file: 2GB }}\n",
        store.display()
    );
    std::fs::write(&conf, text)?;
    let started = Command::new(program)
        .arg("-c")
        .arg(conf)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.with_context(|| format!("{}", program.display()))
}

fn await_listener(port: u16) -> Result<()> {
    for _ in 0..200 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(anyhow!("nats-server does not listen on port {port}"))
}
