//! What was learnt of a page, as bytes that any machine reads.

use crate::estimate::{Belief, Findings};
use crate::policy::Seen;
use crate::record::{Reader, Writer};
use std::borrow::Cow;

/// The first byte; but for those of the version before, others are not understood.
const VERSION: u8 = 3;

/// What was learnt of a page, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memo {
    /// The policy's number of it.
    pub number: Option<u32>,
    pub visits: u32,
    pub seen: Seen,
    pub belief: Belief,
}

impl Memo {
    /// A page that was visited once.
    pub fn new(visited: f64) -> Self {
        Self {
            number: None,
            visits: 1,
            seen: Seen {
                findings: Findings::default(),
                last: visited,
            },
            belief: Belief::default(),
        }
    }

    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(104);
        let mut to = Writer(&mut bytes);
        to.u8(VERSION);
        to.u32(self.number.unwrap_or(u32::MAX));
        to.f64(self.seen.last);
        to.u32(self.visits);
        self.seen.findings.write(&mut to);
        self.belief.write(&mut to);
        bytes
    }

    /// A memo, and what the policy wrote; nothing for what is no memo.
    pub fn from_bytes(bytes: &[u8]) -> Option<(Self, Cow<'_, [u8]>)> {
        let mut from = Reader(bytes);
        let version = from.u8()?;
        let number = from.u32()?;
        let last = from.f64()?;
        let visits = from.u32().filter(|&visits| visits > 0)?;
        match version {
            VERSION => {}
            // there the belief had a version of its own
            2 if from.u8()? == 1 => {}
            _ => return None,
        }
        let mut memo = Self {
            number: Some(number),
            visits,
            seen: Seen {
                findings: Findings::read(&mut from)?,
                last,
            },
            belief: Belief::read(&mut from)?,
        };
        let Reader(rest) = from;
        if version == VERSION {
            return Some((memo, rest.into()));
        }
        let Some((counted, rest)) = of_the_default_policy_before(rest) else {
            return Some((memo, rest.into()));
        };
        memo.seen.findings = counted;
        Some((memo, rest.into()))
    }
}

/// What the default policy wrote when it kept findings of its own: tag, edition and waiting, three pairs
/// of counts of which the first were these, the last visit, and more. What it decided by goes on to
/// count.
fn of_the_default_policy_before(rest: &[u8]) -> Option<(Findings, Vec<u8>)> {
    const COUNTS: usize = 13;
    const LAST: std::ops::Range<usize> = 37..45;
    const LENGTH: usize = 58;
    if rest.first() != Some(&b'a') || rest.len() != LENGTH {
        return None;
    }
    let mut from = Reader(&rest[COUNTS..]);
    let (events, exposure) = (from.small_amount()?, from.small_amount()?);
    let findings = Findings::counted(events.into(), exposure.into());
    Some((findings, [&rest[..LAST.start], &rest[LAST.end..]].concat()))
}
