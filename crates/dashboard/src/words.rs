//! Numbers, times and URLs as people read them.

use desk::terminal::{grouped, plain};
use ground::calendar;
use maud::{Markup, html};
use std::time::{SystemTime, UNIX_EPOCH};
use storage::Time;

/// What is nearer than this, in milliseconds, is now.
const NOW: Time = 2_000;
/// As much of a URL as is shown.
const LONGEST: usize = 300;

pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as Time)
}

pub(crate) fn number(count: u64) -> String {
    grouped(count as usize)
}

/// A length of time.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        s if s < 1.0 => "under 1 s".into(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s if s < 36_000.0 => format!("{:.1} h", s / 3600.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s if s < 864_000.0 => format!("{:.1} days", s / 86_400.0),
        s if s < 3.2e9 => format!("{} days", number((s / 86_400.0) as u64)),
        _ => "more than a century".into(),
    }
}

pub(crate) fn bytes(count: u64) -> String {
    match count as f64 {
        b if b < 1e3 => format!("{b} B"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b if b < 1e12 => format!("{:.2} GB", b / 1e9),
        b => format!("{:.2} TB", b / 1e12),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Two digits of what is not known better.
pub(crate) fn rough(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".into(),
        v if v < 0.001 => "under 0.001".into(),
        v if v >= 1000.0 => number(v as u64),
        v => {
            let decimals = (1 - v.log10().floor() as i32).max(0) as usize;
            let text = format!("{v:.decimals$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
    }
}

/// A length of time that may be very short.
pub(crate) fn pause(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", 1e3 * seconds.max(0.0))
    } else {
        duration(seconds)
    }
}

/// How long an answer takes.
pub(crate) fn answering(seconds: f64) -> String {
    if seconds < 0.000_5 {
        "under 1 ms".into()
    } else {
        format!("{} ms", number((1e3 * seconds).round() as u64))
    }
}

/// Whether a time is so near that [`when`] calls it now.
pub(crate) fn is_now(at: Time, now: Time) -> bool {
    (now - at).abs() < NOW
}

/// A time, as a distance from now; the exact one on hover.
pub(crate) fn when(at: Time, now: Time) -> Markup {
    let seconds = (now - at) as f64 / 1e3;
    let text = match seconds {
        _ if is_now(at, now) => "now".to_owned(),
        s if s >= 0.0 => format!("{} ago", duration(s)),
        s => format!("in {}", duration(-s)),
    };
    let iso = calendar::iso(at);
    html! { time datetime=(iso) title=(iso) { (text) } }
}

/// To the second, in UTC.
pub(crate) fn clock(at: Time) -> String {
    let [year, month, day, hour, minute, second, _] = calendar::civil(at);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// A text from the Web, without what turns writing around, and not longer than can be read.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => plain(&text[..end]) + "…",
        None => plain(text),
    }
}

/// A link to what is on the Web, if it can be nothing worse.
pub(crate) fn outside(url: &str, text: &str) -> Markup {
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    html! {
        @if is_web {
            a href=(url) rel="noreferrer noopener nofollow" target="_blank" { (text) }
        } @else {
            (text)
        }
    }
}

/// A URL's host, and the rest.
pub(crate) fn split(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| start + at);
    (&url[start..end], &url[end..])
}

/// A query that can stand in a link.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    let query = query.finish();
    if query.is_empty() {
        query
    } else {
        format!("?{query}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(duration(0.2), "under 1 s");
        assert_eq!(duration(7200.0), "2.0 h");
        assert_eq!(duration(200_000.0), "2.3 days");
        assert_eq!(rough(0.123_456), "0.12");
        assert_eq!(rough(12.3), "12");
        assert_eq!(rough(1234.5), "1,234");
        assert_eq!(pause(0.004), "4 ms");
        assert_eq!(pause(5.0), "5 s");
        assert_eq!(answering(0.000_2), "under 1 ms");
        assert_eq!(answering(1.501), "1,501 ms");
        assert_eq!(split("http://a.test:80/b?c"), ("a.test:80", "/b?c"));
        assert_eq!(split("http://a"), ("a", ""));
        assert_eq!(query(&[("q", "a&b"), ("x", "")]), "?q=a%26b");
    }

    #[test]
    fn nothing_from_the_web_is_markup_or_a_script() {
        let text = shown("<script>alert(1)</script>\u{202e}");
        let markup = outside("javascript:alert(1)", &text).into_string();
        assert!(
            !markup.contains("<script") && !markup.contains("href"),
            "{markup}"
        );
        let markup = outside("http://a/\"onclick=\"x", "a\"b").into_string();
        assert!(
            markup.contains("href=\"http://a/&quot;onclick=&quot;x\""),
            "{markup}"
        );
    }
}
