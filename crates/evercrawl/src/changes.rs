//! `evercrawl changes`: a feed of the changes found, for other programs.

use crate::data::{self, Data, Which};
use crate::interrupt::stop_on_interrupt;
use crate::moment::Moment;
use crate::terminal::{complain, count};
use anyhow::Result;
use clap::ValueEnum;
use dashboard::feed;
use robot::changes::{self, Change};
use robot::watch::Watch;
use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use storage::{Digest, Observation, Outcome, PageId, Position, Reader};

/// Between two looks at the log.
const PACE: Duration = Duration::from_millis(200);
/// A page's address may come a moment after its first visit.
const LOOKS: u32 = 5;

const MORE: &str = "\
One line for each change, in the order in which they were stored:
  {\"time\":…,\"kind\":\"changed\",\"url\":…,\"status\":200,\"digest\":\"sha1:…\",\"previous\":\"sha1:…\"}

  kind        first    the first copy of a page
              changed  a visitor would see that its content says something else
              minor    only noise differs (with --minor), for a reason:
                       markup, around, ticking or restless (see `diff --help`)
              gone     it was missing twice in a row
  digest      of the body as transferred
  previous    of the copy before, where the log has it
  difference  the blocks of text that were removed and added (with --diff)

With --format atom or rss, the newest changes become a feed for feed readers, each with its difference.

Examples:
  evercrawl changes --since '1d ago' --diff
  evercrawl changes --format atom > /var/www/changes.atom
  evercrawl changes --follow | jq -r --unbuffered 'select(.kind == \"changed\") | .url'";

/// Print the changes that were found, as JSON lines or a feed.
#[derive(clap::Args)]
#[command(after_help = MORE)]
#[allow(clippy::struct_excessive_bools)] // flags are
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only changes found at or after this time: 2026-11-16, 2026-11-16T03:15:42Z, '2h ago'.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<Moment>,
    /// Keep printing changes as they are found, until Ctrl-C.
    #[arg(long, conflicts_with = "format")]
    follow: bool,
    /// Include minor changes.
    #[arg(long)]
    minor: bool,
    /// Include what differs; reads the archived copies again.
    #[arg(long)]
    diff: bool,
    /// The output format.
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// The most changes in a feed.
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: usize,
    /// Print JSON lines, which is the default format.
    #[arg(long = "json", conflicts_with = "format")]
    _json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A JSON object per line, oldest first.
    Json,
    /// An Atom feed, newest first.
    Atom,
    /// An RSS 2.0 feed, newest first.
    Rss,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let reader = data.reader()?;
    let is_feed = arguments.format != Format::Json;
    let comparing = (arguments.diff || is_feed)
        .then(|| Comparing::new(&data))
        .transpose()?;
    let mut log = reader.observations(Position(0))?;
    let mut digests: HashMap<PageId, Digest> = HashMap::new();
    let stop = arguments.follow.then(stop_on_interrupt);
    let mut out = data::output();
    let mut latest = Latest::new(arguments.limit);
    let mut nameless = 0;
    loop {
        while let Some(observation) = log.read()? {
            let previous = remember(&mut digests, &observation);
            let wanted = (arguments.since).is_none_or(|since| Moment(observation.at) >= since)
                && changes::kind(observation.outcome, arguments.minor).is_some();
            if wanted {
                match url(&reader, observation.page) {
                    Some(url) => {
                        let change = Change::of(&observation, url, previous, arguments.minor);
                        let change = change.expect("it is one");
                        if is_feed {
                            latest.push(change);
                        } else {
                            data::json_line(&mut out, &compared(change, comparing.as_ref())?)?;
                        }
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
    if is_feed {
        let latest = latest.newest_first();
        let latest = latest.map(|change| compared(change, comparing.as_ref()));
        let latest: Vec<Change> = latest.collect::<Result<_>>()?;
        let feed = if arguments.format == Format::Rss {
            let link = data.config.seeds.first().map_or("", |seed| &seed.url);
            feed::rss(&data.directory, link, &latest)
        } else {
            feed::atom(&data.directory, "", &latest)
        };
        out.write_all(feed.as_bytes())?;
        out.flush()?;
    }
    let lost = log.damaged() + nameless;
    if lost > 0 {
        complain(
            "warning",
            &format!("{} cannot be read", count(lost, "entry")),
        );
    }
    Ok(())
}

/// What is needed to tell what differs.
struct Comparing {
    archive: PathBuf,
    watch: Watch,
    limit: u64,
}

impl Comparing {
    fn new(data: &Data) -> Result<Self> {
        Ok(Self {
            archive: data.archive()?,
            watch: crate::diff::rules(&data.config.watch)?,
            limit: data.config.fetch.max_decoded_bytes,
        })
    }
}

fn compared(mut change: Change, comparing: Option<&Comparing>) -> Result<Change> {
    if let Some(with) = comparing {
        change.compare(&with.archive, &with.watch, with.limit)?;
    }
    Ok(change)
}

/// The last changes, so many at most.
struct Latest(VecDeque<Change>, usize);

impl Latest {
    fn new(most: usize) -> Self {
        Self(VecDeque::new(), most)
    }

    fn push(&mut self, change: Change) {
        self.0.push_back(change);
        if self.0.len() > self.1 {
            self.0.pop_front();
        }
    }

    fn newest_first(self) -> impl Iterator<Item = Change> {
        self.0.into_iter().rev()
    }
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

fn url(reader: &Reader, page: PageId) -> Option<String> {
    for _ in 0..LOOKS {
        if let Ok(address) = reader.address(page) {
            return Some(address.url);
        }
        std::thread::sleep(PACE / 10);
    }
    None
}
