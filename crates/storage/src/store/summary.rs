//! What is known of all pages without going through them: totals, pages of each host by state, and
//! what a block of pages has to offer at most. Written with every commit, made again when damaged.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use super::host::Extent;
use super::scan::BLOCK;
use super::{Outcome, PageState};
use crate::Time;
use crate::wire::{Fields, put_signed, put_varint};

/// Pages by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts([u32; 6]);

impl StateCounts {
    /// Pages in any state.
    pub fn all(&self) -> u64 {
        self.0.iter().map(|&pages| u64::from(pages)).sum()
    }

    pub(crate) fn moved(&mut self, from: PageState, to: PageState) {
        // entries that were damaged may have been counted as something else
        self[from] = self[from].saturating_sub(1);
        self[to] += 1;
    }
}

impl Index<PageState> for StateCounts {
    type Output = u32;

    fn index(&self, state: PageState) -> &u32 {
        &self.0[state as usize]
    }
}

impl IndexMut<PageState> for StateCounts {
    fn index_mut(&mut self, state: PageState) -> &mut u32 {
        &mut self.0[state as usize]
    }
}

/// How often something was the case, by the robot's number for it.
pub type Causes = BTreeMap<u8, u64>;

/// The whole store in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Pages by state; those never tried are new.
    pub pages: StateCounts,
    /// Those of them that are no pages but what pages embed.
    pub requisites: StateCounts,
    /// Pages that were not readable when all were last gone through.
    pub unreadable: u64,
    /// Pages that are excluded, by cause.
    pub excluded: Causes,
    /// First copies.
    pub first_seen: u64,
    /// Visits that found nothing new.
    pub unchanged: u64,
    /// Visits that found other bytes and the same text.
    pub minor: u64,
    /// Visits that found another text.
    pub changed: u64,
    /// Visits to pages that were no more.
    pub gone: u64,
    /// Visits without an answer, by cause.
    pub failed: Causes,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// The first visit of all.
    pub first_visit: Option<Time>,
    /// The last visit of all.
    pub last_visit: Option<Time>,
}

impl Totals {
    /// All visits.
    pub fn visits(&self) -> u64 {
        let answered = self.first_seen + self.unchanged + self.minor + self.changed + self.gone;
        answered + self.failed.values().sum::<u64>()
    }

    pub(crate) fn visited(&mut self, visit: &super::Observation) {
        match visit.outcome {
            Outcome::FirstSeen => self.first_seen += 1,
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Minor => self.minor += 1,
            Outcome::Changed => self.changed += 1,
            Outcome::Gone => self.gone += 1,
            Outcome::Failed(cause) => *self.failed.entry(cause).or_default() += 1,
        }
        self.bytes += u64::from(visit.bytes);
        self.first_visit = self.first_visit.or(Some(visit.at));
        self.last_visit = self.last_visit.max(Some(visit.at));
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let counts = [
            self.unreadable,
            self.first_seen,
            self.unchanged,
            self.minor,
            self.changed,
            self.gone,
            self.bytes,
        ];
        let pages = self.pages.0.map(u64::from);
        let (elsewhere, pages) = pages.split_last().expect("six");
        for &count in pages.iter().chain(&counts) {
            put_varint(&mut out, count);
        }
        for time in [self.first_visit, self.last_visit] {
            put_varint(&mut out, u64::from(time.is_some()));
            put_signed(&mut out, time.unwrap_or(0));
        }
        for causes in [&self.failed, &self.excluded] {
            put_varint(&mut out, causes.len() as u64);
            for (&cause, &count) in causes {
                out.push(cause);
                put_varint(&mut out, count);
            }
        }
        put_varint(&mut out, *elsewhere);
        // stores that have none of them are as they were before there were any
        if self.requisites != StateCounts::default() {
            for count in self.requisites.0 {
                put_varint(&mut out, u64::from(count));
            }
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let mut pages = StateCounts::default();
        for state in BEFORE {
            pages[state] = fields.narrow()?;
        }
        let mut totals = Self {
            pages,
            unreadable: fields.varint()?,
            first_seen: fields.varint()?,
            unchanged: fields.varint()?,
            minor: fields.varint()?,
            changed: fields.varint()?,
            gone: fields.varint()?,
            bytes: fields.varint()?,
            ..Self::default()
        };
        for time in [&mut totals.first_visit, &mut totals.last_visit] {
            let is_known = fields.varint()? == 1;
            *time = Some(fields.signed()?).filter(|_| is_known);
        }
        for causes in [&mut totals.failed, &mut totals.excluded] {
            for _ in 0..fields.varint()? {
                causes.insert(fields.byte()?, fields.varint()?);
            }
        }
        // written since there are such pages
        totals.pages[PageState::Elsewhere] = fields.narrow().unwrap_or(0);
        if !fields.0.is_empty() {
            for count in &mut totals.requisites.0 {
                *count = fields.narrow()?;
            }
        }
        Some(totals)
    }
}

/// The states that there always were.
const BEFORE: [PageState; 5] = [
    PageState::New,
    PageState::Live,
    PageState::Redirect,
    PageState::Gone,
    PageState::Excluded,
];
/// No such time.
const NO_TIME: i64 = i64::MIN;
/// No such page, or place.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What the pages of a block have to offer at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// Pages by state; those that are elsewhere are in no count.
    states: [u16; 5],
    /// Pages that no page linked to.
    pub(crate) seeds: u16,
    /// The page whose URL comes first.
    pub(crate) first_url: u32,
    pub(crate) changes: u32,
    pub(crate) last_visit: i64,
    pub(crate) last_change: i64,
}

