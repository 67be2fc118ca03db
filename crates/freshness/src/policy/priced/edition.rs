//! What due times rest on, for as long as it holds.

use crate::ServerId;

/// Prices, rounds and what was known of all pages at one time.
#[derive(Clone, Debug)]
pub(super) struct Edition<O> {
    pub number: u32,
    pub outlook: O,
    /// No page waits for more than so many rounds.
    pub ceiling: f64,
    pub budget: f64,
    pub pages: usize,
    /// The time in which the budget pays for one visit to each page.
    pub round: f64,
    /// Of a visit to a server below its cap.
    pub price: f64,
    /// Servers that came later are below their caps.
    pub servers: Vec<Terms>,
}

/// What holds for the pages of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Terms {
    pub price: f64,
    /// The time in which each of its pages can be visited once.
    pub round: f64,
}

impl<O> Edition<O> {
    /// Before there are pages.
    pub fn first(outlook: O) -> Self {
        Self {
            number: 0,
            outlook,
            ceiling: 1.0,
            budget: 0.0,
            pages: 0,
            round: 0.0,
            price: 0.0,
            servers: Vec::new(),
        }
    }

    pub fn is_odd(&self) -> bool {
        self.number % 2 == 1
    }

    pub fn terms(&self, server: ServerId) -> Terms {
        let common = Terms {
            price: self.price,
            round: self.round,
        };
        self.servers.get(server.index()).copied().unwrap_or(common)
    }

    /// Whether a price or the round is off by more than a share.
    pub fn is_far_from(&self, other: &Self, share: f64) -> bool {
        let far = |new: f64, old: f64| (new - old).abs() > share * old;
        let servers = self.servers.len().max(other.servers.len());
        far(self.round, other.round)
            || (0..servers as u32).any(|s| {
                let (new, old) = (self.terms(ServerId(s)), other.terms(ServerId(s)));
                far(new.price, old.price) || far(new.round, old.round)
            })
    }
}
