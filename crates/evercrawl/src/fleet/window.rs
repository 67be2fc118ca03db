//! `evercrawl fleet dashboard`: a fleet in a browser, live.

use super::ask::{Ask, Holdings};
use super::groups::TOP;
use super::office::{Member as Written, Office, Where};
use super::picture::{Picture, Shown};
use super::{routes, seed, status, tree};
use crate::dashboard_view::{self, address};
use anyhow::{Result, anyhow};
use bus::Bus;
use dashboard::fleet::{Fleet, Group, Move, Robot, Server, Servers, Source};
use fleet::identity::{GroupId, Member, Unit};
use fleet::plan::{Plan, Standing};
use robot::config::Config;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// Moves shown.
const MOVES: usize = 50;
/// Most servers that are asked for; the rest is counted.
const MOST_SERVERS: usize = 20_000;

/// Show the fleet in a browser: robots, groups, who has which server, and what moves between them.
///
/// Only this machine can reach it unless --listen names another address, which needs a token:
/// `dashboard.token_file` or `dashboard.token_env` in the configuration that -c names.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// The address to listen on [default: 127.0.0.1:9601].
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// A map made by `evercrawl netmap`, which shows servers in the colours of their robots.
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// A configuration (TOML); only its [dashboard] is used.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut config = match &arguments.config {
        Some(path) => crate::crawl::read_config(Some(path))?,
        None => Config::default(),
    };
    dashboard_view::use_map(&mut config, arguments.map.as_ref())?;
    let office = Office::open(&arguments.place)?;
    office.articles()?;
    let seen = Seen(Arc::new(office));
    dashboard_view::run_fleet(arguments.listen, &config, Box::new(seen))
}

/// A fleet as it is seen over a connection to it.
pub struct Seen(pub Arc<Office>);

impl Source for Seen {
    fn name(&self) -> String {
        self.0.place.name.clone()
    }

    fn look(&self) -> Result<Fleet> {
        let office = &*self.0;
        let picture = Picture::take(office)?;
        let seeds = seed::Papers::read(office)?;
        let dead = office.runtime.block_on(office.nats.dead_letters(0));
        let (dead_letters, _) = dead.map_err(|error| anyhow!("{error}"))?;
        let mut robots: Vec<Robot> = (picture.robots(office).into_iter())
            .map(|shown| robot(&picture, shown))
            .collect();
        robots.sort_by(|a, b| a.name.cmp(&b.name));
        let moves = status::read(office, MOVES)?.into_iter().rev();
        Ok(Fleet {
            engine: office.place.nats.clone(),
            once: picture.keys.values().any(|keys| keys.quiet),
            seeds: seeds.count(),
            seeds_waiting: seeds.count_waiting(),
            dead_letters,
            tree: group(&picture, TOP, String::new(), 0),
            robots,
            moves: moves
                .map(|event| Move {
                    at: event.at.cast_signed(),
                    what: status::words(&event),
                    robot: event.robot,
                })
                .collect(),
        })
    }

    fn servers(&self) -> Result<Servers> {
        let office = &*self.0;
        let mut servers = Servers::default();
        let robots = office.robots()?;
        let first = Ask::Servers { after: None };
        let first = office.ask_all(robots.iter().map(Written::id), &first);
        for (robot, mut told) in robots.iter().zip(first) {
            // whoever does not answer has nothing to tell
            while let Some(Holdings { some, more }) = told {
                let after = some.last().map(|last| last.server);
                servers.all.extend(some.into_iter().map(|held| Server {
                    address: held.server,
                    robot: robot.name.clone(),
                    held: held.held,
                    names: held.names,
                    pages: held.pages,
                    answers_in: held.answers_in,
                }));
                if servers.all.len() >= MOST_SERVERS {
                    servers.left_out += more;
                    break;
                }
                if more == 0 || after.is_none() {
                    break;
                }
                told = office.ask(robot.id(), &Ask::Servers { after });
            }
        }
        servers.all.sort_by_key(|server| server.address);
        Ok(servers)
    }

    fn way(&self, host: &str) -> Result<String> {
        let host = host.trim().to_lowercase();
        let name = match url::Url::parse(&host) {
            Ok(url) if url.has_host() => url.host_str().unwrap_or_default().to_owned(),
            _ => host,
        };
        routes::way(&self.0, &name)
    }

    fn owners(&self, servers: &[IpAddr]) -> Result<Vec<Option<String>>> {
        let picture = Picture::take(&self.0)?;
        let owner = |server: &IpAddr| {
            let robot = picture.owner(Unit::Server(*server))?;
            Some(picture.robot_name(robot))
        };
        Ok(servers.iter().map(owner).collect())
    }
}

fn robot(picture: &Picture, shown: Shown) -> Robot {
    let group = picture.groups.named(&shown.group).ok();
    let keys = group.and_then(|group| picture.keys.get(&GroupId(group.id)));
    let id = fleet::identity::RobotId(shown.id);
    let lease = keys.and_then(|keys| keys.leases.get(&id));
    let report = shown.report.unwrap_or_default();
    let words = match lease {
        None => "none".to_owned(),
        Some(lease) if lease.sealed => "expired".to_owned(),
        Some(_) if !report.robot.is_empty() && !report.lease => "not held".to_owned(),
        Some(lease) => format!("held, session {}", lease.session.incarnation),
    };
    Robot {
        at_work: !report.robot.is_empty(),
        name: shown.name,
        group: shown.group,
        state: shown.state.to_owned(),
        lease: words,
        load: lease.filter(|lease| !lease.sealed).map(|lease| lease.load),
        servers: report.servers,
        arriving: report.arriving,
        going: report.going,
        pages: report.status.pages_fetched,
        waiting: report.status.new_waiting,
        requests: report.status.requests,
        requests_per_second: report.status.requests_per_second,
        in_custody: report.in_custody,
        fresh: report.status.estimated_freshness,
    }
}

/// The share of a plan's member, in words.
fn share(plan: Option<&Plan>, member: Member) -> String {
    let Some((plan, seat)) = plan.and_then(|plan| Some((plan, plan.seat(member)?))) else {
        return "not in the plan yet".to_owned();
    };
    if seat.standing != Standing::Active {
        return tree::standing(seat).to_owned();
    }
    let active = (plan.seats.iter()).filter(|seat| seat.standing == Standing::Active);
    let all: u32 = active.map(|seat| seat.capacity).sum();
    format!(
        "{:.0} %",
        100.0 * f64::from(seat.capacity) / f64::from(all.max(1))
    )
}

fn group(picture: &Picture, id: GroupId, of_above: String, depth: usize) -> Group {
    let plan = picture.plan(id);
    let words = plan.map_or_else(
        || "no plan".to_owned(),
        |plan| match plan.maker.0 {
            0 => "no plan yet".to_owned(),
            _ => format!(
                "plan {} by {}",
                plan.version,
                picture.robot_name(plan.maker)
            ),
        },
    );
    let (seats, waiting) = tree::members(picture, id);
    let mut shown = Group {
        name: picture.groups.name(id),
        plan: words,
        share: of_above,
        ..Group::default()
    };
    let seated = seats.iter().map(|seat| seat.member);
    for member in seated.chain(waiting.into_iter().map(Member::Group)) {
        let share = share(plan, member);
        match member {
            Member::Robot(robot) => shown.robots.push((picture.robot_name(robot), share)),
            Member::Group(below) if depth < 32 => {
                shown.groups.push(group(picture, below, share, depth + 1));
            }
            Member::Group(_) => {}
        }
    }
    shown
}
