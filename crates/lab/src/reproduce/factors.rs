//! How far RANDOM and MERGE can fall behind evenly spaced visits: worst cases and curves over r.

use super::lab::{Lab, Question, Record, over_seeds};
use super::outcome::Outcome;
use super::verdict::{Band, Figure, PLAIN, Relation, Source};
use anyhow::Result;
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use freshness::measure;
use simulation::knowledge;
use simulation::sweep::Budget;
use simulation::world::{Changes, Observe, World};
use std::fmt::Write;
use std::sync::Arc;

/// Changes per visit at which the curves are drawn: from 0.05 to 50, evenly apart in logarithms.
const STEPS: u32 = 61;
const RANGE: (f64, f64) = (0.05, 50.0);
/// As many neighbours as make a worst case of MERGE that is near its limit.
const NEIGHBOURS: usize = 4_000;
/// Of neighbours for each of the page's own, so that RANDOM's intervals are nearly exponential.
const MANY_SLOTS: f64 = 200.0;
/// Visits to the page that is looked at.
const VISITS: f64 = 4_000.0;
/// Of each case for a seed; their mean is its value.
const RUNS: usize = 20;
/// Of the neighbours: they are visited, and count for nothing.
const NO_WEIGHT: f64 = 1e-12;

/// Of MERGE for a page of `change` changes a slot whose neighbours, each of them rarely visited, have
/// `others` slots for each of its own.
fn merge_factor(change: f64, others: f64) -> f64 {
    let fresh = -(-change + others * (-change).exp_m1()).exp_m1();
    fresh / -(-change * (1.0 + others)).exp_m1()
}

/// The least factor of MERGE at `r` changes per visit, and the neighbours' slots that lead to it.
fn worst_merge(r: f64) -> (f64, f64) {
    let factor = |others: f64| merge_factor(r / (1.0 + others), others);
    // ternary search in logarithms: the factor falls and rises once
    let (mut low, mut high) = ((1e-6_f64).ln(), (1e6_f64).ln());
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        let (a, b) = (low + third, high - third);
        if factor(a.exp()) < factor(b.exp()) {
            high = b;
        } else {
            low = a;
        }
    }
    let others = f64::midpoint(low, high).exp();
    (factor(others), others)
}

/// The least value of a function of r, and where.
fn worst(factor: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut low, mut high) = (RANGE.0.ln(), RANGE.1.ln());
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        let (a, b) = (low + third, high - third);
        if factor(a.exp()) < factor(b.exp()) {
            high = b;
        } else {
            low = a;
        }
    }
    let r = f64::midpoint(low, high).exp();
    (factor(r), r)
}

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let (random, random_r) = worst(measure::random_selection_factor);
    let (merge, merge_r) = worst(|r| worst_merge(r).0);
    let others = worst_merge(merge_r).1;
    let mut records = Vec::new();
    for seed in lab.seeds() {
        let lab = lab.seeded(seed);
        records.extend(simulated(
            &lab,
            "random-proportional",
            random_r,
            MANY_SLOTS,
        )?);
        records.extend(simulated(&lab, "merge-proportional", merge_r, others)?);
    }
    let found = |policy: &str, r: f64| {
        over_seeds(&records, |own| {
            let record = own.iter().find(|record| record.policy == policy);
            record.map_or(f64::NAN, |record| record.freshness) / measure::evenly_spaced(r, 1.0)
        })
    };
    let (found_random, found_merge) = (
        found("random-proportional", random_r),
        found("merge-proportional", merge_r),
    );
    let relations = vec![
        Relation::judged(
            Source::Published,
            format!(
                "RANDOM ≥ 0.77 of the bound, and 0.770 in the worst case, r ≈ 1.79 (by formula {random:.4} at r = {random_r:.3}); simulated there"
            ),
            PLAIN,
            &[Figure::new("", found_random, Band::around(0.770, 0.005))],
        ),
        Relation::judged(
            Source::Published,
            format!(
                "MERGE ≥ 0.927 of the bound, conjectured (proved below; the constant is {merge:.4}, at r = {merge_r:.3} with {others:.3} slots of neighbours for each of the page's own); simulated there with {NEIGHBOURS} neighbours"
            ),
            PLAIN,
            &[Figure::new(
                "",
                found_merge,
                Band {
                    low: 0.925,
                    high: 0.937,
                },
            )],
        ),
    ];
    let curves = curves();
    Ok(Outcome {
        title: "Approximation factors: the worst that RANDOM and MERGE can do",
        data: format!(
            "one server without politeness; a page and {NEIGHBOURS} neighbours that count for nothing, \
             Poisson changes, visits in proportion to change rates; {VISITS} visits to the page"
        ),
        seed: lab.seed,
        relations,
        records,
        files: vec![("curves.csv".to_owned(), table(&curves))],
        charts: charts(),
        notes: PROOF.map(str::to_owned).to_vec(),
    })
}

