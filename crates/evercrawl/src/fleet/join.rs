//! `evercrawl fleet join`: a robot of a fleet at work.

mod answers;
mod gauge;
mod journal;
mod prober;
mod purse;
mod seeds;
mod surveyor;
mod warden;

use super::articles::{Articles, with_local};
use super::ask::{Ask, Report};
use super::metrics;
use super::office::{Member, Office, Where, check_name, robot_id};
use super::window::Seen;
use crate::bad_input::BadInput;
use crate::crawl::{Screen, explain, list_missing_in_fleet, log, tell_mended, warn};
use crate::dashboard_view;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use answers::Desk;
use anyhow::{Result, anyhow};
use fleet::identity::{GroupId, RobotId};
use ground::Seconds;
pub use journal::Event;
use robot::config::Config;
use robot::seam::Lost;
use robot::{Berth, Until};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// So often the robot looks around while it works.
const LOOK: Duration = Duration::from_millis(100);
/// So long a fleet that does not answer is waited for at the start.
const PATIENCE: Duration = Duration::from_mins(1);
/// What the data directory says of the fleet.
const FILE: &str = "fleet.json";

/// Run a robot of the fleet on this machine, until Ctrl-C.
///
/// Started again with the same data, it continues where it stopped. If a robot was away for longer than its lease,
/// others have taken over its share, and it starts over with a new one.
#[derive(clap::Args)]
#[allow(clippy::struct_excessive_bools)] // flags are
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// The robot's name, unique in the fleet.
    #[arg(long = "as", value_name = "NAME")]
    robot: String,
    /// The robot's group [default: the fleet itself].
    #[arg(long = "in", value_name = "GROUP")]
    group: Option<String>,
    /// This machine is one of several that make up this robot and share its part by hash.
    ///
    /// --in names the robot's group; the first machine to join defines the robot.
    #[arg(long, value_name = "ROBOT")]
    node_of: Option<String>,
    /// The data directory [default: evercrawl-data].
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// Settings of this machine alone (TOML): data, log, metrics, dashboard, state, `fetch.source` and
    /// `fetch.dns_server`.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// End when the whole fleet has fetched every page once.
    #[arg(long)]
    once: bool,
    /// Stop after this time, such as 90s, 30m or 2h.
    #[arg(long = "for", value_name = "TIME")]
    limit: Option<Seconds>,
    /// Serve a dashboard of this robot and its fleet at this address [default: 127.0.0.1:9601].
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

/// Whose data a directory has.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    fleet: String,
    /// Of the fleet; another of the same name has another.
    id: String,
    robot: String,
}

/// A number that nobody else has drawn.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

pub fn run(arguments: &Arguments) -> Result<()> {
    check_name("robot", &arguments.robot)?;
    let place = arguments.place.find()?;
    let who = robot_id(&arguments.robot).to_string();
    let asking = Office::connect(&place, &who, bus::layout::Layout::default(), true)?;
    let articles = read_articles(&asking, arguments.json)?;
    drop(asking);
    let office = Arc::new(Office::connect(&place, &who, articles.layout(), true)?);
    let config = configure(arguments, &articles)?;
    log(&config.log, arguments.verbose, arguments.json)?;
    let is_new = check_data(&config.data.0, &articles, arguments, &office)?;
    let robot = robot_id(&arguments.robot);
    check_alone(&office, robot)?;
    let claim = is_new.map(|owner| Claim::make(&config.data.0, &owner));
    let claim = claim.transpose()?;
    let group = enlist(arguments, &office)?;
    if let Some(claim) = claim {
        claim.keep();
    }
    if config.identity.contact().is_none() && config.identity.user_agent.is_empty() {
        warn(
            arguments.json,
            "no contact is configured, and the User-Agent says so: set identity.contact in the fleet's configuration",
        );
    }
    let stop = stop_on_interrupt();
    let mut work = Work {
        arguments,
        articles: &articles,
        office: &office,
        robot,
        group,
        began: Instant::now(),
        screen: Screen::new(arguments.json),
    };
    while let Some(lost) = work.live(&config, stop)? {
        forget(&config.data.0)?;
        work.check_welcome(lost)?;
        warn(
            arguments.json,
            "other robots have taken over this robot's share; it starts over with a new one",
        );
    }
    Ok(())
}

