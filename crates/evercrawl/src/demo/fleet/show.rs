//! What the demo of a fleet shows while it runs, and what it says at the end.

use super::stage::{DELAY, LEASE, QUIET, Stage};
use super::{Fault, VICTIM};
use crate::terminal::{count, grouped};
use anyhow::{Result, anyhow};
use desk::live;
use serde::Serialize;
use serde_json::Value;
use simulation::web::{Rules, check_politeness};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, IsTerminal, Write};
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
             for {} ms after a request; a robot counts as dead {LEASE} s after its last sign of life.",
            count(stage.pages() as u64, "page"),
            count(stage.web.hosts().len() as u64, "host"),
            DELAY * 1e3,
        ))?;
        Ok(view)
    }

    pub fn say(&self, text: &str) -> io::Result<()> {
        if self.silent {
            return Ok(());
        }
        live::above(format!("{text}\n").as_bytes())
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
    seconds: f64,
    pages: usize,
    missing: usize,
    /// Pages that were had more than once: those that the dead robot had fetched and not yet told.
    twice: usize,
    requests: usize,
    requests_by_robot: BTreeMap<String, usize>,
    too_soon: usize,
    /// When it happened.
    struck_after: Option<f64>,
    /// Servers that the victim had asked, and that others asked after it.
    taken_over: usize,
    /// Seconds from its last request before to the first request of another to one of them.
    first_taken_over_after: Option<f64>,
    ended_by_themselves: bool,
    failed: Vec<String>,
    moves: usize,
}

impl Summary {
    pub fn of(
        stage: &mut Stage,
        fault: Fault,
        killed: Option<Duration>,
        took: Duration,
    ) -> Result<Self> {
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
        let victim = 12;
        let mut last_of_victim = HashMap::new();
        for visit in &visits {
            let last = visit.client.octets()[3];
            let name = format!("robot-{}", last.saturating_sub(10));
            *by_robot.entry(name).or_default() += 1;
            if visit.complete
                && let Some(page) = stage.web.find(&visit.host, &visit.path)
            {
                *times.entry(page).or_default() += 1;
            }
            if last == victim && fault == Fault::Kill {
                last_of_victim.insert(visit.address, visit.start);
            }
        }
        let death = last_of_victim.values().max().copied();
        let mut heirs: HashMap<_, u64> = HashMap::new();
        for visit in &visits {
            let after = killed.and(death).is_some_and(|death| visit.start > death);
            let had = last_of_victim.contains_key(&visit.address);
            if after && had && visit.client.octets()[3] != victim {
                heirs.entry(visit.address).or_insert(visit.start);
            }
        }
        let first = heirs.values().min().zip(death);
        let ended = stage.all_ended()?;
        let allowed = (0..stage.web.pages().len()).filter(|page| stage.web.pages()[*page].allowed);
        Ok(Self {
            fault,
            seconds: took.as_secs_f64(),
            pages: stage.pages(),
            missing: allowed.filter(|page| !times.contains_key(page)).count(),
            twice: times.values().filter(|times| **times > 1).count(),
            requests: visits.len(),
            requests_by_robot: by_robot,
            too_soon: check_politeness(&visits, &rules).len(),
            struck_after: killed.map(|killed| killed.as_secs_f64()),
            taken_over: heirs.len(),
            first_taken_over_after: first.map(|(first, death)| (first - death) as f64 * 1e-6),
            ended_by_themselves: ended,
            failed: stage.failed(if fault == Fault::Kill { VICTIM } else { "" })?,
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
            0 => "nobody was asked too soon, or by two at once".to_owned(),
            soon => format!("{soon} came too soon, or while another was under way"),
        };
        let happened = match (self.fault.says(), self.struck_after) {
            (Some(said), Some(at)) => format!("{said} after {at:.0} s"),
            _ => "nothing happened to the robots".to_owned(),
        };
        let taken = match (self.fault, self.first_taken_over_after) {
            (Fault::Kill, Some(after)) => format!(
                "; others took over {} of its servers, the first {after:.1} s after its last request (lease {LEASE} s, \
                 then {QUIET} s of quiet)",
                self.taken_over
            ),
            _ => String::new(),
        };
        format!(
            "\nIn {:.0} s, by the web's own record:\n  {} pages, {lost}; {} had twice\n  {} requests ({}); {soon}\n  {happened}{taken}\n",
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
            return Err(anyhow!("this is not how it should be: please report it"));
        }
        if !self.ended_by_themselves {
            return Err(anyhow!(
                "the robots were not done in time; --seconds gives them more"
            ));
        }
        Ok(())
    }
}
