//! Line charts as SVG, for reports: title, axes with round ticks, a legend beside the picture so
//! that nothing overlaps. A policy has the same colour in every chart; points that were measured have markers, and
//! lines differ in their markers too, so that they can be told apart in grey.

mod style;
pub mod ticks;

use std::fmt::Write;
use style::{colours, is_bound};
pub use style::{marker, robot_colour};
use ticks::{label, ticks};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 60.0;
/// Width of the plot itself; the legend stands to its right.
const PLOT_WIDTH: f64 = 560.0;
const PLOT_HEIGHT: f64 = HEIGHT - TOP - BOTTOM;
/// Lines with more points are curves, and have no markers.
const MOST_MARKERS: usize = 24;
/// Between the bars of two lines, so that both can be seen; less than a marker is wide.
const BESIDE: f64 = 1.6;
/// Characters of a legend entry before it is broken into a further row.
const LEGEND_CHARACTERS: usize = 22;
/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors; the range must be above zero.
    Logarithmic,
}

/// An axis: what it shows, and from where to where.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// How values are laid out.
    pub scale: Scale,
    /// The values at its ends.
    pub range: (f64, f64),
}

impl Axis {
    /// Where a value stands, from 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        match self.scale {
            _ if high == low => 0.5,
            Scale::Linear => (value - low) / (high - low),
            Scale::Logarithmic => (value / low).ln() / (high / low).ln(),
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    /// Without gaps.
    #[default]
    Solid,
    /// Long dashes.
    Dashed,
    /// Short dashes.
    Dotted,
}

impl Stroke {
    fn dashes(self) -> &'static str {
        match self {
            Self::Solid => "",
            Self::Dashed => " stroke-dasharray=\"9 5\"",
            Self::Dotted => " stroke-dasharray=\"2 4\"",
        }
    }
}

/// A named line through points; points that are not finite are left out.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// In the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// Half the interval of each point, where that is known.
    pub errors: Vec<f64>,
    /// How it is drawn.
    pub stroke: Stroke,
}

impl Line {
    /// Whether its points were measured one by one.
    fn has_markers(&self) -> bool {
        let is_found = self.stroke != Stroke::Dotted && !is_bound(self);
        is_found && self.points.len() <= MOST_MARKERS
    }
}

/// A value of the horizontal axis marked by a vertical line.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What it is; stands above the plot.
    pub label: String,
}

/// A line chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Stands at the top.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, in the order of the legend.
    pub lines: Vec<Line>,
    /// A value to point out.
    pub mark: Option<Mark>,
}

/// Dashes of curves that have no markers: so they differ in grey too.
const CURVES: [&str; 5] = [
    "",
    " stroke-dasharray=\"16 4\"",
    " stroke-dasharray=\"9 3 2 3\"",
    " stroke-dasharray=\"5 2\"",
    " stroke-dasharray=\"14 3 2 3 2 3\"",
];

