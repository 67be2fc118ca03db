//! Instants as people write them, and as we do: RFC 3339 in UTC.

use ground::{Seconds, calendar};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};
use storage::Time;

/// An instant, to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Time);

impl Moment {
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |since| since.as_millis() as Time))
    }

    /// Seconds since the epoch.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e3
    }

    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e3) as Time)
    }
}

impl Moment {
    /// Days begin at midnight in UTC, as all times are told; `2d` is two days ago.
    fn read(text: &str, now: Self) -> Option<Self> {
        const DAY: Time = 86_400_000;
        let today = now.0 - now.0.rem_euclid(DAY);
        match text.to_ascii_lowercase().as_str() {
            "now" => return Some(now),
            "today" => return Some(Self(today)),
            "yesterday" => return Some(Self(today - DAY)),
            _ => {}
        }
        let past = text.strip_suffix("ago").unwrap_or(text).trim();
        let past: Option<Seconds> = past.parse().ok();
        past.filter(|_| text != "0")
            .map(|Seconds(past)| Self(now.0 - (past * 1e3) as Time))
            .or_else(|| calendar::instant(text).map(Self))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&calendar::iso(self.0))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text.trim(), Self::now()).ok_or_else(|| {
            format!(
                "'{text}' is not a time: expected 2026-11-16, 2026-11-16T03:15:42Z, \
                 2026-11-16T03:15+01:00, 2d, '2h ago' (units: s, m, h, d, w), today or yesterday"
            )
        })
    }
}

/// A length of time as people say it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form() {
        let check = |text: &str, iso: &str| {
            let moment: Moment = text.parse().expect(text);
            assert_eq!(moment.to_string(), iso, "{text}");
        };
        check("2026-11-16", "2026-11-16T00:00:00.000Z");
        check("2026-11-16T03:15:42Z", "2026-11-16T03:15:42.000Z");
        check("2026-11-16 03:15", "2026-11-16T03:15:00.000Z");
        check("2026-11-16T03:15:42.5+01:30", "2026-11-16T01:45:42.500Z");
        check("2026-11-16T03:15:42-05:00", "2026-11-16T08:15:42.000Z");
        let now: Moment = "2026-11-16T03:15:42Z".parse().unwrap();
        for (text, iso) in [
            ("2d", "2026-11-14T03:15:42.000Z"),
            ("2 days ago", "2026-11-14T03:15:42.000Z"),
            ("90m", "2026-11-16T01:45:42.000Z"),
            ("1w ago", "2026-11-09T03:15:42.000Z"),
            ("yesterday", "2026-11-15T00:00:00.000Z"),
            ("Today", "2026-11-16T00:00:00.000Z"),
            ("now", "2026-11-16T03:15:42.000Z"),
        ] {
            assert_eq!(Moment::read(text, now).unwrap().to_string(), iso, "{text}");
        }
        let hour: Moment = "1h ago".parse().unwrap();
        let behind = Moment::now().0 - hour.0;
        assert!((3_600_000..3_610_000).contains(&behind), "{behind}");
    }

    #[test]
    fn nonsense_is_refused_and_the_expected_form_named() {
        for text in [
            "",
            "tomorrow",
            "2x",
            "2026-02-31",
            "2026-13-01",
            "2026-11-16T25:00:00Z",
            "2026-11-16T03:15:42Zulu",
            "2026-11-16T03:15:42+1",
            "2026-11-16T",
            "2 ago",
            "ago",
            "2026-11-16T03:15:42+99:00",
        ] {
            let message = text.parse::<Moment>().unwrap_err();
            assert!(message.contains("2h ago"), "{text}");
        }
    }
}
