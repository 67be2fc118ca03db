//! `Retry-After`, in every form servers send it.

use ground::calendar;

/// The longest wait a server may ask of us, in seconds: a typing error must not lose a host.
pub const LONGEST: f64 = 86_400.0;

/// How long to wait, in seconds from `now` (seconds since the epoch): a number, with decimals or
/// without, or a date in one of the three forms of HTTP. `None` when it says nothing.
pub fn parse(value: &str, now: f64) -> Option<f64> {
    let value = value.trim();
    let wait = match value.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => seconds,
        Ok(_) => return None,
        Err(_) => date(value)? - now,
    };
    Some(wait.clamp(0.0, LONGEST))
}

/// An HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or
/// `Sun Nov  6 08:49:37 1994`, as seconds since the epoch.
pub fn date(value: &str) -> Option<f64> {
    let words: Vec<&str> = value
        .split([' ', ',', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    let (day, month, year, clock) = match words[..] {
        [_, day, month, year, clock, zone]
            if zone.eq_ignore_ascii_case("GMT") || zone.eq_ignore_ascii_case("UTC") =>
        {
            (day, month, year, clock)
        }
        [_, month, day, clock, year] => (day, month, year, clock),
        _ => return None,
    };
    let day = number(day, 31)? as u32;
    let month = calendar::month(month)?;
    let year = match (year.len(), number(year, 9999)?) {
        (2, short) if short < 70 => 2000 + short,
        (2, short) => 1900 + short,
        (4, full) => full,
        _ => return None,
    };
    let mut parts = clock.split(':').map(|part| number(part, 60));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || hour > 23 || minute > 59 {
        return None;
    }
    let seconds = calendar::days(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second;
    Some(seconds as f64)
}

fn number(text: &str, most: i64) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if plain {
        text.parse().ok()?
    } else {
        return None;
    };
    (value <= most).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: f64 = 784_111_777.0; // Sun, 06 Nov 1994 08:49:37 GMT

    #[test]
    fn every_form_is_understood() {
        for (value, wait) in [
            ("120", Some(120.0)),
            (" 2.5 ", Some(2.5)),
            ("0", Some(0.0)),
            ("-5", Some(0.0)),
            ("99999999", Some(LONGEST)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60.0)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60.0)),
            ("Sun Nov  6 08:50:37 1994", Some(60.0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0)),
            ("", None),
            ("soon", None),
            ("inf", None),
            ("NaN", None),
            ("Sun, 31 Foo 1994 08:50:37 GMT", None),
            ("Sun, 06 Nov 1994 25:50:37 GMT", None),
        ] {
            assert_eq!(parse(value, NOW), wait, "{value:?}");
        }
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0.0));
        assert_eq!(date("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600.0));
        assert_eq!(date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(NOW));
    }
}
