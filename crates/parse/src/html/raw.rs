//! Where comments, CDATA sections and raw text end.

use super::tokens::is_space;
use memchr::memmem;
use memchr::{memchr, memchr2};
use std::ops::Range;

/// The length up to and including the first `stop`, or everything.
pub(super) fn past(rest: &[u8], stop: u8) -> usize {
    memchr(stop, rest).map_or(rest.len(), |i| i + 1)
}

/// The length of the comment that `rest` starts with. `<!-->` and `<!--->` are whole comments;
/// else `-->` and `--!>` end it.
pub(super) fn comment(rest: &[u8]) -> usize {
    let text = &rest[4..];
    if text.starts_with(b">") {
        return 5;
    }
    if text.starts_with(b"->") {
        return 6;
    }
    let mut from = 0;
    while let Some(found) = memchr(b'-', &text[from..]) {
        let dash = from + found;
        let tail = &text[dash..];
        if tail.starts_with(b"-->") {
            return 4 + dash + 3;
        }
        if tail.starts_with(b"--!>") {
            return 4 + dash + 4;
        }
        from = dash + 1;
    }
    rest.len()
}

/// The characters of the CDATA section that `rest` starts with, and its whole length.
pub(super) fn cdata(rest: &[u8]) -> (Range<usize>, usize) {
    const OPEN: usize = b"<![CDATA[".len();
    match memmem::find(&rest[OPEN..], b"]]>") {
        Some(length) => (OPEN..OPEN + length, OPEN + length + 3),
        None => (OPEN..rest.len(), rest.len()),
    }
}

/// The length of raw text up to `</name` with a space, slash or `>` after it, or everything.
pub(super) fn element(text: &[u8], name: &[u8]) -> usize {
    let mut from = 0;
    while let Some(found) = memchr(b'<', &text[from..]) {
        let at = from + found;
        if text.get(at + 1) == Some(&b'/') && names(&text[at + 2..], name) {
            return at;
        }
        from = at + 1;
    }
    text.len()
}

/// The length of a script's content. Inside `<!-- … -->` a nested `<script>` hides the next
/// `</script>`.
pub(super) fn script(text: &[u8]) -> usize {
    #[derive(PartialEq)]
    enum State {
        Plain,
        Escaped,
        DoublyEscaped,
    }
    let mut state = State::Plain;
    let mut from = 0;
    while let Some(found) = memchr2(b'<', b'-', &text[from..]) {
        let at = from + found;
        let tail = &text[at..];
        from = at + 1;
        if tail[0] == b'-' {
            if state != State::Plain && tail.starts_with(b"-->") {
                state = State::Plain;
            }
        } else if tail.get(1) == Some(&b'/') {
            if names(&tail[2..], b"script") {
                if state != State::DoublyEscaped {
                    return at;
                }
                state = State::Escaped;
            }
        } else if state == State::Plain {
            if tail.starts_with(b"<!--") {
                state = State::Escaped;
                // the two dashes may already belong to the closing `-->`
                from = at + 2;
            }
        } else if state == State::Escaped && names(&tail[1..], b"script") {
            state = State::DoublyEscaped;
        }
    }
    text.len()
}

/// Whether `text` begins with the tag name `name` and not merely with a longer one.
fn names(text: &[u8], name: &[u8]) -> bool {
    text.len() > name.len()
        && text[..name.len()].eq_ignore_ascii_case(name)
        && (is_space(text[name.len()]) || matches!(text[name.len()], b'/' | b'>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_as_the_standard_says() {
        let check = |text: &str, left: &str| {
            assert_eq!(&text[comment(text.as_bytes())..], left, "{text}");
        };
        check("<!-->x", "x");
        check("<!--->x", "x");
        check("<!---->x", "x");
        check("<!-- a --!>x", "x");
        check("<!-- a -- > b -->x", "x");
        check("<!-- a --->x", "x");
        check("<!---!>a-->x", "x");
        check("<!----!>x", "x");
        check("<!-- <!-- -->x", "x");
        check("<!-- --!->-->x", "x");
        check("<!-- never closed", "");
    }

    #[test]
    fn scripts_end_as_the_standard_says() {
        let check = |text: &str, content: &str| {
            assert_eq!(&text[..script(text.as_bytes())], content, "{text}");
        };
        check("a</script>b", "a");
        check("a</SCRIPT/>b", "a");
        check("a</scripts></script >", "a</scripts>");
        check("<!-- </script>", "<!-- ");
        check(
            "<!--<script></script>--></script>",
            "<!--<script></script>-->",
        );
        check("<!--<script></script></script>", "<!--<script></script>");
        check("<!--><script></script>", "<!--><script>");
        check("<!--<scripty></script>", "<!--<scripty>");
        check("<!-- <script> </script", "<!-- <script> </script");
    }
}
