//! Times as WARC and CDXJ write them.

use crate::Time;
use ground::calendar::{self, civil};

pub use calendar::iso;

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
    if digits.len() < 4 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = calendar::days(year, month as u32, day as u32)?;
    let fraction: String = text
        .get(19..)
        .unwrap_or("")
        .chars()
        .filter(char::is_ascii_digit)
        .take(3)
        .collect();
    let millis = format!("{fraction:0<3}").parse::<i64>().ok()?;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + millis)
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
