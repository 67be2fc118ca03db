//! The member of each family that makes positive, ascending gaps most likely.

use super::FitError;
use crate::gap::Gap;
use crate::gap::special::{digamma, trigamma};

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

fn refuse_constant(sorted: &[f64]) -> Result<(), FitError> {
    if sorted[0] == sorted[sorted.len() - 1] {
        Err(FitError::Constant)
    } else {
        Ok(())
    }
}

pub fn exponential(sorted: &[f64]) -> Result<Gap, FitError> {
    Ok(Gap::exponential(1.0 / mean(sorted.iter().copied()))?)
}

/// `ln k − ψ(k) = ln(mean) − mean(ln)`, by Newton's method in `1/k` (Minka), whose start is within
/// a few percent.
pub fn gamma(sorted: &[f64]) -> Result<Gap, FitError> {
    refuse_constant(sorted)?;
    let average = mean(sorted.iter().copied());
    let spread = -mean(sorted.iter().map(|gap| (gap / average).ln()));
    if spread <= 0.0 {
        return Err(FitError::Constant); // equal but for rounding
    }
    let mut shape =
        (3.0 - spread + ((spread - 3.0).powi(2) + 24.0 * spread).sqrt()) / (12.0 * spread);
    for _ in 0..50 {
        let error = shape.ln() - digamma(shape) - spread;
        let step = error / (shape * shape * (1.0 / shape - trigamma(shape)));
        let next = 1.0 / (1.0 / shape + step);
        let settled = (next / shape - 1.0).abs() < 1e-12;
        shape = next;
        if settled {
            break;
        }
    }
    Ok(Gap::gamma(shape, average / shape)?)
}

/// The shape is the root of `Σ x^k·ln x/Σ x^k − 1/k − mean(ln x)`, which grows with `k`.
pub fn weibull(sorted: &[f64]) -> Result<Gap, FitError> {
    refuse_constant(sorted)?;
    // relative to the largest gap no power overflows
    let largest = sorted[sorted.len() - 1];
    let logs: Vec<f64> = sorted.iter().map(|gap| (gap / largest).ln()).collect();
    let mean_log = mean(logs.iter().copied());
    let slope = |k: f64| {
        let (mut powers, mut weighted) = (0.0, 0.0);
        for log in &logs {
            let power = (k * log).exp();
            powers += power;
            weighted += power * log;
        }
        weighted / powers - 1.0 / k - mean_log
    };
    let (mut low, mut high) = (0.0, 1.0);
    while slope(high) < 0.0 {
        low = high;
        high *= 2.0;
        if high > 1e9 {
            return Err(FitError::Constant); // equal but for rounding
        }
    }
    while high - low > high * 1e-12 {
        let middle = f64::midpoint(low, high);
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let shape = f64::midpoint(low, high);
    let power = mean(logs.iter().map(|log| (shape * log).exp()));
    Ok(Gap::weibull(shape, largest * power.powf(1.0 / shape))?)
}

/// For a given scale the best shape is `1/mean(ln(1 + x/scale))`; what remains is one-dimensional,
/// searched on a grid of scales and refined by golden section.
pub fn pareto(sorted: &[f64]) -> Result<Gap, FitError> {
    refuse_constant(sorted)?;
    let shape_at = |scale: f64| 1.0 / mean(sorted.iter().map(|gap| (gap / scale).ln_1p()));
    // the mean log-likelihood at the best shape
    let height = |ln_scale: f64| {
        let shape = shape_at(ln_scale.exp());
        shape.ln() - ln_scale - 1.0 - 1.0 / shape
    };
    let (shortest, longest) = (sorted[0], sorted[sorted.len() - 1]);
    let low = shortest.ln() - 10.0;
    // beyond, the distribution is exponential to about four digits
    let high = longest.ln() + 8.0;
    let step = (high - low) / 60.0;
    let best = (0..=60)
        .map(|k| low + f64::from(k) * step)
        .map(|ln_scale| (height(ln_scale), ln_scale))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(low, |(_, ln_scale)| ln_scale);
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (best - step, best + step);
    while right - left > 1e-8 {
        let width = golden * (right - left);
        if height(right - width) < height(left + width) {
            left = right - width;
        } else {
            right = left + width;
        }
    }
    let ln_scale = f64::midpoint(left, right);
    if ln_scale > high {
        return Err(FitError::NoHeavyTail);
    }
    let scale = ln_scale.exp();
    Ok(Gap::pareto(shape_at(scale), scale)?)
}

pub fn log_normal(sorted: &[f64]) -> Result<Gap, FitError> {
    refuse_constant(sorted)?;
    let mu = mean(sorted.iter().map(|gap| gap.ln()));
    let variance = mean(sorted.iter().map(|gap| (gap.ln() - mu).powi(2)));
    Ok(Gap::log_normal(mu, variance.sqrt())?)
}
