//! The Gregorian calendar in UTC, without leap seconds.
//!
//! Days are counted from 1970-01-01. The two conversions follow Howard Hinnant's "chrono-compatible
//! low-level date algorithms": years begin in March, so that the leap day is the last of its year,
//! and 400 of them are an era of 146,097 days.

const DAYS_OF_ERA: i64 = 146_097;
/// From 0000-03-01, where the first era begins, to 1970-01-01.
const FIRST_ERA: i64 = 719_468;
const MILLIS_OF_DAY: i64 = 86_400_000;
/// What four digits can write.
const YEARS: std::ops::RangeInclusive<i64> = 0..=9999;

/// The day of a date, if there is one such.
pub fn days(year: i64, month: u32, day: u32) -> Option<i64> {
    if !YEARS.contains(&year) || !(1..=length(year, month)?).contains(&day) {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = i64::from((153 * ((month + 9) % 12) + 2) / 5 + day - 1);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * DAYS_OF_ERA + day_of_era - FIRST_ERA)
}

/// The days of a month.
fn length(year: i64, month: u32) -> Option<u32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => Some(28 + u32::from(leap)),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Year, month and day of a day.
pub fn date(days: i64) -> (i64, u32, u32) {
    let shifted = days + FIRST_ERA;
    let (era, day_of_era) = (
        shifted.div_euclid(DAYS_OF_ERA),
        shifted.rem_euclid(DAYS_OF_ERA),
    );
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

/// Year, month, day, hour, minute, second and millisecond of an instant in milliseconds since 1970.
pub fn civil(millis: i64) -> [i64; 7] {
    let (year, month, day) = date(millis.div_euclid(MILLIS_OF_DAY));
    let of_day = millis.rem_euclid(MILLIS_OF_DAY);
    let seconds = of_day / 1000;
    [
        year,
        month.into(),
        day.into(),
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        of_day % 1000,
    ]
}

/// The number of a month from the first three letters of its English name.
pub fn month(name: &str) -> Option<u32> {
    const NAMES: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let begin = name.get(..3)?;
    let found = (1..).zip(NAMES);
    let mut found = found.filter(|(_, month)| begin.eq_ignore_ascii_case(month));
    found.next().map(|(number, _)| number)
}

/// `2026-11-16T03:15:42.000Z`, from milliseconds since 1970.
pub fn iso(millis: i64) -> String {
    let [year, month, day, hour, minute, second, milli] = civil(millis);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Milliseconds since 1970 of an instant as people write it, strictly: `2026-11-16`, with or without
/// a time (`T03:15`, `T03:15:42.5`), with or without a zone (`Z`, `+01:00`); without one it is UTC.
pub fn instant(text: &str) -> Option<i64> {
    let (day, clock) = match text.split_once(['T', 't', ' ']) {
        Some((day, clock)) => (day, Some(clock)),
        None => (text, None),
    };
    if !has_shape(day, "dddd-dd-dd") {
        return None;
    }
    let (year, month, day) = (&day[..4], &day[5..7], &day[8..]);
    let days = days(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)?;
    let of_day = clock.map_or(Some(0), time_of_day)?;
    Some(days * MILLIS_OF_DAY + of_day)
}

fn time_of_day(clock: &str) -> Option<i64> {
    let (clock, ahead) = split_zone(clock)?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let is_number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let second = match whole.len() {
        8 if has_shape(whole, "dd:dd:dd") => &whole[6..],
        5 if has_shape(whole, "dd:dd") && clock.len() == 5 => "00",
        _ => return None,
    };
    let number = |text: &str, most: i64| text.parse().ok().filter(|&number: &i64| number < most);
    let (hour, minute) = (number(&whole[..2], 24)?, number(&whole[3..5], 60)?);
    let second = number(second, 60)?;
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    is_number.then_some(((hour * 60 + minute) * 60 + second) * 1000 + millis - ahead)
}

/// Takes `Z` or `+01:00` off; milliseconds ahead of UTC.
fn split_zone(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else {
        return Some((clock, 0));
    };
    let (clock, zone) = clock.split_at(at);
    if !has_shape(&zone[1..], "dd:dd") {
        return None;
    }
    let (hours, minutes): (i64, i64) = (zone[1..3].parse().ok()?, zone[4..6].parse().ok()?);
    let ahead = (hours * 60 + minutes) * 60_000;
    let valid = hours < 24 && minutes < 60;
    valid.then_some((clock, if zone.starts_with('-') { -ahead } else { ahead }))
}

/// Whether digits stand where the shape has a `d`, and its own characters elsewhere.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(found, wanted)| {
            if wanted == b'd' {
                found.is_ascii_digit()
            } else {
                found == wanted
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counted by hand, day after day and month after month.
    #[test]
    fn every_day_of_ten_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1600, 1, 1);
        let mut number = days(1600, 1, 1).unwrap();
        // 1600-01-01 is 370 years before: 90 leap years, 3 of them left out
        assert_eq!(number, -(370 * 365 + 90));
        while year < 2600 {
            assert_eq!(days(year, month, day), Some(number));
            assert_eq!(date(number), (year, month, day));
            let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
            let february = if leap { 29 } else { 28 };
            let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            day += 1;
            if day > lengths[month as usize - 1] {
                assert_eq!(days(year, month, day), None);
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
            number += 1;
        }
    }

    #[test]
    fn days_that_are_not_are_refused() {
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2026, 13, 1),
            (2026, 0, 1),
            (2026, 1, 0),
            (10_000, 1, 1),
            (-1, 1, 1),
        ] {
            assert_eq!(days(year, month, day), None, "{year}-{month}-{day}");
        }
    }

    #[test]
    fn instants_are_read_in_every_form() {
        let check = |text: &str, expected: &str| {
            let millis = instant(text).expect(text);
            assert_eq!(iso(millis), expected, "{text}");
        };
        check("1970-01-01", "1970-01-01T00:00:00.000Z");
        check("2026-11-16", "2026-11-16T00:00:00.000Z");
        check("2026-11-16T03:15:42Z", "2026-11-16T03:15:42.000Z");
        check("2026-11-16 03:15", "2026-11-16T03:15:00.000Z");
        check("2026-11-16T03:15:42.5+01:30", "2026-11-16T01:45:42.500Z");
        check("2026-11-16T03:15:42-05:00", "2026-11-16T08:15:42.000Z");
        check("2000-02-29T00:00:00.123456789Z", "2000-02-29T00:00:00.123Z");
        check("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z");
        for wrong in [
            "",
            "soon",
            "2026-02-31",
            "2026-13-01",
            "07-01-01",
            "2026-11",
            "2026-11-16T25:00:00Z",
            "2026-11-16T03:15:42Zulu",
            "2026-11-16T03:15:42+1",
            "2026-11-16T",
            "2026-11-16T03:15.5",
            "2026-11-16T03:15:42.",
            "2026-11-16T03:15:42+99:00",
            "2026-11-16-01",
            "２０２６-11-16",
        ] {
            assert_eq!(instant(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn months_have_names() {
        assert_eq!(month("Jan"), Some(1));
        assert_eq!(month("december"), Some(12));
        for wrong in ["", "Fo", "Foo", "é1", "日本"] {
            assert_eq!(month(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn instants_come_back(millis in -62_000_000_000_000_i64..253_000_000_000_000) {
            prop_assert_eq!(instant(&iso(millis)), Some(millis));
        }

        #[test]
        fn any_text_is_read_without_panic(text: String) {
            instant(&text);
            month(&text);
        }
    }
}
