//! Finding the records of a URL by the index.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::index::{self, IndexEntry, REVISIT};
use super::lines::Lines;
use super::read::{Record, read};
use super::surt::surt;
use super::{clean_url, files, open_index, sealed_index};
use crate::error::{Context, Result};
use crate::store::read_some;

/// Where the bisection ends and reading begins.
const NEAR: u64 = 4096;

/// Every record of `url` in the archive in `directory`, in order of time; also while another
/// process writes.
pub fn lookup(directory: &Path, url: &str) -> Result<Vec<IndexEntry>> {
    let url = clean_url(url);
    let key = format!("{} ", surt(&url));
    let mut entries = Vec::new();
    for (number, _) in files(directory)? {
        let mut take = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            entries.extend(index::parse(&line, number).filter(|entry| entry.url == url));
        };
        let sealed = sealed_index(directory, number);
        match File::open(&sealed) {
            Ok(file) => matching(file, key.as_bytes(), &mut take).context("read", &sealed)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let open = open_index(directory, number);
                match File::open(&open) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    file => every(file.context("open", &open)?, key.as_bytes(), &mut take)
                        .context("read", &open)?,
                }
            }
            Err(error) => return Err(error).context("open", &sealed),
        }
    }
    entries.sort_by_key(|entry| (entry.time, entry.place.file, entry.place.offset));
    Ok(entries)
}

/// A stored version of a URL.
#[derive(Clone, Debug)]
pub struct Version {
    /// What the index says of the visit that found it.
    pub entry: IndexEntry,
    /// The record of that visit; for a revisit it has the answer's head and no content.
    pub visit: Record,
    /// The record that has the content, if it is another one and could be found.
    pub original: Option<Record>,
}

impl Version {
    /// The record that has the content.
    pub fn content(&self) -> &Record {
        self.original.as_ref().unwrap_or(&self.visit)
    }
}

/// The version that an entry of the index tells of; also while another process writes.
pub fn version(directory: &Path, entry: IndexEntry) -> Result<Version> {
    let visit = read(directory, entry.place)?;
    let original = if visit.kind() == "revisit" {
        original(directory, &visit, &entry)?
    } else {
        None
    };
    Ok(Version {
        entry,
        visit,
        original,
    })
}

/// The full copy that a revisit record refers to: of the URL it names, with the same digest, the
/// last one before it.
fn original(directory: &Path, visit: &Record, entry: &IndexEntry) -> Result<Option<Record>> {
    let url = visit
        .header("WARC-Refers-To-Target-URI")
        .unwrap_or(&entry.url);
    let full = |other: &IndexEntry| {
        other.mime != REVISIT && other.digest == entry.digest && other.time <= entry.time
    };
    let found = lookup(directory, url)?.into_iter().rfind(full);
    found.map(|found| read(directory, found.place)).transpose()
}

/// The lines of an index in no order that begin with `key`.
fn every(file: File, key: &[u8], take: &mut impl FnMut(&[u8])) -> io::Result<()> {
    let mut lines = Lines::from(file, 0)?;
    while let Some(line) = lines.next()? {
        if line.bytes.starts_with(key) {
            take(line.bytes);
        }
    }
    Ok(())
}

/// The lines of a sorted index that begin with `key`; few others are read.
fn matching(file: File, key: &[u8], take: &mut impl FnMut(&[u8])) -> io::Result<()> {
    let end = file.metadata()?.len();
    // the line that `low` lies in is below the key, or `low` is 0
    let (mut low, mut high) = (0, end);
    while high - low > NEAR {
        let middle = low + (high - low) / 2;
        let mut chunk = vec![0; NEAR as usize];
        let read = read_some(&file, &mut chunk, middle)?;
        let line = chunk[..read]
            .split(|&b| b == b'\n')
            .nth(1)
            .unwrap_or_default();
        // a line longer than the chunk tells nothing: stay on the safe side
        if !line.is_empty() && line.len() >= key.len() && &line[..key.len()] < key {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut lines = Lines::from(file, low)?;
    while let Some(line) = lines.next()? {
        let start = &line.bytes[..line.bytes.len().min(key.len())];
        if start == key {
            take(line.bytes);
        } else if start > key && line.offset > high {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_index_gives_what_reading_it_all_gives() {
        // some keys often, some lines longer than what is read at a time
        let mut lines: Vec<String> = (0..6000u32)
            .map(|n| {
                let key = n.wrapping_mul(2_654_435_761) % 900;
                let length = if n % 50 == 0 { 9000 } else { n % 70 };
                format!(
                    "org,example)/{} {n} {}\n",
                    key * key,
                    "x".repeat(length as usize)
                )
            })
            .collect();
        lines.sort_unstable();
        let directory = crate::store::fast_directory();
        let path = directory.path().join("index");
        std::fs::write(&path, lines.concat()).unwrap();
        let mut found = 0;
        let whole = lines.concat().len();
        for key in 0..1000u32 {
            let key = format!("org,example)/{} ", key * key);
            let mut near = Vec::new();
            let file = File::open(&path).unwrap();
            matching(file, key.as_bytes(), &mut |line: &[u8]| {
                near.push(line.to_vec());
            })
            .unwrap();
            let all: Vec<_> = lines.iter().filter(|line| line.starts_with(&key)).collect();
            assert!(
                near.iter().eq(all.iter().map(|line| line.as_bytes())),
                "{key}"
            );
            assert!(near.concat().len() < whole / 2);
            found += all.len();
        }
        assert_eq!(found, 6000);
    }

    #[test]
    fn an_index_of_nothing_takes_no_memory() {
        let directory = crate::store::fast_directory();
        let path = directory.path().join("index");
        let file = File::create(&path).unwrap();
        // sparse: it takes no room on the disk either
        file.set_len(1 << 30).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"\norg,a)/ 1 x\n", (1 << 30) - 13)
            .unwrap();
        let (mut all, mut near) = (Vec::new(), Vec::new());
        let open = || File::open(&path).unwrap();
        every(open(), b"org,a)/ ", &mut |line: &[u8]| {
            all.push(line.to_vec());
        })
        .unwrap();
        matching(open(), b"org,a)/ ", &mut |line: &[u8]| {
            near.push(line.to_vec());
        })
        .unwrap();
        assert_eq!(all, [b"org,a)/ 1 x\n"]);
        assert_eq!(near, all);
    }
}
