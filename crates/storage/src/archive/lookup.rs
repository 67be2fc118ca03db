//! Finding the records of a URL by the index.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::index::{self, IndexEntry};
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
        let sealed = sealed_index(directory, number);
        let text = match File::open(&sealed) {
            Ok(file) => matching(&file, key.as_bytes()).context("read", &sealed)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let open = open_index(directory, number);
                match std::fs::read(&open) {
                    Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                    read => read.context("read", &open)?,
                }
            }
            Err(error) => return Err(error).context("open", &sealed),
        };
        for line in String::from_utf8_lossy(&text)
            .lines()
            .filter(|line| line.starts_with(&key))
        {
            entries.extend(index::parse(line, number).filter(|entry| entry.url == url));
        }
    }
    entries.sort_by_key(|entry| (entry.time, entry.place.file, entry.place.offset));
    Ok(entries)
}

/// The part of a sorted index that holds all lines that begin with `key`, and little else.
fn matching(file: &File, key: &[u8]) -> std::io::Result<Vec<u8>> {
    let end = file.metadata()?.len();
    // the line that `low` lies in is below the key, or `low` is 0
    let (mut low, mut high) = (0, end);
    while high - low > NEAR {
        let middle = low + (high - low) / 2;
        let mut chunk = vec![0; NEAR as usize];
        let read = read_some(file, &mut chunk, middle)?;
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
    let mut text = Vec::new();
    let mut offset = low;
    let mut chunk = vec![0; 16 * NEAR as usize];
    loop {
        let read = read_some(file, &mut chunk, offset)?;
        text.extend_from_slice(&chunk[..read]);
        offset += read as u64;
        let last_line = text.split(|&b| b == b'\n').rev().nth(1).unwrap_or_default();
        let past = last_line.len() >= key.len() && &last_line[..key.len()] > key && offset > high;
        if read < chunk.len() || past {
            return Ok(text);
        }
    }
}
