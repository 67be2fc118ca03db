//! `evercrawl fleet routes` and `why`: which robot a URL or a host belongs to, and how it stands there.

use super::ask::{Ask, Known};
use super::office::{Office, Where};
use super::picture::Picture;
use super::status;
use crate::bad_input::BadInput;
use crate::data::read_url;
use crate::terminal::{self, plain};
use anyhow::Result;
use fleet::identity::Unit;
use serde::Serialize;
use std::fmt::Write;
use std::net::IpAddr;

/// Show how a URL gets to its robot.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// The URL.
    url: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Explain a host: who owns it, by which plans, and what happened to its server.
#[derive(clap::Args)]
pub struct Why {
    #[command(flatten)]
    place: Where,
    /// The host's name or address.
    host: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A way through the tree.
#[derive(Serialize)]
struct Step {
    group: String,
    plan: Option<String>,
    to: Option<String>,
    by: &'static str,
}

#[derive(Serialize)]
struct Way {
    name: String,
    /// Says which server the name is bound to.
    registrar: Option<String>,
    server: Option<IpAddr>,
    steps: Vec<Step>,
    robot: Option<String>,
    /// What that robot says of it.
    known: Option<Known>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let url = read_url(&arguments.url)?;
    let name = url.host_str().unwrap_or_default().to_owned();
    let office = Office::open(&arguments.place)?;
    let picture = Picture::take(&office)?;
    let way = Way::find(&office, &picture, &name);
    print(&way, arguments.json, &[])
}

pub fn why(arguments: &Why) -> Result<()> {
    let name = arguments.host.trim().to_lowercase();
    if name.is_empty() || name.contains(['/', ' ']) {
        let text = format!(
            "{:?} is not a host: expected a name or an address",
            arguments.host
        );
        return Err(BadInput(text).into());
    }
    if name.contains(':') && bare(&name).parse::<IpAddr>().is_err() {
        let text = format!(
            "{:?} has a port: expected a name or an address alone, as a server has the same robot on all ports",
            arguments.host
        );
        return Err(BadInput(text).into());
    }
    let office = Office::open(&arguments.place)?;
    let picture = Picture::take(&office)?;
    let way = Way::find(&office, &picture, &name);
    let mut past = Vec::new();
    if let Some(server) = way.server {
        for event in status::read(&office, 1_000)? {
            let is_named = event.took_servers.contains(&server);
            if is_named || event.gave_servers.contains(&server) {
                past.push(event);
            }
        }
    }
    print(&way, arguments.json, &past)
}

/// An address of version 6 without its brackets.
fn bare(name: &str) -> &str {
    name.trim_start_matches('[').trim_end_matches(']')
}

impl Way {
    fn find(office: &Office, picture: &Picture, name: &str) -> Self {
        let bare = bare(name);
        let register = Unit::register_of(bare);
        let registrar = picture.owner(register);
        let ask = |server| Ask::Where {
            name: Some(bare.to_owned()),
            server,
        };
        let bound = registrar.and_then(|robot| office.ask::<Known>(robot, &ask(None)));
        let server = bare.parse().ok().or_else(|| bound?.bound);
        let mut way = Self {
            name: name.to_owned(),
            registrar: registrar.map(|robot| picture.robot_name(robot)),
            server,
            steps: Vec::new(),
            robot: None,
            known: None,
        };
        let Some(server) = server else { return way };
        let unit = Unit::Server(server);
        for (group, to) in picture.walk(unit) {
            let plan = picture.plan(group);
            let by = match plan {
                Some(plan) if plan.lists(unit) => "table",
                Some(_) => "ring",
                None => "no plan",
            };
            way.steps.push(Step {
                group: picture.groups.name(group),
                plan: plan.map(|plan| plan.version.to_string()),
                to: to.map(|member| picture.member_name(member)),
                by,
            });
        }
        let robot = picture.owner(unit);
        way.robot = robot.map(|robot| picture.robot_name(robot));
        way.known = robot.and_then(|robot| office.ask(robot, &ask(Some(server))));
        way
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let name = plain(&self.name);
        let registrar = self.registrar.as_deref().unwrap_or("nobody");
        let Some(server) = self.server else {
            let why = match &self.registrar {
                Some(robot) => format!(
                    "{robot} will look it up when a robot finds a link to it, or does not answer"
                ),
                None => "no robot has a share that could look it up".to_owned(),
            };
            let _ = writeln!(text, "{name}: not bound to a server yet; {why}");
            return text;
        };
        // an address needs no register to be known
        let by = if bare(&self.name).parse::<IpAddr>().is_ok() {
            String::new()
        } else {
            format!(", as {registrar} has it in its register")
        };
        let _ = writeln!(text, "{name}  server {server}{by}");
        for step in &self.steps {
            let to = step.to.as_deref().unwrap_or("nobody: no member takes it");
            let plan = step.plan.as_deref().unwrap_or("no plan");
            let _ = writeln!(
                text,
                "  {:<16} {plan}, by the {}: {to}",
                step.group, step.by
            );
        }
        let held = match (&self.robot, &self.known) {
            (None, _) => "no robot has it at present".to_owned(),
            (Some(robot), None) => format!("{robot} does not answer"),
            (Some(robot), Some(known)) => match &known.held {
                Some(held) => format!("{robot}: {held}; {}", names(&known.names)),
                None => format!("{robot} has nothing of it yet"),
            },
        };
        let _ = writeln!(text, "  {held}");
        text
    }
}

/// How a host gets to its robot, in lines.
pub(super) fn way(office: &Office, host: &str) -> Result<String> {
    let picture = Picture::take(office)?;
    Ok(Way::find(office, &picture, host).text())
}

fn names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(5).map(|name| plain(name)).collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    format!("hosts there: {}{more}", shown.join(", "))
}

fn print(way: &Way, json: bool, past: &[super::join::Event]) -> Result<()> {
    let text = if json {
        let mut value = serde_json::to_value(way)?;
        if !past.is_empty() {
            value["moves"] = serde_json::to_value(past)?;
        }
        value.to_string() + "\n"
    } else {
        let mut text = way.text();
        for event in past {
            let _ = writeln!(text, "  {}", status::line(event));
        }
        text
    };
    Ok(terminal::print(&text)?)
}