impl Chart {
    /// How a line is dashed.
    fn dashes(&self, which: usize) -> &'static str {
        let is_curve = |line: &&Line| line.stroke == Stroke::Solid && !line.has_markers();
        let line = &self.lines[which];
        if !is_curve(&line) {
            return line.stroke.dashes();
        }
        let before = self.lines[..which].iter().filter(is_curve).count();
        CURVES[before % CURVES.len()]
    }

    /// The chart as a whole SVG file.
    pub fn to_svg(&self) -> String {
        let mut svg = String::new();
        self.draw(&mut svg)
            .expect("writing to a string cannot fail");
        svg
    }

    fn draw(&self, svg: &mut String) -> std::fmt::Result {
        writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" \
             fill=\"#222\">"
        )?;
        let title = escape(&self.title);
        writeln!(svg, "<title>{title}</title>")?;
        writeln!(
            svg,
            "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>"
        )?;
        writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"30\" font-size=\"18\" font-weight=\"bold\">{title}</text>"
        )?;
        self.draw_grid(svg)?;
        self.draw_mark(svg)?;
        self.draw_lines(svg)?;
        self.draw_legend(svg)?;
        writeln!(svg, "</svg>")
    }

    fn draw_grid(&self, svg: &mut String) -> std::fmt::Result {
        let (right, bottom) = (LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
        for value in ticks(&self.y) {
            let y = self.down(value);
            writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.5,
                label(value)
            )?;
        }
        for value in ticks(&self.x) {
            let x = self.across(value);
            writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 20.0,
                label(value)
            )?;
        }
        writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#444\"/>"
        )?;
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            LEFT + PLOT_WIDTH / 2.0,
            bottom + 45.0,
            escape(&self.x.label)
        )?;
        let middle = TOP + PLOT_HEIGHT / 2.0;
        writeln!(
            svg,
            "<text x=\"22\" y=\"{middle:.1}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 22 {middle:.1})\">{}</text>",
            escape(&self.y.label)
        )
    }

    fn draw_mark(&self, svg: &mut String) -> std::fmt::Result {
        let Some(mark) = &self.mark else {
            return Ok(());
        };
        let place = self.x.place(mark.x).clamp(0.0, 1.0);
        // the label stays above the plot at both of its ends
        let anchor = match place {
            p if p < 0.2 => "start",
            p if p > 0.8 => "end",
            _ => "middle",
        };
        let x = self.across(mark.x);
        writeln!(
            svg,
            "<path d=\"M{x:.1} {TOP}V{}\" stroke=\"#888\" stroke-width=\"1.5\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"#555\">{}</text>",
            TOP + PLOT_HEIGHT,
            TOP - 9.0,
            escape(&mark.label)
        )
    }

    fn draw_lines(&self, svg: &mut String) -> std::fmt::Result {
        for (which, (line, colour)) in self.lines.iter().zip(colours(&self.lines)).enumerate() {
            let places: Vec<(f64, f64)> = (line.points.iter())
                .map(|&(x, y)| (self.across(x), self.down(y)))
                .collect();
            let is_there = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
            let mut path = String::new();
            for (x, y) in places.iter().filter(is_there) {
                let step = if path.is_empty() { 'M' } else { 'L' };
                write!(path, "{step}{x:.1} {y:.1}")?;
            }
            writeln!(
                svg,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.2\" \
                 stroke-linejoin=\"round\"{}/>",
                self.dashes(which)
            )?;
            self.draw_errors(svg, which, colour)?;
            if line.has_markers() {
                for &(x, y) in places.iter().filter(is_there) {
                    writeln!(svg, "{}", marker(which, x, y, colour))?;
                }
            }
        }
        Ok(())
    }

    /// The intervals of a line's points. An end without a cap lies beyond the plot; bars of several lines stand beside each other.
    fn draw_errors(&self, svg: &mut String, which: usize, colour: &str) -> std::fmt::Result {
        let line = &self.lines[which];
        let has_errors = |line: &&Line| !line.errors.is_empty();
        let all = self.lines.iter().filter(has_errors).count();
        let before = self.lines[..which].iter().filter(has_errors).count();
        let beside = BESIDE * (before as f64 - all.saturating_sub(1) as f64 / 2.0);
        let known = line.points.iter().zip(&line.errors);
        for (&(x, y), &half) in known.filter(|(_, half)| half.is_finite() && **half > 0.0) {
            let x = self.across(x) + beside;
            let (low, high) = self.y.range;
            let end = |value: f64| {
                let place = self.down(value.clamp(low, high));
                let cap = format!("M{:.1} {place:.1}h6", x - 3.0);
                let is_inside = (low..=high).contains(&value);
                (place, if is_inside { cap } else { String::new() })
            };
            let ((from, lower), (to, upper)) = (end(y - half), end(y + half));
            if x.is_finite() && from.is_finite() && to.is_finite() {
                writeln!(
                    svg,
                    "<path d=\"M{x:.1} {from:.1}V{to:.1}{lower}{upper}\" stroke=\"{colour}\"/>"
                )?;
            }
        }
        Ok(())
    }

    fn draw_legend(&self, svg: &mut String) -> std::fmt::Result {
        let left = LEFT + PLOT_WIDTH + 24.0;
        let mut y = TOP + 10.0;
        for (which, (line, colour)) in self.lines.iter().zip(colours(&self.lines)).enumerate() {
            writeln!(
                svg,
                "<path d=\"M{left} {:.1}h30\" stroke=\"{colour}\" stroke-width=\"2.2\"{}/>",
                y - 4.5,
                self.dashes(which)
            )?;
            if line.has_markers() {
                writeln!(svg, "{}", marker(which, left + 15.0, y - 4.5, colour))?;
            }
            for row in broken(&line.name) {
                writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                    left + 38.0,
                    escape(&row)
                )?;
                y += 17.0;
            }
            y += 8.0;
        }
        Ok(())
    }

    fn across(&self, x: f64) -> f64 {
        LEFT + PLOT_WIDTH * self.x.place(x)
    }

    fn down(&self, y: f64) -> f64 {
        TOP + PLOT_HEIGHT * (1.0 - self.y.place(y))
    }
}

