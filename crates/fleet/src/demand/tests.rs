use super::*;
use crate::wire::{decode, encode};

#[test]
fn everybody_together_wants_what_there_is() {
    let curves: Vec<Curve> = (1..9_u32)
        .map(|i| Curve::of(|price| f64::from(i * i) / (1.0 + price * f64::from(i))))
        .collect();
    let mut sum = Curve::default();
    for curve in &curves {
        sum.add(curve);
    }
    for budget in [0.001, 0.5, 20.0, 150.0, 1e6] {
        let clearing = sum.clearing(budget);
        let total: f64 = curves.iter().map(|curve| curve.at(clearing)).sum();
        let wanted = sum.most().min(budget);
        assert!((total / wanted - 1.0).abs() < 1e-4, "{total} of {wanted}");
    }
    assert_eq!(curves[3].clone().capped(2.0).most(), 2.0);
}

#[test]
fn curves_are_short_and_liars_refused() {
    let curve = Curve::of(|price| 10.0 / (1.0 + price));
    let bytes = encode(&curve);
    assert!(bytes.len() <= 2 + 4 * PRICES);
    assert_eq!(decode::<Curve>(&bytes), Ok(curve));
    let mut rising = encode(&Curve::of(|_| 1.0));
    rising[9] = 0x7f;
    assert!(decode::<Curve>(&rising).is_err());
    assert_eq!(Curve::of(|_| f64::NAN), Curve::default());
}
