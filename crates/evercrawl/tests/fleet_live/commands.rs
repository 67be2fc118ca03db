//! The commands of a fleet as its people use them: over TLS, with key pairs and the permissions of
//! `packaging/nats/roles.conf`, while its robots work.

use crate::{DELAY, LIMIT, Nats, Robots, configuration, free_port, page_of, program};
use nkeys::KeyPair;
use serde_json::Value;
use simulation::web::{Clock, Rules, Running, Server, Web, WebSpec, check_politeness};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// With a budget too the first request comes this soon after the first robot, though each level of groups divides it.
const SOON: Duration = Duration::from_secs(20);

/// A server as the samples have it, the web, and a directory with a key for each role.
struct Site {
    directory: tempfile::TempDir,
    nats: Nats,
    web: Arc<Web>,
    running: Running,
    robots: Robots,
}

/// The sample configuration, with a certificate and three users.
fn guarded(directory: &Path) -> Option<Nats> {
    let Some(program) = program() else {
        eprintln!("skipped: no nats-server; scripts/get-nats-server fetches one");
        return None;
    };
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(directory.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let port = free_port();
    let mut command = Command::new(program);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/nats/server.conf");
    command
        .arg("-c")
        .arg(sample)
        .env("NATS_NAME", "s")
        .env("NATS_LISTEN", format!("127.0.0.1:{port}"))
        .env("NATS_STORE", directory.join("store"))
        .env("NATS_CERTIFICATE", directory.join("cert.pem"))
        .env("NATS_KEY", directory.join("key.pem"));
    for role in ["robot", "partitioner", "operator"] {
        let user = KeyPair::new_user();
        std::fs::write(directory.join(role), user.seed().unwrap()).unwrap();
        let name = format!("{}_NKEY", role.to_uppercase());
        command.env(name, user.public_key());
    }
    let mut nats = Nats::listening(&mut command, port);
    nats.address = format!("tls://127.0.0.1:{port}");
    Some(nats)
}

impl Site {
    fn open() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let nats = guarded(directory.path())?;
        let spec = WebSpec {
            hosts: 12,
            largest: 160,
            blocks: 2,
            ..WebSpec::plain()
        };
        let web = Arc::new(Web::new(&spec).unwrap());
        let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
        // with the budget that everybody has who says nothing
        let text = configuration(&web, &running, "");
        std::fs::write(directory.path().join("crawl.toml"), text).unwrap();
        Some(Self {
            directory,
            nats,
            web,
            running,
            robots: Robots(Vec::new()),
        })
    }

    fn command(&self, role: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
        command
            .arg("fleet")
            .args(arguments)
            .args(["--credentials", role, "--ca", "cert.pem"])
            .current_dir(self.directory.path());
        command
    }

    /// What a person does, who may do everything.
    fn call(&self, arguments: &[&str]) -> Output {
        self.command("operator", arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.call(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).unwrap()
    }

    /// A robot at work; any may divide its group's share.
    fn join(&mut self, name: &str, last: u8, more: &[&str]) {
        let directory = self.directory.path();
        let local = format!("data = \"{name}\"\n[fetch]\nsource = \"127.0.0.{last}\"\n");
        let file = format!("{name}.toml");
        std::fs::write(directory.join(&file), local).unwrap();
        let log = std::fs::File::create(directory.join(format!("{name}.log"))).unwrap();
        let mut arguments = vec!["join", "--as", name, "-c", &file];
        arguments.extend(more);
        let mut command = self.command("partitioner", &arguments);
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.robots.0.push((name.to_owned(), child));
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(format!("{name}.log"))).unwrap()
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) -> Duration {
        let began = Instant::now();
        while !is_so(self) {
            assert!(
                began.elapsed() < LIMIT,
                "{what} has not come\n{}\n{}",
                self.done(&["status"]),
                self.done(&["tree"]),
            );
            std::thread::sleep(Duration::from_millis(200));
        }
        println!("{what} after {:.1?}", began.elapsed());
        began.elapsed()
    }

    /// How a robot is, by the fleet.
    fn robot(&self, name: &str) -> Value {
        let status = self.json(&["status", "--json"]);
        let robots = status["robots"].as_array().unwrap();
        let found = robots.iter().find(|robot| robot["name"] == name);
        found.cloned().unwrap_or_default()
    }

    fn ended(&mut self, name: &str) -> Option<i32> {
        let robot = self.robots.0.iter_mut().find(|(known, _)| known == name);
        let began = Instant::now();
        let (_, child) = robot.unwrap();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                self.robots.0.retain(|(known, _)| known != name);
                return status.code();
            }
            assert!(
                began.elapsed() < LIMIT,
                "{name} has not ended\n{}",
                self.log(name)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Pages that nobody has had yet, by the web's own record.
    fn missing(&self) -> usize {
        let visits = self.running.record.visits();
        let had: BTreeSet<(String, String)> = (visits.iter().filter(|visit| visit.complete))
            .map(|visit| (visit.host.to_string(), visit.path.to_string()))
            .collect();
        let pages = self.web.pages().iter().filter(|page| page.allowed);
        pages
            .filter(|page| !had.contains(&page_of(&self.web, page)))
            .count()
    }

    fn is_polite(&self) {
        let rules = Rules {
            host_delay: DELAY,
            address_delay: DELAY,
            crawl_delay: self.web.crawl_delays(),
            tolerance: 0.005,
        };
        assert_eq!(check_politeness(&self.running.record.visits(), &rules), []);
    }

    /// `--watch` tells again and again, until it is interrupted.
    fn is_watched(&self) {
        let mut watch = self.command("operator", &["status", "--json", "--watch"]);
        let watch = watch.stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(6));
        let pid = watch.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().unwrap();
        let watched = watch.wait_with_output().unwrap();
        let lines = String::from_utf8_lossy(&watched.stdout).lines().count();
        assert!(
            watched.status.success() && lines >= 2,
            "{lines} lines, {}",
            watched.status
        );
    }
}

