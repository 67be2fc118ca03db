//! The sort-friendly form of a URL under which indexes look it up: `org,example)/path`.

/// As pywb and the Internet Archive's tools make it, but for the session ids they strip: lower
/// case, host reversed, `www` and default ports dropped, query sorted.
pub(crate) fn surt(url: &str) -> String {
    let url = url
        .split('#')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.replace(' ', "%20");
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = match host_port.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
        _ => (host_port, ""),
    };
    let mut key = reversed(without_www(host));
    let default = matches!((scheme, port), (_, "") | ("http", "80") | ("https", "443"));
    if !default {
        key.push(':');
        key.push_str(port);
    }
    key.push(')');
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    key.push_str(match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    });
    if !query.is_empty() {
        let mut parts: Vec<_> = query.split('&').collect();
        // by name before value
        parts.sort_by(|a, b| a.split('=').cmp(b.split('=')));
        key.push('?');
        key.push_str(&parts.join("&"));
    }
    key
}

/// `www`, `www2`, … say nothing about the host.
fn without_www(host: &str) -> &str {
    let rest = host
        .strip_prefix("www")
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    match rest.and_then(|rest| rest.strip_prefix('.')) {
        Some(rest) if rest.contains('.') => rest,
        _ => host,
    }
}

fn reversed(host: &str) -> String {
    let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    if is_address {
        return host.to_string();
    }
    let labels: Vec<_> = host.trim_end_matches('.').rsplit('.').collect();
    labels.join(",")
}

#[cfg(test)]
mod tests {
    use super::surt;

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
        check("http://127.0.0.1:81/x", "127.0.0.1:81)/x");
        check("http://[::1]/x", "[::1])/x");
        check(
            "http://example.org/?a=2&a=1&ab=0",
            "org,example)/?a=1&a=2&ab=0",
        );
        check("http://www.org/", "org,www)/");
        check("dns:example.org", "dns:example.org");
    }
}
