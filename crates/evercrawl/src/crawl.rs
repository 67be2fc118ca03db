//! `evercrawl crawl`: discover, download, archive, and keep fresh.

mod missing;
mod screen;
mod settings;
mod trouble;
mod view;

use crate::bad_input::BadInput;
use crate::dashboard_view;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::terminal;
use anyhow::{Result, anyhow};
use frontier::scope::{self, Reach};
use ground::Seconds;
use robot::config::{Config, Limits, Seed};
use robot::seeds::SeedList;
use robot::{Mended, StartError, Until};
use std::collections::HashSet;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub use screen::{Screen, bytes, slowest};
pub use settings::{Origin, kept_config, log, read_config, start_config};
use trouble::Trouble;

/// Crawl sites politely, lose nothing, and keep the copies fresh.
///
/// Fetches the given sites, archives them (WARC), and then revisits pages as often as their changes
/// deserve, until Ctrl-C. Started again, it continues where it stopped, with the same settings and
/// seeds unless -c gives others. Without a configuration, the site of each URL is the scope.
/// `evercrawl config sample` prints every setting with its default.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  evercrawl crawl https://docs.example.org/
  evercrawl crawl -c crawl.toml
  evercrawl crawl --dashboard https://docs.example.org/
  evercrawl crawl --once --data mirror https://docs.example.org/")]
#[allow(clippy::struct_excessive_bools)] // flags are
pub struct Arguments {
    /// Where to begin, in addition to the seeds of the configuration or of the last start.
    urls: Vec<String>,
    /// The configuration (TOML).
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory [default: evercrawl-data].
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// How far each URL reaches [default: site].
    ///
    /// `evercrawl scope --help` explains the values, and what else can be in or out.
    #[arg(long, value_parser = crate::scope::reaches())]
    reach: Option<Reach>,
    /// Also contact addresses that are not public: this machine, private networks.
    #[arg(long)]
    allow_private: bool,
    /// How webmasters can reach you: a URL or an e-mail address.
    #[arg(long, value_name = "URL")]
    contact: Option<String>,
    /// Fetch every page once and end: those without a copy for the first time, the others again.
    ///
    /// Ends when every page in scope has been fetched or given up, which takes as long as politeness
    /// requires. What is missing is listed with the reason, and the exit code is 1.
    #[arg(long)]
    once: bool,
    /// Stop after this time, such as 90s, 30m or 2h.
    #[arg(long = "for", value_name = "TIME")]
    limit: Option<Seconds>,
    /// Stop after this many visits that brought a page.
    #[arg(long, value_name = "NUMBER")]
    pages: Option<u64>,
    /// Stop after receiving this many bytes, such as 2GB.
    #[arg(long, value_name = "BYTES")]
    bytes: Option<ground::Bytes>,
    /// Serve the dashboard at this address while the crawl runs [default: 127.0.0.1:9601].
    ///
    /// The same as `dashboard.listen`. Addresses that others can reach need a token.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:9601", value_parser = dashboard_view::address)]
    dashboard: Option<SocketAddr>,
    /// Log more: requests, robots.txt, decisions.
    #[arg(short, long)]
    verbose: bool,
    /// Print the log and the final figures as JSON lines.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let (mut config, _) = start_config(arguments.config.as_deref(), arguments.data.as_deref())?;
    let is_address = |url: &&String| url.parse::<SocketAddr>().is_ok();
    if let Some(at) = arguments.urls.iter().find(is_address)
        && arguments.dashboard.is_some()
    {
        let why = format!("'{at}' is an address, not a URL: did you mean --dashboard={at}?");
        return Err(BadInput(why).into());
    }
    add_seeds(&mut config, &arguments.urls)?;
    if let Some(reach) = arguments.reach {
        config.scope.reach = reach;
    }
    config.dashboard.listen = arguments.dashboard.or(config.dashboard.listen);
    let mut limits = config.limits.clone();
    limits.pages = arguments.pages.unwrap_or(limits.pages);
    limits.bytes = arguments.bytes.map_or(limits.bytes, ground::Bytes::whole);
    let how = How {
        contact: arguments.contact.as_deref(),
        allow_private: arguments.allow_private,
        once: arguments.once,
        seconds: arguments.limit,
        limits,
        verbose: arguments.verbose,
        json: arguments.json,
    };
    let mut screen = screen::Screen::new(arguments.json);
    how.crawl(config, &mut screen, |_| Ok(()))
}

/// What holds for one start of a crawl, besides its settings.
#[allow(clippy::struct_excessive_bools)] // flags are
pub struct How<'a> {
    pub contact: Option<&'a str>,
    pub allow_private: bool,
    pub once: bool,
    /// The time that it may take.
    pub seconds: Option<Seconds>,
    pub limits: Limits,
    pub verbose: bool,
    pub json: bool,
}

