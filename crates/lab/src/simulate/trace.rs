//! Recorded change histories: which item changed when, and on which server it lives.

use anyhow::Result;
use desk::bad_input::BadInput;
use desk::table::Table;
use std::collections::HashMap;
use std::path::Path;

/// The year 5138; milliseconds since 1970 lie beyond.
const LAST_SECOND: f64 = 1e11;
/// Sums of larger weights would not be exact.
const MOST_WEIGHT: f64 = 1e12;

/// A change history read from files.
#[derive(Debug, Default)]
pub struct Trace {
    /// The items' names, in the order of the items file, else of first appearance.
    pub ids: Vec<String>,
    /// The items' URLs, where the items file gives them.
    pub urls: Option<Vec<String>>,
    /// What the columns asked for say of each item.
    pub columns: Vec<Vec<String>>,
    /// The server of each item; all on one without an items file.
    pub server: Vec<u32>,
    /// How many servers there are.
    pub servers: usize,
    /// The importance of each item, where the items file gives it.
    pub weight: Option<Vec<f64>>,
    /// The instants of all changes, in seconds since 1970, ascending within each item.
    pub seconds: Vec<f64>,
    /// What was odd but could be mended.
    pub warnings: Vec<String>,
    /// Where each item's changes start in `seconds`; one more entry than items.
    offsets: Vec<usize>,
}

struct Event {
    item: u32,
    at: f64,
    position: Option<csv::Position>,
}

impl Trace {
    /// Reads `item_id,timestamp_seconds` from `changes` and, where given, `item_id,server,weight`
    /// from `items` (`host` stands in for a missing `server`; `weight` may be missing), and `url` if it is there.
    pub fn read(changes: &Path, items: Option<&Path>) -> Result<Self> {
        Self::with_columns(changes, items, &[])
    }

    /// The same with these columns of `items`.
    pub fn with_columns(changes: &Path, items: Option<&Path>, columns: &[String]) -> Result<Self> {
        let mut trace = Self::default();
        let mut index = HashMap::new();
        if let Some(items) = items {
            trace.read_items(items, columns, &mut index)?;
        }
        trace.read_changes(changes, items, &mut index)?;
        if items.is_none() {
            trace.servers = 1;
            trace.server = vec![0; trace.ids.len()];
        }
        Ok(trace)
    }

    /// The instants at which item number `item` changed.
    pub fn changes(&self, item: usize) -> &[f64] {
        &self.seconds[self.offsets[item]..self.offsets[item + 1]]
    }

    fn read_items(
        &mut self,
        file: &Path,
        columns: &[String],
        index: &mut HashMap<Vec<u8>, u32>,
    ) -> Result<()> {
        let mut table = Table::open(file, &["item_id"], "reading items")?;
        let id = column(&table, file, &["item_id"])?;
        let server = column(&table, file, &["server", "host"])?;
        let weight = table.column("weight");
        let url = table.column("url");
        let columns = columns
            .iter()
            .map(|name| column(&table, file, &[name]))
            .collect::<Result<Vec<usize>, BadInput>>()?;
        let mut urls = Vec::new();
        let mut weights = Vec::new();
        let mut servers: HashMap<Vec<u8>, u32> = HashMap::new();
        while table.advance()? {
            let number = self.ids.len() as u32;
            if index.insert(table.name(id)?.to_vec(), number).is_some() {
                let name = text(table.field(id));
                return Err(table.error(format!("item '{name}' is listed twice")).into());
            }
            self.ids.push(text(table.field(id)));
            urls.extend(url.map(|url| text(table.field(url))));
            if !columns.is_empty() {
                let fields = columns.iter().map(|&column| text(table.field(column)));
                self.columns.push(fields.collect());
            }
            let next = self.servers as u32;
            let name = table.field(server);
            let server = if name.is_empty() {
                // nobody knows where it lives: a server of its own
                next
            } else {
                *servers.entry(name.to_vec()).or_insert(next)
            };
            self.servers += usize::from(server == next);
            self.server.push(server);
            if let Some(weight) = weight {
                let weight = table.number(weight)?;
                if weight > MOST_WEIGHT {
                    let reason = format!("weight is {weight}: expected at most {MOST_WEIGHT:e}");
                    return Err(table.error(reason).into());
                }
                weights.push(weight);
            }
        }
        self.weight = weight.map(|_| weights);
        self.urls = url.map(|_| urls);
        Ok(())
    }

