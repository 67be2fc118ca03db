//! Properties of the parser and the matcher, hostile files, and what a fetch means.

use std::time::Instant;

use proptest::prelude::*;
use url::Url;

use super::{
    Fetched, LONGEST_LIFE, MAX_BYTES, Pattern, Rules, Standing, Verdict, next_hop, normal_path,
};

fn url(path: &str) -> Url {
    Url::parse(&format!("https://h{path}")).expect("a URL")
}

#[test]
fn a_ruling_names_its_rule() {
    let rules =
        Rules::parse(b"# hello\r\n\r\nUser-agent: *\r\nDisallow: /a*\xc3\xa9$\r\nAllow: /b\r\n");
    let ruling = rules.judge("x", &url("/aé"));
    assert_eq!(ruling.rule.as_deref(), Some("Disallow: /a*%C3%A9$"));
    assert_eq!(ruling.line, Some(4));
    assert_eq!(
        ruling.to_string(),
        "forbidden by line 4, Disallow: /a*%C3%A9$"
    );
    let ruling = rules.judge("x", &url("/c"));
    assert_eq!(
        (ruling.allowed, ruling.rule, ruling.line),
        (true, None, None)
    );
}

#[test]
fn delays_and_sitemaps() {
    let rules = Rules::parse(
        b"Sitemap: https://h/1.xml
User-agent: a
Crawl-delay: 2.5
Disallow: /x
Sitemap: https://h/2.xml#part
User-agent: *
Crawl-delay: 10 seconds
User-agent: a
Crawl-delay: 4
User-agent: b
Crawl-delay: soon
User-agent: c
Disallow: /",
    );
    assert_eq!(rules.sitemaps(), ["https://h/1.xml", "https://h/2.xml"]);
    assert_eq!(
        rules.crawl_delay("A"),
        Some(10.0),
        "the second group of a is that of * too"
    );
    assert_eq!(rules.crawl_delay("z"), Some(10.0));
    let rules = Rules::parse(
        b"User-agent: b\nCrawl-delay: soon\nDisallow: /\nUser-agent: *\nCrawl-delay: 3",
    );
    assert_eq!(
        rules.crawl_delay("b"),
        None,
        "its own group says nothing usable"
    );
    assert_eq!(rules.crawl_delay("c"), Some(3.0));
    for (asked, seconds) in [
        ("1e3", 1e3),
        ("1E30", 1e30),
        ("1e400", f64::MAX),
        ("2 east", 2.0),
    ] {
        let rules = Rules::parse(format!("User-agent: *\nCrawl-delay: {asked}").as_bytes());
        assert_eq!(rules.crawl_delay("a"), Some(seconds), "{asked}");
    }
    for bad in ["-1", "inf", "NaN", "", "."] {
        let rules = Rules::parse(format!("User-agent: *\nCrawl-delay: {bad}").as_bytes());
        let delay = rules.crawl_delay("a");
        assert!(
            delay.is_none_or(|delay| (0.0..=1.0).contains(&delay)),
            "{bad} gives {delay:?}"
        );
    }
}

#[test]
fn nothing_beyond_the_limit_is_read() {
    let mut text = b"User-agent: *\nDisallow: /first\n".to_vec();
    while text.len() < MAX_BYTES - 10 {
        text.extend(b"#\n");
    }
    text.extend(b"Disallow: /cut-in-the-middle\nDisallow: /beyond\n");
    let rules = Rules::parse(&text);
    assert!(!rules.allows("a", &url("/first")));
    assert!(rules.allows("a", &url("/cut-in-the-middle")));
    assert!(rules.allows("a", &url("/anything-else")));
    assert_eq!(Rules::parse(&vec![b'x'; MAX_BYTES + 1]), Rules::default());
}

/// Ten mebibytes, made to be as slow as can be: each kind must be read and judged in far less time
/// than a fetch takes.
#[test]
fn hostile_files_take_bounded_time() {
    let long = url(&format!("/{}", "a".repeat(2000)));
    let lines: [fn(usize) -> String; 6] = [
        |_| "Disallow: /*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab\n".into(),
        |i| format!("User-agent: a{i}\n"),
        |i| format!("User-agent: *\nDisallow: /*{i}$\n"),
        |_| "\0\n\r".into(),
        |_| "*".repeat(1000),
        |_| "%".into(),
    ];
    for (kind, line) in lines.into_iter().enumerate() {
        let mut text = b"User-agent: *\nDisallow: /".to_vec();
        text.extend(b"\n");
        let mut i = 0;
        while text.len() < 10 << 20 {
            text.extend(line(i).bytes());
            i += 1;
        }
        let begun = Instant::now();
        let rules = Rules::parse(&text);
        let parsed = begun.elapsed();
        let judging = Instant::now();
        assert!(!rules.allows("evercrawl", &long), "kind {kind}");
        let judged = judging.elapsed();
        eprintln!("hostile kind {kind}: parsed in {parsed:.1?}, judged in {judged:.1?}");
        assert!(
            begun.elapsed().as_secs_f64() < 5.0,
            "kind {kind} took {:?}",
            begun.elapsed()
        );
    }
}

/// What a pattern means, said as simply as can be.
fn naive(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|skip| naive(rest, &path[skip..])),
        [first, rest @ ..] => path.first() == Some(first) && naive(rest, &path[1..]),
    }
}

