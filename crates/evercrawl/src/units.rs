//! Quantities with units, as they stand in arguments and files.

use std::str::FromStr;

/// Seconds in a day, the unit of time of all rates.
pub const DAY: f64 = 86_400.0;

/// Visits per day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget(pub f64);

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "'{text}' is not a budget: expected a number of visits and a unit of time, such \
                 as 2000/day (units: /s, /min, /h or /hour, /day, /week)"
            )
        };
        let (number, unit) = text.split_once('/').ok_or_else(expected)?;
        let per_day = match unit.trim() {
            "s" => DAY,
            "min" => 1440.0,
            "h" | "hour" => 24.0,
            "day" => 1.0,
            "week" => 1.0 / 7.0,
            _ => return Err(expected()),
        };
        let visits = not_negative(number).ok_or_else(expected)? * per_day;
        if visits.is_finite() {
            Ok(Self(visits))
        } else {
            Err(expected())
        }
    }
}

/// A length of time, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "'{text}' is not a duration: expected a number and a unit, such as 15s, 500ms, \
                 2m or 1h"
            )
        };
        let trimmed = text.trim();
        let unit_at = trimmed
            .rfind(|c: char| !c.is_ascii_alphabetic())
            .map_or(0, |last| last + 1);
        let seconds = match &trimmed[unit_at..] {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => DAY,
            // nothing is as long in every unit
            "" if trimmed == "0" => 1.0,
            _ => return Err(expected()),
        };
        let length = not_negative(&trimmed[..unit_at]).ok_or_else(expected)? * seconds;
        if length.is_finite() {
            Ok(Self(length))
        } else {
            Err(expected())
        }
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
    fn budgets_are_per_day() {
        let check = |text: &str, per_day: f64| {
            let Budget(found) = text.parse().expect(text);
            assert!((found / per_day - 1.0).abs() < 1e-12, "{text}: {found}");
        };
        check("2000/day", 2000.0);
        check("14/week", 2.0);
        check("1.5/h", 36.0);
        check("1/hour", 24.0);
        check("2/min", 2880.0);
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
        check("0s", 0.0);
        check("0", 0.0);
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
            let message = text.parse::<Budget>().unwrap_err();
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
        ] {
            let message = text.parse::<Seconds>().unwrap_err();
            assert!(message.contains("15s"), "{text}");
        }
    }
}
