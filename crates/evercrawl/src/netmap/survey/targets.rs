//! Whom to ask: names and addresses from the command line and from a file.

use crate::bad_input::BadInput;
use crate::data;
use anyhow::Result;
use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;
use std::path::Path;
use url::Url;

/// All targets, each once.
pub fn read(given: &[String], file: Option<&Path>) -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for target in given {
        targets.push(checked(target).map_err(BadInput)?);
    }
    if let Some(path) = file.filter(|path| path.is_dir()) {
        targets.extend(of_crawl(path)?);
    } else if let Some(path) = file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
        for (line, text) in (1..).zip(text.lines()) {
            let target = text.split('#').next().unwrap_or_default().trim();
            if !target.is_empty() {
                targets.push(checked(target).map_err(|reason| BadInput::at(path, line, reason))?);
            }
        }
    }
    if targets.is_empty() {
        let reason = "no targets: expected host names or addresses, or --targets FILE";
        return Err(BadInput(reason.to_owned()).into());
    }
    let mut seen = HashSet::new();
    targets.retain(|target| seen.insert(target.clone()));
    Ok(targets)
}

/// The hosts that a crawl knows, which may be going on.
fn of_crawl(directory: &Path) -> Result<BTreeSet<String>> {
    let store = data::store_in_place_of("a file of targets", directory)?;
    let origins = data::hosts(&store)?.into_values();
    let urls = origins.filter_map(|host| Url::parse(&host.name).ok());
    Ok(urls
        .filter_map(|url| checked(data::host_name(&url)?).ok())
        .collect())
}

/// A name or address in its usual form.
fn checked(target: &str) -> Result<String, String> {
    if let Ok(address) = target.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    let name = target.trim_end_matches('.').to_ascii_lowercase();
    let good = |label: &str| {
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (1..=63).contains(&label.len()) && label.chars().all(letters)
    };
    // all digits and points, but no address: a slip, not a name
    let number = name.chars().all(|c| c.is_ascii_digit() || c == '.');
    if name.len() <= 253 && !number && name.split('.').all(good) {
        Ok(name)
    } else {
        Err(format!("'{target}' is neither a host name nor an address"))
    }
}

/// What this machine calls itself.
pub fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "here".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses() {
        assert_eq!(checked("WWW.Example.org.").unwrap(), "www.example.org");
        assert_eq!(checked("2001:DB8::0:1").unwrap(), "2001:db8::1");
        for bad in [
            "",
            "..",
            "a b",
            "http://example.org/",
            "300.1.1.1",
            "1.2.3",
            "ü.example",
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
