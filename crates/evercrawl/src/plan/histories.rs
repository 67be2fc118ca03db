//! `changes.csv`: the instants at which pages changed, for allocations that learn from them.

use crate::fingerprint::ByFingerprint;
use crate::table::Table;
use crate::units::DAY;
use anyhow::Result;
use std::collections::HashMap;
use std::path::Path;

/// Change instants by item.
pub struct Histories {
    items: HashMap<Box<[u8]>, u32, ByFingerprint>,
    /// The instants of each item, ascending, in days.
    pub instants: Vec<Vec<f64>>,
}

impl Histories {
    /// Reads all histories; rows may come in any order.
    pub fn read(path: &Path) -> Result<Self> {
        let required = ["item_id", "timestamp_seconds"];
        let mut table = Table::open(path, &required, "reading histories")?;
        let columns = required.map(|name| table.column(name));
        let [Some(item), Some(timestamp)] = columns else {
            unreachable!("the table was opened with these columns");
        };
        let mut histories = Self {
            items: HashMap::default(),
            instants: Vec::new(),
        };
        while table.next()? {
            let seconds = table.number(timestamp)?;
            let name = table.name(item)?;
            let index = if let Some(&index) = histories.items.get(name) {
                index
            } else {
                let index = histories.instants.len() as u32;
                histories.items.insert(name.into(), index);
                histories.instants.push(Vec::new());
                index
            };
            histories.instants[index as usize].push(seconds / DAY);
        }
        for instants in &mut histories.instants {
            instants.sort_unstable_by(f64::total_cmp);
            instants.shrink_to_fit();
        }
        Ok(histories)
    }

    /// Where the history of a page stands in `instants`.
    pub fn of(&self, page: &[u8]) -> Option<u32> {
        self.items.get(page).copied()
    }
}
