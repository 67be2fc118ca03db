//! Freshness of encyclopedia articles on one server, by their real edits or by generated ones.

use super::histories::{Burstiness, articles};
use super::lab::{Lab, Question, Record, find, line, recorded};
use super::outcome::{Outcome, freshness_chart};
use super::verdict::{Relation, Verdict, points};
use anyhow::Result;
use desk::chart::{Chart, Scale, Stroke};
use desk::terminal::grouped;
use freshness::fit::{Family, fit_all};
use simulation::knowledge::{Known, Source};
use simulation::sweep::Budget;
use simulation::world::{Observe, World};
use std::sync::Arc;

/// Articles with fewer changes in the year are left out.
pub const LEAST_CHANGES: usize = 300;
const YEAR: f64 = 365.0;
const JANUARY: f64 = 31.0;
/// The published politeness is for so many articles; fewer get as many visits each.
const PUBLISHED_ARTICLES: f64 = 10_000.0;
const PUBLISHED_POLITENESS_DAYS: f64 = 15.0 / 86_400.0;
const SHARES: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];
const HINDSIGHT: [&str; 6] = [
    "merge-wolf",
    "per-page-wolf",
    "random-wolf",
    "greedy",
    "merge-cho",
    "uniform",
];
/// Rejected at this level.
const LEVEL: f64 = 0.01;

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let (mut world, source) = match lab.traces.first() {
        Some(trace) => (
            recorded(trace, Some(YEAR), LEAST_CHANGES)?,
            format!("recorded: {}, its last 365 days", trace.name),
        ),
        None => (
            articles(if lab.quick { 40 } else { 75 }, lab.seed)?,
            format!(
                "generated bursty histories calibrated to a real one ({})",
                Burstiness::WIKIPEDIA.words()
            ),
        ),
    };
    let count = world.pages();
    let politeness = PUBLISHED_POLITENESS_DAYS * PUBLISHED_ARTICLES / count as f64;
    world.server = vec![0; count];
    world.delay = vec![politeness];
    let world = Arc::new(world);
    let budgets = SHARES.map(|share| (label(share), Budget::Share(share)));
    let runs = if lab.quick { 2 } else { 5 };
    let ask = |data: &str, policies: &[&str], knowledge| {
        lab.ask(&Question {
            data,
            policies,
            budgets: &budgets,
            knowledge,
            observe: Observe::LastModified,
            runs,
            world: &|_| Ok(Arc::clone(&world)),
        })
    };
    let hindsight = ask("year", &HINDSIGHT, Source::Hindsight)?;
    let january = Source::Trained {
        from: world.from,
        until: world.from + JANUARY,
    };
    let trained = ask("first month", &["merge-wolf"], january)?;
    let online = ask("visits", &["default"], Source::Online)?;
    let mut relations = vec![fits(&world)];
    relations.extend(compare(count, &hindsight, &trained, &online));
    let chart = chart(&hindsight, &trained, &online);
    Ok(Outcome {
        title: "Freshness of encyclopedia articles by their edits",
        data: format!(
            "{source}: {} articles with at least {LEAST_CHANGES} changes, {}; one server, {:.0} s \
             of politeness, which allows as many visits an article as 15 s do for 10,000 articles",
            grouped(count),
            Burstiness::of(&world).words(),
            politeness * 86_400.0
        ),
        seed: lab.seed,
        relations,
        records: [hindsight, trained, online].concat(),
        files: Vec::new(),
        charts: vec![("freshness".to_owned(), chart)],
        notes: vec![
            "MERGE, RANDOM and the impolite optimum (each article evenly spaced from a random \
             offset) use the allocation WOLF by the true gaps of the year; `trained` by those of \
             its first month; GREEDY knows the gaps of the year and sees when an article last \
             changed; `default` knows only what its own visits reveal."
                .to_owned(),
        ],
    })
}

