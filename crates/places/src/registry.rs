//! Whom the registries gave an address to: their public lists of delegations.
//!
//! A line is `registry|country|type|start|value|date|status`, perhaps with more fields; `value` is
//! how many addresses of IPv4, or the length of the prefix of IPv6. Lines on AS numbers, versions and
//! sums are not needed.

use super::{Heuristic, Place, cities};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// A list that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// A line is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// Which, from 1 on.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// No line is about addresses that somebody has.
    #[error(
        "has no delegated addresses: expected lines like ripencc|PT|ipv4|193.136.0.0|65536|19930901|allocated"
    )]
    Empty,
}

/// Countries of address ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// First, last and country, by the first; ranges do not overlap.
    ranges: Vec<(u128, u128, [u8; 2])>,
}

impl Registry {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, RegistryError> {
        // names of holders may be in any encoding; what is read here is ASCII
        Self::parse(&String::from_utf8_lossy(&fs::read(path)?))
    }

    /// Reads the lines of one or more lists.
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        let mut ranges = Vec::new();
        for (k, line) in text.lines().enumerate() {
            let wrong = |reason: String| RegistryError::Line {
                line: k + 1,
                reason,
            };
            ranges.extend(range(line.trim()).map_err(wrong)?);
        }
        if ranges.is_empty() {
            return Err(RegistryError::Empty);
        }
        Ok(Self { ranges }.apart())
    }

    /// Takes over the ranges of another list.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.ranges.extend(other.ranges);
        self.apart()
    }

    /// Of two ranges that overlap, as after a transfer between registries, the first ends where the
    /// other begins.
    fn apart(mut self) -> Self {
        self.ranges.sort_unstable();
        for k in 1..self.ranges.len() {
            let next = self.ranges[k].0;
            let last = &mut self.ranges[k - 1].1;
            *last = (*last).min(next.saturating_sub(1));
        }
        self
    }

    /// How many ranges there are.
    pub fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// The country whose holder has the address.
    pub fn country(&self, address: IpAddr) -> Option<&str> {
        let number = number(address);
        let after = self.ranges.partition_point(|range| range.0 <= number);
        let (_, last, country) = self.ranges.get(after.checked_sub(1)?)?;
        if number > *last {
            return None;
        }
        std::str::from_utf8(country).ok()
    }

    /// The country as a place: its largest city stands for it.
    pub fn place(&self, address: IpAddr) -> Option<Place> {
        let country = self.country(address)?;
        let largest = cities().iter().find(|city| city.country == country)?;
        Some(Place {
            heuristic: Heuristic::Registry,
            point: largest.point,
            city: None,
            country: Some(country.to_owned()),
        })
    }
}

