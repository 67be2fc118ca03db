//! What `evercrawl partition` tells.

use crate::terminal::{self, grouped, short};
use partition::graph::Load;
use serde::Serialize;
use std::fmt::Write;

/// What a robot may have; none is no limit.
#[derive(Clone, Debug, Serialize)]
pub struct Limits {
    pub pages: Option<u64>,
    pub servers: Option<u64>,
    pub links: Option<f64>,
}

impl Limits {
    /// `unit`: the links that a weight of 1 stands for.
    pub fn new(limit: Load, unit: f64) -> Self {
        let finite = |amount: u64| (amount < u64::MAX).then_some(amount);
        Self {
            pages: finite(limit.pages),
            servers: finite(limit.servers),
            links: finite(limit.traffic).map(|links| links as f64 * unit),
        }
    }
}

/// What a robot got.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    pub robot: String,
    pub group: String,
    pub capacity: f64,
    pub pages: u64,
    pub hosts: u64,
    /// The smallest unit that is assigned: hosts, or addresses.
    pub servers: u64,
    /// Links between its hosts and any others.
    pub links: f64,
    /// What the partitioner may give it; hashes have none.
    pub limits: Option<Limits>,
    /// Links between its hosts and those of others.
    pub exchanged_links: f64,
    /// Entries of its routing table: blocks and host names.
    pub table_blocks: Option<usize>,
    pub table_hosts: Option<usize>,
}

/// Sizes of the routing tables, in entries.
#[derive(Clone, Debug, Serialize)]
pub struct TableSizes {
    pub largest: usize,
    pub mean: f64,
    /// What a list of all hosts would have.
    pub host_list: usize,
    /// How many times smaller the largest table is.
    pub times_smaller: f64,
}

/// Everything about one partition.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub method: String,
    pub level: String,
    pub seed: u64,
    pub hosts: usize,
    pub vertices: usize,
    pub pages: u64,
    /// Links between different hosts.
    pub links: f64,
    /// Those between hosts of different robots: they are exchanged.
    pub cut: f64,
    pub cut_share: f64,
    /// Those between hosts of different groups, at the top of the tree.
    pub cut_between_groups: Option<f64>,
    /// Of the heaviest robot, as a multiple of its fair share.
    pub balance_pages: f64,
    pub balance_servers: f64,
    pub balance_exchange: f64,
    /// Mean over pages, of what was measured.
    pub mean_rtt_ms: Option<f64>,
    pub mean_distance_km: Option<f64>,
    /// With a previous assignment: all that changed robots, new hosts left aside.
    pub moved_pages: Option<u64>,
    pub moved_hosts: Option<usize>,
    /// Of those, what robots that are gone had.
    pub moved_pages_of_gone_robots: Option<u64>,
    pub tables: Option<TableSizes>,
    pub seconds: Option<f64>,
    pub robots: Vec<Share>,
    pub warnings: Vec<String>,
}

impl Summary {
    /// For programs.
    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// What was asked, in one line.
    pub fn subject(&self) -> String {
        format!(
            "{}: {}, {}, {} links between hosts, {}, by {}; seed {}",
            self.method,
            counted(self.hosts, "host"),
            counted(self.pages as usize, "page"),
            short(self.links),
            counted(self.robots.len(), "robot"),
            self.level,
            self.seed
        )
    }

