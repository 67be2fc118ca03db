//! Colours and markers of lines.

use super::Line;
use std::collections::HashMap;

/// Colours that people with any kind of colour vision tell apart (Okabe and Ito), darkest first.
const COLOURS: [&str; 8] = [
    "#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c6d31",
];
/// Bounds are nobody's work.
const BOUND: &str = "#777777";

/// What has a colour of its own, by the first words of its name.
const KNOWN: [(&str, usize); 26] = [
    ("default", 0),
    ("merge-opt-polite", 1),
    ("opt-polite", 1),
    ("epochs", 1),
    ("graph", 1),
    ("uniform", 2),
    ("merge-uniform", 2),
    ("hash-host", 2),
    ("index", 3),
    ("merge-cho", 4),
    ("cho", 4),
    ("merge-wolf", 5),
    ("wolf", 5),
    ("greedy", 6),
    ("greedy-printed", 6),
    ("q-learning", 6),
    ("random", 7),
    ("random-uniform", 7),
    ("random-opt-polite", 7),
    ("proportional", 7),
    ("merge-harmonic", 7),
    ("per-page-wolf", 1),
    ("delayed-opt-polite", 3),
    ("random-wolf", 3),
    ("delayed-cho", 4),
    ("memory", 5),
];

/// What no policy did.
pub(super) fn is_bound(line: &Line) -> bool {
    let name = &*line.name;
    name.contains("bound") && !name.contains('=') || ["POLITE", "IMPOLITE"].contains(&name)
}

/// The colour of each line: its own where it has one, else the next that is free.
pub(super) fn colours(lines: &[Line]) -> Vec<&'static str> {
    let own = |line: &Line| {
        // a bound that a policy reaches is drawn as that policy
        let named = line
            .name
            .rsplit_once("= ")
            .map_or(&*line.name, |(_, is)| is);
        let is_it = |name: &str| {
            let rest = named.strip_prefix(name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric()))
        };
        KNOWN
            .iter()
            .find(|(name, _)| is_it(name))
            .map(|&(_, colour)| colour)
    };
    let taken: Vec<usize> = lines.iter().filter_map(own).collect();
    // what is said after a comma is how it was found: "fixed-order, simulated"
    let policy = |line: &Line| line.name.split(',').next().map(str::to_owned);
    let mut free = (0..COLOURS.len())
        .filter(|colour| !taken.contains(colour))
        .cycle();
    let mut given: HashMap<Option<String>, usize> = HashMap::new();
    let mut next = |line| *(given.entry(policy(line))).or_insert_with(|| free.next().unwrap_or(0));
    let colour = |line| match own(line) {
        _ if is_bound(line) => BOUND,
        Some(colour) => COLOURS[colour],
        None => COLOURS[next(line)],
    };
    lines.iter().map(colour).collect()
}

/// The colour of a robot in maps and charts; black is left to bounds and texts.
pub fn robot_colour(number: usize) -> &'static str {
    COLOURS[1 + number % (COLOURS.len() - 1)]
}

/// A marker; lines take turns with the shapes.
pub fn marker(which: usize, x: f64, y: f64, colour: &str) -> String {
    let outline = |path: String| format!("<path d=\"{path}\" fill=\"{colour}\"/>");
    let hollow = |path: String| {
        format!("<path d=\"{path}\" fill=\"#fff\" stroke=\"{colour}\" stroke-width=\"1.6\"/>")
    };
    let square = format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5);
    let triangle = format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0);
    let diamond = format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0);
    match which % 8 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\" fill=\"{colour}\"/>"),
        1 => outline(square),
        2 => outline(triangle),
        3 => outline(diamond),
        4 => format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\" fill=\"#fff\" stroke=\"{colour}\" stroke-width=\"1.6\"/>"
        ),
        5 => hollow(square),
        6 => hollow(triangle),
        _ => hollow(diamond),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str) -> Line {
        Line {
            name: name.to_owned(),
            ..Line::default()
        }
    }

    #[test]
    fn a_policy_has_its_colour_whoever_else_is_drawn() {
        let alone = colours(&[line("uniform")]);
        let among = colours(&[
            line("polite bound"),
            line("memory"),
            line("uniform"),
            line("default"),
        ]);
        assert_eq!(alone[0], among[2]);
        assert_eq!(among[0], BOUND);
        // nobody else takes it
        assert!(
            among
                .iter()
                .enumerate()
                .all(|(k, colour)| k == 2 || *colour != alone[0])
        );
        assert_eq!(colours(&[line("uniform (impolite)")]), alone);
        assert_eq!(
            colours(&[line("polite bound = uniform")]),
            alone,
            "reached by it"
        );
        assert_ne!(
            colours(&[line("random-uniform"), line("uniform")])[0],
            alone[0]
        );
    }
}