/// Nobody else may work under the robot's name.
fn check_alone(office: &Office, robot: RobotId) -> Result<()> {
    match office.ask(robot, &Ask::Status) {
        Some(Report { robot, .. }) => {
            let text = format!("{robot} is already running, here or on another machine");
            Err(BadInput(text).into())
        }
        None => Ok(()),
    }
}

/// The fleet's articles. A leaf node may be up before its hub is within reach: that is waited for.
fn read_articles(office: &Office, json: bool) -> Result<Articles> {
    let until = Instant::now() + PATIENCE;
    let mut complained = false;
    loop {
        match office.articles() {
            Err(error) if !error.is::<BadInput>() && Instant::now() < until => {
                if !std::mem::replace(&mut complained, true) {
                    warn(json, &format!("{error}; the robot waits"));
                }
                std::thread::sleep(LOOK);
            }
            other => return other,
        }
    }
}

/// The fleet's configuration, with what is this machine's own.
fn configure(arguments: &Arguments, articles: &Articles) -> Result<Config> {
    let fleet = articles.config()?;
    let mut config = match &arguments.config {
        Some(path) => {
            let local = crate::crawl::read_config(Some(path))?;
            let text = robot::whole_file::read_text(path, robot::whole_file::CONFIGURATION)?;
            with_local(&fleet, path, &text, &local)?
        }
        None => fleet,
    };
    if let Some(data) = &arguments.data {
        config.data.0.clone_from(data);
    }
    config.dashboard.listen = arguments.dashboard.or(config.dashboard.listen);
    Ok(config)
}

/// Writes the robot down as a member of its group, or finds it there.
fn enlist(arguments: &Arguments, office: &Office) -> Result<Vec<GroupId>> {
    if let Some(robot) = &arguments.node_of {
        define(robot, arguments, office)?;
    }
    let (_, groups) = office.groups()?;
    let name = (arguments.node_of.as_deref()).or(arguments.group.as_deref());
    let name = name.unwrap_or(&office.place.name);
    let group = groups.named(name)?;
    if group.nodes && arguments.node_of.is_none() {
        let text = format!("{name} is a robot on several machines; join it with --node-of {name}");
        return Err(BadInput(text).into());
    }
    let paper = Member::paper(&arguments.robot);
    let member = Member {
        name: arguments.robot.clone(),
        group: name.to_owned(),
        evicted: false,
    };
    match office.read::<Member>(&paper)? {
        None => {
            office.write(&paper, 0, &member)?;
        }
        Some((_, known)) if known == member => {}
        Some((revision, known)) if known.group == member.group => {
            office.write(&paper, revision, &member)?;
        }
        Some((_, known)) => {
            return Err(BadInput(format!(
                "{} is in {}, not in {name}: a robot stays in its group; another name makes another robot",
                known.name, known.group
            ))
            .into());
        }
    }
    Ok(groups.path(GroupId(group.id)))
}

/// Makes a robot of several machines, or finds it where it is said to be.
fn define(robot: &str, arguments: &Arguments, office: &Office) -> Result<()> {
    let (_, groups) = office.groups()?;
    let above = arguments.group.as_deref();
    if let Ok(known) = groups.named(robot) {
        let is_in = known.above.map(|above| groups.name(GroupId(above)));
        if !known.nodes {
            let text =
                format!("--node-of {robot}: that is a group of robots; --in {robot} joins it");
            return Err(BadInput(text).into());
        }
        if let (Some(said), Some(is_in)) = (above, is_in)
            && said != is_in
        {
            return Err(BadInput(format!("{robot} is in {is_in}, not in {said}")).into());
        }
        return Ok(());
    }
    if office.read::<Member>(&Member::paper(robot))?.is_some() {
        let text = format!(
            "{robot} is a robot on one machine and keeps its share; a robot on several machines needs another name"
        );
        return Err(BadInput(text).into());
    }
    super::groups::add(office, robot, above, true)
        .map(drop)
        .map_err(|error| match error.downcast::<BadInput>() {
            Ok(bad) => bad.into(),
            Err(error) => anyhow!(
                "{error}. Define the robot first: evercrawl fleet group add {robot} --nodes"
            ),
        })
}

