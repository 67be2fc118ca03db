//! `evercrawl fleet` from outside: a real nats-server, three robots in two sites, each a process of its own, and the
//! demo web, whose own record is the truth.

mod commands;
mod groups;
mod mistakes;
mod names;
mod silence;
mod trust;
mod window;

use simulation::web::{Clock, Rules, Running, Server, Web, WebSpec, check_politeness};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Seconds between two requests to a host or address.
const DELAY: f64 = 0.25;
const LIMIT: Duration = Duration::from_mins(3);

/// A server that is ended with the test.
struct Nats {
    child: Child,
    address: String,
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache"),
        PathBuf::from,
    );
    let named = std::env::var_os("EVERCRAWL_NATS_SERVER").map(PathBuf::from);
    let fetched = cache.join("evercrawl/nats-server");
    let candidates = [named, Some(fetched), Some("nats-server".into())];
    candidates.into_iter().flatten().find(|program| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    })
}

/// Free again as soon as it is known.
fn free_port() -> u16 {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    port.unwrap().port()
}

impl Nats {
    fn start(directory: &Path) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("skipped: no nats-server; scripts/get-nats-server fetches one");
            return None;
        };
        let port = free_port();
        let conf = directory.join("nats.conf");
        let store = directory.join("store");
        let text = format!(
            "server_name: s\nlisten: 127.0.0.1:{port}\nmax_payload: 8MB\n\
             jetstream {{ store_dir: \"{}\", sync_interval: always, max_file: 4GB }}\n",
            store.display()
        );
        std::fs::write(&conf, text).unwrap();
        Some(Self::listening(
            Command::new(program).arg("-c").arg(conf),
            port,
        ))
    }

    fn listening(command: &mut Command, port: u16) -> Self {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let nats = Self {
            child: command.spawn().unwrap(),
            address: format!("nats://127.0.0.1:{port}"),
        };
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return nats;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nats-server does not listen");
    }
}

