//! Records as they are read: one by one, over damage, within limits.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::record::NOT_MODIFIED;
use super::{Place, date, file_name, file_number, files};
use crate::Time;
use crate::error::{Context, Error, Result};

/// The longest record, uncompressed: a guard against bombs and damaged lengths.
pub const RECORD_LIMIT: usize = 256 << 20;
/// How a gzip member begins.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
/// Bytes searched at a time for the next member after damage.
const SEARCH: usize = 1 << 20;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it is.
    pub place: Place,
    /// Its WARC headers, in order.
    pub headers: Vec<(String, String)>,
    /// The head of the HTTP message, blank line included; empty if the record is no HTTP message.
    pub head: Vec<u8>,
    /// The rest.
    pub payload: Vec<u8>,
}

impl Record {
    /// A WARC header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// `response`, `request`, `revisit`, `warcinfo`, …
    pub fn kind(&self) -> &str {
        self.header("WARC-Type").unwrap_or_default()
    }

    /// What the record is about.
    pub fn url(&self) -> Option<&str> {
        // some writers put it in angle brackets
        self.header("WARC-Target-URI")
            .map(|url| url.trim_matches(['<', '>']))
    }

    /// When it was made.
    pub fn time(&self) -> Option<Time> {
        date::parse(self.header("WARC-Date")?)
    }

    /// The HTTP status of an answer.
    pub fn status(&self) -> Option<u16> {
        if self.head.is_empty() && self.header("WARC-Profile") == Some(NOT_MODIFIED) {
            return Some(304);
        }
        let line = self.head.split(|&b| b == b'\n').next()?;
        let word = line.split(|&b| b == b' ').nth(1)?;
        str::from_utf8(word.trim_ascii()).ok()?.parse().ok()
    }

    /// An HTTP header of the answer or request.
    pub fn http_header(&self, name: &str) -> Option<&[u8]> {
        self.head.split(|&b| b == b'\n').skip(1).find_map(|line| {
            let colon = line.iter().position(|&b| b == b':')?;
            let matches = line[..colon]
                .trim_ascii()
                .eq_ignore_ascii_case(name.as_bytes());
            matches.then(|| line[colon + 1..].trim_ascii())
        })
    }

    fn parse(bytes: &[u8], place: Place) -> std::result::Result<Self, String> {
        if !bytes.starts_with(b"WARC/") {
            return Err("it does not begin as a WARC record".into());
        }
        let end = find(bytes, b"\r\n\r\n").ok_or("its headers do not end")?;
        let text = String::from_utf8_lossy(&bytes[..end]);
        let mut headers: Vec<(String, String)> = Vec::new();
        for line in text.split("\r\n").skip(1) {
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.trim().to_string(), value.trim().to_string()));
            }
        }
        let mut record = Self {
            place,
            headers,
            head: Vec::new(),
            payload: Vec::new(),
        };
        let length = record
            .header("Content-Length")
            .and_then(|v| v.parse::<usize>().ok());
        let length = length.ok_or("it states no length")?;
        let rest = &bytes[end + 4..];
        let block = rest.get(..length).ok_or("it is shorter than it states")?;
        if !rest[length..].trim_ascii().is_empty() {
            return Err("it is longer than it states".into());
        }
        let is_http = record
            .header("Content-Type")
            .is_some_and(|v| v.starts_with("application/http"));
        if is_http {
            let split = find(block, b"\r\n\r\n").map_or(block.len(), |at| at + 4);
            record.head = block[..split].to_vec();
            record.payload = block[split..].to_vec();
        } else {
            record.payload = block.to_vec();
        }
        Ok(record)
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes
        .windows(pattern.len())
        .position(|window| window == pattern)
}

/// Bytes of an archive file that hold no readable record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The file.
    pub path: PathBuf,
    /// Where they begin.
    pub offset: u64,
    /// How many they are.
    pub length: u64,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self {
            path,
            offset,
            length,
            what,
        } = self;
        write!(
            f,
            "{} at byte {offset} ({length} bytes): {what}",
            path.display()
        )
    }
}

/// Goes through the records of a file. After damage it goes on at the next readable record.
pub struct Records {
    path: PathBuf,
    number: u32,
    file: BufReader<File>,
    offset: u64,
    end: u64,
}

