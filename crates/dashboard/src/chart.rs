//! Charts as SVG within a page. Colours come from the page's style, so that they are right by day and by night;
//! each chart is drawn for wide and for narrow screens, so that its letters can be read on both.

use crate::fleet::mark;
use desk::chart::ticks::ticks;
use desk::chart::{Axis, Scale, robot_colour};
use ground::calendar;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 26.0;
/// Widths drawn: for wide screens, and for narrow ones.
const WIDTHS: [(f64, &str); 2] = [(760.0, "chart wide"), (370.0, "chart narrow")];
/// Steps between labels of time, in seconds.
const STEPS: [f64; 22] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    604_800.0,
    2_592_000.0,
    31_536_000.0,
];

/// What runs along the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// Seconds since the epoch.
    Time,
    /// Something above zero, in equal factors.
    Factors,
}

/// A point worth a word.
pub(crate) struct Dot {
    pub at: (f64, f64),
    pub text: String,
}

/// A chart.
pub(crate) struct Chart {
    /// What it shows, for those who cannot see it.
    pub label: String,
    pub along: Along,
    pub x: (f64, f64),
    pub y: (f64, f64),
    /// How values of the vertical axis are written.
    pub unit: fn(f64) -> String,
    /// Lines, each of the parts that hang together.
    pub lines: Vec<Vec<(f64, f64)>>,
    /// The robot of each line, where each has one: its colour, and its mark at the end.
    pub robots: Vec<usize>,
    /// From where to where a value may lie.
    pub bands: Vec<Vec<(f64, f64, f64)>>,
    pub dots: Vec<Dot>,
    pub height: f64,
}

/// A chart in one width.
struct Drawing<'a> {
    chart: &'a Chart,
    width: f64,
    x: Axis,
    y: Axis,
}

impl Chart {
    pub fn draw(&self) -> Markup {
        html! {
            @for (width, class) in WIDTHS {
                (self.drawing(width).svg(class))
            }
        }
    }

    fn drawing(&self, width: f64) -> Drawing<'_> {
        let axis = |scale, range| Axis {
            label: String::new(),
            scale,
            range,
        };
        let scale = match self.along {
            Along::Time => Scale::Linear,
            Along::Factors => Scale::Logarithmic,
        };
        Drawing {
            chart: self,
            width,
            x: axis(scale, self.x),
            y: axis(Scale::Linear, self.y),
        }
    }
}

impl Drawing<'_> {
    fn svg(&self, class: &str) -> Markup {
        let (width, height) = (self.width, self.chart.height);
        let (bottom, right) = (height - BOTTOM, width - RIGHT);
        html! {
            svg class=(class) viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(self.chart.label) {
                @for value in ticks(&self.y) {
                    @let y = self.down(value);
                    path class="grid" d=(format!("M{LEFT} {y:.1}H{right}")) {}
                    text class="tick" x=(LEFT - 8.0) y=(format!("{:.1}", y + 4.0)) text-anchor="end" {
                        ((self.chart.unit)(value))
                    }
                }
                @for (value, label) in self.labels() {
                    @let x = self.across(value);
                    path class="grid" d=(format!("M{x:.1} {TOP}V{bottom}")) {}
                    // the last one stays within the picture
                    @let (at, anchor) = if x > right - 20.0 { (width, "end") } else { (x, "middle") };
                    text class="tick" x=(format!("{at:.1}")) y=(height - 8.0) text-anchor=(anchor) { (label) }
                }
                @for band in &self.chart.bands {
                    path class="band" d=(self.band(band)) {}
                }
                @for (k, line) in self.chart.lines.iter().enumerate() {
                    @match self.chart.robots.get(k) {
                        Some(&robot) => path class="one" stroke=(robot_colour(robot)) d=(self.line(line)) {},
                        None => path class="line" d=(self.line(line)) {},
                    }
                    @if let (Some(&robot), Some(&(x, y))) = (self.chart.robots.get(k), line.last()) {
                        (PreEscaped(mark(robot, self.across(x), self.down(y))))
                    }
                    @if let [only] = line.as_slice() {
                        circle class="dot" cx=(self.across(only.0)) cy=(self.down(only.1)) r="2.5" {}
                    }
                }
                @for dot in &self.chart.dots {
                    @let (x, y) = (self.across(dot.at.0), self.down(dot.at.1));
                    @let anchor = if x > width * 0.75 { "end" } else { "start" };
                    @let shift = if x > width * 0.75 { -10.0 } else { 10.0 };
                    circle class="dot" cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="5" {}
                    text class="note" x=(format!("{:.1}", x + shift)) y=(format!("{:.1}", (y + 18.0).min(bottom - 6.0))) text-anchor=(anchor) {
                        (dot.text)
                    }
                }
            }
        }
    }

    fn across(&self, x: f64) -> f64 {
        let place = self.x.place(x).clamp(0.0, 1.0);
        LEFT + (self.width - LEFT - RIGHT) * place
    }

    fn down(&self, y: f64) -> f64 {
        let place = self.y.place(y).clamp(0.0, 1.0);
        TOP + (self.chart.height - TOP - BOTTOM) * (1.0 - place)
    }

    fn line(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (k, &(x, y)) in points.iter().enumerate() {
            let step = if k == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{step}{:.1} {:.1}", self.across(x), self.down(y));
        }
        path
    }

    fn band(&self, points: &[(f64, f64, f64)]) -> String {
        let upper = points.iter().map(|&(x, _, high)| (x, high));
        let lower = points.iter().rev().map(|&(x, low, _)| (x, low));
        let around: Vec<(f64, f64)> = upper.chain(lower).collect();
        self.line(&around) + "Z"
    }

    /// Values along the bottom with their labels, not too many.
    fn labels(&self) -> Vec<(f64, String)> {
        let most = ((self.width - LEFT - RIGHT) / 86.0).max(2.0);
        match self.chart.along {
            Along::Time => times(self.chart.x, most),
            Along::Factors => {
                let all = ticks(&self.x);
                let every = (all.len() as f64 / most).ceil().max(1.0) as usize;
                let some = all.into_iter().step_by(every);
                some.map(|value| (value, crate::words::rough(value)))
                    .collect()
            }
        }
    }
}