proptest! {
    #[test]
    fn matching_is_what_it_means(pattern in "[ab*]{0,10}[$]?", path in "[ab]{0,14}") {
        let found = Pattern::new(pattern.as_bytes()).matches(&path);
        prop_assert_eq!(found, naive(pattern.as_bytes(), path.as_bytes()));
    }

    #[test]
    fn matching_escaped_is_what_it_means(pattern in "/[ab/%é?*]{0,8}", path in "/[ab/é?%]{0,10}") {
        let (pattern, path) = (Pattern::new(pattern.as_bytes()), normal_path(&path).into_owned());
        prop_assert_eq!(pattern.matches(&path), naive(pattern.as_str().as_bytes(), path.as_bytes()));
    }

    #[test]
    fn nothing_makes_it_panic(bytes in any::<Vec<u8>>(), path in any::<String>()) {
        let rules = Rules::parse(&bytes);
        if let Ok(url) = Url::parse("http://h/").expect("a URL").join(&path) {
            prop_assert_eq!(rules.judge("evercrawl", &url).allowed, rules.allows("evercrawl", &url));
        }
    }

    #[test]
    fn nor_do_lines_that_look_right(
        text in "((User-agent|Allow|Disallow|Crawl-delay|Sitemap|x)?[ :\0]{0,2}[/*$%a#\u{e9}0.]{0,8}[\r\n]{1,2}){0,12}",
        path in "/[a*$%?/]{0,12}",
    ) {
        let rules = Rules::parse(text.as_bytes());
        let stored = serde_json::to_string(&rules).expect("JSON");
        let restored: Rules = serde_json::from_str(&stored).expect("the same rules");
        prop_assert_eq!(rules.judge("a", &url(&path)), restored.judge("a", &url(&path)));
        prop_assert!(rules.crawl_delay("a").is_none_or(|delay| delay >= 0.0 && delay.is_finite()));
    }
}

fn answer(status: u16, body: &str) -> Fetched<'_> {
    Fetched::Answer {
        status,
        body: body.as_bytes(),
    }
}

#[test]
fn what_an_answer_means() {
    let forbidding = "User-agent: *\nDisallow: /x";
    let standing = |fetched| Standing::after(None, fetched, None, 1000.0);
    let found = standing(answer(200, forbidding));
    assert!(!found.allows("a", &url("/x")) && found.allows("a", &url("/y")));
    assert_eq!(found.expires, 1000.0 + LONGEST_LIFE);
    assert!(
        !found.is_expired(1000.0 + LONGEST_LIFE - 1.0) && found.is_expired(1000.0 + LONGEST_LIFE)
    );
    for status in [301, 308, 400, 401, 403, 404, 410, 418, 451] {
        let standing = standing(answer(status, forbidding));
        assert_eq!(standing.verdict, Verdict::AllowAll, "{status}");
        assert!(standing.allows("a", &url("/x")));
    }
    for fetched in [
        answer(429, ""),
        answer(500, ""),
        answer(503, forbidding),
        answer(999, ""),
        answer(100, ""),
        Fetched::Failure,
    ] {
        let standing = standing(fetched);
        assert_eq!(standing.verdict, Verdict::DisallowForNow, "{fetched:?}");
        assert!(!standing.judge("a", &url("/y")).allowed);
        assert!(standing.judge("a", &url("/robots.txt")).allowed);
    }
}

#[test]
fn shorter_lives_are_honoured() {
    let life = |max_age| Standing::after(None, answer(200, ""), max_age, 0.0).expires;
    assert_eq!(life(Some(3600.0)), 3600.0);
    assert_eq!(life(Some(0.0)), 300.0);
    assert_eq!(life(Some(1e9)), LONGEST_LIFE);
    assert_eq!(life(Some(f64::NAN)), LONGEST_LIFE);
}

#[test]
fn unreachable_for_a_month_means_there_is_none() {
    let mut now = 5000.0;
    let mut standing = Standing::after(None, answer(200, "User-agent: *\nDisallow: /"), None, 0.0);
    let begun = now;
    let mut tries = 0;
    while now - begun < 30.0 * 86_400.0 {
        standing = Standing::after(Some(&standing), Fetched::Failure, None, now);
        assert_eq!(
            standing.verdict,
            Verdict::DisallowForNow,
            "after {} s",
            now - begun
        );
        assert!(standing.expires > now && standing.expires <= now + LONGEST_LIFE);
        now = standing.expires;
        tries += 1;
    }
    assert!(tries < 45, "{tries} tries in 30 days");
    standing = Standing::after(Some(&standing), answer(503, ""), None, now);
    assert_eq!(standing.verdict, Verdict::AllowAll);
    // one good answer, and all is as before
    standing = Standing::after(Some(&standing), answer(404, ""), None, now);
    assert_eq!(standing.unreachable_since, None);
    standing = Standing::after(Some(&standing), Fetched::Failure, None, now + 1.0);
    assert_eq!(standing.verdict, Verdict::DisallowForNow);
}

#[test]
fn standings_are_kept() {
    let standing = Standing::after(
        None,
        answer(200, "User-agent: *\nCrawl-delay: 2\nDisallow: /x*y$"),
        None,
        7.0,
    );
    let stored = serde_json::to_string(&standing).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Standing>(&stored).expect("the same"),
        standing
    );
}

#[test]
fn redirects_are_followed_five_times() {
    let from = url("/robots.txt");
    let hop = |status, location, hops| next_hop(&from, status, location, hops).map(String::from);
    assert_eq!(
        hop(301, Some("//other/robots.txt"), 0).as_deref(),
        Some("https://other/robots.txt")
    );
    assert_eq!(hop(308, Some("/r"), 4).as_deref(), Some("https://h/r"));
    assert_eq!(hop(302, Some("/r"), 5), None);
    assert_eq!(hop(200, Some("/r"), 0), None);
    assert_eq!(hop(304, Some("/r"), 0), None);
    assert_eq!(hop(301, None, 0), None);
    assert_eq!(hop(301, Some("ftp://h/robots.txt"), 0), None);
}
