//! What `fit` tells: a table for people, and a page with pictures.

use super::findings::{Class, Findings};
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use desk::html;
use desk::terminal::{self, grouped, short};
use std::fmt::Write;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

fn percent(share: f64) -> String {
    if share.is_nan() {
        return "–".to_owned();
    }
    format!("{:.0} %", 100.0 * share)
}

fn summary(findings: &Findings) -> String {
    let rates = &findings.rates;
    let watched = findings.watched.as_ref().map_or_else(String::new, |seen| {
        format!(
            " Seen by {} visits: a change lies between two of them, {} are dated by their server; {} \
             pages visited less than twice are left out. Hours and days are those of the {} changes \
             whose time is known to the hour.",
            grouped(seen.visits),
            grouped(seen.dated),
            grouped(seen.once),
            grouped(seen.timed)
        )
    });
    format!(
        "{} items, of which {} change; {} changes in {:.0} days. Changes a day of an item that \
         changes: median {}, a tenth below {}, a tenth above {}, mean {}; deviation of the logarithm \
         {:.2}, exponent of the upper tail {:.2}. Daily rhythm {:.2} (0 none, 1 all at one time of day).{watched}",
        grouped(findings.items),
        grouped(findings.changing),
        grouped(findings.changes),
        findings.days,
        short(rates.median),
        short(rates.p10),
        short(rates.p90),
        short(rates.mean),
        rates.log_deviation,
        rates.tail_exponent,
        findings.rhythm.daily
    )
}

/// What the classes of rates say, in a line each for every family.
fn model_rows(findings: &Findings) -> Vec<[String; 8]> {
    let of_class = |class: &Class| -> Vec<[String; 8]> {
        let row = |model: &super::findings::Model| {
            [
                format!("{} to {}", class.from, class.below - 1),
                grouped(class.items),
                grouped(class.fitted),
                if class.variation.is_nan() {
                    "–".to_owned()
                } else {
                    format!("{:.2}", class.variation)
                },
                percent(class.within_hour),
                model.family.clone(),
                percent(model.rejected),
                percent(model.best),
            ]
        };
        class.models.iter().map(row).collect()
    };
    findings.classes.iter().flat_map(of_class).collect()
}

const MODEL_COLUMNS: [(&str, bool); 8] = [
    ("changes", true),
    ("items", false),
    ("fitted", false),
    ("gap CV", false),
    ("under 1 h", false),
    ("model", true),
    ("rejected at 1 %", false),
    ("best by AIC", false),
];

const CONCENTRATION_COLUMNS: [(&str, bool); 5] = [
    ("of", true),
    ("count", false),
    ("by the top 1 %", false),
    ("by the top 10 %", false),
    ("Gini", false),
];

fn concentration_rows(findings: &Findings) -> Vec<[String; 5]> {
    let rows = findings.concentration.iter().map(|found| {
        [
            found.of.to_owned(),
            grouped(found.count),
            percent(found.top_hundredth),
            percent(found.top_tenth),
            format!("{:.3}", found.gini),
        ]
    });
    rows.collect()
}

/// For people.
pub fn text(findings: &Findings) -> String {
    let hours: Vec<String> = (findings.rhythm.hours.iter())
        .map(|share| format!("{:.1}", 100.0 * share))
        .collect();
    let days: Vec<String> = (DAYS.iter().zip(&findings.rhythm.weekdays))
        .map(|(day, share)| format!("{day} {:.1}", 100.0 * share))
        .collect();
    format!(
        "{}\n\n{}\n{}\nchanges by hour (UTC), %: {}\nchanges by day, %: {}\n",
        summary(findings),
        terminal::table(&MODEL_COLUMNS, &model_rows(findings)),
        terminal::table(&CONCENTRATION_COLUMNS, &concentration_rows(findings)),
        hours.join(" "),
        days.join(", ")
    )
}

/// A page with pictures.
pub fn html(name: &str, findings: &Findings) -> String {
    let subject = format!("{name}: {}", summary(findings));
    html::page("What kind of changes are these?", &subject, None, |page| {
        html::table(page, MODEL_COLUMNS, model_rows(findings).into_iter())?;
        html::table(
            page,
            CONCENTRATION_COLUMNS,
            concentration_rows(findings).into_iter(),
        )?;
        for chart in [rates(findings), variation(findings), hours(findings)] {
            writeln!(page, "{}", chart.to_svg())?;
        }
        Ok(())
    })
}

fn axis(label: &str, scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Axis {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(0.0, f64::max);
    let range = match scale {
        Scale::Linear => (0.0, high * 1.05),
        Scale::Logarithmic => (low.max(1e-9), high.max(low * 1.001)),
    };
    Axis {
        label: label.to_owned(),
        scale,
        range,
    }
}

fn drawn(title: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Chart {
    Chart {
        title: title.to_owned(),
        x,
        y,
        lines,
        mark: None,
    }
}

fn rates(findings: &Findings) -> Chart {
    let curve = &findings.rates.curve;
    drawn(
        "How often items change",
        axis(
            "changes a day",
            Scale::Logarithmic,
            curve.iter().map(|p| p.0),
        ),
        axis(
            "share of items that change more often",
            Scale::Logarithmic,
            curve.iter().map(|p| p.1),
        ),
        vec![Line {
            name: "items".to_owned(),
            points: curve.clone(),
            stroke: Stroke::Solid,
            errors: Vec::new(),
        }],
    )
}

/// Models against how often items change.
fn variation(findings: &Findings) -> Chart {
    let middle = |class: &Class| (class.from as f64 * class.below as f64).sqrt();
    let names = findings
        .classes
        .first()
        .map_or(&[][..], |class| &class.models);
    let lines = names.iter().enumerate().map(|(k, model)| Line {
        name: model.family.clone(),
        points: (findings.classes.iter())
            .map(|class| (middle(class), class.models[k].rejected))
            .collect(),
        stroke: Stroke::Solid,
        errors: Vec::new(),
    });
    drawn(
        "Items for which a model is rejected at 1 %",
        axis(
            "changes of an item",
            Scale::Logarithmic,
            findings.classes.iter().map(middle),
        ),
        Axis {
            label: "share of items".to_owned(),
            scale: Scale::Linear,
            range: (0.0, 1.0),
        },
        lines.collect(),
    )
}

fn hours(findings: &Findings) -> Chart {
    let hours = &findings.rhythm.hours;
    drawn(
        "Changes by hour of the day",
        Axis {
            label: "hour, UTC".to_owned(),
            scale: Scale::Linear,
            range: (0.0, 23.0),
        },
        axis("share of changes", Scale::Linear, hours.iter().copied()),
        vec![Line {
            name: "changes".to_owned(),
            points: (0..)
                .zip(hours)
                .map(|(hour, &share)| (f64::from(hour), share))
                .collect(),
            stroke: Stroke::Solid,
            errors: Vec::new(),
        }],
    )
}
