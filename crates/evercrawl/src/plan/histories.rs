//! `changes.csv`: the instants at which pages changed, for allocations that learn from them.

use super::repository::Repository;
use crate::bad_input::BadInput;
use crate::fingerprint::ByFingerprint;
use crate::table::{Table, Version};
use anyhow::Result;
use freshness::allocate::wolf::gaps_or_rates;
use freshness::gap::Gap;
use ground::quantity::DAY;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Change instants by item.
pub struct Histories {
    path: PathBuf,
    items: HashMap<Box<[u8]>, u32, ByFingerprint>,
    /// The instants of each item, ascending, in days.
    instants: Vec<Vec<f64>>,
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
            path: path.to_path_buf(),
            items: HashMap::default(),
            instants: Vec::new(),
        };
        while table.advance()? {
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

    /// The times between the changes of each page, in the repository's order: from its history, or
    /// Poisson at its change rate where that does not show any. Every history must be of a page.
    pub fn gaps(&self, repository: &Repository) -> Result<Vec<Option<Gap>>> {
        let rate = repository.problem(0.0).pages.rate;
        let mut known = vec![false; self.instants.len()];
        let gaps: Vec<Vec<f64>> = (0..rate.len())
            .map(|page| {
                let Some(index) = repository.history(page) else {
                    return Vec::new();
                };
                known[index] = true;
                let pairs = self.instants[index].windows(2);
                // two changes at one instant are one
                pairs
                    .map(|pair| pair[1] - pair[0])
                    .filter(|&gap| gap > 0.0)
                    .collect()
            })
            .collect();
        match known.iter().position(|known| !known) {
            Some(stranger) => Err(self.unknown(stranger as u32)),
            None => Ok(gaps_or_rates(&gaps, rate)),
        }
    }

    /// Says where an item that is no page first stands.
    fn unknown(&self, stranger: u32) -> anyhow::Error {
        let found = self.items.iter().find(|(_, index)| **index == stranger);
        let name: &[u8] = found.map_or(b"", |(name, _)| name);
        let reason = format!(
            "the item '{}' is not among the pages",
            String::from_utf8_lossy(name)
        );
        let at_line = || -> Result<Option<BadInput>> {
            if !Version::of(&self.path)?.is_regular {
                return Ok(None);
            }
            let mut table = Table::open(&self.path, &["item_id"], "finding the line")?;
            let column = table.column("item_id");
            while table.advance()? {
                if column.is_some_and(|column| table.field(column) == name) {
                    return Ok(Some(table.error(reason.clone())));
                }
            }
            Ok(None)
        };
        match at_line() {
            Ok(Some(error)) => error.into(),
            // a pipe cannot be read again
            _ => BadInput::file(&self.path, &reason).into(),
        }
    }
}