impl How<'_> {
    /// Crawls until the end, and says how it goes. `beside` is called again and again, and once more when all is
    /// stored.
    pub fn crawl(
        &self,
        mut config: Config,
        screen: &mut Screen,
        mut beside: impl FnMut(&Config) -> Result<()>,
    ) -> Result<()> {
        if let Some(contact) = self.contact {
            contact.clone_into(&mut config.identity.contact);
        }
        if self.allow_private {
            config.fetch.allow_networks = ["0.0.0.0/0", "::/0"].map(String::from).into();
        }
        settings::log(&config.log, self.verbose, self.json)?;
        if config.identity.contact().is_none() && config.identity.user_agent.is_empty() {
            warn(
                self.json,
                "no contact is configured, and the User-Agent says so: set identity.contact or --contact, so that \
                 webmasters can reach you",
            );
        }
        let until = if self.once {
            Until::FetchedOnce
        } else {
            Until::Stopped
        };
        let stop = stop_on_interrupt();
        let window = dashboard_view::bind(&config)?;
        let crawl = robot::start_within(&config, until, &self.limits).map_err(explain)?;
        // held until the end
        let _shown = window
            .map(|window| dashboard_view::show(window, &config, &crawl, None, self.json))
            .transpose()?;
        tell_mended(&crawl.mended, self.json);
        for barred in robot::barred::barred(&config).map_err(explain)? {
            warn(self.json, &barred.to_string());
        }
        let mut trouble = Trouble::default();
        let mut hopeless = None;
        let began = Instant::now();
        let limit = self.seconds.map_or(f64::INFINITY, |limit| limit.0);
        while !crawl.is_over() {
            if stop.load(Ordering::Relaxed) || began.elapsed().as_secs_f64() >= limit {
                crawl.stop();
            }
            let status = crawl.status();
            screen.show(&status);
            if !self.once && hopeless.is_none() {
                match trouble.look(&config, &status) {
                    Ok(None) => {}
                    Ok(Some(text)) => warn(self.json, &text),
                    Err(why) => {
                        hopeless = Some(why);
                        crawl.stop();
                    }
                }
            }
            if let Err(error) = beside(&config) {
                // nobody listens any more: what is under way is stored all the same
                crawl.stop();
                let _ = crawl.wait();
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let status = crawl
            .wait()
            .map_err(|what| anyhow!("the crawl ended: {what}"))?;
        beside(&config)?;
        screen.end(&status)?;
        if let Some(limit) = &status.limit {
            let text = format!("the crawl reached its limit: {limit}");
            warn(self.json, &text);
        }
        if let Some(why) = hopeless {
            return Err(why);
        }
        if !self.once {
            return Ok(());
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        list_missing(config, self.json)
    }
}

/// Begins at these URLs too.
pub fn add_seeds(config: &mut Config, urls: &[String]) -> Result<()> {
    bring_back(config, urls)?;
    let mut known: HashSet<String> = config.seeds.iter().map(|seed| seed.url.clone()).collect();
    let new = urls.iter().filter(|url| known.insert((*url).clone()));
    config.seeds.extend(new.cloned().map(Seed::from));
    Ok(())
}

/// Seeds that were removed and are named again are seeds again.
fn bring_back(config: &Config, urls: &[String]) -> Result<()> {
    if urls.is_empty() || !SeedList::file(&config.data.0).exists() {
        return Ok(());
    }
    let read = urls.iter().filter_map(|url| robot::seeds::read(url).ok());
    let urls: Vec<_> = read.map(scope::Seed::from).collect();
    SeedList::change(config, |list| list.add(config, &urls)).map_err(explain)?;
    Ok(())
}

/// Lists what a crawl that has ended has no copy of; success if that is nothing.
fn list_missing(mut config: Config, json: bool) -> Result<()> {
    config.seeds = SeedList::of(&config)?.all(&config);
    let missing = missing::Missing::find(&config.data.0, &config)?;
    tell_missing(&missing, json)
}

/// The same for a robot of a fleet.
pub fn list_missing_in_fleet(mut config: Config, given_up: &[String], json: bool) -> Result<()> {
    config.seeds = SeedList::of(&config)?.all(&config);
    let mut missing = missing::Missing::find_in_fleet(&config.data.0, &config)?;
    missing.add_given_up(given_up);
    tell_missing(&missing, json)
}

/// Lists what there is no copy of; success if that is nothing.
fn tell_missing(missing: &missing::Missing, json: bool) -> Result<()> {
    if missing.count == 0 {
        return Ok(());
    }
    if json {
        writeln!(
            io::stderr(),
            "{}",
            serde_json::json!({ "missing": missing })
        )?;
    } else {
        for page in &missing.pages {
            let (url, why) = (terminal::plain(&page.url), terminal::plain(&page.why));
            writeln!(io::stderr(), "missing: {url} ({why})")?;
        }
    }
    let (unreached, failed) = (missing.unreached, missing.count - missing.unreached);
    let failed = (failed > 0).then(|| {
        let pages = terminal::count(failed, "page");
        format!("{pages} in scope could not be fetched")
    });
    let unreached = (unreached > 0).then(|| {
        let pages = terminal::count(unreached, "page");
        format!("{pages} not reached before the end: the next start continues there")
    });
    let what: Vec<String> = failed.into_iter().chain(unreached).collect();
    Err(anyhow!("{}", what.join("; ")))
}

pub fn explain(error: StartError) -> anyhow::Error {
    if error.is_bad_input() {
        BadInput(error.to_string()).into()
    } else {
        error.into()
    }
}

/// Warns, among the log where that is read by programs.
pub fn warn(json: bool, text: &str) {
    if json {
        tracing::warn!("{text}");
    } else {
        terminal::complain("warning", text);
    }
}

/// Says what was lost before the crawl could start.
pub fn tell_mended(mended: &Mended, json: bool) {
    for damage in &mended.store {
        let text = format!("{}: {}", damage.path.display(), damage.what);
        warn(json, &text);
    }
    for cut in &mended.archive {
        let text = format!(
            "{}: {} of an unfinished record cut off and kept in {}",
            cut.file.display(),
            terminal::count(cut.lost_bytes, "byte"),
            cut.kept_in.display()
        );
        warn(json, &text);
    }
}
