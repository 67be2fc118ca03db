//! What the demo of a fleet plays on: a web, a nats-server, and robots that are processes of their own.

use super::servers::Servers;
use super::{Fault, Play};
use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use simulation::web::{Clock, Running, Server, Web, WebSpec};
use std::collections::HashSet;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Seconds between two requests to a host, or to an address.
pub const DELAY: f64 = 0.3;
/// Seconds that a dead robot's servers are left alone.
pub const QUIET: u64 = 2;
/// A robot's clock that stands wrong is wrong by so many seconds.
const WRONG: i64 = 600;
/// Microseconds since the last request of a robot that works.
const LATELY: u64 = 4_000_000;
/// Requests of a robot that has come to work.
const SOME: usize = 10;
/// To and fro between the sites.
const FAR: Duration = Duration::from_millis(40);
const NEAR: Duration = Duration::from_millis(2);

/// Blocks of addresses that the hosts are in; the last is near the second site, the others near the first.
const BLOCKS: u8 = 3;

/// Robots, their sites, and the last number of their addresses.
const ROBOTS: [(&str, &str, u8); 3] = [
    ("robot-1", "braga", 11),
    ("robot-2", "braga", 12),
    ("robot-3", "porto", 13),
];

pub struct Stage {
    pub web: Arc<Web>,
    pub running: Running,
    pub play: Play,
    directory: PathBuf,
    servers: Servers,
    robots: Vec<(&'static str, Child)>,
}

/// How far a host is from a robot.
pub fn distance(client: Ipv4Addr, server: Ipv4Addr) -> Duration {
    let is_first = server.octets()[1] < BLOCKS;
    let at_first = matches!(client.octets()[3], 11 | 12);
    if is_first == at_first { NEAR } else { FAR }
}

impl Stage {
    pub fn build(play: Play) -> Result<Self> {
        let spec = WebSpec {
            seed: play.seed,
            hosts: 16,
            largest: play.largest,
            blocks: BLOCKS,
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
        let host = play.hosts.first().map(String::as_str);
        let servers = Servers::start(&directory, play.servers, host)?;
        let stage = Self {
            web,
            running,
            play,
            directory,
            servers,
            robots: Vec::new(),
        };
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
        let nats = self.servers.urls(None);
        let (lease, quiet) = (format!("{}s", self.play.lease), format!("{QUIET}s"));
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
            // one that can be cut off reaches the servers by a way of its own
            if let Some(other) = self.play.hosts.get(1).filter(|_| name == super::VICTIM) {
                command.args(["--nats", &self.servers.urls(Some(other))]);
            }
            command.env("EVERCRAWL_CLOCK_STEP", self.clock_of(name));
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

    /// Who has what is divided anew, by what robots have told each other.
    pub fn divide(&self) -> Result<Vec<Value>> {
        let told = self.call(&["partition", "now", "--json", "--wait", "10s"])?;
        let lines = told.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(lines.collect())
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
            Fault::Server | Fault::Hub => self.servers.kill_all()?,
            Fault::Wipe => {
                self.servers.kill_all()?;
                self.servers.wipe()?;
            }
            Fault::One | Fault::Leader => {
                let leader = self.servers.leader("KV_demo_g1").unwrap_or(0);
                let other = (leader + 1) % self.servers.count();
                self.servers
                    .kill(if fault == Fault::One { other } else { leader })?;
            }
            Fault::Cut => self.cut("down")?,
            // one fast, one slow
            Fault::Clock => {
                std::fs::write(self.clock_of(victim), WRONG.to_ne_bytes())?;
                std::fs::write(self.clock_of("robot-3"), (-WRONG).to_ne_bytes())?;
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
            Fault::Server | Fault::Hub | Fault::Wipe | Fault::One | Fault::Leader => {
                self.servers.run_all()?;
            }
            Fault::Cut => self.cut("up")?,
            Fault::Clock => {
                for (name, ..) in ROBOTS {
                    std::fs::write(self.clock_of(name), 0_i64.to_ne_bytes())?;
                }
            }
            Fault::Kill | Fault::None => {}
        }
        Ok(())
    }

    /// What a robot's clock is wrong by, for whoever makes it so.
    fn clock_of(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.clock"))
    }

    /// The way of one robot to the servers.
    fn cut(&self, how: &str) -> Result<()> {
        let Some(command) = &self.play.cut else {
            return Err(anyhow!("--fault cut needs --cut COMMAND"));
        };
        let status = Command::new("sh")
            .args(["-c", &format!("{command} {how}")])
            .status()?;
        if status.success() {
            return Ok(());
        }
        Err(anyhow!("{command} {how}: {status}"))
    }

    fn signal(&self, name: &str, signal: &str) -> Result<()> {
        for (_, child) in self.robots.iter().filter(|(known, _)| *known == name) {
            let pid = child.id().to_string();
            Command::new("kill").args([signal, &pid]).status()?;
        }
        Ok(())
    }

    /// Whom it happens to.
    pub fn victim(&self) -> String {
        if self.play.victim != "partitioner" {
            return self.play.victim.clone();
        }
        let tree = self.call(&["tree", "--json"]).unwrap_or_default();
        let tree: Value = serde_json::from_slice(&tree).unwrap_or_default();
        let divides = tree["partitioner"].as_str().unwrap_or(super::VICTIM);
        divides.to_owned()
    }

    pub fn runs(&mut self, name: &str) -> bool {
        let mut robots = self.robots.iter_mut();
        let robot = robots.find(|(known, _)| *known == name);
        robot.is_some_and(|(_, child)| matches!(child.try_wait(), Ok(None)))
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

    /// Whether a robot asked a server within the last seconds, by the web's own record.
    pub fn is_working(&self, name: &str) -> bool {
        let number = ROBOTS.iter().find(|(known, ..)| *known == name);
        let visits = self.running.record.visits();
        let last = visits.iter().map(|visit| visit.start).max().unwrap_or(0);
        visits.iter().any(|visit| {
            let own = number.is_some_and(|(.., last)| visit.client.octets()[3] == *last);
            own && visit.start + LATELY >= last
        })
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
        // scratch that stays behind harms nobody
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
