//! Means, confidence intervals and quantiles of a few numbers.

/// The mean; zero of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Half the width of the 95 % confidence interval of the mean of independent draws (Student's t).
/// Fewer than two draws say nothing: infinite.
pub fn half_width_95(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::INFINITY;
    }
    let mean = mean(values);
    let freedom = values.len() - 1;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / freedom as f64;
    student_975(freedom) * (variance / values.len() as f64).sqrt()
}

/// The same for a weighted mean of many values that were drawn with their weights, as drawing again
/// from them with replacement (the bootstrap) would show it. Without weights all count the same.
pub fn half_width_of_draws_95(values: &[f64], weight: Option<&[f64]>) -> f64 {
    let weight = |k: usize| weight.map_or(1.0, |weight| weight[k]);
    let weighted = || values.iter().enumerate().map(|(k, x)| (weight(k), x));
    let total: f64 = weighted().map(|(w, _)| w).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let mean = weighted().map(|(w, x)| w * x).sum::<f64>() / total;
    let squares: f64 = weighted().map(|(w, x)| (w * (x - mean)).powi(2)).sum();
    NORMAL_975 * squares.sqrt() / total
}

/// The same for a series of dependent values: the means of [`BATCHES`] consecutive batches of it
/// are taken for independent (method of batch means).
pub fn half_width_of_series_95(series: &[f64]) -> f64 {
    let batch = series.len().div_ceil(BATCHES).max(1);
    let means: Vec<f64> = series.chunks(batch).map(mean).collect();
    half_width_95(&means)
}

/// Enough for a stable variance, few enough for batches longer than most memories.
const BATCHES: usize = 20;

/// The 97.5 % quantile of the normal distribution.
const NORMAL_975: f64 = 1.959_964;

/// The 97.5 % quantile of Student's t distribution.
fn student_975(freedom: usize) -> f64 {
    const FEW: [f64; 8] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060,
    ];
    if let Some(&exact) = FEW.get(freedom - 1) {
        return exact;
    }
    // Cornish–Fisher expansion around the normal quantile
    let z = NORMAL_975;
    let v = freedom as f64;
    z + (z.powi(3) + z) / (4.0 * v)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * v.powi(3))
}

/// The smallest value that at least the share `q` of all values do not exceed; zero of nothing.
/// Reorders the values.
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn quantiles_of_students_t_agree_with_the_tables() {
        for (freedom, tabulated) in [(1, 12.7062), (9, 2.2622), (19, 2.0930), (100, 1.9840)] {
            assert!((student_975(freedom) - tabulated).abs() < 5e-4, "{freedom}");
        }
    }

    #[test]
    fn intervals_shrink_with_the_draws_and_need_two() {
        assert_eq!(half_width_95(&[0.5]), f64::INFINITY);
        assert_eq!(half_width_95(&[0.5, 0.5, 0.5]), 0.0);
        // mean 2, standard deviation 1, t = 4.3027 at two degrees of freedom
        assert!((half_width_95(&[1.0, 2.0, 3.0]) - 4.3027 / 3f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn drawing_again_shows_the_same_interval() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let values: Vec<f64> = (0..400).map(|_| rng.random()).collect();
        let weight: Vec<f64> = (0..400).map(|_| rng.random_range(0.5..2.0)).collect();
        let again = |_| {
            let drawn = (0..400).map(|_| rng.random_range(0..400));
            let (sum, total) = drawn.fold((0.0, 0.0), |(sum, total), k: usize| {
                (sum + weight[k] * values[k], total + weight[k])
            });
            sum / total
        };
        let means: Vec<f64> = (0..4_000).map(again).collect();
        let middle = mean(&means);
        let variance = mean(
            &means
                .iter()
                .map(|x| (x - middle).powi(2))
                .collect::<Vec<_>>(),
        );
        let bootstrap = NORMAL_975 * variance.sqrt();
        let ours = half_width_of_draws_95(&values, Some(&weight));
        assert!((ours / bootstrap - 1.0).abs() < 0.05, "{ours} {bootstrap}");
        assert_eq!(half_width_of_draws_95(&[0.3; 9], None), 0.0);
        assert_eq!(half_width_of_draws_95(&[], None), 0.0);
    }

    #[test]
    fn a_series_is_cut_into_batches() {
        let series: Vec<f64> = (0..200).map(|k| f64::from(k % 10)).collect();
        assert_eq!(half_width_of_series_95(&series), 0.0);
        assert!(half_width_of_series_95(&series[..3]).is_finite());
    }

    #[test]
    fn quantile_takes_the_nearest_rank() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&mut values, 0.95), 95.0);
        assert_eq!(quantile(&mut [7.0], 0.95), 7.0);
        assert_eq!(quantile(&mut [], 0.5), 0.0);
    }
}
