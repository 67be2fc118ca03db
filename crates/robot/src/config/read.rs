//! Reading a configuration, and saying in plain words what is wrong with it: which line, which key, what
//! was expected. What a key expects is told by the sample, which has an example of every one.

use super::{Config, SAMPLE};
use std::fmt;
use toml::{Table, Value};

/// Keys of which the sample's value does not tell enough.
const EXPECTED: [(&str, &str); 38] = [
    (
        "seeds",
        "a list of URLs such as [\"https://docs.example.org/\"]",
    ),
    ("data", "a directory such as \"evercrawl-data\""),
    (
        "identity.contact",
        "a URL or an e-mail address such as \"https://example.org/bot\"",
    ),
    (
        "scope.reach",
        "one of \"site\", \"domain\", \"host\", \"prefix\", \"page\", \"anywhere\", \"nowhere\"",
    ),
    (
        "scope.include",
        "a list of regular expressions such as [\"/docs/\"]",
    ),
    (
        "scope.exclude",
        "a list of regular expressions such as [\"/search\\\\?\"]",
    ),
    (
        "scope.also",
        "a list of regular expressions such as [\"^https://cdn\\\\.example\\\\.org/\"]",
    ),
    (
        "scope.prefixes",
        "a list of URL prefixes such as [\"https://example.org/docs/\"]",
    ),
    (
        "scope.suffixes",
        "a list of names such as [\"example.org\"]",
    ),
    (
        "scope.max_depth",
        "a whole number from 0 to 65535 such as 5",
    ),
    (
        "scope.domains",
        "lists of names such as { allow = [\"example.org\"], deny = [] }",
    ),
    (
        "scope.paths",
        "lists of paths such as { allow = [], deny = [\"/private/\"] }",
    ),
    (
        "scope.types",
        "lists of content types such as { allow = [\"text/*\"], deny = [] }",
    ),
    (
        "scope.addresses",
        "lists of address ranges such as { allow = [], deny = [\"192.0.2.0/24\"] }",
    ),
    (
        "keys.drop",
        "a list of names of parameters such as [\"utm_source\"]",
    ),
    (
        "politeness.interval",
        "one of { rule = \"latency\", factor = 10.0, least = 1.0 }, { rule = \"fixed\", seconds = 1.0 }, \
         { rule = \"density\", longest = 60.0, pages_of_largest = 100000.0 }",
    ),
    (
        "politeness.at_once",
        "a whole number from 1 to 10000 such as 1",
    ),
    (
        "revisit.budget",
        "a share or a number of visits in quotes such as \"20%\" or \"2000/day\"",
    ),
    ("revisit.count", "\"text\" or \"body\""),
    (
        "fetch.allow_networks",
        "a list of networks such as [\"10.0.0.0/8\"]",
    ),
    (
        "fetch.hosts",
        "names with their addresses such as { \"www.example.org\" = [\"192.0.2.7\"] }",
    ),
    (
        "fetch.dns_server",
        "an address and a port such as \"192.0.2.53:53\"",
    ),
    ("fetch.extra_roots", "a file such as \"private-ca.pem\""),
    (
        "metrics.listen",
        "an address and a port such as \"127.0.0.1:9600\"",
    ),
    ("log.file", "a file such as \"crawl.log\""),
    (
        "log.level",
        "one of \"error\", \"warn\", \"info\", \"debug\"",
    ),
    (
        "watch",
        "sections [[watch]], each with a regular expression such as pages = \"/news/\"",
    ),
    (
        "watch.pages",
        "a regular expression such as \"^https://shop\\\\.example/item/\"",
    ),
    (
        "watch.select",
        "a list of CSS selectors such as [\".price\", \"#stock\"]",
    ),
    (
        "watch.ignore",
        "a list of CSS selectors such as [\".reviews\"]",
    ),
    (
        "watch.ignore_text",
        "a list of regular expressions such as [\"\\\\d+ people are looking at this\"]",
    ),
    (
        "rules",
        "sections [[rules]], each with hosts such as [\"shop.example\"] or a regular expression such as pages = \"/item/\"",
    ),
    (
        "webhooks",
        "sections [[webhooks]], each with url = \"https://receiver.example/changes\"",
    ),
    (
        "webhooks.url",
        "a URL such as \"https://receiver.example/changes\"",
    ),
    (
        "webhooks.kinds",
        "a list of kinds of changes such as [\"changed\", \"gone\"]",
    ),
    (
        "webhooks.pages",
        "a regular expression such as \"^https://shop\\\\.example/item/\"",
    ),
    ("webhooks.secret_file", "a file such as \"webhook.secret\""),
    (
        "webhooks.secret_env",
        "the name of a variable such as \"WEBHOOK_SECRET\"",
    ),
];