/// Makes sure that the data are this robot's, or nobody's; then it says whose they become.
fn check_data(
    data: &Path,
    articles: &Articles,
    arguments: &Arguments,
    office: &Office,
) -> Result<Option<Owner>> {
    let path = data.join(FILE);
    let owner = Owner {
        fleet: office.place.name.clone(),
        id: articles.id.clone(),
        robot: arguments.robot.clone(),
    };
    match std::fs::read(&path) {
        Ok(bytes) => {
            let known: Owner = serde_json::from_slice(&bytes)
                .map_err(|error| BadInput::file(&path, format!("cannot be read: {error}")))?;
            if known == owner {
                return Ok(None);
            }
            let text = if known.fleet == owner.fleet && known.id != owner.id {
                format!(
                    "holds data of an earlier fleet {}; choose another --data",
                    known.fleet
                )
            } else {
                format!(
                    "holds data of the robot {} of the fleet {}; choose another --data",
                    known.robot, known.fleet
                )
            };
            Err(BadInput::file(data, text).into())
        }
        Err(_) if robot::state_directory(data).exists() => {
            let text =
                "this directory holds a crawl that is not part of a fleet; choose another --data";
            Err(BadInput::file(data, text).into())
        }
        Err(_) => Ok(Some(owner)),
    }
}

/// A data directory that the robot took for itself; it is given back unless the robot also gets a place in the fleet.
struct Claim {
    file: PathBuf,
    /// The directory, if there was none.
    made: Option<PathBuf>,
}

impl Claim {
    fn make(data: &Path, owner: &Owner) -> Result<Self> {
        let file = data.join(FILE);
        let made = (!data.exists()).then(|| data.to_owned());
        std::fs::create_dir_all(data)
            .and_then(|()| std::fs::write(&file, serde_json::to_vec(owner)?))
            .map_err(|error| anyhow!("{}: {error}", file.display()))?;
        Ok(Self { file, made })
    }

    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
        if let Some(made) = &self.made {
            // only if nobody put anything there
            let _ = std::fs::remove_dir(made);
        }
    }
}

/// The share is lost: pages are others'. Archived copies stay.
fn forget(data: &Path) -> Result<()> {
    let state = robot::state_directory(data);
    std::fs::remove_dir_all(&state).map_err(|error| anyhow!("{}: {error}", state.display()))
}

struct Work<'a> {
    arguments: &'a Arguments,
    articles: &'a Articles,
    office: &'a Arc<Office>,
    robot: RobotId,
    group: Vec<GroupId>,
    began: Instant,
    screen: Screen,
}

