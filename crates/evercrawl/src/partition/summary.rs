//! What `evercrawl partition` tells.

use crate::terminal::{self, grouped, short};
use serde::Serialize;
use std::fmt::Write;

/// What a robot got.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    pub robot: String,
    pub group: String,
    pub capacity: f64,
    pub pages: u64,
    pub hosts: u64,
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
    /// Of the robot that exchanges most, as a multiple of the mean.
    pub balance_exchange: f64,
    /// Mean over pages, of what was measured.
    pub mean_rtt_ms: Option<f64>,
    pub mean_distance_km: Option<f64>,
    pub moved_pages: Option<u64>,
    pub moved_hosts: Option<usize>,
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
            "{}: {} hosts, {} pages, {} links between hosts, {} robots, by {}; seed {}",
            self.method,
            grouped(self.hosts),
            grouped(self.pages as usize),
            short(self.links),
            self.robots.len(),
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
                "of those between groups",
                format!("{} ({})", short(between), percent(share)),
            ));
        }
        facts.push((
            "heaviest robot, pages",
            format!("{:.3} of its share", self.balance_pages),
        ));
        facts.push((
            "heaviest robot, servers",
            format!("{:.3} of its share", self.balance_servers),
        ));
        facts.push((
            "heaviest robot, exchange",
            format!("{:.3} of the mean", self.balance_exchange),
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
                    "{} pages of {} hosts",
                    grouped(pages as usize),
                    grouped(hosts)
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
pub const COLUMNS: [(&str, bool); 7] = [
    ("robot", true),
    ("group", true),
    ("capacity", false),
    ("pages", false),
    ("hosts", false),
    ("exchanged", false),
    ("table", false),
];

/// A robot as people read it.
pub fn cells(share: &Share) -> [String; 7] {
    let table = share.table_blocks.zip(share.table_hosts);
    [
        share.robot.clone(),
        share.group.clone(),
        short(share.capacity),
        grouped(share.pages as usize),
        grouped(share.hosts as usize),
        short(share.exchanged_links),
        table.map_or_else(
            || "–".to_owned(),
            |(blocks, hosts)| format!("{} + {}", grouped(blocks), grouped(hosts)),
        ),
    ]
}
