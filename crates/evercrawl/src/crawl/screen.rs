//! How a crawl shows itself: a view that stays in place on a terminal, lines elsewhere.

use crate::moment::duration;
use crate::terminal::plain;
use anyhow::Result;
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
    drawn: usize,
    last: Option<Instant>,
}

impl Screen {
    pub fn new(json: bool) -> Self {
        Self {
            json,
            terminal: io::stderr().is_terminal() && !json,
            drawn: 0,
            last: None,
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
        if is_early || !status.running {
            return;
        }
        self.last = Some(Instant::now());
        // a closed terminal is no reason to stop crawling
        let _ = if self.terminal {
            self.draw(status)
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

    fn draw(&mut self, status: &Status) -> io::Result<()> {
        let text = frame(status);
        let mut out = io::stderr().lock();
        if self.drawn > 0 {
            write!(out, "\x1b[{}A\x1b[0J", self.drawn)?;
        }
        self.drawn = text.lines().count();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// The last figures.
    pub fn end(mut self, status: &Status) -> Result<()> {
        if self.terminal {
            self.draw(status)?;
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
        "{} pages known, {} fetched, {} waiting; {} requests ({:.1}/s), {}; {} changes",
        status.pages_known,
        status.pages_fetched,
        status.new_waiting,
        status.requests,
        status.requests_per_second,
        bytes(status.bytes),
        status.changes,
    );
    if let Some(freshness) = status.estimated_freshness {
        let _ = write!(line, "; estimated freshness {:.1} %", 100.0 * freshness);
    }
    if !status.failures.is_empty() {
        let _ = write!(line, "; no copy: {}", causes(status, ", "));
    }
    line
}

/// Why there was no copy, and how often.
fn causes(status: &Status, between: &str) -> String {
    let causes = status.failures.iter();
    let causes: Vec<String> = causes.map(|(why, n)| format!("{why} {n}")).collect();
    causes.join(between)
}

/// The hosts that answer slowest.
pub fn slowest(status: &Status) -> String {
    let slow = status.slowest_hosts.iter().take(3);
    let slow = slow.map(|(host, t)| format!("{} {:.0} ms", plain(host), 1e3 * t));
    slow.collect::<Vec<_>>().join(" · ")
}

/// The whole view.
fn frame(status: &Status) -> String {
    let s = status;
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    row(
        "pages",
        format!(
            "{} known · {} fetched · {} waiting · {} gone · {} excluded",
            s.pages_known, s.pages_fetched, s.new_waiting, s.pages_gone, s.pages_excluded
        ),
    );
    row(
        "requests",
        format!(
            "{} · {:.1}/s · {} under way · {}",
            s.requests,
            s.requests_per_second,
            s.under_way,
            bytes(s.bytes)
        ),
    );
    row(
        "revisits",
        format!(
            "{} of {:.3}/s allowed · {} changes · {} minor · {} due",
            s.revisits, s.revisit_budget, s.changes, s.minor_changes, s.due_waiting
        ),
    );
    if let Some(freshness) = s.estimated_freshness {
        row(
            "freshness",
            format!(
                "{:.1} % estimated{} · {} copies never revisited",
                100.0 * freshness,
                s.freshness_interval
                    .map_or_else(String::new, |(low, high)| {
                        format!(" ({:.1} to {:.1} %)", 100.0 * low, 100.0 * high)
                    }),
                s.never_revisited
            ),
        );
    }
    if let Some(next) = s.next_due_in {
        row("next due", format!("in {}", duration(next)));
    }
    if !s.failures.is_empty() {
        row("no copy", causes(s, " · "));
    }
    if !s.slowest_hosts.is_empty() {
        row("slowest", slowest(s));
    }
    text
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
