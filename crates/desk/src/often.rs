//! How often something happens, as people say it, with an interval in the same unit.

use crate::terminal::grouped;

const DAY: f64 = 86_400.0;
const YEAR: f64 = 365.25;
/// Nothing is said to happen less often than once in so many years.
const MOST_YEARS: f64 = 100.0;

/// How a rate is said.
#[derive(Clone, Copy)]
enum Unit {
    /// So many times; the days that it is counted in, and their name.
    Times(f64, &'static str),
    /// Once in so many; the days that one of them has, and its name.
    Once(f64, &'static str),
}

impl Unit {
    /// The one that suits a rate.
    fn of(per_day: f64) -> Self {
        match per_day {
            rate if rate >= 2.0 * DAY => Self::Times(1.0 / DAY, "a second"),
            rate if rate >= 48.0 => Self::Times(1.0 / 24.0, "an hour"),
            rate if rate >= 1.5 => Self::Times(1.0, "a day"),
            rate if rate > 0.5 => Self::Once(1.0 / 24.0, "hours"),
            rate if rate > 1.0 / (2.0 * YEAR) => Self::Once(1.0, "days"),
            _ => Self::Once(YEAR, "years"),
        }
    }
}

/// How often something happens that happens so many times a day: `3.2 times a day`, `once in 12 days`.
pub fn how_often(per_day: f64) -> String {
    match Unit::of(per_day) {
        Unit::Times(days, name) => format!("{} times {name}", rough(per_day * days)),
        Unit::Once(..) if is_rare(per_day) => format!("less than once in {MOST_YEARS} years"),
        Unit::Once(days, name) => format!("once in {} {name}", rough(1.0 / (per_day * days))),
    }
}

/// The ends of its interval, in the unit that [`how_often`] uses for the middle: `1.1 to 9.5` times a day, or once
/// in `3 to 40` days.
pub fn interval(per_day: f64, (low, high): (f64, f64)) -> String {
    match Unit::of(per_day) {
        Unit::Times(days, _) => format!("{} to {}", rough(low * days), rough(high * days)),
        Unit::Once(days, _) => {
            let least = rough(1.0 / (high * days));
            if is_rare(low) {
                format!("{least} or more")
            } else {
                format!("{least} to {}", rough(1.0 / (low * days)))
            }
        }
    }
}

/// The same with its unit: `1.1 to 9.5 times a day`, `once in 3 to 40 days`.
pub fn interval_with_unit(per_day: f64, ends: (f64, f64)) -> String {
    let ends = interval(per_day, ends);
    match Unit::of(per_day) {
        Unit::Times(_, name) => format!("{ends} times {name}"),
        Unit::Once(_, name) => format!("once in {ends} {name}"),
    }
}

fn is_rare(per_day: f64) -> bool {
    per_day * YEAR * MOST_YEARS < 1.0
}

/// Two digits are more than such an estimate deserves.
pub fn rough(value: f64) -> String {
    if value <= 0.0 {
        return "0".into();
    }
    if value < 1e-3 {
        return "under 0.001".into();
    }
    let magnitude = value.log10().floor() as i32 - 1;
    if magnitude >= 0 {
        let step = 10f64.powi(magnitude);
        return grouped(((value / step).round() * step) as usize);
    }
    let decimals = -magnitude as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_well() {
        for (per_day, words) in [
            (296_000.0, "3.4 times a second"),
            (2_016.0, "84 times an hour"),
            (3.2, "3.2 times a day"),
            (1.0, "once in 24 hours"),
            (0.1, "once in 10 days"),
            (1.0 / 365.25, "once in 370 days"),
            (1.0 / 3652.5, "once in 10 years"),
            (0.0, "less than once in 100 years"),
        ] {
            assert_eq!(how_often(per_day), words);
        }
    }

    #[test]
    fn an_interval_has_the_unit_of_the_middle() {
        assert_eq!(interval(96.0, (0.24, 172_800.0)), "0.01 to 7,200");
        assert_eq!(
            interval_with_unit(96.0, (0.24, 172_800.0)),
            "0.01 to 7,200 times an hour"
        );
        assert_eq!(interval(450_000.0, (240.0, 5e10)), "0.0028 to 580,000");
        // the longer time comes last
        assert_eq!(interval(0.1, (0.025, 48.0)), "0.021 to 40");
        assert_eq!(
            interval_with_unit(0.1, (0.0, 0.5)),
            "once in 2 or more days"
        );
        assert_eq!(interval(3.2, (0.0, 9.5)), "0 to 9.5");
    }

    #[test]
    fn numbers_have_two_digits() {
        for (value, words) in [
            (0.0, "0"),
            (0.000_5, "under 0.001"),
            (0.123_456, "0.12"),
            (9.96, "10"),
            (12.3, "12"),
            (1_234.5, "1,200"),
            (580_123.0, "580,000"),
        ] {
            assert_eq!(rough(value), words);
        }
    }
}
