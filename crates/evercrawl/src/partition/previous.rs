//! `--previous`: who had what.

use super::hosts::{Hosts, column};
use super::robots::Robots;
use crate::table::Table;
use anyhow::Result;
use partition::task::NOWHERE;
use std::collections::HashMap;
use std::path::Path;

/// An earlier assignment, as far as it still matters.
pub struct Before {
    /// The robot of each host, or nowhere.
    pub part: Vec<u32>,
    pub warnings: Vec<String>,
}

/// Reads `host,robot`. Hosts that are gone are left out with a warning; those of robots that are
/// gone are nobody's.
pub fn read(file: &Path, hosts: &Hosts, robots: &Robots) -> Result<Before> {
    let columns = ["host", "robot"];
    let mut table = Table::open_loose(file, &columns, "reading the previous")?;
    let [host, robot] = columns.map(|name| column(&table, name));
    let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut part = vec![NOWHERE; hosts.names.len()];
    let mut gone = 0_usize;
    while table.next()? {
        let name = table.name(robot)?;
        let robot = *numbers.entry(name.to_vec()).or_insert_with(|| {
            let name = String::from_utf8_lossy(name);
            robots.number(&name).unwrap_or(NOWHERE)
        });
        match hosts.number(table.name(host)?) {
            Some(host) => part[host as usize] = robot,
            None => gone += 1,
        }
    }
    let warnings = (gone > 0).then(|| {
        format!(
            "{}: {gone} host(s) are no longer there; left out",
            file.display()
        )
    });
    Ok(Before {
        part,
        warnings: warnings.into_iter().collect(),
    })
}
