//! Times as WARC and CDXJ write them.

use crate::Time;

const DAY: i64 = 86_400_000;

/// Year, month, day, hour, minute, second, millisecond, in UTC.
fn civil(time: Time) -> [i64; 7] {
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"
    let (days, millis) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let seconds = millis / 1000;
    [
        year,
        month,
        day,
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        millis % 1000,
    ]
}

/// `2026-11-16T03:15:42.000Z`
pub fn iso(time: Time) -> String {
    let [year, month, day, hour, minute, second, milli] = civil(time);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// `20261116031542`
pub(crate) fn digits(time: Time) -> String {
    let [year, month, day, hour, minute, second, _] = civil(time);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// Reads a WARC date of any precision down to the millisecond, or 14 digits.
pub fn parse(text: &str) -> Option<Time> {
    let mut numbers = [1970, 1, 1, 0, 0, 0];
    let digits: String = text.chars().take(19).filter(char::is_ascii_digit).collect();
    let widths = [4, 2, 2, 2, 2, 2];
    let mut rest = digits.as_str();
    for (number, width) in numbers.iter_mut().zip(widths) {
        let Some((head, tail)) = rest.split_at_checked(width) else {
            break;
        };
        *number = head.parse::<i64>().ok()?;
        rest = tail;
    }
    let [year, month, day, hour, minute, second] = numbers;
    let valid = digits.len() >= 4
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    if !valid {
        return None;
    }
    let fraction: String = text
        .get(19..)
        .unwrap_or("")
        .chars()
        .filter(char::is_ascii_digit)
        .take(3)
        .collect();
    let millis = format!("{fraction:0<3}").parse::<i64>().ok()?;
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100
        + day_of_year
        - 719_468;
    Some(days * DAY + (hour * 3600 + minute * 60 + second) * 1000 + millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_days() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(digits(1_794_799_542_999), "20261116032542");
        assert_eq!(parse("2000-02-29T00:00:00Z"), Some(951_782_400_000));
        assert_eq!(parse("20000229000000"), Some(951_782_400_000));
        assert_eq!(
            parse("2000-02-29T00:00:00.123456789Z"),
            Some(951_782_400_123)
        );
        assert_eq!(parse("2000"), Some(946_684_800_000));
        assert_eq!(parse("yesterday"), None);
    }

    proptest! {
        #[test]
        fn dates_come_back(time in 0i64..4_000_000_000_000) {
            prop_assert_eq!(parse(&iso(time)), Some(time));
            prop_assert_eq!(parse(&digits(time)), Some(time - time % 1000));
        }

        #[test]
        fn any_text_is_read_without_panic(text: String) {
            parse(&text);
        }
    }
}
