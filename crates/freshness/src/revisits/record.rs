//! What is known of all pages together, as bytes that any machine reads.

use crate::record::{Reader, Writer, sum};

/// The first byte; others are not understood.
const VERSION: u8 = 3;

/// What outlives a run besides the memos of pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record<'a> {
    /// The name of the policy.
    pub policy: &'a str,
    /// One past the greatest number of a page.
    pub numbers: u32,
    /// Visits per second, and the instant up to which they are spent.
    pub budget: f64,
    pub spent: f64,
    /// What the estimator wrote.
    pub beliefs: &'a [u8],
    /// What the policy wrote.
    pub learnt: &'a [u8],
}

/// One past the greatest number of a page that a record speaks of; nothing for what is no record.
pub fn numbers_in(learnt: &[u8]) -> Option<u32> {
    Record::from_bytes(learnt).map(|record| record.numbers)
}

impl<'a> Record<'a> {
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut to = Writer(&mut bytes);
        to.u8(VERSION);
        to.u8(self.policy.len() as u8);
        to.0.extend(self.policy.as_bytes());
        to.u32(self.numbers);
        to.f64(self.budget);
        to.f64(self.spent);
        to.u32(self.beliefs.len() as u32);
        to.0.extend(self.beliefs);
        to.0.extend(self.learnt);
        let sum = sum(&bytes);
        Writer(&mut bytes).u64(sum);
        bytes
    }

    /// Nothing for what is no record.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (body, told) = bytes.split_last_chunk()?;
        let mut from = Reader(body);
        if sum(body) != u64::from_le_bytes(*told) || from.u8()? != VERSION {
            return None;
        }
        let length = usize::from(from.u8()?);
        let (policy, rest) = from.0.split_at_checked(length)?;
        from.0 = rest;
        let numbers = from.u32()?;
        let budget = from.amount()?;
        let spent = from.any_f64().filter(|spent| *spent < f64::INFINITY)?;
        let length = from.u32()? as usize;
        let (beliefs, learnt) = from.0.split_at_checked(length)?;
        Some(Self {
            policy: std::str::from_utf8(policy).ok()?,
            numbers,
            budget,
            spent,
            beliefs,
            learnt,
        })
    }
}
