//! What the two experiments on partitions share: webs, the Internet between, runs, and their rows.

use super::lab::Lab;
use super::rtt::matrix::{aws, aws_places, planet_lab};
use super::verdict::Estimate;
use crate::simulate::{Row, against_robots, real};
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::chart::Chart;
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::terminal::{self, grouped};
use ground::Point;
use partition::limits::Balance;
use partition::task::PartitionError;
use simulation::download::algebra::redistribution;
use simulation::download::conditions::Conditions;
use simulation::download::divide::{Wishes, divide};
use simulation::download::internet::Internet;
use simulation::download::patience::unless_stopped;
use simulation::download::shape::Shape;
use simulation::download::sweep::{Case, Sweep, downloads, sweep};
use simulation::download::web::Web;
use simulation::run::Control;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Shares of the published size: what is quick, and what is affordable with five seeds.
const QUICK: f64 = 0.03;
const TENTH: f64 = 0.1;

/// Where the times between robots and addresses come from.
pub enum Times {
    /// Drawn from places, with scatter.
    Modelled(Shape),
    /// Measured between nodes, at which robots and addresses stand.
    Measured {
        milliseconds: Vec<Vec<f64>>,
        places: Option<Vec<Point>>,
    },
}

/// A web to download and the Internet around it, of one seed.
pub struct Setting {
    pub web: Arc<Web>,
    pub times: Times,
    pub seed: u64,
}

impl Setting {
    /// A generated national web; with recorded data the times are measured ones, with `placed` those
    /// between nodes whose places are known too.
    pub fn national(lab: &Lab, placed: bool) -> Result<Self> {
        let published = Shape::published(lab.seed);
        let shape = match (lab.full, lab.quick) {
            (true, _) => published,
            (_, true) => published.scaled(QUICK),
            _ => published.scaled(TENTH),
        };
        Ok(Self {
            web: Arc::new(shape.web()),
            times: Times::of(lab.data.as_deref(), shape, placed)?,
            seed: lab.seed,
        })
    }

    /// The recorded host graph of `folder`, its hosts as large as their links to themselves say.
    pub fn recorded(lab: &Lab, folder: &Path) -> Result<Self> {
        let links = folder.join("graphs/uk_web_hosts_1996_edges.tsv.gz");
        let no_crawl = |path: &Path| Err(BadInput::file(path, "is a directory").into());
        let web = real(&links, None, lab.seed, no_crawl)?;
        Ok(Self {
            times: Times::of(Some(folder), Shape::published(lab.seed), false)?,
            web: Arc::new(web),
            seed: lab.seed,
        })
    }

    /// The Internet of so many robots.
    pub fn internet(&self, robots: usize) -> Internet {
        match &self.times {
            Times::Modelled(shape) => shape.internet(&self.web, robots),
            Times::Measured {
                milliseconds,
                places,
            } => Internet::from_matrix(
                milliseconds,
                places.as_deref(),
                robots,
                self.web.addresses(),
                self.seed,
            ),
        }
    }

    /// What it is, for readers.
    pub fn words(&self) -> String {
        let sizes = format!(
            "{} URLs, {} links, {} hosts, {} addresses",
            grouped(self.web.pages()),
            grouped(self.web.links()),
            grouped(self.web.hosts()),
            grouped(self.web.addresses()),
        );
        let times = match &self.times {
            Times::Modelled(_) => "times modelled from places",
            Times::Measured { places: None, .. } => "times measured between PlanetLab nodes",
            Times::Measured { .. } => "times measured between cloud regions",
        };
        format!("{sizes}; {times}")
    }

    /// Its pages as a share of those of the published web.
    pub fn share(&self) -> f64 {
        self.web.pages() as f64 / Shape::published(self.seed).urls as f64
    }

    /// Answers to all cases, under names of their rules, links and nearness with equal preference.
    pub fn ask(
        &self,
        cases: &[(Case, &str)],
        conditions: Conditions,
        tolerance: f64,
        simulate: bool,
    ) -> Result<Vec<Row>> {
        self.ask_preferring([1.0; 2], cases, conditions, tolerance, simulate)
    }

