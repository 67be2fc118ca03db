//! `evercrawl dashboard`: a crawl in a browser, at work or not; `crawl --dashboard` shows it while it works.

use crate::bad_input::BadInput;
use crate::crawl::warn;
use crate::data::{Data, Which};
use crate::interrupt::stop_on_interrupt;
use crate::{terminal, why};
use anyhow::{Context, Result, anyhow};
use dashboard::fleet::Source;
use dashboard::{Bound, Crawl, Dashboard, Refused, Settings, Shown};
use robot::config::Config;
use robot::control::Remote;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::Url;

/// Where it is unless somebody says otherwise.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9601);
const PACE: Duration = Duration::from_millis(100);

const MORE: &str = "\
It shows how fresh the copies are and what holds the crawl up; the changes found, with what differs; sites and \
pages, each with its visits, its versions and the reason for its next visit; and what the budget buys. Everything \
can be read without JavaScript; with it, the pages keep themselves up to date.

Only this machine can reach it unless --listen names another address, which needs a token: dashboard.token_file or \
dashboard.token_env in the configuration. With dashboard.actions, the token also allows actions.

Examples:
  evercrawl dashboard --data mirror
  evercrawl crawl --dashboard https://docs.example.org/
  evercrawl dashboard -c crawl.toml --listen 0.0.0.0:9601";

/// Show a crawl in a browser, running or not.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The address to listen on [default: 127.0.0.1:9601].
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// A map made by `evercrawl netmap`, which shows where servers are.
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
}

/// The map to show: the one that an argument names, which must be there, or the configured one.
pub fn use_map(config: &mut Config, given: Option<&PathBuf>) -> Result<()> {
    if let Some(map) = given {
        crate::netmap::open_existing(map)?;
        config.dashboard.map = Some(map.clone());
    }
    Ok(())
}

/// Where to listen, as given in an argument.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "expected an address and a port such as 127.0.0.1:9601".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop_on_interrupt();
    let mut data = arguments.which.find()?;
    data.reader()?;
    use_map(&mut data.raw, arguments.map.as_ref())?;
    let listen = arguments.listen.or(data.raw.dashboard.listen);
    let bound = bind_at(listen.unwrap_or(USUAL), &data.raw)?;
    let crawl = Crawl::new(data.raw.clone(), None, Box::new(explained(data.raw)));
    // a robot that shows itself keeps the history
    let shown = Shown {
        crawl: Some(crawl),
        ..Shown::default()
    };
    until_interrupted(bound, shown, stop)
}

/// Shows a fleet.
pub fn run_fleet(
    listen: Option<SocketAddr>,
    config: &Config,
    fleet: Box<dyn Source>,
) -> Result<()> {
    let stop = stop_on_interrupt();
    let listen = listen.or(config.dashboard.listen);
    let bound = bind_at(listen.unwrap_or(USUAL), config)?;
    let shown = Shown {
        fleet: Some(fleet),
        ..Shown::default()
    };
    until_interrupted(bound, shown, stop)
}

fn until_interrupted(bound: Bound, shown: Shown, stop: &AtomicBool) -> Result<()> {
    let served = bound.serve(shown)?;
    terminal::print(&format!("dashboard: {} (Ctrl-C ends it)\n", served.url()))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(PACE);
    }
    Ok(())
}

/// Takes the address that a crawl is to be shown at, if it is to be shown.
pub fn bind(config: &Config) -> Result<Option<Bound>> {
    let listen = config.dashboard.listen;
    listen.map(|listen| bind_at(listen, config)).transpose()
}

/// Whether a crawl with this configuration could be shown, if it is to be.
pub fn check(config: &Config) -> Result<(), Refused> {
    match config.dashboard.listen {
        Some(listen) => Settings::new(listen, &config.dashboard).map(drop),
        None => Ok(()),
    }
}

fn bind_at(listen: SocketAddr, config: &Config) -> Result<Bound> {
    let settings = Settings::new(listen, &config.dashboard);
    let settings = settings.map_err(|refused| BadInput(refused.to_string()))?;
    let bound = dashboard::bind(settings).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse if Remote::find(&config.data.0).is_some() => {
            anyhow!(
                "the crawl of {} runs and listens there",
                config.data.0.display()
            )
        }
        ErrorKind::AddrInUse => anyhow!("something else listens there, perhaps another dashboard"),
        _ => error.into(),
    });
    bound.with_context(|| format!("dashboard.listen = {listen}"))
}

/// Shows a crawl that runs in this process, with the fleet that it is a part of.
pub fn show(
    bound: Bound,
    config: &Config,
    crawl: &robot::Crawl,
    fleet: Option<Box<dyn Source>>,
    json: bool,
) -> Result<Dashboard> {
    let history = dashboard::history_file(&config.data.0);
    let why = Box::new(explained(config.clone()));
    let window = Crawl::new(config.clone(), Some(Box::new(crawl.shown())), why);
    let shown = bound.serve(Shown {
        crawl: Some(window),
        history: Some(history),
        fleet,
    })?;
    let url = shown.url();
    if json {
        tracing::warn!(url, "dashboard");
    } else {
        terminal::complain("dashboard", &url);
    }
    if config
        .dashboard
        .listen
        .is_some_and(|listen| !listen.ip().is_loopback())
    {
        warn(
            json,
            "the dashboard is served without encryption: anyone on the network path can read the token; put a proxy with TLS in front of it",
        );
    }
    Ok(shown)
}

/// Why a page is treated as it is, by the seeds there are at that moment.
fn explained(config: Config) -> impl Fn(&Url) -> Result<dashboard::Explained> + Send + Sync {
    move |url| why::explain(&Data::of(config.clone())?, url)
}
