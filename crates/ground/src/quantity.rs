//! Quantities with units, one grammar for arguments and configuration: a number and a unit of time
//! (`15s`, `2d`), or a number per unit of time (`3/second`, `2000/day`).

use std::str::FromStr;

/// Seconds in a day, the unit of time of most rates.
pub const DAY: f64 = 86_400.0;

/// The units of time by the names that people give them, in seconds.
const UNITS: [(&[&str], f64); 6] = [
    (&["ms"], 1e-3),
    (&["s", "sec", "second", "seconds"], 1.0),
    (&["m", "min", "minute", "minutes"], 60.0),
    (&["h", "hour", "hours"], 3600.0),
    (&["d", "day", "days"], DAY),
    (&["w", "week", "weeks"], 7.0 * DAY),
];

fn unit(name: &str) -> Option<f64> {
    let mut found = UNITS.iter().filter(|(names, _)| names.contains(&name));
    found.next().map(|&(_, seconds)| seconds)
}

/// A text that is no quantity; the message says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoQuantity(String);

/// So many per unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    count: f64,
    /// The unit.
    seconds: f64,
}

impl Rate {
    /// How many a second.
    pub fn per_second(self) -> f64 {
        self.count / self.seconds
    }

    /// How many a day.
    pub fn per_day(self) -> f64 {
        self.count * (DAY / self.seconds)
    }
}

impl FromStr for Rate {
    type Err = NoQuantity;

    fn from_str(text: &str) -> Result<Self, NoQuantity> {
        let read = || {
            let (count, name) = text.split_once('/')?;
            let rate = Self {
                count: not_negative(count)?,
                seconds: unit(name.trim())?,
            };
            (rate.per_day().is_finite() && rate.per_second().is_finite()).then_some(rate)
        };
        read().ok_or_else(|| {
            NoQuantity(format!(
                "'{text}' is not a rate: expected a number and a unit of time, such as 2000/day \
                 (units: /s, /min, /h, /day, /week)"
            ))
        })
    }
}

/// A length of time, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = NoQuantity;

    fn from_str(text: &str) -> Result<Self, NoQuantity> {
        let read = || {
            let trimmed = text.trim();
            // nothing is as long in every unit
            if trimmed == "0" {
                return Some(Self(0.0));
            }
            let unit_at = trimmed.rfind(|c: char| !c.is_ascii_alphabetic())? + 1;
            let (number, name) = trimmed.split_at_checked(unit_at)?;
            let length = not_negative(number)? * unit(name)?;
            length.is_finite().then_some(Self(length))
        };
        read().ok_or_else(|| {
            NoQuantity(format!(
                "'{text}' is not a duration: expected a number and a unit, such as 15s, 500ms, \
                 2m, 1h or 2d"
            ))
        })
    }
}

/// The units of data, in bytes.
const DATA: [(&[&str], f64); 9] = [
    (&["", "B", "bytes"], 1.0),
    (&["kB", "KB"], 1e3),
    (&["MB"], 1e6),
    (&["GB"], 1e9),
    (&["TB"], 1e12),
    (&["KiB"], 1024.0),
    (&["MiB"], 1_048_576.0),
    (&["GiB"], 1_073_741_824.0),
    (&["TiB"], 1_099_511_627_776.0),
];

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Bytes(pub f64);

impl Bytes {
    /// Whole bytes.
    pub fn whole(self) -> u64 {
        self.0.round() as u64
    }
}

impl FromStr for Bytes {
    type Err = NoQuantity;

    fn from_str(text: &str) -> Result<Self, NoQuantity> {
        let read = || {
            let trimmed = text.trim();
            let unit_at = trimmed.rfind(|c: char| !c.is_ascii_alphabetic())? + 1;
            let (number, name) = trimmed.split_at_checked(unit_at)?;
            let mut units = DATA.iter().filter(|(names, _)| names.contains(&name));
            let amount = not_negative(number)? * units.next()?.1;
            amount.is_finite().then_some(Self(amount))
        };
        read().ok_or_else(|| {
            NoQuantity(format!(
                "'{text}' is not an amount of data: expected a number and a unit, such as 25KB, \
                 1.5MB or 512KiB"
            ))
        })
    }
}

/// A finite number of at least zero.
pub fn not_negative(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    // −0 becomes 0
    (number.is_finite() && number >= 0.0).then_some(number + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_in_every_unit() {
        let check = |text: &str, per_day: f64| {
            let rate: Rate = text.parse().expect(text);
            let found = rate.per_day();
            assert!((found / per_day - 1.0).abs() < 1e-12, "{text}: {found}");
            let found = rate.per_second() * 86_400.0;
            assert!((found / per_day - 1.0).abs() < 1e-12, "{text}: {found}");
        };
        check("2000/day", 2000.0);
        check("14/week", 2.0);
        check("1.5/h", 36.0);
        check("1/hour", 24.0);
        check("2/min", 2880.0);
        check("2/minute", 2880.0);
        check("3/second", 259_200.0);
        check("7/w", 1.0);
        check("1e3 / s", 8.64e7);
    }

    #[test]
    fn durations_are_in_seconds() {
        let check = |text: &str, seconds: f64| {
            let Seconds(found) = text.parse().expect(text);
            assert!((found - seconds).abs() < 1e-12 * seconds.max(1.0), "{text}");
        };
        check("15s", 15.0);
        check("500ms", 0.5);
        check("2m", 120.0);
        check("1h", 3600.0);
        check("1.5 h", 5400.0);
        check("2d", 172_800.0);
        check("1 week", 604_800.0);
        check("0s", 0.0);
        check("0", 0.0);
    }

    #[test]
    fn amounts_of_data_are_in_bytes() {
        let check = |text: &str, bytes: f64| assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        check("25KB", 25_000.0);
        check("1.5 MB", 1_500_000.0);
        check("2KiB", 2048.0);
        check("10", 10.0);
        for text in ["", "KB", "-1KB", "25 pages", "1e308GB"] {
            let message = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(message.contains("25KB"), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_and_the_expected_form_named() {
        for text in [
            "",
            "2000",
            "2000/",
            "/day",
            "-1/day",
            "nan/day",
            "inf/day",
            "1e400/s",
            "5/fortnight",
        ] {
            let message = text.parse::<Rate>().unwrap_err().to_string();
            assert!(message.contains("2000/day"), "{text}");
        }
        for text in [
            "",
            "15",
            "s",
            "-1s",
            "nans",
            "infs",
            "1e308h",
            "15 parsecs",
            "1s5",
            "1é",
        ] {
            let message = text.parse::<Seconds>().unwrap_err().to_string();
            assert!(message.contains("15s"), "{text}");
        }
    }
}
