//! What was learnt of a page, as bytes that any machine reads.

use crate::estimate::Belief;
use crate::record::{Reader, Writer};

/// The first byte; others are not understood.
const VERSION: u8 = 2;

/// What was learnt of a page, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memo {
    /// The policy's number of it.
    pub number: Option<u32>,
    pub last: f64,
    pub visits: u32,
    pub belief: Belief,
}

impl Memo {
    /// A page that was visited once.
    pub fn new(visited: f64) -> Self {
        Self {
            number: None,
            last: visited,
            visits: 1,
            belief: Belief::default(),
        }
    }

    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(112);
        let mut to = Writer(&mut bytes);
        to.u8(VERSION);
        to.u32(self.number.unwrap_or(u32::MAX));
        to.f64(self.last);
        to.u32(self.visits);
        to.0.extend(self.belief.to_bytes());
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
        let (belief, rest) = from.0.split_at_checked(Belief::BYTES)?;
        let memo = Self {
            number: Some(number),
            last,
            visits,
            belief: Belief::from_bytes(belief)?,
        };
        Some((memo, rest))
    }
}
