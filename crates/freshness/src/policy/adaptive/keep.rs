//! What the default policy writes down.

use super::{Adaptive, Outlook, Page};
use crate::estimate::Evidence;
use crate::policy::Seen;
use crate::record::{Reader, Writer};

fn write_evidence(evidence: Evidence, to: &mut Writer) {
    to.f32(evidence.events() as f32);
    to.f32(evidence.exposure() as f32);
}

fn read_evidence(from: &mut Reader) -> Option<Evidence> {
    let (events, exposure) = (from.small_amount()?, from.small_amount()?);
    Some(Evidence::new(events.into(), exposure.into()))
}

impl Page {
    /// All but what is kept whatever the policy, and what is judged anew.
    pub(super) fn write(&self, to: &mut Writer) {
        write_evidence(self.evidence, to);
        write_evidence(self.recent, to);
        write_evidence(self.latest, to);
        to.f32(self.age);
        to.f32(self.interval);
    }

    pub(super) fn read(weight: f64, seen: Seen, from: &mut Reader) -> Option<Self> {
        let mut page = Self::new(read_evidence(from)?, weight);
        page.findings = seen.findings;
        page.last = seen.last;
        page.recent = read_evidence(from)?;
        page.latest = read_evidence(from)?;
        page.age = from
            .any_f32()
            .filter(|age| age.is_nan() || age.is_finite() && *age >= 0.0)?;
        page.interval = from.any_f32().filter(|interval| *interval >= 0.0)?;
        Some(page)
    }
}

impl Outlook {
    pub(super) fn write(&self, to: &mut Writer) {
        self.weights.iter().for_each(|&weight| to.f64(weight));
        to.f64(self.prior_changes);
        to.f64(self.cap);
        to.f64(self.mean);
        to.u32(self.means.len() as u32);
        self.means.iter().for_each(|&mean| to.f64(mean));
    }

    pub(super) fn read(from: &mut Reader) -> Option<Self> {
        let positive = |value: &f64| *value > 0.0;
        let mut weights = [0.0; _];
        for weight in &mut weights {
            *weight = from.f64()?;
        }
        let prior_changes = from.amount().filter(positive)?;
        let cap = from.any_f64().filter(positive)?;
        let mean = from.amount().filter(positive)?;
        let mut means = Vec::new();
        for _ in 0..from.u32()? {
            means.push(from.amount().filter(positive)?);
        }
        Some(Self {
            weights,
            prior_changes,
            cap,
            mean,
            means,
        })
    }
}

impl Adaptive {
    pub(super) fn write(&self, to: &mut Writer) {
        self.weights.write(to);
        self.prior_changes.write(to);
        self.cap.write(to);
        to.u64(self.visits as u64);
        self.signals.learnt(to);
    }

    pub(super) fn read(&mut self, from: &mut Reader) -> Option<()> {
        self.weights.read(from)?;
        self.prior_changes.read(from)?;
        self.cap.read(from)?;
        self.visits = usize::try_from(from.u64()?).ok()?;
        self.signals.relearn(from)
    }
}
