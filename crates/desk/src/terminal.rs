//! What people see: messages and progress on stderr, results on stdout. Colours and progress only
//! where a terminal shows them.

use crate::live;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Prints `error: …` or `warning: …` on stderr.
pub fn complain(kind: &str, message: &str) {
    let stderr = io::stderr();
    let coloured = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (on, off) = match (coloured, kind) {
        (false, _) => ("", ""),
        (true, "error") => ("\x1b[1;31m", "\x1b[0m"),
        (true, _) => ("\x1b[1;33m", "\x1b[0m"),
    };
    // nobody is left to hear that stderr is closed
    let message = without_numbers(message);
    let _ = live::above(format!("{on}{kind}:{off} {message}\n").as_bytes());
}

/// What went wrong in words alone: the system's numbers of errors tell people nothing.
pub fn without_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                text += rest;
            }
            _ => text = text + " (os error " + part,
        }
    }
    text
}

/// Prints a result on stdout.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// A bar on stderr, hidden when that is no terminal; takes itself away when done.
pub fn progress(what: &'static str, length: u64, bytes: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(10));
    let template = if bytes {
        "{msg:24} {wide_bar} {bytes}/{total_bytes} {eta:>4}"
    } else {
        "{msg:24} {wide_bar} {pos}/{len} {eta:>4}"
    };
    let style = ProgressStyle::with_template(template).expect("the template is a constant");
    bar.set_style(style);
    bar.set_message(what);
    bar
}

/// Rows under their head, in columns; of each column the name and whether it is text.
pub fn table<Row: AsRef<[String]>>(columns: &[(&str, bool)], rows: &[Row]) -> String {
    let head: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let all = || std::iter::once(head.as_slice()).chain(rows.iter().map(Row::as_ref));
    let width = |column: usize| {
        let cells = all().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for row in all() {
        let mut line = String::new();
        for ((cell, &width), (_, is_text)) in row.iter().zip(&widths).zip(columns) {
            let space = " ".repeat(width - cell.chars().count());
            let (before, after) = if *is_text {
                ("", &*space)
            } else {
                (&*space, "")
            };
            line += &[before, cell, after, "  "].concat();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The time that something takes of which nobody knows how long it will take; otherwise as
/// [`progress`].
pub fn working(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{msg:24} {spinner} {elapsed}");
    bar.set_style(style.expect("the template is a constant"));
    bar.set_message(what);
    // hidden ones need no thread
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}

/// What comes from the Web, fit for a terminal: control characters and those that reverse the
/// writing are shown, not obeyed.
pub fn plain(text: &str) -> String {
    if text.contains(is_obeyed) {
        let shown = |c: char| if is_obeyed(c) { '\u{fffd}' } else { c };
        text.chars().map(shown).collect()
    } else {
        text.to_owned()
    }
}

/// Whether a terminal obeys the character rather than shows it.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// So many of something, named by the word for one: `1 page`, `2,000 entries`.
pub fn count(number: u64, one: &str) -> String {
    format!("{} {}", grouped(number as usize), named(number, one))
}

/// The word for one or for more of something.
pub fn named(number: u64, one: &str) -> String {
    let ending = |end: &str| one.ends_with(end);
    match one.strip_suffix('y') {
        _ if number == 1 => one.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if ending("s") || ending("x") || ending("ch") || ending("sh") => format!("{one}es"),
        _ => format!("{one}s"),
    }
}

/// Thousands apart, as people read them: 14,500,000.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with about six digits, no more than a reader needs.
pub fn short(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e15).contains(&magnitude) {
        if magnitude >= 1e6 {
            return grouped(number.round() as usize);
        }
        let decimals = (5 - magnitude.log10().floor() as i32).max(0) as usize;
        let text = format!("{number:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    } else {
        format!("{number:.4e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_the_web_is_obeyed() {
        let hostile = "a\x1b[2Jb\r\nc\u{202e}d\u{9b}e\u{61c}f\u{2067}g";
        assert_eq!(
            plain(hostile),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}g"
        );
        assert_eq!(plain("http://example.org/é"), "http://example.org/é");
    }

    #[test]
    fn one_is_one() {
        assert_eq!(count(1, "page"), "1 page");
        assert_eq!(count(0, "page"), "0 pages");
        assert_eq!(count(2000, "entry"), "2,000 entries");
        assert_eq!(count(2, "address"), "2 addresses");
        assert_eq!(count(2, "day"), "2 days");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(14_500_000), "14,500,000");
        assert_eq!(grouped(999), "999");
        assert_eq!(short(2000.0), "2000");
        assert_eq!(short(0.612_345_678), "0.612346");
        assert_eq!(short(11_520_000.4), "11,520,000");
        assert_eq!(short(1e-9), "1.0000e-9");
        assert_eq!(short(0.0), "0");
    }
}