/// Round times within a range; by days the date, otherwise the time of day (UTC).
fn times((from, until): (f64, f64), most: f64) -> Vec<(f64, String)> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let fits = |step: &&f64| (until - from) / **step <= most;
    let step = STEPS.iter().find(fits).copied().unwrap_or(10.0 * STEPS[21]);
    let first = (from / step).ceil() as i64;
    let last = (until / step).floor() as i64;
    let label = |at: f64| {
        let [year, month, day, hour, minute, second, _] = calendar::civil((at * 1e3) as i64);
        match step {
            s if s >= 31_000_000.0 => format!("{year}"),
            s if s >= 86_400.0 => format!("{day} {}", MONTHS[month as usize - 1]),
            s if s >= 60.0 => format!("{hour:02}:{minute:02}"),
            _ => format!("{hour:02}:{minute:02}:{second:02}"),
        }
    };
    (first..=last)
        .map(|k| k as f64 * step)
        .map(|at| (at, label(at)))
        .collect()
}

/// A range from zero that shows all values, and is not flat.
pub(crate) fn from_zero(lines: &[Vec<(f64, f64)>]) -> (f64, f64) {
    let values = lines.iter().flatten().map(|&(_, y)| y);
    let most = values.fold(0.0, f64::max);
    (0.0, if most > 0.0 { most * 1.1 } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_round_and_few() {
        let day = times((0.0, 86_400.0), 8.0);
        assert_eq!(day.len(), 9);
        assert_eq!(day[1], (10_800.0, "03:00".into()));
        let month = times((0.0, 30.0 * 86_400.0), 8.0);
        assert_eq!(month[0].1, "1 Jan");
        assert!(month.len() <= 9);
        assert_eq!(times((5.0, 5.0), 8.0).len(), 1);
    }

    #[test]
    fn lines_of_robots_end_in_their_marks() {
        let mut chart = Chart {
            label: String::new(),
            along: Along::Time,
            x: (0.0, 10.0),
            y: (0.0, 1.0),
            unit: |value| value.to_string(),
            lines: vec![vec![(0.0, 0.5), (10.0, 0.5)]; 2],
            robots: vec![0, 1],
            bands: Vec::new(),
            dots: Vec::new(),
            height: 200.0,
        };
        let (first, second) = (mark(0, 7.0, 7.0), mark(1, 7.0, 7.0));
        let shape = |mark: &str| mark[..5].to_owned();
        assert_ne!(shape(&first), shape(&second), "told apart in grey");
        let svg = chart.draw().into_string();
        assert_eq!(svg.matches("<circle").count(), 2, "wide and narrow: {svg}");
        chart.robots.clear();
        assert_eq!(chart.draw().into_string().matches("<circle").count(), 0);
    }

    #[test]
    fn labels_are_text() {
        let chart = Chart {
            label: "\"><script>".into(),
            along: Along::Factors,
            x: (1.0, 100.0),
            y: (0.0, 1.0),
            unit: |value| value.to_string(),
            lines: vec![vec![(1.0, 0.5), (100.0, 2.0)]],
            robots: Vec::new(),
            bands: vec![vec![(1.0, 0.1, 0.9), (100.0, 0.2, 0.8)]],
            dots: vec![Dot {
                at: (10.0, 0.5),
                text: "<b>".into(),
            }],
            height: 200.0,
        };
        let svg = chart.draw().into_string();
        assert!(!svg.contains("<script") && !svg.contains("<b>"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("style="), "{svg}");
    }
}
