//! Words with digits in them: identifiers flicker, all else counts.

use super::words::Sort;

/// From this length on, a mixture of letters and digits is taken for a token, not for a word.
const TOKEN_LENGTH: usize = 16;

/// What an ASCII word without outer punctuation, with at least one digit, is.
pub(super) fn sort(word: &str) -> Sort {
    let bytes = word.as_bytes();
    if is_stamp(word) || is_epoch(bytes) || is_token(bytes) {
        return Sort::Flicker;
    }
    let suffix = ["k", "K", "M"]
        .iter()
        .find_map(|suffix| word.strip_suffix(suffix));
    let number = suffix.unwrap_or(word);
    if number
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b',' | b'.' | b'\''))
    {
        Sort::Number
    } else {
        Sort::Word
    }
}

/// Seconds, or milliseconds, since 1970, of this century.
fn is_epoch(word: &[u8]) -> bool {
    matches!(word, [b'1'..=b'2', rest @ ..] if matches!(rest.len(), 9 | 12)
        && rest.iter().all(u8::is_ascii_digit))
}

/// `2026-11-16T03:15:42Z`: no person writes that.
fn is_stamp(word: &str) -> bool {
    word.split_once(['T', 't'])
        .is_some_and(|(date, time)| is_date(date) && is_clock(time.as_bytes()))
}

/// `9:05`, `23:59:59.123Z`, `12:30pm`.
fn is_clock(word: &[u8]) -> bool {
    let hours = word.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut rest = &word[hours..];
    if !(1..=2).contains(&hours) || !two_digits(rest) {
        return false;
    }
    rest = &rest[3..];
    if two_digits(rest) {
        rest = &rest[3..];
        if rest.first() == Some(&b'.') {
            let fraction = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            rest = &rest[1 + fraction..];
        }
    }
    if let [b'+' | b'-', offset @ ..] = rest {
        return offset.iter().all(|b| b.is_ascii_digit() || *b == b':');
    }
    rest.is_empty()
        || [&b"z"[..], b"h", b"am", b"pm", b"a.m", b"p.m"]
            .iter()
            .any(|end| rest.eq_ignore_ascii_case(end))
}

/// A colon and two digits, with no third.
fn two_digits(rest: &[u8]) -> bool {
    matches!(rest, [b':', b'0'..=b'5', b'0'..=b'9', ..])
        && !rest.get(3).is_some_and(u8::is_ascii_digit)
}

/// `2026-11-16`.
fn is_date(word: &str) -> bool {
    let mut parts = word.split('-');
    let mut digits = |length| {
        parts.next().is_some_and(|part| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    digits(4) && digits(2) && digits(2) && parts.next().is_none()
}

/// A nonce, a session or a digest: long, of letters and digits that take turns, or hexadecimal.
fn is_token(word: &[u8]) -> bool {
    if word.len() < TOKEN_LENGTH {
        return false;
    }
    let value = word
        .iter()
        .rposition(|b| *b == b'=')
        .filter(|i| i + 1 < word.len());
    let value = value.map_or(word, |equals| &word[equals + 1..]);
    if value.len() < TOKEN_LENGTH {
        return false;
    }
    if value.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-') {
        let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
        let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
        return digits > 0 && letters > 0;
    }
    let allowed =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'+' | b'/' | b'=');
    let turns = value
        .windows(2)
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count();
    // a slug such as covid-19-in-2021 turns four times in 16; a random token about every third
    value.iter().all(allowed)
        && turns * 5 > value.len()
        && !value.iter().any(|b| *b == b'-' || *b == b'/')
        || value.len() >= 40 && value.iter().all(allowed) && turns * 5 > value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_sorted() {
        let check = |sort_wanted: Sort, words: &[&str]| {
            for word in words {
                assert_eq!(sort(word), sort_wanted, "{word}");
            }
        };
        check(
            Sort::Flicker,
            &[
                "2026-11-16T03:15:42Z",
                "2026-11-16T03:15:42+01:00",
                "d41d8cd98f00b204e9800998ecf8427e",
                "123e4567-e89b-12d3-a456-426614174000",
                "1794798942",
                "1794798942123",
                "sid=k3J9x0Qz7LmP2vB8",
                "a8f5f167f44f4964",
            ],
        );
        check(
            Sort::Number,
            &[
                "5",
                "1,234",
                "12.99",
                "2026",
                "1.2k",
                "12345678",
                "16.11.2026",
                "1.2.4",
                "0301234567890",
            ],
        );
        check(
            Sort::Word,
            &[
                "9:05",
                "23:59:59",
                "12:30pm",
                "2026-11-16",
                "11/16/26",
                "16th",
                "v2.0.1",
                "covid-19",
                "mp3",
                "2:1",
                "covid-19-in-2021-and-2022",
                "3x",
                "h264",
                "24-99-99",
            ],
        );
    }
}
