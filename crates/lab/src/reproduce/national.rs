//! What the two experiments on partitions share: a national web, runs over it, and their rows.

use super::lab::Lab;
use crate::simulate::{Row, against_robots};
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::chart::Chart;
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::terminal::{self, grouped};
use partition::limits::Balance;
use simulation::download::conditions::Conditions;
use simulation::download::internet::Internet;
use simulation::download::shape::Shape;
use simulation::download::sweep::{Case, Sweep, downloads, sweep};
use simulation::download::web::Web;
use simulation::run::Control;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A national web and the fleets that download it.
pub struct National {
    pub shape: Shape,
    pub web: Arc<Web>,
    /// Numbers of robots, ascending.
    pub fleets: Vec<usize>,
    pub seed: u64,
}

impl National {
    /// The published size, or a small one.
    pub fn new(lab: &Lab) -> Self {
        let published = Shape::published(lab.seed);
        let (shape, fleets) = if lab.quick {
            (published.scaled(0.03), vec![2, 8])
        } else {
            (published, vec![2, 8, 30])
        };
        Self {
            web: Arc::new(shape.web()),
            shape,
            fleets,
            seed: lab.seed,
        }
    }

    /// The largest fleet.
    pub fn most(&self) -> usize {
        self.fleets[self.fleets.len() - 1]
    }

    /// Times and places of so many robots.
    pub fn internet(&self, robots: usize) -> Internet {
        self.shape.internet(&self.web, robots)
    }

    /// What it is, for readers.
    pub fn data(&self) -> String {
        format!(
            "generated national web: {} URLs, {} links, {} hosts, {} addresses, the largest host \
             with {} pages (published: 1,246,129, 5,657,734, 10,039, 2,440, 78,523); {} robots; \
             15 s of politeness where fixed, 250 KB/s, 50 connections, 25 KB a page",
            grouped(self.web.pages()),
            grouped(self.web.links()),
            grouped(self.web.hosts()),
            grouped(self.web.addresses()),
            grouped(self.shape.largest),
            self.fleets
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        )
    }

    /// Answers to all cases, under names of their rules; pages within `tolerance` of the fair share.
    pub fn ask(&self, cases: &[(Case, &str)], tolerance: f64, simulate: bool) -> Result<Vec<Row>> {
        let plain: Vec<Case> = cases.iter().map(|(case, _)| *case).collect();
        let conditions = Conditions::published();
        let question = Sweep {
            web: &self.web,
            internet: &|robots| self.internet(robots),
            cases: &plain,
            conditions,
            preference: [1.0; 2],
            balance: Balance {
                pages: Some(tolerance),
                ..Balance::default()
            },
            simulate,
            seed: self.seed,
        };
        let stop = stop_on_interrupt();
        let bar = terminal::progress("downloading", downloads(&question) as u64, false);
        let control = Control {
            stop,
            progress: &|pages| bar.inc(pages as u64),
        };
        let answers = sweep(&question, &control);
        bar.finish_and_clear();
        let answers = answers.map_err(|error| BadInput(error.to_string()))?;
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        let rows = answers.into_iter().zip(cases).map(|(answer, (_, rule))| {
            Row::new(&answer, rule, self.web.links(), conditions.url_bytes)
        });
        Ok(rows.collect())
    }
}

/// What was not used to choose the generated web, and what was.
pub fn note() -> String {
    "Of the generated web, the numbers of pages, links, hosts and addresses and the size of the \
     largest host are the published ones. Ours are: 0.8 of all links stay on their host, 0.8 of the \
     others within a community of 60 hosts; hosts of a community share addresses, but for 13 % on \
     one address of a provider, so that the largest address has about a fifth more pages than the \
     largest host, as published; addresses stand in the cities of one country but for 15 %, every \
     second robot in that country, the others over the continent; RTTs follow distance as between \
     cloud regions, with their scatter."
        .to_owned()
}

/// How verdicts on reductions are to be read.
pub const VERDICTS: &str = "A published reduction holds when ours is at least as large, less 5 \
     points (3 where it is 6 %); more than published holds too. Of several numbers of robots the \
     largest decides.";

/// How much less or more: `−33.1 %`.
pub fn change(ours: f64, other: f64) -> f64 {
    ours / other - 1.0
}

/// A change in per cent, with its sign.
pub fn percent(change: f64) -> String {
    format!("{:+.1} %", 100.0 * change)
}

/// Rows as CSV.
pub fn rows_csv(rows: &[Row]) -> Result<(String, String)> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let text = String::from_utf8(writer.into_inner()?)?;
    Ok(("rows.csv".to_owned(), text))
}

/// A value against the number of robots, a line for each kind of row that `name` tells apart.
pub fn chart(
    title: &str,
    unit: &str,
    rows: &[Row],
    name: impl Fn(&Row) -> Option<String>,
    value: impl Fn(&Row) -> f64,
) -> Chart {
    let points = rows
        .iter()
        .filter_map(|row| Some((name(row)?, row.robots, value(row))));
    against_robots(title, unit, points)
}
