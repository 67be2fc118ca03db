//! A view that stays in place on a terminal: redrawn from time to time, never wider or higher than the
//! terminal, and out of the way of whatever else is said on standard error.

use crate::terminal;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use terminal_size::{Height, Width};

/// What is on the screen now, line by line. There is one terminal, so there is one view.
static VIEW: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Columns and rows of the terminal at standard error, as far as they are known.
pub fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(io::stderr());
    let (Width(columns), Height(rows)) = size.unwrap_or((Width(80), Height(24)));
    (usize::from(columns).max(1), usize::from(rows).max(1))
}

/// Draws these lines in place of those drawn before.
pub fn show(lines: Vec<String>) -> io::Result<()> {
    let mut view = VIEW.lock().unwrap_or_else(PoisonError::into_inner);
    let (columns, rows) = size();
    let mut text = erased(&view, columns, rows);
    *view = fitted(lines, columns, rows);
    draw(&mut text, &view);
    written(&text)
}

/// Says something above the view.
pub fn above(said: &[u8]) -> io::Result<()> {
    let view = VIEW.lock().unwrap_or_else(PoisonError::into_inner);
    let (columns, rows) = size();
    let mut text = erased(&view, columns, rows);
    text.extend_from_slice(said);
    draw(&mut text, &view);
    written(&text)
}

/// Prints results on standard output, which may be the same terminal.
pub fn print(said: &[u8]) -> io::Result<()> {
    let view = VIEW.lock().unwrap_or_else(PoisonError::into_inner);
    let (columns, rows) = size();
    written(&erased(&view, columns, rows))?;
    let mut out = io::stdout().lock();
    out.write_all(said)?;
    out.flush()?;
    let mut text = Vec::new();
    draw(&mut text, &view);
    written(&text)
}

/// Takes the view away.
pub fn clear() -> io::Result<()> {
    show(Vec::new())
}

/// Standard error, above the view where there is one.
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, said: &[u8]) -> io::Result<usize> {
        match str::from_utf8(said) {
            Ok(text) => above(terminal::without_numbers(text).as_bytes())?,
            Err(_) => above(said)?,
        }
        Ok(said.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(text: &[u8]) -> io::Result<()> {
    // at once, or a slow terminal shows half of it
    let mut out = io::stderr().lock();
    out.write_all(text)?;
    out.flush()
}

fn draw(text: &mut Vec<u8>, view: &[String]) {
    for line in view {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
}

/// What takes the cursor back to where the view begins and wipes it out. A terminal that became narrower
/// has broken long lines into several.
fn erased(view: &[String], columns: usize, rows: usize) -> Vec<u8> {
    let broken = |line: &String| line.chars().count().div_ceil(columns).max(1);
    let up: usize = view.iter().map(broken).sum();
    match up.min(rows.saturating_sub(1)) {
        0 => Vec::new(),
        up => format!("\r\x1b[{up}A\x1b[0J").into_bytes(),
    }
}

/// No line wider, and not more of them, than the terminal has room for; the cursor needs a row too.
fn fitted(mut lines: Vec<String>, columns: usize, rows: usize) -> Vec<String> {
    lines.truncate(rows.saturating_sub(1));
    // a character in the last column makes some terminals begin a new line
    for line in &mut lines {
        cut(line, columns.saturating_sub(1));
    }
    lines
}

/// Cuts a line to so many columns.
pub fn cut(line: &mut String, columns: usize) {
    if line.chars().count() > columns {
        let kept: String = line.chars().take(columns.saturating_sub(1)).collect();
        *line = kept + if columns > 0 { "…" } else { "" };
    }
}

/// A row of a view: its name, and its items one after the other, on as many lines as they need.
pub fn row(name: &str, items: &[String], columns: usize) -> Vec<String> {
    const INDENT: usize = 13;
    let mut lines = Vec::new();
    let mut line = format!("  {name:<10} ");
    let mut filled = false;
    for item in items.iter().filter(|item| !item.is_empty()) {
        let more = item.chars().count() + if filled { 3 } else { 0 };
        if filled && line.chars().count() + more >= columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(INDENT)));
            filled = false;
        }
        if filled {
            line.push_str(" · ");
        }
        line.push_str(item);
        filled = true;
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
        cut(line, columns.saturating_sub(1));
    }
    lines
}

/// A share as a bar of so many columns.
pub fn bar(share: f64, columns: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * columns as f64).floor() as usize;
    "█".repeat(full) + &"░".repeat(columns - full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_fits_whatever_the_terminal() {
        let long: Vec<String> = (0..40).map(|n| "x".repeat(n * 7)).collect();
        for (columns, rows) in [(60, 24), (80, 24), (200, 50), (1, 1), (7, 3)] {
            let fitted = fitted(long.clone(), columns, rows);
            assert!(fitted.len() < rows.max(2));
            assert!(
                fitted
                    .iter()
                    .all(|line| line.chars().count() < columns.max(2))
            );
        }
    }

    #[test]
    fn as_many_rows_are_wiped_out_as_there_are_now() {
        let view = ["x".repeat(70), "y".repeat(10)].map(String::from);
        assert_eq!(erased(&view, 80, 24), b"\r\x1b[2A\x1b[0J");
        assert_eq!(erased(&view, 40, 24), b"\r\x1b[3A\x1b[0J");
        assert_eq!(erased(&[], 40, 24), b"");
    }

    #[test]
    fn rows_are_broken_between_items() {
        let items = ["one".repeat(5), "two".repeat(5), "three".repeat(3)];
        assert_eq!(row("pages", &items, 200).len(), 1);
        let lines = row("pages", &items, 40);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].starts_with("             two"));
        assert_eq!(bar(0.5, 10), "█████░░░░░");
    }
}
