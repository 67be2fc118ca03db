//! Ways to compute `Pr[ε]` and `E[A(t) − t | ε]` from the page's age at the last visit, `u − b`, and
//! the time since then, `t − u`.

use crate::reading::Page;
use freshness::gap::Gap;

/// `Pr[u−b < X ≤ t−b | X > u−b]`; one where the content is older than any gap.
pub fn outlived(page: &Page, age: f64, elapsed: f64) -> f64 {
    1.0 - page.gap.residual_survival(age, elapsed)
}

/// The same; none where the content is older than any gap.
pub fn outlived_or_never(page: &Page, age: f64, elapsed: f64) -> f64 {
    if page.gap.survival(age) > 0.0 {
        outlived(page, age, elapsed)
    } else {
        0.0
    }
}

/// `Pr[u−b < X ≤ t−b]`.
pub fn unconditional(page: &Page, age: f64, elapsed: f64) -> f64 {
    page.gap.survival(age) - page.gap.survival(age + elapsed)
}

/// The age of the present content is that of the stationary process, if less than has elapsed.
pub fn stationary(page: &Page, _: f64, elapsed: f64) -> f64 {
    let newer = 1.0 - page.gap.stationary_survival(elapsed);
    if newer > 1e-9 {
        page.gap.freshness(elapsed) * elapsed / newer
    } else {
        page.gap.mean()
    }
}

/// The first change by the histogram, then any number of further changes.
pub fn renewed(page: &Page, age: f64, elapsed: f64) -> f64 {
    let waits = page.waits.get_or_init(|| Waits::of(&page.gap));
    weighed(
        page,
        age,
        elapsed,
        |since| waits.until(since),
        |since| since,
    )
}

/// The first change by the histogram, and the content that it made lasts until now.
pub fn one_change(page: &Page, age: f64, elapsed: f64) -> f64 {
    let mean = page.gap.mean();
    let left = |since: f64| mean * page.gap.freshness(since) * since;
    let lasted = |since: f64| mean * (1.0 - page.gap.stationary_survival(since));
    weighed(page, age, elapsed, left, lasted)
}

/// The first change by the histogram, and a mean gap from then on, which may have ended.
pub fn one_change_ended(page: &Page, age: f64, elapsed: f64) -> f64 {
    let since = weighed(
        page,
        age,
        elapsed,
        |since| since * since / 2.0,
        |since| since,
    );
    page.gap.mean() - since
}

pub fn mean_gap(page: &Page, _: f64, _: f64) -> f64 {
    page.gap.mean()
}

/// `E[X²]/2E[X]`.
pub fn mean_residual(page: &Page, _: f64, _: f64) -> f64 {
    page.gap.gain_supremum()
}

/// `E[X − (t−b) | X > t−b]`.
pub fn old_content(page: &Page, age: f64, elapsed: f64) -> f64 {
    page.gap.residual_fresh_time(age + elapsed, f64::INFINITY)
}

/// The ratio of two functions, each added up over the first change; a mean gap where the content is
/// older than any gap.
fn weighed(
    page: &Page,
    age: f64,
    elapsed: f64,
    above: impl Fn(f64) -> f64,
    below: impl Fn(f64) -> f64,
) -> f64 {
    let below = over_first_change(page, age, elapsed, below);
    if below > 0.0 {
        over_first_change(page, age, elapsed, above) / below
    } else {
        page.gap.mean()
    }
}

/// Adds up, over when the first change may have come since the last visit, a function of the time
/// since then, given as its integral from zero.
fn over_first_change(page: &Page, age: f64, elapsed: f64, integral: impl Fn(f64) -> f64) -> f64 {
    let now = age + elapsed;
    let mut sum = 0.0;
    for &(start, end, mass) in &page.bins {
        let (low, high) = (start.max(age), end.min(now));
        if low < high && mass > 0.0 {
            sum += mass / (end - start) * (integral(now - low) - integral(now - high));
        }
    }
    sum
}

/// The expected time to the next change, `E[X]·(1 + m(s)) − s` with the renewal function `m`, a time
/// `s` after a change; its integral from zero on a grid.
pub struct Waits {
    integral: Vec<f64>,
    step: f64,
}

impl Waits {
    const STEPS: usize = 4000;
    const MEANS: f64 = 80.0;

    fn of(gap: &Gap) -> Self {
        let mean = gap.mean();
        let step = Self::MEANS * mean / Self::STEPS as f64;
        // gaps rounded to whole steps keep their mean
        let gaps: Vec<f64> = (0..Self::STEPS)
            .map(|k| gap.cdf((k as f64 + 0.5) * step) - gap.cdf((k as f64 - 0.5) * step))
            .collect();
        let mut changes: Vec<f64> = Vec::with_capacity(Self::STEPS);
        for k in 0..Self::STEPS {
            let later: f64 = (0..k).map(|j| changes[j] * gaps[k - j]).sum();
            changes.push((gaps[k] + later) / (1.0 - gaps[0]));
        }
        let mut integral = vec![0.0];
        let (mut so_far, mut wait) = (0.0, mean);
        for (k, change) in changes.iter().enumerate() {
            so_far += change;
            let next = mean * (1.0 + so_far) - (k + 1) as f64 * step;
            integral.push(integral[k] + step * f64::midpoint(wait, next));
            wait = next;
        }
        Self { integral, step }
    }

    fn until(&self, since: f64) -> f64 {
        let place = since / self.step;
        let low = (place as usize).min(Self::STEPS - 1);
        let slope = self.integral[low + 1] - self.integral[low];
        self.integral[low] + (place - low as f64) * slope
    }
}
