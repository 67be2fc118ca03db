//! Reading a configuration, and saying in plain words what is wrong with it: which line, which key, what
//! was expected. What a key expects is told by the sample, which has an example of every one.

use super::expected::EXPECTED;
use super::{Config, SAMPLE};
use std::fmt;
use toml::{Table, Value};

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
mod tests;