    /// The same with preference factors of links and of nearness; pages within `tolerance` of the
    /// fair share.
    pub fn ask_preferring(
        &self,
        preference: [f64; 2],
        cases: &[(Case, &str)],
        conditions: Conditions,
        tolerance: f64,
        simulate: bool,
    ) -> Result<Vec<Row>> {
        let plain: Vec<Case> = cases.iter().map(|(case, _)| *case).collect();
        let question = Sweep {
            web: &self.web,
            internet: &|robots| self.internet(robots),
            cases: &plain,
            conditions,
            preference,
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

/// Seconds until all pages are with their new robots when the last of so many joins.
pub fn joining(
    setting: &Setting,
    robots: usize,
    wishes: Wishes,
    conditions: Conditions,
) -> Result<f64> {
    let (fewer, all) = (setting.internet(robots - 1), setting.internet(robots));
    let web = Arc::clone(&setting.web);
    let seconds = move || {
        let before = divide(&web, &fewer, &wishes, None)?;
        let after = divide(&web, &all, &wishes, Some(&before))?;
        Ok(redistribution(&web, &all, &before, &after, &conditions))
    };
    let seconds = unless_stopped(stop_on_interrupt(), seconds).ok_or(Interrupted)?;
    Ok(seconds.map_err(|error: PartitionError| BadInput(error.to_string()))?)
}

impl Times {
    fn of(folder: Option<&Path>, shape: Shape, placed: bool) -> Result<Self> {
        Ok(match folder {
            None => Self::Modelled(shape),
            Some(folder) if placed => Self::Measured {
                milliseconds: aws(folder)?.rows().to_vec(),
                places: Some(aws_places(folder)?),
            },
            Some(folder) => Self::Measured {
                milliseconds: planet_lab(folder)?.rows().to_vec(),
                places: None,
            },
        })
    }
}

/// Rows of many seeds.
#[derive(Default)]
pub struct Seeded {
    pub by_seed: Vec<(u64, Vec<Row>)>,
}

impl Seeded {
    /// A value of the rows of each seed, over seeds.
    pub fn estimate(&self, value: impl Fn(&[Row]) -> f64) -> Estimate {
        let values = self.by_seed.iter().map(|(_, rows)| value(rows));
        Estimate::of(&values.collect::<Vec<_>>())
    }

    /// All rows, whatever their seed.
    pub fn all(&self) -> impl Iterator<Item = &Row> {
        self.by_seed.iter().flat_map(|(_, rows)| rows)
    }

    /// As a file of that name, the seed in the first column.
    pub fn file(&self, name: &str) -> Result<(String, String)> {
        let mut text = String::new();
        for (seed, rows) in &self.by_seed {
            let mut writer = csv::Writer::from_writer(Vec::new());
            for row in rows {
                writer.serialize(row)?;
            }
            let own = String::from_utf8(writer.into_inner()?)?;
            for (k, line) in own.lines().enumerate() {
                match k {
                    0 if !text.is_empty() => {}
                    0 => text += &["seed,", line, "\n"].concat(),
                    _ => text += &[&seed.to_string(), ",", line, "\n"].concat(),
                }
            }
        }
        Ok((name.to_owned(), text))
    }
}

/// What was not used to choose the generated web, and what was.
pub fn note() -> String {
    "Of the generated web, the numbers of pages, links, hosts and addresses and the size of the \
     largest host are the published ones (1,246,129, 5,657,734, 10,039, 2,440, 78,523) or in \
     proportion; sizes of hosts are a bounded Pareto law from one page on. Ours are: 0.8 of all links \
     stay on their host, 0.8 of the others within a community of 60 hosts, so that what is exchanged \
     there decides nothing; hosts of a community share addresses, but for 13 % on one address of a \
     provider, calibrated so that the largest address has about a fifth more pages than the largest \
     host, as published: addresses against hosts decide nothing either. Where times are modelled, \
     addresses stand in the cities of one country but for 15 %, every second robot in that country, \
     the others over the continent, and RTTs follow distance, so that the one against the other \
     decides nothing."
        .to_owned()
}

/// How much less or more, as a share.
pub fn change(ours: f64, other: f64) -> f64 {
    ours / other - 1.0
}

/// A value against the number of robots, a line for each kind of row that `name` tells apart, at the
/// mean over seeds.
pub fn chart(
    title: &str,
    unit: &str,
    rows: &Seeded,
    name: impl Fn(&Row) -> Option<String>,
    value: impl Fn(&Row) -> f64,
) -> Chart {
    let mut sums: Vec<(String, usize, f64, f64)> = Vec::new();
    for row in rows.all() {
        let Some(name) = name(row) else { continue };
        let own = sums.iter_mut().find(|s| s.0 == name && s.1 == row.robots);
        if let Some(own) = own {
            own.2 += value(row);
            own.3 += 1.0;
        } else {
            sums.push((name, row.robots, value(row), 1.0));
        }
    }
    let points = sums.into_iter();
    let points = points.map(|(name, robots, sum, count)| (name, robots, sum / count));
    against_robots(title, unit, points)
}
