//! Session ids: what they look like, and where in a path they stand.

/// Whether a value looks drawn rather than written: at least 16 letters and digits, both kinds
/// among them. A story's number or a word is neither.
pub fn is_token(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() >= 16
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_alphabetic)
}

/// Takes the session ids out of the path segment that begins at `start` and ends `path`.
pub fn strip_segment(path: &mut String, start: usize) {
    let mut end = start;
    while let Some(at) = path[end..].find(';') {
        let from = end + at;
        let to = path[from + 1..]
            .find(';')
            .map_or(path.len(), |n| from + 1 + n);
        let is_session = path[from + 1..to]
            .split_once('=')
            .is_some_and(|(name, _)| name.eq_ignore_ascii_case("jsessionid"));
        // `..;jsessionid=1` without its parameter would climb
        let is_dots = matches!(&path[start..from], "." | "..") && to == path.len();
        if is_session && !is_dots {
            path.replace_range(from..to, "");
            end = from;
        } else {
            end = to;
        }
    }
    if is_cookieless(&path[start..]) {
        path.truncate(start);
    }
}

/// ASP.NET without cookies: `(24 characters)`, or one or more of `X(characters)` in parentheses.
fn is_cookieless(segment: &str) -> bool {
    let Some(inner) = segment
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    else {
        return false;
    };
    let is_id = |id: &str| id.len() >= 20 && id.bytes().all(|b| b.is_ascii_alphanumeric());
    if is_id(inner) {
        return inner.len() == 24;
    }
    let mut rest = inner;
    while let Some((label, more)) = rest.split_once('(') {
        let Some((id, more)) = more.split_once(')') else {
            return false;
        };
        let is_label = label.len() == 1 && label.bytes().all(|b| b.is_ascii_alphabetic());
        if !is_label || !is_id(id) {
            return false;
        }
        rest = more;
    }
    rest.is_empty() && !inner.is_empty()
}
