//! Dates as sitemaps and feeds write them: W3C (ISO 8601) and RFC 822, both read leniently.

use ground::calendar;

/// Seconds since 1970 of a date in either form; without a zone it is taken for UTC, without a
/// time for midnight, without a day for the first.
pub fn parse_date(text: &str) -> Option<f64> {
    let text = text.trim();
    // longer than any date with a long fraction of a second
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    parse_w3c(text).or_else(|| parse_rfc822(text))
}

/// `2026`, `2026-11`, `2026-11-16`, `2026-11-16T03:15`, `2026-11-16 03:15:42.5+01:00`.
fn parse_w3c(text: &str) -> Option<f64> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(end) => (&text[..end], text[end + 1..].trim_start()),
        None => (text, ""),
    };
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?;
    let mut part = || match parts.next() {
        Some(part) => number(part, 2),
        None => Some(1),
    };
    let (month, day) = (part()?, part()?);
    if parts.next().is_some() {
        return None;
    }
    let midnight = midnight(i64::from(number(year, 4)?), month, day)?;
    if time.is_empty() {
        Some(midnight)
    } else {
        Some(midnight + time_of_day(time)?)
    }
}

/// `Mon, 16 Nov 2026 03:15:42 GMT`, with or without the weekday, the seconds and the zone.
fn parse_rfc822(text: &str) -> Option<f64> {
    let text = match text.split_once(',') {
        Some((_, rest)) => rest.trim_start(),
        None => text,
    };
    let mut words = text.splitn(4, [' ', '-']).map(str::trim);
    let day = number(words.next()?, 2)?;
    let month = calendar::month(words.next()?)?;
    let written = words.next()?;
    let year = match (written.len(), number(written, 4)?) {
        (2, year @ 0..50) => year + 2000,
        (2, year) => year + 1900,
        (4, year) => year,
        _ => return None,
    };
    let midnight = midnight(i64::from(year), month, day)?;
    match words.next().filter(|time| !time.is_empty()) {
        Some(time) => Some(midnight + time_of_day(time)?),
        None => Some(midnight),
    }
}

/// Seconds from midnight UTC of `03:15`, `03:15:42.5`, with a zone behind.
fn time_of_day(text: &str) -> Option<f64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')
        .unwrap_or(text.len());
    let (clock, zone) = (&text[..end], text[end..].trim());
    let mut parts = clock.split(':');
    let hours = number(parts.next()?, 2).filter(|hours| *hours < 25)?;
    let minutes = number(parts.next()?, 2).filter(|minutes| *minutes < 60)?;
    let seconds: f64 = match parts.next() {
        Some(seconds) => seconds.parse().ok().filter(|seconds| *seconds < 61.0)?,
        None => 0.0,
    };
    if parts.next().is_some() {
        return None;
    }
    Some(f64::from(hours * 3600 + minutes * 60) + seconds - offset(zone)?)
}

/// Seconds east of Greenwich.
fn offset(zone: &str) -> Option<f64> {
    if let Some(digits) = zone.strip_prefix(['+', '-']) {
        let (hours, minutes) = match digits.split_once(':') {
            Some((hours, minutes)) => (hours, minutes),
            None => digits.split_at_checked(2)?,
        };
        let minutes = if minutes.is_empty() {
            0
        } else {
            number(minutes, 2)?
        };
        let seconds = f64::from(number(hours, 2)? * 3600 + minutes * 60);
        return Some(if zone.starts_with('-') {
            -seconds
        } else {
            seconds
        });
    }
    let hours = match zone.to_ascii_uppercase().as_str() {
        "EDT" => -4.0,
        "EST" | "CDT" => -5.0,
        "CST" | "MDT" => -6.0,
        "MST" | "PDT" => -7.0,
        "PST" => -8.0,
        "CET" => 1.0,
        "CEST" => 2.0,
        // Z, GMT, UTC, UT, nothing, and names we do not know
        name if name.bytes().all(|b| b.is_ascii_alphabetic()) => 0.0,
        _ => return None,
    };
    Some(hours * 3600.0)
}

/// Seconds since 1970 of a day that exists.
fn midnight(year: i64, month: u32, day: u32) -> Option<f64> {
    Some((calendar::days(year, month, day)? * 86_400) as f64)
}

fn number(text: &str, longest: usize) -> Option<u32> {
    let digits = (1..=longest).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let check =
            |text: &str, expected: Option<f64>| assert_eq!(parse_date(text), expected, "{text}");
        check("1970-01-01", Some(0.0));
        check("2026", Some(1_767_225_600.0));
        check("2026-11", Some(1_793_491_200.0));
        check("2026-11-16", Some(1_794_787_200.0));
        check("2026-11-16T03:15Z", Some(1_794_798_900.0));
        check(" 2026-11-16T03:15:42.5+01:00 ", Some(1_794_795_342.5));
        check("2026-11-16 03:15:42", Some(1_794_798_942.0));
        check("2026-11-16T03:15:42-0800", Some(1_794_827_742.0));
        check("2024-02-29", Some(1_709_164_800.0));
        check("1969-12-31T23:59:59Z", Some(-1.0));
        check("Mon, 16 Nov 2026 03:15:42 GMT", Some(1_794_798_942.0));
        check("16 Nov 26 03:15 EST", Some(1_794_816_900.0));
        check(
            "Mon, 16 November 2026 03:15:42 +0100",
            Some(1_794_795_342.0),
        );
        check("Monday, 16-Nov-26 03:15:42 GMT", Some(1_794_798_942.0));
        check("16 Nov 2026", Some(1_794_787_200.0));
        for broken in [
            "",
            "yesterday",
            "2023-02-29",
            "2026-13-01",
            "2026-00-10",
            "26-11-16",
            "2026-11-16T25:61",
            "2026-11-16-01",
            "Mon, 99 Nov 2026",
            "16 Foo 2026",
            "2026-11-16T03:15:1e3",
            "２０２６-11-16",
            "2026-11-16T03:15:42+1:0:0",
        ] {
            check(broken, None);
        }
        // an empty time is midnight
        check("2026-11-16T", Some(1_794_787_200.0));
        check(&"9".repeat(100), None);
    }
}
