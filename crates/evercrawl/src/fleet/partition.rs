//! `evercrawl fleet partition now`: a division on demand.

use super::ask::{Ask, Change, Division};
use super::groups::{Group, TOP};
use super::office::{Office, Where};
use super::picture::Picture;
use crate::terminal::{self, count, grouped};
use anyhow::{Result, anyhow};
use fleet::identity::GroupId;
use ground::Seconds;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// So often it is looked how far a division is.
const LOOK: Duration = Duration::from_millis(250);
/// Moves that are named for people.
const NAMED: usize = 8;

/// Divide the Web among the members again.
///
/// Groups do this by themselves when members come or go, when there are a quarter more servers, and every six
/// hours. Each group's partitioner, one of its robots, divides the group's share by what the robots have
/// reported: pages, links, distances. Servers that move are handed over as usual.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Divide now, and show what moves.
    Now {
        /// This group alone [default: every group, the fleet first].
        #[arg(long, value_name = "GROUP")]
        group: Option<String>,
        /// How long to wait for each.
        #[arg(long, value_name = "TIME", default_value = "60s")]
        wait: Seconds,
        /// Print JSON lines.
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Command::Now { group, wait, json } = &arguments.command;
    let office = Office::open(&arguments.place)?;
    let picture = Picture::take(&office)?;
    let chosen: Vec<Group> = match group {
        Some(name) => vec![picture.groups.named(name)?.clone()],
        None => (picture.groups.groups.iter())
            .filter(|group| !group.nodes)
            .cloned()
            .collect(),
    };
    let mut divided = 0;
    for group in &chosen {
        let asked = ask(&office, &picture, group, *wait);
        divided += usize::from(asked.is_done());
        terminal::print(&if *json {
            asked.json(&picture, group).to_string() + "\n"
        } else {
            asked.text(&picture, group)
        })?;
    }
    match divided {
        0 => Err(anyhow!("no group was divided")),
        _ => Ok(()),
    }
}

/// What came of it.
enum Asked {
    Refused(String),
    Done {
        by: String,
        moved: Change,
        /// The plan that says so, if it is out.
        plan: Option<String>,
    },
}

fn ask(office: &Office, picture: &Picture, group: &Group, wait: Seconds) -> Asked {
    let id = GroupId(group.id);
    let Some(maker) = picture.plan(id).map(|plan| plan.maker).filter(|m| m.0 != 0) else {
        return Asked::Refused("it has no plans yet: no robot is in it".to_owned());
    };
    let by = picture.robot_name(maker);
    let silent = || Asked::Refused(format!("{by}, which makes its plans, does not answer"));
    let Some(before) = office.ask::<Division>(maker, &Ask::Divide { group: id.0 }) else {
        return silent();
    };
    if let Some(why) = before.refused {
        return Asked::Refused(why);
    }
    let until = Instant::now() + Duration::from_secs_f64(wait.0.clamp(1.0, 3_600.0));
    let mut known = before.known;
    let moved = loop {
        std::thread::sleep(LOOK);
        if let Some(now) = office.ask::<Division>(maker, &Ask::Divided { group: id.0 }) {
            known = now.known;
            match now.last {
                Some(moved) if now.ended > before.ended => break moved,
                None if now.ended > before.ended => {
                    return Asked::Refused(format!("{by} found no division of its share"));
                }
                _ => {}
            }
        }
        if Instant::now() > until {
            return Asked::Refused(format!(
                "{by} has not divided it within {:.0} s: it knows {}, and waits until all robots have settled the present plan",
                wait.0,
                count(known as u64, "server"),
            ));
        }
    };
    let plan = (moved.servers_moved > 0).then(|| published(office, id, &moved.after, until));
    Asked::Done {
        by,
        moved,
        plan: plan.flatten(),
    }
}

/// The plan that follows, as soon as it is out.
fn published(office: &Office, group: GroupId, after: &str, until: Instant) -> Option<String> {
    while Instant::now() < until {
        let picture = Picture::take(office).ok()?;
        let plan = picture.plan(group).map(|plan| plan.version.to_string());
        if let Some(version) = plan.filter(|version| version != after) {
            return Some(version);
        }
        std::thread::sleep(LOOK);
    }
    None
}

impl Asked {
    fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    fn json(&self, picture: &Picture, group: &Group) -> Value {
        match self {
            Self::Refused(why) => json!({ "group": group.name, "divided": false, "why": why }),
            Self::Done { by, moved, plan } => {
                let moves = moved.moves.iter().map(|(server, from, to)| {
                    let [from, to] = [from, to].map(|who| picture.member_name((*who).into()));
                    json!({ "server": server, "from": from, "to": to })
                });
                json!({
                    "group": group.name,
                    "divided": true,
                    "by": by,
                    "after": moved.after,
                    "plan": plan,
                    "servers": moved.servers,
                    "pages": moved.pages,
                    "servers_moved": moved.servers_moved,
                    "pages_moved": moved.pages_moved,
                    "pages_moved_late": moved.pages_moved_late,
                    "unlisted": moved.unlisted,
                    "milliseconds_before": moved.delay.map(|delay| delay.0),
                    "milliseconds_after": moved.delay.map(|delay| delay.1),
                    "moves": moves.collect::<Vec<_>>(),
                })
            }
        }
    }

    fn text(&self, picture: &Picture, group: &Group) -> String {
        let name = if GroupId(group.id) == TOP {
            format!("{} (the fleet)", group.name)
        } else {
            group.name.clone()
        };
        let (by, moved, plan) = match self {
            Self::Refused(why) => return format!("{name}: not divided: {why}\n"),
            Self::Done { by, moved, plan } => (by, moved, plan),
        };
        let mut text = format!(
            "{name}: {by} divided {} with {} pages; {} with {} pages change hands",
            count(moved.servers as u64, "server"),
            grouped(moved.pages as usize),
            count(moved.servers_moved as u64, "server"),
            grouped(moved.pages_moved as usize),
        );
        match plan {
            Some(plan) => {
                let _ = writeln!(text, ", by its plan {plan}");
            }
            None if moved.servers_moved > 0 => text.push_str("; its next plan is not out yet\n"),
            None => text.push('\n'),
        }
        if let Some((was, will)) = moved.delay {
            let _ = writeln!(
                text,
                "  a page is {was:.1} ms away from its robot, and will be {will:.1} ms"
            );
        }
        for (server, from, to) in moved.moves.iter().take(NAMED) {
            let [from, to] = [from, to].map(|who| picture.member_name((*who).into()));
            let _ = writeln!(text, "  {server}  {from} → {to}");
        }
        if moved.servers_moved > NAMED {
            let _ = writeln!(text, "  …");
        }
        text
    }
}
