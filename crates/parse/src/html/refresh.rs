//! The value of a `meta` refresh, read as the HTML standard says.

use super::Refresh;
use super::reader::clean;

/// The delay and target in `content`; `None` when it is no refresh.
pub(super) fn read(content: &str) -> Option<Refresh> {
    let rest = content.trim_ascii_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 && !rest.starts_with('.') {
        return None;
    }
    let seconds = match &rest[..digits] {
        "" => 0,
        digits => digits.parse().unwrap_or(u32::MAX),
    };
    let rest = rest[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if rest.is_empty() {
        return Some(Refresh {
            seconds,
            href: None,
        });
    }
    if !rest.starts_with([';', ',', ' ', '\t', '\n', '\r', '\x0C']) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let rest = rest
        .strip_prefix([';', ','])
        .unwrap_or(rest)
        .trim_ascii_start();
    if rest.is_empty() {
        return Some(Refresh {
            seconds,
            href: None,
        });
    }
    let target = without_url_prefix(rest).unwrap_or(rest);
    let target = match target.chars().next() {
        Some(quote @ ('"' | '\'')) => target[1..].split(quote).next().unwrap_or(""),
        _ => target,
    };
    Some(Refresh {
        seconds,
        href: Some(clean(target)),
    })
}

/// What follows `url=`, with any spaces around the sign.
fn without_url_prefix(text: &str) -> Option<&str> {
    let prefix = text
        .get(..3)
        .filter(|prefix| prefix.eq_ignore_ascii_case("url"))?;
    let value = text[prefix.len()..].trim_ascii_start().strip_prefix('=')?;
    Some(value.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_and_target() {
        let check = |content: &str, expected: Option<(u32, Option<&str>)>| {
            let expected = expected.map(|(seconds, href)| Refresh {
                seconds,
                href: href.map(str::to_owned),
            });
            assert_eq!(read(content), expected, "{content}");
        };
        check("5", Some((5, None)));
        check("5; url=/a", Some((5, Some("/a"))));
        check(" 0;URL = 'a b' x", Some((0, Some("a b"))));
        check("0,\"/q\"", Some((0, Some("/q"))));
        check("3.7; /bare", Some((3, Some("/bare"))));
        check(".5;url=x", Some((0, Some("x"))));
        check("5 /space", Some((5, Some("/space"))));
        check("5;url", Some((5, Some("url"))));
        check("99999999999; url=x", Some((u32::MAX, Some("x"))));
        check("5x", None);
        check("url=/a", None);
        check("", None);
    }
}
