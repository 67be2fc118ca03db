//! The URLs of WHATWG and IIPC: every case, or one that the README lists as a deliberate difference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use url::{Host, Url};

use super::link::join;
use super::{Canonical, parse_link};

/// A difference: the file it is in, and the case as JSON.
type Difference = (String, String);

/// Where the real data lie, if they do.
fn data(name: &str) -> Option<Value> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("EVERCRAWL_DATA").map_or(beside, PathBuf::from);
    let path = root.join("urls").join(name).with_extension("json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is absent", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// The files hold octets: characters up to U+00FF that are UTF-8 when taken as octets are meant so.
fn octets(text: &str) -> String {
    let octets: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    octets
        .and_then(|octets| String::from_utf8(octets).ok())
        .unwrap_or_else(|| text.to_owned())
}

/// The rows of the README's list: `- file "case"`.
fn listed(file: &str) -> BTreeSet<Difference> {
    let rows = include_str!("README.md").lines();
    rows.filter_map(|row| row.strip_prefix("- `")?.strip_suffix('`')?.split_once(' '))
        .filter(|(name, _)| *name == file)
        .map(|(name, case)| (name.to_owned(), case.to_owned()))
        .collect()
}

/// As the README writes it: JSON, without the two characters that Markdown would take for its own.
fn row(file: &str, case: impl Into<Value>) -> Difference {
    let json = case.into().to_string();
    let plain = json.chars().flat_map(|c| match c {
        '`' => "\\u0060".chars().collect(),
        c if c.is_ascii() => vec![c],
        c => format!("\\u{:04x}", u32::from(c))
            .chars()
            .collect::<Vec<char>>(),
    });
    (file.to_owned(), plain.collect())
}

/// The differences found are those listed: no more, no less.
fn check_differences(file: &str, cases: usize, found: &BTreeSet<Difference>) {
    let listed = listed(file);
    for (file, case) in found.difference(&listed) {
        eprintln!("not listed: - `{file} {case}`");
    }
    for (file, case) in listed.difference(found) {
        eprintln!("no difference any more: - `{file} {case}`");
    }
    assert_eq!(
        &listed, found,
        "{file}: the README must list the differences, and no others"
    );
    eprintln!(
        "{file}: {cases} cases, {} deliberate differences",
        found.len()
    );
}

fn strings(value: &Value) -> impl Iterator<Item = (&String, &str)> {
    let object = value.as_object().expect("an object");
    object
        .iter()
        .map(|(input, expected)| (input, expected.as_str().expect("a string")))
}

#[test]
fn whatwg_parsing() {
    let Some(cases) = data("servo_urltestdata") else {
        return;
    };
    let cases = cases.as_array().expect("an array");
    let cases: Vec<&Value> = cases.iter().filter(|case| case.is_object()).collect();
    let mut found = BTreeSet::new();
    for case in &cases {
        let input = case["input"].as_str().expect("an input");
        let url = match case["base"].as_str() {
            Some(base) => Url::parse(base).and_then(|base| join(&base, input)),
            None => Url::parse(input),
        };
        let expected = case["href"].as_str();
        if url.as_ref().ok().map(Url::as_str) != expected {
            let case = vec![case["input"].clone(), case["base"].clone()];
            found.insert(row("servo_urltestdata", case));
        }
    }
    check_differences("servo_urltestdata", cases.len(), &found);
}

#[test]
fn iipc_whatwg_supplement() {
    let Some(cases) = data("iipc_supplemental_whatwg") else {
        return;
    };
    let mut found = BTreeSet::new();
    for (input, expected) in strings(&cases) {
        if Url::parse(&octets(input)).map(String::from).ok().as_deref() != Some(expected) {
            found.insert(row("iipc_supplemental_whatwg", input.as_str()));
        }
    }
    check_differences("iipc_supplemental_whatwg", strings(&cases).count(), &found);
}

#[test]
fn iipc_odd_ipv4() {
    let Some(cases) = data("iipc_funky_ipv4") else {
        return;
    };
    let cases = cases.as_object().expect("an object");
    let mut found = BTreeSet::new();
    for (input, expected) in cases {
        let url = Url::parse(&format!("http://{input}/"));
        let address = match url.as_ref().ok().and_then(Url::host) {
            Some(Host::Ipv4(address)) => Some(address.to_string()),
            _ => None,
        };
        if address.as_deref() != expected.as_str() {
            found.insert(row("iipc_funky_ipv4", input.as_str()));
        }
    }
    check_differences("iipc_funky_ipv4", cases.len(), &found);
}

#[test]
fn iipc_dots_in_paths() {
    let Some(cases) = data("iipc_path_dots") else {
        return;
    };
    let mut found = BTreeSet::new();
    for (input, expected) in strings(&cases["special"]) {
        let url = Url::parse(&format!("http://h{input}")).expect("a URL");
        // a backslash is a slash, written differently
        if url.path() != expected.replace('\\', "/") {
            found.insert(row("iipc_path_dots", format!("http://h{input}")));
        }
    }
    for (input, expected) in strings(&cases["nonspecial"]) {
        let start = if input.starts_with('/') {
            "foo://h"
        } else {
            "foo:"
        };
        let url = Url::parse(&format!("{start}{input}")).expect("a URL");
        if url.path() != expected {
            found.insert(row("iipc_path_dots", format!("{start}{input}")));
        }
    }
    let count = strings(&cases["special"]).count() + strings(&cases["nonspecial"]).count();
    check_differences("iipc_path_dots", count, &found);
}

#[test]
fn iipc_parts() {
    let Some(cases) = data("iipc_parsing") else {
        return;
    };
    let cases = cases.as_object().expect("an object");
    let is_ours = |parts: &Value| {
        let scheme = parts["scheme"]
            .as_str()
            .map(|scheme| scheme.replace(['\t', '\n'], ""));
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"))
    };
    let ours: Vec<_> = cases.iter().filter(|(_, parts)| is_ours(parts)).collect();
    let mut found = BTreeSet::new();
    for (input, parts) in &ours {
        let part = |name: &str| parts[name].as_str().unwrap_or_default().to_owned();
        let agrees = Url::parse(input).is_ok_and(|url| {
            let rest = Url::parse(&format!("http://h{}", part("path"))).expect("a path");
            url.host_str() == Some(&part("host"))
                && url.port().map(|port| port.to_string()).unwrap_or_default() == part("port")
                && url.path() == rest.path()
                && url.query().unwrap_or_default() == part("query")
                && url.fragment().unwrap_or_default() == part("fragment")
                && url.username() == part("username")
                && url.password().unwrap_or_default() == part("password")
        });
        if !agrees {
            found.insert(row("iipc_parsing", input.as_str()));
        }
    }
    check_differences("iipc_parsing", ours.len(), &found);
}

/// The data say which URLs are the same; so do our keys. A case differs when its input and its
/// canonical form have different keys, or when they have the key of another canonical form.
fn check_canonical<'a>(file: &str, cases: impl Iterator<Item = (&'a String, &'a str)>) {
    let keys = Canonical::default();
    let nowhere = Url::parse("about:blank").expect("a URL");
    // a name without a scheme is no URL of the standard, but these files take it for http
    let key = |text: &str| {
        let has_scheme = text
            .trim_start()
            .replace(['\t', '\n', '\r'], "")
            .starts_with("http");
        let scheme = if has_scheme { "" } else { "http://" };
        let url = parse_link(&nowhere, &format!("{scheme}{text}")).ok()?;
        Some(keys.key(&url))
    };
    let is_ours =
        |canonical: &str| canonical.starts_with("http:") || canonical.starts_with("https:");
    let without_fragment = |url: &str| url.split('#').next().unwrap_or_default().to_owned();
    let mut found = BTreeSet::new();
    let mut owners = BTreeMap::new();
    let mut count = 0;
    for (input, canonical) in cases {
        let text = octets(input);
        let (canonical, ours) = (without_fragment(canonical), key(&text));
        if !is_ours(&canonical) {
            assert!(parse_link(&nowhere, &text).is_err(), "{text} is not for us");
            continue;
        }
        count += 1;
        let owner = owners
            .entry(ours.clone())
            .or_insert_with(|| canonical.clone());
        if ours.is_none() || ours != key(&canonical) || *owner != canonical {
            found.insert(row(file, input.as_str()));
        }
        if let Some(ours) = ours {
            assert_eq!(
                key(&ours).as_ref(),
                Some(&ours),
                "{input}: a key is its own key"
            );
        }
    }
    check_differences(file, count, &found);
}

