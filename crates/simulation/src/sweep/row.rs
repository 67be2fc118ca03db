//! What came of the runs of one policy at one budget.

use crate::{
    run::Account,
    statistics::{half_width_95, half_width_of_series_95, mean},
};
use serde::Serialize;

/// What came of the runs of a policy at a budget; the mean over the runs where they differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The policy's name.
    pub policy: String,
    /// Visits per day that it was given.
    pub budget_per_day: f64,
    /// Visits that it made in the time simulated.
    pub visits: u64,
    /// Weighted mean freshness over the test period.
    pub freshness: f64,
    /// Half the width of its 95 % confidence interval: over the runs, or from batch means over
    /// time when there is only one.
    pub freshness_ci95: f64,
    /// Half the width of the 95 % confidence interval over pages, were they a sample of others like
    /// them: how far the figure speaks for other pages. Policies in the same world share this luck.
    pub pages_ci95: Option<f64>,
    /// Weighted mean age.
    pub mean_age_days: f64,
    /// The share of time out of date that 95 % of the pages do not exceed.
    pub p95_page_staleness: Option<f64>,
    /// Mean time of a selection; `None` when no times are to be told.
    pub ns_per_selection: Option<f64>,
    /// Time to set the policy up, allocation included; likewise.
    pub allocation_seconds: Option<f64>,
    /// Mean freshness at the end: over the last twentieth of the time simulated.
    pub final_freshness: f64,
    /// What no policy can exceed under Poisson changes at the pages' true mean rates.
    pub bound_impolite: f64,
    /// What no policy that is polite can exceed, likewise.
    pub bound_polite: f64,
    /// Visits sooner after the one before to the same server than politeness allows.
    pub impolite_visits: u64,
    /// Time simulated; less than the test period after an early stop.
    pub simulated_days: f64,
    /// Whether the runs ended early because the freshness had converged.
    pub converged: bool,
    /// Runs behind this row.
    pub runs: usize,
    /// Whether runs are missing or cut short because of an interruption.
    pub partial: bool,
    /// Mean freshness of each window of the first run.
    #[serde(skip)]
    pub series: Vec<f64>,
}

/// One run of one policy at one budget.
pub(super) struct Trial {
    pub account: Account,
    pub budget: f64,
    pub bounds: (f64, f64),
    pub allocation_seconds: f64,
}

/// The row of the trials there are, at least one, of those wanted.
pub(super) fn row(policy: &str, trials: &[Trial], wanted: usize) -> Row {
    let over = |of: &dyn Fn(&Trial) -> f64| mean(&trials.iter().map(of).collect::<Vec<_>>());
    let freshness: Vec<f64> = trials.iter().map(|trial| trial.account.freshness).collect();
    let series = trials[0].account.series.clone();
    let p95 = over(&|trial| trial.account.p95_staleness);
    let pages = over(&|trial| trial.account.pages_ci95);
    Row {
        policy: policy.to_owned(),
        budget_per_day: over(&|trial| trial.budget),
        visits: over(&|trial| trial.account.visits as f64).round() as u64,
        freshness: mean(&freshness),
        freshness_ci95: if freshness.len() > 1 {
            half_width_95(&freshness)
        } else {
            half_width_of_series_95(&series)
        },
        pages_ci95: pages.is_finite().then_some(pages),
        mean_age_days: over(&|trial| trial.account.age),
        p95_page_staleness: p95.is_finite().then_some(p95),
        ns_per_selection: Some(over(&|trial| trial.account.ns_per_selection)),
        allocation_seconds: Some(over(&|trial| trial.allocation_seconds)),
        final_freshness: over(&|trial| {
            let series = &trial.account.series;
            mean(&series[series.len() - series.len().div_ceil(20)..])
        }),
        bound_impolite: over(&|trial| trial.bounds.0),
        bound_polite: over(&|trial| trial.bounds.1),
        impolite_visits: over(&|trial| trial.account.impolite as f64).round() as u64,
        simulated_days: over(&|trial| trial.account.days),
        converged: trials.iter().all(|trial| trial.account.converged),
        runs: trials.len(),
        partial: trials.len() < wanted || trials.iter().any(|trial| trial.account.interrupted),
        series,
    }
}
