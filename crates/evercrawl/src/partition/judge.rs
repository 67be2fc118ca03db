//! What an assignment is worth.

use super::divide::{Level, Problem};
use super::summary::{Share, Summary, TableSizes};
use crate::bad_input::BadInput;
use clap::ValueEnum;
use desk::hosts::Hosts;
use partition::hash::Shares;
use partition::method::Method;
use partition::solve::{Measured, Servers};
use partition::task::NOWHERE;

/// Links from robots to robots, robot by robot.
pub fn flows(hosts: &Hosts, part: &[u32], robots: usize) -> Vec<f64> {
    let mut flows = vec![0.0; robots * robots];
    for &(from, to, links) in &hosts.links {
        let (from, to) = (part[from as usize] as usize, part[to as usize] as usize);
        flows[from * robots + to] += links;
    }
    flows
}

/// Judges the assignment, or what hash-url is expected to do where there is none.
pub fn judge(
    problem: &Problem,
    method: Method,
    level: Level,
    vertices: &Servers,
    part: Option<&[u32]>,
) -> Result<Summary, BadInput> {
    let (hosts, robots) = (problem.hosts, &problem.robots.all);
    let count = robots.len();
    let capacities = problem.robots.capacities();
    let all: f64 = capacities.iter().sum();
    let shares = Shares::new(&capacities).map_err(|error| BadInput(error.to_string()))?;
    let pages: u64 = hosts.pages.iter().sum();
    let links: f64 = hosts.links.iter().map(|row| row.2).sum();
    let mut own = vec![(0_u64, 0_u64); count];
    let mut exchange = vec![0.0; count];
    let mut cut = 0.0;
    if let Some(part) = part {
        for (&robot, &pages) in part.iter().zip(&hosts.pages) {
            own[robot as usize].0 += pages;
            own[robot as usize].1 += 1;
        }
        let flows = flows(hosts, part, count);
        for pair in (0..count * count).filter(|pair| pair / count != pair % count) {
            cut += flows[pair];
            exchange[pair / count] += flows[pair];
            exchange[pair % count] += flows[pair];
        }
    } else {
        // every robot has its share of every host, and of the links that it hands over
        cut = links * shares.url_cut();
        for robot in 0..count {
            let share = shares.url_share(robot as u32);
            own[robot] = ((share * pages as f64) as u64, hosts.names.len() as u64);
            exchange[robot] = 2.0 * links * share * (1.0 - share);
        }
    }
    let heaviest = |value: &dyn Fn(usize) -> f64, total: f64| {
        let relative = |robot: usize| value(robot) * all / (capacities[robot] * total.max(1.0));
        (0..count).map(relative).fold(0.0, f64::max)
    };
    let (servers, linked) = match part {
        Some(part) => (
            servers(vertices, part, count),
            linked(hosts, vertices, part, count),
        ),
        None => (
            vec![vertices.count as u64; count],
            (0..count as u32)
                .map(|robot| 2.0 * links * shares.url_share(robot))
                .collect(),
        ),
    };
    let moved = part.and_then(|after| moved(problem, after));
    let name = |value: Option<clap::builder::PossibleValue>| {
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    };
    Ok(Summary {
        method: method.to_string(),
        level: name(level.to_possible_value()),
        seed: problem.seed,
        hosts: hosts.names.len(),
        vertices: vertices.count,
        pages,
        links,
        cut,
        cut_share: cut / links.max(f64::MIN_POSITIVE),
        cut_between_groups: part.and_then(|part| between_groups(problem, part)),
        balance_pages: heaviest(&|robot| own[robot].0 as f64, pages as f64),
        balance_servers: {
            let total: u64 = servers.iter().sum();
            heaviest(&|robot| servers[robot] as f64, total as f64)
        },
        balance_exchange: {
            let total: f64 = exchange.iter().sum();
            heaviest(&|robot| exchange[robot], total)
        },
        mean_rtt_ms: mean(hosts, problem.rtt, part),
        mean_distance_km: mean(hosts, problem.distance, part),
        moved_pages: moved.map(|moved| moved.pages),
        moved_hosts: moved.map(|moved| moved.hosts),
        moved_pages_of_gone_robots: moved.map(|moved| moved.pages_of_gone_robots),
        tables: None,
        seconds: None,
        robots: (0..count)
            .map(|j| Share {
                robot: robots[j].name.clone(),
                group: robots[j].groups.join("/"),
                capacity: robots[j].capacity,
                pages: own[j].0,
                hosts: own[j].1,
                servers: servers[j],
                links: linked[j],
                limits: None,
                exchanged_links: exchange[j],
                table_blocks: None,
                table_hosts: None,
            })
            .collect(),
        warnings: Vec::new(),
    })
}

