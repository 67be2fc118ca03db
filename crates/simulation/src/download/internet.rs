//! Round-trip times and distances between robots and addresses.

use super::web::Address;
use ground::Point;
use partition::solve::Robot;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Fitted to one-year medians between 32 cloud regions: `(7.5 + 0.016·km) ms`, with residuals
/// whose logarithm has a standard deviation of 0.25. Of the constant, 4.5 ms are taken to be the
/// mean access delay of a server, exponentially distributed.
const MS_AT_NO_DISTANCE: f64 = 3.0;
const MS_PER_KM: f64 = 0.016;
const SCATTER: f64 = 0.25;
const ACCESS_MS: f64 = 4.5;

/// What lies between robots and addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Internet {
    addresses: usize,
    /// Seconds, robot by robot.
    rtt: Vec<f32>,
    between: Vec<f32>,
    /// Kilometres, robot by robot; empty when nobody knows the places.
    distance: Vec<f32>,
}

impl Internet {
    /// RTTs that follow the distance between places with the scatter of real ones.
    pub fn from_places(robots: &[Point], addresses: &[Point], seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let access: Vec<f64> = addresses
            .iter()
            .map(|_| ACCESS_MS * sample(&Exp1, &mut rng))
            .collect();
        let mut internet = Self {
            addresses: addresses.len(),
            rtt: Vec::with_capacity(robots.len() * addresses.len()),
            between: vec![0.0; robots.len() * robots.len()],
            distance: Vec::with_capacity(robots.len() * addresses.len()),
        };
        // a stream of its own for each robot: one more changes nothing for the others
        for (j, robot) in robots.iter().enumerate() {
            rng.jump();
            let mut own = rng.clone();
            for (address, access) in addresses.iter().zip(&access) {
                let km = robot.kilometres_to(*address);
                internet.distance.push(km as f32);
                internet
                    .rtt
                    .push(((access + path_ms(km, &mut own)) / 1000.0) as f32);
            }
            for l in 0..j {
                let ms = path_ms(robot.kilometres_to(robots[l]), &mut own);
                internet.between[j * robots.len() + l] = (ms / 1000.0) as f32;
                internet.between[l * robots.len() + j] = (ms / 1000.0) as f32;
            }
        }
        internet
    }

    /// Real RTTs: `milliseconds` is a square matrix of nodes, missing ones not finite or 0.
    /// Robots and addresses stand at nodes drawn from it; what is missing takes the median of its
    /// row. Distances are those between the nodes' `points`, where anybody knows them.
    pub fn from_matrix(
        milliseconds: &[Vec<f64>],
        points: Option<&[Point]>,
        robots: usize,
        addresses: usize,
        seed: u64,
    ) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let nodes = milliseconds.len();
        let known = |ms: f64| ms.is_finite() && ms > 0.0;
        let medians: Vec<f64> = milliseconds
            .iter()
            .map(|row| {
                let mut row: Vec<f64> = row.iter().copied().filter(|&ms| known(ms)).collect();
                crate::statistics::quantile(&mut row, 0.5)
            })
            .collect();
        let mut order: Vec<usize> = (0..nodes).collect();
        for i in (1..nodes).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        let homes: Vec<usize> = (0..robots).map(|j| order[j % nodes]).collect();
        let places: Vec<usize> = (0..addresses).map(|_| rng.random_range(0..nodes)).collect();
        let seconds = |a: usize, b: usize| {
            let ms = milliseconds[a][b];
            ((if known(ms) { ms } else { medians[a] }) / 1000.0) as f32
        };
        let rtt = homes
            .iter()
            .flat_map(|&home| places.iter().map(move |&place| (home, place)))
            // a server in the same rack still has a network before it
            .map(|(home, place)| {
                if home == place {
                    0.001
                } else {
                    seconds(home, place)
                }
            })
            .collect();
        let between = homes
            .iter()
            .flat_map(|&a| homes.iter().map(move |&b| (a, b)))
            .map(|(a, b)| if a == b { 0.0 } else { seconds(a, b) })
            .collect();
        let kilometres = |points: &[Point]| -> Vec<f32> {
            let pairs = homes
                .iter()
                .flat_map(|&home| places.iter().map(move |&to| (home, to)));
            let kilometres = |(home, to): (usize, usize)| points[home].kilometres_to(points[to]);
            pairs.map(|pair| kilometres(pair) as f32).collect()
        };
        Self {
            addresses,
            rtt,
            between,
            distance: points.map(kilometres).unwrap_or_default(),
        }
    }

    /// How many robots there are.
    pub fn robots(&self) -> usize {
        self.between.len().isqrt()
    }

    /// How many addresses there are.
    pub fn addresses(&self) -> usize {
        self.addresses
    }

    /// Seconds from a robot to an address and back.
    pub fn rtt(&self, robot: Robot, address: Address) -> f64 {
        f64::from(self.rtt[self.pair(robot, address)])
    }

    /// Seconds from a robot to another and back.
    pub fn between(&self, Robot(robot): Robot, Robot(other): Robot) -> f64 {
        f64::from(self.between[robot as usize * self.robots() + other as usize])
    }

    /// Kilometres from a robot to an address, where places are known.
    pub fn kilometres(&self, robot: Robot, address: Address) -> Option<f64> {
        let km = self.distance.get(self.pair(robot, address))?;
        Some(f64::from(*km))
    }

    fn pair(&self, Robot(robot): Robot, Address(address): Address) -> usize {
        robot as usize * self.addresses + address as usize
    }
}

