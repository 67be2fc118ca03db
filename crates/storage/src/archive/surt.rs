//! The sort-friendly form of a URL under which indexes look it up: `org,example)/path`.

/// As pywb and the Internet Archive's tools make it, but for the session ids they strip: lower
/// case, host reversed, `www` and default ports dropped, escapes undone where nothing needs them,
/// query sorted.
pub(crate) fn surt(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return escaped_once(url);
    };
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = match host_port.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
        _ => (host_port, ""),
    };
    let mut key = reversed(&escaped_once(host));
    let default = matches!((scheme, port), (_, "") | ("http", "80") | ("https", "443"));
    if !default {
        key.push(':');
        key.push_str(port);
    }
    key.push(')');
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    push_path(&mut key, &escaped_once(path));
    if !query.is_empty() {
        let query = escaped_once(query);
        let mut parts: Vec<_> = query.split('&').collect();
        // by name before value
        parts.sort_by(|a, b| a.split('=').cmp(b.split('=')));
        key.push('?');
        key.push_str(&parts.join("&"));
    }
    key
}

/// Without empty segments, `.` and `..`.
fn push_path(key: &mut String, path: &str) {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    key.push('/');
    key.push_str(&segments.join("/"));
}

/// Labels last to first, without a leading `www`, `www2`, ….
fn reversed(host: &str) -> String {
    let digits = |c: char| c.is_ascii_digit();
    let without_www = host
        .strip_prefix("www")
        .map(|rest| rest.trim_start_matches(digits));
    let host = without_www
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(host);
    if let Some(address) = host.strip_prefix('[') {
        return address.trim_end_matches(']').to_string();
    }
    let labels: Vec<_> = host.trim_end_matches('.').rsplit('.').collect();
    labels.join(",")
}

/// In lower case, and escaped exactly where it must be, however often it was escaped before.
fn escaped_once(text: &str) -> String {
    let bytes = unescaped(text.as_bytes());
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() && byte != b'#' && byte != b'%' {
            out.push(char::from(byte.to_ascii_lowercase()));
        } else {
            out.push('%');
            for nibble in [byte >> 4, byte & 15] {
                out.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
            }
        }
    }
    out
}

/// With every escape undone, also those that undoing others brings forth.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        out.push(byte);
        while let Some(&[b'%', high, low]) = out.last_chunk::<3>()
            && let (Some(high), Some(low)) = (digit(high), digit(low))
        {
            out.truncate(out.len() - 3);
            out.push((high * 16 + low) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::surt;

    /// What the Python package `surt` 0.3.1 says.
    #[test]
    fn keys() {
        let check = |url: &str, key: &str| assert_eq!(surt(url), key, "{url}");
        check("http://www.Example.org/", "org,example)/");
        check(
            "https://example.org:443/A/B/?b=2&a=1",
            "org,example)/a/b?a=1&b=2",
        );
        check("http://example.org:8080", "org,example:8080)/");
        check("http://user:pw@www2.example.org/x#y", "org,example)/x");
        check("http://127.0.0.1:81/x", "1,0,0,127:81)/x");
        check("http://[::1]/x", "::1)/x");
        check(
            "http://example.org/?a=2&a=1&ab=0",
            "org,example)/?a=1&a=2&ab=0",
        );
        check("http://www.org/", "org)/");
        check("dns:example.org", "dns:example.org");
        check("http://example.org/a//b/../c", "org,example)/a/c");
        check("http://example.org/%7Efoo?%41=b&", "org,example)/~foo?&a=b");
        check("http://example.org/?", "org,example)/");
        check("http://example.org/x?a=b=c&a=b", "org,example)/x?a=b&a=b=c");
        check("http://example.org/?x=a%20b+c", "org,example)/?x=a%20b+c");
        check("http://example.org/a%2Fb%0D", "org,example)/a/b%0d");
        check(
            "https://example.org/b?ab=1&a=2&a-=3",
            "org,example)/b?a=2&a-=3&ab=1",
        );
        check(
            "http://xn--bcher-kva.example/%C3%BC",
            "example,xn--bcher-kva)/%c3%bc",
        );
        check("http://example.org/%25%32%35", "org,example)/%25");
        check("http://example.org/%2525252525%zz", "org,example)/%25%25zz");
        check("http://example.org/a|b{c}[d]", "org,example)/a|b{c}[d]");
    }
}
