//! Instants as people write them, and as we do: RFC 3339 in UTC.

use crate::units::Seconds;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};
use storage::Time;
use storage::archive::date;

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

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&date::iso(self.0))
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
        let trimmed = text.trim();
        let past = trimmed.strip_suffix("ago").map(str::trim);
        let found = match past {
            Some(past) => {
                (past.parse().ok()).map(|Seconds(past)| Self(Self::now().0 - (past * 1e3) as Time))
            }
            None => absolute(trimmed).map(Self),
        };
        found.ok_or_else(|| {
            format!(
                "'{text}' is not a time: expected 2026-11-16, 2026-11-16T03:15:42Z, \
                 2026-11-16T03:15+01:00, or '2h ago' (units: s, m, h, d)"
            )
        })
    }
}

/// `YYYY-MM-DD`, with or without a time; without a zone it is UTC.
fn absolute(text: &str) -> Option<Time> {
    let (day, clock) = match text.split_once(['T', 't', ' ']) {
        Some((day, clock)) => (day, Some(clock)),
        None => (text, None),
    };
    if !has_shape(day, "dddd-dd-dd") {
        return None;
    }
    let (clock, zone) = clock.map_or(Some(("00:00:00", 0)), split_zone)?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let whole = match whole.len() {
        5 => format!("{whole}:00"),
        _ => whole.to_owned(),
    };
    let is_number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !has_shape(&whole, "dd:dd:dd") || !is_number {
        return None;
    }
    let time = date::parse(&format!("{day}T{whole}.{fraction}Z"))?;
    // the 31st of February is another day
    date::iso(time).starts_with(day).then_some(time - zone)
}

/// Takes `Z` or `+01:00` off; milliseconds ahead of UTC.
fn split_zone(clock: &str) -> Option<(&str, Time)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else {
        return Some((clock, 0));
    };
    let (clock, zone) = clock.split_at(at);
    if !has_shape(&zone[1..], "dd:dd") {
        return None;
    }
    let (hours, minutes): (Time, Time) = (zone[1..3].parse().ok()?, zone[4..6].parse().ok()?);
    let ahead = (hours * 60 + minutes) * 60_000;
    let valid = hours < 24 && minutes < 60;
    valid.then_some((clock, if zone.starts_with('-') { -ahead } else { ahead }))
}

/// Whether digits stand where the shape has a `d`, and its own characters elsewhere.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(found, wanted)| {
            if wanted == b'd' {
                found.is_ascii_digit()
            } else {
                found == wanted
            }
        })
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
        let hour: Moment = "1h ago".parse().unwrap();
        let behind = Moment::now().0 - hour.0;
        assert!((3_600_000..3_610_000).contains(&behind), "{behind}");
    }

    #[test]
    fn nonsense_is_refused_and_the_expected_form_named() {
        for text in [
            "",
            "yesterday",
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
