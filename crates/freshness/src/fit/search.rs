//! The highest point of a function of two numbers, by the simplex of Nelder and Mead.

/// The first simplex reaches so far from where it starts.
const REACH: f64 = 0.7;
/// It is done when its corners are as high as each other to this, or after so many steps.
const FLAT: f64 = 1e-7;
const MOST_STEPS: usize = 400;

/// Where `height` is greatest, from `start` on. What cannot be computed is minus infinity.
pub fn highest(height: impl Fn([f64; 2]) -> f64, start: [f64; 2]) -> [f64; 2] {
    let corner = |point: [f64; 2]| (height(point), point);
    let mut corners = [
        corner(start),
        corner([start[0] + REACH, start[1]]),
        corner([start[0], start[1] + REACH]),
    ];
    for _ in 0..MOST_STEPS {
        corners.sort_by(|a, b| b.0.total_cmp(&a.0));
        let [best, good, worst] = corners;
        if best.0 - worst.0 < FLAT {
            break;
        }
        // from the worst corner through the middle of the others
        let at = |t: f64| {
            let along = |k: usize| {
                let middle = f64::midpoint(best.1[k], good.1[k]);
                middle + t * (middle - worst.1[k])
            };
            corner([along(0), along(1)])
        };
        let mirrored = at(1.0);
        corners[2] = if mirrored.0 > best.0 {
            let further = at(2.0);
            if further.0 > mirrored.0 {
                further
            } else {
                mirrored
            }
        } else if mirrored.0 > good.0 {
            mirrored
        } else {
            let nearer = at(if mirrored.0 > worst.0 { 0.5 } else { -0.5 });
            if nearer.0 > worst.0.max(mirrored.0) {
                nearer
            } else {
                let shrunk =
                    |point: [f64; 2]| [0, 1].map(|k: usize| f64::midpoint(point[k], best.1[k]));
                corners[1] = corner(shrunk(good.1));
                corner(shrunk(worst.1))
            }
        };
    }
    corners.sort_by(|a, b| b.0.total_cmp(&a.0));
    corners[0].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_crooked_valley_turned_over_is_found() {
        let height = |[x, y]: [f64; 2]| -(1.0 - x).powi(2) - 20.0 * (y - x * x).powi(2);
        let [x, y] = highest(height, [-1.0, 2.0]);
        assert!((x - 1.0).abs() < 0.01 && (y - 1.0).abs() < 0.01, "{x} {y}");
    }
}
