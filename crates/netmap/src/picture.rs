//! A map picture: routes and hosts over the outlines of the land, as SVG.
//!
//! Robinson's projection, whose shapes readers know; links are great circles, coloured and dashed by how much
//! RTT they add; what stands at one place is one dot that grows with its number. Letters are those of all charts.

mod labels;
mod projection;

use ground::Point;
pub use labels::{Label, labels};
use projection::great_circle;
pub use projection::{HEIGHT, WIDTH, project};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A robot, a host or a router on the map.
#[derive(Clone, Debug)]
pub struct Dot {
    /// What it is.
    pub kind: Kind,
    /// Where.
    pub point: Point,
    /// Its name, shown for robots.
    pub name: String,
}

/// What a dot stands for; later ones are drawn over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Something on the way.
    Router,
    /// Something that is crawled.
    Host,
    /// Who measures.
    Robot,
}

/// A link between two places and the RTT it adds.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// One end.
    pub from: Point,
    /// The other.
    pub to: Point,
    /// Milliseconds.
    pub rtt_ms: f64,
}

const MARGIN: f64 = 16.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 44.0;
const SEA: &str = "#eef3f7";
const LAND: &str = "#d9d6cb";
/// Up to how many milliseconds a link has a colour and dashes, which tell them apart in grey; from fast to slow.
const LINKS: [(f64, &str, &str, &str); 4] = [
    (10.0, "#009e73", "1 0", "up to 10 ms"),
    (50.0, "#0072b2", "9 3", "up to 50 ms"),
    (150.0, "#e69f00", "4 3", "up to 150 ms"),
    (f64::INFINITY, "#d55e00", "1 4", "more"),
];

/// The picture.
pub fn map(title: &str, dots: &[Dot], lines: &[Line]) -> String {
    let (width, height) = (WIDTH + 2.0 * MARGIN, HEIGHT + TOP + BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#222\">\n<title>{0}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"30\" font-size=\"18\" font-weight=\"bold\">{0}</text>\n\
         <g transform=\"translate({MARGIN} {TOP})\">\n",
        escaped(title)
    );
    svg.push_str(&earth());
    draw_lines(&mut svg, lines);
    draw_dots(&mut svg, dots);
    svg.push_str("</g>\n");
    draw_legend(&mut svg, TOP + HEIGHT + 26.0);
    svg.push_str("</svg>\n");
    svg
}

/// What an outline encloses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shore {
    /// Land.
    Land,
    /// Water within land; comes after it.
    Lake,
}

/// The outlines of the land, coarse.
pub fn shores() -> impl Iterator<Item = (Shore, Vec<Point>)> {
    include_str!("../data/land.txt").lines().filter_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let corner = |pair: &str| {
            let (longitude, latitude) = pair.split_once(',')?;
            Some(Point {
                latitude: latitude.parse().ok()?,
                longitude: longitude.parse().ok()?,
            })
        };
        let shore = if name.starts_with('~') {
            Shore::Lake
        } else {
            Shore::Land
        };
        // a comment has no pairs
        Some((shore, rest.split(' ').map(corner).collect::<Option<_>>()?))
    })
}

// writing to a string cannot fail, so what `write!` returns is dropped below

/// Sea, land and the net of degrees, `WIDTH` by `HEIGHT`; classes let a style sheet change the colours.
pub fn earth() -> String {
    let mut svg = String::new();
    let point = |latitude, longitude| Point {
        latitude,
        longitude,
    };
    let side = |longitude: f64| {
        (-18..=18).map(move |step| project(point(f64::from(step) * 5.0, longitude)))
    };
    let edge: Vec<(f64, f64)> = side(180.0)
        .chain(side(-180.0).collect::<Vec<_>>().into_iter().rev())
        .collect();
    let _ = writeln!(
        svg,
        "<path class=\"sea\" d=\"{}\" fill=\"{SEA}\"/>",
        path(&edge, true)
    );
    let mut land = String::new();
    let mut lakes = String::new();
    for (shore, corners) in shores() {
        let outline: Vec<(f64, f64)> = corners.into_iter().map(project).collect();
        let target = match shore {
            Shore::Lake => &mut lakes,
            Shore::Land => &mut land,
        };
        target.push_str(&path(&outline, true));
    }
    let _ = writeln!(
        svg,
        "<path class=\"land\" d=\"{land}\" fill=\"{LAND}\" stroke=\"#bdb9ab\" stroke-width=\"0.6\" \
         stroke-linejoin=\"round\"/>\n<path class=\"sea\" d=\"{lakes}\" fill=\"{SEA}\"/>"
    );
    let meridians = (-5..=5).map(|k| side(f64::from(k) * 30.0).collect::<Vec<_>>());
    let parallels = (-2..=2).map(|k| {
        let latitude = f64::from(k) * 30.0;
        vec![
            project(point(latitude, -180.0)),
            project(point(latitude, 180.0)),
        ]
    });
    let net: String = meridians
        .chain(parallels)
        .map(|line| path(&line, false))
        .collect();
    let _ = writeln!(
        svg,
        "<path d=\"{net}\" fill=\"none\" stroke=\"#8fa3b3\" stroke-opacity=\"0.25\" \
         stroke-width=\"0.6\"/>\n<path d=\"{}\" fill=\"none\" stroke=\"#9aa9b5\"/>",
        path(&edge, true)
    );
    svg
}

