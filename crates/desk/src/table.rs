//! CSV tables, plain or gzipped: named columns in any order, errors with file and line.

use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::{Context, Result};
use csv::{ByteRecord, ErrorKind};
use flate2::read::MultiGzDecoder;
use ground::quantity::not_negative;
use indicatif::ProgressBar;
use std::fs::{self, File};
use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
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
        let found = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
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
        let (bytes, bar) = open(path, progress)?;
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

    /// Opens a table whose header may be missing, and whose fields may be apart by tabs. Without a
    /// header the columns are these, in this order.
    pub fn open_loose(path: &Path, columns: &[&str], progress: &'static str) -> Result<Self> {
        let (bytes, bar) = open(path, progress)?;
        let mut bytes = io::BufReader::with_capacity(BUFFER, bytes);
        let mut start = Vec::new();
        let read = (&mut bytes)
            .take(BUFFER as u64)
            .read_until(b'\n', &mut start);
        read.map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
        let tabs = start.contains(&b'\t');
        let delimiter = if tabs { b'\t' } else { b',' };
        let first: Vec<&[u8]> = start.split(|&byte| byte == delimiter).collect();
        let is_column = |field: &&[u8]| {
            let field = field.trim_ascii();
            let quoted = field
                .strip_prefix(b"\"")
                .and_then(|f| f.strip_suffix(b"\""));
            let name = quoted.filter(|_| !tabs).unwrap_or(field);
            // one in capitals is told what was expected
            columns
                .iter()
                .any(|c| c.as_bytes().eq_ignore_ascii_case(name))
        };
        let has_header = first.iter().any(is_column) || start.trim_ascii().is_empty();
        if !has_header && first.len() < columns.len() {
            let (found, expected) = (first.len(), columns.join(","));
            let reason = format!("{found} field(s) and no header; expected {expected}");
            return Err(BadInput::at(path, 1, reason).into());
        }
        let unnamed = vec![Vec::new(); first.len().saturating_sub(columns.len())];
        let mut table = Self {
            path: path.to_path_buf(),
            reader: csv::ReaderBuilder::new()
                .buffer_capacity(BUFFER)
                .delimiter(delimiter)
                .quoting(!tabs)
                .has_headers(has_header)
                .from_reader(Box::new(Cursor::new(start).chain(bytes)) as Box<dyn Read>),
            record: ByteRecord::new(),
            header: columns.iter().map(|c| c.as_bytes().to_vec()).collect(),
            bar,
        };
        if has_header {
            table.read_header(columns)?;
        } else {
            table.header.extend(unnamed);
        }
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
        let line = self.line_of(header.position());
        self.header = header.iter().map(|c| c.trim_ascii().to_vec()).collect();
        for (k, column) in self.header.iter().enumerate() {
            let name = String::from_utf8_lossy(column);
            if self.header[..k].contains(column) {
                let reason = format!("the column '{name}' appears twice in the header");
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
    pub fn advance(&mut self) -> Result<bool> {
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.bar.finish_and_clear();
                Ok(false)
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    /// How many fields the row has.
    pub fn fields(&self) -> usize {
        self.record.len()
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

    /// Where the row begins, to be asked for its line later.
    pub fn position(&self) -> Option<csv::Position> {
        self.record.position().cloned()
    }

    /// The line of a position. Found by counting again, because the CSV reader is a line behind
    /// after `\r\n` and empty lines; a pipe has only the reader's word.
    pub fn line_of(&self, position: Option<&csv::Position>) -> u64 {
        let Some(position) = position else {
            return 1;
        };
        if Version::of(&self.path).is_ok_and(|version| version.is_regular) {
            count_lines(&self.path, position.byte()).unwrap_or(position.line())
        } else {
            position.line()
        }
    }

    /// Something wrong with the row.
    pub fn error(&self, reason: String) -> BadInput {
        BadInput::at(&self.path, self.line_of(self.record.position()), reason)
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
                let line = self.line_of(pos.as_ref());
                let hint = if len > expected_len {
                    " (a field with a comma in it needs quotes)"
                } else {
                    " (is a quote left open?)"
                };
                let fields = if len == 1 { "field" } else { "fields" };
                let reason = format!("{len} {fields} where the header has {expected_len}{hint}");
                BadInput::at(&self.path, line, reason).into()
            }
            ErrorKind::Io(error) if is_broken_gzip(&error) => {
                let line = self.line_of(Some(self.reader.position()));
                let reason = format!("is not valid gzip after this line: {error}");
                BadInput::at(&self.path, line, reason).into()
            }
            ErrorKind::Io(error) => Err::<(), _>(error)
                .with_context(|| format!("cannot read {}", self.path.display()))
                .unwrap_err(),
            other => BadInput::file(&self.path, format!("is not valid CSV: {other:?}")).into(),
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> BadInput {
    let hint = if path == Path::new("-") {
        " (a pipe is read as /dev/stdin)"
    } else {
        ""
    };
    BadInput::file(path, format!("cannot be read: {error}{hint}"))
}

/// The bytes of a file, unpacked if need be and without the mark some editors put first.
fn open(path: &Path, progress: &'static str) -> Result<(Box<dyn Read>, ProgressBar)> {
    let unreadable = |error: io::Error| unreadable(path, &error);
    let mut file = File::open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if found.is_dir() {
        return Err(BadInput::file(path, "is a directory; expected a CSV file").into());
    }
    let start = first(&mut file, GZIP_MAGIC.len()).map_err(unreadable)?;
    let gzipped = start == GZIP_MAGIC;
    let bar = terminal::progress(progress, found.len(), true);
    let bytes = bar.wrap_read(Cursor::new(start).chain(file));
    let mut bytes: Box<dyn Read> = if gzipped {
        let buffered = io::BufReader::with_capacity(BUFFER, bytes);
        Box::new(MultiGzDecoder::new(buffered))
    } else {
        Box::new(bytes)
    };
    let mut start = first(&mut bytes, BYTE_ORDER_MARK.len())
        .map_err(|error| BadInput::file(path, format!("is not valid gzip: {error}")))?;
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    Ok((Box::new(Cursor::new(start).chain(bytes)), bar))
}

/// All of a file as text.
pub fn text(path: &Path, progress: &'static str) -> Result<String> {
    let (mut bytes, bar) = open(path, progress)?;
    let mut text = String::new();
    let read = bytes.read_to_string(&mut text);
    bar.finish_and_clear();
    read.map_err(|error| BadInput::file(path, format!("cannot be read as text: {error}")))?;
    Ok(text)
}

fn first(bytes: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(length);
    bytes.take(length as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// The line of the first byte from `offset` on that does not end a line.
fn count_lines(path: &Path, offset: u64) -> Result<u64> {
    let mut bytes = io::BufReader::with_capacity(BUFFER, open(path, "counting lines")?.0);
    let mut line = 1;
    let mut passed = 0;
    loop {
        let buffer = bytes.fill_buf()?;
        if buffer.is_empty() {
            return Ok(line);
        }
        for &byte in buffer {
            if passed >= offset && !matches!(byte, b'\r' | b'\n') {
                return Ok(line);
            }
            line += u64::from(byte == b'\n');
            passed += 1;
        }
        let length = buffer.len();
        bytes.consume(length);
    }
}

/// Files themselves never fail in these ways.
fn is_broken_gzip(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
