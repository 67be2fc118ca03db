//! What is said of configurations that cannot be.

use super::*;

/// Words of the language that this is written in, not of its users.
const RUST: [&str; 30] = [
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "i64",
    "f64",
    "enum",
    "struct",
    "variant",
    "tuple",
    "newtype",
    "unit",
    "sequence",
    "serde",
    "field",
    "tagged",
    "invalid type",
    "invalid value",
    "bool",
    "Vec",
    "Option",
    "String",
    "map",
    "untagged",
    "integer",
    "floating",
    "IpAddr",
    "socket",
    "Socket",
];

/// Every key of the sample, those that are commented out included.
fn keys() -> Vec<String> {
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in SAMPLE.lines() {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let head = bare.trim_start_matches('[').trim_end_matches(']');
        if bare.starts_with('[') {
            section = head.to_owned();
        } else if let Some((key, _)) = bare.split_once(" = ")
            && key
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        {
            let dot = if section.is_empty() { "" } else { "." };
            keys.push(format!("{section}{dot}{key}"));
        }
    }
    for filter in ["domains", "paths", "types", "addresses"] {
        keys.extend(["allow", "deny"].map(|list| format!("scope.{filter}.{list}")));
    }
    keys.extend(["rule", "factor", "least"].map(|key| format!("politeness.interval.{key}")));
    keys
}

fn written(key: &str, value: &str) -> String {
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let first = match section {
        "watch" => Some(("pages", "\"a\"")),
        "rules" => Some(("hosts", "[\"a\"]")),
        "webhooks" => Some(("url", "\"a\"")),
        _ => None,
    };
    match first {
        Some((first, _)) if first == name => format!("[[{section}]]\n{name} = {value}"),
        Some((first, fits)) => format!("[[{section}]]\n{first} = {fits}\n{name} = {value}"),
        None if key == "politeness.interval.factor" => {
            format!("politeness.interval = {{ rule = \"latency\", least = 1, factor = {value} }}")
        }
        None if key == "politeness.interval.least" => {
            format!("politeness.interval = {{ rule = \"latency\", factor = 1, least = {value} }}")
        }
        None => format!("{key} = {value}"),
    }
}

#[test]
fn a_wrong_type_is_told_in_plain_words_for_every_key() {
    let keys = keys();
    assert!(keys.len() > 55, "{keys:?}");
    for key in &keys {
        let mut refused = 0;
        for value in [
            "-1",
            "1.5",
            "true",
            "\"§\"",
            "[[1]]",
            "[\"§\", 3]",
            "{ wrong = 1 }",
            "99999999999999999",
            "1979-05-27",
        ] {
            let text = written(key, value);
            let Err(error) = Config::parse(&text) else {
                continue;
            };
            refused += 1;
            let said = error.to_string();
            assert!(said.starts_with("line "), "{text}: {said}");
            let top = key.split('.').take(2).collect::<Vec<_>>().join(".");
            assert!(said.contains(&top), "{text}: {said}");
            assert!(
                said.contains("expected ") || said.contains("is not a key"),
                "{text}: {said}"
            );
            let said = said.replace(key.as_str(), "");
            for word in RUST {
                let is_word = |c: char| !c.is_ascii_alphanumeric();
                let found = said.split(is_word).any(|other| other == word);
                assert!(
                    !(found || word.contains(' ') && said.contains(word)),
                    "{word:?}: {text}: {said}"
                );
            }
        }
        assert!(refused >= 2, "{key} takes nearly anything");
    }
}

#[test]
fn errors_name_line_key_and_example() {
    for (text, said) in [
        (
            "\n[politeness]\nat_once = \"many\"",
            "line 3: politeness.at_once: expected a whole number from 1 to 10000 such as 1, found \"many\"",
        ),
        (
            "budget.connections = 1.5",
            "line 1: budget.connections: expected a whole number, not below 0, such as 64, found 1.5",
        ),
        (
            "archive.enabled = 1",
            "line 1: archive.enabled: expected true or false, found 1",
        ),
        (
            "scope.reech = 1",
            "line 1: scope.reech is not a key; did you mean scope.reach?",
        ),
        (
            "seeds = [1]",
            "line 1: seeds: expected a list of URLs such as [\"https://docs.example.org/\", { url = \"https://b.org/docs/\", reach = \"prefix\" }], found 1",
        ),
        (
            "[[watch]]\nselect = []",
            "watch: expected sections [[watch]]",
        ),
    ] {
        let error = Config::parse(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let error = Config::parse("a = [").unwrap_err().to_string();
    assert!(error.starts_with("line 1: no TOML: "), "{error}");
}
