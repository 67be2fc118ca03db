//! What is known of a page that was tried at least once; a slot of fixed size on disk.

use super::{ArchiveNumber, PageId};
use crate::archive::Place;
use crate::wire::{Fields, put_signed, put_varint};
use crate::{Digest, Time};

/// Bytes on disk for each page. Rows are overwritten in place, under the protection of the journal.
pub(crate) const SLOT: usize = 256;
/// Length (2 bytes) and checksum (4 bytes) come before the row.
const HEAD: usize = 6;
/// A date in a header has 29 bytes; what is much longer is none.
const DATE_LIMIT: usize = 64;
/// The longest [`PageRow::notes`]: what most rows have room for.
pub const NOTES_LIMIT: usize = 72;
/// What the number of another archive takes at most, with the length of notes that are not there.
const ARCHIVE: usize = 4;

/// What a page is, as far as its last visits tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageState {
    /// Admitted; no visit succeeded yet.
    #[default]
    New = 0,
    /// The last visit that got an answer found it.
    Live = 1,
    /// It points elsewhere.
    Redirect = 2,
    /// It was there, or was said to be, and is no more.
    Gone = 3,
    /// Not to be visited: by robots.txt, by its own wish, by scope, by type.
    Excluded = 4,
    /// Another robot's: known here, visited there.
    Elsewhere = 5,
}

impl PageState {
    pub(crate) const ALL: [Self; 6] = [
        Self::New,
        Self::Live,
        Self::Redirect,
        Self::Gone,
        Self::Excluded,
        Self::Elsewhere,
    ];

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// What is kept of a page between visits. Written with [`crate::Store::commit`].
///
/// `etag`, `modified` and `content_type` share about 150 bytes. A `modified` beyond 64 bytes, or an
/// `etag` that finds no room, is dropped, which costs an unconditional request and nothing else;
/// the content type is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRow {
    /// What it is.
    pub state: PageState,
    /// The first visit that got an answer.
    pub first_visit: Option<Time>,
    /// The last visit that got an answer.
    pub last_visit: Option<Time>,
    /// The visit that found the last change.
    pub last_change: Option<Time>,
    /// `Last-Modified`, where it made sense.
    pub last_modified: Option<Time>,
    /// The last HTTP status, or 0.
    pub status: u16,
    /// The validator to send as `If-None-Match`.
    pub etag: Option<Vec<u8>>,
    /// The validator to send as `If-Modified-Since`: the raw header.
    pub modified: Option<Vec<u8>>,
    /// Of the body of the last full copy.
    pub digest: Digest,
    /// Fingerprint of the main text.
    pub text: u64,
    /// Visits that got an answer.
    pub visits: u32,
    /// Changes of the text found.
    pub changes: u32,
    /// Changes of nothing but the surroundings.
    pub minor: u32,
    /// Failures since the last answer.
    pub failures_in_a_row: u16,
    /// When the last failure was, and the robot's number for its cause.
    pub last_failure: Option<(Time, u8)>,
    /// Where the last full copy is in the archive.
    pub place: Option<Place>,
    /// Where it is in another archive, of whoever had the page before.
    pub away: Option<(ArchiveNumber, Place)>,
    /// The time of that record, by which later records refer to it.
    pub copied: Option<Time>,
    /// The content type, as far as it is kept.
    pub content_type: Option<Vec<u8>>,
    /// Length of the body in bytes.
    pub length: u64,
    /// Where it redirects to.
    pub redirect_to: Option<PageId>,
    /// What was learnt of it, up to [`MEMO_LIMIT`](super::MEMO_LIMIT) bytes that mean something to the robot only. Kept in
    /// the page's brief.
    pub memo: Vec<u8>,
    /// What the robot noted of the last copy: bytes that mean something to it only, kept whole if
    /// there is room for them, up to [`NOTES_LIMIT`], else not at all.
    pub notes: Vec<u8>,
}

