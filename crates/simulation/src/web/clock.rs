//! Accelerated time: how the web's days follow from the wall clock.

use ground::calendar;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_SECONDS: f64 = 86_400.0;

/// Maps wall time to web time. Web time is counted in days from the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// When web time is zero.
    pub epoch: SystemTime,
    /// Seconds of web time that pass in one second of wall time.
    pub speed: f64,
}

impl Clock {
    /// A clock that is at zero now.
    pub fn starting_now(speed: f64) -> Self {
        let epoch = SystemTime::now();
        Self { epoch, speed }
    }

    /// Web time so many microseconds after the epoch.
    pub fn web(&self, micros: u64) -> f64 {
        micros as f64 * 1e-6 * self.speed / DAY_SECONDS
    }

    /// Days of web time that pass in so many seconds of wall time.
    pub fn days(&self, wall_seconds: f64) -> f64 {
        wall_seconds * self.speed / DAY_SECONDS
    }

    /// Seconds of wall time that so many days of web time take.
    pub fn wall_seconds(&self, days: f64) -> f64 {
        days * DAY_SECONDS / self.speed
    }

    /// The wall time of an instant of web time. The web is dated by the wall: the robot knows of no
    /// other time.
    pub fn wall(&self, days: f64) -> SystemTime {
        let seconds = self.wall_seconds(days);
        let shift = Duration::from_secs_f64(seconds.abs());
        if seconds < 0.0 {
            self.epoch.checked_sub(shift).unwrap_or(UNIX_EPOCH)
        } else {
            self.epoch + shift
        }
    }

    /// The wall time of an instant of web time in whole seconds since 1970, rounded down as HTTP
    /// dates are.
    pub fn unix(&self, days: f64) -> u64 {
        let since = self.wall(days).duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    }
}

/// An HTTP date.
pub fn http_date(unix: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix))
}

/// A date as sitemaps and Atom write it, with microseconds.
pub fn iso_date(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = calendar::date((since.as_secs() / 86_400).cast_signed());
    let second = since.as_secs() % 86_400;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let (second, micro) = (second % 60, since.subsec_micros());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_time_runs_at_its_speed_and_is_dated_by_the_wall() {
        let clock = Clock {
            epoch: UNIX_EPOCH + Duration::from_secs(1_000_000),
            speed: 3600.0,
        };
        assert!((clock.web(24_000_000) - 1.0).abs() < 1e-12);
        assert!((clock.days(12.0) - 0.5).abs() < 1e-12);
        assert_eq!(clock.unix(1.0), 1_000_024);
        assert_eq!(clock.unix(-1.0), 999_976);
    }

    #[test]
    fn dates_are_written_as_the_calendar_has_them() {
        let date = |unix: u64| iso_date(UNIX_EPOCH + Duration::from_secs(unix));
        assert_eq!(date(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00.000000Z");
        assert_eq!(date(1_709_251_199), "2024-02-29T23:59:59.000000Z");
        assert_eq!(date(1_767_225_600), "2026-01-01T00:00:00.000000Z");
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
