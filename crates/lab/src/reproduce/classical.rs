//! The three classical synchronisation orders: closed forms against simulation.

use super::lab::{Lab, Question, Record, find, line};
use super::outcome::{Outcome, freshness_chart};
use super::verdict::{Relation, Verdict, points};
use anyhow::Result;
use desk::chart::{Line, Scale, Stroke};
use freshness::allocate::{Allocation, Pages, Problem, allocate};
use freshness::measure;
use simulation::generate::{Parameters, PowerLaw, generate};
use simulation::knowledge::Source;
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
    let runs = if lab.quick { 1 } else { 5 };
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
    let (mut records, mut cells) = (Vec::new(), Vec::new());
    for budget in BUDGETS {
        let world = Arc::new(World {
            server: vec![0; pages],
            delay: vec![0.0],
            weight: None,
            changes: Changes::Poisson(rate.clone()),
            from: 0.0,
            until: VISITS_PER_PAGE * pages as f64 / (budget * changes),
        });
        records.extend(lab.ask(&Question {
            data: "generated",
            policies: &policies,
            budgets: &[(budget.to_string(), Budget::PerDay(budget * changes))],
            knowledge: Source::Hindsight,
            observe: Observe::LastModified,
            runs,
            world: &|_| Ok(Arc::clone(&world)),
        })?);
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
                let simulated = find(&records, &budget.to_string(), &policy).final_freshness;
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
             power law from 0.1 to 10 a day; {VISITS_PER_PAGE} visits to the average page, {runs} run(s) of each"
        ),
        seed: lab.seed,
        relations: relations(&cells),
        charts: vec![("uniform".to_owned(), chart(&records, &cells))],
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
    simulated: f64,
}

fn relations(cells: &[Cell]) -> Vec<Relation> {
    let mut relations = Vec::new();
    for (order, _) in ORDERS {
        for (is_uniform, words) in [(true, "uniform"), (false, "non-uniform")] {
            let own: Vec<&Cell> = cells
                .iter()
                .filter(|c| c.order == order && (c.allocation == Allocation::Uniform) == is_uniform)
                .collect();
            let off = |cell: &&Cell| cell.simulated - cell.closed;
            let worst = own.iter().map(|cell| off(cell).abs()).fold(0.0, f64::max);
            let labels: Vec<String> = own
                .iter()
                .map(|cell| format!("{} {}", cell.allocation.name(), cell.budget))
                .collect();
            let differences = labels.iter().map(String::as_str).zip(own.iter().map(off));
            relations.push(Relation::new(
                format!("the closed form of {order}, {words} allocation"),
                format!("simulation − form: {}", points(differences)),
                Verdict::graded(worst < TOLERANCE, worst < 4.0 * TOLERANCE),
            ));
        }
    }
    let of = |order: &str, allocation: Allocation, budget: f64| {
        let same = |c: &&Cell| c.order == order && c.allocation == allocation && c.budget == budget;
        cells.iter().find(same).map_or(f64::NAN, |c| c.simulated)
    };
    let ordered = BUDGETS.iter().all(|&budget| {
        let value = |order| of(order, Allocation::Uniform, budget);
        value("fixed-order") > value("random-order")
            && value("random-order") > value("purely-random")
    });
    relations.push(Relation::new(
        "fixed order beats random order, which beats purely random",
        if ordered {
            "at all budgets"
        } else {
            "not at all budgets"
        },
        Verdict::of(ordered),
    ));
    let behind: Vec<f64> = BUDGETS
        .iter()
        .map(|&budget| {
            let value = |allocation| of("fixed-order", allocation, budget);
            value(Allocation::Uniform) - value(Allocation::Proportional)
        })
        .collect();
    let labels = BUDGETS.map(|budget| budget.to_string());
    relations.push(Relation::new(
        "visits in proportion to change rates are worse than uniform ones",
        format!(
            "uniform − proportional, fixed order: {}",
            points(
                labels
                    .iter()
                    .map(String::as_str)
                    .zip(behind.iter().copied())
            )
        ),
        Verdict::of(behind.iter().all(|&points| points > 0.0)),
    ));
    relations
}

fn table(cells: &[Cell]) -> String {
    let mut text = "order,allocation,visits_per_change,closed_form,simulated\n".to_owned();
    for c in cells {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{},{},{},{:.6},{:.6}",
            c.order,
            c.allocation.name(),
            c.budget,
            c.closed,
            c.simulated
        );
    }
    text
}

fn chart(records: &[Record], cells: &[Cell]) -> desk::chart::Chart {
    let mut lines = Vec::new();
    for (order, _) in ORDERS {
        let point = |r: &Record| (r.budget.parse().unwrap_or(0.0), r.final_freshness);
        let policy = format!("{order}-uniform");
        let name = format!("{order}, simulated");
        lines.push(line(name, records, &policy, point, Stroke::Solid));
        let own = cells
            .iter()
            .filter(|c| c.order == order && c.allocation == Allocation::Uniform);
        lines.push(Line {
            name: format!("{order}, closed form"),
            points: own.map(|c| (c.budget, c.closed)).collect(),
            stroke: Stroke::Dotted,
        });
    }
    freshness_chart(
        "Uniform allocation".to_owned(),
        "visits per change",
        Scale::Logarithmic,
        lines,
    )
}