fn label(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Which families the gaps of the ten articles that change most are not of.
fn fits(world: &World) -> Relation {
    let mut gaps = Known::hindsight(world).gaps.unwrap_or_default();
    gaps.sort_by_key(|gaps| std::cmp::Reverse(gaps.len()));
    gaps.truncate(10);
    let fits: Vec<_> = gaps.iter().filter_map(|gaps| fit_all(gaps).ok()).collect();
    let rejected = |family: Family| {
        let rejected = |fit: &&freshness::fit::Fits| {
            fit.of(family)
                .is_none_or(|report| report.ks_p_value < LEVEL)
        };
        fits.iter().filter(rejected).count()
    };
    let families = [
        Family::Pareto,
        Family::Gamma,
        Family::Weibull,
        Family::LogNormal,
        Family::Histogram,
    ];
    let each = families.map(|family| format!("{family} {}", rejected(family)));
    let published = &families[..3];
    Relation::new(
        "inter-change times fit none of Pareto, gamma, Weibull (ten articles of ten)",
        format!(
            "rejected at 1 % by Kolmogorov–Smirnov, of {} articles: {}",
            fits.len(),
            each.join(", ")
        ),
        Verdict::graded(
            published
                .iter()
                .all(|&family| rejected(family) == fits.len()),
            published
                .iter()
                .all(|&family| 2 * rejected(family) >= fits.len()),
        ),
    )
}

fn compare(
    articles: usize,
    hindsight: &[Record],
    trained: &[Record],
    online: &[Record],
) -> Vec<Relation> {
    let labels = SHARES.map(label);
    let minus = |a: (&[Record], &str), b: (&[Record], &str)| -> Vec<f64> {
        let value = |(records, policy), label: &String| find(records, label, policy).freshness;
        labels.iter().map(|l| value(a, l) - value(b, l)).collect()
    };
    let named = |values: &[f64]| {
        points(
            labels
                .iter()
                .map(String::as_str)
                .zip(values.iter().copied()),
        )
    };
    let merge = (hindsight, "merge-wolf");
    let impolite = minus((hindsight, "per-page-wolf"), merge);
    let loss = minus(merge, (trained, "merge-wolf"));
    let greedy = minus(merge, (hindsight, "greedy"));
    let random = minus((hindsight, "random-wolf"), (hindsight, "greedy"));
    let ours = minus((online, "default"), merge);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let cost = |policy: &str| find(hindsight, &labels[4], policy);
    let nanoseconds = |policy: &str| cost(policy).ns_per_selection.unwrap_or(f64::NAN);
    vec![
        Relation::new(
            "MERGE within 0.4 points of the impolite optimum",
            format!("below it by {}", named(&impolite)),
            Verdict::graded(
                impolite.iter().all(|&points| points <= 0.004),
                impolite.iter().all(|&points| points <= 0.02),
            ),
        ),
        Relation::new(
            "MERGE with rates from January only: 2.9 points worse at 20 %, 1.5 at 100 %",
            format!("first month only, worse by {}", named(&loss)),
            Verdict::graded(
                (loss[0] - 0.029).abs() < 0.01 && (loss[4] - 0.015).abs() < 0.01,
                loss.iter().all(|&points| points > 0.0),
            ),
        ),
        Relation::new(
            "MERGE beats GREEDY by 10.30 ± 0.95 points",
            format!("by {} (mean {:.2})", named(&greedy), 100.0 * mean(&greedy)),
            Verdict::graded((mean(&greedy) - 0.103).abs() < 0.03, mean(&greedy) > 0.0),
        ),
        Relation::new(
            "GREEDY is below RANDOM, by up to 2.4 points at 20 %",
            format!("by {}", named(&random)),
            Verdict::graded(
                random.iter().all(|&points| points > 0.0) && random[0] < 0.05,
                random[0] > 0.0,
            ),
        ),
        Relation::new(
            "cost on a 2008 desktop, 10,000 articles: GREEDY 144 ms per selection; MERGE 7 s to \
             allocate, 166 ns per selection",
            format!(
                "{articles} articles: GREEDY {:.0} ns per selection; MERGE {:.3} s to allocate, {:.0} ns \
                 per selection",
                nanoseconds("greedy"),
                cost("merge-wolf").allocation_seconds.unwrap_or(f64::NAN),
                nanoseconds("merge-wolf")
            ),
            Verdict::graded(false, nanoseconds("greedy") > nanoseconds("merge-wolf")),
        ),
        Relation::new(
            "ours, not published: the default policy, which knows only its own visits, against \
             MERGE with WOLF in hindsight",
            format!("ahead by {}", named(&ours)),
            Verdict::of(ours.iter().all(|&points| points >= 0.0)),
        ),
    ]
}

fn chart(hindsight: &[Record], trained: &[Record], online: &[Record]) -> Chart {
    let point = |r: &Record| {
        let share = r.budget.trim_end_matches(" %").parse().unwrap_or(0.0);
        (share, r.freshness)
    };
    let mut lines = vec![
        line("default, online", online, "default", point, Stroke::Solid),
        line(
            "merge-wolf, first month",
            trained,
            "merge-wolf",
            point,
            Stroke::Dotted,
        ),
    ];
    for policy in HINDSIGHT {
        lines.push(line(policy, hindsight, policy, point, Stroke::Dashed));
    }
    freshness_chart(
        "Freshness against budget".to_owned(),
        "budget, % of what politeness allows",
        Scale::Linear,
        lines,
    )
}
