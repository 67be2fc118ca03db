//! What a vertex weighs, and what a part carries, in each of the measures that are balanced.

use std::ops::{Add, AddAssign, SubAssign};

/// A quantity in every balanced measure at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Pages to download.
    pub pages: u64,
    /// Servers: a robot with one giant server is throttled by politeness.
    pub servers: u64,
    /// Links to other vertices: what may have to be handed over.
    pub traffic: u64,
}

impl Load {
    /// No limit in any measure.
    pub const UNLIMITED: Self = Self {
        pages: u64::MAX,
        servers: u64::MAX,
        traffic: u64::MAX,
    };

    /// Whether every measure is within `limit`.
    pub fn fits(&self, limit: &Self) -> bool {
        self.pages <= limit.pages && self.servers <= limit.servers && self.traffic <= limit.traffic
    }

    /// By how much `limit` is exceeded, as a share of it, added over the measures.
    pub fn excess(&self, limit: &Self) -> f64 {
        self.measures()
            .iter()
            .zip(limit.measures())
            .map(|(&load, limit)| load.saturating_sub(limit) as f64 / limit.max(1) as f64)
            .sum()
    }

    /// The measures in a fixed order.
    pub fn measures(&self) -> [u64; 3] {
        [self.pages, self.servers, self.traffic]
    }

    /// The inverse of [`Load::measures`].
    pub fn from_measures([pages, servers, traffic]: [u64; 3]) -> Self {
        Self {
            pages,
            servers,
            traffic,
        }
    }

    /// Applies `f` to each measure of both.
    #[must_use]
    pub fn zip_with(&self, other: &Self, mut f: impl FnMut(u64, u64) -> u64) -> Self {
        Self {
            pages: f(self.pages, other.pages),
            servers: f(self.servers, other.servers),
            traffic: f(self.traffic, other.traffic),
        }
    }
}

impl Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            pages: self.pages + other.pages,
            servers: self.servers + other.servers,
            traffic: self.traffic + other.traffic,
        }
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Load {
    fn sub_assign(&mut self, other: Self) {
        self.pages -= other.pages;
        self.servers -= other.servers;
        self.traffic -= other.traffic;
    }
}

impl std::iter::Sum for Load {
    fn sum<I: Iterator<Item = Self>>(loads: I) -> Self {
        loads.fold(Self::default(), Add::add)
    }
}
