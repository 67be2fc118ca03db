//! `evercrawl fleet status` and `moves`: how a fleet is doing, and what happened in it.

use super::join::Event;
use super::office::{Office, Where};
use super::picture::{Picture, Shown};
use crate::interrupt::stop_on_interrupt;
use crate::moment::Moment;
use crate::terminal::{self, count, grouped, plain};
use anyhow::{Result, anyhow};
use bus::Bus;
use desk::live;
use serde::Serialize;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// So many URLs are named that were given up.
const NAMED: usize = 3;

/// Show how the fleet is doing: robots, pages, what is under way between them.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Repeat until Ctrl-C.
    #[arg(long)]
    watch: bool,
}

/// Show which servers went from robot to robot, oldest first; kept for seven days.
#[derive(clap::Args)]
pub struct Moves {
    #[command(flatten)]
    place: Where,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
    /// How many of the newest moves to show.
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    last: usize,
}

/// The fleet, for people and programs.
#[derive(Default, Serialize)]
pub struct View {
    pub fleet: String,
    pub nats: String,
    /// Whether nothing is left to try, as all robots agreed.
    pub quiet: bool,
    pub seeds: usize,
    pub seeds_waiting: usize,
    /// Times that it could not be written down that seeds were given.
    pub seeds_unmarked: u64,
    pub dead_letters: u64,
    pub pages: u64,
    pub requests: u64,
    pub servers: usize,
    pub in_custody: usize,
    /// URLs and rows that robots did not take from each other.
    pub refused: u64,
    /// URLs whose names have no address that may be contacted, and some of them.
    pub unresolved: u64,
    pub given_up: Vec<String>,
    /// Pages that robots at work tried and have no copy of.
    pub untaken: u64,
    /// Times that robots divided a group by its links.
    pub divisions: u64,
    /// Servers that robots probed, to which they traced the route, and to which they found none.
    pub probed: u64,
    pub traced: u64,
    pub untraced: u64,
    pub robots: Vec<Shown>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    if !arguments.watch {
        return show(&View::look(&office)?, arguments.json);
    }
    let stop = stop_on_interrupt();
    let in_place = !arguments.json && std::io::stderr().is_terminal();
    while !stop.load(Ordering::Relaxed) {
        let view = View::look(&office)?;
        if in_place {
            live::show(view.text().lines().map(str::to_owned).collect())?;
        } else {
            show(&view, arguments.json)?;
        }
        for _ in 0..20 {
            if !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
    Ok(())
}

fn show(view: &View, json: bool) -> Result<()> {
    let text = if json {
        serde_json::to_string(view)? + "\n"
    } else {
        view.text()
    };
    Ok(terminal::print(&text)?)
}

impl View {
    pub fn look(office: &Office) -> Result<Self> {
        let picture = Picture::take(office)?;
        let robots = picture.robots(office);
        let seeds = super::seed::Papers::read(office)?;
        let dead = office.runtime.block_on(office.nats.dead_letters(0));
        let (dead_letters, _) = dead.map_err(|error| anyhow!("{error}"))?;
        let reports = || robots.iter().filter_map(|robot| robot.report.as_ref());
        Ok(Self {
            fleet: office.place.name.clone(),
            nats: office.place.nats.clone(),
            quiet: picture.keys.values().any(|keys| keys.quiet),
            seeds: seeds.count(),
            seeds_waiting: seeds.count_waiting(),
            seeds_unmarked: reports().map(|report| report.seeds_unmarked).sum(),
            dead_letters,
            pages: reports().map(|report| report.status.pages_fetched).sum(),
            requests: reports().map(|report| report.status.requests).sum(),
            servers: reports().map(|report| report.servers).sum(),
            in_custody: reports().map(|report| report.in_custody).sum(),
            refused: (reports())
                .map(|report| report.status.refused_from_peers + report.tally.refused)
                .sum(),
            unresolved: reports().map(|report| report.tally.unresolved).sum(),
            given_up: (reports().flat_map(|report| &report.given_up))
                .take(NAMED)
                .cloned()
                .collect(),
            untaken: (reports())
                .map(|report| report.status.new_waiting + report.status.pages_gone)
                .sum(),
            divisions: reports().map(|report| report.tally.divisions).sum(),
            probed: reports().map(|report| report.probed).sum(),
            traced: reports().map(|report| report.traced).sum(),
            untraced: reports().map(|report| report.untraced).sum(),
            robots,
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let working = self.robots.iter().filter(|robot| robot.report.is_some());
        let _ = writeln!(
            text,
            "fleet      {} · {} at work of {} · {}",
            self.fleet,
            working.count(),
            count(self.robots.len() as u64, "robot"),
            plain(&self.nats),
        );
        let _ = writeln!(
            text,
            "pages      {} with a copy · {} · {}",
            grouped(self.pages as usize),
            count(self.servers as u64, "server"),
            count(self.requests, "request"),
        );
        let waiting = match self.seeds_waiting {
            0 => String::new(),
            1 => " (1 waits for a robot to take it)".to_owned(),
            waiting => format!(" ({} wait for a robot to take them)", grouped(waiting)),
        };
        let _ = writeln!(
            text,
            "between    {} under way · {}{waiting} · {}",
            count(self.in_custody as u64, "URL"),
            count(self.seeds as u64, "seed"),
            count(self.dead_letters, "dead letter"),
        );
        if self.refused > 0 {
            let refused = count(self.refused, "URL");
            let _ = writeln!(
                text,
                "refused    {refused} of other robots: `fleet dead-letters` says which and why"
            );
        }
        if self.probed + self.traced + self.untraced > 0 {
            let _ = writeln!(
                text,
                "distances  {} · {} ({} not found)",
                count(self.probed, "probe"),
                count(self.traced, "route"),
                grouped(self.untraced as usize),
            );
        }
        if self.unresolved > 0 {
            let some: Vec<String> = self.given_up.iter().map(|url| plain(url)).collect();
            let some = if some.is_empty() {
                String::new()
            } else {
                format!(", such as {}", some.join(", "))
            };
            let urls = count(self.unresolved, "URL");
            let _ = writeln!(
                text,
                "given up   {urls}: no address that may be contacted{some}"
            );
        }
        if self.seeds_unmarked > 0 {
            let times = count(self.seeds_unmarked, "time");
            let _ = writeln!(
                text,
                "marks      {times} it could not be written down that seeds were given: robots' logs say why"
            );
        }
        if self.quiet {
            let failed = match self.untaken + self.unresolved {
                0 => String::new(),
                failed => format!("; {} could not be fetched", count(failed, "URL")),
            };
            let _ = writeln!(text, "once       everything was tried{failed}");
        }
        text + &self.table()
    }

    /// Robot by robot.
    fn table(&self) -> String {
        if self.robots.is_empty() {
            return "\nno robot has joined yet: evercrawl fleet join --as NAME --in GROUP\n".into();
        }
        let columns = [
            ("robot", true),
            ("group", true),
            ("state", true),
            ("servers", false),
            ("moving", false),
            ("pages", false),
            ("waiting", false),
            ("requests/s", false),
            ("URLs under way", false),
        ];
        let rows: Vec<Vec<String>> = (self.robots.iter())
            .map(|robot| {
                let mut row = vec![
                    robot.name.clone(),
                    robot.group.clone(),
                    robot.state.to_owned(),
                ];
                if let Some(report) = &robot.report {
                    let status = &report.status;
                    row.extend([
                        report.servers.to_string(),
                        (report.arriving + report.going).to_string(),
                        grouped(status.pages_fetched as usize),
                        grouped(status.new_waiting as usize),
                        format!("{:.1}", status.requests_per_second),
                        report.in_custody.to_string(),
                    ]);
                }
                row
            })
            .collect();
        "\n".to_owned() + &terminal::table(&columns, &rows)
    }
}

pub fn moves(arguments: &Moves) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    office.articles()?;
    let events = read(&office, arguments.last)?;
    let mut text = String::new();
    for event in &events {
        if arguments.json {
            text += &(serde_json::to_string(event)? + "\n");
        } else {
            text += &(line(event) + "\n");
        }
    }
    if events.is_empty() && !arguments.json {
        text.push_str("nothing has moved yet\n");
    }
    Ok(terminal::print(&text)?)
}

/// The newest events that can be read.
pub fn read(office: &Office, most: usize) -> Result<Vec<Event>> {
    let told = office.runtime.block_on(office.nats.told(most));
    let told = told.map_err(|error| anyhow!("{error}"))?;
    let read = told
        .iter()
        .filter_map(|bytes| serde_json::from_slice(bytes).ok());
    Ok(read.collect())
}

/// An event in a line.
pub fn line(event: &Event) -> String {
    format!(
        "{}  {:<12} {}",
        Moment(event.at.cast_signed()),
        plain(&event.robot),
        words(event)
    )
}

/// What happened, in words.
pub fn words(event: &Event) -> String {
    let mut parts = Vec::new();
    let named = |count: usize, servers: &[std::net::IpAddr]| {
        let mut names: Vec<String> = servers.iter().take(4).map(ToString::to_string).collect();
        if count > names.len() {
            names.push("…".to_owned());
        }
        format!(
            "{} ({})",
            terminal::count(count as u64, "server"),
            names.join(", ")
        )
    };
    if event.took > 0 {
        parts.push(format!("took {}", named(event.took, &event.took_servers)));
    }
    if event.gave > 0 {
        parts.push(format!("gave {}", named(event.gave, &event.gave_servers)));
    }
    if let Some(what) = &event.what {
        parts.push(plain(what));
    }
    if parts.is_empty() {
        parts.push(format!("plans {}", plain(&event.plans.join(", "))));
    }
    parts.join("; ")
}