    /// The facts, name and value.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let percent = |value: f64| format!("{:.2} %", 100.0 * value);
        let mut facts = vec![(
            "exchanged links (cut)",
            format!("{} ({})", short(self.cut), percent(self.cut_share)),
        )];
        if let Some(between) = self.cut_between_groups {
            let share = between / self.links.max(1.0);
            facts.push((
                "of those, between groups",
                format!("{} ({})", short(between), percent(share)),
            ));
        }
        let of_share = |balance: f64, limit: Option<f64>| {
            let limit = limit.map_or_else(String::new, |limit| format!(" (limit {limit:.3})"));
            format!("{balance:.3} of its share{limit}")
        };
        let limit = |limit: &dyn Fn(&Limits) -> Option<u64>, own: &dyn Fn(&Share) -> u64| {
            let all: f64 = self.robots.iter().map(|robot| robot.capacity).sum();
            let total = self.robots.iter().map(own).sum::<u64>().max(1) as f64;
            let relative =
                |robot: &Share, amount: u64| amount as f64 / total / (robot.capacity / all);
            let heaviest = self.robots.iter().max_by(|a, b| {
                let [a, b] = [a, b].map(|robot| relative(robot, own(robot)));
                a.total_cmp(&b)
            })?;
            Some(relative(heaviest, limit(heaviest.limits.as_ref()?)?))
        };
        facts.push((
            "heaviest robot, pages",
            of_share(
                self.balance_pages,
                limit(&|limits| limits.pages, &|robot| robot.pages),
            ),
        ));
        facts.push((
            "heaviest robot, servers",
            of_share(
                self.balance_servers,
                limit(&|limits| limits.servers, &|robot| robot.servers),
            ),
        ));
        facts.push((
            "heaviest robot, exchange",
            of_share(self.balance_exchange, None),
        ));
        if let Some(ms) = self.mean_rtt_ms {
            facts.push(("mean RTT to a page", format!("{ms:.2} ms")));
        }
        if let Some(km) = self.mean_distance_km {
            facts.push(("mean distance to a page", format!("{km:.1} km")));
        }
        if let (Some(pages), Some(hosts)) = (self.moved_pages, self.moved_hosts) {
            facts.push((
                "moved",
                format!(
                    "{} pages of {}; {} of them belonged to robots that are gone",
                    grouped(pages as usize),
                    counted(hosts, "host"),
                    grouped(self.moved_pages_of_gone_robots.unwrap_or(0) as usize)
                ),
            ));
        }
        if let Some(tables) = &self.tables {
            facts.push((
                "routing tables",
                format!(
                    "{} entries at most, {} on average; a list of hosts has {} ({:.1} times as many)",
                    grouped(tables.largest),
                    short(tables.mean),
                    grouped(tables.host_list),
                    tables.times_smaller
                ),
            ));
        }
        if let Some(seconds) = self.seconds {
            facts.push(("time", format!("{seconds:.2} s")));
        }
        facts
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n\n", self.subject());
        for (name, value) in self.facts() {
            // writing to a string cannot fail
            let _ = writeln!(text, "{name:26} {value}");
        }
        let rows: Vec<_> = self.robots.iter().map(cells).collect();
        text.push('\n');
        text += &terminal::table(&COLUMNS, &rows);
        text
    }
}

/// The head of the table of robots, and whether a column is text.
pub const COLUMNS: [(&str, bool); 9] = [
    ("robot", true),
    ("group", true),
    ("capacity", false),
    ("pages", false),
    ("hosts", false),
    ("servers", false),
    ("links", false),
    ("exchanged", false),
    ("table", false),
];

/// A robot as people read it.
pub fn cells(share: &Share) -> [String; 9] {
    let table = share.table_blocks.zip(share.table_hosts);
    let limits = share.limits.as_ref();
    let of = |amount: String, limit: Option<String>| match limit {
        Some(limit) => format!("{amount} of {limit}"),
        None => amount,
    };
    let count = |amount: u64, limit: Option<u64>| {
        let limit = limit.map(|limit| grouped(limit as usize));
        of(grouped(amount as usize), limit)
    };
    [
        share.robot.clone(),
        share.group.clone(),
        short(share.capacity),
        count(share.pages, limits.and_then(|limits| limits.pages)),
        grouped(share.hosts as usize),
        count(share.servers, limits.and_then(|limits| limits.servers)),
        of(
            short(share.links),
            limits.and_then(|limits| limits.links).map(short),
        ),
        short(share.exchanged_links),
        table.map_or_else(
            || "–".to_owned(),
            |(blocks, hosts)| format!("{} + {}", grouped(blocks), grouped(hosts)),
        ),
    ]
}

/// `1 host`, `2 hosts`.
fn counted(number: usize, name: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {name}{plural}", grouped(number))
}
