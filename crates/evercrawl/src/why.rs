//! `evercrawl why`: what is known of a URL, and why it is treated as it is.

mod rules;
mod text;

use crate::data::{self, Asked, Data, Which, read_url};
use crate::moment::{Moment, duration};
use crate::page_view::{Names, PageView, State};
use crate::scope::{Judge, Verdict};
use crate::terminal::{self, count};
use anyhow::Result;
use robot::offline::{self, Offline};
use robot::overrides::{Overrides, Told};
use robot::view::PageWait;
use rules::Robots;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::io::Write;
use storage::{HostRow, PageId, PageRow, PageState, Reader};
use url::Url;

const MORE: &str = "\
Scope is judged by the configuration given with -c, or else by that of the crawl's last start. If that has no seeds, \
the first URLs of the crawl count as its seeds.

Examples:
  evercrawl why https://docs.example.org/guide/
  evercrawl why -c crawl.toml --json https://docs.example.org/guide/ | jq .robots";

/// Tell why a URL is or is not fetched, and when it will be.
///
/// Whether it is in scope, which robots.txt rule holds, what the last visit brought, how often the
/// page is believed to change, when it is due, and what it waits for.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The URL, known or unknown.
    url: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The same for the dashboard.
pub fn explain(data: &Data, url: &Url) -> Result<dashboard::Explained> {
    let why = Why::find(data, &data.reader()?, url)?;
    let rows = text::rows(&why).into_iter();
    let rate = why.changes_per_day.zip(why.changes_per_day_interval);
    Ok(dashboard::Explained {
        rows: rows.map(|(name, value)| (name.to_owned(), value)).collect(),
        waits_for: why.waits_for,
        rate: rate.map(|(rate, (low, high))| (rate, low, high)),
        chance_fresh: why.chance_fresh,
        due: why.due.map(|due| due.0),
    })
}

/// Seconds that a host may be waited for without more words.
const LONG_WAIT: f64 = 60.0;

/// The answer.
#[derive(Serialize)]
struct Why {
    url: String,
    /// What makes two URLs the same page.
    key: String,
    running: bool,
    /// A crawl runs and does not answer.
    silent: bool,
    known: bool,
    page: Option<PageView>,
    /// The page that linked to it first.
    found_on: Option<String>,
    redirects_to: Option<String>,
    /// The same, where it is not followed.
    leads_out_to: Option<String>,
    scope: Verdict,
    robots: Robots,
    trap: Option<String>,
    /// Why its host has no address that may be contacted.
    #[serde(serialize_with = "as_word")]
    no_address: Option<u8>,
    /// Why its host's robots.txt could not be had, the last time it was asked for.
    #[serde(serialize_with = "as_word")]
    no_robots: Option<u8>,
    changes_per_day: Option<f64>,
    /// Of 95 %.
    changes_per_day_interval: Option<(f64, f64)>,
    chance_fresh: Option<f64>,
    /// How much it matters, if not as much as others.
    weight: Option<f64>,
    /// The settings that rules make for it.
    rules: Vec<Told>,
    due: Option<Moment>,
    waits_for: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let reader = data.reader()?;
    let url = read_url(&arguments.url)?;
    let why = Why::find(&data, &reader, &url)?;
    if arguments.json {
        let mut out = data::output();
        data::json_line(&mut out, &why)?;
        return Ok(out.flush()?);
    }
    Ok(terminal::print(&text::text(&why))?)
}

impl Why {
    fn find(data: &Data, reader: &Reader, url: &Url) -> Result<Self> {
        let id = data.page(reader, url)?;
        let address = id.map(|id| reader.address(id)).transpose()?;
        let row = id.map(|id| reader.page(id)).transpose()?.flatten();
        let depth = address.as_ref().map_or(0, |address| address.depth);
        // the page is requested by the URL under which it was found
        let requested = address
            .as_ref()
            .and_then(|known| Url::parse(&known.url).ok());
        let asked = requested.as_ref().unwrap_or(url);
        let judge = Judge::new(&data.config, Some(reader))?;
        let is_meant = id
            .zip(address.as_ref())
            .is_some_and(|(id, address)| offline::is_meant(reader, id, address, &judge.scope));
        let scope = if is_meant {
            judge.judge_meant(asked, depth)?
        } else {
            judge.judge(asked, depth)?
        };
        let host = host_of(reader, asked)?;
        let overrides = Overrides::new(&data.config).unwrap_or_default();
        let robots = Robots::judge(&data.config, &overrides, host.as_ref(), asked);
        let gone_days = overrides.gone_days(asked);
        let limits = overrides.limits_of(asked);
        let trap = match id {
            Some(id) => rules::redirect_trap(reader, id, row.as_ref())?,
            None => rules::trap(&data.config, reader, url)?,
        };
        let kept = host
            .map(|host| offline::host(&host.blob))
            .unwrap_or_default();
        let is_open = |row: &PageRow| row.state == PageState::Redirect && row.redirect_to.is_none();
        let archive = robot::archive_directory(&data.directory);
        let leads_out_to = (row.as_ref().is_some_and(is_open))
            .then(|| robot::copies::redirect(&archive, asked.as_str()))
            .flatten();
        let mut names = Names::new(reader)?;
        let page_url = |page: Option<PageId>| {
            let address = page.and_then(|page| reader.address(page).ok());
            address.map(|address| address.url)
        };
        let mut why = Self {
            url: url.to_string(),
            key: data.config.keys.canonical().key(url),
            running: data.is_running(),
            silent: false,
            known: id.is_some(),
            page: id.map(|id| PageView::of(&mut names, id)).transpose()?,
            found_on: page_url(address.as_ref().and_then(|address| address.from)),
            redirects_to: page_url(row.as_ref().and_then(|row| row.redirect_to)),
            leads_out_to: leads_out_to.map(String::from),
            scope,
            robots,
            trap,
            no_address: kept.no_address,
            no_robots: kept.no_robots,
            changes_per_day: None,
            changes_per_day_interval: None,
            chance_fresh: None,
            weight: None,
            rules: overrides.told(asked),
            due: None,
            waits_for: String::new(),
        };
        let Some(id) = id else {
            let seeds = &data.config.seeds;
            let is_seed = seeds
                .iter()
                .any(|seed| Url::parse(&seed.url).as_ref() == Ok(url));
            why.waits_for = why.reason_unknown(reader, is_seed)?;
            return Ok(why);
        };
        let asked = data.ask(|remote| remote.page(id));
        let robot = asked.robot();
        why.running = !matches!(asked, Asked::Nobody);
        why.silent = matches!(asked, Asked::Silence);
        let wait = match asked {
            Asked::Answer(wait) => wait,
            Asked::Silence | Asked::Nobody => {
                Offline::read(&data.directory, &data.config)?.page(id)?
            }
        };
        why.schedule((gone_days, &limits), row.as_ref(), wait, robot);
        Ok(why)
    }

