//! Points on Earth, and how far apart they are.

use serde::Serialize;

/// WGS 84: half the longer axis in kilometres, and the flattening.
const EQUATOR_KM: f64 = 6_378.137;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// The radius of a sphere that stands for the Earth.
const MEAN_RADIUS_KM: f64 = 6_371.008_8;
/// About 0.06 mm on the ground.
const PRECISION: f64 = 1e-12;
/// More than enough wherever the formula converges.
const MOST_ROUNDS: usize = 100;

/// A point on Earth, in degrees; north and east are positive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// From −90 to 90.
    pub latitude: f64,
    /// From −180 to 180.
    pub longitude: f64,
}

impl Point {
    /// A point, if there is one with these coordinates.
    pub fn new(latitude: f64, longitude: f64) -> Option<Self> {
        let exists = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        exists.then_some(Self {
            latitude,
            longitude,
        })
    }

    /// The length of the shortest way over the ground.
    pub fn kilometres_to(self, other: Self) -> f64 {
        vincenty(self, other).unwrap_or_else(|| haversine(self, other))
    }
}

fn vincenty(a: Point, b: Point) -> Option<f64> {
    let f = FLATTENING;
    let polar = (1.0 - f) * EQUATOR_KM;
    let reduced = |point: Point| ((1.0 - f) * point.latitude.to_radians().tan()).atan();
    let (sin1, cos1) = reduced(a).sin_cos();
    let (sin2, cos2) = reduced(b).sin_cos();
    let difference = (b.longitude - a.longitude).to_radians();
    let mut lambda = difference;
    for _ in 0..MOST_ROUNDS {
        let (sin_lambda, cos_lambda) = lambda.sin_cos();
        let sin_sigma = (cos2 * sin_lambda).hypot(cos1 * sin2 - sin1 * cos2 * cos_lambda);
        if sin_sigma == 0.0 {
            // the same point, or the opposite one
            return (cos_lambda * cos1 * cos2 + sin1 * sin2 > 0.0).then_some(0.0);
        }
        let cos_sigma = sin1 * sin2 + cos1 * cos2 * cos_lambda;
        let sigma = sin_sigma.atan2(cos_sigma);
        let sin_alpha = cos1 * cos2 * sin_lambda / sin_sigma;
        let cos_alpha2 = 1.0 - sin_alpha * sin_alpha;
        // along the equator there is no midpoint latitude
        let cos_middle = if cos_alpha2 == 0.0 {
            0.0
        } else {
            cos_sigma - 2.0 * sin1 * sin2 / cos_alpha2
        };
        let c = f / 16.0 * cos_alpha2 * (4.0 + f * (4.0 - 3.0 * cos_alpha2));
        let middle2 = 2.0 * cos_middle * cos_middle - 1.0;
        let inner = cos_middle + c * cos_sigma * middle2;
        let next = difference + (1.0 - c) * f * sin_alpha * (sigma + c * sin_sigma * inner);
        if next.abs() > std::f64::consts::PI {
            return None;
        }
        if (next - lambda).abs() < PRECISION {
            let u2 = cos_alpha2 * (EQUATOR_KM.powi(2) / polar.powi(2) - 1.0);
            let big_a = 1.0 + u2 / 16384.0 * (4096.0 + u2 * (-768.0 + u2 * (320.0 - 175.0 * u2)));
            let big_b = u2 / 1024.0 * (256.0 + u2 * (-128.0 + u2 * (74.0 - 47.0 * u2)));
            let last = big_b / 6.0
                * cos_middle
                * (4.0 * sin_sigma * sin_sigma - 3.0)
                * (4.0 * cos_middle * cos_middle - 3.0);
            let correction =
                big_b * sin_sigma * (cos_middle + big_b / 4.0 * (cos_sigma * middle2 - last));
            return Some(polar * big_a * (sigma - correction));
        }
        lambda = next;
    }
    None
}

fn haversine(a: Point, b: Point) -> f64 {
    let half = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
    let h = half(b.latitude - a.latitude)
        + a.latitude.to_radians().cos()
            * b.latitude.to_radians().cos()
            * half(b.longitude - a.longitude);
    2.0 * MEAN_RADIUS_KM * h.sqrt().min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(latitude: f64, longitude: f64) -> Point {
        Point::new(latitude, longitude).unwrap()
    }

    #[test]
    fn known_distances() {
        // Vincenty's own test line in Australia: Flinders Peak to Buninyong, 54972.271 m on GRS 80
        let flinders = point(-37.951_033_417, 144.424_867_889);
        let buninyong = point(-37.652_821_139, 143.926_495_528);
        assert!((flinders.kilometres_to(buninyong) - 54.972_271).abs() < 1e-5);
        // a degree of the equator
        let degree = EQUATOR_KM * 1_f64.to_radians();
        assert!((point(0.0, 0.0).kilometres_to(point(0.0, 1.0)) - degree).abs() < 1e-6);
        // pole to pole
        let poles = point(90.0, 0.0).kilometres_to(point(-90.0, 0.0));
        assert!((poles - 20_003.93).abs() < 15.0, "{poles}");
        // across the date line
        assert!(point(0.0, 179.5).kilometres_to(point(0.0, -179.5)) < 112.0);
        // nearly antipodal: falls back, and is near half the circumference
        let far = point(0.0, 0.0).kilometres_to(point(0.5, 179.7));
        assert!((far - 19_936.0).abs() < 120.0, "{far}");
    }

    proptest! {
        #[test]
        fn it_is_a_metric_near_the_sphere(
            a in (-90.0..90.0, -180.0..180.0), b in (-90.0..90.0, -180.0..180.0),
        ) {
            let (a, b) = (point(a.0, a.1), point(b.0, b.1));
            let distance = a.kilometres_to(b);
            prop_assert!((distance - b.kilometres_to(a)).abs() < 1e-3);
            prop_assert!((distance - haversine(a, b)).abs() <= 0.006 * distance + 1e-9);
            prop_assert!(a.kilometres_to(a) == 0.0);
        }
    }
}