impl PageRow {
    /// As much of it as a row has room for anywhere: what a [`Package`](super::Package) holds.
    #[must_use]
    pub fn as_it_travels(&self) -> Self {
        let row = from_bare(&bare(self)).unwrap_or_default();
        Self {
            memo: self.memo.clone(),
            ..row
        }
    }
}

/// A slot: length, checksum, row without its memo. Shorter than [`SLOT`]; what follows it on disk means nothing.
pub(crate) fn encode(row: &PageRow) -> Vec<u8> {
    let mut out = vec![0; HEAD];
    out.push(row.state as u8);
    let times = [
        row.first_visit,
        row.last_visit,
        row.last_change,
        row.last_modified,
        row.last_failure.map(|f| f.0),
    ];
    let mut present = 0;
    for (i, time) in times.iter().enumerate() {
        present |= u8::from(time.is_some()) << i;
    }
    let place = row.place.or(row.away.map(|(_, place)| place));
    present |= u8::from(place.is_some()) << 5;
    present |= u8::from(row.redirect_to.is_some()) << 6;
    present |= u8::from(row.copied.is_some()) << 7;
    out.push(present);
    // each relative to the one before: they lie close together
    let mut before = 0;
    for time in times.into_iter().flatten() {
        put_signed(&mut out, time.wrapping_sub(before));
        before = time;
    }
    if let Some((_, cause)) = row.last_failure {
        out.push(cause);
    }
    if let Some(place) = place {
        put_varint(&mut out, u64::from(place.file));
        put_varint(&mut out, place.offset);
        put_varint(&mut out, u64::from(place.length));
    }
    if let Some(page) = row.redirect_to {
        put_varint(&mut out, u64::from(page.0));
    }
    if let Some(copied) = row.copied {
        put_signed(&mut out, copied);
    }
    out.extend_from_slice(&row.digest);
    out.extend_from_slice(&row.text.to_le_bytes());
    let counts = [
        u64::from(row.status),
        u64::from(row.visits),
        u64::from(row.changes),
        u64::from(row.minor),
        u64::from(row.failures_in_a_row),
        row.length,
    ];
    for count in counts {
        put_varint(&mut out, count);
    }
    put_strings(&mut out, row);
    let length = (out.len() - HEAD) as u16;
    out[..2].copy_from_slice(&length.to_le_bytes());
    let sum = libdeflater::crc32(&out[HEAD..]);
    out[2..HEAD].copy_from_slice(&sum.to_le_bytes());
    out
}

/// The strings that fit: 0 for none, else the length plus one and the bytes.
fn put_strings(out: &mut Vec<u8>, row: &PageRow) {
    // three lengths of at most two bytes; and what is kept must not depend on numbers that are
    // others in another store: of a page, and of an archive
    let page = row.redirect_to.map_or(0, |page| 5 - varint_length(page.0));
    let archive = if row.place.or(row.away.map(|(_, place)| place)).is_some() {
        ARCHIVE
    } else {
        0
    };
    let mut room = SLOT - out.len() - 6 - page - archive;
    let mut keep = |value: Option<&Vec<u8>>, cut: bool| -> Option<usize> {
        let length = value?.len();
        let kept = if cut { length.min(room) } else { length };
        room = room.checked_sub(kept)?;
        Some(kept)
    };
    let date = row.modified.as_ref().filter(|m| m.len() <= DATE_LIMIT);
    let modified = keep(date, false);
    let etag = keep(row.etag.as_ref(), false);
    let content_type = keep(row.content_type.as_ref(), true);
    let notes = Some(&row.notes).filter(|notes| (1..=NOTES_LIMIT).contains(&notes.len()));
    // one byte for their length
    let notes = notes.filter(|notes| notes.len() < room);
    for (value, kept) in [
        (&row.etag, etag),
        (&row.modified, modified),
        (&row.content_type, content_type),
    ] {
        match (value, kept) {
            (Some(value), Some(kept)) => {
                put_varint(out, kept as u64 + 1);
                out.extend_from_slice(&value[..kept]);
            }
            _ => put_varint(out, 0),
        }
    }
    match notes {
        Some(notes) => {
            put_varint(out, notes.len() as u64 + 1);
            out.extend_from_slice(notes);
        }
        None if row.away.is_some() => put_varint(out, 0),
        None => {}
    }
    if let (None, Some((archive, _))) = (row.place, row.away) {
        put_varint(out, u64::from(archive.0));
    }
}

