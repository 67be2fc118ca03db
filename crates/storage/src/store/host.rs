//! A host: its name and what the robot keeps of it, in an extent that it outgrows now and then.

use super::HostId;
use crate::wire::Fields;

/// Extents are `UNIT << class` bytes long and begin at multiples of it.
pub(crate) const UNIT: u64 = 256;
/// The largest extent: 16 MiB.
const LAST_CLASS: u8 = 16;
/// Magic, class, three bytes for later, number, lengths of name and blob, checksum.
const HEAD: usize = 24;
const MAGIC: [u8; 4] = [0x8e, 0x21, 0xd4, 0x6b];
/// Longer names are refused; DNS ends at 253.
pub(crate) const NAME_LIMIT: usize = 1024;
/// The largest blob.
pub(crate) const BLOB_LIMIT: usize = (UNIT as usize) << LAST_CLASS >> 1;

/// What is kept of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// Its name, as given to [`crate::Store::host`].
    pub name: String,
    /// What the robot stored; empty at first.
    pub blob: Vec<u8>,
}

/// Where a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) class: u8,
}

impl Extent {
    pub(crate) fn capacity(self) -> u64 {
        UNIT << self.class
    }
}

/// The smallest class that holds the row.
pub(crate) fn class_for(name: &str, blob: &[u8]) -> u8 {
    let length = (HEAD + name.len() + blob.len()) as u64;
    (0..LAST_CLASS)
        .find(|&class| UNIT << class >= length)
        .unwrap_or(LAST_CLASS)
}

pub(crate) fn encode(id: HostId, name: &str, blob: &[u8], class: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD + name.len() + blob.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[class, 0, 0, 0]);
    out.extend_from_slice(&id.0.to_le_bytes());
    out.extend_from_slice(&(name.len() as u32).to_le_bytes());
    out.extend_from_slice(&(blob.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(blob);
    let sum = libdeflater::crc32(&out);
    out[HEAD - 4..HEAD].copy_from_slice(&sum.to_le_bytes());
    out
}

/// What an extent says of itself before it is read in full.
pub(crate) struct Head {
    pub(crate) id: HostId,
    pub(crate) class: u8,
    pub(crate) length: usize,
    name: usize,
}

impl Head {
    pub(crate) const LENGTH: usize = HEAD;

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        if fields.array()? != MAGIC {
            return None;
        }
        let [class, ..]: [u8; 4] = fields.array()?;
        let id = HostId(fields.u32()?);
        let (name, blob) = (fields.u32()? as usize, fields.u32()? as usize);
        let length = HEAD + name + blob;
        (class <= LAST_CLASS && length as u64 <= UNIT << class).then_some(Self {
            id,
            class,
            length,
            name,
        })
    }

    /// The row in an extent of which `bytes` is at least the used part.
    pub(crate) fn row(&self, bytes: &[u8]) -> Option<HostRow> {
        let mut used = bytes.get(..self.length)?.to_vec();
        let sum = u32::from_le_bytes(used[HEAD - 4..HEAD].try_into().ok()?);
        used[HEAD - 4..HEAD].fill(0);
        if libdeflater::crc32(&used) != sum {
            return None;
        }
        let (name, blob) = used[HEAD..].split_at_checked(self.name)?;
        Some(HostRow {
            name: String::from_utf8(name.to_vec()).ok()?,
            blob: blob.to_vec(),
        })
    }
}
