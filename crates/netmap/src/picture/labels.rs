//! Names beside their points: none lies on another, on a point, or outside of the picture.

/// About the width of a letter, and the height of a line, at the size of the picture's letters.
const LETTER: f64 = 6.9;
const LINE: f64 = 14.0;
/// From a point to its name.
const GAP: f64 = 8.0;
/// What a point itself takes, to each side.
const POINT: f64 = 5.0;
/// So many lines up and down a name may give way.
const STEPS: i32 = 24;

/// Where a name begins or ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    /// Across.
    pub x: f64,
    /// The line that letters stand on.
    pub y: f64,
    /// Whether the name ends there.
    pub ends: bool,
}

#[derive(Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

impl Label {
    fn area(&self, name: &str) -> Area {
        let width = LETTER * name.chars().count() as f64;
        let left = if self.ends { self.x - width } else { self.x };
        Area {
            left,
            right: left + width,
            top: self.y - LINE + 3.0,
            bottom: self.y + 3.0,
        }
    }
}

/// A place for the name of each point in a picture of this width: at its right if that is free, else at its left,
/// else above or below.
pub fn labels(points: &[(f64, f64, &str)], width: f64) -> Vec<Label> {
    let mut taken: Vec<Area> = (points.iter())
        .map(|&(x, y, _)| Area {
            left: x - POINT,
            right: x + POINT,
            top: y - POINT,
            bottom: y + POINT,
        })
        .collect();
    let mut placed = Vec::with_capacity(points.len());
    for &(x, y, name) in points {
        let steps = (0..=STEPS).flat_map(|step| [step, -step]);
        let mut candidates = steps.flat_map(|step| {
            let y = y + 4.0 + LINE * f64::from(step);
            [(x + GAP, false), (x - GAP, true)].map(|(x, ends)| Label { x, y, ends })
        });
        let is_free = |label: &Label| {
            let area = label.area(name);
            area.left >= 0.0 && area.right <= width && !taken.iter().any(|other| area.meets(other))
        };
        let beside = Label {
            x: x + GAP,
            y: y + 4.0,
            ends: false,
        };
        let label = candidates.find(is_free).unwrap_or(beside);
        taken.push(label.area(name));
        placed.push(label);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_city_and_of_the_margin_lie_apart() {
        let names: Vec<String> = (1..=12).map(|number| format!("robot-{number}")).collect();
        let points: Vec<(f64, f64, &str)> = (names.iter().enumerate())
            .map(|(k, name)| match k {
                0..8 => (500.0, 200.0, name.as_str()),
                _ => (990.0, 100.0 + 3.0 * k as f64, name.as_str()),
            })
            .collect();
        let placed = labels(&points, 1000.0);
        let areas: Vec<Area> = (placed.iter().zip(&names))
            .map(|(label, name)| label.area(name))
            .collect();
        for (k, one) in areas.iter().enumerate() {
            assert!(one.left >= 0.0 && one.right <= 1000.0);
            for (other, name) in areas[k + 1..].iter().zip(&names[k + 1..]) {
                assert!(!one.meets(other), "{} and {name}", names[k]);
            }
        }
        // where there is room, a name stands at the right
        assert!(!placed[0].ends && placed[0].y == 204.0);
    }
}
