//! Hours of the day in which a host may be asked.
//!
//! They go by a fixed offset from UTC: the rules of time zones change several times a year, and a crawler that goes
//! by an old table of them would come at the wrong hour without a word.

use std::fmt;
use std::str::FromStr;

const DAY: f64 = 86_400.0;

/// From one time of the day to another, perhaps over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hours {
    /// Minutes since midnight, there.
    from: u32,
    to: u32,
    /// Minutes that are added to UTC.
    offset: i32,
}

impl Hours {
    /// At `wall` (seconds since the epoch, UTC): when it will be open, unless it is.
    pub fn opens(&self, wall: f64) -> Option<f64> {
        let left = self.until(self.from, wall);
        // closed if it opens before it closes
        (left < self.until(self.to, wall)).then_some(wall + left)
    }

    /// When it will be closed, where it is open at `wall`.
    pub fn closes(&self, wall: f64) -> f64 {
        wall + self.until(self.to, wall)
    }

    /// Seconds to the next time that it is so many minutes after midnight there; never none.
    fn until(&self, minute: u32, wall: f64) -> f64 {
        let there = wall + 60.0 * f64::from(self.offset);
        let left = (60.0 * f64::from(minute) - there).rem_euclid(DAY);
        if left > 0.0 { left } else { DAY }
    }
}

impl FromStr for Hours {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "expected hours such as \"22:00-06:00\" (UTC) or \"22:00-06:00 +01:00\"";
        let read = || {
            let (span, offset) = match text.trim().split_once(' ') {
                Some((span, offset)) => (span, offset.trim()),
                None => (text.trim(), "UTC"),
            };
            let (from, to) = span.split_once('-')?;
            let offset = match offset.split_at_checked(1)? {
                ("+", offset) => minutes(offset)?.cast_signed(),
                ("-", offset) => -minutes(offset)?.cast_signed(),
                _ if offset == "UTC" || offset == "Z" => 0,
                _ => return None,
            };
            let (from, to) = (minutes(from)? % 1440, minutes(to)? % 1440);
            let is_span = from != to && offset.abs() <= 14 * 60;
            is_span.then_some(Self { from, to, offset })
        };
        read().ok_or(expected)
    }
}

/// `22:30` in minutes.
fn minutes(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (minutes < 60 && (hours < 24 || hours == 24 && minutes == 0)).then_some(60 * hours + minutes)
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        write!(f, "{}-{} ", clock(self.from), clock(self.to))?;
        match self.offset {
            0 => f.write_str("UTC"),
            ahead @ 1.. => write!(f, "+{}", clock(ahead.unsigned_abs())),
            behind => write!(f, "-{}", clock(behind.unsigned_abs())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hours(text: &str) -> Hours {
        text.parse().unwrap()
    }

    /// Seconds since the epoch at a time of the tenth day of it.
    fn at(hour: u32, minute: u32) -> f64 {
        9.0 * DAY + f64::from(3600 * hour + 60 * minute)
    }

    #[test]
    fn nights_and_days() {
        let night = hours("22:00-06:00");
        assert_eq!(night.opens(at(12, 0)), Some(at(22, 0)));
        assert_eq!(night.opens(at(6, 0)), Some(at(22, 0)));
        assert_eq!(night.opens(at(22, 0)), None);
        assert_eq!(night.opens(at(5, 59)), None);
        assert_eq!(night.closes(at(23, 0)), at(30, 0));
        let day = hours("09:00-17:30 +01:00");
        assert_eq!(day.opens(at(7, 0)), Some(at(8, 0)));
        assert_eq!(day.opens(at(8, 0)), None);
        assert_eq!(day.opens(at(16, 30)), Some(at(32, 0)));
        assert_eq!(
            hours("00:00-12:00 -03:30").to_string(),
            "00:00-12:00 -03:30"
        );
    }

    #[test]
    fn what_is_no_span_of_hours_is_refused() {
        for text in [
            "",
            "22-6",
            "22:00",
            "22:00-22:00",
            "25:00-06:00",
            "22:60-06:00",
            "2:00-6:00",
            "22:00-06:00 Europe/Oslo",
            "22:00-06:00 +15:00",
            "22:00-06:00 +1",
            "22:00 - 06:00",
        ] {
            assert!(text.parse::<Hours>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_opens_when_it_says_so_and_not_before(
            from in 0u32..1440, length in 1u32..1440, offset in -840i32..=840, wall in 0f64..1e10, ahead in 0f64..1.0
        ) {
            let hours = Hours { from, to: (from + length) % 1440, offset };
            prop_assert_eq!(hours.to_string().parse::<Hours>(), Ok(hours));
            let wall = wall.floor();
            if let Some(opens) = hours.opens(wall) {
                prop_assert!(opens > wall && opens <= wall + DAY);
                prop_assert_eq!(hours.opens(opens), None);
                let between = wall + ((opens - wall) * ahead).floor();
                prop_assert_eq!(hours.opens(between), Some(opens).filter(|&o| between < o));
            } else {
                let closes = hours.closes(wall);
                prop_assert!(closes > wall && closes <= wall + 60.0 * f64::from(length));
                prop_assert!(hours.opens(closes).is_some());
            }
        }
    }
}
