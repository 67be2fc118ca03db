//! Scopes and what they hold.

mod linear;

use url::Url;

use super::{Filter, Judgement, Reach, Reason, Rule, Scope, ScopeConfig, Seed};

fn url(text: &str) -> Url {
    Url::parse(text).expect("a URL")
}

fn scope(config: &ScopeConfig, seed: &str) -> Scope {
    Scope::new(config, &[url(seed)]).expect("a scope")
}

fn check(reach: Reach, seed: &str, inside: &[&str], outside: &[&str]) {
    let scope = scope(
        &ScopeConfig {
            reach,
            ..Default::default()
        },
        seed,
    );
    for text in inside {
        assert_eq!(
            scope.judge(&url(text), 3),
            Judgement::In,
            "{text} from {seed}"
        );
    }
    for text in outside {
        let judgement = scope.judge(&url(text), 3);
        assert_eq!(
            judgement,
            Judgement::Out(Reason::OutOfReach(Some(reach))),
            "{text} from {seed}"
        );
    }
}

#[test]
fn a_site_is_a_host_and_what_is_under_it() {
    check(
        Reach::Site,
        "https://docs.example.org/guide/",
        &[
            "http://docs.example.org/",
            "https://v2.docs.example.org:8443/x",
            "https://docs.example.org./",
        ],
        &[
            "https://example.org/",
            "https://www.example.org/",
            "https://mydocs.example.org/",
        ],
    );
    check(
        Reach::Site,
        "https://www.example.org/",
        &[
            "https://example.org/",
            "https://www.example.org/",
            "https://docs.example.org/",
        ],
        &[
            "https://notexample.org/",
            "https://example.org.evil.com/",
            "https://example.com/",
        ],
    );
    // others' sites stand under a public suffix; an address or a bare name has nothing under it
    check(
        Reach::Site,
        "https://github.io/",
        &["https://github.io/x"],
        &["https://me.github.io/"],
    );
    check(
        Reach::Site,
        "http://localhost:81/",
        &["http://localhost:81/x"],
        &["http://a.localhost:81/", "http://localhost/"],
    );
    check(
        Reach::Site,
        "http://127.0.0.1/",
        &["http://127.0.0.1/x"],
        &["http://127.0.0.2/", "http://127.0.0.1:8080/"],
    );
}

#[test]
fn other_reaches() {
    check(
        Reach::Domain,
        "https://docs.example.co.uk/",
        &[
            "https://example.co.uk/",
            "http://www.example.co.uk/",
            "https://a.b.example.co.uk/",
        ],
        &["https://other.co.uk/", "https://co.uk/"],
    );
    check(
        Reach::Domain,
        "https://me.github.io/",
        &["https://me.github.io/x", "https://a.me.github.io/"],
        &["https://you.github.io/", "https://github.io/"],
    );
    // a public suffix below the domain belongs to others
    check(
        Reach::Domain,
        "https://github.io/",
        &["https://github.io/"],
        &["https://me.github.io/"],
    );
    check(
        Reach::Host,
        "https://example.org/",
        &["https://example.org/x", "http://example.org/"],
        &["https://www.example.org/", "https://example.org:8443/"],
    );
    check(
        Reach::Prefix,
        "https://example.org/docs/index.html",
        &["https://example.org/docs/a/b", "http://example.org/docs/"],
        &[
            "https://example.org/docs",
            "https://example.org/other",
            "https://a.example.org/docs/",
        ],
    );
    check(
        Reach::Page,
        "https://example.org/a?b",
        &["https://example.org/a?b", "http://example.org/a?b#c"],
        &["https://example.org/a", "https://example.org/a?b=1"],
    );
    check(
        Reach::Anywhere,
        "https://example.org/",
        &["https://elsewhere.com/"],
        &[],
    );
    check(
        Reach::Nowhere,
        "https://example.org/",
        &[],
        &["https://example.org/"],
    );
}

