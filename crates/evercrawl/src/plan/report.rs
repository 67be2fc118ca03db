//! What `plan` tells: the same facts as JSON and as a table.

use super::channel::Channel;
use super::target::Answer;
use crate::terminal::{grouped, short};
use ground::quantity::DAY;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    pub peak_memory_bytes: Option<u64>,
    pub warnings: Vec<String>,
}

/// What the budget buys.
#[derive(Default, Serialize)]
pub struct Outcome {
    pub freshness: Option<f64>,
    pub bound_impolite: Option<f64>,
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
    #[serde(rename = "target_freshness")]
    freshness: f64,
    reachable: bool,
    /// The smallest budget that reaches it.
    #[serde(rename = "target_budget_per_day")]
    budget: Option<f64>,
    /// The most that politeness allows, when that is less.
    most_freshness: Option<f64>,
}

impl Target {
    pub fn new(freshness: f64, answer: Answer) -> Self {
        let budget = match answer {
            Answer::Budget(budget) => Some(budget),
            Answer::Unreachable { .. } | Answer::OnlyInTheLimit => None,
        };
        let most = match answer {
            Answer::Unreachable { most } => Some(most),
            Answer::Budget(_) | Answer::OnlyInTheLimit => None,
        };
        Self {
            freshness,
            reachable: budget.is_some(),
            budget,
            most_freshness: most,
        }
    }

    fn told(&self, allocation: &str, capacity: Option<f64>) -> String {
        let target = self.freshness;
        match (self.budget, self.most_freshness, capacity) {
            (Some(budget), ..) => format!(
                "freshness {target} needs a budget of {} visits/day",
                short(budget)
            ),
            (None, Some(most), Some(capacity)) => format!(
                "politeness does not allow freshness {target}: {allocation} reaches at most \
                 {} at {} visits/day",
                short(most),
                short(capacity)
            ),
            _ => format!("no budget reaches freshness {target}: pages change at any moment"),
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
        let mut rows = vec![
            ("pages", grouped(self.pages)),
            ("servers", grouped(self.servers)),
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
            ("impolite bound", outcome.bound_impolite),
            ("polite bound", outcome.bound_polite),
        ];
        rows.extend(
            numbers
                .into_iter()
                .filter_map(|(name, value)| Some((name, short(value?)))),
        );
        if let (Some(age), Some(starved)) = (outcome.mean_age_days, outcome.starved_pages) {
            let never = match starved {
                1 => "1 page is never visited".to_owned(),
                _ => format!("{} pages are never visited", grouped(starved)),
            };
            rows.push(if age.is_finite() {
                ("mean age", duration(age))
            } else {
                ("mean age", format!("∞ ({never})"))
            });
        }
        let counts = [
            ("starved pages", outcome.starved_pages),
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
        let lines = rows
            .iter()
            .map(|(name, value)| format!("{name:<17}{value}\n"));
        let channel = self.channel.as_ref().map(Channel::table);
        lines.chain(channel).collect()
    }
}

/// Days in the unit that reads best.
fn duration(days: f64) -> String {
    match days {
        d if d >= 2.0 => format!("{} days", short(d)),
        d if d * 24.0 >= 2.0 => format!("{} h", short(d * 24.0)),
        d if d * 1440.0 >= 2.0 => format!("{} min", short(d * 1440.0)),
        d => format!("{} s", short(d * DAY)),
    }
}
