//! CSV tables, plain or gzipped: named columns in any order, errors with file and line.

use crate::bad_input::BadInput;
use crate::terminal;
use crate::units::not_negative;
use anyhow::{Context, Result};
use csv::{ByteRecord, ErrorKind};
use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Large enough that neither system calls nor the progress bar are felt.
const BUFFER: usize = 1 << 18;

/// A table being read, one row after the other into the same memory.
pub struct Table {
    path: PathBuf,
    reader: csv::Reader<Box<dyn Read>>,
    record: ByteRecord,
    header: Vec<Vec<u8>>,
    bar: ProgressBar,
}

/// What tells whether a file was changed between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    length: u64,
    modified: Option<std::time::SystemTime>,
    /// Whether it can be read a second time at all.
    pub is_regular: bool,
}

impl Version {
    /// The version of the file there is now.
    pub fn of(path: &Path) -> Result<Self> {
        let found = fs::metadata(path)
            .map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
        Ok(Self {
            length: found.len(),
            modified: found.modified().ok(),
            is_regular: found.is_file(),
        })
    }
}

impl Table {
    /// Opens a table that has at least the columns `required`.
    pub fn open(path: &Path, required: &[&str], progress: &'static str) -> Result<Self> {
        let unreadable =
            |error: io::Error| BadInput::file(path, format!("cannot be read: {error}"));
        let mut file = File::open(path).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        if found.is_dir() {
            return Err(BadInput::file(path, "is a directory; expected a CSV file").into());
        }
        let mut start = Vec::with_capacity(2);
        (&mut file).take(2).read_to_end(&mut start)?;
        let gzipped = start == GZIP_MAGIC;
        let bar = terminal::progress(progress, found.len(), true);
        let bytes = bar.wrap_read(Cursor::new(start).chain(file));
        let bytes: Box<dyn Read> = if gzipped {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(
                BUFFER, bytes,
            )))
        } else {
            Box::new(bytes)
        };
        let mut table = Self {
            path: path.to_path_buf(),
            reader: csv::ReaderBuilder::new()
                .buffer_capacity(BUFFER)
                .from_reader(bytes),
            record: ByteRecord::new(),
            header: Vec::new(),
            bar,
        };
        table.read_header(required)?;
        Ok(table)
    }

    fn read_header(&mut self, required: &[&str]) -> Result<()> {
        let header = match self.reader.byte_headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(self.explain(error)),
        };
        let expected = required.join(",");
        if header.is_empty() {
            let reason = format!("the file is empty; expected a header with {expected}");
            return Err(BadInput::at(&self.path, 1, reason).into());
        }
        let line = header.position().map_or(1, csv::Position::line);
        self.header = header.iter().map(|c| c.trim_ascii().to_vec()).collect();
        for (k, column) in self.header.iter().enumerate() {
            let name = String::from_utf8_lossy(column);
            if self.header[..k].contains(column) {
                let reason = format!("the column '{name}' stands twice in the header");
                return Err(BadInput::at(&self.path, line, reason).into());
            }
        }
        for name in required {
            if self.column(name).is_none() {
                let reason = format!("the column '{name}' is missing; expected {expected}");
                return Err(BadInput::at(&self.path, line, reason).into());
            }
        }
        Ok(())
    }

    /// Where the column of that name stands.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|c| c == name.as_bytes())
    }

    /// Reads the next row; false at the end.
    pub fn next(&mut self) -> Result<bool> {
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.bar.finish_and_clear();
                Ok(false)
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    /// A field of the row.
    pub fn field(&self, column: usize) -> &[u8] {
        &self.record[column]
    }

    /// A field that names something, and so must not be empty.
    pub fn name(&self, column: usize) -> Result<&[u8], BadInput> {
        let name = self.field(column);
        if name.is_empty() {
            return Err(self.error(format!("{} is empty", self.column_name(column))));
        }
        Ok(name)
    }

    /// A field that is a finite number of at least zero.
    pub fn number(&self, column: usize) -> Result<f64, BadInput> {
        let field = self.field(column);
        std::str::from_utf8(field)
            .ok()
            .and_then(not_negative)
            .ok_or_else(|| {
                self.error(format!(
                    "{} is '{}': expected a finite number of at least 0",
                    self.column_name(column),
                    String::from_utf8_lossy(field)
                ))
            })
    }

    /// The line on which the row begins.
    pub fn line(&self) -> u64 {
        self.record.position().map_or(1, csv::Position::line)
    }

    /// Something wrong with the row.
    pub fn error(&self, reason: String) -> BadInput {
        BadInput::at(&self.path, self.line(), reason)
    }

    fn column_name(&self, column: usize) -> String {
        String::from_utf8_lossy(&self.header[column]).into_owned()
    }

    fn explain(&self, error: csv::Error) -> anyhow::Error {
        match error.into_kind() {
            ErrorKind::UnequalLengths {
                pos,
                expected_len,
                len,
            } => {
                let line = pos.map_or(1, |pos| pos.line());
                let hint = if len > expected_len {
                    " (a field with a comma in it needs quotes)"
                } else {
                    ""
                };
                let reason = format!("{len} fields where the header has {expected_len}{hint}");
                BadInput::at(&self.path, line, reason).into()
            }
            ErrorKind::Io(error) if is_broken_gzip(&error) => {
                BadInput::file(&self.path, format!("is not sound gzip: {error}")).into()
            }
            ErrorKind::Io(error) => Err::<(), _>(error)
                .with_context(|| format!("cannot read {}", self.path.display()))
                .unwrap_err(),
            other => BadInput::file(&self.path, format!("is not sound CSV: {other:?}")).into(),
        }
    }
}

/// Files themselves never fail in these ways.
fn is_broken_gzip(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
