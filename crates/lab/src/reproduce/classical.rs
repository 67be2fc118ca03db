//! The three classical synchronisation orders: closed forms against simulation.

use super::lab::{Lab, Question, Record, find, line, over_seeds};
use super::outcome::{Outcome, freshness_chart};
use super::verdict::{Band, Estimate, Figure, POINTS, Relation, Source, Verdict};
use anyhow::Result;
use desk::chart::{Chart, Line, Scale, Stroke};
use freshness::allocate::{Allocation, Pages, Problem, allocate};
use freshness::measure;
use simulation::generate::{Parameters, PowerLaw, generate};
use simulation::knowledge;
use simulation::sweep::Budget;
use simulation::world::{Changes, Observe, World};
use std::fmt::Write;
use std::sync::Arc;

type ClosedForm = fn(f64, f64) -> f64;

const ORDERS: [(&str, ClosedForm); 3] = [
    ("fixed-order", measure::evenly_spaced),
    ("random-order", measure::random_order),
    ("purely-random", measure::purely_random),
];
const ALLOCATIONS: [Allocation; 3] = [
    Allocation::Uniform,
    Allocation::Proportional,
    Allocation::Cho,
];
/// Visits per change.
const BUDGETS: [f64; 3] = [0.25, 1.0, 4.0];
/// Simulation and closed form agree when they differ by less than this.
const TOLERANCE: f64 = 0.005;
/// Visits to the average page in the time simulated.
const VISITS_PER_PAGE: f64 = 400.0;

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let pages = if lab.quick { 1_000 } else { 3_000 };
    let seeds: Vec<u64> = lab.seeds().collect();
    let rate = generate(&Parameters {
        pages,
        servers: 1,
        rates: PowerLaw {
            exponent: 0.5,
            least: 0.1,
            most: 10.0,
        },
        never_changing: 0.0,
        seed: lab.seed,
        ..Parameters::default()
    })
    .rate;
    let changes: f64 = rate.iter().sum();
    let policies: Vec<String> = ORDERS
        .iter()
        .flat_map(|(order, _)| ALLOCATIONS.map(|a| format!("{order}-{}", a.name())))
        .collect();
    let policies: Vec<&str> = policies.iter().map(String::as_str).collect();
    let (mut records, mut cells): (Vec<Record>, Vec<Cell>) = (Vec::new(), Vec::new());
    for budget in BUDGETS {
        let world = Arc::new(World {
            server: vec![0; pages],
            delay: vec![0.0],
            weight: None,
            changes: Changes::Poisson(rate.clone()),
            from: 0.0,
            until: VISITS_PER_PAGE * pages as f64 / (budget * changes),
        });
        for &seed in &seeds {
            records.extend(lab.seeded(seed).ask(&Question {
                data: "generated",
                policies: &policies,
                budgets: &[(budget.to_string(), Budget::PerDay(budget * changes))],
                knowledge: knowledge::Source::Hindsight,
                observe: Observe::LastModified,
                runs: 1,
                world: &|_| Ok(Arc::clone(&world)),
            })?);
        }
        for allocation in ALLOCATIONS {
            let problem = Problem {
                pages: Pages {
                    rate: &rate,
                    weight: None,
                },
                server: &world.server,
                caps: &[f64::INFINITY],
                budget: budget * changes,
            };
            let plan = allocate(&problem, allocation)?;
            for (order, closed) in ORDERS {
                let each = rate.iter().zip(&plan.frequency);
                let sum: f64 = each.map(|(&rate, &f)| closed(rate, f)).sum();
                let policy = format!("{order}-{}", allocation.name());
                let simulated = over_seeds(&records, |own| {
                    find(own, &budget.to_string(), &policy).final_freshness
                });
                cells.push(Cell {
                    order,
                    allocation,
                    budget,
                    closed: sum / pages as f64,
                    simulated,
                });
            }
        }
    }
    Ok(Outcome {
        title: "Classical synchronisation orders: closed forms against simulation",
        data: format!(
            "generated: {pages} pages on one server without politeness, Poisson changes, rates a \
             power law from 0.1 to 10 a day; {VISITS_PER_PAGE} visits to the average page, {} runs of each",
            seeds.len()
        ),
        seed: lab.seed,
        relations: relations(&cells),
        charts: charts(&records, &table(&cells))?,
        records,
        files: vec![("closed-forms.csv".to_owned(), table(&cells))],
        notes: vec![
            "The closed form of random order supposes rounds with one visit to each page. Where \
             frequencies differ, pages visited more often than the average have several visits at \
             random places of a round, which is worse than the form, and the others none in some \
             rounds."
                .to_owned(),
        ],
    })
}

