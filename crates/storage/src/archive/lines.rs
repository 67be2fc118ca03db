//! The lines of an index, one at a time: however long the file, and whatever stands in it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

/// The longest line: a URL of the longest kind four times over, every byte of it escaped.
const LONGEST: usize = 1 << 20;

/// Reads lines from some point of a file on.
pub(crate) struct Lines {
    file: BufReader<File>,
    offset: u64,
    line: Vec<u8>,
}

/// A line with its end, unless the file ends before; nothing of one that is too long to be ours.
pub(crate) struct Line<'a> {
    /// Where it begins.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
}

impl Lines {
    pub(crate) fn from(mut file: File, offset: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self {
            file: BufReader::with_capacity(1 << 16, file),
            offset,
            line: Vec::new(),
        })
    }

    /// The next line; nothing at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let offset = self.offset;
        self.line.clear();
        let mut is_long = false;
        loop {
            let bytes = self.file.fill_buf()?;
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            is_long |= self.line.len() + taken > LONGEST;
            if is_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(&bytes[..taken]);
            }
            self.file.consume(taken);
            self.offset += taken as u64;
            if end.is_some() || taken == 0 {
                break;
            }
        }
        let bytes = &self.line[..];
        Ok((self.offset > offset).then_some(Line { offset, bytes }))
    }
}
