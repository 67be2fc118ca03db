//! Round values along an axis, and how they are written.

use super::{Axis, Scale};

/// About how many a linear axis gets.
const LINEAR: f64 = 6.0;

/// The round values within an axis' range.
pub fn ticks(axis: &Axis) -> Vec<f64> {
    let (low, high) = axis.range;
    match axis.scale {
        Scale::Linear => linear(low, high),
        Scale::Logarithmic => logarithmic(low, high),
    }
}

fn linear(low: f64, high: f64) -> Vec<f64> {
    if low >= high {
        return vec![low];
    }
    let rough = (high - low) / LINEAR;
    let unit = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * unit)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * unit);
    // a hair of tolerance keeps ticks at the very ends
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

/// Powers of ten; on a short axis also twice and five times those, on a long one only some.
fn logarithmic(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let factors: &[f64] = match decades {
        d if d < 1.3 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        d if d < 3.2 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let every = (decades / 8.0).ceil().max(1.0) as usize;
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    (first..=last)
        .step_by(every)
        .flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)))
        .filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
        .collect()
}

/// A tick's value: thousands and millions by letter, no stray digits of rounding.
pub fn label(value: f64) -> String {
    let (value, suffix) = match value.abs() {
        v if v >= 1e15 || (v > 0.0 && v < 1e-4) => return format!("{value:.0e}"),
        v if v >= 1e9 => (value / 1e9, " G"),
        v if v >= 1e6 => (value / 1e6, " M"),
        v if v >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(
            linear(0.0, 1.0)
                .iter()
                .map(|&v| label(v))
                .collect::<Vec<_>>(),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(linear(0.93, 1.0).len(), 4);
        assert_eq!(linear(3.0, 3.0), [3.0]);
    }

    #[test]
    fn logarithmic_ticks_thin_out() {
        let text = |low, high| {
            let ticks = logarithmic(low, high);
            ticks.iter().map(|&v| label(v)).collect::<Vec<_>>()
        };
        assert_eq!(text(1.0, 100.0), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(text(1e3, 1e7), ["1000", "10 k", "100 k", "1 M", "10 M"]);
        assert!(text(1e-20, 1e20).len() < 12);
    }
}
