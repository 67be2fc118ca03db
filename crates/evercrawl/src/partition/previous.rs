//! `--previous`: who had what.

use super::robots::Robots;
use crate::table::Table;
use crate::terminal::grouped;
use anyhow::Result;
use desk::hosts::{Hosts, column};
use partition::task::NOWHERE;
use std::collections::HashMap;
use std::path::Path;

/// An earlier assignment, as far as it still matters.
pub struct Before {
    /// The robot of each host, or nowhere.
    pub part: Vec<u32>,
    /// Whether each host was that of a robot that is gone.
    pub left_behind: Vec<bool>,
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
    let mut seen: Vec<Option<Vec<u8>>> = vec![None; hosts.names.len()];
    let mut gone = 0_usize;
    while table.advance()? {
        let name = table.name(robot)?;
        let robot = *numbers.entry(name.to_vec()).or_insert_with(|| {
            let name = String::from_utf8_lossy(name);
            robots.number(&name).unwrap_or(NOWHERE)
        });
        let Some(number) = hosts.number(table.name(host)?) else {
            gone += 1;
            continue;
        };
        let before = seen[number as usize].replace(name.to_vec());
        if before.is_some_and(|before| before != name) {
            let host = &hosts.names[number as usize];
            return Err(table
                .error(format!("host '{host}' has another robot here than before"))
                .into());
        }
        part[number as usize] = robot;
    }
    let left_behind = (seen.iter().zip(&part))
        .map(|(seen, &part)| seen.is_some() && part == NOWHERE)
        .collect();
    let warnings = (gone > 0).then(|| {
        format!(
            "{}: {} no longer there; left out",
            file.display(),
            if gone == 1 {
                "1 host is".to_owned()
            } else {
                format!("{} hosts are", grouped(gone))
            }
        )
    });
    Ok(Before {
        part,
        left_behind,
        warnings: warnings.into_iter().collect(),
    })
}
