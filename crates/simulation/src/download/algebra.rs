//! What a partition is worth, by formula.

use super::conditions::Conditions;
use super::divide::Assignment;
use super::internet::Internet;
use super::web::{Unit, Web};
use partition::solve::Robot;

/// Times of each robot; the fleet is as slow as its slowest.
#[derive(Clone, Debug, PartialEq)]
pub struct Algebra {
    /// Seconds to download its pages.
    pub download: Vec<f64>,
    /// Seconds to hand over what it finds and is not its own.
    pub exchange: Vec<f64>,
    /// Links between pages of different robots.
    pub handed_over: u64,
}

impl Algebra {
    /// The fleet's download time.
    pub fn download_seconds(&self) -> f64 {
        largest(&self.download)
    }

    /// The fleet's exchange time.
    pub fn exchange_seconds(&self) -> f64 {
        largest(&self.exchange)
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// How many robots have pages of each server.
fn sharers(web: &Web, assignment: &Assignment, unit: Unit) -> Vec<u32> {
    let robots = assignment.robots;
    let mut has = vec![false; web.servers(unit) * robots];
    for host in 0..web.hosts() as u32 {
        let server = web.server_of(host, unit) as usize;
        for page in web.pages_of(host) {
            has[server * robots + assignment.of_page(page) as usize] = true;
        }
    }
    has.chunks(robots)
        .map(|row| row.iter().filter(|&&has| has).count() as u32)
        .collect()
}

/// `dt_j = (1/N_j)·Σ_i (M_i/L)·(2·RTT_ij + L·ps/BW + PT_i)` and
/// `et_j = (1/N_j)·Σ_{l≠j} (2·RTT_jl + su·nl_jl/BW)`. Robots that share a server, as under
/// hash-url, and do not speak to each other are polite only when each waits for all: `PT` times
/// their number.
pub fn evaluate(
    web: &Web,
    internet: &Internet,
    assignment: &Assignment,
    conditions: &Conditions,
) -> Algebra {
    let robots = assignment.robots;
    let sizes = web.server_pages(conditions.unit);
    let largest_size = sizes.iter().copied().max().unwrap_or(0);
    let sharers = sharers(web, assignment, conditions.unit);
    let together = conditions.pages_per_connection.max(1);
    let mut download = vec![0.0; robots];
    let mut links = vec![0_u64; robots * robots];
    let mut own = vec![0_u32; robots];
    for host in 0..web.hosts() as u32 {
        own.fill(0);
        for page in web.pages_of(host) {
            let robot = assignment.of_page(page) as usize;
            own[robot] += 1;
            for &target in web.links_of(page) {
                links[robot * robots + assignment.of_page(target) as usize] += 1;
            }
        }
        let server = web.server_of(host, conditions.unit) as usize;
        let (size, sharers) = (sizes[server], f64::from(sharers[server]));
        for (j, &pages) in (0..).zip(&own).filter(|(_, pages)| **pages > 0) {
            let rtt = internet.rtt(Robot(j), web.address_of(host));
            let duration = conditions.duration(rtt, together);
            let pause = conditions.politeness.interval(size, largest_size, duration);
            let visits = f64::from(pages) / f64::from(together);
            download[j as usize] +=
                visits * (duration + sharers * pause) / f64::from(conditions.connections);
        }
    }
    let handed_over = (0..robots * robots)
        .filter(|pair| pair / robots != pair % robots)
        .map(|pair| links[pair])
        .sum();
    Algebra {
        download,
        exchange: exchange(internet, &links, conditions),
        handed_over,
    }
}

/// Seconds until all pages that changed hands are with their new robots, when those robots come
/// and go: the formula of the exchange with all their URLs.
pub fn redistribution(
    web: &Web,
    internet: &Internet,
    before: &Assignment,
    after: &Assignment,
    conditions: &Conditions,
) -> f64 {
    let robots = internet.robots();
    let mut moved = vec![0_u64; robots * robots];
    for page in 0..web.pages() as u32 {
        let (from, to) = (before.of_page(page) as usize, after.of_page(page) as usize);
        moved[from * robots + to] += 1;
    }
    largest(&exchange(internet, &moved, conditions))
}

fn exchange(internet: &Internet, links: &[u64], conditions: &Conditions) -> Vec<f64> {
    let robots = internet.robots();
    let to_other = |j: usize, l: usize| {
        let bytes = conditions.url_bytes * links[j * robots + l] as f64;
        2.0 * internet.between(Robot(j as u32), Robot(l as u32)) + bytes / conditions.bandwidth
    };
    (0..robots)
        .map(|j| {
            // who has nothing to say to another does not call
            let others = (0..robots).filter(|&l| l != j && links[j * robots + l] > 0);
            others.map(|l| to_other(j, l)).sum::<f64>() / f64::from(conditions.connections)
        })
        .collect()
}
