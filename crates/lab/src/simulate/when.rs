//! Instants and budgets as they stand in arguments.

use ground::calendar;
use ground::quantity::{NoQuantity, Rate, not_negative};
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
            .or_else(|| {
                let millis = calendar::instant(text.trim()).filter(|&millis| millis >= 0);
                millis.map(|millis| Self::Date(millis as f64 / 1e3))
            })
            .ok_or_else(|| {
                format!(
                    "'{text}' is not an instant: expected a number (seconds since 1970 in a \
                     trace, days in a scenario) or a date from 1970 on, such as 2007-01-01 or \
                     2007-01-01T12:30:00"
                )
            })
    }
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
        .map(|rate: Rate| Budget::PerDay(rate.per_day()))
        .map_err(|error: NoQuantity| {
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
