//! What was learnt of a page, as bytes that any machine reads.

use crate::estimate::{Belief, Findings};
use crate::policy::Seen;
use crate::record::{Reader, Writer};
use std::borrow::Cow;

/// The first byte; but for those of the version before, others are not understood.
const VERSION: u8 = 3;
/// The first byte of one that ends with a promise: when the page is due.
const PROMISED: u8 = 4;

/// Makes a memo promise when its page is due, whoever reads it; what is no memo stays as it is.
pub fn promise(memo: &mut Vec<u8>, due: f64) {
    break_promise(memo);
    if memo.first() == Some(&VERSION) && due.is_finite() {
        memo[0] = PROMISED;
        Writer(memo).f64(due);
    }
}

/// Takes the promise from a memo; what it was.
pub fn break_promise(memo: &mut Vec<u8>) -> Option<f64> {
    if memo.first() != Some(&PROMISED) {
        return None;
    }
    let bytes = *memo.last_chunk()?;
    memo.truncate(memo.len() - bytes.len());
    memo[0] = VERSION;
    Some(f64::from_le_bytes(bytes))
}

/// What was learnt of a page, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memo {
    /// The policy's number of it.
    pub number: Option<u32>,
    pub visits: u32,
    pub seen: Seen,
    pub belief: Belief,
    /// When it is due, if whoever wrote it promised that.
    pub due: Option<f64>,
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
            due: None,
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
        let (bytes, due) = match bytes {
            [PROMISED, ..] => {
                let (rest, due) = bytes.split_last_chunk()?;
                (rest, Some(f64::from_le_bytes(*due)))
            }
            _ => (bytes, None),
        };
        let due = due.filter(|due| due.is_finite());
        let mut from = Reader(bytes);
        let version = from.u8()?;
        let number = from.u32()?;
        let last = from.f64()?;
        let visits = from.u32().filter(|&visits| visits > 0)?;
        match version {
            VERSION | PROMISED => {}
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
            due,
        };
        let Reader(rest) = from;
        if version != 2 {
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
