//! Thrift's compact protocol, as far as Parquet's metadata goes.

const TRUE: u8 = 1;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure being written; its fields come in rising order.
#[derive(Default)]
pub struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    /// The structure, complete.
    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn head(&mut self, field: u8, kind: u8) {
        // all fields here are less than 16 apart
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    pub fn yes(&mut self, field: u8) {
        self.head(field, TRUE);
    }

    pub fn int(&mut self, field: u8, value: usize) {
        self.head(field, I32);
        self.number(value);
    }

    pub fn long(&mut self, field: u8, value: usize) {
        self.head(field, I64);
        self.number(value);
    }

    pub fn text(&mut self, field: u8, value: &str) {
        self.head(field, BINARY);
        self.binary(value);
    }

    pub fn ints(&mut self, field: u8, values: &[usize]) {
        self.list_of(field, values.len(), I32);
        for &value in values {
            self.number(value);
        }
    }

    pub fn texts(&mut self, field: u8, values: &[&str]) {
        self.list_of(field, values.len(), BINARY);
        for value in values {
            self.binary(value);
        }
    }

    /// Begins a list of structures; as many calls of [`Self::nested`] follow.
    pub fn list(&mut self, field: u8, length: usize) {
        self.list_of(field, length, STRUCT);
    }

    fn list_of(&mut self, field: u8, length: usize, kind: u8) {
        self.head(field, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            put_varint(&mut self.bytes, length as u64);
        }
    }

    /// A structure in a field.
    pub fn field(&mut self, field: u8, write: impl FnOnce(&mut Self)) {
        self.head(field, STRUCT);
        self.nested(write);
    }

    /// A structure in a list.
    pub fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.last);
        write(self);
        self.bytes.push(0);
        self.last = outer;
    }

    fn binary(&mut self, value: &str) {
        put_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// The lowest bit is the sign; no number here is negative.
    fn number(&mut self, value: usize) {
        put_varint(&mut self.bytes, (value as u64) << 1);
    }
}

/// Seven bits a byte, the lowest first.
pub fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
