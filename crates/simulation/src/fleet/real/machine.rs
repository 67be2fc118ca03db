//! A robot's machine: its disk outlives its process.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fleet::identity::Unit;
use fleet::parcel::Subject;
use fleet::robot::{Hold, Settings};
use frontier::politeness::Interval;
use frontier::scope::Scope;
use rand::RngExt;
use robot::archivist::{Archivist, SharedSeam};
use robot::clock::{Clock, Now};
use robot::config::{Config, Count, Revisit};
use robot::keeper::Keeper;
use robot::message::{Event as Told, Found, Stored, Write};
use robot::reading::Rules;
use robot::seam::Seam;
use robot::{Intake, Losses, offline, state_directory};
use storage::{Durability, PageId, PageRow, PageState, Reader, Store, StoreOptions};
use url::Url;

use super::super::checks::{Broken, broken};
use super::{Event, GROUP, Noted, Real, RealFault, RealSpec, START, identity};
use std::net::IpAddr;

/// A robot's machine.
pub(super) struct Machine {
    config: Config,
    rules: Arc<Rules>,
    settings: Settings,
    /// The process, while it runs.
    pub life: Option<Life>,
    /// The how many-th.
    pub lives: u32,
    pub paused_until: f64,
    pub cut_until: f64,
    pub leaving: bool,
    drift: f64,
}

/// The robot as far as a kill takes it.
pub(super) struct Life {
    pub keeper: Keeper,
    pub archivist: Archivist,
    pub reader: Reader,
    pub intake: Intake,
    pub seam: SharedSeam,
    pub writes: Vec<Write>,
    pub commit_due: bool,
    /// Pages whose visits are not on disk.
    pub unwritten: HashSet<u32>,
    pub subjects: Vec<Subject>,
    pub under_way: HashMap<u64, (String, IpAddr)>,
    pub wakes_at: f64,
}

fn failed(error: impl std::fmt::Display) -> Broken {
    Broken {
        rule: "the robot works",
        what: error.to_string(),
    }
}

impl Machine {
    pub fn new(spec: &RealSpec, position: usize, place: PathBuf, drift: f64) -> Self {
        let mut config = Config::default();
        config.data.0 = place;
        config.scope.suffixes = vec!["example".into()];
        config.fetch.allow_networks = vec!["10.0.0.0/8".into()];
        config.politeness.interval = Interval::Fixed {
            seconds: spec.interval,
        };
        config.revisit = Revisit {
            count: Count::Body,
            budget: "0.2/second".into(),
            least_interval: "0".into(),
            least_chance: 0.0,
            ..Revisit::default()
        };
        config.archive.enabled = false;
        config.state.synced = false;
        let seeds: &[Url] = &[];
        let scope = Scope::new(&config.scope, seeds).expect("a scope");
        let mut settings = Settings::new(identity(position), vec![GROUP]);
        settings.interval = (spec.interval * 1e3) as u64;
        settings.budget = spec.budget;
        settings.piece = 2_000;
        settings.snapshot = spec.snapshot;
        Self {
            rules: Arc::new(Rules::new(&config, scope)),
            config,
            settings,
            life: None,
            lives: 0,
            paused_until: 0.0,
            cut_until: 0.0,
            leaving: false,
            drift,
        }
    }

    /// What the machine's clock shows: it is a little fast or slow.
    pub fn clock(&self, now: f64) -> Now {
        Now {
            at: START + now * (1.0 + self.drift),
            wall: START + now,
        }
    }

    /// When the machine's clock will show this.
    pub fn when(&self, at: f64) -> f64 {
        (at - START) / (1.0 + self.drift) + 1e-6
    }

    /// How it stands, for the story.
    pub fn standing(&self, now: f64) -> Option<String> {
        let life = self.life.as_ref()?;
        let hosts = life.keeper.hosts(self.clock(now)).into_iter();
        let waiting = hosts
            .filter(|host| host.new_waiting + host.due_waiting > 0)
            .map(|host| format!("{} for {}", host.host, host.waits_for));
        let waiting: Vec<String> = waiting.collect();
        let quiet = life.keeper.is_quiet();
        let protocol = life.seam().protocol().standing();
        Some(format!(
            "{protocol}; keeper quiet {quiet}, waits: {waiting:?}"
        ))
    }

    /// What somebody says who has a seed.
    pub fn seed(&self, seed: &str, now: f64) -> Told {
        let url = Url::parse(seed).expect("a URL");
        let found = Found {
            key: self.config.keys.canonical().key(&url),
            url,
            depth: 0,
            from: None,
            changed: None,
            at: ((START + now) * 1e3) as i64,
        };
        Told::Wanted {
            pages: vec![found],
            rescoped: false,
        }
    }

