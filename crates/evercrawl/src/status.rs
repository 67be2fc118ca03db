//! `evercrawl status`: how a crawl stands, at work or not.

use crate::crawl::{bytes, slowest};
use crate::data::{self, Asked, Data, Which};
use crate::moment::{Moment, duration};
use crate::terminal::{self, count, grouped, plain};
use anyhow::Result;
use robot::control::Remote;
use robot::offline::Offline;
use robot::view::Status;
use serde::Serialize;
use std::fmt::Write;

const MORE: &str = "\
Figures:
  While a crawl is running they come from it and are counted since its start (causes of failures since the crawl \
began). Otherwise they come from the data directory: visits, changes and failures since the crawl began; the copies \
have aged since. A crawl that does not answer within five seconds is reported as silent.

  Estimated freshness is the share of copies that are still what the server has, by the model behind the revisits. \
Copies that were never revisited count with the average of their host; their number stands beside it.

Examples:
  evercrawl status
  evercrawl status --json --data mirror | jq .estimated_freshness";

/// Show the state of a crawl: pages, visits, changes, failures, freshness.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The status with what only the data directory tells.
#[derive(Serialize)]
struct View {
    data: String,
    #[serde(flatten)]
    status: Status,
    /// Since when visits and failures are counted.
    since: Option<Moment>,
    /// The last visit, unless visits are being made now.
    last_visit: Option<Moment>,
    /// Pages that point elsewhere; known of a crawl that is not running.
    pages_redirect: Option<u64>,
    minor_share: Option<f64>,
    archive_files: u64,
    archive_bytes: u64,
    damaged_entries: u64,
    /// A crawl runs and does not answer.
    silent: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    data.reader()?;
    let view = View::look(&data)?;
    let mut out = data::output();
    if arguments.json {
        data::json_line(&mut out, &view)?;
        return Ok(std::io::Write::flush(&mut out)?);
    }
    drop(out);
    Ok(terminal::print(&view.text())?)
}

impl View {
    fn look(data: &Data) -> Result<Self> {
        let now = Moment::now();
        let asked = data.ask(Remote::status);
        let (archive_files, archive_bytes) = data::size(&robot::archive_directory(&data.directory));
        let mut view = Self {
            data: data.directory.display().to_string(),
            status: Status::default(),
            since: None,
            last_visit: None,
            pages_redirect: None,
            minor_share: None,
            archive_files,
            archive_bytes,
            damaged_entries: 0,
            silent: matches!(asked, Asked::Silence),
        };
        if let Asked::Answer(status) = asked {
            view.since = Some(Moment::from_seconds(now.seconds() - status.seconds));
            view.status = status;
        } else {
            let offline = Offline::read(&data.directory, &data.config)?;
            view.status = offline.status();
            view.status.running = view.silent;
            view.since = offline.since.map(Moment);
            view.last_visit = offline.last_visit.map(Moment);
            view.pages_redirect = Some(offline.redirects);
            view.damaged_entries = offline.damaged;
        }
        let found = view.status.changes + view.status.minor_changes;
        view.minor_share = (found > 0).then(|| view.status.minor_changes as f64 / found as f64);
        Ok(view)
    }