impl Default for Zone {
    fn default() -> Self {
        Self {
            states: [0; 5],
            seeds: 0,
            first_url: NOWHERE,
            changes: 0,
            last_visit: NO_TIME,
            last_change: NO_TIME,
        }
    }
}

impl Zone {
    pub(crate) const SLOT: usize = 40;

    /// A page more in this state.
    pub(crate) fn add(&mut self, state: PageState) {
        if let Some(count) = self.states.get_mut(state as usize) {
            *count += 1;
        }
    }

    /// A page fewer.
    pub(crate) fn remove(&mut self, state: PageState) {
        if let Some(count) = self.states.get_mut(state as usize) {
            *count = count.saturating_sub(1);
        }
    }

    /// Whether a page of the block may be in this state.
    pub(crate) fn may_have(&self, state: PageState) -> bool {
        match self.states.get(state as usize) {
            Some(&count) => count > 0,
            None => {
                self.states
                    .iter()
                    .map(|&count| u32::from(count))
                    .sum::<u32>()
                    < BLOCK
            }
        }
    }

    pub(crate) fn offers(&mut self, visit: Option<Time>, change: Option<Time>, changes: u32) {
        self.last_visit = self.last_visit.max(visit.unwrap_or(NO_TIME));
        self.last_change = self.last_change.max(change.unwrap_or(NO_TIME));
        self.changes = self.changes.max(changes);
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for count in self.states.into_iter().chain([self.seeds]) {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&self.first_url.to_le_bytes());
        out.extend_from_slice(&self.changes.to_le_bytes());
        out.extend_from_slice(&self.last_visit.to_le_bytes());
        out.extend_from_slice(&self.last_change.to_le_bytes());
        let sum = libdeflater::crc32(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    pub(crate) fn decode(slot: &[u8]) -> Option<Self> {
        let mut fields = checked(slot)?;
        let mut states = [0; 5];
        for count in &mut states {
            *count = fields.u16()?;
        }
        Some(Self {
            states,
            seeds: fields.u16()?,
            first_url: fields.u32()?,
            changes: fields.u32()?,
            last_visit: fields.i64()?,
            last_change: fields.i64()?,
        })
    }
}

/// A host in the roll: its pages, and where the rest is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The lower half of the fingerprint of its name.
    pub(crate) name: u64,
    pub(crate) extent: Option<Extent>,
    pub(crate) pages: StateCounts,
}

impl Listed {
    pub(crate) const SLOT: usize = 48;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.name.to_le_bytes());
        let offset = self.extent.map_or(u64::MAX, |extent| extent.offset);
        out.extend_from_slice(&offset.to_le_bytes());
        // three bytes for later
        let class = self.extent.map_or(0, |extent| extent.class);
        out.extend_from_slice(&[class, 0, 0, 0]);
        for count in self.pages.0 {
            out.extend_from_slice(&count.to_le_bytes());
        }
        let sum = libdeflater::crc32(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    pub(crate) fn decode(slot: &[u8]) -> Option<Self> {
        let mut fields = checked(slot)?;
        let (name, offset) = (fields.u64()?, fields.u64()?);
        let [class, ..]: [u8; 4] = fields.array()?;
        let mut pages = StateCounts::default();
        for count in &mut pages.0 {
            *count = fields.u32()?;
        }
        Some(Self {
            name,
            extent: (offset != u64::MAX).then_some(Extent { offset, class }),
            pages,
        })
    }
}

fn checked(slot: &[u8]) -> Option<Fields<'_>> {
    let (body, sum) = slot.split_last_chunk::<4>()?;
    (libdeflater::crc32(body) == u32::from_le_bytes(*sum)).then_some(Fields(body))
}