    /// Starts the robot on what its disk has.
    fn open(&self, spec: &RealSpec, boot: u16, now: Now) -> Result<Life, Broken> {
        let state = state_directory(&self.config.data.0);
        let options = StoreOptions {
            durability: Durability::Buffered,
            ..StoreOptions::default()
        };
        let store = Store::open(&state, options).map_err(failed)?;
        let learnt = Some(store.learnt()).filter(|record| !record.is_empty());
        let seam = Seam::flawed(self.settings.clone(), boot, now, &store, spec.flaw);
        let seam = seam.map_err(failed)?;
        let mut keeper = Keeper::new(
            self.config.clone(),
            spec.until,
            self.rules.clone(),
            Clock::virtually("boot"),
            now,
            learnt,
        )
        .map_err(failed)?;
        keeper.join(seam.servers());
        let mut losses = Losses::default();
        keeper.restore(now, &store, &mut losses).map_err(failed)?;
        let traps = offline::traps(&self.config, store.reader(), None, |_| {}).map_err(failed)?;
        let seam = Arc::new(Mutex::new(seam));
        let archivist = Archivist::new(store, None, traps)
            .in_fleet(seam.clone(), &self.config, self.rules.clone(), None)
            .map_err(failed)?;
        Ok(Life {
            keeper,
            archivist,
            reader: Reader::open(&state).map_err(failed)?,
            intake: Intake::new(&self.config, self.rules.clone()),
            seam,
            writes: Vec::new(),
            commit_due: false,
            unwritten: HashSet::new(),
            subjects: Vec::new(),
            under_way: HashMap::new(),
            wakes_at: f64::INFINITY,
        })
    }
}

impl Life {
    pub fn seam(&self) -> MutexGuard<'_, Seam> {
        self.seam.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn pages(&self) -> u32 {
        self.reader.page_count().unwrap_or(0)
    }

    /// W2: no URL has two numbers.
    pub fn keys_are_unique(&self) -> Result<(), Broken> {
        let mut known = HashSet::new();
        for page in 0..self.pages() {
            let url = self.reader.address(PageId(page)).map_err(failed)?.url;
            if !known.insert(url.clone()) {
                return broken("W2 once", format!("{url} is known twice"));
            }
        }
        Ok(())
    }

    /// When its pages are due.
    pub fn dues(&self) -> Vec<(String, f64)> {
        let due = |page: PageId| {
            let url = self.reader.address(page).ok()?.url;
            Some((url, self.keeper.due(page)?))
        };
        (0..self.pages()).map(PageId).filter_map(due).collect()
    }

    fn row(&self, url: &str) -> Option<PageRow> {
        let mut pages = (0..self.pages()).map(PageId);
        let page = pages.find(|page| {
            let address = self.reader.address(*page);
            address.is_ok_and(|address| address.url == url)
        })?;
        self.reader.page(page).ok().flatten()
    }

    /// What is known of a URL, for the story.
    pub fn knows(&self, url: &str) -> String {
        let page = (0..self.pages()).map(PageId).find(|page| {
            let address = self.reader.address(*page);
            address.is_ok_and(|address| address.url == url)
        });
        page.map_or_else(String::new, |page| {
            let row = self.reader.page(page).ok().flatten();
            format!(
                "; known as {page:?}, {:?}",
                row.map(|row| (row.state, row.visits))
            )
        })
    }
}

impl Real {
    pub(super) fn start(&mut self, index: usize) -> Result<(), Broken> {
        let boot = self.random.random();
        let machine = &mut self.machines[index];
        if machine.life.is_some() {
            return Ok(());
        }
        machine.lives += 1;
        let life = machine.open(&self.spec, boot, machine.clock(self.now))?;
        machine.life = Some(life);
        self.tell(|| format!("{index} starts"));
        self.wake(index)
    }

    pub(super) fn fault(&mut self, fault: RealFault) {
        self.tell(|| format!("{fault:?}"));
        let now = self.now;
        match fault {
            RealFault::Kill(index, down) => self.kill(index, false, down),
            RealFault::DiskLoss(index, down) => self.kill(index, true, down),
            RealFault::Pause(index, long) => self.machines[index].paused_until = now + long,
            RealFault::Cut(index, long) => self.machines[index].cut_until = now + long,
            RealFault::Gap(long) => self.gap_until = now + long,
            RealFault::Leave(index) => self.machines[index].leaving = true,
            RealFault::Divide(seed) => self.divide(seed),
            RealFault::All(index) => self.give_all(index),
            RealFault::Note => self.note(),
        }
    }

