//! `evercrawl crawl` as a process: configured by a file, started, killed, and looked at from outside.
#![allow(dead_code)] // every test uses its part

pub mod answers;

use simulation::web::politeness::Fault;
use simulation::web::{Clock, Rules, Running, Server, Visit, Web, WebSpec, check_politeness};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::{PageRow, Reader};

/// Seconds between two requests to a host or address, unless a test says otherwise.
pub const DELAY: f64 = 0.01;

/// A data directory, a configuration, and what was printed.
pub struct Crawler {
    pub directory: tempfile::TempDir,
    settings: BTreeMap<String, String>,
    started: u32,
}

impl Crawler {
    /// Begins at these URLs; may talk to loopback only.
    pub fn new(seeds: &[String]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let crawler = Self {
            directory,
            settings: BTreeMap::new(),
            started: 0,
        };
        let data = crawler.data();
        crawler
            .with("seeds", format!("{seeds:?}"))
            .with("data", format!("{:?}", data.to_str().unwrap()))
            .with("identity.contact", "\"http://crawler.test/\"")
            .with("fetch.allow_networks", "[\"127.0.0.0/8\"]")
            .with("budget.requests_per_second", "0")
            .with("fetch.first_byte_seconds", "1")
            .with("fetch.body_seconds", "2")
            // pages change within seconds here
            .with("revisit.least_interval", "\"0\"")
            .with("revisit.least_chance", "0")
            .delay(DELAY)
    }

    /// Begins at the front page of a demo web.
    pub fn of_web(web: &Web, running: &Running) -> Self {
        running.addresses.iter().fold(
            Self::new(&[web.seed_url(running.port)]).with("scope.suffixes", "[\"demo.test\"]"),
            |crawler, (name, &address)| crawler.knowing(name, address),
        )
    }

    /// Sets a key, as written in the file.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.settings.insert(key.into(), value.into());
        self
    }

    pub fn delay(self, seconds: f64) -> Self {
        let rule = format!("{{ rule = \"fixed\", seconds = {seconds:?} }}");
        self.with("politeness.interval", rule)
    }

    /// Finds the name there.
    pub fn knowing(self, name: &str, address: impl Into<IpAddr>) -> Self {
        let address = address.into();
        self.with(&format!("fetch.hosts.{name:?}"), format!("[\"{address}\"]"))
    }

    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub fn state(&self) -> PathBuf {
        robot::state_directory(&self.data())
    }

    pub fn archive(&self) -> PathBuf {
        robot::archive_directory(&self.data())
    }

    /// Writes the configuration and returns its path.
    pub fn config(&self) -> PathBuf {
        let path = self.directory.path().join("crawl.toml");
        let lines = self.settings.iter().map(|(k, v)| format!("{k} = {v}\n"));
        // a crawl that is starting may be reading it
        let new = self.directory.path().join("crawl.toml.new");
        fs::write(&new, lines.collect::<String>()).unwrap();
        fs::rename(new, &path).unwrap();
        path
    }

    /// Starts `evercrawl crawl` with these arguments.
    pub fn start(&mut self, arguments: &[&str]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
        command.args(["crawl", "-c"]).arg(self.config());
        command.args(arguments);
        self.start_as(command)
    }

    /// Starts a command, its output kept in files: a pipe that nobody reads would hold it back.
    pub fn start_as(&mut self, mut command: Command) -> Process {
        self.started += 1;
        let file = |what: &str| {
            let name = format!("{what}-{}", self.started);
            self.directory.path().join(name)
        };
        let (out, err) = (file("out"), file("err"));
        command.stdout(File::create(&out).unwrap());
        command.stderr(File::create(&err).unwrap());
        Process {
            child: command.spawn().unwrap(),
            began: Instant::now(),
            peak_memory: 0,
            out,
            err,
        }
    }

    /// Fetches everything once, and succeeds within so many seconds.
    pub fn once(&mut self, seconds: u64) -> Ended {
        self.start(&["--once", "--json"]).succeeds_within(seconds)
    }

    /// What the store has, committed.
    pub fn pages(&self) -> Vec<Page> {
        pages_in(&self.state()).unwrap()
    }

    /// The row of a page whose URL ends like this.
    pub fn page(&self, ending: &str) -> Page {
        let mut pages = self.pages().into_iter();
        pages
            .find(|page| page.url.ends_with(ending))
            .unwrap_or_else(|| panic!("{ending} is not in the store"))
    }

    /// Every record of the archive can be read and has its digest.
    pub fn verify_archive(&self) -> u64 {
        let report = storage::archive::verify(&self.archive()).unwrap();
        assert_eq!(report.flaws, []);
        report.records
    }
}

