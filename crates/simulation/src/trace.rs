//! Recorded change histories: which item changed when, and on which server it lives.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

/// A change history read from files.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Trace {
    /// The items' names, in the order of the items file, else of first appearance.
    pub ids: Vec<String>,
    /// The server of each item, as an index into `servers`; all on one without an items file.
    pub server: Vec<u32>,
    /// The servers' names.
    pub servers: Vec<String>,
    /// The importance of each item, where the items file gives it.
    pub weight: Option<Vec<f64>>,
    /// Where each item's changes start in `seconds`; one more entry than items.
    pub offsets: Vec<usize>,
    /// The instants of all changes, in seconds since 1970, ascending within each item.
    pub seconds: Vec<f64>,
    /// What was odd but could be mended.
    pub warnings: Vec<String>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("{}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line says something that cannot be.
    #[error("{}:{line}: {message}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        message: String,
    },
}

impl Trace {
    /// Reads `item_id,timestamp_seconds` from `changes` and, where given, `item_id,server,weight`
    /// from `items` (`host` stands in for a missing `server`; `weight` may be missing; other
    /// columns are ignored). Names ending in `.gz` are decompressed.
    pub fn read(changes: &Path, items: Option<&Path>) -> Result<Self, Error> {
        let mut trace = Self::default();
        let mut index = HashMap::new();
        if let Some(items) = items {
            trace.read_items(items, &mut index)?;
        }
        trace.read_changes(changes, items, &mut index)?;
        if items.is_none() {
            trace.servers = vec!["one".to_owned()];
            trace.server = vec![0; trace.ids.len()];
        }
        Ok(trace)
    }

    /// The instants at which item number `item` changed.
    pub fn changes(&self, item: usize) -> &[f64] {
        &self.seconds[self.offsets[item]..self.offsets[item + 1]]
    }

    fn read_items(&mut self, file: &Path, index: &mut HashMap<String, u32>) -> Result<(), Error> {
        let mut table = Table::open(file)?;
        let id = table.column(&["item_id"])?;
        let server = table.column(&["server", "host"])?;
        let weight = table.column(&["weight"]).ok();
        let mut weights = Vec::new();
        let mut servers = HashMap::new();
        while table.advance()? {
            let name = table.field(id);
            let number = self.ids.len() as u32;
            if index.insert(name.to_owned(), number).is_some() {
                return Err(table.error(format!("item '{name}' is listed twice")));
            }
            self.ids.push(name.to_owned());
            let host = table.field(server);
            let number = *servers.entry(host.to_owned()).or_insert_with(|| {
                self.servers.push(host.to_owned());
                self.servers.len() as u32 - 1
            });
            self.server.push(number);
            if let Some(weight) = weight {
                weights.push(table.number(weight, "weight")?);
            }
        }
        self.weight = weight.map(|_| weights);
        Ok(())
    }

    fn read_changes(
        &mut self,
        file: &Path,
        items: Option<&Path>,
        index: &mut HashMap<String, u32>,
    ) -> Result<(), Error> {
        struct Event {
            item: u32,
            at: f64,
            line: u64,
        }
        let mut table = Table::open(file)?;
        let id = table.column(&["item_id"])?;
        let time = table.column(&["timestamp_seconds"])?;
        let mut events: Vec<Event> = Vec::new();
        while table.advance()? {
            let name = table.field(id);
            let item = match index.get(name) {
                Some(&item) => item,
                None if items.is_none() => {
                    let item = self.ids.len() as u32;
                    index.insert(name.to_owned(), item);
                    self.ids.push(name.to_owned());
                    item
                }
                None => {
                    let list = items.unwrap_or(file).display();
                    return Err(table.error(format!("item '{name}' is not listed in {list}")));
                }
            };
            let at = table.number(time, "timestamp_seconds")?;
            let line = table.line();
            events.push(Event { item, at, line });
        }
        let mut latest = vec![(f64::NEG_INFINITY, 0); self.ids.len()];
        let mut unsorted = (0usize, 0);
        for event in &events {
            let latest = &mut latest[event.item as usize];
            if event.at < latest.0 {
                unsorted = (
                    unsorted.0 + 1,
                    if unsorted.0 == 0 {
                        event.line
                    } else {
                        unsorted.1
                    },
                );
            }
            *latest = (event.at, event.line);
        }
        if unsorted.0 > 0 {
            self.warnings.push(format!(
                "{}:{}: {} change(s) out of order within their item, the first one here; sorted",
                file.display(),
                unsorted.1,
                unsorted.0
            ));
        }
        events.sort_by(|a, b| a.item.cmp(&b.item).then(a.at.total_cmp(&b.at)));
        if let Some(twice) = events
            .windows(2)
            .find(|pair| pair[0].item == pair[1].item && pair[0].at == pair[1].at)
        {
            return Err(Error::Line {
                file: file.to_owned(),
                line: twice[1].line,
                message: format!(
                    "duplicate: item '{}' changed at {} already on line {}",
                    self.ids[twice[1].item as usize], twice[1].at, twice[0].line
                ),
            });
        }
        self.offsets = vec![0; self.ids.len() + 1];
        for event in &events {
            self.offsets[event.item as usize + 1] += 1;
        }
        for item in 0..self.ids.len() {
            self.offsets[item + 1] += self.offsets[item];
        }
        self.seconds = events.into_iter().map(|event| event.at).collect();
        if self.seconds.is_empty() {
            return Err(Error::Line {
                file: file.to_owned(),
                line: 1,
                message: "no changes at all".to_owned(),
            });
        }
        Ok(())
    }
}

