//! `evercrawl fleet tree` and `tables`: who is in which group, and how each group divides its share.

use super::groups::TOP;
use super::office::{Office, Where};
use super::picture::Picture;
use crate::terminal;
use anyhow::Result;
use fleet::identity::{GroupId, Member};
use fleet::plan::{Seat, Standing};
use serde_json::{Value, json};
use std::fmt::Write;

/// Show the tree of groups and robots, by the plans in force.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Show how each group divides its share: members, their weights, and tables of addresses.
#[derive(clap::Args)]
pub struct Tables {
    #[command(flatten)]
    place: Where,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    let picture = Picture::take(&office)?;
    if arguments.json {
        let tree = json(&picture, TOP, 0);
        return Ok(terminal::print(&(serde_json::to_string(&tree)? + "\n"))?);
    }
    let mut text = String::new();
    draw(&picture, TOP, 0, &mut text);
    Ok(terminal::print(&text)?)
}

pub(super) fn standing(seat: &Seat) -> &'static str {
    match seat.standing {
        Standing::Active => "active",
        Standing::Leaving => "leaving",
        Standing::Empty => "empty",
    }
}

/// Members by the plan, and groups that wait for a place in it.
pub(super) fn members(picture: &Picture, group: GroupId) -> (Vec<&Seat>, Vec<GroupId>) {
    let plan = picture.plan(group);
    let seats: Vec<&Seat> = plan.map_or(Vec::new(), |plan| plan.seats.iter().collect());
    let below = picture.groups.groups.iter();
    let waiting = below
        .filter(|known| known.above == Some(group.0))
        .map(|known| GroupId(known.id))
        .filter(|id| !seats.iter().any(|seat| seat.member == Member::Group(*id)));
    (seats.clone(), waiting.collect())
}

fn draw(picture: &Picture, group: GroupId, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let plan = picture.plan(group);
    let about = plan.map_or_else(
        || "no plan".to_owned(),
        |plan| {
            let maker = match plan.maker.0 {
                0 => "nobody yet".to_owned(),
                _ => picture.robot_name(plan.maker),
            };
            format!("plan {} by {maker}", plan.version)
        },
    );
    let nodes = picture.groups.with(group).is_some_and(|known| known.nodes);
    let nodes = if nodes {
        "  one robot of several machines"
    } else {
        ""
    };
    let name = picture.groups.name(group);
    let _ = writeln!(text, "{indent}{name}  {about}{nodes}");
    let (seats, waiting) = members(picture, group);
    for seat in seats {
        match seat.member {
            Member::Group(below) if depth < 32 => draw(picture, below, depth + 1, text),
            Member::Group(_) => {}
            Member::Robot(robot) => {
                let state = match seat.standing {
                    Standing::Active => String::new(),
                    _ => format!("  {}", standing(seat)),
                };
                let name = picture.robot_name(robot);
                let _ = writeln!(text, "{indent}  {name}{state}");
            }
        }
    }
    for below in waiting {
        draw(picture, below, depth + 1, text);
    }
}

fn json(picture: &Picture, group: GroupId, depth: usize) -> Value {
    let plan = picture.plan(group);
    let (seats, waiting) = members(picture, group);
    let robots: Vec<Value> = (seats.iter())
        .filter_map(|seat| match seat.member {
            Member::Robot(robot) => Some(json!({
                "name": picture.robot_name(robot),
                "id": robot.0,
                "incarnation": seat.incarnation,
                "capacity": seat.capacity,
                "standing": standing(seat),
            })),
            Member::Group(_) => None,
        })
        .collect();
    let below = seats.iter().filter_map(|seat| match seat.member {
        Member::Group(below) => Some(below),
        Member::Robot(_) => None,
    });
    let groups: Vec<Value> = (below.chain(waiting))
        .filter(|_| depth < 32)
        .map(|below| json(picture, below, depth + 1))
        .collect();
    json!({
        "group": picture.groups.name(group),
        "id": group.0,
        "nodes": picture.groups.with(group).is_some_and(|known| known.nodes),
        "plan": plan.map(|plan| plan.version.to_string()),
        "partitioner": plan.filter(|plan| plan.maker.0 != 0).map(|plan| picture.robot_name(plan.maker)),
        "robots": robots,
        "groups": groups,
    })
}

pub fn tables(arguments: &Tables) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    let picture = Picture::take(&office)?;
    let mut text = String::new();
    for group in &picture.groups.groups {
        let Some(plan) = picture.plan(GroupId(group.id)) else {
            continue;
        };
        let active = |seat: &&Seat| seat.standing == Standing::Active;
        let total: u32 = plan
            .seats
            .iter()
            .filter(active)
            .map(|seat| seat.capacity)
            .sum();
        if arguments.json {
            let members: Vec<Value> = (plan.seats.iter())
                .map(|seat| {
                    json!({
                        "member": picture.member_name(seat.member),
                        "capacity": seat.capacity,
                        "standing": standing(seat),
                        "representatives": seat.representatives.iter().map(|r| picture.robot_name(*r)).collect::<Vec<_>>(),
                    })
                })
                .collect();
            let table: Vec<Value> = (plan.table.iter())
                .map(|(block, member)| {
                    json!({ "block": block.0.to_string(), "member": picture.member_name(*member) })
                })
                .collect();
            let line = json!({ "group": group.name, "plan": plan.version.to_string(), "members": members, "table": table });
            text += &(line.to_string() + "\n");
            continue;
        }
        let _ = writeln!(text, "{}  plan {}", group.name, plan.version);
        for seat in &plan.seats {
            let name = picture.member_name(seat.member);
            let share = match seat.standing {
                Standing::Active if total > 0 => {
                    let share = 100.0 * f64::from(seat.capacity) / f64::from(total);
                    format!("{share:.0} % of what no table lists")
                }
                _ => standing(seat).to_owned(),
            };
            let _ = writeln!(text, "  {name:<20} {share}");
        }
        for (block, member) in &plan.table {
            let _ = writeln!(text, "  {:<20} {}", block.0, picture.member_name(*member));
        }
    }
    Ok(terminal::print(&text)?)
}
