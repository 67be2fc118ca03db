//! The live view in a real terminal, which tmux lends.

use super::crawling::{Crawler, serve};
use simulation::web::WebSpec;
use std::process::Command;
use std::time::{Duration, Instant};

/// A terminal of its own, gone when dropped.
struct Terminal {
    name: String,
}

impl Terminal {
    /// Runs a command in a terminal of so many columns and 24 rows; none where there is no tmux.
    fn run(name: &str, columns: u32, command: &str) -> Option<Self> {
        let terminal = Self {
            name: format!("evercrawl-{}-{name}", std::process::id()),
        };
        // what it printed stays to be seen
        let command = format!("{command}; echo ended; sleep 100");
        let started = terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "s",
            "-x",
            &columns.to_string(),
            "-y",
            "24",
            &command,
        ]);
        if started.is_none() {
            eprintln!("skipped: there is no tmux to lend a terminal (scripts/test installs it)");
        }
        started.map(|_| terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Option<String> {
        let output = Command::new("tmux")
            .args(["-L", &self.name])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .ok()?;
        assert!(output.status.success(), "tmux {arguments:?}: {output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    /// What is on the screen.
    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "s"]).unwrap()
    }

    fn resize(&self, columns: u32) {
        self.tmux(&[
            "resize-window",
            "-t",
            "s",
            "-x",
            &columns.to_string(),
            "-y",
            "24",
        ]);
    }

    fn wait_for(&self, what: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let shown = self.shown();
            if what(&shown) {
                return shown;
            }
            assert!(began.elapsed() < Duration::from_mins(1), "{shown}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .args(["-L", &self.name, "kill-server"])
            .output();
    }
}

const ROWS: [&str; 6] = [
    "first pass",
    "pages",
    "speed",
    "changes",
    "freshness",
    "now",
];

/// Every row of the view once, and nothing wider than the terminal.
fn is_tidy(shown: &str, columns: usize) {
    for row in ROWS {
        let is_row = |line: &&str| line.trim_start().starts_with(row);
        assert_eq!(shown.lines().filter(is_row).count(), 1, "{row} in\n{shown}");
    }
    let widest = shown
        .lines()
        .map(|line| line.trim_end().chars().count())
        .max();
    assert!(widest <= Some(columns), "{shown}");
    assert!(shown.lines().count() <= 24, "{shown}");
}

#[test]
fn the_view_fits_every_terminal() {
    let spec = WebSpec {
        largest: 100,
        hosts: 6,
        ..WebSpec::default()
    };
    let (web, running) = serve(&spec, 1.0);
    for columns in [60, 80, 200] {
        let crawler = Crawler::of_web(&web, &running).delay(0.2);
        let command = format!(
            "{} crawl -c {}",
            env!("CARGO_BIN_EXE_evercrawl"),
            crawler.config().display()
        );
        let Some(terminal) = Terminal::run(&columns.to_string(), columns, &command) else {
            return;
        };
        let shown =
            terminal.wait_for(|shown| shown.contains(" left") && shown.contains("held up by"));
        is_tidy(&shown, columns as usize);
        for word in ["█", "░", "%", "pages/s", "requests/s", "estimated", "95 %"] {
            assert!(shown.contains(word), "{word} in\n{shown}");
        }
        // figures come and go
        for _ in 0..8 {
            std::thread::sleep(Duration::from_millis(300));
            is_tidy(&terminal.shown(), columns as usize);
        }
        // as do terminals
        for columns in [columns / 2 + 10, columns + 20, 50] {
            terminal.resize(columns);
            std::thread::sleep(Duration::from_millis(1500));
            is_tidy(&terminal.shown(), columns as usize);
        }
        terminal.resize(100);
        terminal.tmux(&["send-keys", "-t", "s", "C-c"]);
        let shown = terminal.wait_for(|shown| shown.contains("ended"));
        assert!(!shown.contains("first pass"), "{shown}");
        assert!(shown.contains("pages known"), "{shown}");
    }
}

#[test]
fn there_is_no_view_where_there_is_no_terminal() {
    let spec = WebSpec {
        largest: 6,
        hosts: 2,
        ..WebSpec::default()
    };
    let (web, running) = serve(&spec, 1.0);
    let mut crawler = Crawler::of_web(&web, &running);
    let ended = crawler.start(&["--for", "2s"]).within(20);
    let said = ended.err + &ended.out;
    assert!(
        !said.contains('\x1b') && !said.contains("first pass"),
        "{said}"
    );
}