/// A CSV file that knows where it is.
struct Table<'a> {
    file: &'a Path,
    reader: csv::Reader<Box<dyn Read>>,
    header: csv::StringRecord,
    row: csv::StringRecord,
}

impl<'a> Table<'a> {
    fn open(file: &'a Path) -> Result<Self, Error> {
        let plain = File::open(file).map_err(|source| Error::Open {
            file: file.to_owned(),
            source,
        })?;
        let plain = BufReader::with_capacity(1 << 16, plain);
        let reader: Box<dyn Read> = if file.extension().is_some_and(|end| end == "gz") {
            Box::new(flate2::bufread::MultiGzDecoder::new(plain))
        } else {
            Box::new(plain)
        };
        let mut table = Self {
            file,
            reader: csv::ReaderBuilder::new()
                .trim(csv::Trim::All)
                .from_reader(reader),
            header: csv::StringRecord::new(),
            row: csv::StringRecord::new(),
        };
        table.header = match table.reader.headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(table.broken(&error)),
        };
        Ok(table)
    }

    /// The position of the first of these columns that the file has.
    fn column(&self, names: &[&str]) -> Result<usize, Error> {
        names
            .iter()
            .find_map(|name| self.header.iter().position(|column| column == *name))
            .ok_or_else(|| Error::Line {
                file: self.file.to_owned(),
                line: 1,
                message: format!(
                    "not a CSV file with a column '{}'; its first line is '{}'",
                    names[0],
                    self.header
                        .iter()
                        .collect::<Vec<_>>()
                        .join(",")
                        .escape_debug()
                        .take(80)
                        .collect::<String>()
                ),
            })
    }

    fn advance(&mut self) -> Result<bool, Error> {
        self.reader
            .read_record(&mut self.row)
            .map_err(|error| self.broken(&error))
    }

    fn field(&self, column: usize) -> &str {
        self.row.get(column).unwrap_or_default()
    }

    fn line(&self) -> u64 {
        self.row.position().map_or(0, csv::Position::line)
    }

    fn number(&self, column: usize, what: &str) -> Result<f64, Error> {
        let text = self.field(column);
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            Ok(number) if number < 0.0 => Err(self.error(format!("{what} {text} is negative"))),
            _ => Err(self.error(format!(
                "{what} '{}' is not a finite number",
                text.escape_debug()
            ))),
        }
    }

    fn error(&self, message: String) -> Error {
        Error::Line {
            file: self.file.to_owned(),
            line: self.line(),
            message,
        }
    }

    /// What the CSV reader or the decompression stumbled over.
    fn broken(&self, error: &csv::Error) -> Error {
        let line = error
            .position()
            .unwrap_or_else(|| self.reader.position())
            .line();
        let message = match error.kind() {
            csv::ErrorKind::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                "the gzip file is cut off after this line".to_owned()
            }
            csv::ErrorKind::Io(source) => format!("unreadable from here: {source}"),
            csv::ErrorKind::Utf8 { .. } => "not CSV: the line is not UTF-8 text".to_owned(),
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("not CSV: {len} column(s) where the first line has {expected_len}"),
            _ => format!("not CSV: {error}"),
        };
        Error::Line {
            file: self.file.to_owned(),
            line,
            message,
        }
    }
}

#[cfg(test)]
mod tests;
