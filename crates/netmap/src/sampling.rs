//! How many samples are enough.
#![doc = include_str!("sampling/README.md")]

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Probes whose median is kept.
pub const PROBES: usize = 7;

/// The middle value; between two, their mean. None of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which a share of the values lies, linear between neighbours.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let low = place.floor() as usize;
    let high = (low + 1).min(last);
    Some(sorted[low] + (place - low as f64) * (sorted[high] - sorted[low]))
}

/// By what share the median of so many answers, drawn from all, is off the median of all; the mean
/// over `draws` draws for each of those that have at least twice as many answers.
pub fn median_errors(answers: &[Vec<f64>], probes: usize, draws: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let many = answers.iter().filter(|own| own.len() >= 2 * probes);
    let error = |own: &Vec<f64>| {
        let truth = median(own).filter(|&ms| ms > 0.0)?;
        let mut own = own.clone();
        let mut sum = 0.0;
        for _ in 0..draws {
            for k in 0..probes {
                let other = random.random_range(k..own.len());
                own.swap(k, other);
            }
            sum += (median(&own[..probes])? - truth).abs() / truth;
        }
        Some(sum / draws as f64)
    };
    many.filter_map(error).collect()
}

/// The margin of error of a mean over `n` samples; `population` is absent when infinite.
pub fn margin_of_error(z: f64, sigma: f64, n: u64, population: Option<u64>) -> f64 {
    let infinite = z * sigma / (n as f64).sqrt();
    match population {
        Some(all) if all <= n => 0.0,
        Some(all) => infinite * ((all - n) as f64 / (all - 1) as f64).sqrt(),
        None => infinite,
    }
}

/// The fewest samples whose mean has at most that margin of error; the largest number there is when
/// there are more.
pub fn sample_size(z: f64, sigma: f64, margin: f64, population: Option<u64>) -> u64 {
    let infinite = (z * (sigma / margin)).powi(2);
    let size = match population {
        Some(all) => {
            let all = all as f64;
            all / ((all - 1.0) / infinite + 1.0)
        }
        None => infinite,
    };
    // a size that is whole but for rounding stays
    (size * (1.0 - 1e-9)).ceil().max(1.0) as u64
}

/// How many standard deviations to both sides of the mean hold that share of a normal distribution.
pub fn z_of_confidence(confidence: f64) -> f64 {
    normal_quantile(f64::midpoint(1.0, confidence))
}

fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const TAIL: f64 = 0.024_25;
    let horner = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    if p < TAIL {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    } else if p > 1.0 - TAIL {
        -normal_quantile(1.0 - p)
    } else {
        let q = p - 0.5;
        q * horner(&A, q * q) / horner(&B, q * q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_the_normal_distribution() {
        for (confidence, z) in [
            (0.90, 1.644_853_627),
            (0.95, 1.959_963_985),
            (0.99, 2.575_829_304),
            (0.999, 3.290_526_731),
        ] {
            assert!(
                (z_of_confidence(confidence) - z).abs() < 1e-7,
                "{confidence}"
            );
        }
    }

    #[test]
    fn textbook_sizes() {
        // σ = 0.5 (a share near one half), 5 points, 95 %
        assert_eq!(sample_size(1.96, 0.5, 0.05, None), 385);
        assert_eq!(sample_size(1.96, 0.5, 0.05, Some(1000)), 278);
        assert_eq!(sample_size(2.0, 1.0, 0.5, None), 16);
        assert_eq!(sample_size(2.0, 1e200, 1e-200, None), u64::MAX);
        assert_eq!(sample_size(2.0, 1e200, 1e-200, Some(1000)), 1000);
        assert!((margin_of_error(1.96, 0.5, 100, None) - 0.098).abs() < 1e-12);
        assert_eq!(margin_of_error(1.96, 0.5, 1000, Some(1000)), 0.0);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 900.0, 1.0]), Some(3.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(quantile(&[0.0, 10.0], 0.9), Some(9.0));
    }

    #[test]
    fn more_probes_have_less_error() {
        // nine of ten answers take 100 ms, the others far longer
        let skewed: Vec<f64> = (0..200)
            .map(|k| {
                if k % 10 == 0 {
                    900.0
                } else {
                    100.0 + f64::from(k) / 100.0
                }
            })
            .collect();
        let answers = [skewed, vec![50.0; 40], vec![1.0; 5]];
        let errors = |probes| median_errors(&answers, probes, 400, 1);
        assert_eq!(errors(1).len(), 3);
        assert_eq!(errors(7).len(), 2, "five answers say nothing of seven");
        assert!((errors(1)[0] - 0.8).abs() < 0.2, "{:?}", errors(1));
        assert!(errors(7)[0] < 0.05, "{:?}", errors(7));
        assert_eq!(errors(7)[1], 0.0);
    }

    proptest! {
        #[test]
        fn the_size_keeps_the_margin_and_one_less_does_not(
            sigma in 0.1..50.0, margin in 0.1..20.0, all in 2_u64..100_000, finite: bool,
        ) {
            let population = finite.then_some(all);
            let n = sample_size(1.96, sigma, margin, population);
            prop_assert!(margin_of_error(1.96, sigma, n, population) <= margin * (1.0 + 1e-6));
            if n > 1 {
                prop_assert!(margin_of_error(1.96, sigma, n - 1, population) > margin * (1.0 - 1e-6));
            }
            if finite {
                prop_assert!(n <= all);
            }
        }
    }
}
