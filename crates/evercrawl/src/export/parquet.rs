//! The part of the Parquet format that a table of pages needs: flat columns that may lack values,
//! PLAIN encoding, gzip, one page for each column of a row group.
//!
//! Apache Parquet format 2.11; its metadata is in Thrift's compact protocol.

mod thrift;

use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};
use thrift::Thrift;

const MAGIC: &[u8; 4] = b"PAR1";
/// Rows of a group: what is held in memory.
const GROUP: usize = 100_000;
/// Bytes of a group, where rows are long.
const GROUP_BYTES: usize = 64 << 20;

// the format's own numbers
const INT64: usize = 2;
const BYTE_ARRAY: usize = 6;
const OPTIONAL: usize = 1;
const PLAIN: usize = 0;
const RLE: usize = 3;
const GZIP: usize = 2;
const DATA_PAGE: usize = 0;
const UTF8: usize = 0;
const TIMESTAMP_MILLIS: usize = 9;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    /// Milliseconds since the epoch.
    Time,
}

impl Kind {
    fn physical(self) -> usize {
        match self {
            Self::Text => BYTE_ARRAY,
            Self::Number | Self::Time => INT64,
        }
    }
}

/// A column of the group being gathered.
pub struct Column {
    name: &'static str,
    kind: Kind,
    /// Runs of values that are there, or are not.
    runs: Vec<(bool, u32)>,
    values: Vec<u8>,
}

impl Column {
    pub fn new(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            runs: Vec::new(),
            values: Vec::new(),
        }
    }

    pub fn text(&mut self, value: Option<&str>) {
        if let Some(value) = value {
            self.values
                .extend_from_slice(&(value.len() as u32).to_le_bytes());
            self.values.extend_from_slice(value.as_bytes());
        }
        self.count(value.is_some());
    }

    pub fn number(&mut self, value: Option<i64>) {
        self.values
            .extend(value.into_iter().flat_map(i64::to_le_bytes));
        self.count(value.is_some());
    }

    fn count(&mut self, there: bool) {
        match self.runs.last_mut() {
            Some((same, length)) if *same == there => *length += 1,
            _ => self.runs.push((there, 1)),
        }
    }

    /// Definition levels, then values; empties the column.
    fn page(&mut self) -> Vec<u8> {
        let mut levels = Vec::new();
        for (there, length) in self.runs.drain(..) {
            thrift::put_varint(&mut levels, u64::from(length) << 1);
            levels.push(u8::from(there));
        }
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.append(&mut levels);
        page.append(&mut self.values);
        page
    }
}

/// Where a column's page is, and how large.
struct Chunk {
    offset: usize,
    plain: usize,
    packed: usize,
}

/// A file being written.
pub struct Parquet<W: Write> {
    out: W,
    written: usize,
    columns: Vec<Column>,
    /// Rows gathered and not yet written.
    rows: usize,
    groups: Vec<(usize, Vec<Chunk>)>,
}

impl<W: Write> Parquet<W> {
    pub fn start(mut out: W, columns: Vec<Column>) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            written: MAGIC.len(),
            columns,
            rows: 0,
            groups: Vec::new(),
        })
    }

    /// For the values of the next row, one for each column.
    pub fn columns(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    pub fn end_row(&mut self) -> io::Result<()> {
        self.rows += 1;
        let bytes: usize = self.columns.iter().map(|column| column.values.len()).sum();
        if self.rows == GROUP || bytes >= GROUP_BYTES {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut chunks = Vec::new();
        for column in &mut self.columns {
            let page = column.page();
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(&page)?;
            let packed = gzip.finish()?;
            let header = page_header(rows, page.len(), packed.len());
            self.out.write_all(&header)?;
            self.out.write_all(&packed)?;
            chunks.push(Chunk {
                offset: self.written,
                plain: header.len() + page.len(),
                packed: header.len() + packed.len(),
            });
            self.written += header.len() + packed.len();
        }
        self.groups.push((rows, chunks));
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let footer = self.footer();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)
    }

    fn footer(&self) -> Vec<u8> {
        let mut file = Thrift::default();
        file.int(1, 2); // version
        file.list(2, 1 + self.columns.len());
        file.nested(|root| {
            root.text(4, "pages");
            root.int(5, self.columns.len());
        });
        for column in &self.columns {
            file.nested(|element| schema(element, column));
        }
        let rows: usize = self.groups.iter().map(|(rows, _)| rows).sum();
        file.long(3, rows);
        file.list(4, self.groups.len());
        for (rows, chunks) in &self.groups {
            file.nested(|group| {
                group.list(1, chunks.len());
                for (column, chunk) in self.columns.iter().zip(chunks) {
                    group.nested(|element| chunk_of(element, column, chunk, *rows));
                }
                group.long(2, chunks.iter().map(|chunk| chunk.plain).sum());
                group.long(3, *rows);
            });
        }
        file.text(6, concat!("evercrawl version ", env!("CARGO_PKG_VERSION")));
        file.end()
    }
}

fn page_header(rows: usize, plain: usize, packed: usize) -> Vec<u8> {
    let mut header = Thrift::default();
    header.int(1, DATA_PAGE);
    header.int(2, plain);
    header.int(3, packed);
    header.field(5, |data| {
        data.int(1, rows);
        data.int(2, PLAIN);
        data.int(3, RLE); // definition levels
        data.int(4, RLE); // repetition levels, of which there are none
    });
    header.end()
}

fn schema(element: &mut Thrift, column: &Column) {
    element.int(1, column.kind.physical());
    element.int(3, OPTIONAL);
    element.text(4, column.name);
    match column.kind {
        Kind::Number => {}
        Kind::Text => {
            element.int(6, UTF8);
            element.field(10, |logical| logical.field(1, |_| ()));
        }
        Kind::Time => {
            element.int(6, TIMESTAMP_MILLIS);
            element.field(10, |logical| {
                logical.field(8, |timestamp| {
                    timestamp.yes(1); // in UTC
                    timestamp.field(2, |unit| unit.field(1, |_| ()));
                });
            });
        }
    }
}

fn chunk_of(element: &mut Thrift, column: &Column, chunk: &Chunk, rows: usize) {
    element.long(2, chunk.offset);
    element.field(3, |data| {
        data.int(1, column.kind.physical());
        data.ints(2, &[PLAIN, RLE]);
        data.texts(3, &[column.name]);
        data.int(4, GZIP);
        data.long(5, rows);
        data.long(6, chunk.plain);
        data.long(7, chunk.packed);
        data.long(9, chunk.offset);
    });
}
