//! Who was there, asked, moved and slept when: a row a robot, as SVG.

use std::fmt::Write;

use simulation::fleet::file::Named;
use simulation::fleet::{Happening, Outcome};

const LEFT: f64 = 150.0;
const PLOT: f64 = 900.0;
const TOP: f64 = 56.0;
const ROW: f64 = 24.0;
/// More requests than this in a row would be a solid bar: then only every so many-th is drawn.
const MOST_TICKS: usize = 600;

/// The picture.
pub fn draw(named: &Named, outcome: &Outcome) -> String {
    let mut svg = String::new();
    write(named, outcome, &mut svg).expect("writing to a string cannot fail");
    svg
}

fn write(named: &Named, outcome: &Outcome, svg: &mut String) -> std::fmt::Result {
    let took = outcome.report.took.max(1);
    let x = |at: u64| LEFT + PLOT * at.min(took) as f64 / took as f64;
    let rows = named.names.len();
    let bottom = TOP + ROW * rows as f64;
    let (width, height) = (LEFT + PLOT + 30.0, bottom + 64.0);
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="12">
<rect width="{width}" height="{height}" fill="#ffffff"/>
<text x="{LEFT}" y="22" font-size="15">{rows} robots, {} pages, seed {}</text>"##,
        outcome.report.pages, named.scenario.seed
    )?;
    legend(svg)?;
    for (row, name) in named.names.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let label = escaped(name);
        writeln!(
            svg,
            r#"<text x="{}" y="{}" text-anchor="end">{label}</text>"#,
            LEFT - 8.0,
            y + 16.0
        )?;
        presence(outcome, row, y, &x, svg)?;
        marks(outcome, row, y, &x, svg)?;
    }
    for moment in outcome
        .moments
        .iter()
        .filter(|m| m.what == Happening::Plan && m.at > 0)
    {
        let at = x(moment.at);
        writeln!(
            svg,
            r##"<line x1="{at:.1}" y1="{TOP}" x2="{at:.1}" y2="{bottom}" stroke="#000000" stroke-dasharray="2 3" opacity="0.5"/>"##
        )?;
    }
    axis(took, bottom, &x, svg)?;
    svg.push_str("</svg>\n");
    Ok(())
}

fn legend(svg: &mut String) -> std::fmt::Result {
    let entries = [
        ("#cfe8d8", "runs"),
        ("#9a9a9a", "sleeps"),
        ("#f0c27a", "cut off"),
        ("#0072b2", "request"),
        ("#009e73", "gets a server"),
        ("#d55e00", "hands one over"),
        ("#000000", "new plan (dotted)"),
    ];
    let mut at = LEFT;
    for (colour, name) in entries {
        writeln!(
            svg,
            r#"<rect x="{at}" y="34" width="10" height="10" fill="{colour}"/><text x="{}" y="43">{name}</text>"#,
            at + 14.0
        )?;
        at += 34.0 + 7.0 * name.len() as f64;
    }
    Ok(())
}

/// When the process ran, slept and was cut off.
fn presence(
    outcome: &Outcome,
    row: usize,
    y: f64,
    x: &impl Fn(u64) -> f64,
    svg: &mut String,
) -> std::fmt::Result {
    let mut bar = |from: u64, to: u64, colour: &str| {
        let (left, right) = (x(from), x(to));
        let wide = (right - left).max(0.5);
        writeln!(
            svg,
            r#"<rect x="{left:.1}" y="{}" width="{wide:.1}" height="{}" fill="{colour}"/>"#,
            y + 3.0,
            ROW - 6.0
        )
    };
    let own = || {
        outcome
            .moments
            .iter()
            .filter(|moment| moment.robot == Some(row))
    };
    let mut since = None;
    for moment in own() {
        match moment.what {
            Happening::Starts => since = since.or(Some(moment.at)),
            Happening::Ends => {
                if let Some(from) = since.take() {
                    bar(from, moment.at, "#cfe8d8")?;
                }
            }
            _ => {}
        }
    }
    if let Some(from) = since {
        bar(from, outcome.report.took, "#cfe8d8")?;
    }
    for moment in own() {
        match moment.what {
            Happening::Sleeps(until) => bar(moment.at, until, "#9a9a9a")?,
            Happening::CutOff(until) => bar(moment.at, until, "#f0c27a")?,
            _ => {}
        }
    }
    Ok(())
}

/// Requests and moves.
fn marks(
    outcome: &Outcome,
    row: usize,
    y: f64,
    x: &impl Fn(u64) -> f64,
    svg: &mut String,
) -> std::fmt::Result {
    let requests: Vec<u64> = (outcome.requests.iter())
        .filter(|(_, robot, _)| *robot == row)
        .map(|(at, ..)| *at)
        .collect();
    let every = requests.len() / MOST_TICKS + 1;
    let ticks = requests
        .iter()
        .step_by(every)
        .map(|at| (*at, "#0072b2", 7.0, ROW - 7.0));
    let moves =
        (outcome.moments.iter().filter(|m| m.robot == Some(row))).filter_map(|moment| match moment
            .what
        {
            Happening::Opens => Some((moment.at, "#009e73", 1.0, 6.0)),
            Happening::Hands => Some((moment.at, "#d55e00", ROW - 6.0, ROW - 1.0)),
            _ => None,
        });
    for (at, colour, from, to) in ticks.chain(moves) {
        let at = x(at);
        writeln!(
            svg,
            r#"<line x1="{at:.1}" y1="{}" x2="{at:.1}" y2="{}" stroke="{colour}"/>"#,
            y + from,
            y + to
        )?;
    }
    Ok(())
}

fn axis(took: u64, bottom: f64, x: &impl Fn(u64) -> f64, svg: &mut String) -> std::fmt::Result {
    let steps = [
        1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400,
    ];
    let step = steps
        .into_iter()
        .find(|step| took / 1_000 / step <= 12)
        .unwrap_or(864_000);
    for second in (0..=took / 1_000).step_by(step as usize) {
        let at = x(second * 1_000);
        writeln!(
            svg,
            r##"<line x1="{at:.1}" y1="{bottom}" x2="{at:.1}" y2="{}" stroke="#555555"/><text x="{at:.1}" y="{}" text-anchor="middle">{second}</text>"##,
            bottom + 5.0,
            bottom + 20.0
        )?;
    }
    writeln!(
        svg,
        r#"<text x="{}" y="{}" text-anchor="middle">seconds of virtual time</text>"#,
        LEFT + PLOT / 2.0,
        bottom + 42.0
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars().filter(|c| !c.is_control()) {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}