/// Bytes of a small number as a varint.
fn varint_length(number: u32) -> usize {
    (32 - number.leading_zeros()).div_ceil(7).max(1) as usize
}

/// A row as it travels: a slot without its length and checksum.
pub(crate) fn bare(row: &PageRow) -> Vec<u8> {
    encode(row).split_off(HEAD)
}

/// What [`bare`] wrote; nothing for other bytes.
pub(crate) fn from_bare(bytes: &[u8]) -> Option<PageRow> {
    let found = row(bytes)?;
    (bare(&found) == bytes).then_some(found)
}

/// What a slot holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Nothing was ever written there.
    Empty,
    Row(Box<PageRow>),
    Damaged,
}

pub(crate) fn decode(slot: &[u8]) -> Slot {
    if slot.iter().all(|&b| b == 0) {
        return Slot::Empty;
    }
    checked(slot)
        .and_then(row)
        .map_or(Slot::Damaged, |row| Slot::Row(Box::new(row)))
}

fn checked(slot: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields(slot);
    let length = fields.u16()?;
    let sum = fields.u32()?;
    let row = fields.take(usize::from(length))?;
    (libdeflater::crc32(row) == sum).then_some(row)
}

fn row(bytes: &[u8]) -> Option<PageRow> {
    let mut fields = Fields(bytes);
    let state = PageState::from_number(fields.byte()?)?;
    let present = fields.byte()?;
    let mut times = [None; 5];
    let mut before = 0i64;
    for (i, time) in times.iter_mut().enumerate() {
        if present >> i & 1 == 1 {
            before = before.wrapping_add(fields.signed()?);
            *time = Some(before);
        }
    }
    let [first_visit, last_visit, last_change, last_modified, failure] = times;
    let last_failure = match failure {
        Some(at) => Some((at, fields.byte()?)),
        None => None,
    };
    let place = if present >> 5 & 1 == 1 {
        Some(Place {
            file: fields.narrow()?,
            offset: fields.varint()?,
            length: fields.narrow()?,
        })
    } else {
        None
    };
    let redirect_to = if present >> 6 & 1 == 1 {
        Some(PageId(fields.narrow()?))
    } else {
        None
    };
    let copied = if present >> 7 & 1 == 1 {
        Some(fields.signed()?)
    } else {
        None
    };
    let mut row = PageRow {
        copied,
        state,
        first_visit,
        last_visit,
        last_change,
        last_modified,
        last_failure,
        place,
        away: None,
        redirect_to,
        digest: fields.array()?,
        text: fields.u64()?,
        status: fields.narrow()?,
        visits: fields.narrow()?,
        changes: fields.narrow()?,
        minor: fields.narrow()?,
        failures_in_a_row: fields.narrow()?,
        length: fields.varint()?,
        etag: string(&mut fields).ok()?,
        modified: string(&mut fields).ok()?,
        content_type: string(&mut fields).ok()?,
        memo: Vec::new(),
        // absent from rows written before there were any
        notes: string(&mut fields).ok().flatten().unwrap_or_default(),
    };
    // the same of the archive
    if let Some(archive) = fields.narrow().filter(|&number| number > 0) {
        row.away = row
            .place
            .take()
            .map(|place| (ArchiveNumber(archive), place));
    }
    Some(row)
}

fn string(fields: &mut Fields) -> Result<Option<Vec<u8>>, Nonsense> {
    match fields.narrow::<usize>().ok_or(Nonsense)? {
        0 => Ok(None),
        length => Ok(Some(fields.take(length - 1).ok_or(Nonsense)?.to_vec())),
    }
}

/// Bytes that no encoder wrote.
struct Nonsense;
