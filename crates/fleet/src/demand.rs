//! Budget by demand curves: how many visits are worth their price, at 64 prices of a fixed grid.
//! Curves add up the tree; the top finds the price; everybody gets its own demand at that price.

use crate::wire::{Wire, WireError};

/// Prices in the grid.
pub const PRICES: usize = 64;
/// The lowest price of the grid, and what each is to the one before: 2⁻¹⁶ to 2¹⁵·⁵.
const LOWEST: f64 = 1.0 / 65_536.0;
const STEP: f64 = std::f64::consts::SQRT_2;

/// The price with this place in the grid.
pub fn price(place: usize) -> f64 {
    // repeated multiplication is the same on every machine, `powf` is not
    (0..place).fold(LOWEST, |price, _| price * STEP)
}

/// Visits per second wanted at each price; never more at a higher one.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve(Box<[f32; PRICES]>);

impl Default for Curve {
    fn default() -> Self {
        Self(Box::new([0.0; PRICES]))
    }
}

impl Curve {
    /// What a robot wants at a price, for all prices of the grid.
    pub fn of(wanted: impl Fn(f64) -> f64) -> Self {
        let mut curve = Self::default();
        let mut last = f32::MAX;
        for (place, at) in curve.0.iter_mut().enumerate() {
            let value = wanted(price(place)) as f32;
            *at = if value.is_finite() {
                value.clamp(0.0, last)
            } else {
                0.0
            };
            last = *at;
        }
        curve
    }

    /// Together with another's.
    pub fn add(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&*other.0) {
            *a += b;
        }
    }

    /// No more than `most` at any price: a robot's lines, a site's line, the fleet's budget.
    #[must_use]
    pub fn capped(mut self, most: f64) -> Self {
        for at in &mut *self.0 {
            *at = at.min(most as f32);
        }
        self
    }

    /// What is wanted at the lowest price.
    pub fn most(&self) -> f64 {
        self.0[0].into()
    }

    /// The place in the grid, and a share of the step to the next lower price, at which exactly
    /// `budget` is wanted, or everything.
    pub fn clearing(&self, budget: f64) -> Clearing {
        let place = self.0.iter().position(|&at| f64::from(at) <= budget);
        let Some(place) = place else {
            // even the highest price leaves too much: everybody gets the same part of it
            let part = budget / f64::from(self.0[PRICES - 1]);
            return Clearing {
                place: PRICES,
                part,
            };
        };
        if place == 0 {
            return Clearing { place, part: 0.0 };
        }
        let (low, high) = (f64::from(self.0[place]), f64::from(self.0[place - 1]));
        let part = (budget - low) / (high - low);
        Clearing { place, part }
    }

    /// What is wanted at a clearing: between two prices everybody gets the same part of the step.
    pub fn at(&self, clearing: Clearing) -> f64 {
        let Clearing { place, part } = clearing;
        if place == PRICES {
            return f64::from(self.0[PRICES - 1]) * part;
        }
        let here = f64::from(self.0[place]);
        if place == 0 {
            return here;
        }
        here + (f64::from(self.0[place - 1]) - here) * part
    }
}

/// A price between two of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearing {
    place: usize,
    part: f64,
}

impl Clearing {
    /// Whether everybody gets all that it wants.
    pub fn is_all(self) -> bool {
        self.place == 0
    }
}

impl Wire for Curve {
    fn put(&self, out: &mut Vec<u8>) {
        // curves end in zeros, and most robots' begin with many equal values
        let ends = self.0.iter().rposition(|&at| at > 0.0).map_or(0, |i| i + 1);
        (ends as u64).put(out);
        for at in &self.0[..ends] {
            out.extend_from_slice(&at.to_le_bytes());
        }
    }

    fn take(from: &mut &[u8]) -> Result<Self, WireError> {
        let ends = u64::take(from)?;
        if ends > PRICES as u64 {
            return Err(WireError::Value {
                what: "prices",
                value: ends,
            });
        }
        let mut curve = Self::default();
        let mut last = f32::MAX;
        for at in &mut curve.0[..ends as usize] {
            let (bytes, rest) = from.split_first_chunk().ok_or(WireError::Short)?;
            *from = rest;
            *at = f32::from_le_bytes(*bytes);
            if !(0.0..=last).contains(at) {
                return Err(WireError::Value {
                    what: "demand",
                    value: u64::from(at.to_bits()),
                });
            }
            last = *at;
        }
        if ends > 0 && last <= 0.0 {
            return Err(WireError::Value {
                what: "prices",
                value: ends,
            });
        }
        Ok(curve)
    }
}

#[cfg(test)]
mod tests;
