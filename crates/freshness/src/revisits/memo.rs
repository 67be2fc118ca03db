//! What was learnt of a page, as bytes that any machine reads.

use crate::estimate::Evidence;

/// The first byte; others are not understood.
const VERSION: u8 = 1;

/// What was learnt of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memo {
    pub last: f64,
    pub visits: u32,
    pub evidence: Evidence,
}

impl Default for Memo {
    fn default() -> Self {
        Self {
            last: f64::NAN,
            visits: 1,
            evidence: Evidence::default(),
        }
    }
}

impl Memo {
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.last.to_le_bytes());
        bytes.extend(self.visits.to_le_bytes());
        bytes.extend((self.evidence.events() as f32).to_le_bytes());
        bytes.extend((self.evidence.exposure() as f32).to_le_bytes());
        bytes
    }

    /// Nothing for what is no memo.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&version, rest) = bytes.split_first()?;
        let (last, rest) = rest.split_first_chunk()?;
        let (visits, rest) = rest.split_first_chunk()?;
        let (events, rest) = rest.split_first_chunk()?;
        let (exposure, rest) = rest.split_first_chunk()?;
        let (events, exposure) = (f32::from_le_bytes(*events), f32::from_le_bytes(*exposure));
        let memo = Self {
            last: f64::from_le_bytes(*last),
            visits: u32::from_le_bytes(*visits),
            evidence: Evidence::new(events.into(), exposure.into()),
        };
        let known = events.is_finite() && exposure.is_finite();
        let sound = known && memo.last.is_finite() && memo.visits > 0 && rest.is_empty();
        (version == VERSION && sound).then_some(memo)
    }
}