/// The mean cost of a page, of what was measured.
fn mean(hosts: &Hosts, measured: Option<&[Measured]>, part: Option<&[u32]>) -> Option<f64> {
    let (measured, part) = measured.zip(part)?;
    let mut sum = (0.0, 0.0);
    for m in measured {
        if part[m.host.0 as usize] == m.robot.0 {
            let pages = hosts.pages[m.host.0 as usize] as f64;
            sum = (sum.0 + pages * m.cost, sum.1 + pages);
        }
    }
    (sum.1 > 0.0).then(|| sum.0 / sum.1)
}

/// The smallest unit that is assigned, robot by robot. Hashes may divide an address: then each robot visits
/// it.
fn servers(vertices: &Servers, part: &[u32], robots: usize) -> Vec<u64> {
    let mut pairs: Vec<(u32, u32)> = (vertices.of_host.iter().copied())
        .zip(part.iter().copied())
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut servers = vec![0; robots];
    for (_, robot) in pairs {
        servers[robot as usize] += 1;
    }
    servers
}

/// The links of each robot's vertices to any others.
fn linked(hosts: &Hosts, vertices: &Servers, part: &[u32], robots: usize) -> Vec<f64> {
    let mut linked = vec![0.0; robots];
    for &(from, to, links) in &hosts.links {
        let [from, to] = [from, to].map(|host| host as usize);
        if vertices.of_host[from] != vertices.of_host[to] {
            linked[part[from] as usize] += links;
            linked[part[to] as usize] += links;
        }
    }
    linked
}

/// What changed robots.
#[derive(Clone, Copy, Default)]
struct Moved {
    pages: u64,
    hosts: usize,
    pages_of_gone_robots: u64,
}

fn moved(problem: &Problem, after: &[u32]) -> Option<Moved> {
    let before = problem.previous?;
    let mut moved = Moved::default();
    for host in (0..after.len()).filter(|&host| before[host] != after[host]) {
        let gone = problem.left_behind.is_some_and(|left| left[host]);
        // the others are new
        if gone || before[host] != NOWHERE {
            let pages = problem.hosts.pages[host];
            moved.pages += pages;
            moved.hosts += 1;
            moved.pages_of_gone_robots += if gone { pages } else { 0 };
        }
    }
    Some(moved)
}

/// Links between members of the top, where some of them are groups.
fn between_groups(problem: &Problem, part: &[u32]) -> Option<f64> {
    let tree = &problem.robots.tree;
    (tree.levels() > 1).then(|| {
        let member = |host: u32| tree.path(part[host as usize])[0];
        let crossing = problem.hosts.links.iter();
        let crossing = crossing.filter(|row| member(row.0) != member(row.1));
        crossing.map(|row| row.2).sum()
    })
}

/// Notes the sizes of the routing tables: blocks and host names.
pub fn add_tables(summary: &mut Summary, sizes: &[(usize, usize)]) {
    let entries = || sizes.iter().map(|(blocks, hosts)| blocks + hosts);
    let largest = entries().max().unwrap_or(0);
    summary.tables = Some(TableSizes {
        largest,
        mean: entries().sum::<usize>() as f64 / sizes.len().max(1) as f64,
        host_list: summary.hosts,
        times_smaller: summary.hosts as f64 / largest.max(1) as f64,
    });
    for (share, &(blocks, hosts)) in summary.robots.iter_mut().zip(sizes) {
        share.table_blocks = Some(blocks);
        share.table_hosts = Some(hosts);
    }
}
