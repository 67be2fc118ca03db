//! Noisy change signals: sitemaps, feeds and pings, and how far each server's are to be trusted.

use super::Outcome;
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

/// Signals since the last visits, of the few pages that have any.
#[derive(Clone, Debug)]
pub(super) struct Signals {
    pending: BTreeMap<PageId, u8>,
    servers: Vec<Trust>,
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
            servers: vec![UNKNOWN; servers],
        }
    }

    pub fn signal(&mut self, page: PageId) {
        let pending = self.pending.entry(page).or_default();
        *pending = pending.saturating_add(1);
    }

    /// The time by which one signal lengthens the effective time since the last visit:
    /// `β = −ln(η/γ)/α`, `α = (1 − κ)λ`, `γ = κλ + η`, with recall `κ` and false-signal rate `η`.
    pub fn worth(&self, server: ServerId, rate: f64) -> f64 {
        let trust = &self.servers[server.index()];
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
        let pending = self.pending.remove(&page).unwrap_or(0);
        let trust = &mut self.servers[server.index()];
        if changed {
            trust.changes += 1.0;
            trust.signalled_changes += f32::from(pending.min(1));
        } else {
            trust.false_signals += f32::from(pending);
            trust.quiet_time += (at - last) as f32;
        }
    }

    /// A page comes, maybe at the index of one that went.
    pub fn add(&mut self, page: PageId) {
        self.pending.remove(&page);
    }

    pub fn add_server(&mut self) {
        self.servers.push(UNKNOWN);
    }
}