/// A page, as the store knows it.
#[derive(Debug)]
pub struct Page {
    pub url: String,
    pub row: Option<PageRow>,
}

/// The pages of a store.
pub fn pages_in(state: &Path) -> storage::Result<Vec<Page>> {
    let reader = Reader::open(state)?;
    let pages = reader.pages()?.map(|entry| {
        let entry = entry?;
        Ok(Page {
            url: reader.address(entry.id)?.url,
            row: entry.row,
        })
    });
    pages.collect()
}

/// A crawl that runs; killed when dropped.
pub struct Process {
    child: Child,
    began: Instant,
    peak_memory: u64,
    out: PathBuf,
    err: PathBuf,
}

/// A crawl that ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
    pub took: Duration,
    /// Bytes resident at most, as far as was seen.
    pub peak_memory: u64,
}

impl Process {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn errors_so_far(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    /// SIGKILL.
    pub fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.within(10)
    }

    /// As Ctrl-C does.
    pub fn interrupt(&self) {
        let id = self.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(status.success());
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it ends, not longer than so many seconds.
    pub fn within(mut self, seconds: u64) -> Ended {
        let limit = Instant::now() + Duration::from_secs(seconds);
        let status = loop {
            self.peak_memory = self.peak_memory.max(self.memory());
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let errors = || fs::read_to_string(&self.err).unwrap();
            assert!(
                Instant::now() < limit,
                "not within {seconds} s: {}",
                errors()
            );
            std::thread::sleep(Duration::from_millis(2));
        };
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let ended = Ended {
            status,
            out: text(&self.out),
            err: text(&self.err),
            took: self.began.elapsed(),
            peak_memory: self.peak_memory,
        };
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        ended
    }

    pub fn succeeds_within(self, seconds: u64) -> Ended {
        let ended = self.within(seconds);
        assert!(ended.status.success(), "{}", ended.err);
        ended
    }

    /// Lets it run for a while, then interrupts it; it must end well.
    pub fn interrupted_after(self, seconds: f64) -> Ended {
        std::thread::sleep(Duration::from_secs_f64(seconds));
        self.interrupt();
        let ended = self.within(3);
        // 130 where it was to end by itself
        assert!(
            matches!(ended.status.code(), Some(0 | 130)),
            "{}",
            ended.err
        );
        ended
    }

    /// The most that was resident, in bytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.unwrap_or(0) << 10
    }

    /// Seconds of processor time used so far.
    pub fn processor_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        let (_, after_name) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = after_name.split(' ').collect();
        let ticks: f64 = [11, 12]
            .map(|k: usize| fields[k].parse::<f64>().unwrap())
            .iter()
            .sum();
        // USER_HZ is 100 wherever Linux runs
        ticks / 100.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Failed with this exit code, saying all of these words on standard error.
    pub fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.status.code(), Some(code), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "{word:?} not in {:?}", self.err);
        }
    }

    /// The last figures of a crawl run with `--json`.
    pub fn figures(&self) -> robot::view::Status {
        serde_json::from_str(self.out.lines().last().unwrap()).unwrap()
    }

    /// How often there was no copy for this reason.
    pub fn failures(&self, cause: &str) -> u64 {
        self.figures().failures.get(cause).copied().unwrap_or(0)
    }
}

pub fn serve(spec: &WebSpec, pace: f64) -> (Arc<Web>, Running) {
    let web = Arc::new(Web::new(spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(pace)).unwrap();
    (web, running)
}

/// The requests that came too soon, apart from those that are excused; each is printed.
pub fn impolite(
    web: &Web,
    visits: &[Visit],
    delay: f64,
    excused: impl Fn(&Visit, f64) -> bool,
) -> usize {
    let rules = Rules {
        host_delay: delay,
        address_delay: delay,
        crawl_delay: web.crawl_delays(),
        ..Rules::default()
    };
    let mut found = check_politeness(visits, &rules);
    found.retain(|violation| match violation.fault {
        Fault::TooSoon { gap, .. } => !excused(&visits[violation.visit], gap),
        Fault::Overlap => true,
    });
    for violation in &found {
        let (before, visit) = (&visits[violation.before], &visits[violation.visit]);
        eprintln!("{violation:?}: {before:?}, {visit:?}");
    }
    found.len()
}