#[test]
fn lists_widen_and_filters_narrow() {
    let config: ScopeConfig = serde_json::from_str(
        r#"{
            "reach": "host", "max_depth": 5,
            "prefixes": ["https://other.org/a/"], "suffixes": ["*.no"],
            "also": ["^https?://[a-z]+\\.wiki\\.org/"], "exclude": ["[?&]print=1"],
            "domains": {"deny": ["bad.example.no", "BÜCHER.no"]},
            "paths": {"deny": ["/private", "/*.zip$"]}
        }"#,
    )
    .expect("a configuration");
    let scope = scope(&config, "https://example.org/");
    for text in [
        "https://example.org/",
        "https://other.org/a/b",
        "https://nrk.no/",
        "https://en.wiki.org/x",
    ] {
        assert!(scope.judge(&url(text), 5).is_in(), "{text}");
    }
    let why = |text: &str| scope.judge(&url(text), 1).to_string();
    assert_eq!(
        why("https://example.org/?print=1"),
        "out of scope: by scope.exclude: [?&]print=1"
    );
    assert_eq!(
        why("https://a.bad.example.no/"),
        "out of scope: by scope.domains.deny: bad.example.no"
    );
    assert_eq!(
        why("https://bücher.no/"),
        "out of scope: by scope.domains.deny: BÜCHER.no"
    );
    assert_eq!(
        why("https://example.org/%70rivate/x"),
        "out of scope: by scope.paths.deny: /private"
    );
    assert_eq!(
        why("https://example.org/a.zip"),
        "out of scope: by scope.paths.deny: /*.zip$"
    );
    assert_eq!(why("https://example.org/a.zip?x"), "in scope");
    assert_eq!(
        why("https://a.example.org/"),
        "out of scope: on the host of no seed (scope.reach = \"host\")"
    );
    assert_eq!(
        scope.judge(&url("https://example.org/"), 6).to_string(),
        "out of scope: 6 links away from a seed, at most 5 are followed (scope.max_depth)"
    );
}