fn draw_lines(svg: &mut String, lines: &[Line]) {
    // a link seen from both sides, or by many routes, is drawn once
    let mut seen: BTreeMap<[i64; 4], Line> = BTreeMap::new();
    let key = |p: Point| [(p.latitude * 100.0) as i64, (p.longitude * 100.0) as i64];
    for line in lines {
        let (a, b) = (key(line.from), key(line.to));
        let (low, high) = (a.min(b), a.max(b));
        if low != high {
            seen.entry([low[0], low[1], high[0], high[1]])
                .or_insert(*line);
        }
    }
    for (k, (limit, colour, dashes, _)) in LINKS.iter().enumerate() {
        let above = if k == 0 { -1.0 } else { LINKS[k - 1].0 };
        let own = seen
            .values()
            .filter(|line| line.rtt_ms > above && line.rtt_ms <= *limit);
        let paths: String = own
            .flat_map(|line| great_circle(line.from, line.to))
            .map(|piece| path(&piece.into_iter().map(project).collect::<Vec<_>>(), false))
            .collect();
        let _ = writeln!(
            svg,
            "<path d=\"{paths}\" fill=\"none\" stroke=\"{colour}\" stroke-opacity=\"0.75\" \
             stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"/>"
        );
    }
}

fn draw_dots(svg: &mut String, dots: &[Dot]) {
    let mut places: BTreeMap<(Kind, i64, i64), (usize, &Dot)> = BTreeMap::new();
    for dot in dots {
        let tenth = |degrees: f64| (degrees * 10.0).round() as i64;
        let key = (
            dot.kind,
            tenth(dot.point.latitude),
            tenth(dot.point.longitude),
        );
        places.entry(key).or_insert((0, dot)).0 += 1;
    }
    let robots = places.values().filter(|(_, dot)| dot.kind == Kind::Robot);
    let robots: Vec<(f64, f64, &str)> = robots
        .map(|(_, dot)| {
            let (x, y) = project(dot.point);
            (x, y, dot.name.as_str())
        })
        .collect();
    let mut names = labels(&robots, WIDTH).into_iter();
    for (count, dot) in places.values() {
        let (x, y) = project(dot.point);
        let size = (*count as f64).sqrt().min(5.0);
        let _ = match dot.kind {
            Kind::Router => writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"#777\"/>",
                1.2 + 0.6 * size
            ),
            Kind::Host => writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"#cc79a7\" \
                 fill-opacity=\"0.85\" stroke=\"#fff\" stroke-width=\"0.7\"/>",
                2.0 + 1.2 * size
            ),
            Kind::Robot => {
                let name = names.next().unwrap_or(Label {
                    x: x + 8.0,
                    y: y + 4.0,
                    ends: false,
                });
                let anchor = if name.ends { "end" } else { "start" };
                writeln!(
                    svg,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\" fill=\"#000\" \
                     stroke=\"#fff\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" \
                     fill=\"#000\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
                    x - 4.5,
                    y - 4.5,
                    name.x,
                    name.y,
                    escaped(&dot.name)
                )
            }
        };
    }
}

fn draw_legend(svg: &mut String, y: f64) {
    let mut x = MARGIN + 6.0;
    let text = |svg: &mut String, x: f64, words: &str| {
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{}\" fill=\"#333\">{words}</text>",
            y + 4.0
        );
    };
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"#000\"/>",
        x - 4.5,
        y - 4.5
    );
    text(svg, x + 10.0, "robot");
    x += 70.0;
    let _ = writeln!(
        svg,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"4\" fill=\"#cc79a7\"/>"
    );
    text(svg, x + 10.0, "host");
    x += 62.0;
    let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"2\" fill=\"#777\"/>");
    text(svg, x + 10.0, "router");
    x += 90.0;
    text(svg, x, "RTT that a link adds:");
    x += 142.0;
    for (_, colour, dashes, words) in LINKS {
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {y}h32\" stroke=\"{colour}\" stroke-width=\"2.5\" stroke-dasharray=\"{dashes}\"/>"
        );
        text(svg, x + 38.0, words);
        x += 134.0;
    }
}

fn path(points: &[(f64, f64)], closed: bool) -> String {
    let mut text = String::new();
    for (k, (x, y)) in points.iter().enumerate() {
        let _ = write!(text, "{}{x:.1} {y:.1}", if k == 0 { 'M' } else { 'L' });
    }
    if closed {
        text.push('Z');
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_drawn_once_and_names_are_harmless() {
        let point = |latitude, longitude| Point::new(latitude, longitude).unwrap();
        let dot = |kind, name: &str| Dot {
            kind,
            point: point(50.0, 8.0),
            name: name.to_owned(),
        };
        let line = Line {
            from: point(50.0, 8.0),
            to: point(40.0, -74.0),
            rtt_ms: 80.0,
        };
        let back = Line {
            from: line.to,
            to: line.from,
            ..line
        };
        let robot = dot(Kind::Robot, "<robot & co>");
        let hosts = [dot(Kind::Host, "a"), dot(Kind::Host, "b"), robot];
        let svg = map("a < b", &hosts, &[line, back]);
        assert!(svg.contains("&lt;robot &amp; co&gt;") && svg.contains("a &lt; b"));
        assert_eq!(svg.matches("fill-opacity=\"0.85\"").count(), 1, "one place");
        let link = |colour: &str| {
            let lines = svg.lines();
            let own = lines.filter(|l| l.contains(colour) && l.contains("stroke-opacity=\"0.75\""));
            own.map(|l| l.matches('M').count()).sum::<usize>()
        };
        assert_eq!(link("#e69f00"), 1);
        assert_eq!(link("#0072b2"), 0);
        // no two kinds of link look the same in grey
        let dashes: std::collections::BTreeSet<&str> = LINKS.iter().map(|link| link.2).collect();
        assert_eq!(dashes.len(), LINKS.len());
        let kinds = LINKS.iter();
        let drawn =
            kinds.filter(|link| svg.matches(&format!("dasharray=\"{}\"", link.2)).count() == 2);
        assert_eq!(drawn.count(), LINKS.len(), "on the map and in the legend");
    }
}
