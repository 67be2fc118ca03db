//! Pictures of a partition: shares, exchange, and a map.

use super::robots::Robots;
use super::summary::Summary;
use crate::html::escape;
use desk::chart::robot_colour;
use ground::Point;
use netmap::picture::{Shore, shores};
use std::fmt::{self, Write};

/// More hosts than this are thinned out on the map.
const MOST_DOTS: usize = 4000;
const FONT: &str = "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"12\" \
                    fill=\"#222\"";

const SEA: &str = "#eef3f7";
const LAND: &str = "#d9d6cb";

/// A colour of its own for each of `count` robots: that of all charts where there are few.
fn colour(robot: usize, count: usize) -> String {
    if count <= 7 {
        return robot_colour(robot).to_owned();
    }
    // neighbours in number get distant hues and another lightness
    let hue = robot as f64 * 360.0 * 0.381_966 % 360.0;
    let lightness = if count > 8 && robot % 2 == 1 { 32 } else { 48 };
    format!("hsl({hue:.0} 65% {lightness}%)")
}

/// A name, a colour, and the value of each robot.
type Measure<'a> = (&'a str, &'a str, &'a dyn Fn(usize) -> f64);

/// Pages, hosts and exchange of each robot beside their fair share.
pub fn shares(summary: &Summary) -> Result<String, fmt::Error> {
    let all: f64 = summary.robots.iter().map(|share| share.capacity).sum();
    let sum = |value: &dyn Fn(usize) -> f64| (0..summary.robots.len()).map(value).sum::<f64>();
    let robot = |j: usize| &summary.robots[j];
    let measures: [Measure; 3] = [
        ("pages", "#0072b2", &|j| robot(j).pages as f64),
        ("hosts", "#e69f00", &|j| robot(j).hosts as f64),
        ("exchange", "#009e73", &|j| robot(j).exchanged_links),
    ];
    let relative = |value: &dyn Fn(usize) -> f64, j: usize| {
        value(j) / sum(value).max(f64::MIN_POSITIVE) * all / robot(j).capacity
    };
    let most = (0..summary.robots.len())
        .flat_map(|j| measures.map(|(_, _, value)| relative(value, j)))
        .fold(1.5, f64::max);
    let (left, width, row) = (150.0, 560.0, 42.0);
    let height = 56.0 + row * summary.robots.len() as f64;
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {height}\" width=\"760\" \
         height=\"{height}\" {FONT}><title>Shares of the robots</title>"
    )?;
    for (k, (name, fill, _)) in measures.iter().enumerate() {
        let x = left + 110.0 * k as f64;
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"10\" width=\"12\" height=\"12\" fill=\"{fill}\"/>\
             <text x=\"{}\" y=\"20\">{name}</text>",
            x + 18.0
        )?;
    }
    for j in 0..summary.robots.len() {
        let y = 40.0 + row * j as f64;
        writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + 20.0,
            escape(&robot(j).robot)
        )?;
        for (k, (_, fill, value)) in measures.iter().enumerate() {
            let relative = relative(value, j);
            writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{}\" width=\"{:.1}\" height=\"9\" fill=\"{fill}\"/>\
                 <text x=\"{:.1}\" y=\"{}\" font-size=\"9\">{relative:.2}</text>",
                y + 11.0 * k as f64,
                width * relative / most,
                left + 4.0 + width * relative / most,
                y + 8.0 + 11.0 * k as f64,
            )?;
        }
    }
    let fair = left + width / most;
    writeln!(
        svg,
        "<path d=\"M{fair:.1} 32V{}\" stroke=\"#222\" stroke-dasharray=\"3 3\"/>\
         <text x=\"{fair:.1}\" y=\"{}\" text-anchor=\"middle\">fair share</text></svg>",
        height - 18.0,
        height - 5.0
    )?;
    Ok(svg)
}

