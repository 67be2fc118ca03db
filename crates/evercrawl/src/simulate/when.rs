//! Instants and budgets as they stand in arguments.

use crate::units::{self, DAY, not_negative};
use simulation::sweep::Budget;
use std::str::FromStr;

/// An instant: seconds since 1970 or a date for traces, days for scenarios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// A plain number.
    Number(f64),
    /// A date in UTC, as seconds since 1970.
    Date(f64),
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        not_negative(text)
            .map(Self::Number)
            .or_else(|| date(text.trim()).map(Self::Date))
            .ok_or_else(|| {
                format!(
                    "'{text}' is not an instant: expected a number (seconds since 1970 in a \
                     trace, days in a scenario) or a date from 1970 on, such as 2007-01-01 or \
                     2007-01-01T12:30:00"
                )
            })
    }
}

/// `YYYY-MM-DD` or `YYYY-MM-DDThh:mm:ss`, as seconds since 1970.
fn date(text: &str) -> Option<f64> {
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let [year, month, day] = numbers(day, '-', [4, 2, 2])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [
        31,
        28 + u32::from(leap),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let length = *lengths.get((month as usize).checked_sub(1)?)?;
    if year < 1970 || !(1..=length).contains(&day) {
        return None;
    }
    let past = year - 1;
    // 719,162 days lie between the first of January of the years 1 and 1970
    let years = past * 365 + past / 4 - past / 100 + past / 400 - 719_162;
    let days = years + lengths[..month as usize - 1].iter().sum::<u32>() + day - 1;
    let seconds = match time {
        None => 0,
        Some(time) => {
            let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
            if hour > 23 || minute > 59 || second > 59 {
                return None;
            }
            hour * 3600 + minute * 60 + second
        }
    };
    Some(f64::from(days) * DAY + f64::from(seconds))
}

fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u32; 3]> {
    let mut found = [0; 3];
    let mut parts = text.split(separator);
    for (number, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

/// A budget as text: `2000/day`, `40%` or `0.25/change`.
pub fn budget(text: &str) -> Result<Budget, String> {
    let number = |text: &str| {
        not_negative(text)
            .filter(|&number| number > 0.0)
            .ok_or_else(|| format!("'{text}' is not a number above 0"))
    };
    if let Some(percent) = text.trim().strip_suffix('%') {
        let percent = number(percent)?;
        if percent > 100.0 {
            return Err(format!("{percent} % is more than politeness allows"));
        }
        return Ok(Budget::Share(percent / 100.0));
    }
    if let Some((visits, "change")) = text.split_once('/').map(|(n, unit)| (n, unit.trim())) {
        return Ok(Budget::PerChange(number(visits)?));
    }
    text.parse()
        .map(|units::Budget(per_day)| Budget::PerDay(per_day))
        .map_err(|error: String| {
            format!("{error}; or 40% of what politeness allows, or 0.25/change")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_counted_right() {
        let check = |text: &str, seconds: f64| assert_eq!(text.parse(), Ok(When::Date(seconds)));
        check("1970-01-01", 0.0);
        check("2000-02-29", 951_782_400.0);
        check("2007-01-01", 1_167_609_600.0);
        check("2007-01-01T12:30:05Z", 1_167_654_605.0);
        check("2026-11-16 00:00:01", 1_794_787_201.0);
        assert_eq!("1167609600".parse(), Ok(When::Number(1_167_609_600.0)));
        for wrong in [
            "2007-02-29",
            "2007-13-01",
            "2007-00-01",
            "1969-12-31",
            "07-01-01",
            "2007-01",
            "-3",
            "soon",
            "2007-01-01T24:00:00",
            "2007-01-01-01",
        ] {
            assert!(wrong.parse::<When>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn budgets_come_in_three_kinds() {
        assert_eq!(budget("2000/day"), Ok(Budget::PerDay(2000.0)));
        assert_eq!(budget("40%"), Ok(Budget::Share(0.4)));
        assert_eq!(budget("0.25/change"), Ok(Budget::PerChange(0.25)));
        for wrong in [
            "",
            "%",
            "140%",
            "-1%",
            "0/change",
            "x/change",
            "5/fortnight",
            "2000",
        ] {
            assert!(budget(wrong).is_err(), "{wrong}");
        }
    }
}
