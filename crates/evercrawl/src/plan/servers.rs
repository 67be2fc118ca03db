//! `servers.csv`: how long each server wants to be left alone between two visits.

use crate::fingerprint::ByFingerprint;
use crate::table::Table;
use anyhow::Result;
use ground::quantity::{DAY, Seconds};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// The delay of each server that has one of its own, and of all others.
#[derive(Default)]
pub struct Delays {
    own: HashMap<Box<[u8]>, f64, ByFingerprint>,
    others: f64,
}

impl Delays {
    /// Reads the servers' delays, if there is such a file.
    pub fn read(path: Option<&Path>, politeness: Option<Seconds>) -> Result<Self> {
        let mut delays = Self {
            own: HashMap::default(),
            others: politeness.map_or(0.0, |Seconds(delay)| delay),
        };
        let Some(path) = path else {
            return Ok(delays);
        };
        let mut table = Table::open(path, &["server", "delay"], "reading servers")?;
        let columns = (table.column("server"), table.column("delay"));
        let (Some(server), Some(delay)) = columns else {
            unreachable!("the table was opened with these columns");
        };
        while table.advance()? {
            let value = match table.number(delay) {
                Ok(seconds) => seconds,
                Err(_) => with_unit(table.field(delay)).ok_or_else(|| {
                    table.error(format!(
                        "delay is '{}': expected a finite number of seconds of at least 0, or a \
                         duration such as 500ms",
                        String::from_utf8_lossy(table.field(delay))
                    ))
                })?,
            };
            match delays.own.entry(table.name(server)?.into()) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(entry) => {
                    let name = String::from_utf8_lossy(entry.key());
                    let reason = format!("the server '{name}' is listed twice");
                    return Err(table.error(reason).into());
                }
            };
        }
        Ok(delays)
    }

    /// Visits per day that a server takes at most; infinite without politeness.
    pub fn cap(&self, server: &[u8]) -> f64 {
        DAY / self.own.get(server).copied().unwrap_or(self.others)
    }
}

fn with_unit(field: &[u8]) -> Option<f64> {
    let Seconds(delay) = std::str::from_utf8(field).ok()?.parse().ok()?;
    Some(delay)
}