/// Who finds links for whom: the darker, the more. The diagonal, what stays at home, is left out
/// of the scale.
pub fn exchange(robots: &Robots, flows: &[f64]) -> Result<String, fmt::Error> {
    let count = robots.all.len();
    let cell = (560.0 / count as f64).min(40.0);
    let (left, top) = (150.0, 110.0);
    let most = (0..count * count)
        .filter(|pair| pair / count != pair % count)
        .map(|pair| flows[pair])
        .fold(f64::MIN_POSITIVE, f64::max);
    let (width, height) = (
        (left + cell * count as f64 + 60.0).max(left + 300.0),
        top + cell * count as f64 + 50.0,
    );
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" {FONT}><title>Links from robots (rows) to \
         robots (columns)</title>"
    )?;
    for (j, robot) in robots.all.iter().enumerate() {
        let middle = cell * (j as f64 + 0.5);
        let name = escape(&robot.name);
        let size = cell.min(12.0);
        writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"{size:.0}\">{name}</text>\
             <text transform=\"translate({:.1} {}) rotate(-45)\" font-size=\"{size:.0}\">{name}</text>",
            left - 6.0,
            top + middle + 4.0,
            left + middle + 4.0,
            top - 6.0
        )?;
    }
    for (pair, links) in flows.iter().enumerate() {
        let (from, to) = (pair / count, pair % count);
        let (fill, opacity) = if from == to {
            ("#ddd", 1.0)
        } else {
            // the root shows small flows too
            ("#0072b2", (links / most).sqrt())
        };
        writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\" \
             fill=\"{fill}\" fill-opacity=\"{opacity:.3}\" stroke=\"#fff\"><title>{} to {}: {} \
             links</title></rect>",
            left + cell * to as f64,
            top + cell * from as f64,
            escape(&robots.all[from].name),
            escape(&robots.all[to].name),
            links
        )?;
    }
    // the scale, by the same root
    for step in 0..=10 {
        let share = f64::from(step) / 10.0;
        writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"20\" height=\"12\" fill=\"#0072b2\" \
             fill-opacity=\"{share:.3}\" stroke=\"#ddd\"/>",
            left + 20.0 * f64::from(step),
            height - 32.0
        )?;
        if step % 5 == 0 {
            writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\">{:.0}</text>",
                left + 20.0 * f64::from(step) + 10.0,
                height - 8.0,
                share * share * most
            )?;
        }
    }
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"10\">links</text></svg>",
        left - 6.0,
        height - 22.0
    )?;
    Ok(svg)
}

/// Hosts where they are, in the colours of their robots.
pub fn map(robots: &Robots, places: &[Option<Point>], part: &[u32]) -> Result<String, fmt::Error> {
    let count = robots.all.len();
    let own = robots.all.iter().filter_map(|robot| robot.place);
    let all: Vec<Point> = places.iter().copied().flatten().chain(own).collect();
    let range = |value: fn(&Point) -> f64| {
        let low = all.iter().map(value).fold(f64::INFINITY, f64::min);
        let high = all.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
        (low - 0.5, high + 0.5)
    };
    let (north, east) = (range(|p| p.latitude), range(|p| p.longitude));
    // degrees of longitude are shorter than those of latitude, but for the equator
    let squeeze = f64::midpoint(north.0, north.1).to_radians().cos().max(0.2);
    let width = 760.0;
    let scale = width / ((east.1 - east.0) * squeeze);
    let height = ((north.1 - north.0) * scale).clamp(120.0, 900.0);
    let scale_y = height / (north.1 - north.0);
    let at = |place: &Point| {
        let x = (place.longitude - east.0) * squeeze * scale;
        (x, (north.1 - place.latitude) * scale_y)
    };
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" \
         width=\"{width}\" height=\"{height:.0}\" {FONT}><title>Hosts and robots</title>\
         <rect width=\"{width}\" height=\"{height:.0}\" fill=\"{SEA}\"/>"
    )?;
    for (shore, outline) in shores() {
        let corners: Vec<String> = outline
            .iter()
            .map(|corner| {
                let (x, y) = at(corner);
                format!("{x:.1} {y:.1}")
            })
            .collect();
        let fill = match shore {
            Shore::Land => LAND,
            Shore::Lake => SEA,
        };
        writeln!(svg, "<path d=\"M{}z\" fill=\"{fill}\"/>", corners.join("L"))?;
    }
    let step = places.len().div_ceil(MOST_DOTS).max(1);
    for (host, place) in places.iter().enumerate().step_by(step) {
        let Some(place) = place else { continue };
        let (x, y) = at(place);
        // hosts of one city fan out in a spiral, so that all are seen
        let turn = (host / step) as f64 * 2.399_963;
        let far = 1.2 * ((host / step % 40) as f64).sqrt();
        writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"0.4\"/>",
            x + far * turn.cos(),
            y + far * turn.sin(),
            colour(part[host] as usize, count)
        )?;
    }
    let mut labels: Vec<(f64, f64)> = Vec::new();
    for (j, robot) in robots.all.iter().enumerate() {
        let Some(place) = robot.place else { continue };
        let (x, y) = at(&place);
        // a name gives way downwards to those already there
        let mut label = y + 4.0;
        while let Some(&(_, other)) = (labels.iter())
            .find(|(across, down)| (across - x).abs() < 90.0 && (down - label).abs() < 12.0)
        {
            label = other + 12.5;
        }
        labels.push((x, label));
        // names stay inside the picture
        let (anchor, beside) = if x > width - 90.0 {
            ("end", -9.0)
        } else {
            ("start", 9.0)
        };
        writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"{}\" stroke=\"#000\" \
             stroke-width=\"1.5\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" stroke=\"#fff\" \
             stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            colour(j, count),
            x + beside,
            label,
            escape(&robot.name)
        )?;
    }
    writeln!(svg, "</svg>")?;
    Ok(svg)
}
