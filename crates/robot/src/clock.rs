//! What time it is: for waiting, and for records.
//!
//! Waiting goes by the crawl's own clock, which never steps: seconds that passed on the machine,
//! suspension included, counted on from where the crawl was when it was stopped. It shows the same
//! as the wall unless somebody set that. Records bear the wall's time, as everybody reads them.

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// An instant on both clocks, in seconds since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Now {
    /// For waiting: never runs backwards, never jumps.
    pub at: f64,
    /// For records.
    pub wall: f64,
}

impl Now {
    /// The instant on the crawl's clock of something that the wall dates.
    pub fn from_wall(self, wall: f64) -> f64 {
        self.at - (self.wall - wall)
    }

    /// The wall's time of an instant on the crawl's clock.
    pub fn to_wall(self, at: f64) -> f64 {
        self.wall - (self.at - at)
    }
}

/// Where the crawl's clock stood, so that it goes on from there after a restart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stood {
    /// What it showed.
    at: f64,
    /// The machine's time since it booted.
    uptime: f64,
    /// Which boot that was.
    boot: String,
}

/// The crawl's clock.
#[derive(Clone, Debug)]
pub struct Clock {
    /// What it showed when the machine booted.
    offset: f64,
    boot: String,
}

impl Clock {
    /// Starts the clock, or lets it go on from where it stood.
    pub fn start(stood: Option<&Stood>) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let boot = boot.unwrap_or_default().trim().to_owned();
        let offset = offset(stood, &boot, wall(), uptime());
        Self { offset, boot }
    }

    /// A clock for virtual time: it is not read, but knows where it stands.
    pub fn virtually(boot: &str) -> Self {
        Self {
            offset: 0.0,
            boot: boot.to_owned(),
        }
    }

    /// What it shows.
    pub fn now(&self) -> Now {
        Now {
            at: self.offset + uptime(),
            wall: wall(),
        }
    }

    /// Where it stands.
    pub fn stands(&self, now: Now) -> Stood {
        Stood {
            at: now.at,
            uptime: now.at - self.offset,
            boot: self.boot.clone(),
        }
    }
}

/// What the crawl's clock showed, or would have shown, at the machine's boot. Within one boot the
/// machine knows how long the crawl was stopped; else the wall has to be believed, unless that would
/// make the clock run backwards.
fn offset(stood: Option<&Stood>, boot: &str, wall: f64, uptime: f64) -> f64 {
    match stood {
        Some(stood) if !boot.is_empty() && stood.boot == boot && stood.uptime <= uptime => {
            stood.at - stood.uptime
        }
        Some(stood) => wall.max(stood.at) - uptime,
        None => wall - uptime,
    }
}

fn wall() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

/// Seconds since the machine booted, those asleep included.
fn uptime() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stood(boot: &str) -> Stood {
        Stood {
            at: 1000.0,
            uptime: 100.0,
            boot: boot.into(),
        }
    }

    #[test]
    fn within_a_boot_no_step_of_the_wall_counts() {
        for wall in [0.0, 1010.0, 9e9] {
            let offset = offset(Some(&stood("a")), "a", wall, 110.0);
            assert_eq!(offset + 110.0, 1010.0);
        }
    }

    #[test]
    fn after_a_boot_the_wall_counts_but_never_backwards() {
        assert_eq!(offset(Some(&stood("a")), "b", 5000.0, 10.0) + 10.0, 5000.0);
        assert_eq!(offset(Some(&stood("a")), "b", 500.0, 10.0) + 10.0, 1000.0);
        assert_eq!(offset(None, "b", 500.0, 10.0) + 10.0, 500.0);
    }

    #[test]
    fn it_goes_on_from_where_it_stood() {
        let clock = Clock::start(None);
        let before = clock.now();
        let after = Clock::start(Some(&clock.stands(before))).now();
        assert!(after.at >= before.at && after.at < before.at + 1.0);
        assert!((before.at - before.wall).abs() < 0.1);
    }
}