    /// When it is due, and what it waits for.
    fn schedule(
        &mut self,
        (gone_days, limits): (f64, &str),
        row: Option<&PageRow>,
        wait: PageWait,
        robot: &str,
    ) {
        self.weight = wait.weight;
        self.changes_per_day = wait.changes_per_day;
        self.changes_per_day_interval = wait.changes_per_day_interval;
        self.chance_fresh = wait.chance_fresh;
        let is_requisite = self.page.as_ref().is_some_and(PageView::is_requisite);
        let next_try = row
            .filter(|_| !is_requisite)
            .and_then(|row| offline::next_try(row, gone_days));
        // a host that asked to be left alone is, whatever its pages want
        let own = next_try.or(wait.due);
        let opens = wait
            .host_opens
            .filter(|&opens| own.is_none_or(|own| opens > own));
        let due = own
            .map(|own| opens.unwrap_or(own))
            .map(Moment::from_seconds);
        self.due = due;
        let left = due.map(|due| due.seconds() - Moment::now().seconds());
        let is_answered = self.running && !self.silent;
        let mut and_robot = String::new();
        if opens.is_some_and(|opens| opens - Moment::now().seconds() > LONG_WAIT) {
            and_robot += ", when its host may be asked again";
        }
        if !is_answered {
            let _ = write!(and_robot, ", and {robot}");
        }
        let cause = row.and_then(|row| row.last_failure).map(|(_, cause)| cause);
        let cause = cause.map_or("other", robot::cause::word);
        self.waits_for = match (State::of(row), left) {
            (State::Elsewhere, _) => "nothing: another robot has it".into(),
            (State::Live | State::Redirect | State::Gone, _) if is_requisite => {
                "nothing: it is fetched again when a page that embeds it has changed".into()
            }
            (State::Excluded, _) if cause == "rule-limit" => {
                format!("nothing: its limit is reached ({limits})")
            }
            (State::Excluded, _) => format!("nothing: it is not fetched ({cause})"),
            (State::Gone, Some(left)) if left > 0.0 => {
                format!(
                    "another look at a page that is gone, in {}{and_robot}",
                    duration(left)
                )
            }
            (State::New | State::Live | State::Redirect, Some(left))
                if left > 0.0 && next_try.is_some() =>
            {
                format!(
                    "another try after a failure ({cause}), in {}{and_robot}",
                    duration(left)
                )
            }
            _ if is_answered => wait.waits_for,
            (State::New, _) => format!("its first visit{and_robot}"),
            _ if self.silent => robot.to_owned(),
            _ => format!("{robot}; the revisit policy decides when one is"),
        };
    }

    /// Why a URL may not be known.
    fn reason_unknown(&self, reader: &Reader, is_seed: bool) -> Result<String> {
        if !self.scope.inside {
            return Ok("nothing: links out of scope are not followed".into());
        }
        if self.trap.is_some() {
            return Ok("nothing: links into traps are not followed".into());
        }
        if is_seed {
            return Ok("the next start: it is a seed".into());
        }
        let unread = reader.totals()?.pages[PageState::New];
        let mut reason = String::from("being found: no page fetched so far links to it");
        if unread > 0 {
            let are = if unread == 1 { "is" } else { "are" };
            write!(
                reason,
                ", {} {are} yet to be fetched",
                count(u64::from(unread), "page")
            )?;
        }
        reason.push_str("; links marked nofollow do not count");
        let (links, copies) = offline::cut(reader)?;
        if links > 0 {
            let links = count(links, "link");
            write!(reason, "; it may be among {links} too long to follow")?;
        }
        if copies > 0 {
            let copies = count(copies, "copy");
            write!(reason, "; it may be behind the end of {copies}, cut short")?;
        }
        Ok(reason)
    }
}

#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)] // serde asks for it
fn as_word<S: Serializer>(
    cause: &Option<u8>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    cause.map(robot::cause::word).serialize(serializer)
}

/// The host of a URL, if it is known.
fn host_of(reader: &Reader, url: &Url) -> Result<Option<HostRow>> {
    let found = reader.find_host(&url[..url::Position::BeforePath])?;
    Ok(found.map_or(Ok(None), |host| reader.host(host))?)
}
