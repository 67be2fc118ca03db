//! Filling demand curves with a budget under the servers' limits.
//!
//! The total taken at one price, each server cut off at its cap, falls with the price; the price
//! at which it equals the budget is the global one. A server is capped exactly when its own
//! demand at that price exceeds its cap, and then has a higher price of its own. This equals
//! solving, fixing the servers over their cap, and solving again until none is over.

use super::demand::Demand;
use super::price::{Price, meet};
use rayon::prelude::*;
use std::ops::Range;

/// Positions are summed in blocks of this size, whatever the number of threads, so that sums do
/// not depend on it.
const BLOCK: usize = 1 << 14;
/// A sample of this size gives a first price that a few Newton steps over all pages finish.
const SAMPLE: usize = 1 << 15;

/// A reserve price is a rounded quotient, at which the demand, rounded too, may not be zero yet; a
/// few units in the last place above it surely is.
const BEYOND_ROUNDING: f64 = 1.0 + 4.0 * f64::EPSILON;

/// The outcome: a frequency for each position and the prices that led to it.
pub(crate) struct Filling {
    pub frequency: Vec<f64>,
    /// Zero when the budget is more than the servers can take.
    pub price: f64,
    /// At least the global price; above it for capped servers.
    pub server_price: Vec<f64>,
}

struct Server {
    pages: Range<usize>,
    cap: f64,
}

/// Fills `budget` into `demand`, whose positions are grouped by server: server `s` holds
/// `offsets[s]..offsets[s + 1]` and takes at most `caps[s]`.
pub(crate) fn fill<D: Demand>(demand: &D, offsets: &[usize], caps: &[f64], budget: f64) -> Filling {
    let servers: Vec<Server> = offsets
        .windows(2)
        .zip(caps)
        .map(|(ends, &cap)| Server {
            pages: ends[0]..ends[1],
            cap,
        })
        .collect();
    let reserves: Vec<f64> = servers
        .par_iter()
        .map(|server| {
            server
                .pages
                .clone()
                .map(|p| demand.reserve(p))
                .fold(0.0, f64::max)
                * BEYOND_ROUNDING
        })
        .collect();
    let global = global_price(demand, &servers, &reserves, budget);
    let at_high = taken_at(demand, &servers, global.high, budget);
    let at_low = if global.blend > 0.0 {
        taken_at(demand, &servers, global.low, budget)
    } else {
        at_high.clone()
    };
    let capped: Vec<bool> = servers
        .iter()
        .zip(at_high.iter().zip(&reserves))
        .map(|(server, (&value, &reserve))| reserve > 0.0 && value > server.cap)
        .collect();
    // what each server is to have in all
    let share: Vec<f64> = (0..servers.len())
        .map(|s| {
            let cap = servers[s].cap;
            let (high, low) = (at_high[s].min(cap), at_low[s].min(cap));
            if capped[s] {
                cap
            } else {
                high + global.blend * (low - high)
            }
        })
        .collect();
    let prices: Vec<Price> = (0..servers.len())
        .into_par_iter()
        .map(|s| {
            if !capped[s] {
                let jump = at_low[s] - at_high[s];
                let blend = if jump > 0.0 {
                    (share[s] - at_high[s]) / jump
                } else {
                    0.0
                };
                return Price { blend, ..global };
            }
            let own = |price| sum(demand, servers[s].pages.clone(), price);
            // demand falls about as the root of the price
            let excess = at_high[s] / servers[s].cap;
            meet(own, share[s], global.high * excess * excess, reserves[s])
        })
        .collect();

    let mut frequency = vec![0.0; *offsets.last().unwrap_or(&0)];
    let bought = buy(demand, &servers, &prices, &mut frequency);
    let shares = |wanted: bool| -> f64 {
        let of = share
            .iter()
            .zip(&capped)
            .filter(|(_, capped)| **capped == wanted);
        of.map(|(share, _)| share).sum()
    };
    let (on_caps, elsewhere) = (shares(true), shares(false));
    let mend = if elsewhere > 0.0 {
        (budget - on_caps).max(0.0) / elsewhere
    } else {
        1.0
    };
    let factors: Vec<f64> = (0..servers.len())
        .map(|s| {
            let wanted = if capped[s] { share[s] } else { share[s] * mend };
            if bought[s] > 0.0 {
                wanted / bought[s]
            } else {
                1.0
            }
        })
        .collect();
    scale(&servers, &factors, &mut frequency);
    Filling {
        frequency,
        price: global.high,
        server_price: prices.iter().map(|price| price.high).collect(),
    }
}