    /// What everybody knows of its pages, those aside that are elsewhere.
    fn note(&mut self) {
        let mut notes = BTreeMap::new();
        for (owner, machine) in self.machines.iter().enumerate() {
            let Some(life) = &machine.life else { continue };
            for page in (0..life.pages()).map(PageId) {
                let (Ok(address), Ok(row)) = (life.reader.address(page), life.reader.page(page))
                else {
                    continue;
                };
                let row = row.unwrap_or_default();
                if row.state != PageState::Elsewhere {
                    let noted = Noted {
                        owner,
                        visits: row.visits,
                    };
                    notes.insert(address.url, noted);
                }
            }
        }
        self.report.notes.push(notes);
    }

    /// W12: what a package brings is what its last owner has.
    pub(super) fn compare_rows(&mut self, index: usize, stored: &Stored) -> Result<(), Broken> {
        let bare = |row: &PageRow| {
            let mut row = PageRow {
                place: None,
                away: None,
                redirect_to: None,
                ..row.as_it_travels()
            };
            // looked at by itself
            freshness::revisits::break_promise(&mut row.memo);
            row
        };
        let Some(life) = &self.machines[index].life else {
            return Ok(());
        };
        for arrived in &stored.fleet.arrived {
            let url = life.reader.address(arrived.page).map_err(failed)?.url;
            let name = Url::parse(&url).ok();
            let name = name.and_then(|url| url.host_str().map(str::to_owned));
            for (other, machine) in self.machines.iter().enumerate() {
                let Some(last) = machine.life.as_ref().filter(|_| other != index) else {
                    continue;
                };
                let seam = last.seam();
                let server = name.as_ref().and_then(|name| seam.server_of(name));
                let hold = server.and_then(|ip| seam.protocol().hold_of(Unit::Server(ip)));
                let packed = matches!(hold, Some(Hold::Packed { .. }));
                drop(seam);
                let Some(row) = packed.then(|| last.row(&url)).flatten() else {
                    continue;
                };
                let (here, there) = (bare(&arrived.row), bare(&row));
                if here.visits + u32::from(here.failures_in_a_row) == 0 || here == there {
                    self.report.same_rows += u64::from(here == there && here.visits > 0);
                    self.report.same_gone += u64::from(here.state == PageState::Gone);
                    self.report.same_failed += u64::from(here.failures_in_a_row > 0);
                    continue;
                }
                let what = format!("{url}: {index} has {here:?}, {other} had {there:?}");
                return broken("W12 what moves stays what it was", what);
            }
        }
        Ok(())
    }

    /// Pages that came in a package are due when their last owner would have visited them: how far off that is, as
    /// a share of the time since the last visit.
    pub(super) fn compare_dues(&mut self, index: usize, arrived: &[PageId]) {
        let Some(life) = &self.machines[index].life else {
            return;
        };
        for &page in arrived {
            let (Ok(address), Ok(Some(row))) = (life.reader.address(page), life.reader.page(page))
            else {
                continue;
            };
            let (Some(due), Some(last)) = (self.dues.get(&address.url), row.last_visit) else {
                continue;
            };
            let here = life.keeper.due(page).unwrap_or(f64::INFINITY);
            // whatever is due has its turn now
            let now = self.machines[index].clock(self.now).at;
            let off = (here.max(now) - due.max(now)).abs();
            let span = (due.max(now) - last as f64 / 1e3).max(1.0);
            self.report.dues_off.push(off / span);
        }
    }

    /// The process dies with all that is not on disk, and comes back after a while.
    pub(super) fn kill(&mut self, index: usize, disk: bool, down: f64) {
        self.hang_up(index);
        let machine = &mut self.machines[index];
        machine.lives += 1;
        machine.life = None;
        machine.paused_until = 0.0;
        if disk {
            // there may be none yet
            let _ = std::fs::remove_dir_all(&machine.config.data.0);
            self.checks.wiped(index);
        }
        self.push(self.now + down, index, Event::Start);
    }

    fn hang_up(&mut self, index: usize) {
        if let Some(life) = &self.machines[index].life {
            for (name, ip) in life.under_way.values() {
                self.ledger.end(name, *ip, self.now);
            }
        }
    }

    /// The share is lost: another life begins with nothing.
    pub(super) fn reset(&mut self, index: usize) {
        self.tell(|| format!("{index} lost its share and begins anew"));
        self.kill(index, true, 0.5);
    }
}
