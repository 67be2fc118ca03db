//! What each robot may carry, beside what it got.

use super::divide::Problem;
use super::summary::{Limits, Share, Summary};
use crate::bad_input::BadInput;
use crate::terminal::{grouped, short};
use partition::graph::{Graph, Load, Vertex};
use partition::solve::Servers;
use partition::task::{Task, limits_in_force};

const MEASURES: [&str; 3] = ["pages", "servers", "links"];

/// Notes the limits of each robot, and warns of those that are exceeded.
pub fn add(
    summary: &mut Summary,
    problem: &Problem,
    vertices: &Servers,
    links: &Graph,
    host_part: &[u32],
) -> Result<(), BadInput> {
    let capacities = problem.robots.capacities();
    let fixed = vertices.robots(capacities.len());
    let mut part = vec![0; links.len()];
    for (host, &vertex) in vertices.of_host.iter().enumerate() {
        part[vertex as usize] = host_part[host];
    }
    for (robot, &vertex) in (0..).zip(&fixed) {
        part[vertex as usize] = robot;
    }
    let mut task = Task::new(links, &capacities, problem.robots.balance);
    task.robots = &fixed;
    let limits = limits_in_force(&task, &part).map_err(|error| BadInput(error.to_string()))?;
    let nominal = problem
        .robots
        .balance
        .limits(links.total_load(), &capacities);
    let loads = links.part_loads(&part, capacities.len());
    for (robot, share) in summary.robots.iter_mut().enumerate() {
        share.limits = Some(Limits::new(limits[robot], links.unit()));
        let largest = largest_host(problem, vertices, links, &part, robot as u32);
        let load = loads[robot];
        if !load.fits(&limits[robot]) {
            summary.warnings.push(exceeded(
                share,
                [load, limits[robot]],
                links.unit(),
                largest.as_ref(),
            ));
        } else if let Some((host, alone)) = &largest
            && alone.pages > nominal[robot].pages
        {
            summary.warnings.push(format!(
                "robot '{}' has '{host}' alone: its {} pages are more than the {} that the robot may have",
                share.robot,
                grouped(alone.pages as usize),
                grouped(nominal[robot].pages as usize),
            ));
        }
    }
    Ok(())
}

/// `unit`: the links that a traffic of 1 stands for.
fn exceeded(
    share: &Share,
    [load, limit]: [Load; 2],
    unit: f64,
    largest: Option<&(String, Load)>,
) -> String {
    let over: Vec<String> = (MEASURES.iter().zip(load.measures()).zip(limit.measures()))
        .filter(|((_, load), limit)| load > limit)
        .map(|((measure, load), limit)| {
            let [load, limit] = [load, limit].map(|amount| match *measure {
                "links" => short(amount as f64 * unit),
                _ => grouped(amount as usize),
            });
            format!("{load} {measure} where {limit} are allowed")
        })
        .collect();
    let largest = largest.filter(|(_, host)| host.pages > limit.pages);
    let reason = largest.map_or_else(String::new, |(host, load)| {
        format!(" (its host '{host}' has {})", grouped(load.pages as usize))
    });
    format!(
        "a limit of [balance] is exceeded: robot '{}' has {}{reason}",
        share.robot,
        over.join(" and ")
    )
}

/// What the robot has with most pages, by the name of its first host.
fn largest_host(
    problem: &Problem,
    vertices: &Servers,
    links: &Graph,
    part: &[u32],
    robot: u32,
) -> Option<(String, Load)> {
    let own = (0..vertices.count as Vertex).filter(|&v| part[v as usize] == robot);
    let largest = own.max_by_key(|&v| (links.load(v).pages, std::cmp::Reverse(v)))?;
    let host = vertices.of_host.iter().position(|&v| v == largest)?;
    Some((problem.hosts.names[host].clone(), links.load(largest)))
}
