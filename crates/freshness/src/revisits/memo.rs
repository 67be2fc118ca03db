//! What was learnt of a page, as bytes that any machine reads.

use crate::estimate::Evidence;
use crate::record::{Reader, Writer};

/// The first byte; others are not understood.
const VERSION: u8 = 1;

/// What was learnt of a page, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memo {
    /// The policy's number of it.
    pub number: Option<u32>,
    pub last: f64,
    pub visits: u32,
    pub evidence: Evidence,
}

impl Memo {
    /// A page that was visited once.
    pub fn new(visited: f64) -> Self {
        Self {
            number: None,
            last: visited,
            visits: 1,
            evidence: Evidence::default(),
        }
    }

    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96);
        let mut to = Writer(&mut bytes);
        to.u8(VERSION);
        to.u32(self.number.unwrap_or(u32::MAX));
        to.f64(self.last);
        to.u32(self.visits);
        to.f32(self.evidence.events() as f32);
        to.f32(self.evidence.exposure() as f32);
        bytes
    }

    /// A memo, and what the policy wrote; nothing for what is no memo.
    pub fn from_bytes(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut from = Reader(bytes);
        if from.u8()? != VERSION {
            return None;
        }
        let number = from.u32()?;
        let last = from.f64()?;
        let visits = from.u32().filter(|&visits| visits > 0)?;
        let (events, exposure) = (from.small_amount()?, from.small_amount()?);
        let memo = Self {
            number: Some(number),
            last,
            visits,
            evidence: Evidence::new(events.into(), exposure.into()),
        };
        Some((memo, from.0))
    }
}
