//! Robinson's projection, and great circles cut where the map ends.

use ground::Point;

/// Width of the Earth on the picture.
pub const WIDTH: f64 = 1000.0;
/// Height of it.
pub const HEIGHT: f64 = WIDTH * 0.5072;

/// Robinson's table for each five degrees: length of the parallel, distance from the equator.
const TABLE: [(f64, f64); 19] = [
    (1.0, 0.0),
    (0.9986, 0.0620),
    (0.9954, 0.1240),
    (0.9900, 0.1860),
    (0.9822, 0.2480),
    (0.9730, 0.3100),
    (0.9600, 0.3720),
    (0.9427, 0.4340),
    (0.9216, 0.4958),
    (0.8962, 0.5571),
    (0.8679, 0.6176),
    (0.8350, 0.6769),
    (0.7986, 0.7346),
    (0.7597, 0.7903),
    (0.7186, 0.8435),
    (0.6732, 0.8936),
    (0.6213, 0.9394),
    (0.5722, 0.9761),
    (0.5322, 1.0),
];

/// Where a point is on the picture, from its upper left corner.
pub fn project(point: Point) -> (f64, f64) {
    let steps = point.latitude.abs() / 5.0;
    let low = (steps.floor() as usize).min(TABLE.len() - 2);
    let part = steps - low as f64;
    let between = |a: f64, b: f64| a + part * (b - a);
    let length = between(TABLE[low].0, TABLE[low + 1].0);
    let height = between(TABLE[low].1, TABLE[low + 1].1);
    let x = WIDTH / 2.0 * (1.0 + length * point.longitude / 180.0);
    let y = HEIGHT / 2.0 * (1.0 - height.copysign(point.latitude));
    (x, y)
}

/// The shortest way between two points in short steps; two pieces when it crosses the edge.
pub fn great_circle(from: Point, to: Point) -> Vec<Vec<Point>> {
    let vector = |p: Point| {
        let (lat, lon) = (p.latitude.to_radians(), p.longitude.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
    };
    let (a, b) = (vector(from), vector(to));
    let dot: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
    let angle = dot.clamp(-1.0, 1.0).acos();
    if angle.sin() < 1e-9 {
        return vec![vec![from, to]];
    }
    // about two degrees each
    let steps = (angle.to_degrees() / 2.0).ceil().max(1.0) as usize;
    let mut pieces = vec![vec![from]];
    for step in 1..=steps {
        let share = step as f64 / steps as f64;
        let (p, q) = (
            ((1.0 - share) * angle).sin() / angle.sin(),
            (share * angle).sin() / angle.sin(),
        );
        let [x, y, z] = std::array::from_fn(|k| p * a[k] + q * b[k]);
        let next = Point {
            latitude: z.clamp(-1.0, 1.0).asin().to_degrees(),
            longitude: y.atan2(x).to_degrees(),
        };
        let piece = pieces.last_mut().expect("there is always one");
        let last = piece[piece.len() - 1];
        if (next.longitude - last.longitude).abs() > 180.0 {
            let edge = |side: f64| Point {
                latitude: f64::midpoint(last.latitude, next.latitude),
                longitude: 180.0_f64.copysign(side),
            };
            piece.push(edge(last.longitude));
            pieces.push(vec![edge(next.longitude), next]);
        } else {
            piece.push(next);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(latitude: f64, longitude: f64) -> Point {
        Point::new(latitude, longitude).unwrap()
    }

    #[test]
    fn the_corners_of_the_earth() {
        assert_eq!(project(point(0.0, 0.0)), (WIDTH / 2.0, HEIGHT / 2.0));
        assert_eq!(project(point(0.0, -180.0)).0, 0.0);
        assert_eq!(project(point(90.0, 0.0)).1, 0.0);
        assert_eq!(project(point(-90.0, 0.0)).1, HEIGHT);
    }

    #[test]
    fn a_way_over_the_date_line_is_cut() {
        let tokyo_to_california = great_circle(point(35.7, 139.7), point(37.8, -122.4));
        assert_eq!(tokyo_to_california.len(), 2);
        let lisbon_to_berlin = great_circle(point(38.7, -9.1), point(52.5, 13.4));
        assert_eq!(lisbon_to_berlin.len(), 1);
    }

    proptest! {
        #[test]
        fn all_points_are_on_the_picture_and_steps_are_short(
            a in (-89.0..89.0, -180.0..180.0), b in (-89.0..89.0, -180.0..180.0),
        ) {
            for piece in great_circle(point(a.0, a.1), point(b.0, b.1)) {
                for p in &piece {
                    let (x, y) = project(*p);
                    prop_assert!((0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y));
                }
                for pair in piece.windows(2) {
                    prop_assert!((pair[0].longitude - pair[1].longitude).abs() <= 180.0);
                }
            }
        }
    }
}