/// As wget's --accept-regex and Browsertrix' include do: what seeds reach is the most there is.
#[test]
fn include_restricts_and_also_adds() {
    let config = ScopeConfig {
        include: vec!["/docs/".into(), "/$".into()],
        exclude: vec!["/old/".into()],
        also: vec!["^https://cdn\\.net/".into()],
        ..ScopeConfig::default()
    };
    let seeds = [url("https://example.org/"), url("https://b.org/")];
    let scope = Scope::new(&config, &seeds).expect("a scope");
    let told = |text: &str| match scope.judge(&url(text), 1) {
        Judgement::In => {
            let rule = Rule::of(&config, &seeds, &url(text)).expect("a rule");
            format!("in {}: {rule}", rule.key())
        }
        Judgement::Out(reason) => format!("out {}: {reason}", reason.key()),
    };
    for (text, expected) in [
        (
            "https://b.org/",
            "in reach: on the site of the seed https://b.org/, and by scope.include: /$",
        ),
        (
            "https://www.example.org/docs/a",
            "in reach: on the site of the seed https://example.org/, and by scope.include: /docs/",
        ),
        (
            "https://example.org/blog",
            "out include: it matches none of scope.include",
        ),
        (
            "https://example.org/docs/old/a",
            "out exclude: by scope.exclude: /old/",
        ),
        (
            "https://elsewhere.org/docs/a",
            "out reach: on the site of no seed (scope.reach = \"site\")",
        ),
        (
            "https://cdn.net/a.css",
            "in also: by scope.also: ^https://cdn\\.net/",
        ),
        (
            "https://cdn.net/old/a.css",
            "out exclude: by scope.exclude: /old/",
        ),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_allowed_by_name_is_out() {
    let only = |text: &str| Filter {
        allow: vec![text.into()],
        deny: vec![],
    };
    let config = ScopeConfig {
        reach: Reach::Anywhere,
        domains: only("example.org"),
        paths: only("/docs/"),
        types: Filter {
            allow: vec!["text/*".into()],
            deny: vec!["text/CSS".into()],
        },
        addresses: Filter {
            allow: vec!["192.0.2.0/24".into(), "2001:db8::/32".into()],
            deny: vec!["192.0.2.7".into()],
        },
        ..Default::default()
    };
    let scope = scope(&config, "https://example.org/");
    assert!(scope.judge(&url("https://a.example.org/docs/x"), 0).is_in());
    let out = |reason| Judgement::Out(reason);
    assert_eq!(
        scope.judge(&url("https://example.com/docs/"), 0),
        out(Reason::DomainNotAllowed)
    );
    assert_eq!(
        scope.judge(&url("https://example.org/x"), 0),
        out(Reason::PathNotAllowed)
    );

    assert!(scope.judge_type("Text/HTML; charset=utf-8").is_in());
    assert_eq!(scope.judge_type("image/png"), out(Reason::TypeNotAllowed));
    assert_eq!(scope.judge_type(""), out(Reason::TypeNotAllowed));
    assert_eq!(
        scope.judge_type("text/css"),
        out(Reason::TypeDenied("text/CSS".into()))
    );

    let address = |text: &str| scope.judge_address(text.parse().expect("an address"));
    assert!(address("192.0.2.1").is_in() && address("2001:db8:1::1").is_in());
    assert!(address("::ffff:192.0.2.1").is_in(), "IPv4 in IPv6 clothes");
    assert_eq!(
        address("192.0.2.7"),
        out(Reason::AddressDenied("192.0.2.7".into()))
    );
    assert_eq!(
        address("::ffff:192.0.2.7"),
        out(Reason::AddressDenied("192.0.2.7".into()))
    );
    assert_eq!(address("192.0.3.1"), out(Reason::AddressNotAllowed));
}

#[test]
fn what_cannot_be_read_is_named() {
    let error = |json: &str| {
        let config: ScopeConfig = serde_json::from_str(json).expect("a configuration");
        Scope::new(&config, &[] as &[Url])
            .expect_err("no scope")
            .to_string()
    };
    assert!(
        error(r#"{"prefixes": ["example.org"]}"#).contains("\"example.org\" is not a URL prefix")
    );
    assert!(error(r#"{"addresses": {"deny": ["10/8"]}}"#).contains("10/8"));
    assert!(error(r#"{"domains": {"deny": ["a b"]}}"#).contains("a b"));
    assert!(error(r#"{"suffixes": ["."]}"#).contains("not a domain name"));
    assert!(error(r#"{"include": ["("]}"#).contains("include: "));
    assert!(error(r#"{"also": ["("]}"#).contains("also: "));
    assert!(serde_json::from_str::<ScopeConfig>(r#"{"dephth": 1}"#).is_err());
    assert!(serde_json::from_str::<ScopeConfig>(r#"{"domains": {"block": []}}"#).is_err());
}

#[test]
fn each_seed_may_have_a_reach_of_its_own() {
    let seed = |text: &str, reach| Seed {
        url: url(text),
        reach,
    };
    let seeds = [
        seed("https://a.org/", None),
        seed("https://b.org/docs/x", Some(Reach::Prefix)),
        seed("https://c.org/one", Some(Reach::Page)),
    ];
    let config = ScopeConfig::default();
    let scope = Scope::new(&config, &seeds).expect("a scope");
    for (text, said) in [
        (
            "https://w.a.org/x",
            "on the site of the seed https://a.org/",
        ),
        (
            "https://b.org/docs/y",
            "below the seed https://b.org/docs/x (whose reach is prefix)",
        ),
        ("https://c.org/one", "it is a seed (whose reach is page)"),
    ] {
        assert!(scope.judge(&url(text), 1).is_in(), "{text}");
        let rule = Rule::of(&config, &seeds, &url(text)).expect("a rule");
        assert_eq!(rule.to_string(), said);
    }
    for text in [
        "https://b.org/",
        "https://c.org/two",
        "https://w.b.org/docs/x",
    ] {
        let out = scope.judge(&url(text), 1);
        assert_eq!(out, Judgement::Out(Reason::OutOfReach(None)), "{text}");
        assert_eq!(Rule::of(&config, &seeds, &url(text)), None);
    }
    // one of them is enough
    let everywhere = [
        seed("https://a.org/", None),
        seed("https://b.org/", Some(Reach::Anywhere)),
    ];
    let scope = Scope::new(&config, &everywhere).expect("a scope");
    assert!(scope.judge(&url("https://z.org/"), 1).is_in());
    let rule = Rule::of(&config, &everywhere, &url("https://z.org/")).expect("a rule");
    assert!(
        rule.to_string()
            .contains("https://b.org/ (whose reach is anywhere)"),
        "{rule}"
    );
}

/// Each link was held against one seed after the other.
#[test]
fn a_link_costs_as_much_with_ten_thousand_times_the_seeds() {
    let cost = |seeds: usize, reach: Reach| {
        let seed = |i| url(&format!("https://www.site{i}.org/docs/{i}/"));
        let seeds: Vec<Url> = (0..seeds).map(seed).collect();
        let config = ScopeConfig {
            reach,
            ..ScopeConfig::default()
        };
        let scope = Scope::new(&config, &seeds).expect("a scope");
        let link = |i: usize| url(&format!("https://www.site{i}.net/docs/{i}/page.html"));
        let links: Vec<Url> = (0..2000).map(link).collect();
        let mut times: Vec<_> = links
            .chunks(50)
            .map(|some| {
                let begun = std::time::Instant::now();
                assert!(!some.iter().any(|link| scope.judge(link, 3).is_in()));
                begun.elapsed()
            })
            .collect();
        times.sort();
        times[times.len() / 4].as_secs_f64()
    };
    for reach in [Reach::Site, Reach::Domain, Reach::Host, Reach::Prefix] {
        let (few, many) = (cost(10, reach), cost(100_000, reach));
        assert!(many < 20.0 * few, "{reach:?}: {many} s instead of {few}");
    }
}
