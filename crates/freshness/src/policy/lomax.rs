//! lomax gain
/// `G(z)/β = (1 − z^{1−α})/(α − 1) − z^{1−α} + z^{−α}`
pub(super) fn gain(alpha: f64, ln_z: f64) -> f64 {
    let decay = (-alpha * ln_z).exp();
    let z = ln_z.exp();
    let a1 = alpha - 1.0;
    let first = if (a1 * ln_z).abs() < 1e-6 { ln_z * (1.0 - a1 * ln_z / 2.0) } else { -(-a1 * ln_z).exp_m1() / a1 };
    first - z * decay + decay
}
/// dG/d ln z = z·dG/dz = α z^{-α}(z − 1)
pub(super) fn slope(alpha: f64, ln_z: f64) -> f64 {
    alpha * (-alpha * ln_z).exp() * ln_z.exp_m1()
}
/// z − 1 for which gain is y.
pub(super) fn delay(alpha: f64, y: f64) -> f64 {
    if alpha > 1.0 && y >= 1.0 / (alpha - 1.0) { return f64::INFINITY; }
    // small: G ≈ α x²/2
    let (mut lo, mut hi) = (0.0f64, 60.0f64);
    let mut x = (1.0 + (2.0 * y / alpha).sqrt()).ln();
    for _ in 0..60 {
        let g = gain(alpha, x) - y;
        if g > 0.0 { hi = x } else { lo = x }
        let s = slope(alpha, x);
        let step = g / s;
        let mut next = x - step;
        if !(next > lo && next < hi) { next = (lo + hi) / 2.0; }
        if (next - x).abs() < 1e-6 * x { x = next; break; }
        x = next;
    }
    x.exp_m1()
}