/// One order, allocation and budget.
struct Cell {
    order: &'static str,
    allocation: Allocation,
    budget: f64,
    closed: f64,
    simulated: Estimate,
}

fn relations(cells: &[Cell]) -> Vec<Relation> {
    let mut relations = Vec::new();
    for (order, _) in ORDERS {
        for (is_uniform, words) in [(true, "uniform"), (false, "non-uniform")] {
            let own: Vec<&Cell> = cells
                .iter()
                .filter(|c| c.order == order && (c.allocation == Allocation::Uniform) == is_uniform)
                .collect();
            let off = |cell: &&Cell| {
                let label = format!("{} {}", cell.allocation.name(), cell.budget);
                let difference = Estimate {
                    mean: cell.simulated.mean - cell.closed,
                    ..cell.simulated
                };
                Figure::new(label, difference, Band::around(0.0, TOLERANCE))
            };
            relations.push(Relation::judged(
                Source::Published,
                format!("the closed form of {order}, {words} allocation (simulation − form)"),
                POINTS,
                &own.iter().map(off).collect::<Vec<_>>(),
            ));
        }
    }
    let of = |order: &str, allocation: Allocation, budget: f64| {
        let same = |c: &&Cell| c.order == order && c.allocation == allocation && c.budget == budget;
        let found = cells.iter().find(same);
        found
            .expect("every order was run at every budget")
            .simulated
    };
    let ordered = BUDGETS.iter().all(|&budget| {
        let value = |order| of(order, Allocation::Uniform, budget);
        let ahead = |a, b| {
            let difference = value(a).minus(value(b));
            difference.mean > difference.half
        };
        ahead("fixed-order", "random-order") && ahead("random-order", "purely-random")
    });
    relations.push(Relation::new(
        Source::Published,
        "fixed order beats random order, which beats purely random (by more than the interval)",
        if ordered {
            "at all budgets"
        } else {
            "not at all budgets"
        },
        Verdict::of(ordered),
    ));
    let behind = |budget: f64| {
        let value = |allocation| of("fixed-order", allocation, budget);
        let behind = value(Allocation::Uniform).minus(value(Allocation::Proportional));
        Figure::new(budget.to_string(), behind, Band::at_least(0.0))
    };
    relations.push(Relation::judged(
        Source::Published,
        "visits in proportion to change rates are worse than uniform ones (uniform − proportional, fixed order)",
        POINTS,
        &BUDGETS.map(behind),
    ));
    relations
}

fn table(cells: &[Cell]) -> String {
    let mut text =
        "order,allocation,visits_per_change,closed_form,simulated,simulated_ci95\n".to_owned();
    for c in cells {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{},{},{},{:.6},{:.6},{:.6}",
            c.order,
            c.allocation.name(),
            c.budget,
            c.closed,
            c.simulated.mean,
            c.simulated.half
        );
    }
    text
}

/// The plots of these rows and closed forms, which is a table as kept.
pub fn charts(records: &[Record], forms: &str) -> Result<Vec<(String, Chart)>> {
    let forms: Vec<ClosedRow> = csv::Reader::from_reader(forms.as_bytes())
        .into_deserialize()
        .collect::<Result<_, _>>()?;
    Ok(vec![("uniform".to_owned(), chart(records, &forms))])
}

/// What a row of the table says of closed forms.
#[derive(serde::Deserialize)]
struct ClosedRow {
    order: String,
    allocation: String,
    visits_per_change: f64,
    closed_form: f64,
}

fn chart(records: &[Record], forms: &[ClosedRow]) -> Chart {
    let mut lines = Vec::new();
    for (order, _) in ORDERS {
        let point = |r: &Record| (r.budget.parse().unwrap_or(0.0), r.final_freshness);
        let policy = format!("{order}-uniform");
        let name = format!("{order}, simulated");
        lines.push(line(name, records, &policy, point, Stroke::Solid));
        let own = (forms.iter()).filter(|form| form.order == order && form.allocation == "uniform");
        lines.push(Line {
            name: format!("{order}, closed form"),
            points: own
                .map(|form| (form.visits_per_change, form.closed_form))
                .collect(),
            stroke: Stroke::Dotted,
            errors: Vec::new(),
        });
    }
    freshness_chart(
        "Uniform allocation".to_owned(),
        "visits per change",
        Scale::Logarithmic,
        lines,
    )
}