impl Work<'_> {
    /// Whether its time is over.
    fn is_late(&self) -> bool {
        let limit = self.arguments.limit.map_or(f64::INFINITY, |limit| limit.0);
        self.began.elapsed().as_secs_f64() >= limit
    }

    /// As the fleet has it written down.
    fn member(&self) -> Member {
        let group = (self.arguments.node_of.as_ref()).or(self.arguments.group.as_ref());
        Member {
            name: self.arguments.robot.clone(),
            group: group.unwrap_or(&self.office.place.name).clone(),
            evicted: false,
        }
    }

    /// Whether another life may begin after one that was lost.
    fn check_welcome(&self, lost: Lost) -> Result<()> {
        let name = &self.arguments.robot;
        if lost == Lost::Name {
            let text = format!(
                "another process works as {name}, here or on another machine; this one ends"
            );
            return Err(BadInput(text).into());
        }
        // what cannot be read will be read when the next life is lost
        let known = self.office.read::<Member>(&Member::paper(name));
        if let Ok(Some((_, Member { evicted: true, .. }))) = known {
            let text = format!("{name} was evicted and ends; start it again to let it come back");
            return Err(BadInput(text).into());
        }
        check_alone(self.office, self.robot)
    }

    /// Without seeds there is no scope.
    fn await_seeds(
        &self,
        seeds: &mut seeds::Seeds,
        config: &mut Config,
        stop: &std::sync::atomic::AtomicBool,
    ) -> Result<()> {
        // another life may begin while nobody answers
        let mut complained = false;
        while let Err(error) = seeds.take_in(config) {
            if stop.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            if !std::mem::replace(&mut complained, true) {
                warn(self.arguments.json, &format!("{error}; the robot waits"));
            }
            std::thread::sleep(LOOK);
        }
        if config.seeds.is_empty() {
            let waits = if self.arguments.once {
                "; this robot waits for them, even with --once"
            } else {
                ""
            };
            let text = format!("the fleet has no seeds yet{waits}: evercrawl fleet seed URL");
            warn(self.arguments.json, &text);
        }
        while config.seeds.is_empty() {
            if stop.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            if self.is_late() {
                return Err(anyhow!("the fleet never got any seeds"));
            }
            std::thread::sleep(LOOK);
            if seeds.is_due() {
                // the next look may go better
                let _ = seeds.take_in(config);
            }
        }
        Ok(())
    }

    /// A life of the robot, and why it was lost, if it was.
    fn live(
        &mut self,
        config: &Config,
        stop: &std::sync::atomic::AtomicBool,
    ) -> Result<Option<Lost>> {
        let json = self.arguments.json;
        let settings = (self.articles).settings(self.robot, self.group.clone(), config);
        let boot = random() as u16;
        let (berth, mooring) = Berth::new(settings, boot);
        let sight = mooring.sight.clone();
        let figures = mooring.figures.clone();
        let leave = mooring.teller.clone();
        let teller = mooring.teller.clone();
        let mut seeds = seeds::Seeds::new(self.office, sight.clone());
        let mut config = config.clone();
        let (prober, _probing) = prober::Prober::start(&config, self.articles.traces_per_minute)?;
        let desk = Desk::open(
            &self.arguments.robot,
            self.robot,
            self.office,
            (&sight, &prober),
            leave,
        )?;
        self.await_seeds(&mut seeds, &mut config, stop)?;
        let until = if self.arguments.once {
            Until::FetchedOnce
        } else {
            Until::Stopped
        };
        let window = dashboard_view::bind(&config)?;
        let crawl = robot::start_in_fleet(&config, until, berth).map_err(explain)?;
        let seen = || Box::new(Seen(self.office.clone()));
        // held until the end
        let _shown = window
            .map(|window| dashboard_view::show(window, &config, &crawl, Some(seen()), json))
            .transpose()?;
        tell_mended(&crawl.mended, json);
        let runtime = self.office.runtime.handle().clone();
        dock::serve(self.office.nats.clone(), mooring, runtime)?;
        let (every, probes) = self.articles.survey();
        let _surveying = surveyor::Surveyor::start(
            self.robot,
            (self.office, &sight),
            probes.then_some(prober),
            teller,
            every,
        )?;
        let mut journal = journal::Journal::new(&self.arguments.robot, self.robot, self.office);
        let mut warden = warden::Warden::new(self.office, self.articles, self.member());
        let mut purse = purse::Purse::new(&config);
        let mut left = false;
        while !crawl.is_over() {
            if stop.load(Ordering::Relaxed) || self.is_late() {
                crawl.stop();
            }
            if sight.look(|seam| seam.protocol().has_left()) == Some(true) {
                left = true;
                crawl.stop();
            }
            let status = crawl.status();
            self.screen.show(&status);
            desk.show(status, seeds.unmarked());
            journal.look(&sight);
            purse.look(&sight, warden.groups(), &crawl);
            if let Ok(mut figures) = figures.lock() {
                *figures = metrics::of_robot(&desk.report());
            }
            warden.hear(seeds.look(&config, &crawl), json);
            std::thread::sleep(LOOK);
        }
        let lost = crawl.lost();
        let status = crawl
            .wait()
            .map_err(|what| anyhow!("the robot ended: {what}"))?;
        let given_up = sight.look(|seam| {
            let urls = seam.protocol().given_up();
            urls.map(str::to_owned).collect::<Vec<_>>()
        });
        drop(desk);
        if lost.is_some() && !stop.load(Ordering::Relaxed) {
            journal.tell(match lost {
                Some(Lost::Name) => "ended: another process works under its name",
                _ => "lost its share: it was away longer than its lease, or was evicted",
            });
            return Ok(lost);
        }
        self.screen.end(&status)?;
        if left {
            journal.tell("left the fleet");
            return Ok(None);
        }
        self.say_what_is_left(
            config,
            &given_up.unwrap_or_default(),
            stop.load(Ordering::Relaxed),
        )?;
        Ok(None)
    }

    /// Its share waits for it until the lease ends; pages that could not be had are listed.
    fn say_what_is_left(
        &self,
        config: Config,
        given_up: &[String],
        interrupted: bool,
    ) -> Result<()> {
        if interrupted || self.is_late() {
            let text = format!(
                "others take over this robot's share in {:.0} s, unless you start it again by then",
                self.articles.lease
            );
            warn(self.arguments.json, &text);
        }
        if interrupted && self.arguments.once {
            return Err(Interrupted.into());
        }
        if self.arguments.once {
            list_missing_in_fleet(config, given_up, self.arguments.json)?;
        }
        Ok(())
    }
}
