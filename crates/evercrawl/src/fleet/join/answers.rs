//! A robot at work answers those who ask it over the messaging engine.

use super::prober::Prober;
use super::purse;
use crate::fleet::ask::{Ask, Division, Engine, Holding, Holdings, Known, Report, Traces};
use crate::fleet::office::Office;
use anyhow::{Result, anyhow};
use bus::{Bus, Question};
use fleet::identity::{GroupId, RobotId, Unit};
use fleet::io::Input;
use fleet::robot::{Divides, Hold};
use robot::Sight;
use robot::view::Status;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::task::JoinHandle;

/// Most names of a server that are told.
const NAMES: usize = 100;

/// Most servers that are measured for one question.
const MEASURED: usize = 64;
/// Most servers in an answer, and most hosts of each.
const SERVERS: usize = 500;
const HOSTS: usize = 3;

/// Most URLs that are named of those that were given up.
const GIVEN_UP: usize = 10;

/// Where questions are answered.
pub struct Desk {
    shown: Arc<Mutex<(Status, u64)>>,
    clerk: Arc<Clerk>,
    task: JoinHandle<()>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Desk {
    pub fn open(
        name: &str,
        robot: RobotId,
        office: &Office,
        (sight, prober): (&Sight, &Prober),
        leave: Sender<Input>,
    ) -> Result<Self> {
        let asked = office.runtime.block_on(office.nats.questions(robot));
        let mut asked = asked.map_err(|error| anyhow!("{error}"))?;
        let shown = Arc::new(Mutex::default());
        let clerk = Arc::new(Clerk {
            name: name.to_owned(),
            robot,
            nats: office.nats.clone(),
            sight: sight.clone(),
            prober: prober.clone(),
            shown: shown.clone(),
            leave,
            began: Instant::now(),
        });
        let at_work = clerk.clone();
        let task = office.runtime.spawn(async move {
            while let Some(Question { bytes, answer }) = asked.recv().await {
                // what cannot be read is not answered
                if let Ok(ask) = serde_json::from_slice(&bytes) {
                    let _ = answer.send(at_work.answer(&ask));
                }
            }
        });
        Ok(Self { shown, clerk, task })
    }

    /// How the crawl goes by now.
    pub fn show(&self, status: Status, seeds_unmarked: u64) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = (status, seeds_unmarked);
    }

    /// What it tells whoever asks for it.
    pub fn report(&self) -> Report {
        self.clerk.report()
    }
}

fn in_a_word(hold: &Hold) -> &'static str {
    match hold {
        Hold::Own { .. } => "own",
        Hold::Arriving { .. } => "arriving",
        Hold::Closing { .. } | Hold::Packed { .. } => "going",
    }
}

/// As many as are asked for at a time.
fn some(servers: &[IpAddr]) -> &[IpAddr] {
    &servers[..servers.len().min(MEASURED)]
}

struct Clerk {
    name: String,
    robot: RobotId,
    nats: bus::nats::Nats,
    sight: Sight,
    prober: Prober,
    /// How the crawl goes, and how often it could not be written down that seeds were given.
    shown: Arc<Mutex<(Status, u64)>>,
    leave: Sender<Input>,
    began: Instant,
}

impl Clerk {
    fn answer(&self, ask: &Ask) -> Vec<u8> {
        let answer = match ask {
            Ask::Ping => serde_json::to_vec(&true),
            Ask::Status => serde_json::to_vec(&self.report()),
            Ask::Where { name, server } => {
                serde_json::to_vec(&self.known(name.as_deref(), *server))
            }
            Ask::Servers { after } => serde_json::to_vec(&self.servers(*after)),
            Ask::Leave => {
                let told = self.leave.send(Input::Leave).is_ok();
                serde_json::to_vec(&told)
            }
            Ask::Probe { servers } => serde_json::to_vec(&self.prober.distances.of(some(servers))),
            Ask::Trace { servers } => {
                serde_json::to_vec(&Traces::of(self.prober.traces.of(some(servers))))
            }
            Ask::Divide { group } => serde_json::to_vec(&self.divide(GroupId(*group))),
            Ask::Divided { group } => serde_json::to_vec(&self.divided(GroupId(*group))),
        };
        answer.unwrap_or_default()
    }

