//! What a crawl looks like on a terminal: how far the first pass has come, what was found, what it does now.

use super::screen::{bytes, causes};
use crate::moment::duration;
use crate::terminal::{count, grouped, named, plain};
use desk::live::{bar, row};
use robot::view::Status;
use std::collections::VecDeque;

/// Seconds that a speed is taken over.
const LATELY: f64 = 15.0;
/// The bar is no wider.
const WIDEST: usize = 50;

/// How fast first visits have been made of late.
#[derive(Default)]
pub struct Pace(VecDeque<(f64, u64)>);

impl Pace {
    pub fn note(&mut self, status: &Status) {
        let seen = status.first_visits;
        self.0.push_back((status.seconds, seen));
        while self.0.len() > 2 && self.0[1].0 < status.seconds - LATELY {
            self.0.pop_front();
        }
    }

    /// Pages a second.
    fn per_second(&self) -> f64 {
        let (Some(first), Some(last)) = (self.0.front(), self.0.back()) else {
            return 0.0;
        };
        let pages = last.1.saturating_sub(first.1) as f64;
        if last.0 > first.0 {
            pages / (last.0 - first.0)
        } else {
            0.0
        }
    }

    /// Seconds until every page known was visited once: as fast as of late, and no faster than politeness
    /// allows.
    fn left(&self, status: &Status) -> Option<f64> {
        let polite = status.first_pass_seconds;
        let speed = self.per_second();
        let at_this_speed = (speed > 0.0).then(|| status.new_waiting as f64 / speed);
        match (at_this_speed, polite) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    }
}

/// The view, line by line; it is up to the terminal to cut what is too long all the same.
pub fn lines(status: &Status, pace: &Pace, columns: usize) -> Vec<String> {
    let s = status;
    let number = |n: u64| grouped(n as usize);
    let mut lines = vec![first_pass(s, pace, columns)];
    let mut add = |name: &str, items: &[String]| lines.extend(row(name, items, columns));
    add(
        "pages",
        &[
            format!("{} known", number(s.pages_known)),
            format!("{} fetched", number(s.pages_fetched)),
            format!("{} waiting", number(s.new_waiting)),
            format!("{} gone", number(s.pages_gone)),
            format!("{} excluded", number(s.pages_excluded)),
        ],
    );
    add(
        "speed",
        &[
            format!("{:.1} pages/s", pace.per_second()),
            format!("{:.1} requests/s", s.requests_per_second),
            format!("{} under way", number(s.under_way)),
            bytes(s.bytes),
        ],
    );
    add(
        "changes",
        &[
            format!("{} found", number(s.changes)),
            format!("{} minor", number(s.minor_changes)),
            format!("in {}", count(s.revisits, "revisit")),
            format!("{} due", number(s.due_waiting)),
        ],
    );
    add("freshness", &freshness(s));
    if !s.failures.is_empty() {
        add("no copy", &causes(s));
    }
    if s.cut_bodies + s.cut_links > 0 {
        let copies = count(s.cut_bodies, "copy");
        let links = count(s.cut_links, "link");
        add("cut", &[copies, format!("{links} too long")]);
    }
    let held = |host: &robot::view::HeldUp| {
        format!(
            "{}: {} new, {}",
            plain(&host.host),
            number(host.new_waiting),
            duration(host.seconds)
        )
    };
    if !s.held_up.is_empty() {
        let held: Vec<String> = s.held_up.iter().map(held).collect();
        add("held up by", &held);
    }
    add("now", &[now(s)]);
    lines
}

fn first_pass(s: &Status, pace: &Pace, columns: usize) -> String {
    let seen = s.pages_known.saturating_sub(s.new_waiting);
    let share = seen as f64 / s.pages_known.max(1) as f64;
    let left = match (s.new_waiting, pace.left(s)) {
        (0, _) => "done".to_owned(),
        (_, Some(left)) => format!("about {} left", duration(left)),
        (_, None) => "starting".to_owned(),
    };
    // all seen is not said before it is so
    let said = format!("{:.0} %  {left}", (100.0 * share).floor());
    let room = columns.saturating_sub(13 + said.chars().count() + 3);
    let bar = if room >= 8 {
        bar(share, room.min(WIDEST)) + " "
    } else {
        String::new()
    };
    format!("  {:<10} {bar}{said}", "first pass")
}

fn freshness(s: &Status) -> Vec<String> {
    let Some(freshness) = s.estimated_freshness else {
        return vec!["no copies yet".into()];
    };
    let interval = s
        .freshness_interval
        .map_or_else(String::new, |(low, high)| {
            format!(" (95 %: {:.1} to {:.1} %)", 100.0 * low, 100.0 * high)
        });
    let never = s.never_revisited;
    vec![
        format!("{:.1} % estimated{interval}", 100.0 * freshness),
        format!(
            "{} {} never revisited",
            grouped(never as usize),
            named(never, "copy")
        ),
    ]
}

/// What it does now.
fn now(s: &Status) -> String {
    if let Some(first) = s.asked_now.first() {
        let more = s.under_way.saturating_sub(1);
        let others = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        return format!("asking {}{others}", plain(first));
    }
    match (s.held_up.first(), s.next_due_in) {
        (Some(host), _) => format!(
            "waiting for {}: {}",
            plain(&host.host),
            plain(&host.waits_for)
        ),
        (None, Some(next)) => format!("waiting; the next revisit is due in {}", duration(next)),
        (None, None) => "waiting".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot::view::HeldUp;

    fn busy() -> Status {
        Status {
            running: true,
            seconds: 60.0,
            pages_known: 2380,
            pages_fetched: 1234,
            new_waiting: 1100,
            first_visits: 1234,
            first_pass_seconds: Some(600.0),
            estimated_freshness: Some(0.931),
            freshness_interval: Some((0.9, 0.95)),
            failures: [("missing".into(), 2), ("robots".into(), 8)].into(),
            held_up: vec![HeldUp {
                host: "https://slow.example.org".into(),
                new_waiting: 120,
                seconds: 600.0,
                waits_for: "its interval, 4.0 s more".into(),
            }],
            ..Status::default()
        }
    }

    #[test]
    fn the_first_pass_has_a_bar_and_an_end() {
        let mut pace = Pace::default();
        for second in 0..20u32 {
            let status = Status {
                seconds: f64::from(second),
                first_visits: 2 * u64::from(second),
                ..Status::default()
            };
            pace.note(&status);
        }
        let lines = lines(&busy(), &pace, 80);
        assert!(
            lines[0].contains("█") && lines[0].contains("░"),
            "{}",
            lines[0]
        );
        // as slow as politeness, or as of late: 1,100 pages at 2 a second
        assert!(lines[0].contains("53 %  about 10 min left"), "{}", lines[0]);
        let text = lines.join("\n");
        for word in [
            "2.0 pages/s",
            "93.1 % estimated (95 %: 90.0 to 95.0 %)",
            "slow.example.org: 120 new",
            "its interval, 4.0 s more",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn it_fits_into_24_rows_of_60_columns() {
        for columns in [60, 80, 200] {
            let lines = lines(&busy(), &Pace::default(), columns);
            assert!(lines.len() < 24, "{lines:?}");
            assert!(
                lines.iter().all(|line| line.chars().count() < columns),
                "{lines:?}"
            );
        }
    }
}
