//! What a schedule of visits is worth: freshness, age and staleness.
#![doc = include_str!("measure/README.md")]

mod delay;
mod score;

pub use delay::{delay_for_gain, delay_slope};
pub use score::{Score, score_changes, score_poisson};

/// `1 − (1 + r)·e^{−r}`: the gain of a visit at the normalised delay `r = λτ`, which both the
/// optimality condition of an allocation and the index of a page are made of.
pub fn visit_gain(r: f64) -> f64 {
    if r < 0.5 {
        // Σ (−1)^k r^k (k−1)/k!, k ≥ 2: the closed form cancels to nothing for small r
        let mut term = r * r / 2.0;
        let mut sum = term;
        let mut k = 2.0;
        while term.abs() > sum * 1e-17 {
            // from (k−1)/k! to k/(k+1)!, sign flipped
            term *= -r * k / ((k - 1.0) * (k + 1.0));
            k += 1.0;
            sum += term;
        }
        sum
    } else {
        let decay = (-r).exp();
        1.0 - decay - r * decay
    }
}

/// The expected time that a copy taken now stays fresh during the next `interval`, when the page
/// changes as a Poisson process: `B(x) = (1 − e^{−λx})/λ`. Concave, so even spacing is best.
pub fn fresh_time(rate: f64, interval: f64) -> f64 {
    if rate == 0.0 {
        interval
    } else {
        -(-rate * interval).exp_m1() / rate
    }
}

/// Time-averaged freshness with evenly spaced visits: `(1 − e^{−r})/r`, `r` = `rate`/`frequency`.
/// No schedule with the same mean frequency does better.
pub fn evenly_spaced(rate: f64, frequency: f64) -> f64 {
    at_ratio(rate, frequency, even_ratio)
}

/// Time-averaged freshness when every page is visited once a round and the order of the round is
/// drawn anew each time: `(1/r)·(1 − ((1 − e^{−r})/r)²)`.
pub fn random_order(rate: f64, frequency: f64) -> f64 {
    at_ratio(rate, frequency, |r| {
        if r < 1e-3 {
            // series: the bracket cancels
            1.0 - r * (7.0 / 12.0) + r * r / 4.0
        } else {
            let even = even_ratio(r);
            (1.0 - even * even) / r
        }
    })
}

/// Time-averaged freshness when each visit draws any page: `1/(1 + r)`.
pub fn purely_random(rate: f64, frequency: f64) -> f64 {
    at_ratio(rate, frequency, |r| 1.0 / (1.0 + r))
}

/// What RANDOM page selection keeps of the evenly spaced freshness at `r = λ/f`:
/// `r/((1 + r)(1 − e^{−r}))`.
pub fn random_selection_factor(r: f64) -> f64 {
    if r == 0.0 {
        1.0
    } else {
        1.0 / ((1.0 + r) * even_ratio(r))
    }
}

/// Mean age with evenly spaced visits: `(1/f)·(1/2 − 1/r + (1 − e^{−r})/r²)`. Zero for a page that
/// never changes, infinite for one that changes and is never visited.
pub fn mean_age(rate: f64, frequency: f64) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    if frequency == 0.0 {
        return f64::INFINITY;
    }
    let r = rate / frequency;
    let shape = if r < 0.02 {
        // 1/2 − 1/r + (1 − e^{−r})/r² = Σ_{k≥1} (−1)^{k+1} r^k/(k+2)!
        r * (1.0 / 6.0 - r * (1.0 / 24.0 - r * (1.0 / 120.0 - r / 720.0)))
    } else {
        0.5 - (1.0 - even_ratio(r)) / r
    };
    shape / frequency
}

/// `(1 − e^{−r})/r`.
fn even_ratio(r: f64) -> f64 {
    if r == 0.0 { 1.0 } else { -(-r).exp_m1() / r }
}

fn at_ratio(rate: f64, frequency: f64, freshness: impl Fn(f64) -> f64) -> f64 {
    if rate == 0.0 {
        1.0
    } else if frequency == 0.0 {
        0.0
    } else {
        let r = rate / frequency;
        if r.is_finite() { freshness(r) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
