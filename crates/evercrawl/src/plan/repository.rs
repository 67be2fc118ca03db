//! `pages.csv` in memory: numbers only, grouped by server. Names would not fit for millions of
//! pages; whoever needs them reads the file again.

use super::histories::Histories;
use super::servers::Delays;
use crate::bad_input::BadInput;
use crate::fingerprint::{ByFingerprint, fingerprint};
use crate::table::{Table, Version};
use anyhow::{Result, bail};
use freshness::allocate::{Pages, Problem};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The columns that must be there; `weight` may be.
pub const COLUMNS: [&str; 3] = ["page", "server", "change_rate"];
/// In `history`: this page has none.
const NO_HISTORY: u32 = u32::MAX;
/// Names suspected to stand in the file twice are compared in batches of this size.
const SUSPECTS: usize = 1 << 10;

/// All pages, in the order of their servers.
pub struct Repository {
    path: PathBuf,
    version: Version,
    /// Over all names in the order of the file.
    fingerprint: u64,
    server: Vec<u32>,
    rate: Vec<f64>,
    weight: Option<Vec<f64>>,
    /// The history of each page, as an index into the histories read.
    history: Option<Vec<u32>>,
    caps: Vec<f64>,
    /// For each row of the file, where the page stands here; `None` when in the same order.
    position: Option<Vec<u32>>,
}

impl Repository {
    /// Reads pages; `histories` may say when some of them changed.
    pub fn read(path: &Path, delays: &Delays, histories: Option<&Histories>) -> Result<Self> {
        let version = Version::of(path)?;
        let mut table = Table::open(path, &COLUMNS, "reading pages")?;
        let columns = COLUMNS.map(|name| table.column(name));
        let [Some(page_column), Some(server_column), Some(rate_column)] = columns else {
            unreachable!("the table was opened with these columns");
        };
        let weight_column = table.column("weight");
        let mut servers = Servers::default();
        let mut names = Vec::new();
        let mut server = Vec::new();
        let mut rate = Vec::new();
        let mut weight = weight_column.map(|_| Vec::new());
        let mut history = histories.map(|_| Vec::new());
        while table.advance()? {
            let name = table.name(page_column)?;
            names.push(fingerprint(name));
            if let (Some(history), Some(histories)) = (&mut history, histories) {
                history.push(histories.of(name).unwrap_or(NO_HISTORY));
            }
            server.push(servers.index(table.name(server_column)?, delays));
            rate.push(table.number(rate_column)?);
            if let (Some(weight), Some(column)) = (&mut weight, weight_column) {
                weight.push(table.number(column)?);
            }
            if server.len() > u32::MAX as usize {
                return Err(table.error("more than 2³² pages".to_owned()).into());
            }
        }
        if server.is_empty() {
            return Err(BadInput::at(path, 1, "there is no page after the header").into());
        }
        let fingerprint = names.iter().copied().fold(0, chain);
        let mut repository = Self {
            path: path.to_path_buf(),
            version,
            fingerprint,
            server,
            rate,
            weight,
            history,
            caps: servers.caps,
            position: None,
        };
        refuse_duplicates(path, &repository.version, names)?;
        repository.tame_weights();
        repository.group();
        Ok(repository)
    }

    /// The problem of dividing `budget` visits a day among the pages.
    pub fn problem(&self, budget: f64) -> Problem<'_> {
        Problem {
            pages: Pages {
                rate: &self.rate,
                weight: self.weight.as_deref(),
            },
            server: &self.server,
            caps: &self.caps,
            budget,
        }
    }

    /// The history of the page at `position`, as an index.
    pub fn history(&self, position: usize) -> Option<usize> {
        let index = self.history.as_ref()?[position];
        (index != NO_HISTORY).then_some(index as usize)
    }

    /// Where the page of the file's `row`-th row stands in the problem.
    pub fn position(&self, row: usize) -> usize {
        self.position
            .as_ref()
            .map_or(row, |position| position[row] as usize)
    }

    /// Whether a second reading is possible; if not, why.
    pub fn check_rereadable(path: &Path) -> Result<()> {
        if Version::of(path)?.is_regular {
            return Ok(());
        }
        if path.is_dir() {
            return Err(BadInput::file(path, "is a directory; expected a CSV file").into());
        }
        let reason = "is a pipe, but must be read twice to write a plan; save it to a file first";
        Err(BadInput::file(path, reason).into())
    }

    /// Reads the file again: calls `row` with the table and the position of the page. Fails if
    /// the file has changed meanwhile.
    pub fn reread(
        &self,
        mut row: impl FnMut(&Table, usize, [usize; 2]) -> Result<()>,
    ) -> Result<()> {
        let changed = || format!("{} changed while it was read", self.path.display());
        if Version::of(&self.path)? != self.version {
            bail!(changed());
        }
        let mut table = Table::open(&self.path, &COLUMNS, "writing plan")?;
        let [Some(page), Some(server), _] = COLUMNS.map(|name| table.column(name)) else {
            unreachable!("the table was opened with these columns");
        };
        let mut fingerprint = 0;
        let mut rows = 0;
        while table.advance()? {
            if rows == self.server.len() {
                bail!(changed());
            }
            fingerprint = chain(fingerprint, self::fingerprint(table.field(page)));
            row(&table, self.position(rows), [page, server])?;
            rows += 1;
        }
        let version = Version::of(&self.path)?;
        if rows != self.server.len() || fingerprint != self.fingerprint || version != self.version {
            bail!(changed());
        }
        Ok(())
    }

    /// Only the proportions of weights matter; sums of extreme ones would overflow or vanish.
    fn tame_weights(&mut self) {
        if let Some(weight) = &mut self.weight {
            let most = weight.iter().copied().fold(0.0, f64::max);
            if most > 0.0 && !(1e-100..1e100).contains(&most) {
                for weight in weight {
                    *weight /= most;
                }
            }
        }
    }

    /// Brings pages into the order of their servers, so that no allocation has to.
    fn group(&mut self) {
        if self.server.is_sorted() {
            return;
        }
        let mut next = vec![0u32; self.caps.len() + 1];
        for &s in &self.server {
            next[s as usize + 1] += 1;
        }
        for s in 0..self.caps.len() {
            next[s + 1] += next[s];
        }
        let position: Vec<u32> = self
            .server
            .iter()
            .map(|&s| {
                let position = next[s as usize];
                next[s as usize] += 1;
                position
            })
            .collect();
        self.server.par_sort_unstable();
        self.rate = moved(&self.rate, &position);
        self.weight = self.weight.take().map(|weight| moved(&weight, &position));
        self.history = self
            .history
            .take()
            .map(|history| moved(&history, &position));
        self.position = Some(position);
    }
}