/// IPv4 as the part of IPv6 that is mapped to it, so that all have one order.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The range of a line; none where the line is about something else.
fn range(line: &str) -> Result<Option<(u128, u128, [u8; 2])>, String> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let fields: Vec<&str> = line.split('|').collect();
    let [_, country, kind, start, value, _, status, ..] = fields[..] else {
        // sums have six fields
        return match fields.last() {
            Some(&"summary") => Ok(None),
            _ => Err(format!(
                "{} fields: expected at least 7 with | between them",
                fields.len()
            )),
        };
    };
    // the first line tells the version, and has a number where others have a country
    let is_version = fields[0].parse::<f64>().is_ok();
    if is_version || !matches!(kind, "ipv4" | "ipv6") {
        return Ok(None);
    }
    if !matches!(status, "allocated" | "assigned") {
        return Ok(None);
    }
    let country = match country.as_bytes() {
        // nobody knows, or nobody has it
        b"" | b"ZZ" | b"zz" => return Ok(None),
        [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
            [a.to_ascii_uppercase(), b.to_ascii_uppercase()]
        }
        _ => {
            return Err(format!(
                "'{country}' is not a country: expected two letters"
            ));
        }
    };
    let (first, count) = if kind == "ipv4" {
        let start: Ipv4Addr = start
            .parse()
            .map_err(|_| format!("'{start}' is not an IPv4 address"))?;
        let count = value
            .parse::<u64>()
            .ok()
            .filter(|n| (1..=1 << 32).contains(n));
        let count = count.ok_or_else(|| format!("'{value}' is not a number of addresses"))?;
        (number(start.into()), u128::from(count))
    } else {
        let start: Ipv6Addr = start
            .parse()
            .map_err(|_| format!("'{start}' is not an IPv6 address"))?;
        let length = value.parse::<u32>().ok().filter(|n| (1..=128).contains(n));
        let length = length.ok_or_else(|| format!("'{value}' is not a prefix length"))?;
        (number(start.into()), 1 << (128 - length))
    };
    Ok(Some((first, first.saturating_add(count - 1), country)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
2|ripencc|1700000000|5|19830705|20231114|+0100
# comments are allowed
ripencc|*|ipv4|*|3|summary
ripencc|PT|ipv4|193.136.0.0|65536|19930901|allocated|a1b2
ripencc|DE|ipv4|193.174.0.0|768|19930901|assigned
ripencc|ES|asn|766|1|19930901|allocated
ripencc|PT|ipv6|2001:690::|29|19990824|allocated
ripencc||ipv4|193.1.0.0|256||available
ripencc|ZZ|ipv4|193.2.0.0|256||reserved
lacnic|br|ipv4|200.128.0.0|131072|19940101|allocated
";

    fn country(list: &Registry, address: &str) -> Option<String> {
        list.country(address.parse().unwrap()).map(str::to_owned)
    }

    #[test]
    fn addresses_have_the_country_of_their_range() {
        let list = Registry::parse(LIST).unwrap();
        assert_eq!(list.ranges(), 4);
        for (address, expected) in [
            ("193.136.0.0", Some("PT")),
            ("193.136.255.255", Some("PT")),
            ("193.137.0.0", None),
            // 768 addresses are no power of two
            ("193.174.2.255", Some("DE")),
            ("193.174.3.0", None),
            ("2001:690::1", Some("PT")),
            ("2001:697:ffff::1", Some("PT")),
            ("2001:698::1", None),
            ("200.129.255.255", Some("BR")),
            ("193.1.0.1", None),
            ("193.2.0.1", None),
            ("0.0.0.0", None),
        ] {
            assert_eq!(country(&list, address).as_deref(), expected, "{address}");
        }
        let place = list.place("193.136.4.4".parse().unwrap()).unwrap();
        assert_eq!(place.country.as_deref(), Some("PT"));
        assert!((place.point.latitude - 38.7).abs() < 0.2, "Lisbon");
    }

    #[test]
    fn lists_of_several_registries_go_together() {
        let one = Registry::parse("ripencc|PT|ipv4|193.136.0.0|65536|1|allocated").unwrap();
        let other = Registry::parse("arin|US|ipv4|18.0.0.0|16777216|1|allocated").unwrap();
        let both = one.with(other);
        assert_eq!(country(&both, "18.9.9.9").as_deref(), Some("US"));
        assert_eq!(country(&both, "193.136.1.1").as_deref(), Some("PT"));
        assert_eq!(country(&both, "193.135.1.1"), None);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (line, part) in [
            (
                "ripencc|PT|ipv4|193.136.0|65536|19930901|allocated",
                "193.136.0",
            ),
            (
                "ripencc|PT|ipv4|193.136.0.0|many|19930901|allocated",
                "many",
            ),
            ("ripencc|PT|ipv6|2001::|129|19930901|allocated", "129"),
            ("ripencc|PRT|ipv4|193.136.0.0|256|19930901|allocated", "PRT"),
            ("address,country", "1 fields"),
        ] {
            let text = format!("{LIST}{line}\n");
            let error = Registry::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with("line 11:"), "{error}");
            assert!(error.contains(part), "{error}");
        }
        let empty = Registry::parse("# nothing\n").unwrap_err().to_string();
        assert!(empty.contains("expected"), "{empty}");
    }
}
