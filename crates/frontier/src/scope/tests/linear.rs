//! The index against the rule it stands for: one territory after the other.

use proptest::prelude::*;
use url::Url;

use super::super::index::Index;
use super::super::names::Territory;
use super::super::{Reach, Scope, ScopeConfig};

/// URLs of few names and paths, so that many are in many territories.
fn url() -> impl Strategy<Value = Url> {
    let host = prop_oneof![
        "(a\\.|b\\.|www\\.){0,3}(x|y)\\.(org|co\\.uk|github\\.io|test)\\.?",
        "(co\\.uk|github\\.io|localhost|127\\.0\\.0\\.[12]|\\[::1\\])\\.?",
    ];
    let path = "(/[ab]{1,2}){0,4}/?(\\?[ab])?";
    (host, prop_oneof![Just(""), Just(":81"), Just(":443")], path)
        .prop_map(|(host, port, path)| Url::parse(&format!("http://{host}{port}{path}")))
        .prop_filter_map("a URL", Result::ok)
}

fn reach() -> impl Strategy<Value = Reach> {
    prop_oneof![
        Just(Reach::Site),
        Just(Reach::Domain),
        Just(Reach::Host),
        Just(Reach::Prefix),
        Just(Reach::Page),
    ]
}

proptest! {
    #[test]
    fn the_index_says_what_the_territories_say(
        seeds in proptest::collection::vec((url(), reach()), 0..12),
        prefixes in proptest::collection::vec(url(), 0..8),
        found in proptest::collection::vec(url(), 1..20),
    ) {
        let around = seeds.iter().filter_map(|(seed, reach)| Territory::around(seed, *reach));
        let all: Vec<Territory> = around.chain(prefixes.iter().filter_map(Territory::of_prefix)).collect();
        let index = Index::new(all.iter().cloned());
        for url in seeds.iter().map(|(seed, _)| seed).chain(&prefixes).chain(&found) {
            let host = url.host_str().expect("it has one");
            let one_by_one = all.iter().any(|territory| territory.holds(url, host));
            prop_assert_eq!(index.holds(url, host), one_by_one, "{} in {:?}", url, all);
        }
    }
}

#[test]
fn suffixes_and_prefixes_are_in_the_index() {
    let config = ScopeConfig {
        reach: Reach::Host,
        prefixes: vec!["https://p.org/a/".into(), "https://p.org/a/b".into()],
        suffixes: vec!["s.org".into()],
        ..ScopeConfig::default()
    };
    let scope =
        Scope::new(&config, &[Url::parse("https://h.org/x").expect("a URL")]).expect("a scope");
    let is_in = |text: &str| scope.judge(&Url::parse(text).expect("a URL"), 0).is_in();
    assert!(is_in("https://h.org/") && is_in("https://p.org/a/c") && is_in("https://w.s.org/"));
    assert!(!is_in("https://p.org/") && !is_in("https://p.org:81/a/") && !is_in("https://ws.org/"));
}
