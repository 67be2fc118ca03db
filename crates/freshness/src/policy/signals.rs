//! Noisy change signals: sitemaps, feeds and pings, and how far each server's are to be trusted.

use super::Outcome;
use crate::record::{Reader, Writer};
use crate::{PageId, ServerId};
use std::collections::BTreeMap;

/// Of a server that has not shown anything yet, half of the changes are taken to be signalled,
/// and as many signals to be false: worth a little, soon outweighed by what is seen.
const DOUBT: f32 = 1.0;

/// What a server's signals were worth.
#[derive(Clone, Copy, Debug)]
struct Trust {
    changes: f32,
    signalled_changes: f32,
    /// Signals between two visits that found no change, and the time between those visits.
    false_signals: f32,
    quiet_time: f32,
}

/// Signals since the last visit to a page.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    signals: u8,
    /// By how much they bring the next visit forward.
    forward: f32,
}

/// Signals since the last visits, of the few pages that have any.
#[derive(Clone, Debug)]
pub(super) struct Signals {
    pending: BTreeMap<PageId, Pending>,
    /// Those beyond the number of servers are of an earlier run.
    trust: Vec<Trust>,
    servers: usize,
}

const UNKNOWN: Trust = Trust {
    changes: 2.0 * DOUBT,
    signalled_changes: DOUBT,
    false_signals: 0.0,
    quiet_time: 0.0,
};

impl Signals {
    pub fn new(servers: usize) -> Self {
        Self {
            pending: BTreeMap::new(),
            trust: vec![UNKNOWN; servers],
            servers,
        }
    }

    /// A signal for a page that is believed to change at this rate.
    pub fn signal(&mut self, page: PageId, server: ServerId, rate: f64) {
        let worth = self.worth(server, rate) as f32;
        let pending = self.pending.entry(page).or_default();
        pending.signals = pending.signals.saturating_add(1);
        pending.forward += worth;
    }

    /// By how much signals bring the page's next visit forward.
    pub fn forward(&self, page: PageId) -> f64 {
        let pending = self.pending.get(&page);
        pending.map_or(0.0, |pending| f64::from(pending.forward))
    }

    /// The time by which one signal lengthens the effective time since the last visit:
    /// `β = −ln(η/γ)/α`, `α = (1 − κ)λ`, `γ = κλ + η`, with recall `κ` and false-signal rate `η`.
    fn worth(&self, server: ServerId, rate: f64) -> f64 {
        let trust = &self.trust[server.index()];
        if rate == 0.0 {
            return 0.0;
        }
        let recall = f64::from(trust.signalled_changes / trust.changes).min(0.99);
        // before any quiet time was seen, as many false signals as true ones
        let seen = f64::from(trust.quiet_time) * rate;
        let false_rate =
            rate * (f64::from(trust.false_signals) + f64::from(DOUBT)) / (seen + f64::from(DOUBT));
        let unsignalled = (1.0 - recall) * rate;
        let all = recall * rate + false_rate;
        -(false_rate / all).ln() / unsignalled
    }

    /// Compares the signals since the last visit with what the visit found.
    pub fn visited(
        &mut self,
        page: PageId,
        server: ServerId,
        last: Option<f64>,
        at: f64,
        outcome: Outcome<'_>,
    ) {
        let (Some(last), Some(changed)) = (last, outcome.changed_since(last)) else {
            return;
        };
        let pending = self.pending.remove(&page).unwrap_or_default().signals;
        let trust = &mut self.trust[server.index()];
        if changed {
            trust.changes += 1.0;
            trust.signalled_changes += f32::from(pending.min(1));
        } else {
            trust.false_signals += f32::from(pending);
            trust.quiet_time += (at - last) as f32;
        }
    }

    /// A page comes or goes.
    pub fn forget(&mut self, page: PageId) {
        self.pending.remove(&page);
    }

    pub fn add_server(&mut self) {
        self.servers += 1;
        if self.trust.len() < self.servers {
            self.trust.push(UNKNOWN);
        }
    }

    pub fn memo(&self, page: PageId, to: &mut Writer) {
        let pending = self.pending.get(&page).copied().unwrap_or_default();
        to.u8(pending.signals);
        to.f32(pending.forward);
    }

    pub fn restore(&mut self, page: PageId, from: &mut Reader) -> Option<()> {
        let pending = Pending {
            signals: from.u8()?,
            forward: from.small_amount()?,
        };
        if pending.signals > 0 {
            self.pending.insert(page, pending);
        }
        Some(())
    }

    pub fn learnt(&self, to: &mut Writer) {
        to.u32(self.servers as u32);
        for trust in &self.trust[..self.servers] {
            to.f32(trust.changes);
            to.f32(trust.signalled_changes);
            to.f32(trust.false_signals);
            to.f32(trust.quiet_time);
        }
    }

    pub fn relearn(&mut self, from: &mut Reader) -> Option<()> {
        for _ in 0..from.u32()? {
            self.trust.push(Trust {
                changes: from.small_amount().filter(|&changes| changes > 0.0)?,
                signalled_changes: from.small_amount()?,
                false_signals: from.small_amount()?,
                quiet_time: from.small_amount()?,
            });
        }
        Some(())
    }
}
