//! What the demo of a fleet shows while it runs, and what it says at the end.

use super::stage::{DELAY, QUIET, Stage, distance};
use super::{Events, Fault};
use crate::terminal::{count, grouped};
use anyhow::{Result, anyhow};
use desk::live;
use serde::Serialize;
use serde_json::Value;
use simulation::web::{Rules, Visit, check_politeness};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, IsTerminal, Write};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

pub struct View {
    silent: bool,
    in_place: bool,
    last: Option<Instant>,
}

impl View {
    pub fn new(json: bool, stage: &Stage) -> Result<Self> {
        let view = Self {
            silent: json,
            in_place: io::stderr().is_terminal() && !json,
            last: None,
        };
        view.say(&format!(
            "evercrawl fleet demo: three robots in two sites share {} on {}. Each host and address is left alone \
             for {} ms after a request; a robot counts as dead {} s after its last sign of life.",
            count(stage.pages() as u64, "page"),
            count(stage.web.hosts().len() as u64, "host"),
            DELAY * 1e3,
            stage.play.lease,
        ))?;
        Ok(view)
    }

    pub fn say(&self, text: &str) -> io::Result<()> {
        if self.silent {
            return Ok(());
        }
        live::above(format!("{text}\n").as_bytes())
    }

    /// What a division on demand changed.
    pub fn divided(&self, groups: &[Value]) -> io::Result<()> {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        for group in groups.iter().filter(|group| group["divided"] == true) {
            self.say(&format!(
                "{} is divided again by links and distances: {} of {} change hands",
                group["group"].as_str().unwrap_or_default(),
                number(&group["servers_moved"]),
                count(number(&group["servers"]), "server"),
            ))?;
        }
        Ok(())
    }

    pub fn show(&mut self, stage: &Stage, at: Duration) -> Result<()> {
        let every = Duration::from_secs(if self.in_place { 1 } else { 4 });
        if self.silent || self.last.is_some_and(|last| last.elapsed() < every) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        let Some(status) = stage.status() else {
            return Ok(());
        };
        let robots = status["robots"].as_array().cloned().unwrap_or_default();
        let said = robots.iter().map(|robot| {
            let report = &robot["report"];
            let number = |value: &Value| value.as_u64().unwrap_or(0);
            let moving = number(&report["arriving"]) + number(&report["going"]);
            format!(
                "{} in {}: {}, {}{}, {}",
                robot["name"].as_str().unwrap_or_default(),
                robot["group"].as_str().unwrap_or_default(),
                robot["state"].as_str().unwrap_or_default(),
                count(number(&report["servers"]), "server"),
                if moving > 0 {
                    format!(" and {moving} on the way")
                } else {
                    String::new()
                },
                count(number(&report["status"]["pages_fetched"]), "page"),
            )
        });
        let said: Vec<String> = said.collect();
        let head = format!(
            "{:>3.0} s  {} of {} pages fetched",
            at.as_secs_f64(),
            stage.pages_had(),
            stage.pages()
        );
        if self.in_place {
            let lines =
                std::iter::once(head).chain(said.into_iter().map(|line| format!("  {line}")));
            live::show(lines.collect())?;
        } else {
            writeln!(io::stderr(), "{head}; {}", said.join("; "))?;
        }
        Ok(())
    }

    pub fn end(&self) -> Result<()> {
        if self.in_place {
            live::clear()?;
        }
        Ok(())
    }
}

/// The outcome, by the web's own record.
#[derive(Serialize)]
pub struct Summary {
    fault: Fault,
    victim: String,
    seconds: f64,
    pages: usize,
    missing: usize,
    /// Pages that were had more than once: those that the dead robot had fetched and not yet told.
    twice: usize,
    requests: usize,
    requests_by_robot: BTreeMap<String, usize>,
    too_soon: usize,
    /// nats-servers, and the lease in seconds.
    servers: usize,
    lease: u64,
    /// When it first happened, and how often.
    struck_after: Option<f64>,
    strikes: u32,
    /// The longest that no request came before the last one.
    longest_pause: f64,
    /// Milliseconds that pages were away from their robots, by who asked their servers last before the division, and
    /// first five seconds after it.
    distance_before: Option<f64>,
    distance_after: Option<f64>,
    /// Servers that the victim had asked, and that others asked after it.
    taken_over: usize,
    /// Seconds from its last request before to the first request of another to one of them.
    first_taken_over_after: Option<f64>,
    ended_by_themselves: bool,
    failed: Vec<String>,
    moves: usize,
}