fn moved<T: Copy + Default>(values: &[T], position: &[u32]) -> Vec<T> {
    let mut moved = vec![T::default(); values.len()];
    for (&value, &position) in values.iter().zip(position) {
        moved[position as usize] = value;
    }
    moved
}

/// Servers, numbered as they come.
#[derive(Default)]
struct Servers {
    index: HashMap<Box<[u8]>, u32, ByFingerprint>,
    caps: Vec<f64>,
    /// Files often list the pages of a server together.
    last: (Vec<u8>, u32),
}

impl Servers {
    fn index(&mut self, name: &[u8], delays: &Delays) -> u32 {
        if self.last.0 != name {
            let index = self.index.get(name).copied().unwrap_or_else(|| {
                let index = self.caps.len() as u32;
                self.index.insert(name.into(), index);
                self.caps.push(delays.cap(name));
                index
            });
            self.last.0.clear();
            self.last.0.extend_from_slice(name);
            self.last.1 = index;
        }
        self.last.1
    }
}

fn chain(fingerprint: u64, next: u64) -> u64 {
    fingerprint
        .rotate_left(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ next
}

/// Sorts the names' fingerprints; where two are equal, reads the file again to compare the names
/// themselves.
fn refuse_duplicates(path: &Path, version: &Version, mut names: Vec<u64>) -> Result<()> {
    names.par_sort_unstable();
    let suspects: HashSet<u64> = names
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    drop(names);
    let suspects: Vec<u64> = suspects.into_iter().collect();
    for batch in suspects.chunks(SUSPECTS) {
        if !version.is_regular {
            let reason = "seems to name a page twice, but being a pipe cannot be read again to \
                          make sure; save it to a file first";
            return Err(BadInput::file(path, reason).into());
        }
        let batch: HashSet<u64> = batch.iter().copied().collect();
        let mut table = Table::open(path, &COLUMNS, "comparing names")?;
        let Some(page) = table.column(COLUMNS[0]) else {
            unreachable!("the table was opened with this column");
        };
        let mut places: HashMap<Box<[u8]>, Option<csv::Position>> = HashMap::new();
        while table.advance()? {
            let name = table.field(page);
            if !batch.contains(&fingerprint(name)) {
                continue;
            }
            if let Some(place) = places.insert(name.into(), table.position()) {
                let (name, line) = (String::from_utf8_lossy(name), table.line_of(place.as_ref()));
                let reason = format!("the page '{name}' is already on line {line}");
                return Err(table.error(reason).into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_changes_between_readings_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.csv");
        let read = |content: &str| {
            fs::write(&path, content).unwrap();
            Repository::read(&path, &Delays::default(), None).unwrap()
        };
        let content = "page,server,change_rate\na,s,1\nb,t,1\nc,s,1\n";
        let repository = read(content);
        let mut rows = Vec::new();
        let visited = repository.reread(|table, position, [page, _]| {
            rows.push((table.field(page).to_vec(), position));
            Ok(())
        });
        visited.unwrap();
        // grouped by server: a and c of s, then b of t
        let expected = [("a", 0), ("b", 2), ("c", 1)];
        assert_eq!(rows, expected.map(|(n, p)| (n.as_bytes().to_vec(), p)));

        // same length, and the clock may be too coarse to tell
        for changed in [content.replace('b', "x"), format!("{content}d,s,1\n")] {
            let mut repository = read(content);
            fs::write(&path, changed).unwrap();
            repository.version = Version::of(&path).unwrap();
            let outcome = repository.reread(|_, _, _| Ok(()));
            assert!(outcome.unwrap_err().to_string().contains("changed while"));
        }
        let repository = read(content);
        fs::write(&path, &content[..content.len() - 6]).unwrap();
        assert!(repository.reread(|_, _, _| Ok(())).is_err());
    }
}
