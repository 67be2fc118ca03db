//! What `plan` tells: the same facts as JSON and as a table.

use super::target::Answer;
use crate::terminal::{grouped, short};
use serde::Serialize;

/// Everything about one plan. Fields of a plan that could not be made are null in JSON.
#[derive(Serialize)]
pub struct Report {
    pub pages: usize,
    pub servers: usize,
    pub allocation: String,
    pub budget_per_day: Option<f64>,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What politeness allows; null without politeness.
    pub capacity_per_day: Option<f64>,
    #[serde(flatten)]
    pub target: Option<Target>,
    pub peak_memory_bytes: Option<u64>,
    pub warnings: Vec<String>,
}

/// What the budget buys.
#[derive(Default, Serialize)]
pub struct Outcome {
    pub freshness: Option<f64>,
    pub bound_unpolite: Option<f64>,
    pub bound_polite: Option<f64>,
    /// Infinite, which JSON writes as null, when pages are starved.
    pub mean_age_days: Option<f64>,
    pub starved_pages: Option<usize>,
    pub capped_servers: Option<usize>,
    pub overloaded_servers: Option<usize>,
    /// Wall time of the allocation.
    pub seconds: Option<f64>,
}

/// The answer to the inverse question.
#[derive(Serialize)]
pub struct Target {
    target_freshness: f64,
    reachable: bool,
    /// The smallest budget that reaches it.
    target_budget_per_day: Option<f64>,
    /// The most that politeness allows, when that is less.
    most_freshness: Option<f64>,
}

impl Target {
    pub fn new(target_freshness: f64, answer: Answer) -> Self {
        let budget = match answer {
            Answer::Budget(budget) => Some(budget),
            Answer::Unreachable { .. } | Answer::OnlyInTheLimit => None,
        };
        let most = match answer {
            Answer::Unreachable { most } => Some(most),
            Answer::Budget(_) | Answer::OnlyInTheLimit => None,
        };
        Self {
            target_freshness,
            reachable: budget.is_some(),
            target_budget_per_day: budget,
            most_freshness: most,
        }
    }

    fn told(&self, allocation: &str, capacity: Option<f64>) -> String {
        let target = self.target_freshness;
        match (self.target_budget_per_day, self.most_freshness, capacity) {
            (Some(budget), ..) => format!(
                "freshness {target} needs a budget of {} visits/day",
                short(budget)
            ),
            (None, Some(most), Some(capacity)) => format!(
                "freshness {target} is not allowed by politeness: {allocation} reaches at most \
                 {} at {} visits/day",
                short(most),
                short(capacity)
            ),
            _ => format!(
                "freshness {target} is out of reach of any budget: pages change at any moment"
            ),
        }
    }
}

impl Report {
    /// One JSON object on one line. Infinite numbers become null.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("a report has only plain fields");
        text.push('\n');
        text
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let plural = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{} {noun}s", grouped(count)),
        };
        let mut rows = vec![
            ("pages", plural(self.pages, "page")),
            ("servers", plural(self.servers, "server")),
            ("allocation", self.allocation.clone()),
        ];
        if let Some(capacity) = self.capacity_per_day {
            rows.push(("allowed", format!("{} visits/day", short(capacity))));
        }
        if let Some(budget) = self.budget_per_day {
            rows.push(("budget", format!("{} visits/day", short(budget))));
        }
        let outcome = &self.outcome;
        let numbers = [
            ("freshness", outcome.freshness),
            ("bound, impolite", outcome.bound_unpolite),
            ("bound, polite", outcome.bound_polite),
        ];
        rows.extend(
            numbers
                .into_iter()
                .filter_map(|(name, value)| Some((name, short(value?)))),
        );
        if let (Some(age), Some(starved)) = (outcome.mean_age_days, outcome.starved_pages) {
            let never = format!(
                "{} {} never visited",
                plural(starved, "page"),
                if starved == 1 { "is" } else { "are" }
            );
            rows.push(if age.is_finite() {
                ("mean age", format!("{} days", short(age)))
            } else {
                ("mean age", format!("∞ ({never})"))
            });
            rows.push(("starved pages", grouped(starved)));
        }
        let counts = [
            ("capped servers", outcome.capped_servers),
            ("overloaded", outcome.overloaded_servers.filter(|&n| n > 0)),
        ];
        rows.extend(
            counts
                .into_iter()
                .filter_map(|(name, count)| Some((name, grouped(count?)))),
        );
        if let Some(seconds) = outcome.seconds {
            rows.push(("time", format!("{seconds:.3} s")));
        }
        if let Some(target) = &self.target {
            rows.push((
                "target",
                target.told(&self.allocation, self.capacity_per_day),
            ));
        }
        let mut text = String::new();
        for (name, value) in rows {
            text += &format!("{name:<17}{value}\n");
        }
        text
    }
}
