//! Address blocks of registries and autonomous systems, from CSV or `.mmdb` files.

use crate::bad_input::BadInput;
use crate::table::Table;
use anyhow::Result;
use ground::Prefix;
use maxminddb::{MaxMindDbError, Reader, WithinOptions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Reads `start,end,asn`, `prefix,asn` (with or without header) or an `.mmdb` file.
pub fn read(file: &Path) -> Result<Vec<Prefix>> {
    let is_database = file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("mmdb"));
    if is_database {
        Ok(database(file)?)
    } else {
        rows(file)
    }
}

fn database(file: &Path) -> Result<Vec<Prefix>, BadInput> {
    let broken = |error: MaxMindDbError| match error {
        MaxMindDbError::Io(error) => BadInput::file(file, format!("cannot be read: {error}")),
        error => BadInput::file(file, format!("is not a valid MaxMind database: {error}")),
    };
    let reader = Reader::open_readfile(file).map_err(broken)?;
    let mut prefixes = Vec::new();
    for found in reader.networks(WithinOptions::default()).map_err(broken)? {
        let network = found.and_then(|found| found.network()).map_err(broken)?;
        prefixes.extend(Prefix::around(network.network(), network.prefix()));
    }
    Ok(prefixes)
}

fn rows(file: &Path) -> Result<Vec<Prefix>> {
    let mut table = Table::open_loose(file, &["prefix"], "reading prefixes")?;
    let first = table.column("prefix").unwrap_or(0);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let mut prefixes = Vec::new();
    let mut is_first = true;
    while table.advance()? {
        let start = text(table.field(first));
        if std::mem::take(&mut is_first) && start == "start" {
            continue;
        }
        if start.contains('/') {
            let block = start.parse();
            prefixes.push(block.map_err(|error| table.error(format!("{error}")))?);
            continue;
        }
        let end = (first + 1 < table.fields()).then(|| text(table.field(first + 1)));
        let range = end
            .as_ref()
            .and_then(|end| Some((start.parse().ok()?, end.parse().ok()?)));
        let Some(range) = range else {
            let reason = format!(
                "'{start}' is not a block such as 193.136.0.0/16, nor the first address of a range \
                 start,end"
            );
            return Err(table.error(reason).into());
        };
        let blocks = covering(range.0, range.1)
            .ok_or_else(|| table.error(format!("{} to {} is not a range", range.0, range.1)))?;
        prefixes.extend(blocks);
    }
    Ok(prefixes)
}

/// The fewest blocks that hold exactly the addresses from `start` to `end`.
fn covering(start: IpAddr, end: IpAddr) -> Option<Vec<Prefix>> {
    let (mut from, until, width) = match (start, end) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return None,
    };
    if from > until {
        return None;
    }
    let mut blocks = Vec::new();
    loop {
        let mut bits = from.trailing_zeros().min(width);
        while ones(bits) > until - from {
            bits -= 1;
        }
        let address: IpAddr = if width == 32 {
            Ipv4Addr::from_bits(from as u32).into()
        } else {
            Ipv6Addr::from_bits(from).into()
        };
        blocks.extend(Prefix::around(address, (width - bits) as u8));
        let last = from | ones(bits);
        if last >= until {
            return Some(blocks);
        }
        from = last + 1;
    }
}

/// So many ones at the end.
fn ones(bits: u32) -> u128 {
    1_u128.checked_shl(bits).unwrap_or(0).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(start: &str, end: &str, expected: &[&str]) {
        let blocks = covering(start.parse().unwrap(), end.parse().unwrap()).unwrap();
        let texts: Vec<String> = blocks.iter().map(ToString::to_string).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn ranges_become_the_fewest_blocks() {
        check("193.136.0.0", "193.137.255.255", &["193.136.0.0/15"]);
        check("10.0.0.1", "10.0.0.1", &["10.0.0.1/32"]);
        check(
            "10.0.0.1",
            "10.0.0.6",
            &["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/31", "10.0.0.6/32"],
        );
        check(
            "10.0.0.0",
            "10.0.0.6",
            &["10.0.0.0/30", "10.0.0.4/31", "10.0.0.6/32"],
        );
        check("0.0.0.0", "255.255.255.255", &["0.0.0.0/0"]);
        check("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &["::/0"]);
        check(
            "2001:db8::",
            "2001:db8::2",
            &["2001:db8::/127", "2001:db8::2/128"],
        );
        assert_eq!(covering([10, 0, 0, 2].into(), [10, 0, 0, 1].into()), None);
    }
}