/// Refused, with these words.
fn refused(output: &Output, code: i32, words: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert!(errors.contains(words), "{errors}");
}

#[test]
fn people_found_divide_and_change_a_fleet_while_it_works() {
    let Some(mut site) = Site::open() else {
        return;
    };
    let nats = site.nats.address.clone();
    let mut init = vec!["init", "--nats", &nats, "--name", "web", "-c", "crawl.toml"];
    init.extend(["--lease", "8s", "--quiet", "3s", "--storage", "536870912"]);
    site.done(&init);
    for group in [&["braga"][..], &["iberia"], &["porto", "--in", "iberia"]] {
        let add: Vec<&str> = ["group", "add"]
            .into_iter()
            .chain(group.iter().copied())
            .collect();
        site.done(&add);
    }
    // whoever may not make streams is told who may
    let node = [
        "join",
        "--as",
        "node-a",
        "--node-of",
        "robot-3",
        "--in",
        "braga",
    ];
    let output = site.command("partitioner", &node).output().unwrap();
    refused(&output, 1, "fleet group add robot-3 --nodes");
    site.done(&["group", "add", "robot-3", "--nodes", "--in", "braga"]);
    let output = site.call(&["join", "--as", "x", "--in", "robot-3"]);
    refused(&output, 2, "--node-of robot-3");
    refused(&site.call(&["partition", "now"]), 1, "no group was divided");

    let began = Instant::now();
    site.join("robot-1", 11, &["--in", "braga", "--once", "--for", "25s"]);
    let first = site.wait("the first request", |site| !site.running.record.is_empty());
    assert!(first < SOON, "{first:?}");
    // not all was had in that time, and that is said
    assert_eq!(site.ended("robot-1"), Some(1), "{}", site.log("robot-1"));
    assert!(
        site.log("robot-1").contains("not reached before the end"),
        "{}",
        site.log("robot-1")
    );
    site.join("robot-1", 11, &["--in", "braga"]);
    site.join("robot-2", 12, &["--in", "porto"]);
    site.join("node-a", 13, &["--node-of", "robot-3", "--in", "braga"]);
    site.join("node-b", 14, &["--node-of", "robot-3"]);
    for name in ["robot-1", "robot-2", "node-a", "node-b"] {
        site.wait(name, |site| site.robot(name)["state"] == "at work");
    }
    site.wait("every page", |site| site.missing() == 0);
    println!("{:.1?} in all", began.elapsed());

    // a division on demand, by whoever makes the plans
    let divided = site.done(&["partition", "now", "--json"]);
    let divided: Vec<Value> = (divided.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    println!("{divided:?}");
    let top = divided
        .iter()
        .find(|group| group["group"] == "web")
        .unwrap();
    assert_eq!(top["divided"], true, "{top}");
    assert_eq!(top["servers"], 12, "{top}");
    let tables = site.done(&["tables"]);
    assert!(tables.contains("127.1.0."), "{tables}");
    let output = site.call(&["partition", "now", "--group", "robot-3"]);
    refused(&output, 1, "no group was divided");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("by the ring alone"), "{said}");

    // a populated group goes elsewhere, with its robots; an empty one goes altogether
    site.done(&["group", "move", "porto", "--in", "web"]);
    site.wait("the move of porto", |site| {
        let tables = site.done(&["tables", "--json"]);
        let tables = tables
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut top = tables.filter(|table| table["group"] == "web");
        let top = top.next().unwrap_or_default();
        let members = top["members"].as_array().cloned().unwrap_or_default();
        (members.iter()).any(|one| one["member"] == "porto" && one["standing"] == "active")
    });
    site.wait("porto's robot", |site| {
        site.robot("robot-2")["state"] == "at work"
    });
    site.done(&["group", "remove", "iberia"]);
    assert!(!site.done(&["tree"]).contains("iberia"));
    refused(&site.call(&["group", "remove", "iberia"]), 2, "no group");

    // one that is made to go ends, and comes back when it is started again; one that is asked to go goes
    let life = site.robot("robot-1")["report"]["incarnation"].clone();
    site.done(&["evict", "robot-1"]);
    assert_eq!(site.ended("robot-1"), Some(2), "{}", site.log("robot-1"));
    assert!(site.log("robot-1").contains("was evicted"));
    site.join("robot-1", 11, &["--in", "braga"]);
    site.wait("another life of robot-1", |site| {
        let robot = site.robot("robot-1");
        robot["state"] == "at work" && robot["report"]["incarnation"] != life
    });
    site.done(&["leave", "robot-2"]);
    assert_eq!(site.ended("robot-2"), Some(0), "{}", site.log("robot-2"));

    site.is_watched();
    assert_eq!(site.missing(), 0);
    site.is_polite();
}
