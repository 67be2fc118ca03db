//! A small web with one page of each kind, and the robot that crawls it.

use flate2::{Compression, write::GzEncoder};
use simulation::web::{Clock, Request, Response, Running, Server, Site};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const HOST: &str = "views.test";
pub const OTHER: &str = "other.views.test";
pub const TEXT: &str = "A text that stays as it is, whatever happens around it in the world.";
/// Of the front page, which never changes.
const ETAG: &str = "\"front\"";
/// A second is a day of this web.
const SPEED: f64 = 86_400.0;

/// The site.
struct Corners;

impl Site for Corners {
    fn hosts(&self) -> Vec<(String, Ipv4Addr)> {
        vec![
            (HOST.into(), Ipv4Addr::new(127, 77, 0, 1)),
            (OTHER.into(), Ipv4Addr::new(127, 77, 0, 2)),
        ]
    }

    fn respond(&self, request: &Request, at: f64, _: &Clock) -> Response {
        let html = "text/html; charset=utf-8";
        let page = |body: String| Response::new(200, html, body);
        let missing = || Response::new(404, html, "<p>There is no such page.</p>");
        match request.path() {
            "/robots.txt" if request.host == HOST => {
                Response::new(200, "text/plain", "User-agent: *\nDisallow: /private/\n")
            }
            "/robots.txt" => missing(),
            "/" if request.host == HOST && request.etag == Some(ETAG) => {
                Response::new(304, html, "").with("ETag", ETAG)
            }
            "/" if request.host == HOST => page(format!(
                "<title>Views</title><p>{TEXT}</p><a href=/packed>1</a> <a href=/changing>2</a>
                 <a href=/noisy>3</a> <a href=/private/x>4</a> <a href=/moved>5</a>
                 <a href=/picture>6</a> <a href='/odd%1b%5b2J?q=%e2%80%ae'>7</a> <a href=/dead>8</a>
                 <a href=/shouting>9</a> <a href='http://{OTHER}:{}/'>10</a>",
                request.port
            ))
            .with("ETag", ETAG),
            "/" => page(format!("<title>Other</title><p>{TEXT}</p>")),
            "/packed" => {
                let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
                write!(gzip, "<title>Packed</title><p>{TEXT}</p>").unwrap();
                Response::new(200, html, gzip.finish().unwrap()).with("Content-Encoding", "gzip")
            }
            "/changing" => {
                let word = (at * 4.0) as u64;
                page(format!(
                    "<title>News</title><p>{TEXT} It is number {word} of them. <b>News{word} for people{word} who read{word}</b></p>"
                ))
            }
            "/noisy" => page(format!("<!-- {at} --><title>Noise</title><p>{TEXT}</p>")),
            "/moved" => Response::new(301, html, "").with("Location", "/packed"),
            "/picture" => Response::new(200, "image/png", b"\x89PNG\r\n\x1a\n\0\0\x1b[2J".to_vec()),
            "/shouting" => page(format!("<title>Loud</title><p>{TEXT}\x1b]0;owned\x07</p>"))
                .with("X-Loud", "a\u{9b}31mb"),
            path if path.starts_with("/odd") => page(format!("<title>Odd</title><p>{TEXT}</p>")),
            _ => missing(),
        }
    }
}

/// The web, being served, and a configuration for it.
pub struct Scene {
    pub running: Running,
    pub directory: TempDir,
}

impl Scene {
    pub fn open() -> Self {
        let running = Server::start(Arc::new(Corners), Clock::starting_now(SPEED)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let scene = Self { running, directory };
        let config = format!(
            r#"
            seeds = ["{}"]
            data = "{}"
            identity.contact = "https://views.example/"
            politeness.interval = {{ rule = "fixed", seconds = 0.02 }}
            revisit = {{ budget = "30/second", first_guess_days = 1e-5, least_interval = "0", least_chance = 0 }}
            fetch.allow_networks = ["127.0.0.0/8"]
            fetch.hosts = {{ "{HOST}" = ["127.77.0.1"], "{OTHER}" = ["127.77.0.2"] }}
            "#,
            scene.url("/"),
            scene.data().display(),
        );
        std::fs::write(scene.config(), config).unwrap();
        scene
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{HOST}:{}{path}", self.running.port)
    }

    pub fn config(&self) -> PathBuf {
        self.directory.path().join("crawl.toml")
    }

    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A crawl that runs until it is dropped or interrupted.
    pub fn crawl(&self) -> Process {
        let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["crawl", "-c"])
            .arg(self.config())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Process(child.unwrap())
    }

    /// A command with the configuration of this crawl.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let config = self.config();
        let (command, rest) = arguments.split_at(1 + usize::from(arguments[0] == "archive"));
        let with = ["-c", config.to_str().unwrap()];
        evercrawl(&[command, &with, rest].concat())
    }

    /// Its standard output, if it succeeds.
    pub fn say(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until a command's output contains something.
    #[track_caller]
    pub fn wait_for(&self, arguments: &[&str], what: &str) -> String {
        let mut text = String::new();
        wait_until(|| {
            text = String::from_utf8_lossy(&self.run(arguments).stdout).into_owned();
            text.contains(what)
        });
        text
    }
}

/// Waits for something, not for ever.
#[track_caller]
pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "it never happens"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A process of ours; does not outlive the test.
pub struct Process(pub Child);

impl Process {
    /// Ctrl-C, and what comes of it.
    pub fn interrupt(mut self) -> Option<i32> {
        self.signal("-INT");
        self.0.wait().unwrap().code()
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn evercrawl(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(arguments)
        .output()
        .unwrap()
}

/// An output of an argument that is a path.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