/// A text that is no configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1.
    pub line: Option<usize>,
    what: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Config {
    /// Reads a file's text; the error names line and key, and says what was expected.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let at = |error: &toml::de::Error| {
            let start = error.span()?.start.min(text.len());
            Some(text.get(..start)?.matches('\n').count() + 1)
        };
        let syntax = |error: toml::de::Error| Unreadable {
            line: at(&error),
            what: format!("no TOML: {}", error.message().replace('\n', ", ")),
        };
        let whole = toml::Deserializer::parse(text).map_err(syntax)?;
        serde_path_to_error::deserialize(whole).map_err(|error| {
            let key = key_of(&error.path().to_string());
            let error = error.into_inner();
            let found = error
                .span()
                .and_then(|span| text.get(span))
                .unwrap_or_default();
            Unreadable {
                line: at(&error),
                what: explain(&key, error.message(), found.trim()),
            }
        })
    }
}

/// A path without the places in lists.
fn key_of(path: &str) -> String {
    let mut key = String::new();
    for (k, part) in path.split('[').enumerate() {
        key += if k == 0 {
            part
        } else {
            part.split_once(']').map_or(part, |(_, rest)| rest)
        };
    }
    key.trim_matches('.').to_owned()
}

fn explain(key: &str, message: &str, found: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let (name, known) = rest.split_once('`').unwrap_or((rest, ""));
        let section = match key.strip_suffix(name) {
            Some(section) => section.trim_end_matches('.'),
            None => key,
        };
        return unknown(section, name, known);
    }
    let named = if key.is_empty() {
        "the configuration".to_owned()
    } else {
        key.to_owned()
    };
    let shown: String = found
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(60)
        .collect();
    let shown = if shown.is_empty() {
        String::new()
    } else {
        format!(", found {shown}")
    };
    format!("{named}: expected {}{shown}", expected(key))
}

/// A key that there is not; the one that may be meant, or all.
fn unknown(section: &str, name: &str, known: &str) -> String {
    let key = |name: &str| {
        if section.is_empty() {
            name.to_owned()
        } else {
            format!("{section}.{name}")
        }
    };
    let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let near = names.iter().min_by_key(|other| distance(name, other));
    let hint = match near {
        Some(near) if distance(name, near) <= 2 => format!("; did you mean {}?", key(near)),
        _ if names.is_empty() => String::new(),
        _ => format!("; there are: {}", names.join(", ")),
    };
    format!("{} is not a key{hint}", key(name))
}

/// Letters to be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let here = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = here.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// What a key expects, with an example.
fn expected(key: &str) -> String {
    let mut wanted = key;
    loop {
        if let Some((_, words)) = EXPECTED.iter().find(|(known, _)| *known == wanted) {
            return (*words).to_owned();
        }
        if let Some(value) = sampled(wanted) {
            return of_kind(wanted, &value);
        }
        match wanted.rsplit_once('.') {
            Some((above, _)) => wanted = above,
            None => return "keys and sections as `evercrawl config sample` has them".into(),
        }
    }
}

fn of_kind(key: &str, value: &Value) -> String {
    match value {
        Value::Boolean(_) => "true or false".into(),
        Value::Integer(number) => format!("a whole number, not below 0, such as {number}"),
        Value::Float(number) => format!("a number such as {number:?}"),
        Value::Array(_) => "a list in brackets such as [\"a\", \"b\"]".into(),
        Value::Table(_) => format!("a section [{key}] with keys"),
        other => format!("a text in quotes such as {other}"),
    }
}

/// The sample's value of a key.
fn sampled(key: &str) -> Option<Value> {
    let sample: Table = SAMPLE.parse().ok()?;
    let mut value = Value::Table(sample);
    for part in key.split('.') {
        value = value.get(part)?.clone();
    }
    Some(value)
}

#[cfg(test)]
mod tests {
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
                format!(
                    "politeness.interval = {{ rule = \"latency\", least = 1, factor = {value} }}"
                )
            }
            None if key == "politeness.interval.least" => {
                format!(
                    "politeness.interval = {{ rule = \"latency\", factor = 1, least = {value} }}"
                )
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
                "line 1: seeds: expected a list of URLs such as [\"https://docs.example.org/\"], found 1",
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
}
