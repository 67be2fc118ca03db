//! What people do who watch pages: ask for one now, see what differs, follow a feed, change the
//! seeds while the crawl runs.

mod asking;
#[path = "../crawling/mod.rs"]
mod crawling;
mod keeping;
#[path = "../../../storage/tests/python/mod.rs"]
mod python;
mod seeds;
mod watch;
mod webhooks;

use crawling::answers::{Answers, answer, html, missing};
use crawling::{Crawler, Process};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A command with the configuration of the crawl.
fn run(crawler: &Crawler, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    let words = if arguments[0] == "seeds" { 2 } else { 1 };
    command
        .args(&arguments[..words])
        .arg("-c")
        .arg(crawler.config());
    command.args(&arguments[words..]).output().unwrap()
}

#[track_caller]
fn say(crawler: &Crawler, arguments: &[&str]) -> String {
    let output = run(crawler, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

const TEXT: &str =
    "A pot that keeps what is in it warm for as long as anybody likes to eat from it.";

/// A shop with one page, whose price is what the test says.
fn shop(last: u8) -> (Answers, Arc<AtomicUsize>) {
    let price = Arc::new(AtomicUsize::new(19));
    let now = price.clone();
    let shop = Answers::new(last, move |path| match path {
        "/robots.txt" => missing(),
        _ => html(&format!(
            "<title>Pot</title><main><h1>Pot</h1><p>Now {},99 EUR only</p><p>{TEXT}</p></main>",
            now.load(Ordering::Relaxed)
        )),
    });
    (shop, price)
}
