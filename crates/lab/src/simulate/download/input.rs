//! The Web to download and the Internet between, generated or read.

use super::Arguments;
use anyhow::Result;
use desk::bad_input::BadInput;
use desk::hosts::{Hosts, ReadCrawl, SelfLinks};
use desk::table;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::download::internet::Internet;
use simulation::download::shape::Shape;
use simulation::download::web::{Host, Web};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Most pages that the links of a host to itself stand for.
const MOST_PAGES: u64 = 10_000;

/// What is downloaded, and over which Internet.
pub struct Input {
    /// What it is, for reports.
    pub name: String,
    pub web: Arc<Web>,
    shape: Shape,
    latency: Option<Vec<Vec<f64>>>,
}

impl Input {
    /// Reads or generates what the arguments name.
    pub fn read(arguments: &Arguments, crawled: ReadCrawl) -> Result<Self> {
        let latency = arguments.latency.as_deref().map(matrix).transpose()?;
        let shape = Shape::published(arguments.seed).scaled(arguments.size);
        let (web, shape, what) = match &arguments.links {
            None => (shape.web(), shape, "generated national web".to_owned()),
            Some(links) => {
                let web = real(links, arguments.pages.as_deref(), arguments.seed, crawled)?;
                let shape = Shape {
                    hosts: web.hosts(),
                    ..shape
                };
                (web, shape, file_name(links))
            }
        };
        let times = arguments.latency.as_deref().map_or_else(
            || "times modelled from places".to_owned(),
            |file| format!("times of {}", file_name(file)),
        );
        Ok(Self {
            name: format!("{what}, {times}"),
            web: Arc::new(web),
            shape,
            latency,
        })
    }

    /// Whether anybody knows where hosts and robots are.
    pub fn has_places(&self) -> bool {
        self.latency.is_none()
    }

    /// The Internet of so many robots.
    pub fn internet(&self, robots: usize) -> Internet {
        match &self.latency {
            Some(matrix) => {
                Internet::from_matrix(matrix, None, robots, self.web.addresses(), self.shape.seed)
            }
            None => self.shape.internet(&self.web, robots),
        }
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Hosts and links as they are; which pages the links join is drawn.
pub fn real(links: &Path, pages: Option<&Path>, seed: u64, crawled: ReadCrawl) -> Result<Web> {
    let self_links = if pages.is_some() {
        SelfLinks::Ignore
    } else {
        SelfLinks::Pages
    };
    let read = Hosts::read(links, pages, self_links, MOST_PAGES, crawled)?;
    let total: u64 = read.pages.iter().map(|&pages| pages.max(1)).sum();
    let all_links: f64 = read.links.iter().map(|row| row.2).sum();
    if total > u64::from(u32::MAX / 2) || all_links > f64::from(u32::MAX / 2) {
        return Err(BadInput::file(links, "has more pages or links than can be simulated").into());
    }
    let mut addresses = HashMap::new();
    let mut count = 0;
    let mut hosts = Vec::with_capacity(read.names.len());
    for (h, name) in read.names.into_iter().enumerate() {
        let address = match read.address[h] {
            Some(ip) => *addresses.entry(ip).or_insert(count),
            None => count,
        };
        count += u32::from(address == count);
        hosts.push(Host {
            name,
            pages: read.pages[h].max(1) as u32,
            address,
        });
    }
    let between: Vec<(u32, u32, u32)> = read
        .links
        .iter()
        .map(|&(from, to, links)| (from, to, links.round() as u32))
        .collect();
    // every page but the home page has a link from its own host already
    let inside: Vec<u32> = read
        .inside
        .iter()
        .zip(&hosts)
        .map(|(&links, host)| (links as u32).saturating_sub(host.pages - 1))
        .collect();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Ok(Web::new(hosts, &between, &inside, &mut rng))
}

/// A square matrix of milliseconds; a first row and a first column of names are left out.
fn matrix(file: &Path) -> Result<Vec<Vec<f64>>> {
    let text = table::text(file, "reading latencies")?;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fields: Vec<&str> = line
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|field| !field.is_empty())
            .collect();
        let is_number = |field: &&str| field.parse::<f64>().is_ok();
        if fields.is_empty() || (number == 1 && fields.iter().filter(|f| is_number(f)).count() == 0)
        {
            continue;
        }
        let names = usize::from(!is_number(&fields[0]));
        let row = fields[names..].iter().map(|field| {
            let ms = field.parse::<f64>().ok().filter(|&ms| ms >= 0.0);
            ms.ok_or_else(|| {
                let reason = format!("'{field}' is not a number of milliseconds");
                BadInput::at(file, number, reason)
            })
        });
        rows.push(row.collect::<Result<_, _>>()?);
    }
    let size = rows.len();
    if let Some(odd) = rows.iter().position(|row| row.len() != size) {
        let reason = format!(
            "row {} has {} numbers, but there are {size} rows: expected a square matrix",
            odd + 1,
            rows[odd].len()
        );
        return Err(BadInput::file(file, reason).into());
    }
    if size < 2 {
        return Err(BadInput::file(file, "has fewer than two nodes").into());
    }
    Ok(rows)
}
