//! `evercrawl changes`: a feed of the changes found, for other programs.

use crate::data::{self, Which};
use crate::interrupt::stop_on_interrupt;
use crate::moment::Moment;
use crate::terminal::complain;
use anyhow::Result;
use parse::change::Noise;
use serde::Serialize;
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;
use storage::archive::digest_text;
use storage::{Digest, Observation, Outcome, PageId, Position, Reader};

/// Between two looks at the log.
const PACE: Duration = Duration::from_millis(200);
/// A page's address may come a moment after its first visit.
const LOOKS: u32 = 5;

const MORE: &str = "\
A line for each change, in the order in which they were stored:
  {\"time\":…,\"kind\":\"changed\",\"url\":…,\"status\":200,\"digest\":\"sha1:…\",\"previous\":\"sha1:…\"}

  kind      first    the first copy of a page
            changed  a visitor would see that its content says something else
            minor    something else differs (with --minor); `reason` tells what: markup, around
                     (menus, footers, advertisements), ticking (how long ago, how many views),
                     restless (parts that differ at nearly every look)
            gone     it was missing twice in a row
  digest    of the body as transferred; `previous` is that of the copy before, where the log has it

Examples:
  evercrawl changes --since '1d ago'
  evercrawl changes --follow | jq -r --unbuffered 'select(.kind == \"changed\") | .url'";

/// Print the changes found, as JSON lines.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only those found at or after a time: 2026-11-16, 2026-11-16T03:15:42Z, '2h ago'.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<Moment>,
    /// Go on as more are found, until Ctrl-C.
    #[arg(long)]
    follow: bool,
    /// Minor changes too.
    #[arg(long)]
    minor: bool,
    /// JSON lines, which they are in any case.
    #[arg(long = "json")]
    _json: bool,
}

#[derive(Serialize)]
struct Change {
    time: Moment,
    kind: &'static str,
    url: String,
    status: u16,
    /// Why a minor change is minor.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let reader = data.reader()?;
    let mut log = reader.observations(Position(0))?;
    let mut digests: HashMap<PageId, Digest> = HashMap::new();
    let stop = arguments.follow.then(stop_on_interrupt);
    let mut out = data::output();
    let mut nameless = 0;
    loop {
        while let Some(observation) = log.read()? {
            let previous = remember(&mut digests, &observation);
            let wanted = (arguments.since).is_none_or(|since| Moment(observation.at) >= since);
            if let Some(kind) = kind(observation.outcome, arguments.minor)
                && wanted
            {
                match url(&reader, observation.page) {
                    Some(url) => {
                        let change = Change::new(&observation, kind, url, previous);
                        data::json_line(&mut out, &change)?;
                    }
                    None => nameless += 1,
                }
            }
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                break;
            }
        }
        out.flush()?;
        if stop.is_none_or(|stop| stop.load(Ordering::Relaxed)) {
            break;
        }
        std::thread::sleep(PACE);
    }
    let lost = log.damaged() + nameless;
    if lost > 0 {
        complain("warning", &format!("{lost} entries cannot be read"));
    }
    Ok(())
}

/// Notes the digest of a copy; returns that of the copy before.
fn remember(digests: &mut HashMap<PageId, Digest>, observation: &Observation) -> Option<Digest> {
    match observation.outcome {
        Outcome::FirstSeen | Outcome::Changed | Outcome::Minor => {
            digests.insert(observation.page, observation.digest)
        }
        Outcome::Gone => digests.remove(&observation.page),
        Outcome::Unchanged | Outcome::Failed(_) => None,
    }
}

fn kind(outcome: Outcome, minor: bool) -> Option<&'static str> {
    match outcome {
        Outcome::FirstSeen => Some("first"),
        Outcome::Changed => Some("changed"),
        Outcome::Minor => minor.then_some("minor"),
        Outcome::Gone => Some("gone"),
        Outcome::Unchanged | Outcome::Failed(_) => None,
    }
}

fn url(reader: &Reader, page: PageId) -> Option<String> {
    for _ in 0..LOOKS {
        if let Ok(address) = reader.address(page) {
            return Some(address.url);
        }
        std::thread::sleep(PACE / 10);
    }
    None
}

impl Change {
    fn new(
        observation: &Observation,
        kind: &'static str,
        url: String,
        previous: Option<Digest>,
    ) -> Self {
        let there = observation.outcome != Outcome::Gone;
        Self {
            time: Moment(observation.at),
            kind,
            url,
            status: observation.status,
            reason: Noise::from_number(observation.reason).map(Noise::word),
            digest: there.then(|| digest_text(&observation.digest)),
            previous: previous.map(|digest| digest_text(&digest)),
        }
    }
}
