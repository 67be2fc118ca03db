//! The report: one HTML file with everything in it.

use super::output::{COLUMNS, PARTIAL, Summary, cells};
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use desk::html;
use desk::terminal::short;
use simulation::sweep::Row;
use std::fmt::{self, Write};

/// More lines than this cannot be told apart.
const MOST_LINES: usize = 8;

/// The whole file.
pub fn html(summary: &Summary) -> String {
    html::page(
        "Freshness of a simulated repository",
        &summary.subject(),
        summary.partial.then_some(PARTIAL),
        |page| write(page, summary),
    )
}

fn write(page: &mut String, summary: &Summary) -> fmt::Result {
    writeln!(page, "<h2>Policies</h2>")?;
    html::table(page, COLUMNS, summary.results.iter().map(cells))?;
    writeln!(
        page,
        "<p>“Of bound” is the freshness as a part of the most that any polite policy reaches when \
         changes are Poisson at the pages’ mean rates. Where changes are not Poisson this is no \
         bound, only a yardstick.</p>"
    )?;
    let budgets = budgets(&summary.results);
    if !budgets.is_empty() {
        writeln!(page, "<h2>Freshness against budget</h2>")?;
        page.push_str(&against_budget(summary, &budgets).to_svg());
        writeln!(page, "<h2>Freshness over time</h2>")?;
        for &budget in &budgets {
            page.push_str(&over_time(summary, budget).to_svg());
        }
        writeln!(page, "<h2>Cost of a selection</h2>")?;
        costs(page, summary)?;
    }
    Ok(())
}

/// The budgets that have results, ascending.
fn budgets(rows: &[Row]) -> Vec<f64> {
    let mut budgets: Vec<f64> = rows.iter().map(|row| row.budget_per_day).collect();
    budgets.sort_by(f64::total_cmp);
    budgets.dedup();
    budgets
}

/// The policies that are drawn, freshest first, and what to say when others are not.
fn drawn(rows: &[&Row]) -> (Vec<String>, String) {
    let mut names: Vec<(String, f64)> = Vec::new();
    for row in rows {
        match names.iter_mut().find(|(name, _)| *name == row.policy) {
            Some((_, sum)) => *sum += row.freshness,
            None => names.push((row.policy.clone(), row.freshness)),
        }
    }
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let note = if names.len() > MOST_LINES {
        format!(" (the freshest {MOST_LINES} of {})", names.len())
    } else {
        String::new()
    };
    let names = names.into_iter().take(MOST_LINES).map(|(name, _)| name);
    (names.collect(), note)
}

fn against_budget(summary: &Summary, budgets: &[f64]) -> Chart {
    let rows: Vec<&Row> = summary.results.iter().collect();
    let (names, note) = drawn(&rows);
    let line = |name: String, stroke, keep: &dyn Fn(&Row) -> bool, value: &dyn Fn(&Row) -> f64| {
        let mut kept: Vec<&&Row> = rows.iter().filter(|row| keep(row)).collect();
        kept.sort_by(|a, b| a.budget_per_day.total_cmp(&b.budget_per_day));
        kept.dedup_by_key(|row| row.budget_per_day);
        let mut points: Vec<(f64, f64)> =
            (kept.iter().map(|row| (row.budget_per_day, value(row)))).collect();
        let errors = match stroke {
            Stroke::Solid => kept.iter().map(|row| row.freshness_ci95).collect(),
            Stroke::Dashed | Stroke::Dotted => Vec::new(),
        };
        if stroke != Stroke::Solid
            && let &[(budget, value)] = points.as_slice()
        {
            // a bound at a single point shows as a dash
            points = vec![(budget * 0.9, value), (budget * 1.1, value)];
        }
        Line {
            name,
            points,
            stroke,
            errors,
        }
    };
    let all = |_: &Row| true;
    let mut lines = vec![
        line("impolite bound".to_owned(), Stroke::Dotted, &all, &|row| {
            row.bound_impolite
        }),
        line("polite bound".to_owned(), Stroke::Dashed, &all, &|row| {
            row.bound_polite
        }),
    ];
    for name in names {
        let own = |row: &Row| row.policy == name;
        lines.push(line(name.clone(), Stroke::Solid, &own, &|row| {
            row.freshness
        }));
    }
    let (least, most) = (budgets[0], budgets[budgets.len() - 1]);
    let range = if budgets.len() == 1 {
        (least * 0.5, most * 1.5)
    } else {
        (least, most)
    };
    let scale = if most > 20.0 * least {
        Scale::Logarithmic
    } else {
        Scale::Linear
    };
    Chart {
        title: format!("Freshness against budget{note}"),
        x: Axis {
            label: "visits per day".to_owned(),
            scale,
            range,
        },
        y: freshness_axis(&lines),
        lines,
        mark: None,
    }
}

fn over_time(summary: &Summary, budget: f64) -> Chart {
    let rows: Vec<&Row> = summary
        .results
        .iter()
        .filter(|row| row.budget_per_day == budget)
        .collect();
    let (names, note) = drawn(&rows);
    let mut longest: f64 = 0.0;
    let mut lines = Vec::new();
    for name in names {
        for row in rows.iter().filter(|row| row.policy == name) {
            longest = longest.max(row.simulated_days);
            let window = row.simulated_days / row.series.len() as f64;
            let points = (row.series.iter().enumerate())
                .map(|(k, &freshness)| ((k as f64 + 0.5) * window, freshness));
            lines.push(Line {
                name: name.clone(),
                points: points.collect(),
                stroke: Stroke::Solid,
                errors: Vec::new(),
            });
        }
    }
    Chart {
        title: format!("Freshness over time at {} visits/day{note}", short(budget)),
        x: Axis {
            label: "days (first run)".to_owned(),
            scale: Scale::Linear,
            range: (0.0, longest),
        },
        y: freshness_axis(&lines),
        lines,
        mark: None,
    }
}

/// From a round value below all points to a round value above them.
fn freshness_axis(lines: &[Line]) -> Axis {
    let values = || {
        lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.1)
    };
    let low = values().fold(1.0, f64::min);
    let high = values().fold(0.0, f64::max);
    Axis {
        label: "freshness".to_owned(),
        scale: Scale::Linear,
        range: (
            (low * 20.0).floor() / 20.0,
            (high * 20.0).ceil().max(1.0) / 20.0,
        ),
    }
}

fn costs(page: &mut String, summary: &Summary) -> fmt::Result {
    let cost = |row: &Row| row.ns_per_selection.unwrap_or(0.0);
    let most = summary.results.iter().map(cost).fold(0.0, f64::max);
    if most == 0.0 {
        return writeln!(page, "<p>Times were left out.</p>");
    }
    writeln!(
        page,
        "<div class=\"scroll\"><table><tr><th class=\"text\">policy</th><th>budget/day</th>\
         <th>ns</th><th class=\"text\"></th></tr>"
    )?;
    for row in &summary.results {
        writeln!(
            page,
            "<tr><td class=\"text\">{}</td><td>{}</td><td>{:.0}</td><td class=\"text\">\
             <span class=\"bar\" style=\"width:{:.1}em\"></span></td></tr>",
            html::escape(&row.policy),
            short(row.budget_per_day),
            cost(row),
            20.0 * cost(row) / most
        )?;
    }
    writeln!(page, "</table></div>")
}
