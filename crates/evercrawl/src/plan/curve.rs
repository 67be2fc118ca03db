//! `curve.svg`: what more or fewer visits would buy.

use super::choice::Choice;
use crate::new_file::NewFile;
use crate::terminal::{progress, short};
use anyhow::{Context, Result};
use desk::chart::{Axis, Chart, Line, Mark, Scale, Stroke};
use std::io::Write;
use std::path::Path;

/// Budgets drawn, evenly apart in logarithms.
const POINTS: usize = 33;
/// How far the curve reaches to both sides of the budget.
const REACH: f64 = 30.0;

/// Draws freshness against budget for the chosen allocations and those that reach the
/// two bounds. `value` gives the
/// freshness that a choice reaches with a budget.
pub fn draw(
    path: &Path,
    choices: &[Choice],
    (impolite, polite): (Choice, Choice),
    budget: f64,
    capacity: f64,
    value: &impl Fn(Choice, f64) -> Result<f64>,
) -> Result<()> {
    // a budget of zero has no logarithm; one visit a day is as good a middle as any
    let middle = if budget > 0.0 {
        budget
    } else {
        capacity.min(1.0)
    };
    let ends = (middle / REACH, capacity.min(middle * REACH));
    let budgets = spread(ends, middle);
    let bar = progress(
        "drawing curve",
        (budgets.len() * (choices.len() + 2)) as u64,
        false,
    );
    let points = |choice| -> Result<Vec<(f64, f64)>> {
        budgets
            .iter()
            .map(|&budget| {
                bar.inc(1);
                Ok((budget, value(choice, budget)?))
            })
            .collect()
    };
    let mut lines = Vec::new();
    let bounds: &[_] = if capacity.is_finite() {
        &[
            ("impolite bound", vec![impolite], Stroke::Dashed),
            ("polite bound", vec![polite], Stroke::Dotted),
        ]
    } else {
        // without politeness both bounds are the same
        &[("both bounds", vec![impolite, polite], Stroke::Dashed)]
    };
    for (name, reached_by, stroke) in bounds {
        let also = choices.iter().filter(|choice| reached_by.contains(choice));
        let names: Vec<String> = also.map(Choice::to_string).collect();
        lines.push(Line {
            name: match names.len() {
                0 => (*name).to_owned(),
                _ => format!("{name} = {}", names.join(", ")),
            },
            points: points(reached_by[0])?,
            // what was chosen stands out
            stroke: if names.is_empty() {
                *stroke
            } else {
                Stroke::Solid
            },
            errors: Vec::new(),
        });
    }
    let others = choices
        .iter()
        .filter(|choice| !bounds.iter().any(|(_, by, _)| by.contains(choice)));
    for &choice in others {
        lines.push(Line {
            name: if capacity.is_finite() && !choice.is_polite() {
                format!("{choice} (impolite)")
            } else {
                choice.to_string()
            },
            points: points(choice)?,
            stroke: Stroke::Solid,
            errors: Vec::new(),
        });
    }
    bar.finish_and_clear();

    let lowest = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|&(_, freshness)| freshness)
        .fold(1.0, f64::min);
    let chart = Chart {
        title: "Freshness against budget".to_owned(),
        x: Axis {
            label: "budget (visits per day)".to_owned(),
            scale: Scale::Logarithmic,
            range: ends,
        },
        y: Axis {
            label: "freshness".to_owned(),
            scale: Scale::Linear,
            // from zero unless that would waste most of the picture
            range: (
                if lowest < 0.5 {
                    0.0
                } else {
                    (lowest * 10.0).floor() / 10.0
                },
                1.0,
            ),
        },
        lines,
        mark: (budget > 0.0).then(|| Mark {
            x: budget,
            label: format!("{} visits/day", short(budget)),
        }),
    };
    let mut file = NewFile::create(path)?;
    file.write_all(chart.to_svg().as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.finish()
}

/// Budgets evenly apart in logarithms, the middle one among them.
fn spread((least, most): (f64, f64), middle: f64) -> Vec<f64> {
    let step = (most / least).ln() / (POINTS - 1) as f64;
    let mut budgets: Vec<f64> = (0..POINTS)
        .map(|k| (least * (step * k as f64).exp()).min(most))
        .collect();
    budgets.push(middle);
    budgets.sort_by(f64::total_cmp);
    budgets.dedup_by(|a, b| *a / *b - 1.0 < 1e-9);
    budgets
}
