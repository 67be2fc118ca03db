//! A URL that was admitted: which host, how deep, found where; a slot of fixed size on disk.

use super::{HostId, PageId};
use crate::Time;
use crate::wire::Fields;

/// Bytes of a slot.
pub(crate) const SLOT: usize = 56;
/// Longer URLs are refused; no server answers them.
pub const URL_LIMIT: usize = 1 << 16;
const NO_PAGE: u32 = u32::MAX;
/// The depth of a requisite: no page, but what pages embed. No page is as deep.
pub const REQUISITE: u16 = u16::MAX;

/// A URL that may or may not be known.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// What makes it the same page as another: the canonical form.
    pub key: &'a str,
    /// What to request.
    pub url: &'a str,
    /// Its host.
    pub host: HostId,
    /// Links from a seed to it, or [`REQUISITE`].
    pub depth: u16,
    /// The page that links to it.
    pub from: Option<PageId>,
    /// When it was found.
    pub at: Time,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is new, and has this number now.
    New(PageId),
    /// It was known under this number.
    Known(PageId),
}

impl Admission {
    /// The page, new or not.
    pub fn page(self) -> PageId {
        match self {
            Self::New(page) | Self::Known(page) => page,
        }
    }
}

/// What is known of a page since it was admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAddress {
    /// What to request.
    pub url: String,
    /// Its host.
    pub host: HostId,
    /// Links from a seed to it.
    pub depth: u16,
    /// The page that linked to it first.
    pub from: Option<PageId>,
    /// When it was admitted.
    pub added: Time,
}

impl PageAddress {
    /// Whether it is what pages embed, and no page.
    pub fn is_requisite(&self) -> bool {
        self.depth == REQUISITE
    }
}

/// A slot of the table, without the URL itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) fingerprint: u128,
    pub(crate) url_offset: u64,
    pub(crate) url_length: u32,
    pub(crate) url_sum: u32,
    pub(crate) host: HostId,
    pub(crate) from: Option<PageId>,
    pub(crate) depth: u16,
    pub(crate) added: Time,
}

impl Slot {
    pub(crate) fn new(candidate: &Candidate, fingerprint: u128, url_offset: u64) -> Self {
        Self {
            fingerprint,
            url_offset,
            url_length: candidate.url.len() as u32,
            url_sum: libdeflater::crc32(candidate.url.as_bytes()),
            host: candidate.host,
            from: candidate.from,
            depth: candidate.depth,
            added: candidate.at,
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.fingerprint.to_le_bytes());
        out.extend_from_slice(&self.url_offset.to_le_bytes());
        out.extend_from_slice(&self.url_length.to_le_bytes());
        out.extend_from_slice(&self.url_sum.to_le_bytes());
        out.extend_from_slice(&self.host.0.to_le_bytes());
        out.extend_from_slice(&self.from.map_or(NO_PAGE, |page| page.0).to_le_bytes());
        out.extend_from_slice(&self.added.to_le_bytes());
        out.extend_from_slice(&self.depth.to_le_bytes());
        // two bytes for later, then the checksum
        out.extend_from_slice(&[0, 0]);
        let sum = libdeflater::crc32(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        if libdeflater::crc32(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut fields = Fields(body);
        Some(Self {
            fingerprint: u128::from_le_bytes(fields.array()?),
            url_offset: fields.u64()?,
            url_length: fields.u32()?,
            url_sum: fields.u32()?,
            host: HostId(fields.u32()?),
            from: Some(fields.u32()?)
                .filter(|&page| page != NO_PAGE)
                .map(PageId),
            added: fields.i64()?,
            depth: fields.u16()?,
        })
    }

    /// Whether a URL can be where it says.
    pub(crate) fn is_sound(&self) -> bool {
        self.url_length as usize <= URL_LIMIT && self.url_offset < 1 << 56
    }

    /// Where its URL ends.
    pub(crate) fn url_end(&self) -> u64 {
        self.url_offset + u64::from(self.url_length)
    }

    /// Whether no page linked to it.
    pub(crate) fn is_seed(&self) -> bool {
        self.depth == 0 && self.from.is_none()
    }

    /// The address, if `url` is what was written.
    pub(crate) fn address(&self, url: &[u8]) -> Option<PageAddress> {
        if libdeflater::crc32(url) != self.url_sum {
            return None;
        }
        Some(PageAddress {
            url: str::from_utf8(url).ok()?.to_string(),
            host: self.host,
            depth: self.depth,
            from: self.from,
            added: self.added,
        })
    }
}