/// Why no case is worse.
const PROOF: [&str; 3] = [
    "RANDOM: a page's visits are a Bernoulli process of its rate, so its freshness is `1/(1 + r)` in \
     the limit of many slots, whatever else the server has; the bound is `(1 − e^−r)/r`.",
    "MERGE: between two due times of a page, `1/f` apart, a neighbour of rate `g` is due `⌊g/f⌋` times, \
     and once more with the probability of the fraction, independently of the others since offsets \
     are. So the page's interval in slots is `X = 1 + Σ N_j`, and with `a` changes a slot its freshness \
     is `(1 − E e^−aX)/(a E X)`. Each `E e^−aN ≤ e^{−E N (1 − e^−a)}` (a fraction p: `1 − p(1 − e^−a) ≤ \
     e^{−p(1 − e^−a)}`; a whole visit: `e^−a ≤ e^{−(1 − e^−a)}`), so with `m = Σ E N_j` the factor is at \
     least `(1 − e^{−a − m(1 − e^−a)})/(1 − e^{−a(1 + m)})`, which is reached when many neighbours are \
     each visited rarely: the visits between are then Poisson. Its least value over `a` and `m` is the \
     constant above. So the conjectured factor holds for every page by itself, and is the best possible.",
    "What is shown on a repository's mean is far from either constant: there most pages are visited \
     rarely among many.",
];

/// A page of one change a day among neighbours that change, and are visited, so much less each.
fn simulated(lab: &Lab, policy: &str, r: f64, others: f64) -> Result<Vec<Record>> {
    let mut rate = vec![others / NEIGHBOURS as f64; NEIGHBOURS + 1];
    rate[0] = 1.0;
    let mut weight = vec![NO_WEIGHT; NEIGHBOURS + 1];
    weight[0] = 1.0;
    let changes: f64 = rate.iter().sum();
    let world = Arc::new(World {
        server: vec![0; NEIGHBOURS + 1],
        delay: vec![0.0],
        weight: Some(weight),
        changes: Changes::Poisson(rate),
        from: 0.0,
        until: VISITS * r,
    });
    lab.ask(&Question {
        data: "worst case",
        policies: &[policy],
        budgets: &[("all".to_owned(), Budget::PerDay(changes / r))],
        knowledge: knowledge::Source::Hindsight,
        observe: Observe::LastModified,
        runs: RUNS,
        world: &|_| Ok(Arc::clone(&world)),
    })
}

/// At a value of r: the factors of RANDOM and of MERGE, and the neighbours' slots behind the latter.
struct Point {
    r: f64,
    random: f64,
    merge: f64,
    others: f64,
}

fn curves() -> Vec<Point> {
    let step = (RANGE.1 / RANGE.0).ln() / f64::from(STEPS - 1);
    let at = |k: u32| {
        let r = RANGE.0 * (f64::from(k) * step).exp();
        let (merge, others) = worst_merge(r);
        Point {
            r,
            random: measure::random_selection_factor(r),
            merge,
            others,
        }
    };
    (0..STEPS).map(at).collect()
}

fn table(curves: &[Point]) -> String {
    let mut text = "changes_per_visit,random,merge_worst,neighbour_slots\n".to_owned();
    for p in curves {
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{:.5},{:.6},{:.6},{:.4}",
            p.r, p.random, p.merge, p.others
        );
    }
    text
}