impl Records {
    /// The records of a gzipped WARC file, one member each.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from(path, 0)
    }

    /// The records from a known beginning of one.
    pub(crate) fn from(path: &Path, offset: u64) -> Result<Self> {
        let file = File::open(path).context("open", path)?;
        let end = file.metadata().context("look at", path)?.len();
        Ok(Self {
            path: path.to_path_buf(),
            number: file_number(path).unwrap_or(0),
            file: BufReader::with_capacity(1 << 16, file),
            offset,
            end,
        })
    }

    fn flaw(&self, offset: u64, length: u64, what: String) -> Flaw {
        Flaw {
            path: self.path.clone(),
            offset,
            length,
            what,
        }
    }

    /// The record at `offset`.
    fn record(&mut self, offset: u64) -> std::result::Result<Record, String> {
        let now = self.file.stream_position().map_err(|e| e.to_string())?;
        self.file
            .seek_relative(offset.cast_signed().wrapping_sub(now.cast_signed()))
            .map_err(|e| e.to_string())?;
        let mut counted = Counted {
            inner: &mut self.file,
            count: 0,
        };
        let bytes = decompress(&mut counted)?;
        let place = Place {
            file: self.number,
            offset,
            length: u32::try_from(counted.count).map_err(|_| "it is too long")?,
        };
        Record::parse(&bytes, place)
    }

    /// Where after `offset` the next readable record begins, or the end of the file.
    fn next_after(&mut self, offset: u64) -> std::io::Result<u64> {
        let mut start = offset + 1;
        let mut chunk = Vec::new();
        while start < self.end {
            self.file.seek(SeekFrom::Start(start))?;
            chunk.clear();
            (&mut self.file)
                .take(SEARCH as u64)
                .read_to_end(&mut chunk)?;
            let mut from = 0;
            while let Some(at) = find(&chunk[from..], &GZIP) {
                let candidate = start + (from + at) as u64;
                if self.record(candidate).is_ok() {
                    return Ok(candidate);
                }
                from += at + 1;
            }
            if chunk.len() < SEARCH {
                break;
            }
            // a beginning may lie across the border
            start += (SEARCH - GZIP.len() + 1) as u64;
        }
        Ok(self.end)
    }
}

impl Iterator for Records {
    type Item = std::result::Result<Record, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.offset;
        if offset >= self.end {
            return None;
        }
        match self.record(offset) {
            Ok(record) => {
                self.offset += u64::from(record.place.length);
                Some(Ok(record))
            }
            Err(what) => {
                let next = self.next_after(offset);
                self.offset = *next.as_ref().unwrap_or(&self.end);
                let what = next.err().map_or(what, |error| error.to_string());
                Some(Err(self.flaw(offset, self.offset - offset, what)))
            }
        }
    }
}

/// One gzip member, checked.
fn decompress(source: &mut impl BufRead) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    GzDecoder::new(source)
        .take(RECORD_LIMIT as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() > RECORD_LIMIT {
        return Err(format!("it is longer than {RECORD_LIMIT} bytes"));
    }
    Ok(bytes)
}

/// Counts the bytes taken.
struct Counted<'a, R> {
    inner: &'a mut R,
    count: u64,
}

impl<R: BufRead> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<'_, R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count += amount as u64;
        self.inner.consume(amount);
    }
}

/// The record at a place of the archive in `directory`; also while another process writes.
pub fn read(directory: &Path, place: Place) -> Result<Record> {
    let path = directory.join(file_name(place.file));
    let mut file = File::open(&path).context("open", &path)?;
    file.seek(SeekFrom::Start(place.offset))
        .context("read", &path)?;
    let mut source = BufReader::new(file.take(u64::from(place.length)));
    decompress(&mut source)
        .and_then(|bytes| Record::parse(&bytes, place))
        .map_err(|what| Error::Damaged {
            path,
            what: format!("the record at byte {}: {what}", place.offset),
        })
}

/// All records of the archive in `directory`, in order.
pub fn records(
    directory: &Path,
) -> Result<impl Iterator<Item = std::result::Result<Record, Flaw>> + use<>> {
    // one file open at a time
    Ok(files(directory)?.into_iter().flat_map(|(_, path)| {
        let (records, flaw) = match Records::open(&path) {
            Ok(records) => (Some(records), None),
            Err(error) => (None, Some(Err(unopened(path, &error)))),
        };
        records.into_iter().flatten().chain(flaw)
    }))
}

fn unopened(path: PathBuf, error: &Error) -> Flaw {
    Flaw {
        path,
        offset: 0,
        length: 0,
        what: error.to_string(),
    }
}
