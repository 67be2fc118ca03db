//! Keys and links, by example and by property.

use proptest::prelude::*;
use url::Url;

use super::{Canonical, MAX_LENGTH, Refused, parse_link};

fn key(url: &str) -> String {
    Canonical::default().key(&Url::parse(url).expect("a URL"))
}

fn check(url: &str, expected: &str) {
    assert_eq!(key(url), expected, "{url}");
    assert_eq!(key(expected), expected, "the key of {url} is its own key");
}

#[test]
fn case_port_fragment_and_user_go() {
    check(
        "HTTP://user:pw@EXAMPLE.org:80/A#top",
        "http://example.org/A",
    );
    check("https://example.org:443", "https://example.org/");
    check("https://example.org:80/", "https://example.org:80/");
    check("http://example.org./a", "http://example.org/a");
    check("http://example.org.:8080/a", "http://example.org:8080/a");
    check("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/");
    check("http://bücher.example/", "http://xn--bcher-kva.example/");
}

#[test]
fn percent_encoding_has_one_form() {
    check("http://h/%7Ea%2fb%c3%a9", "http://h/~a%2Fb%C3%A9");
    check("http://h/é|%7C^%5E", "http://h/%C3%A9||^^");
    check("http://h/100%", "http://h/100%25");
    check("http://h/a%3Bb;c", "http://h/a%3Bb;c");
    check("http://h/?q=%41%26%3d%2B+%20", "http://h/?q=A%26%3D%2B+%20");
    check("http://h/?u=http%3A%2F%2Fa/", "http://h/?u=http://a/");
    // decoded once only
    check("http://h/%2561", "http://h/%2561");
    check("http://h/%%361", "http://h/%2561");
}

#[test]
fn paths_lose_empty_segments_and_sessions() {
    check("http://h//a///b//", "http://h/a/b/");
    check("http://h//", "http://h/");
    check("http://h/a;jsessionid=1F?x=1", "http://h/a?x=1");
    check("http://h/a;JSessionID=1F;v=2/b", "http://h/a;v=2/b");
    check("http://h/a;v=1;jsessionid=2", "http://h/a;v=1");
    check("http://h/..;jsessionid=1", "http://h/..;jsessionid=1");
    check(
        "http://h/(S(4hqa0555fwsecu455xqckv45))/a.aspx",
        "http://h/a.aspx",
    );
    check(
        "http://h/(S(4hqa0555fwsecu455xqckv45));jsessionid=1/a.aspx",
        "http://h/a.aspx",
    );
    check(
        "http://h/%28S(4hqa0555fwsecu455xqckv45%29)/a.aspx",
        "http://h/a.aspx",
    );
    check(
        "http://h/wiki/Rust_(language)",
        "http://h/wiki/Rust_(language)",
    );
    check("http://h/()", "http://h/()");
}

#[test]
fn queries_are_sorted_and_lose_trackers() {
    check("http://h/?b=2&a=1", "http://h/?a=1&b=2");
    check("http://h/?a=2&a=1&a", "http://h/?a&a=1&a=2");
    check("http://h/?&&a=1&&", "http://h/?a=1");
    check("http://h/a?", "http://h/a");
    check(
        "http://h/a?utm_source=x&UTM_medium=y&gclid=1&fbclid=2",
        "http://h/a",
    );
    check("http://h/a?z=1&utm_source=x&a=1", "http://h/a?a=1&z=1");
    check("http://h/a?utm_source=x&z=1", "http://h/a?z=1");
    check("http://h/a?%75tm_source=x&z=1", "http://h/a?z=1");
    check("http://h/a?PHPSESSID=abc&id=7", "http://h/a?id=7");
    check(
        "http://h/a?sid=9682993c8daa2c5497996114facdc805",
        "http://h/a",
    );
    // a story's number is no session, nor is a word or a parameter that only begins alike
    check(
        "http://h/a?sid=1234567890123456",
        "http://h/a?sid=1234567890123456",
    );
    check("http://h/a?sid=home", "http://h/a?sid=home");
    check(
        "http://h/a?utmost=1&gclids=2",
        "http://h/a?gclids=2&utmost=1",
    );
}

