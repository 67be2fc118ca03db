//! A page in brief: what whoever schedules visits must know of it, with what was learnt of it. A
//! slot of fixed size on disk, so that a restart reads this and nothing larger.

use super::page::{PageRow, PageState};
use super::{HostId, PageId, admission};
use crate::Time;
use crate::wire::Fields;

/// Bytes on disk for each page.
pub(crate) const SLOT: usize = HEAD + MEMO_LIMIT;
/// Everything but the memo.
const HEAD: usize = 48;
/// The longest [`PageRow::memo`].
pub const MEMO_LIMIT: usize = 112;
/// No such time.
const NO_TIME: i64 = i64::MIN;

/// What is known of a page, but for its URL and what only its next request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageBrief<'a> {
    /// Its number.
    pub id: PageId,
    /// Its host.
    pub host: HostId,
    /// Links from a seed to it.
    pub depth: u16,
    /// Whether it was admitted though no page linked to it.
    pub is_seed: bool,
    /// When it was admitted.
    pub added: Time,
    /// What it is.
    pub state: PageState,
    /// Whether a visit was ever tried and committed.
    pub tried: bool,
    /// The last HTTP status, or 0.
    pub status: u16,
    /// The last visit that got an answer.
    pub last_visit: Option<Time>,
    /// The visit that found the last change.
    pub last_change: Option<Time>,
    /// When the last failure was, and the robot's number for its cause.
    pub last_failure: Option<(Time, u8)>,
    /// Failures since the last answer.
    pub failures_in_a_row: u16,
    /// Visits that got an answer.
    pub visits: u32,
    /// Changes of the text found.
    pub changes: u32,
    /// Changes of nothing but the surroundings.
    pub minor: u32,
    /// What was learnt of it: [`PageRow::memo`].
    pub memo: &'a [u8],
}

impl PageBrief<'_> {
    /// Whether it is what pages embed, and no page.
    pub fn is_requisite(&self) -> bool {
        self.depth == admission::REQUISITE
    }
}

/// The slot of a row: checksum, then state and so on. The memo comes last and may end early; what
/// follows it on disk means nothing.
pub(crate) fn encode(row: &PageRow) -> Vec<u8> {
    let mut out = vec![0; 4];
    // an empty slot is all zeros
    out.push(row.state as u8 + 1);
    out.push(row.memo.len() as u8);
    out.extend_from_slice(&row.failures_in_a_row.to_le_bytes());
    let failure = row.last_failure.map(|(at, _)| at);
    for time in [row.last_visit, failure, row.last_change] {
        out.extend_from_slice(&time.unwrap_or(NO_TIME).to_le_bytes());
    }
    for count in [row.visits, row.changes, row.minor] {
        out.extend_from_slice(&count.to_le_bytes());
    }
    out.extend_from_slice(&row.status.to_le_bytes());
    // a byte for later
    out.extend_from_slice(&[row.last_failure.map_or(0, |(_, cause)| cause), 0]);
    out.extend_from_slice(&row.memo);
    let sum = libdeflater::crc32(&out[4..]);
    out[..4].copy_from_slice(&sum.to_le_bytes());
    out
}

/// What a slot holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Slot<'a> {
    /// Nothing was ever written there.
    Empty,
    /// What [`encode`] wrote, checked.
    Full(Stored<'a>),
    Damaged,
}

/// The checked bytes of a slot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stored<'a>(&'a [u8]);

pub(crate) fn decode(slot: &[u8]) -> Slot<'_> {
    if slot.get(4).is_none_or(|&state| state == 0) {
        let is_empty = slot.iter().all(|&byte| byte == 0);
        return if is_empty { Slot::Empty } else { Slot::Damaged };
    }
    checked(slot).map_or(Slot::Damaged, |used| Slot::Full(Stored(used)))
}

fn checked(slot: &[u8]) -> Option<&[u8]> {
    let length = usize::from(*slot.get(5)?);
    let used = slot.get(..HEAD + length)?;
    let (sum, rest) = used.split_first_chunk::<4>()?;
    let is_state = PageState::from_number(rest[0] - 1).is_some();
    (is_state && libdeflater::crc32(rest) == u32::from_le_bytes(*sum)).then_some(used)
}

impl<'a> Stored<'a> {
    pub(crate) fn memo(&self) -> &'a [u8] {
        &self.0[HEAD..]
    }

    pub(crate) fn state(&self) -> PageState {
        PageState::from_number(self.0[4] - 1).expect("checked before")
    }

    /// With what is known since the page was admitted.
    pub(crate) fn brief(&self, id: PageId, admitted: Admitted) -> PageBrief<'a> {
        self.fields(id, admitted).expect("as long as was checked")
    }

    fn fields(&self, id: PageId, admitted: Admitted) -> Option<PageBrief<'a>> {
        let mut fields = Fields(&self.0[6..]);
        let failures_in_a_row = fields.u16()?;
        let mut time = || Some(Some(fields.i64()?).filter(|&time| time != NO_TIME));
        let (last_visit, failed, last_change) = (time()?, time()?, time()?);
        let (visits, changes, minor) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let status = fields.u16()?;
        let cause = fields.byte()?;
        Some(PageBrief {
            id,
            host: admitted.host,
            depth: admitted.depth,
            is_seed: admitted.is_seed,
            added: admitted.added,
            state: self.state(),
            tried: true,
            status,
            last_visit,
            last_change,
            last_failure: failed.map(|at| (at, cause)),
            failures_in_a_row,
            visits,
            changes,
            minor,
            memo: self.memo(),
        })
    }
}

/// What is known of a page since it was admitted, in brief.
#[derive(Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) host: HostId,
    pub(crate) depth: u16,
    pub(crate) is_seed: bool,
    pub(crate) added: Time,
}

impl From<&admission::Slot> for Admitted {
    fn from(slot: &admission::Slot) -> Self {
        Self {
            host: slot.host,
            depth: slot.depth,
            is_seed: slot.is_seed(),
            added: slot.added,
        }
    }
}

impl Admitted {
    /// Of a page of which nothing but the host matters.
    pub(crate) fn of(host: HostId) -> Self {
        Self {
            host,
            depth: 0,
            is_seed: false,
            added: 0,
        }
    }

    /// A page that was never tried.
    pub(crate) fn untried(self, id: PageId) -> PageBrief<'static> {
        let row = PageRow::default();
        PageBrief {
            tried: false,
            memo: &[],
            ..row.brief(id, self)
        }
    }
}

impl PageRow {
    pub(crate) fn brief(&self, id: PageId, admitted: Admitted) -> PageBrief<'_> {
        PageBrief {
            id,
            host: admitted.host,
            depth: admitted.depth,
            is_seed: admitted.is_seed,
            added: admitted.added,
            state: self.state,
            tried: true,
            status: self.status,
            last_visit: self.last_visit,
            last_change: self.last_change,
            last_failure: self.last_failure,
            failures_in_a_row: self.failures_in_a_row,
            visits: self.visits,
            changes: self.changes,
            minor: self.minor,
            memo: &self.memo,
        }
    }
}
