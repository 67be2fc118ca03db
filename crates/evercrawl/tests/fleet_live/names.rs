//! One name, one robot: whoever starts it twice, brings another back or evicts it. The web's own record is the truth.

use crate::{DELAY, LIMIT, Nats, Robots, configuration, done, page_of};
use simulation::web::{Clock, Rules, Running, Server, Web, WebSpec, check_politeness};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ANOTHER: &str = "another process works as robot-1";
const RUNNING: &str = "is already running";

/// A fleet of its own, and its web.
struct Site<'d> {
    directory: &'d Path,
    web: Arc<Web>,
    running: Running,
    robots: Robots,
}

impl<'d> Site<'d> {
    fn found(directory: &'d Path, nats: &Nats, budget: &str) -> Self {
        std::fs::create_dir_all(directory).unwrap();
        let spec = WebSpec {
            hosts: 6,
            largest: 50,
            ..WebSpec::plain()
        };
        let web = Arc::new(Web::new(&spec).unwrap());
        let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
        let text = configuration(&web, &running, budget);
        std::fs::write(directory.join("crawl.toml"), text).unwrap();
        let name = directory.file_name().unwrap().to_str().unwrap();
        let init = ["init", "--nats", &nats.address, "--name", name];
        let times = ["--lease", "6s", "--quiet", "2s", "--storage", "268435456"];
        done(
            directory,
            &[&init[..], &["-c", "crawl.toml"], &times].concat(),
        );
        Self {
            directory,
            web,
            running,
            robots: Robots(Vec::new()),
        }
    }

    /// Another process of a robot; says which.
    fn join(&mut self, robot: &str, data: &str) -> usize {
        let log = std::fs::File::create(self.directory.join(format!("{data}.log"))).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["fleet", "join", "--as", robot, "--once", "--data", data])
            .current_dir(self.directory)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.robots.0.push((data.to_owned(), child.unwrap()));
        self.robots.0.len() - 1
    }

    fn process(&mut self, which: usize) -> &mut Child {
        &mut self.robots.0[which].1
    }

    fn log(&self, which: usize) -> String {
        let data = &self.robots.0[which].0;
        std::fs::read_to_string(self.directory.join(format!("{data}.log"))).unwrap()
    }

    /// How a process ended, and what it said.
    fn ended(&mut self, which: usize) -> (Option<i32>, String) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process(which).try_wait().unwrap() {
                return (status.code(), self.log(which));
            }
            assert!(began.elapsed() < LIMIT, "no end: {}", self.log(which));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn await_requests(&self, count: usize) {
        let began = Instant::now();
        while self.running.record.len() < count {
            assert!(began.elapsed() < LIMIT, "{}", self.running.record.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&mut self, which: usize, name: &str) {
        let pid = self.process(which).id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Every page, and politely.
    fn judge(&self) {
        let visits = self.running.record.visits();
        let rules = Rules {
            host_delay: DELAY,
            address_delay: DELAY,
            crawl_delay: self.web.crawl_delays(),
            tolerance: 0.005,
        };
        assert_eq!(check_politeness(&visits, &rules), []);
        let had: BTreeSet<(String, String)> = (visits.iter())
            .filter(|visit| visit.complete)
            .map(|visit| (visit.host.to_string(), visit.path.to_string()))
            .collect();
        let allowed = self.web.pages().iter().filter(|page| page.allowed);
        let missing: Vec<_> = (allowed.map(|page| page_of(&self.web, page)))
            .filter(|page| !had.contains(page))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn whoever_is_started_twice_works_once() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(nats) = Nats::start(scratch.path()) else {
        return;
    };
    for round in 0..2 {
        let directory = scratch.path().join(format!("twice{round}"));
        let mut site = Site::found(&directory, &nats, "[budget]\nrequests_per_second = 0");
        // in the first round nobody has written the robot down yet
        if round > 0 {
            let first = site.join("robot-1", "before");
            site.await_requests(5);
            site.signal(first, "-KILL");
            site.ended(first);
        }
        let both = [site.join("robot-1", "a"), site.join("robot-1", "b")];
        let ended = both.map(|which| site.ended(which));
        let good = ended.iter().filter(|(code, _)| *code == Some(0)).count();
        assert_eq!(good, 1, "{ended:?}");
        let (_, said) = ended.iter().find(|(code, _)| *code != Some(0)).unwrap();
        let reasons = [ANOTHER, RUNNING, "was changed by someone else"];
        assert!(reasons.iter().any(|why| said.contains(why)), "{said}");
        site.judge();
    }
}

#[test]
fn whoever_comes_back_and_finds_its_name_taken_ends() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(nats) = Nats::start(scratch.path()) else {
        return;
    };
    let directory = scratch.path().join("back");
    let mut site = Site::found(&directory, &nats, "[budget]\nrequests_per_second = 0");
    let first = site.join("robot-1", "first");
    site.join("robot-2", "other");
    site.await_requests(30);
    site.signal(first, "-STOP");
    // its disk is thought to be lost
    let second = site.join("robot-1", "second");
    std::thread::sleep(Duration::from_secs(3));
    site.signal(first, "-CONT");
    let (code, said) = site.ended(first);
    assert!(said.contains(ANOTHER) || said.contains(RUNNING), "{said}");
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = site.ended(second);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("starts over"), "{said}");
    site.judge();
}

#[test]
fn whoever_is_evicted_ends_and_may_come_back() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(nats) = Nats::start(scratch.path()) else {
        return;
    };
    let directory = scratch.path().join("evicted");
    let mut site = Site::found(&directory, &nats, "");
    let first = site.join("robot-1", "first");
    let other = site.join("robot-2", "other");
    site.await_requests(30);
    done(&directory, &["evict", "robot-1"]);
    let (code, said) = site.ended(first);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("was evicted"), "{said}");
    let again = site.join("robot-1", "first");
    for which in [again, other] {
        let (code, said) = site.ended(which);
        assert_eq!(code, Some(0), "{said}");
    }
    site.judge();
}
