//! The price at which a demand curve meets a supply.

/// A price, or two neighbouring ones between which the demand jumps over the supply: then the
/// share `blend` is bought at `low` and the rest at `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    pub low: f64,
    pub high: f64,
    pub blend: f64,
}

impl Price {
    pub fn exact(price: f64) -> Self {
        Self {
            low: price,
            high: price,
            blend: 0.0,
        }
    }
}

/// A relative miss of the supply that rescaling mends without disturbing the optimality.
const CLOSE: f64 = 1e-12;

/// Finds where `demand` (value and derivative by the logarithm of the price; falling) equals
/// `supply > 0`. Demand is zero at `ceiling`, and at prices towards zero exceeds the supply.
/// Newton on logarithms, since `ln demand` is nearly linear in `ln price`, kept within a bracket.
pub(super) fn meet(
    mut demand: impl FnMut(f64) -> (f64, f64),
    supply: f64,
    start: f64,
    ceiling: f64,
) -> Price {
    let mut above = (0.0, f64::INFINITY); // price too low, its demand
    let mut below = (ceiling, 0.0); // price too high, its demand
    let mut price = start;
    for round in 0..400 {
        // Newton creeps where the demand jumps; every other step then halves the bracket
        let creeping = round > 10 && round % 2 == 0;
        if creeping || !(price > above.0 && price < below.0) {
            price = middle(above.0, below.0);
            if price <= above.0 || price >= below.0 {
                break;
            }
        }
        let (value, slope) = demand(price);
        if (value - supply).abs() <= CLOSE * supply {
            return Price::exact(price);
        }
        if value > supply {
            above = (price, value);
        } else {
            below = (price, value);
        }
        let step = -(value / supply).ln() * value / slope;
        // far steps are not to be trusted; where demand is zero or flat there is no step at all
        price = if step.is_finite() && step.abs() < 20.0 {
            price * step.exp()
        } else {
            f64::NAN
        };
    }
    let blend = if above.1.is_finite() && above.1 > below.1 {
        ((supply - below.1) / (above.1 - below.1)).clamp(0.0, 1.0)
    } else {
        0.0
    };
    Price {
        low: above.0,
        high: below.0,
        blend,
    }
}

/// Halfway between two prices: in logarithms, unless one of them has none.
fn middle(low: f64, high: f64) -> f64 {
    match (low > 0.0, high.is_finite()) {
        (true, true) if high / low > 1.01 => low.sqrt() * high.sqrt(),
        (true, true) => low + (high - low) / 2.0,
        (false, true) => high * 1e-3,
        (true, false) => low * 1e3,
        (false, false) => 1.0,
    }
}
