//! `evercrawl netmap probe` and `trace`: packets to many targets, and what came back.

mod results;
mod targets;

use super::open;
use crate::bad_input::BadInput;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::terminal::{self, complain};
use anyhow::{Result, anyhow};
use ground::Point;
use ground::quantity::{DAY, Rate, Seconds};
use netmap::pace::Pace;
use netmap::probe::{Probing, Tracing};
use netmap::survey::{Family, Outcome, Survey, Task};
use netmap::wire::Method;
use results::Finding;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What both commands take.
#[derive(clap::Args)]
struct Common {
    /// Host names or addresses
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,

    /// A file with more of them, one per line, with # for comments; or the data directory of a crawl,
    /// for all its hosts
    #[arg(long = "targets", value_name = "FILE|DIR")]
    file: Option<PathBuf>,

    /// The map; created if it does not exist
    #[arg(long, value_name = "FILE", default_value = "netmap.db")]
    db: PathBuf,

    /// The name of this robot in the map [default: the machine's name]
    #[arg(long, value_name = "NAME")]
    source: Option<String>,

    /// Where this robot is
    #[arg(long, value_name = "LAT,LON", allow_hyphen_values = true)]
    at: Option<At>,

    /// The port of TCP and UDP packets
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// The most packets to send to all targets together
    #[arg(long, value_name = "RATE", default_value = "10/s")]
    rate: Rate,

    /// How long to leave a target alone after probing it
    #[arg(long, value_name = "TIME", default_value = "1d")]
    again_after: Seconds,

    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "1s")]
    timeout: Seconds,

    /// Targets to probe at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: u16,

    /// Also contact addresses that are not on the public Internet
    #[arg(long)]
    allow_private: bool,

    /// Use only addresses of this IP version
    #[arg(long, value_name = "4|6", value_parser = clap::value_parser!(u8).range(4..=6))]
    ip: Option<u8>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Measure the RTT of hosts.
///
/// Sends seven packets to each, one after another, and keeps the median. Uses ICMP echo where the
/// system allows it and the host answers, otherwise TCP connections, which open and closed ports
/// both answer.
#[derive(clap::Args)]
pub struct ProbeArguments {
    #[command(flatten)]
    common: Common,

    /// Use only icmp, udp or tcp [default: icmp, then tcp]
    #[arg(long, value_name = "METHOD")]
    method: Option<Method>,

    /// Packets per target
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    probes: u16,
}

/// Find the routers on the way to hosts.
///
/// Needs no privileges: routers' answers are read from the socket's error queue. ICMP needs the same
/// permission as ping.
#[derive(clap::Args)]
pub struct TraceArguments {
    #[command(flatten)]
    common: Common,

    /// icmp, udp or tcp
    #[arg(long, value_name = "METHOD", default_value = "udp")]
    method: Method,

    /// Packets for each hop
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=20))]
    attempts: u16,

    /// Give up after this many hops
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u8).range(1..=64))]
    most_hops: u8,
}

/// Latitude and longitude in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At(Point);

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(',');
        let parts =
            parts.and_then(|(lat, lon)| Some((lat.trim().parse().ok()?, lon.trim().parse().ok()?)));
        parts
            .and_then(|(latitude, longitude)| Point::new(latitude, longitude))
            .map(Self)
            .ok_or_else(|| {
                format!("'{text}' is not a place: expected latitude and longitude in degrees, such as 38.72,-9.14")
            })
    }
}

/// Runs `probe`.
pub fn probe(arguments: &ProbeArguments) -> Result<()> {
    let common = &arguments.common;
    survey(
        common,
        Task::Probe(Probing {
            method: arguments.method,
            count: usize::from(arguments.probes),
            timeout: timeout(common)?,
            port: common.port.unwrap_or(Probing::default().port),
        }),
    )
}