impl Summary {
    pub fn of(stage: &mut Stage, fault: Fault, events: &Events, took: Duration) -> Result<Self> {
        let killed = events.struck;
        let visits = stage.running.record.visits();
        let rules = Rules {
            host_delay: DELAY,
            address_delay: DELAY,
            crawl_delay: stage.web.crawl_delays(),
            // the operating system may delay one process more than the other
            tolerance: 0.005,
        };
        let mut times: HashMap<usize, usize> = HashMap::new();
        let mut by_robot: BTreeMap<String, usize> = BTreeMap::new();
        let number = events
            .victim
            .strip_prefix("robot-")
            .and_then(|n| n.parse::<u8>().ok());
        let victim = 10 + number.unwrap_or(2);
        let mut death = None;
        for visit in &visits {
            let last = visit.client.octets()[3];
            let name = format!("robot-{}", last.saturating_sub(10));
            *by_robot.entry(name).or_default() += 1;
            if visit.complete
                && let Some(page) = stage.web.find(&visit.host, &visit.path)
            {
                *times.entry(page).or_default() += 1;
            }
            if last == victim && fault == Fault::Kill && killed.is_some() {
                death = death.max(Some(visit.start));
            }
        }
        // who asked each server last while it lived
        let mut last_asked = HashMap::new();
        let mut heirs: HashMap<_, u64> = HashMap::new();
        let mut in_order: Vec<_> = visits.iter().collect();
        in_order.sort_by_key(|visit| visit.start);
        for visit in in_order {
            let client = visit.client.octets()[3];
            if death.is_none_or(|death| visit.start <= death) {
                last_asked.insert(visit.address, client);
            } else if last_asked.get(&visit.address) == Some(&victim) && client != victim {
                heirs.entry(visit.address).or_insert(visit.start);
            }
        }
        let mut starts: Vec<u64> = visits.iter().map(|visit| visit.start).collect();
        starts.sort_unstable();
        let pauses = starts.windows(2).map(|two| two[1] - two[0]);
        let longest_pause = pauses.max().unwrap_or(0) as f64 * 1e-6;
        let (distance_before, distance_after) = distances(stage, &visits, events.divided).unzip();
        let first = heirs.values().min().zip(death);
        let ended = stage.all_ended()?;
        let allowed = (0..stage.web.pages().len()).filter(|page| stage.web.pages()[*page].allowed);
        Ok(Self {
            fault,
            victim: events.victim.clone(),
            seconds: took.as_secs_f64(),
            pages: stage.pages(),
            missing: allowed.filter(|page| !times.contains_key(page)).count(),
            twice: times.values().filter(|times| **times > 1).count(),
            requests: visits.len(),
            requests_by_robot: by_robot,
            too_soon: check_politeness(&visits, &rules).len(),
            servers: stage.play.servers,
            lease: stage.play.lease,
            struck_after: killed.map(|killed| killed.as_secs_f64()),
            strikes: events.strikes,
            longest_pause,
            distance_before,
            distance_after,
            taken_over: heirs.len(),
            first_taken_over_after: first.map(|(first, death)| (first - death) as f64 * 1e-6),
            ended_by_themselves: ended,
            failed: stage.failed(if fault == Fault::Kill {
                &events.victim
            } else {
                ""
            })?,
            moves: stage.moves().len(),
        })
    }

    pub fn text(&self) -> String {
        let robots: Vec<String> = (self.requests_by_robot.iter())
            .map(|(name, requests)| format!("{name} {}", grouped(*requests)))
            .collect();
        let lost = match self.missing {
            0 => "none is missing".to_owned(),
            missing => format!("{missing} are missing"),
        };
        let soon = match self.too_soon {
            0 => "no server got a request too soon, or from two robots at once".to_owned(),
            soon => format!("{soon} came too soon, or while another was under way"),
        };
        let happened = match (self.fault.says(&self.victim), self.struck_after) {
            (Some(_), Some(at)) if self.strikes > 1 => {
                format!(
                    "{} times something happened, first after {at:.0} s",
                    self.strikes
                )
            }
            (Some(said), Some(at)) => format!("{said} after {at:.0} s"),
            _ => "nothing happened to the robots".to_owned(),
        };
        let taken = match (self.fault, self.first_taken_over_after) {
            (Fault::Kill, Some(after)) => format!(
                "; others took over {} of its servers, the first {after:.1} s after its last request (lease {} s, \
                 then {QUIET} s of quiet)",
                self.taken_over, self.lease
            ),
            _ => String::new(),
        };
        let near = match (self.distance_before, self.distance_after) {
            (Some(before), Some(after)) => format!(
                "  pages were {before:.0} ms away from their robots while hosts were divided by hash, {after:.0} ms when distances counted\n"
            ),
            _ => String::new(),
        };
        format!(
            "\nIn {:.0} s, by the web's own record:\n  {} pages, {lost}; {} fetched twice\n  {} requests ({}); {soon}\n{near}  {happened}{taken}\n",
            self.seconds,
            grouped(self.pages),
            self.twice,
            grouped(self.requests),
            robots.join(", "),
        )
    }

    /// Whether it went as it should.
    pub fn verdict(&self) -> Result<()> {
        if !self.failed.is_empty() {
            return Err(anyhow!("a robot failed: {}", self.failed.join("; ")));
        }
        if self.missing > 0 || self.too_soon > 0 {
            return Err(anyhow!("this should not happen: please report it"));
        }
        if !self.ended_by_themselves {
            return Err(anyhow!(
                "the robots did not finish in time; --seconds gives them more"
            ));
        }
        Ok(())
    }
}

/// Milliseconds from a page to its robot before and after a division, as a mean over the pages of servers that were
/// asked before and after.
fn distances(stage: &Stage, visits: &[Visit], divided: Option<u64>) -> Option<(f64, f64)> {
    let divided = divided?;
    let mut askers: HashMap<Ipv4Addr, (Option<Ipv4Addr>, Option<Ipv4Addr>)> = HashMap::new();
    let mut in_order: Vec<&Visit> = visits.iter().collect();
    in_order.sort_by_key(|visit| visit.start);
    for visit in in_order {
        let (before, after) = askers.entry(visit.address).or_default();
        if visit.start <= divided {
            *before = Some(visit.client);
        } else if visit.start > divided + 5_000_000 {
            after.get_or_insert(visit.client);
        }
    }
    let (mut pages, mut was, mut is) = (0.0, 0.0, 0.0);
    for host in stage.web.hosts() {
        let Some((Some(before), Some(after))) = askers.get(&host.address).copied() else {
            continue;
        };
        let count = host.pages.len() as f64;
        let far = |client| distance(client, host.address).as_secs_f64() * 1e3;
        pages += count;
        was += count * far(before);
        is += count * far(after);
    }
    (pages > 0.0).then(|| (was / pages, is / pages))
}