fn path_ms(km: f64, rng: &mut impl Rng) -> f64 {
    let scatter: f64 = sample(&StandardNormal, rng);
    (MS_AT_NO_DISTANCE + MS_PER_KM * km) * (SCATTER * scatter).exp()
}

fn sample<D: Distribution<f64>>(distribution: &D, rng: &mut impl Rng) -> f64 {
    distribution.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_map() {
        let place = |latitude, longitude| Point {
            latitude,
            longitude,
        };
        let (lisbon, porto, dublin) = (
            place(38.72, -9.14),
            place(41.15, -8.61),
            place(53.35, -6.26),
        );
        assert!((lisbon.kilometres_to(porto) - 274.0).abs() < 3.0);
        assert!((lisbon.kilometres_to(dublin) - 1641.0).abs() < 10.0);
        assert_eq!(lisbon.kilometres_to(lisbon), 0.0);
    }

    #[test]
    fn times_follow_the_distance_with_the_scatter_of_real_ones() {
        let robots: Vec<Point> = (0..40)
            .map(|k| Point {
                latitude: f64::from(k) * 2.0 - 40.0,
                longitude: f64::from(k * 37 % 300) - 150.0,
            })
            .collect();
        let internet = Internet::from_places(&robots, &robots, 1);
        let mut residuals = Vec::new();
        for j in 0..40 {
            for a in (0..40).filter(|&a| a != j) {
                let km = internet.kilometres(Robot(j), Address(a)).unwrap();
                residuals
                    .push((internet.rtt(Robot(j), Address(a)) * 1000.0 / (7.5 + 0.016 * km)).ln());
            }
        }
        let mean = crate::statistics::mean(&residuals);
        let squares: Vec<f64> = residuals.iter().map(|r| (r - mean).powi(2)).collect();
        let deviation = crate::statistics::mean(&squares).sqrt();
        assert!(mean.abs() < 0.05, "{mean}");
        assert!((0.2..0.32).contains(&deviation), "{deviation}");
    }

    #[test]
    fn a_matrix_is_used_as_it_is_and_holes_take_medians() {
        let matrix = vec![
            vec![0.0, 10.0, 20.0],
            vec![10.0, 0.0, f64::NAN],
            vec![20.0, 30.0, 0.0],
        ];
        let internet = Internet::from_matrix(&matrix, None, 2, 50, 3);
        assert_eq!((internet.robots(), internet.addresses()), (2, 50));
        for j in 0..2 {
            for a in 0..50 {
                let ms = (internet.rtt(Robot(j), Address(a)) * 1000.0).round();
                assert!([1.0, 10.0, 20.0, 30.0].contains(&ms), "{ms}");
            }
        }
        assert_eq!(internet.kilometres(Robot(0), Address(0)), None);
        assert_eq!(internet.between(Robot(1), Robot(1)), 0.0);
        // with places the distance is between nodes, whatever the time
        let points = [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0)];
        let points = points.map(|(north, east)| Point::new(north, east).unwrap());
        let internet = Internet::from_matrix(&matrix, Some(&points), 2, 50, 3);
        for j in 0..2 {
            for a in 0..50 {
                let degrees = internet.kilometres(Robot(j), Address(a)).unwrap() / 111.32;
                assert!([0.0, 1.0, 2.0].iter().any(|d| (d - degrees).abs() < 0.01));
            }
        }
    }
}