    fn read_changes(
        &mut self,
        file: &Path,
        items: Option<&Path>,
        index: &mut HashMap<Vec<u8>, u32>,
    ) -> Result<()> {
        let mut table = Table::open(file, &["item_id", "timestamp_seconds"], "reading changes")?;
        let id = column(&table, file, &["item_id"])?;
        let time = column(&table, file, &["timestamp_seconds"])?;
        let mut events: Vec<Event> = Vec::new();
        let mut latest = vec![f64::NEG_INFINITY; self.ids.len()];
        let mut unsorted = (0usize, None);
        while table.advance()? {
            let name = table.name(id)?;
            let item = match (index.get(name), items) {
                (Some(&item), _) => item,
                (None, Some(items)) => {
                    let (name, items) = (text(name), items.display());
                    let reason = format!("item '{name}' is not listed in {items}");
                    return Err(table.error(reason).into());
                }
                (None, None) => {
                    let item = self.ids.len() as u32;
                    index.insert(name.to_vec(), item);
                    self.ids.push(text(name));
                    latest.push(f64::NEG_INFINITY);
                    item
                }
            };
            let (at, position) = (table.number(time)?, table.position());
            if at > LAST_SECOND {
                let reason = format!(
                    "timestamp_seconds is {at}: expected seconds since 1970, at most {LAST_SECOND:e} \
                     (are these milliseconds?)"
                );
                return Err(table.error(reason).into());
            }
            let latest = &mut latest[item as usize];
            if at < *latest {
                unsorted.0 += 1;
                unsorted.1.get_or_insert_with(|| position.clone());
            }
            *latest = at;
            events.push(Event { item, at, position });
        }
        if let (count, Some(position)) = unsorted {
            let line = table.line_of(position.as_ref());
            let reason = format!(
                "{count} change(s) out of order within their item, the first one here; sorted"
            );
            self.warnings
                .push(BadInput::at(file, line, reason).to_string());
        }
        events.sort_by(|a, b| a.item.cmp(&b.item).then(a.at.total_cmp(&b.at)));
        let is_twice = |pair: &&[Event]| pair[0].item == pair[1].item && pair[0].at == pair[1].at;
        if let Some([first, second]) = events.windows(2).find(is_twice) {
            let line = |event: &Event| table.line_of(event.position.as_ref());
            let (name, at) = (&self.ids[second.item as usize], second.at);
            let reason = format!(
                "duplicate: item '{name}' changed at {at} already on line {}",
                line(first)
            );
            return Err(BadInput::at(file, line(second), reason).into());
        }
        if events.is_empty() {
            return Err(BadInput::file(file, "has no changes at all").into());
        }
        if events.iter().all(|event| event.at == events[0].at) {
            return Err(BadInput::file(file, "all changes fall on one instant").into());
        }
        self.offsets = vec![0; self.ids.len() + 1];
        for event in &events {
            self.offsets[event.item as usize + 1] += 1;
        }
        for item in 0..self.ids.len() {
            self.offsets[item + 1] += self.offsets[item];
        }
        self.seconds = events.into_iter().map(|event| event.at).collect();
        Ok(())
    }
}

/// The position of the first of these columns that the table has.
fn column(table: &Table, file: &Path, names: &[&str]) -> Result<usize, BadInput> {
    let found = names.iter().find_map(|name| table.column(name));
    found.ok_or_else(|| {
        BadInput::at(
            file,
            1,
            format!("the column '{}' is missing", names.join("' or '")),
        )
    })
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests;