/// The plots, which follow from the formula alone.
pub fn charts() -> Vec<(String, Chart)> {
    vec![("factors".to_owned(), chart(&curves()))]
}

fn chart(curves: &[Point]) -> Chart {
    let line = |name: &str, value: fn(&Point) -> f64, stroke| Line {
        name: name.to_owned(),
        points: curves.iter().map(|p| (p.r, value(p))).collect(),
        stroke,
        errors: Vec::new(),
    };
    Chart {
        title: "Share of the bound, worst case".to_owned(),
        x: Axis {
            label: "changes per visit".to_owned(),
            scale: Scale::Logarithmic,
            range: RANGE,
        },
        y: Axis {
            label: "share of the bound".to_owned(),
            scale: Scale::Linear,
            range: (0.75, 1.0),
        },
        lines: vec![
            line("RANDOM", |p| p.random, Stroke::Solid),
            line("MERGE, worst neighbours", |p| p.merge, Stroke::Dashed),
        ],
        mark: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn the_published_constants_come_out() {
        let (random, r) = worst(measure::random_selection_factor);
        assert!((random - 0.770).abs() < 5e-4, "{random}");
        assert!((r - 1.79).abs() < 0.01, "{r}");
        let (merge, _) = worst(|r| worst_merge(r).0);
        assert!((merge - 0.927).abs() < 5e-4, "{merge}");
    }

    /// MERGE as it is defined: due times of all pages in order, one slot after the other.
    fn merged(frequency: &[f64], changes: f64, slots: usize, seed: u64) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let total: f64 = frequency.iter().sum();
        let mut due: Vec<(f64, usize)> = Vec::new();
        for (page, f) in frequency.iter().enumerate() {
            let offset: f64 = rng.random();
            let visits = (slots as f64 * f / total) as usize;
            due.extend((0..visits).map(|k| ((k as f64 + offset) / f, page)));
        }
        due.sort_by(|a, b| a.0.total_cmp(&b.0));
        let own: Vec<usize> = (0..due.len()).filter(|&slot| due[slot].1 == 0).collect();
        let fresh: f64 = own
            .windows(2)
            .map(|pair| -(-changes * (pair[1] - pair[0]) as f64).exp_m1() / changes)
            .sum();
        fresh / (own[own.len() - 1] - own[0]) as f64
    }

    #[test]
    fn no_servers_drawn_at_random_are_worse_than_the_bound() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut least = f64::INFINITY;
        for case in 0..300 {
            let pages = rng.random_range(2..40);
            let frequency: Vec<f64> = (0..pages)
                .map(|_| (rng.random_range(-3.0..2.0_f64)).exp())
                .collect();
            let total: f64 = frequency.iter().sum();
            let r = (rng.random_range(-1.0..2.0_f64)).exp();
            let changes = r * frequency[0] / total;
            // an expectation over offsets
            let found: f64 = (0..20)
                .map(|k| merged(&frequency, changes, 4_000, case * 100 + k))
                .sum::<f64>()
                / 20.0;
            let factor = found / measure::evenly_spaced(r, 1.0);
            let bound = merge_factor(changes, total / frequency[0] - 1.0);
            assert!(factor > bound - 0.01, "{factor} {bound}: {frequency:?}");
            least = least.min(factor);
        }
        assert!(least < 0.97, "{least}");
    }

    #[test]
    fn many_rare_neighbours_reach_it() {
        let (worst, r) = worst(|r| worst_merge(r).0);
        let others = worst_merge(r).1;
        let mut frequency = vec![others / 300.0; 301];
        frequency[0] = 1.0;
        let found: f64 = (0..20)
            .map(|seed| merged(&frequency, r / (1.0 + others), 20_000, seed))
            .sum::<f64>()
            / 20.0;
        let factor = found / measure::evenly_spaced(r, 1.0);
        assert!((factor - worst).abs() < 0.006, "{factor} {worst}");
    }
}
