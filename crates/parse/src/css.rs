//! What a stylesheet embeds: `url()` and `@import`.

use memchr::{memchr, memmem};

/// Calls `take` with each reference, escapes undone. Takes time linear in the text.
pub(crate) fn references(css: &str, mut take: impl FnMut(&str)) {
    let bytes = css.as_bytes();
    let mut at = 0;
    let mut import = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = memmem::find(&bytes[at + 2..], b"*/");
                at = end.map_or(bytes.len(), |end| at + 2 + end + 2);
            }
            b'"' | b'\'' => {
                let end = string_end(bytes, at);
                if std::mem::take(&mut import) {
                    take(&unescaped(&css[at + 1..end]));
                }
                at = end + 1;
            }
            b'@' => {
                at += 1;
                import = begins(bytes, at, b"import");
            }
            b';' | b'{' | b'}' => {
                import = false;
                at += 1;
            }
            b'u' | b'U' if begins(bytes, at, b"url(") && !is_in_name(bytes, at) => {
                import = false;
                at += 4;
                while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                    at += 1;
                }
                if let Some(b'"' | b'\'') = bytes.get(at) {
                    let end = string_end(bytes, at);
                    take(&unescaped(&css[at + 1..end]));
                    at = end + 1;
                } else if at < bytes.len() {
                    let length = memchr(b')', &bytes[at..]).unwrap_or(bytes.len() - at);
                    take(&unescaped(css[at..at + length].trim_ascii_end()));
                    at += length;
                }
            }
            _ => at += 1,
        }
    }
}

fn begins(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    let found = bytes.get(at..at + word.len());
    found.is_some_and(|found| found.eq_ignore_ascii_case(word))
}

fn is_in_name(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_\\".contains(&byte))
}

/// Where the string ends that begins at `at`: at its quote, at the end of its line, or of all.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            byte if byte == quote || byte == b'\n' => return end,
            _ => end += 1,
        }
    }
    bytes.len()
}

fn unescaped(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(slash) = rest.find('\\') {
        plain.push_str(&rest[..slash]);
        rest = &rest[slash + 1..];
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit);
        let digits = digits.count();
        if digits > 0 {
            let code = u32::from_str_radix(&rest[..digits], 16).ok();
            plain.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
            rest = &rest[digits..];
            rest = rest.strip_prefix([' ', '\t', '\n']).unwrap_or(rest);
        } else if let Some(next) = rest.chars().next() {
            if next != '\n' {
                plain.push(next);
            }
            rest = &rest[next.len_utf8()..];
        }
    }
    plain.push_str(rest);
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(css: &str) -> Vec<String> {
        let mut found = Vec::new();
        references(css, |reference| found.push(reference.to_owned()));
        found
    }

    #[test]
    fn everything_that_a_stylesheet_embeds_is_found() {
        let css = "@charset \"utf-8\"; @import 'a.css'; @IMPORT url(b.css) screen;
            /* url(no.png) @import \"no.css\" */ p::before { content: \"url(no.gif)\" }
            body { background: URL( \"c.png\" ), url('d.png') no-repeat; myurl(no) }
            @font-face { font-family: \"F\"; src: url( e.woff2 ) format(\"woff2\"), url(f\\.ttf) }
            .x { background: url(g\\000020h.png) } @media print { @import \"late.css\"; }
            i { background: url(";
        let expected = [
            "a.css", "b.css", "c.png", "d.png", "e.woff2", "f.ttf", "g h.png", "late.css",
        ];
        assert_eq!(all(css), expected);
        assert_eq!(all("a{background:url(x"), ["x"]);
        assert_eq!(all("@import \"broken\nb{}"), ["broken"]);
    }

    proptest! {
        #[test]
        fn any_text_will_do(css in "(url\\(|@import|[\"'\\\\/*;{}()é\n ab0]){0,40}") {
            references(&css, |reference| assert!(reference.len() <= 3 * css.len()));
        }
    }
}