    fn text(&self) -> String {
        let s = &self.status;
        let mut text = String::new();
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<10} {value}");
        };
        let number = |n: u64| grouped(n as usize);
        row(
            "crawl",
            &format!("{} · {}", plain(&self.data), self.state()),
        );
        row("pages", &self.pages());
        if let Some(embedded) = self.embedded() {
            row("embedded", &embedded);
        }
        row(
            "visits",
            &format!(
                "{} · {} first · {} again · {}",
                number(s.requests),
                number(s.first_visits),
                number(s.revisits),
                bytes(s.bytes)
            ),
        );
        if s.running && !self.silent {
            row(
                "now",
                &format!(
                    "{:.1} requests/s · {} under way · {} due · {:.3} revisits/s allowed{}",
                    s.requests_per_second,
                    s.under_way,
                    count(s.due_waiting, "revisit"),
                    s.revisit_budget,
                    s.next_due_in
                        .map(|next| format!(" · next due in {}", duration(next)))
                        .unwrap_or_default(),
                ),
            );
        }
        let mut changes = format!("{} · {} minor", number(s.changes), number(s.minor_changes));
        if let Some(share) = self.minor_share {
            let _ = write!(changes, " ({:.0} % of all)", 100.0 * share);
        }
        row("changes", &changes);
        row("freshness", &self.freshness());
        if !s.failures.is_empty() {
            let causes: Vec<String> = (s.failures.iter())
                .map(|(cause, count)| format!("{} {}", plain(cause), number(*count)))
                .collect();
            row("no copy", &causes.join(" · "));
        }
        if s.refused_from_peers + s.unlearnt > 0 {
            row(
                "from peers",
                &format!(
                    "{} not taken · {} without what was learnt",
                    count(s.refused_from_peers, "entry"),
                    count(s.unlearnt, "page")
                ),
            );
        }
        if s.trapped > 0 {
            row(
                "traps",
                &format!("{} not followed", count(s.trapped, "link")),
            );
        }
        if s.cut_links + s.cut_bodies > 0 {
            row(
                "cut",
                &format!(
                    "{} too long to follow · {} incomplete",
                    count(s.cut_links, "link"),
                    count(s.cut_bodies, "answer")
                ),
            );
        }
        for limit in &s.rule_limits {
            row("limit", &rule_limit(limit));
        }
        if !s.slowest_hosts.is_empty() {
            row("slowest", &slowest(s));
        }
        let archive = format!(
            "{} in {}",
            bytes(self.archive_bytes),
            count(self.archive_files, "file")
        );
        row("archive", &archive);
        for hook in &s.webhooks {
            row("webhook", &webhook(hook));
        }
        if self.damaged_entries > 0 {
            let damage = format!("{} cannot be read", count(self.damaged_entries, "entry"));
            row("damage", &damage);
        }
        text
    }

    fn pages(&self) -> String {
        let s = &self.status;
        let number = |n: u64| grouped(n as usize);
        let mut pages = format!(
            "{} known · {} fetched · {} waiting · {} gone · {} excluded · {}",
            number(s.pages_known),
            number(s.pages_fetched),
            number(s.new_waiting),
            number(s.pages_gone),
            number(s.pages_excluded),
            count(s.hosts, "host"),
        );
        if s.unopened_hosts > 0 {
            let _ = write!(pages, ", {} of them unopened", number(s.unopened_hosts));
        }
        if let Some(redirects) = self.pages_redirect.filter(|&number| number > 0) {
            let _ = write!(
                pages,
                " · {} of those fetched",
                count(redirects, "redirect")
            );
        }
        if s.pages_elsewhere > 0 {
            let _ = write!(pages, " · {} elsewhere", number(s.pages_elsewhere));
        }
        pages
    }

    fn state(&self) -> String {
        if self.silent {
            return "running, but does not answer; these figures come from its data directory"
                .into();
        }
        match (self.status.running, self.last_visit) {
            (true, _) if self.status.paused => {
                format!("paused; running for {}", duration(self.status.seconds))
            }
            (true, _) => format!("running for {}", duration(self.status.seconds)),
            (false, Some(last)) => format!("not running; last visit {last}"),
            (false, None) => "not running; nothing visited yet".into(),
        }
    }

    /// What pages embed, if they embed anything.
    fn embedded(&self) -> Option<String> {
        let counts = self.status.requisites;
        let number = |count: u64| grouped(count as usize);
        (counts.known > 0).then(|| {
            format!(
                "{} known · {} fetched · {} waiting · {} missing (stylesheets, images and so on)",
                number(counts.known),
                number(counts.fetched),
                number(counts.waiting),
                number(counts.missing),
            )
        })
    }

    fn freshness(&self) -> String {
        let Some(freshness) = self.status.estimated_freshness else {
            return "no copies yet".into();
        };
        let (never, copies) = (self.status.never_revisited, self.status.pages_fetched);
        let caution = if never >= copies {
            "none was ever revisited, so this is a guess".into()
        } else {
            let never = grouped(never as usize);
            format!("{never} of {} never revisited", count(copies, "copy"))
        };
        let interval = self
            .status
            .freshness_interval
            .map_or_else(String::new, |(low, high)| {
                format!(" (95 %: {:.1} to {:.1} %)", 100.0 * low, 100.0 * high)
            });
        let freshness = 100.0 * freshness;
        format!("{freshness:.1} % estimated now{interval} · {caution}")
    }
}

/// How far the limit of a rule is used up, in a line.
fn rule_limit(limit: &robot::view::RuleLimit) -> String {
    let mut words = format!("rule {} ({})", limit.rule, plain(&limit.place));
    let number = |n: u64| grouped(n as usize);
    if let Some(most) = limit.most_pages {
        let _ = write!(
            words,
            " · {} of {}",
            number(limit.pages),
            count(most, "page")
        );
    }
    if let Some(most) = limit.most_bytes {
        let _ = write!(words, " · {} of {}", bytes(limit.bytes), bytes(most));
    }
    if limit.left_out > 0 {
        let _ = write!(
            words,
            " · {} not fetched for it",
            count(limit.left_out, "page")
        );
    }
    words
}

/// How a webhook goes, in a line.
fn webhook(hook: &robot::view::WebhookView) -> String {
    let refused = (hook.refused > 0).then(|| format!(" · {} refused", hook.refused));
    let lost = (hook.lost > 0).then(|| format!(" · {} lost to it", count(hook.lost, "visit")));
    let failing = (hook.failing.as_ref()).map(|why| format!(" · retrying: {}", plain(why)));
    format!(
        "{} · {} delivered{}{}{}",
        plain(&hook.to),
        hook.told,
        refused.unwrap_or_default(),
        lost.unwrap_or_default(),
        failing.unwrap_or_default()
    )
}