/// The price at which all servers together, each within its cap, take the budget.
fn global_price<D: Demand>(demand: &D, servers: &[Server], reserves: &[f64], budget: f64) -> Price {
    let ceiling = reserves.iter().copied().fold(0.0, f64::max);
    let capacity: f64 = servers
        .iter()
        .zip(reserves)
        .filter(|(_, reserve)| **reserve > 0.0)
        .map(|(server, _)| server.cap)
        .sum();
    if budget <= 0.0 || ceiling == 0.0 {
        return Price::exact(ceiling);
    }
    if budget >= capacity {
        return Price::exact(0.0);
    }
    let positions = servers.last().map_or(0, |server| server.pages.end);
    let start = sampled_price(demand, positions, ceiling, budget);
    let taken = |price| {
        let add = |sum: (f64, f64), ((value, slope), server): ((f64, f64), &Server)| {
            if value < server.cap {
                (sum.0 + value, sum.1 + slope)
            } else {
                (sum.0 + server.cap, sum.1)
            }
        };
        totals(demand, servers, price)
            .into_iter()
            .zip(servers)
            .fold((0.0, 0.0), add)
    };
    meet(taken, budget, start, ceiling)
}

/// What each server's pages take at a price that may also be zero or beyond all demand.
fn taken_at<D: Demand>(demand: &D, servers: &[Server], price: f64, budget: f64) -> Vec<f64> {
    if budget <= 0.0 || price.is_infinite() {
        vec![0.0; servers.len()]
    } else if price == 0.0 {
        vec![f64::INFINITY; servers.len()]
    } else {
        totals(demand, servers, price)
            .into_iter()
            .map(|(value, _)| value)
            .collect()
    }
}

/// A first price from every n-th page, politeness left aside.
fn sampled_price<D: Demand>(demand: &D, positions: usize, ceiling: f64, budget: f64) -> f64 {
    let stride = positions.div_ceil(SAMPLE).max(1);
    if stride == 1 {
        return f64::NAN;
    }
    let sample = |price| {
        (0..positions)
            .step_by(stride)
            .fold((0.0, 0.0), |sum: (f64, f64), position| {
                let (value, slope) = demand.visits(position, price);
                (sum.0 + value, sum.1 + slope)
            })
    };
    meet(sample, budget / stride as f64, f64::NAN, ceiling).high
}

fn sum<D: Demand>(demand: &D, pages: Range<usize>, price: f64) -> (f64, f64) {
    let mut total = (0.0, 0.0);
    for position in pages {
        let (value, slope) = demand.visits(position, price);
        total.0 += value;
        total.1 += slope;
    }
    total
}

/// What each server's pages take at `price`, caps aside.
fn totals<D: Demand>(demand: &D, servers: &[Server], price: f64) -> Vec<(f64, f64)> {
    servers
        .par_iter()
        .map(|server| {
            if server.pages.len() <= BLOCK {
                return sum(demand, server.pages.clone(), price);
            }
            blocks(&server.pages)
                .into_par_iter()
                .map(|block| sum(demand, block, price))
                .collect::<Vec<_>>()
                .into_iter()
                .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
        })
        .collect()
}

fn blocks(pages: &Range<usize>) -> Vec<Range<usize>> {
    pages
        .clone()
        .step_by(BLOCK)
        .map(|start| start..(start + BLOCK).min(pages.end))
        .collect()
}

/// Writes what each page takes at its server's price; returns the sum for each server.
fn buy<D: Demand>(
    demand: &D,
    servers: &[Server],
    prices: &[Price],
    frequency: &mut [f64],
) -> Vec<f64> {
    slices(servers, frequency)
        .into_par_iter()
        .zip(servers)
        .zip(prices)
        .map(|((slice, server), price)| {
            slice
                .par_chunks_mut(BLOCK)
                .enumerate()
                .map(|(k, chunk)| {
                    let start = server.pages.start + k * BLOCK;
                    let mut sum = 0.0;
                    for (position, frequency) in (start..).zip(chunk) {
                        *frequency = blended(demand, position, price);
                        sum += *frequency;
                    }
                    sum
                })
                .collect::<Vec<f64>>()
                .into_iter()
                .sum()
        })
        .collect()
}

fn blended<D: Demand>(demand: &D, position: usize, price: &Price) -> f64 {
    let at_high = if price.high > 0.0 && price.high.is_finite() {
        demand.visits(position, price.high).0
    } else {
        0.0
    };
    if price.blend > 0.0 {
        let at_low = demand.visits(position, price.low).0;
        at_high + price.blend * (at_low - at_high)
    } else {
        at_high
    }
}

fn scale(servers: &[Server], factors: &[f64], frequency: &mut [f64]) {
    slices(servers, frequency)
        .into_par_iter()
        .zip(factors)
        .for_each(|(slice, &factor)| {
            if factor != 1.0 {
                for value in slice {
                    *value *= factor;
                }
            }
        });
}

fn slices<'a>(servers: &[Server], mut frequency: &'a mut [f64]) -> Vec<&'a mut [f64]> {
    servers
        .iter()
        .map(|server| {
            let (head, tail) = std::mem::take(&mut frequency).split_at_mut(server.pages.len());
            frequency = tail;
            head
        })
        .collect()
}
