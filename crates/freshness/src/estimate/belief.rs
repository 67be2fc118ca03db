//! What a crawler keeps of each page about its changes.

use super::findings::{Changed, Findings};
use super::population::Span;
use super::{Evidence, Imputation, Pace};

/// What visits to a page have shown of its changes, and how it was counted among all pages. Small,
/// free of any pointer, and meaningless without the [`Population`](super::Population) that it was
/// observed with. Thirty-six bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Belief {
    pub(super) findings: Findings,
    /// The gamma distribution nearest to what was believed after the last visit.
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) span: Span,
    /// Visits that told something, up to 255.
    pub(super) visits: u8,
}

/// The form of the bytes below.
const VERSION: u8 = 1;

impl Belief {
    /// Bytes of a belief.
    pub const BYTES: usize = 37;

    /// As if so many changes had been counted in so much time.
    pub fn counted(changes: f64, time: f64) -> Self {
        Self {
            findings: Findings {
                quiet: (time as f32).clamp(0.0, f32::MAX),
                counted: (changes as f32).clamp(0.0, f32::MAX),
                changed: [Changed::default(); 2],
            },
            ..Self::default()
        }
    }

    /// The gamma distribution nearest to what was believed of the rate after the last visit.
    pub fn pace(&self) -> Pace {
        Pace {
            alpha: f64::from(self.alpha),
            beta: f64::from(self.beta),
        }
    }

    /// Changes and the time in which they were seen, as they would have to be counted to say the same
    /// near the rate that is believed.
    pub fn evidence(&self) -> Evidence {
        let Findings {
            quiet,
            counted,
            changed,
        } = self.findings;
        let rate = self.pace().mean();
        let (mut events, mut exposure) = (f64::from(counted), f64::from(quiet));
        for Changed { interval, visits } in changed {
            if visits > 0.0 {
                let (a, b) = Imputation::Curvature.of(rate, f64::from(interval));
                events += f64::from(visits) * a;
                exposure += f64::from(visits) * b;
            }
        }
        Evidence::new(events, exposure)
    }

    /// Visits that told something of changes, as far as they are counted: up to 255.
    pub fn visits(&self) -> u8 {
        self.visits
    }

    /// To be stored; byte for byte the same everywhere.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let Findings {
            quiet,
            counted,
            changed: [a, b],
        } = self.findings;
        let pairs = [a.interval, a.visits, b.interval, b.visits];
        let [c, d, e, f] = pairs;
        let numbers = [quiet, counted, c, d, e, f, self.alpha, self.beta];
        let mut bytes = [VERSION; Self::BYTES];
        for (place, number) in bytes[1..33].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[33..36].copy_from_slice(&self.span.0);
        bytes[36] = self.visits;
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote; nothing when it is of another version, of
    /// another length, or no belief at all.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::BYTES || bytes[0] != VERSION {
            return None;
        }
        let mut numbers = [0.0; 8];
        for (number, place) in numbers.iter_mut().zip(bytes[1..33].chunks_exact(4)) {
            *number = f32::from_le_bytes(place.try_into().ok()?);
        }
        let proper = |number: &f32| number.is_finite() && *number >= 0.0;
        let [quiet, counted, a, na, b, nb, alpha, beta] = numbers;
        let span = Span([bytes[33], bytes[34], bytes[35]]);
        let told = bytes[36] > 0;
        // a page that was visited has a pace, and is counted; one that was not is neither
        let whole = told == (alpha > 0.0 && beta > 0.0) && told == (span.0[2] > 0);
        if !numbers.iter().all(proper) || !span.0.is_sorted() || !whole {
            return None;
        }
        let changed = |interval, visits| Changed { interval, visits };
        Some(Self {
            findings: Findings {
                quiet,
                counted,
                changed: [changed(a, na), changed(b, nb)],
            },
            alpha,
            beta,
            span,
            visits: bytes[36],
        })
    }
}