/// Runs `trace`.
pub fn trace(arguments: &TraceArguments) -> Result<()> {
    let common = &arguments.common;
    let usual = Tracing::by(arguments.method);
    survey(
        common,
        Task::Trace(Tracing {
            attempts: usize::from(arguments.attempts),
            timeout: timeout(common)?,
            port: common.port.unwrap_or(usual.port),
            most_hops: arguments.most_hops,
            ..usual
        }),
    )
}

fn timeout(common: &Common) -> Result<Duration, BadInput> {
    let Seconds(seconds) = common.timeout;
    if !(0.001..=60.0).contains(&seconds) {
        let reason = format!("--timeout is {seconds} s: expected from 1ms to 60s");
        return Err(BadInput(reason));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn survey(common: &Common, task: Task) -> Result<()> {
    let targets = targets::read(&common.targets, common.file.as_deref())?;
    let per_day = common.rate.per_day();
    if per_day <= 0.0 {
        return Err(BadInput("--rate is 0: nothing would ever be sent".to_owned()).into());
    }
    let store = open(&common.db)?;
    let name = common.source.clone().unwrap_or_else(targets::machine);
    let source = store.source(&name, common.at.map(|At(point)| point))?;
    let store = Mutex::new(store);
    let stop = stop_on_interrupt();
    let pace = Pace::new(per_day / DAY, stop);
    let survey = Survey {
        store: &store,
        source,
        task,
        pace: &pace,
        again_after: common.again_after.0,
        parallel: usize::from(common.parallel),
        allow_private: common.allow_private,
        family: match common.ip {
            None => Family::Any,
            Some(4) => Family::V4,
            Some(6) => Family::V6,
            Some(_) => return Err(BadInput("--ip is 5: expected 4 or 6".to_owned()).into()),
        },
    };
    let bar = terminal::progress("measuring", targets.len() as u64, false);
    let findings = Mutex::new(Vec::new());
    let kept = survey.run(&targets, |k, address, outcome| {
        let finding = Finding {
            target: targets[k].clone(),
            address,
            outcome,
        };
        let mut findings = findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.push((k, finding));
        bar.inc(1);
    });
    bar.finish_and_clear();
    kept.map_err(|error| anyhow!("cannot write {}: {error}", common.db.display()))?;
    let mut findings = findings
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    findings.sort_by_key(|(k, _)| *k);
    let findings: Vec<Finding> = findings.into_iter().map(|(_, finding)| finding).collect();
    let partial = stop.load(Ordering::Relaxed);
    terminal::print(&if common.json {
        results::json(&name, &findings, partial)?
    } else {
        results::text(&findings)
    })?;
    if partial {
        let rest = targets.len() - findings.len();
        complain(
            "warning",
            &format!("interrupted: {rest} targets are left; the same command continues with them"),
        );
        return Err(Interrupted.into());
    }
    complaint(&findings)
}

/// When nothing at all could be done, why.
fn complaint(findings: &[Finding]) -> Result<()> {
    let all = |is: fn(&Outcome) -> bool| findings.iter().all(|finding| is(&finding.outcome));
    if all(|outcome| matches!(outcome, Outcome::Unknown)) {
        return Err(
            BadInput("no target has an address: all of them are unknown hosts".to_owned()).into(),
        );
    }
    if all(|outcome| matches!(outcome, Outcome::NotPublic)) {
        let reason = "no target is on the public Internet: --allow-private contacts others too";
        return Err(BadInput(reason.to_owned()).into());
    }
    match &findings[0].outcome {
        Outcome::Failed(reason) if all(|o| matches!(o, Outcome::Failed(_))) => {
            Err(anyhow!("{reason}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_latitude_and_longitude() {
        let At(point) = "38.72, -9.14".parse().unwrap();
        assert_eq!((point.latitude, point.longitude), (38.72, -9.14));
        for text in ["", "38.72", "91,0", "0,181", "a,b", "nan,0"] {
            assert!(text.parse::<At>().is_err(), "{text}");
        }
    }
}