#[test]
fn configuration_decides() {
    let plain: Canonical = serde_json::from_str(
        r#"{"sort_query":false,"collapse_slashes":false,"drop":["ref"],"drop_tokens":[],"path_sessions":false}"#,
    )
    .expect("a configuration");
    let url = Url::parse("http://h//a;jsessionid=1?b=1&ref=x&a=2&utm_source=y").expect("a URL");
    assert_eq!(
        plain.key(&url),
        "http://h//a;jsessionid=1?b=1&a=2&utm_source=y"
    );
    assert!(serde_json::from_str::<Canonical>(r#"{"sort":true}"#).is_err());
    assert_eq!(
        serde_json::from_str::<Canonical>("{}").expect("defaults"),
        Canonical::default()
    );
}

fn link(href: &str) -> Result<String, Refused> {
    let base = Url::parse("http://user:pw@example.org/dir/page?x#y").expect("a URL");
    parse_link(&base, href).map(String::from)
}

#[test]
fn links_are_resolved() {
    assert_eq!(link("../a#b").as_deref(), Ok("http://example.org/a"));
    assert_eq!(
        link(" \n//other.org/a\tb ").as_deref(),
        Ok("http://other.org/ab")
    );
    assert_eq!(link("///other.org/a").as_deref(), Ok("http://other.org/a"));
    assert_eq!(link("").as_deref(), Ok("http://example.org/dir/page?x"));
    assert_eq!(
        link("https://me:secret@other.org/").as_deref(),
        Ok("https://other.org/")
    );
    assert_eq!(
        link("?q=%zz").as_deref(),
        Ok("http://example.org/dir/page?q=%zz")
    );
}

#[test]
fn links_are_refused() {
    for href in [
        "mailto:a@b",
        "javascript:void(0)",
        "data:text/html,x",
        "ftp://h/",
        "file:///etc/passwd",
    ] {
        assert_eq!(link(href), Err(Refused::Scheme), "{href}");
    }
    assert_eq!(link("/a\u{1b}[2Jb"), Err(Refused::Control));
    assert_eq!(link("/a\0b"), Err(Refused::Control));
    assert!(matches!(link("http://"), Err(Refused::Malformed(_))));
    assert!(matches!(link("http://a b/"), Err(Refused::Malformed(_))));
    assert_eq!(link(&"x".repeat(1 << 20)), Err(Refused::TooLong));
    let host = |length: usize| link(&format!("http://{}/", "x".repeat(length)));
    assert!(host(253).is_ok());
    assert_eq!(host(254), Err(Refused::Host));
    // short as written, long once encoded
    assert_eq!(
        link(&"é".repeat(MAX_LENGTH / 2 - 10)),
        Err(Refused::TooLong)
    );
}

proptest! {
    #[test]
    fn a_key_is_its_own_key(rest in r"[/a-c.;%?&=(){}\[\]^|'+~\\ 0-9A-F:@é_#-]{0,60}", host in "[a-z0-9.]{1,8}") {
        if let Ok(url) = Url::parse(&format!("http://{host}/{rest}")) {
            let key = Canonical::default().key(&url);
            let again = Url::parse(&key);
            prop_assert!(again.is_ok(), "{url} has the key {key}, which is no URL");
            prop_assert_eq!(Canonical::default().key(&again.expect("just checked")), key);
        }
    }

    #[test]
    fn sessions_and_trackers_never_decide(path in "[a-z/]{0,10}", id in "[0-9A-F]{8,32}") {
        let with = format!("http://h/{path};jsessionid={id}?utm_campaign={id}&a=1");
        prop_assert_eq!(key(&with), key(&format!("http://h/{path}?a=1")));
    }

    #[test]
    fn links_are_http_and_printable(href in any::<String>()) {
        if let Ok(url) = link(&href) {
            prop_assert!(url.starts_with("http"));
            prop_assert!(url.len() <= MAX_LENGTH && url.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert!(!url.contains('#'));
        }
    }
}
