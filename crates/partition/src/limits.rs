//! How much each part may weigh.

use crate::graph::{Graph, Load};

/// A limit of 5 that is computed as 4.999… is 5.
const EXACT: f64 = 1.0 + 1e-12;

/// By how much a part may exceed its fair share, measure by measure; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Pages.
    pub pages: Option<f64>,
    /// Servers.
    pub servers: Option<f64>,
    /// Links to other vertices.
    pub traffic: Option<f64>,
}

impl Default for Balance {
    /// 3 % in pages as partitioners are compared; servers may vary more, since their sizes do.
    fn default() -> Self {
        Self {
            pages: Some(0.03),
            servers: Some(0.5),
            traffic: None,
        }
    }
}

impl Balance {
    /// Pages only, as the general partitioners balance.
    pub fn pages(epsilon: f64) -> Self {
        Self {
            pages: Some(epsilon),
            servers: None,
            traffic: None,
        }
    }

    /// The tolerance of each of `levels` levels, a little less than its `levels`th part, so that
    /// the product over a hierarchy stays within the whole.
    #[must_use]
    pub fn per_level(self, levels: usize) -> Self {
        let share = |epsilon: Option<f64>| {
            epsilon.map(|e| (1.0 + e).powf(1.0 / levels.max(1) as f64) - 1.0)
        };
        Self {
            pages: share(self.pages),
            servers: share(self.servers),
            traffic: share(self.traffic),
        }
    }

    /// The limit of each part for a `total` shared in proportion to `capacities`.
    pub fn limits(&self, total: Load, capacities: &[f64]) -> Vec<Load> {
        let all: f64 = capacities.iter().sum();
        let tolerances = [self.pages, self.servers, self.traffic];
        capacities
            .iter()
            .map(|capacity| {
                let mut limit = [u64::MAX; 3];
                for (m, &amount) in total.measures().iter().enumerate() {
                    if let Some(epsilon) = tolerances[m] {
                        let share = amount as f64 * (capacity / all);
                        // a share that is no whole number may be rounded up whatever the tolerance
                        let most = (share * (1.0 + epsilon) * EXACT).floor();
                        limit[m] = most.max((share / EXACT).ceil()) as u64;
                    }
                }
                Load::from_measures(limit)
            })
            .collect()
    }
}

/// Whether every part is within its limit.
pub fn balanced(graph: &Graph, part: &[u32], limits: &[Load]) -> bool {
    graph
        .part_loads(part, limits.len())
        .iter()
        .zip(limits)
        .all(|(load, limit)| load.fits(limit))
}