    fn report(&self) -> Report {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let (probed, traced) = (self.prober.distances.tally(), self.prober.traces.tally());
        let mut report = Report {
            robot: self.name.clone(),
            seconds: self.began.elapsed().as_secs_f64(),
            engine: Engine::from(self.nats.tally()),
            status: shown.0.clone(),
            seeds_unmarked: shown.1,
            probed: probed.measured,
            traced: traced.measured,
            untraced: traced.failed,
            unmeasured: probed.refused + traced.refused,
            ..Report::default()
        };
        drop(shown);
        self.sight.look(|seam| {
            let protocol = seam.protocol();
            for (unit, hold) in protocol.holds() {
                if matches!(unit, Unit::Register(_)) {
                    continue;
                }
                match hold {
                    Hold::Own { .. } => report.servers += 1,
                    Hold::Arriving { .. } => report.arriving += 1,
                    Hold::Closing { .. } | Hold::Packed { .. } => report.going += 1,
                }
            }
            report.incarnation = protocol.session().map_or(0, |s| s.incarnation);
            report.lease = protocol.has_lease();
            report.leaving = protocol.is_leaving();
            report.in_custody = protocol.in_custody();
            report.allowed = purse::allowed(protocol);
            report.tally = protocol.tally().into();
            report.given_up = (protocol.given_up().take(GIVEN_UP))
                .map(str::to_owned)
                .collect();
            report.standing = protocol.standing();
            report.probes = protocol.probes();
            let (traces, dropped) = protocol.traces();
            report.traces = traces;
            report.unmeasured += dropped;
            report.engine.unburied += seam.unburied();
        });
        report
    }

    fn servers(&self, after: Option<IpAddr>) -> Holdings {
        let told = self.sight.look(|seam| {
            let protocol = seam.protocol();
            let mut held: Vec<(IpAddr, &Hold)> = (protocol.holds())
                .filter_map(|(unit, hold)| match unit {
                    Unit::Server(server) => Some((server, hold)),
                    Unit::Register(_) => None,
                })
                .filter(|(server, _)| after.is_none_or(|after| *server > after))
                .collect();
            held.sort_by_key(|(server, _)| *server);
            let more = held.len().saturating_sub(SERVERS);
            held.truncate(SERVERS);
            let mut names: BTreeMap<IpAddr, Vec<String>> = held
                .iter()
                .map(|(server, _)| (*server, Vec::new()))
                .collect();
            for (name, server) in seam.servers() {
                if let Some(known) = names.get_mut(&server)
                    && known.len() < HOSTS
                {
                    known.push(name);
                }
            }
            let holding = |(server, hold): (IpAddr, &Hold)| {
                let counts = protocol.counts_of(server);
                let delay = counts.and_then(|counts| counts.delays.get(&self.robot)?.median());
                Holding {
                    server,
                    held: in_a_word(hold).to_owned(),
                    names: names.remove(&server).unwrap_or_default(),
                    pages: counts.map_or(0, fleet::counts::Counts::total),
                    answers_in: delay.map(|micros| f64::from(micros) / 1e3),
                }
            };
            Holdings {
                some: held.into_iter().map(holding).collect(),
                more,
            }
        });
        told.unwrap_or_default()
    }

    fn divide(&self, group: GroupId) -> Division {
        let refused = match self.sight.divide_again(group) {
            Some(Divides::Soon) => None,
            Some(Divides::NotMine) => Some("another robot makes its plans"),
            Some(Divides::ByRing) => Some("its members share by the ring alone"),
            Some(Divides::Alone) => Some("it has one member, which has everything"),
            None => Some("the robot has not started yet"),
        };
        Division {
            refused: refused.map(str::to_owned),
            ..self.divided(group)
        }
    }

    fn divided(&self, group: GroupId) -> Division {
        let told = self.sight.look(|seam| {
            let protocol = seam.protocol();
            let (ended, last) = protocol.told_of_division(group);
            Division {
                refused: None,
                ended,
                known: protocol.servers_told(group),
                last: last.map(Into::into),
            }
        });
        told.unwrap_or_default()
    }

    fn known(&self, name: Option<&str>, server: Option<IpAddr>) -> Known {
        let mut known = Known::default();
        self.sight.look(|seam| {
            let protocol = seam.protocol();
            known.bound = name.and_then(|name| protocol.bound(name));
            let Some(server) = server.or(known.bound) else {
                return;
            };
            let held = protocol.hold_of(Unit::Server(server));
            known.held = held.map(|hold| match hold {
                Hold::Own { .. } => "its own".to_owned(),
                Hold::Arriving { .. } => "arriving: others have to give it up first".to_owned(),
                Hold::Closing { .. } => "going: its last requests end".to_owned(),
                Hold::Packed { .. } => "going: packed for its next robot".to_owned(),
            });
            let names = seam.servers().filter(|(_, at)| *at == server);
            known.names = names.map(|(name, _)| name).take(NAMES).collect();
        });
        known
    }
}
