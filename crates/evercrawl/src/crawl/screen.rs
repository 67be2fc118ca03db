//! How a crawl shows itself: a view that stays in place on a terminal, lines elsewhere.

use super::view::Pace;
use crate::moment::duration;
use crate::terminal::{count, grouped, plain};
use anyhow::Result;
use desk::live;
use robot::view::Status;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Lines are this far apart where nobody watches.
const LINES_EVERY: Duration = Duration::from_secs(10);
const FRAMES_EVERY: Duration = Duration::from_millis(500);

pub struct Screen {
    json: bool,
    terminal: bool,
    /// Nothing is said where nobody watches.
    quiet: bool,
    last: Option<Instant>,
    pace: Pace,
}

impl Screen {
    pub fn new(json: bool) -> Self {
        Self {
            json,
            terminal: io::stderr().is_terminal() && !json,
            quiet: false,
            last: None,
            pace: Pace::default(),
        }
    }

    /// For those who have more to say than figures: these are for a terminal only.
    pub fn quiet(json: bool) -> Self {
        Self {
            quiet: true,
            ..Self::new(json)
        }
    }

    /// Shows the state, when it is time to.
    pub fn show(&mut self, status: &Status) {
        let every = if self.terminal {
            FRAMES_EVERY
        } else {
            LINES_EVERY
        };
        let is_early = self.last.is_some_and(|last| last.elapsed() < every);
        // there are no figures before it has begun
        if is_early || !status.running || self.quiet && !self.terminal {
            return;
        }
        self.last = Some(Instant::now());
        // a closed terminal is no reason to stop crawling
        let _ = if self.terminal {
            self.pace.note(status);
            live::show(super::view::lines(status, &self.pace, live::size().0))
        } else if self.json {
            writeln!(
                io::stderr(),
                "{}",
                serde_json::to_string(status).unwrap_or_default()
            )
        } else {
            writeln!(io::stderr(), "{}", line(status))
        };
    }

    /// The last figures.
    pub fn end(&self, status: &Status) -> Result<()> {
        if self.terminal {
            live::clear()?;
        }
        if self.quiet {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string(status)?)?;
        } else {
            writeln!(out, "{}", line(status))?;
        }
        Ok(())
    }
}

/// One line.
pub fn line(status: &Status) -> String {
    let mut line = format!(
        "{} known, {} fetched, {} waiting; {} ({:.1}/s), {}; {}",
        count(status.pages_known, "page"),
        grouped(status.pages_fetched as usize),
        grouped(status.new_waiting as usize),
        count(status.requests, "request"),
        status.requests_per_second,
        bytes(status.bytes),
        count(status.changes, "change"),
    );
    let left = status.first_pass_seconds;
    if let Some(left) = left.filter(|_| status.running && status.new_waiting > 0) {
        // servers may be slower than politeness allows
        let _ = write!(line, "; first pass: at least {} left", duration(left));
    }
    if let Some(freshness) = status.estimated_freshness {
        let _ = write!(line, "; estimated freshness {:.1} %", 100.0 * freshness);
        // a number alone would hide how little is known after a first visit
        if let Some((low, high)) = status.freshness_interval {
            let _ = write!(line, " (95 %: {:.1} to {:.1} %)", 100.0 * low, 100.0 * high);
        }
    }
    if !status.failures.is_empty() {
        let _ = write!(line, "; no copy: {}", causes(status).join(", "));
    }
    if status.cut_bodies > 0 {
        let _ = write!(line, "; {} cut", count(status.cut_bodies, "copy"));
    }
    line
}

/// Why there was no copy, and how often.
pub fn causes(status: &Status) -> Vec<String> {
    let causes = status.failures.iter();
    let said = |(why, n): (&String, &u64)| format!("{} {}", plain(why), grouped(*n as usize));
    causes.map(said).collect()
}

/// The hosts that answer slowest.
pub fn slowest(status: &Status) -> String {
    let slow = status.slowest_hosts.iter().take(3);
    let slow = slow.map(|(host, t)| format!("{} {:.0} ms", plain(host), 1e3 * t));
    slow.collect::<Vec<_>>().join(" · ")
}

/// Bytes as people say them.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_long_the_first_pass_takes() {
        let mut status = Status {
            running: true,
            new_waiting: 20,
            first_pass_seconds: Some(900.0),
            ..Status::default()
        };
        assert!(line(&status).contains("first pass: at least 15 min left"));
        status.new_waiting = 0;
        assert!(!line(&status).contains("left"));
    }

    #[test]
    fn a_line_tells_how_little_is_known_of_freshness() {
        let status = Status {
            estimated_freshness: Some(0.975),
            freshness_interval: Some((0.662, 1.0)),
            ..Status::default()
        };
        let said = line(&status);
        let wanted = "estimated freshness 97.5 % (95 %: 66.2 to 100.0 %)";
        assert!(said.contains(wanted), "{said}");
    }
}
