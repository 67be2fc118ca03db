//! What is believed of a page's rate: its findings weighed with what pages like it do.

use super::Pace;
use super::findings::Findings;
use super::grid::{self, DEEP, KNOTS, LN_LOWEST, NODES, STEP, STEPS_PER_KNOT};

/// So many nodes that matter make a good integral.
const ENOUGH: usize = 10;
/// Room for the nodes of one integral.
const MOST: usize = KNOTS + 3;

/// A distribution of rates before a page's own findings: densities over the logarithm of the rate at
/// each half decade, linear in between. They need not sum to one.
#[derive(Clone, Copy, Debug)]
pub struct Prior(pub(super) [f32; KNOTS]);

impl Prior {
    fn at(&self, node: usize) -> f64 {
        let (knot, beyond) = (node / STEPS_PER_KNOT, node % STEPS_PER_KNOT);
        if beyond == 0 {
            return f64::from(self.0[knot]);
        }
        let (low, high) = (f64::from(self.0[knot]), f64::from(self.0[knot + 1]));
        low + (high - low) * beyond as f64 / STEPS_PER_KNOT as f64
    }
}

/// How often a page changes, with the interval that holds it with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The mean; where little is known, few large rates decide it.
    pub mean: f64,
    /// As likely too low as too high.
    pub median: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// A distribution of rates on evenly spaced nodes of the logarithmic scale, as many and as close as
/// its width asks for.
#[derive(Clone, Copy, Debug)]
pub struct Posterior {
    first: usize,
    stride: usize,
    nodes: usize,
    weight: [f64; MOST],
}

impl Posterior {
    pub(super) fn new(findings: &Findings, prior: &Prior) -> Self {
        let (mut first, mut stride, mut nodes) = (0, STEPS_PER_KNOT, KNOTS);
        loop {
            let logs = log_likelihood(findings, first, stride, nodes);
            let all = &logs[..nodes];
            let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // the likeliest matters even where rounding is deeper
            let matters = |log: &f64| *log >= most - DEEP;
            let from = all.iter().position(matters).unwrap_or(0);
            let to = all.iter().rposition(matters).unwrap_or(nodes - 1);
            if to - from + 1 >= ENOUGH || stride == 1 {
                let mut posterior = Self {
                    first: first + from * stride,
                    stride,
                    nodes: to - from + 1,
                    weight: [0.0; MOST],
                };
                let (tables, mut sum) = (grid::tables(), 0.0);
                for (k, log) in all[from..=to].iter().enumerate() {
                    let likelihood = tables.falling(most - log);
                    posterior.weight[k] = likelihood * prior.at(posterior.node(k));
                    sum += posterior.weight[k];
                }
                for weight in &mut posterior.weight[..posterior.nodes] {
                    *weight /= sum;
                }
                return posterior;
            }
            // a closer look at what lies between the nodes that do not matter
            let low = first + from.saturating_sub(1) * stride;
            let high = (first + (to + 1) * stride).min(NODES - 1);
            stride = ((high - low) / KNOTS + 1).next_power_of_two();
            first = low;
            nodes = (high - low).div_ceil(stride) + 1;
            // the last node may not lie beyond the scale
            nodes = nodes.min((NODES - 1 - first) / stride + 1);
        }
    }

    fn node(&self, k: usize) -> usize {
        self.first + k * self.stride
    }

    fn weights(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let weights = self.weight[..self.nodes].iter().enumerate();
        weights.map(|(k, &weight)| (self.node(k), weight))
    }

    /// Rates and how likely each is.
    pub fn rates(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let rates = &grid::tables().rate;
        self.weights().map(|(node, weight)| (rates[node], weight))
    }

    /// The chance that the page does not change for so long: the mean of `e^{−λt}`.
    pub fn chance_unchanged(&self, time: f64) -> f64 {
        if time.is_nan() || time <= 0.0 {
            return 1.0;
        }
        let (table, beyond) = grid::tables().unchanged(time);
        self.weights().fold(0.0, |sum, (node, weight)| {
            let (short, long) = (f64::from(table[node]), f64::from(table[node + 1]));
            sum + weight * (short + (long - short) * beyond)
        })
    }

    /// The rate with its interval.
    pub fn rate(&self) -> Rate {
        let rates = &grid::tables().rate;
        let at = |share| (LN_LOWEST + STEP * self.quantile(share)).exp();
        Rate {
            mean: self.weights().map(|(node, w)| w * rates[node]).sum(),
            median: at(0.5),
            low: at(0.025),
            high: at(0.975),
        }
    }

    /// The place on the scale below which the rate lies with this chance.
    fn quantile(&self, share: f64) -> f64 {
        self.quantiles([share])[0]
    }

    /// The same for several chances that ascend.
    pub(super) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [f64; N] {
        let mut places = [self.node(self.nodes - 1) as f64; N];
        let (mut below, mut found) = (0.0, 0);
        for (node, weight) in self.weights() {
            while found < N && below + weight >= shares[found] && weight > 0.0 {
                // a node stands for what is nearer to it than to its neighbours
                let within = (shares[found] - below) / weight - 0.5;
                let place = node as f64 + within * self.stride as f64;
                places[found] = place.clamp(0.0, (NODES - 1) as f64);
                found += 1;
            }
            below += weight;
        }
        places
    }

    /// The gamma distribution whose logarithm has the same mean and variance.
    pub fn pace(&self) -> Pace {
        let (mut mean, mut square) = (0.0, 0.0);
        for (k, weight) in self.weight[..self.nodes].iter().enumerate() {
            let part = weight * k as f64;
            mean += part;
            square += part * k as f64;
        }
        let step = STEP * self.stride as f64;
        let variance = (square - mean * mean).max(0.0) * step * step;
        let mean = LN_LOWEST + self.first as f64 * STEP + mean * step;
        Pace::of_logarithm(mean, variance)
    }
}

fn log_likelihood(findings: &Findings, first: usize, stride: usize, nodes: usize) -> [f64; MOST] {
    let tables = grid::tables();
    let (quiet, counted) = (
        f64::from(findings.quiet),
        f64::from(findings.counted) * STEP,
    );
    let mut logs = [0.0; MOST];
    for (k, log) in logs[..nodes].iter_mut().enumerate() {
        let node = first + k * stride;
        *log = counted * node as f64 - quiet * tables.rate[node];
    }
    for changed in &findings.changed {
        if changed.visits > 0.0 {
            let table = tables.ln_changed(f64::from(changed.interval));
            let visits = f64::from(changed.visits);
            for (k, log) in logs[..nodes].iter_mut().enumerate() {
                *log += visits * f64::from(table[first + k * stride]);
            }
        }
    }
    logs
}