fn fleet(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .arg("fleet")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

fn done(directory: &Path, arguments: &[&str]) -> String {
    let output = fleet(directory, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn configuration(web: &Web, running: &Running, budget: &str) -> String {
    let hosts: Vec<String> = (running.addresses.iter())
        .map(|(name, at)| format!("\"{name}\" = [\"{at}\"]"))
        .collect();
    format!(
        "seeds = [\"{}\"]\n[scope]\nsuffixes = [\"demo.test\"]\n\
         [identity]\ncontact = \"https://demo.test/bot\"\n\
         [politeness]\ninterval = {{ rule = \"fixed\", seconds = {DELAY} }}\n\
         {budget}\n\
         [fetch]\nallow_networks = [\"127.0.0.0/8\"]\nconnect_seconds = 2\nfirst_byte_seconds = 3\nbody_seconds = 3\n\
         [fetch.hosts]\n{}\n",
        web.seed_url(running.port),
        hosts.join("\n")
    )
}

struct Robots(Vec<(String, Child)>);

impl Drop for Robots {
    fn drop(&mut self) {
        for (_, robot) in &mut self.0 {
            let _ = robot.kill();
            let _ = robot.wait();
        }
    }
}

fn differences_are_refused<const N: usize>(directory: &Path, init: [&str; N]) {
    // a second founding finds all as it is; another configuration is refused
    done(directory, &init);
    std::fs::write(directory.join("other.toml"), "[politeness]\nat_once = 3\n").unwrap();
    let other = init.map(|word| {
        if word == "crawl.toml" {
            "other.toml"
        } else {
            word
        }
    });
    assert_eq!(fleet(directory, &other).status.code(), Some(2));
    let differs = [
        "join",
        "--as",
        "robot-9",
        "--in",
        "braga",
        "-c",
        "other.toml",
    ];
    let refused = fleet(directory, &differs);
    assert_eq!(refused.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("politeness.at_once"), "{errors}");
}

#[test]
fn three_robots_in_two_sites_fetch_every_page_and_end_by_themselves() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    let spec = WebSpec {
        hosts: 12,
        largest: 60,
        ..WebSpec::plain()
    };
    let web = Arc::new(Web::new(&spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
    let text = configuration(&web, &running, "[budget]\nrequests_per_second = 0");
    std::fs::write(directory.join("crawl.toml"), text).unwrap();
    let init = [
        "init",
        "--nats",
        &nats.address,
        "--name",
        "web",
        "-c",
        "crawl.toml",
        "--lease",
        "10s",
        "--quiet",
        "3s",
        "--storage",
        "536870912",
    ];
    done(directory, &init);
    for site in ["braga", "porto"] {
        done(directory, &["group", "add", site]);
    }
    differences_are_refused(directory, init);

    let began = Instant::now();
    let mut robots = Robots(Vec::new());
    for (number, site) in [(1, "braga"), (2, "braga"), (3, "porto")] {
        let name = format!("robot-{number}");
        let local = format!("data = \"{name}\"\n[fetch]\nsource = \"127.0.0.1{number}\"\n");
        std::fs::write(directory.join(format!("{name}.toml")), local).unwrap();
        let log = std::fs::File::create(directory.join(format!("{name}.log"))).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["fleet", "join", "--as", &name, "--in", site, "--once", "-c"])
            .arg(format!("{name}.toml"))
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        robots.0.push((name, child));
    }
    let logs = || {
        let read = |n| std::fs::read_to_string(directory.join(format!("robot-{n}.log")));
        (1..=3)
            .map(|n| read(n).unwrap())
            .collect::<Vec<_>>()
            .join("\n--\n")
    };
    for (name, robot) in &mut robots.0 {
        let status = loop {
            if let Some(status) = robot.try_wait().unwrap() {
                break status;
            }
            assert!(
                began.elapsed() < LIMIT,
                "{name} has not ended\n{}\n{}",
                done(directory, &["status"]),
                logs()
            );
            std::thread::sleep(Duration::from_millis(100));
        };
        assert!(status.success(), "{name}: {status}\n{}", logs());
    }
    println!(
        "{} requests in {:.1?}",
        running.record.len(),
        began.elapsed()
    );
    judge(&web, &running);
    let status: serde_json::Value =
        serde_json::from_str(&done(directory, &["status", "--json"])).unwrap();
    assert_eq!(status["quiet"], true, "{status}");
    assert_eq!(status["seeds_waiting"], 0, "{status}");
    assert_eq!(status["dead_letters"], 0, "{status}");
}

/// By the web's own record: every page, politely, by more than one of them.
fn judge(web: &Web, running: &Running) {
    let visits = running.record.visits();
    let rules = Rules {
        host_delay: DELAY,
        address_delay: DELAY,
        crawl_delay: web.crawl_delays(),
        // the operating system may delay one process more than the other
        tolerance: 0.005,
    };
    assert_eq!(check_politeness(&visits, &rules), []);
    let clients: BTreeSet<Ipv4Addr> = visits.iter().map(|visit| visit.client).collect();
    let expected = [11, 12, 13].map(|last| Ipv4Addr::new(127, 0, 0, last));
    // whoever comes last may find nothing left to do
    assert!(
        clients.is_subset(&BTreeSet::from(expected)) && clients.len() > 1,
        "{clients:?}"
    );
    let mut had: BTreeMap<(String, String), usize> = BTreeMap::new();
    for visit in visits.iter().filter(|visit| visit.complete) {
        let page = (visit.host.to_string(), visit.path.to_string());
        *had.entry(page).or_default() += 1;
    }
    let twice: Vec<_> = had.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let missing: Vec<String> = (web.pages().iter().filter(|page| page.allowed))
        .map(|page| page_of(web, page))
        .filter(|(host, path)| !had.contains_key(&(host.clone(), path.clone())))
        .map(|(host, path)| host + &path)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn page_of(web: &Web, page: &simulation::web::Page) -> (String, String) {
    (web.hosts()[page.host].name.clone(), page.path.clone())
}

#[test]
fn what_cannot_be_is_said_before_anything_is_done() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    for (arguments, said) in [
        (&["status"][..], "which fleet?"),
        (
            &["status", "--nats", "http://a", "--name", "web"],
            "nats://HOST:PORT",
        ),
        (
            &["status", "--nats", "nats://u:p@a", "--name", "web"],
            "password",
        ),
        (
            &["status", "--nats", "nats://127.0.0.1:1", "--name", "Web"],
            "cannot be called",
        ),
        (&["join", "--as", "Robot 1"], "cannot be called"),
        (&["seed"], "no seed"),
        (&["status", "--fleet", "nowhere.toml"], "nowhere.toml"),
    ] {
        let output = fleet(directory, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
        assert!(!errors.contains("u:p"), "{errors}");
    }
    // whoever names a server gets no other
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["fleet", "demo"])
        .env("EVERCRAWL_NATS_SERVER", "/nonexistent")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("/nonexistent"), "{errors}");
    // nobody there: a failure, not bad input
    let output = fleet(
        directory,
        &["status", "--nats", "nats://127.0.0.1:1", "--name", "web"],
    );
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("Is the server running"), "{errors}");
}