/// A text in rows that fit the legend.
fn broken(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match rows.last_mut() {
            Some(row) if row.chars().count() + word.chars().count() < LEGEND_CHARACTERS => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// Text as it may stand in XML; control characters may not.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(name: &str) -> Chart {
        let axis = |scale, range| Axis {
            label: "a < b".to_owned(),
            scale,
            range,
        };
        Chart {
            title: "Fish & chips".to_owned(),
            x: axis(Scale::Logarithmic, (1.0, 100.0)),
            y: axis(Scale::Linear, (0.0, 1.0)),
            lines: vec![Line {
                name: name.to_owned(),
                points: vec![(1.0, 0.0), (10.0, f64::NAN), (100.0, 1.0)],
                errors: Vec::new(),
                stroke: Stroke::Dashed,
            }],
            mark: Some(Mark {
                x: 10.0,
                label: "here".to_owned(),
            }),
        }
    }

    #[test]
    fn text_is_escaped_and_holes_are_left_out() {
        let svg = chart("x\u{7}\"y\"").to_svg();
        assert!(svg.contains("Fish &amp; chips"));
        assert!(svg.contains("a &lt; b"));
        assert!(svg.contains("x\u{fffd}&quot;y&quot;"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn points_stand_where_the_axes_say() {
        let svg = chart("line").to_svg();
        let (right, bottom) = (LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
        assert!(svg.contains(&format!("M{LEFT:.1} {bottom:.1}L{right:.1} {TOP:.1}")));
        // the mark at 10 is in the middle of a logarithmic axis from 1 to 100
        assert!(svg.contains(&format!("M{:.1} {TOP}V{bottom}", LEFT + PLOT_WIDTH / 2.0)));
    }

    #[test]
    fn curves_without_markers_differ_in_grey() {
        let mut several = chart("one");
        let curve = |k: u32| (f64::from(k) + 1.0, f64::from(k) / 40.0);
        several.lines[0].stroke = Stroke::Solid;
        several.lines[0].points = (0..40).map(curve).collect();
        several.lines = vec![several.lines[0].clone(); 3];
        let dashes: Vec<&str> = (0..3).map(|which| several.dashes(which)).collect();
        assert_eq!(dashes[0], "");
        assert!(dashes[1] != dashes[0] && dashes[2] != dashes[1] && dashes[2] != dashes[0]);
    }

    #[test]
    fn what_was_measured_has_markers_and_intervals_that_stay_within_the_plot() {
        let mut measured = chart("line");
        measured.lines[0].stroke = Stroke::Dotted;
        assert!(!measured.to_svg().contains("<circle"));
        measured.lines[0].stroke = Stroke::Dashed;
        measured.lines[0].name = "polite bound".to_owned();
        assert!(!measured.to_svg().contains("<circle"));
        measured.lines[0].name = "line".to_owned();
        measured.lines[0].errors = vec![0.1, 0.1, 9.0];
        let svg = measured.to_svg();
        // two points, the third is not finite; and one in the legend
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains(&format!(
            "M{:.1} {:.1}V{TOP:.1}",
            LEFT + PLOT_WIDTH,
            TOP + PLOT_HEIGHT
        )));
        measured.lines[0].points = (1..100).map(|x| (f64::from(x), 0.5)).collect();
        assert!(!measured.to_svg().contains("<circle"));
    }

    #[test]
    fn long_names_are_broken_to_fit() {
        let rows = broken("polite bound = opt-polite, harmonic, age");
        assert!(rows.len() > 1);
        assert!(rows.iter().all(|row| row.len() <= LEGEND_CHARACTERS));
    }
}