#[test]
fn iipc_semantic_precise() {
    if let Some(cases) = data("iipc_semantic_precise") {
        check_canonical("iipc_semantic_precise", strings(&cases));
    }
}

#[test]
fn iipc_aggressive() {
    if let Some(cases) = data("iipc_aggressive") {
        check_canonical("iipc_aggressive", strings(&cases));
    }
}

#[test]
fn iipc_surt() {
    let Some(cases) = data("iipc_surt") else {
        return;
    };
    for section in [
        "Canonicalizer.DefaultIA",
        "google",
        "googleSupplementalFromSurt",
        "Canonicalizer.IA",
    ] {
        check_canonical(&format!("iipc_surt/{section}"), strings(&cases[section]));
    }
    let url = |path: &str| format!("http://h{path}");
    let paths: Vec<(String, String)> = strings(&cases["stripPathSessionId"])
        .map(|(input, expected)| (url(input), url(expected)))
        .chain(
            strings(&cases["alphaRorderQuery"]).map(|(input, expected)| {
                (url(&format!("/?{input}")), url(&format!("/?{expected}")))
            }),
        )
        .collect();
    check_canonical(
        "iipc_surt/parts",
        paths
            .iter()
            .map(|(input, expected)| (input, expected.as_str())),
    );
}

#[test]
fn iipc_idempotence() {
    let Some(cases) = data("iipc_idempotence") else {
        return;
    };
    let keys = Canonical::default();
    let cases = cases.as_array().expect("an array");
    let urls = cases
        .iter()
        .filter_map(|case| Url::parse(case.as_str()?).ok());
    let ours: Vec<Url> = urls
        .filter(|url| url.scheme().starts_with("http"))
        .collect();
    assert!(
        ours.len() > 10,
        "only {} of {} are ours",
        ours.len(),
        cases.len()
    );
    for url in ours {
        let key = keys.key(&url);
        let again = Url::parse(&key).expect("a key is a URL");
        assert_eq!(keys.key(&again), key);
    }
}
