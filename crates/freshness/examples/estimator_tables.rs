//! Bias and RMSE of every estimator of change rates, as CSV rows on standard output.
//! Arguments: `--seed N --runs N`. The mean interval is one, so the rate is λI.

use freshness::estimate::accuracy::{Accuracy, DrawnVisit, Measured, Spacing, draw_visits, exact};
use freshness::estimate::{
    DatedVisit, Evidence, Imputation, Learning, Observation, Penalty, Prior, Visit, full_history,
    irregular_rate, last_modified, naive, regular,
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

type Estimator = (&'static str, fn(&[DrawnVisit]) -> f64);

const ESTIMATORS: [Estimator; 8] = [
    ("naive", |visits| {
        naive(seen_changes(visits), total_time(visits)).rate
    }),
    ("mle", |visits| maximum(visits, Penalty::None)),
    ("mle-half-visit", |visits| {
        maximum(visits, Penalty::HalfVisit)
    }),
    ("mle-shrink", |visits| maximum(visits, Penalty::Shrink)),
    ("online-expected-count", |visits| {
        online(visits, Imputation::ExpectedCount)
    }),
    ("online-curvature", |visits| {
        online(visits, Imputation::Curvature)
    }),
    ("last-modified", |visits| {
        let dated: Vec<DatedVisit> = visits.iter().map(|visit| visit.dated).collect();
        last_modified(&dated).rate
    }),
    ("full-history", |visits| {
        let changes = visits.iter().map(|visit| visit.changes).sum();
        full_history(changes, total_time(visits)).rate
    }),
];

/// The grid of the literature, and between and below it two rates that no constant was fitted to.
const RATES: [f64; 6] = [0.03, 0.1, 0.3, 0.5, 1.0, 3.0];

const CHO: Estimator = ("cho", |visits| {
    regular(visits.len() as u32, seen_changes(visits), 1.0).rate
});

fn main() {
    let seed = argument("--seed", 1);
    let runs = argument("--runs", 20_000);
    println!("estimator,spacing,lambda_interval,n,bias,rmse,exact_bias,exact_rmse");
    for (spacing, name) in [
        (Spacing::Regular, "regular"),
        (Spacing::Uniform, "uniform"),
        (Spacing::Exponential, "exponential"),
        (Spacing::LogUniform, "log-uniform"),
    ] {
        let is_regular = spacing == Spacing::Regular;
        let estimators: Vec<Estimator> = ESTIMATORS
            .into_iter()
            .chain(is_regular.then_some(CHO))
            .collect();
        for rate in RATES {
            for n in [5, 20, 100] {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut measured = vec![Measured::default(); estimators.len()];
                for _ in 0..runs {
                    let visits = draw_visits(&mut rng, spacing, rate, n);
                    for ((_, estimator), measured) in estimators.iter().zip(&mut measured) {
                        measured.record(estimator(&visits) - rate);
                    }
                }
                for ((estimator, _), measured) in estimators.iter().zip(&measured) {
                    let accuracy = measured.accuracy();
                    print!(
                        "{estimator},{name},{rate},{n},{:.6},{:.6},",
                        accuracy.bias, accuracy.rmse
                    );
                    match is_regular.then(|| published(estimator, n, rate)).flatten() {
                        Some(exact) => println!("{:.6},{:.6}", exact.bias, exact.rmse),
                        None => println!(","),
                    }
                }
            }
        }
    }
}

/// What the formula gives, expectations taken over the binomial, where it needs only the count.
fn published(estimator: &str, n: u32, rate: f64) -> Option<Accuracy> {
    let penalised = |penalty| {
        move |changes| {
            let visits: Vec<Visit> = (0..n)
                .map(|k| Visit {
                    interval: 1.0,
                    changed: k < changes,
                })
                .collect();
            irregular_rate(&visits, penalty)
        }
    };
    match estimator {
        "naive" => Some(exact(n, rate, 1.0, |x| f64::from(x) / f64::from(n))),
        "cho" => Some(exact(n, rate, 1.0, |x| {
            -((f64::from(n - x) + 0.5) / (f64::from(n) + 0.5)).ln()
        })),
        "mle" => Some(exact(n, rate, 1.0, penalised(Penalty::None))),
        "mle-half-visit" => Some(exact(n, rate, 1.0, penalised(Penalty::HalfVisit))),
        "mle-shrink" => Some(exact(n, rate, 1.0, penalised(Penalty::Shrink))),
        _ => None,
    }
}

fn maximum(visits: &[DrawnVisit], penalty: Penalty) -> f64 {
    let seen: Vec<Visit> = visits.iter().map(DrawnVisit::seen).collect();
    irregular_rate(&seen, penalty)
}

fn online(visits: &[DrawnVisit], imputation: Imputation) -> f64 {
    let prior = Prior {
        alpha: 0.5,
        beta: 0.5,
    };
    let learning = Learning {
        half_life: f64::INFINITY,
        imputation,
    };
    visits
        .iter()
        .fold(Evidence::default(), |evidence, visit| {
            let observation = if visit.changes > 0 {
                Observation::Changed
            } else {
                Observation::Unchanged
            };
            learning.observe(evidence, prior, visit.dated.interval, observation)
        })
        .rate(prior)
}

fn seen_changes(visits: &[DrawnVisit]) -> u32 {
    visits
        .iter()
        .map(|visit| u32::from(visit.changes > 0))
        .sum()
}

fn total_time(visits: &[DrawnVisit]) -> f64 {
    visits.iter().map(|visit| visit.dated.interval).sum()
}

fn argument(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    match (arguments.next(), arguments.next()) {
        (None, _) => default,
        (Some(_), value) => value
            .and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("{name} takes a whole number")),
    }
}
