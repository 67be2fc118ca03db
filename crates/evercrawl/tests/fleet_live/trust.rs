//! Robots that do not trust what others send, groups that are divided without being told to, and what all that looks
//! like to a person and to Prometheus.

use crate::{LIMIT, Nats, Robots, configuration, done, fleet, free_port};
use ::fleet::identity::{GroupId, Member, RobotId, Session};
use ::fleet::parcel::{Batch, Cargo, Message, Origin, Parcel, Subject, To};
use ::fleet::plan::Version;
use ::fleet::wire::{FORMAT, encode};
use bus::names::Names;
use serde_json::Value;
use simulation::web::{Clock, Running, Server, Web, WebSpec};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Site {
    directory: tempfile::TempDir,
    nats: Nats,
    running: Running,
    robots: Robots,
}

fn open(spec: &WebSpec) -> Option<Site> {
    let directory = tempfile::tempdir().unwrap();
    let nats = Nats::start(directory.path())?;
    let web = Arc::new(Web::new(spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
    let text = configuration(&web, &running, "[budget]\nrequests_per_second = 0");
    std::fs::write(directory.path().join("crawl.toml"), text).unwrap();
    let site = Site {
        directory,
        nats,
        running,
        robots: Robots(Vec::new()),
    };
    site.init("web");
    Some(site)
}

impl Site {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn init(&self, name: &str) {
        let mut init = vec!["init", "--nats", &self.nats.address, "--name", name];
        init.extend(["-c", "crawl.toml", "--lease", "6s", "--quiet", "1s"]);
        init.extend(["--storage", "268435456"]);
        done(self.path(), &init);
    }

    fn join(&mut self, name: &str, last: u8, more: &str) {
        let local = format!("data = \"{name}\"\n[fetch]\nsource = \"127.0.0.{last}\"\n{more}");
        let file = format!("{name}.toml");
        std::fs::write(self.path().join(&file), local).unwrap();
        let log = std::fs::File::create(self.path().join(format!("{name}.log"))).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["fleet", "join", "--as", name, "-c", &file])
            .current_dir(self.path())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.robots.0.push((name.to_owned(), child.unwrap()));
    }

    fn status(&self) -> Value {
        serde_json::from_str(&done(self.path(), &["status", "--json"])).unwrap()
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let status = self.status();
            if is_so(&status) {
                println!("{what} after {:.1?}", began.elapsed());
                return status;
            }
            assert!(began.elapsed() < LIMIT, "{what} has not come\n{status}");
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Whoever can reach the server may write this.
    fn inject(&self, subject: Subject, messages: &[Vec<u8>]) {
        let address = self.nats.address.trim_start_matches("nats://");
        let mut stream = TcpStream::connect(address).unwrap();
        let subject = Names::new("web").unwrap().subject(subject);
        stream
            .write_all(b"CONNECT {\"verbose\":false}\r\n")
            .unwrap();
        for bytes in messages {
            write!(stream, "PUB {subject} {}\r\n", bytes.len()).unwrap();
            stream.write_all(bytes).unwrap();
            stream.write_all(b"\r\n").unwrap();
        }
        stream.write_all(b"PING\r\n").unwrap();
        let lines = BufReader::new(stream).lines();
        let answer = lines
            .map(Result::unwrap)
            .find(|line| !line.starts_with("INFO"));
        assert_eq!(answer.as_deref(), Some("PONG"));
    }
}

/// A batch with URLs as a peer would send them.
fn batch(to: Subject, urls: &[(&str, &str, IpAddr)]) -> Vec<u8> {
    let session = Session {
        robot: RobotId(77),
        incarnation: 1,
    };
    let entries = (1..).zip(urls).map(|(number, (name, url, server))| {
        let mut parcel = Parcel::new((*name).into(), (*url).into());
        parcel.server = Some(*server);
        (number, Cargo::Url(parcel))
    });
    let message = Message::Batch(Batch {
        origin: Origin { session, reply: to },
        hops: 0,
        by: (to.group, Version::default()),
        entries: entries.collect(),
    });
    encode(&message)
}

fn get(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: robot\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn what_others_send_is_judged_again_counted_and_buried() {
    let spec = WebSpec {
        hosts: 3,
        largest: 6,
        ..WebSpec::plain()
    };
    let Some(mut site) = open(&spec) else { return };
    let port = free_port();
    let metrics = format!("[metrics]\nlisten = \"127.0.0.1:{port}\"\n");
    site.join("robot-1", 11, &metrics);
    let had = |status: &Value| status["pages"].as_u64() >= Some(8);
    let status = site.wait("pages", had);
    assert_eq!(
        (&status["refused"], &status["dead_letters"]),
        (&0.into(), &0.into())
    );

    let id = status["robots"][0]["id"].as_u64().unwrap();
    let to = Subject {
        group: GroupId(1),
        to: To::Member(Member::Robot(RobotId(id))),
    };
    let here: IpAddr = [127, 1, 0, 1].into();
    let urls = [
        // a private address, which the configuration does not allow
        (
            "inside.demo.test",
            "http://inside.demo.test/",
            [10, 0, 0, 5].into(),
        ),
        // out of scope, at a server that is allowed
        ("other.example", "http://other.example/", here),
        // a URL that is not at the name it is said to be at
        ("a.demo.test", "http://b.demo.test/", here),
        // no URL
        ("a.demo.test", "javascript:alert(1)", here),
    ];
    let good = batch(to, &urls[..1]);
    let mut future = good.clone();
    future[0] = FORMAT + 1;
    site.inject(to, &[b"garbage".to_vec(), future, batch(to, &urls)]);
    let status = site.wait("refusals", |status| {
        status["refused"] == urls.len() && status["dead_letters"] == 2 + urls.len()
    });
    assert_eq!(status["robots"][0]["state"], "at work", "{status}");
    let said = done(site.path(), &["status"]);
    assert!(
        said.contains("refused    4 URLs") && said.contains("6 dead letters"),
        "{said}"
    );
    let letters = done(site.path(), &["dead-letters"]);
    for line in [
        "robot-1      an address that may not be contacted: http://inside.demo.test/ at 10.0.0.5",
        "robot-1      out of scope: http://other.example/ at 127.1.0.1",
        "robot-1      the URL is not at its name: http://b.demo.test/ at 127.1.0.1",
        "robot-1      not a URL: javascript:alert(1) at 127.1.0.1",
        "7 bytes: garbage",
    ] {
        assert!(letters.contains(line), "{letters}");
    }
    assert_eq!(letters.lines().count(), 6, "{letters}");
    assert!(!letters.contains("1970-"), "{letters}");
    let newest = done(site.path(), &["dead-letters", "--last", "1", "--json"]);
    let newest: Value = serde_json::from_str(&newest).unwrap();
    assert_eq!(newest["robot"], "robot-1", "{newest}");
    let asked = site.running.record.visits();
    let refused = |host: &str| urls.iter().any(|(name, ..)| *name == host) || host == "b.demo.test";
    assert!(
        asked.iter().all(|visit| !refused(&visit.host)),
        "no server got a request"
    );

    // the robot's own figures, and those of the fleet
    let own = get(port);
    for figure in [
        "evercrawl_refused_from_peers_total 4",
        "evercrawl_robot_unreadable_total{robot=\"robot-1\"} 2",
        "evercrawl_robot_lease{robot=\"robot-1\"} 1",
    ] {
        assert!(own.contains(figure), "{own}");
    }
    let all = done(site.path(), &["metrics"]);
    assert!(
        all.contains("evercrawl_fleet_dead_letters{fleet=\"web\"} 6"),
        "{all}"
    );
    assert!(
        all.contains("evercrawl_fleet_robots{fleet=\"web\",state=\"at work\"} 1"),
        "{all}"
    );

    // another fleet's data are not taken for one's own
    site.init("other");
    let join = [
        "join", "--as", "robot-1", "--name", "other", "--data", "robot-1",
    ];
    let refused = fleet(site.path(), &join);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    assert!(errors.contains("of the fleet web"), "{errors}");
}

#[test]
fn a_fleet_divides_the_web_by_links_without_being_told_to() {
    let spec = WebSpec {
        hosts: 72,
        largest: 3,
        size_exponent: 0.1,
        blocks: 2,
        far_links: 3,
        near: 0.9,
        ..WebSpec::plain()
    };
    let Some(mut site) = open(&spec) else { return };
    for (name, last) in [("robot-1", 11), ("robot-2", 12)] {
        site.join(name, last, "");
    }
    site.wait("a division", |status| {
        status["divisions"].as_u64() > Some(0)
    });
    let began = Instant::now();
    loop {
        let tables = done(site.path(), &["tables", "--json"]);
        let tables: Value = serde_json::from_str(&tables).unwrap();
        let table = tables["table"].as_array().unwrap();
        let members = ["robot-1", "robot-2"].map(|name| {
            let own = table.iter().filter(|entry| entry["member"] == name);
            own.count()
        });
        if members.iter().all(|&entries| entries > 0) {
            println!("{members:?} entries");
            return;
        }
        assert!(began.elapsed() < LIMIT, "no table has come: {tables}");
        std::thread::sleep(Duration::from_millis(300));
    }
}
