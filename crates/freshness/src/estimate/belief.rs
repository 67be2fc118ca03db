//! What a crawler states of each page.

use super::Pace;
use super::population::Span;
use crate::record::{Reader, Writer};

/// What is believed of a page by its [`Findings`](super::Findings), and how it was counted among all pages.
/// Meaningless without the [`Population`](super::Population) that it was observed with. Twelve bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Belief {
    /// The gamma distribution nearest to what was believed after the last visit.
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) span: Span,
    /// Visits that told something, up to 255.
    pub(super) visits: u8,
}

impl Belief {
    /// The gamma distribution nearest to what was believed of the rate after the last visit.
    pub fn pace(&self) -> Pace {
        Pace {
            alpha: f64::from(self.alpha),
            beta: f64::from(self.beta),
        }
    }

    /// Visits that told something of changes, as far as they are counted: up to 255.
    pub fn visits(&self) -> u8 {
        self.visits
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.f32(self.alpha);
        to.f32(self.beta);
        self.span.0.into_iter().for_each(|step| to.u8(step));
        to.u8(self.visits);
    }

    /// Nothing for what is no belief.
    pub(crate) fn read(from: &mut Reader) -> Option<Self> {
        let (alpha, beta) = (from.small_amount()?, from.small_amount()?);
        let span = Span([from.u8()?, from.u8()?, from.u8()?]);
        let visits = from.u8()?;
        let told = visits > 0;
        // a page that was visited has a pace, and is counted; one that was not is neither
        let whole = told == (alpha > 0.0 && beta > 0.0) && told == (span.0[2] > 0);
        (span.0.is_sorted() && whole).then_some(Self {
            alpha,
            beta,
            span,
            visits,
        })
    }
}
