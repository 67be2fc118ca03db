//! What goes wrong, on purpose.

use super::happening::Happening;
use super::killable::open;
use super::{Bottle, COMMITS, START};
use rand::RngExt;
use robot::clock::Now;
use robot::config::Config;
use robot::message::Event;
use robot::view::PageWait;
use robot::{moving, state_directory};
use std::collections::BTreeMap;
use std::path::PathBuf;
use storage::{Durability, HostId, PageId, Reader, Store, StoreOptions};

/// What can be wrong on purpose; each of them once was, or could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The keeper waits by the wall's clock.
    WallClock,
    /// What was learnt of pages is not in their rows.
    NoMemos,
    /// The keeper hears that something is stored before it is.
    StoredTooSoon,
    /// After a restart no host is left alone.
    NoOpening,
    /// DNS is believed whatever it says.
    AnyAddress,
    /// What hosts asked for is not written down.
    HostsForgotten,
    /// What was learnt of all pages together is not written down.
    LessonsForgotten,
    /// The keeper is told "unchanged" of pages that changed.
    ChangesUnheard,
    /// The keeper is told that pages failed which are gone.
    GoneUnheard,
    /// One of the keeper's own.
    Keeper(robot::keeper::Flaw),
}

impl Flaw {
    /// All but those that one site must be hostile for.
    pub const ALL: [Self; 11] = [
        Self::WallClock,
        Self::NoMemos,
        Self::StoredTooSoon,
        Self::NoOpening,
        Self::AnyAddress,
        Self::HostsForgotten,
        Self::LessonsForgotten,
        Self::ChangesUnheard,
        Self::GoneUnheard,
        Self::Keeper(robot::keeper::Flaw::NumbersStayAway),
        Self::Keeper(robot::keeper::Flaw::RulesExpireUnused),
    ];
}

impl Bottle {
    pub(super) fn plan_faults(&mut self) {
        for _ in 0..self.spec.kills {
            let at = START + self.random.random::<f64>() * self.spec.stormy;
            self.happen(at, Happening::Kill);
        }
        for _ in 0..self.spec.full_disks {
            let at = START + self.random.random::<f64>() * self.spec.stormy;
            self.happen(at, Happening::DiskFull);
        }
        for seconds in self.spec.restarts.clone() {
            self.happen(START + seconds, Happening::Restart);
        }
        for _ in 0..self.spec.clock_steps {
            let at = START + self.random.random::<f64>() * self.spec.stormy;
            let step = (self.random.random::<f64>() - 0.3) * 2000.0;
            self.happen(at, Happening::ClockStep(step));
        }
    }

    /// The robot dies, and is started again after a while.
    pub(super) fn kill(&mut self) -> Result<(), String> {
        self.record.hang_up(self.at);
        self.under_way.clear();
        let faults = std::mem::take(&mut self.happenings).into_iter();
        self.happenings = faults
            .filter(|timed| {
                matches!(
                    timed.2,
                    Happening::Kill
                        | Happening::DiskFull
                        | Happening::Restart
                        | Happening::ClockStep(_)
                )
            })
            .collect();
        // what is not on disk has taught something about all pages
        let nothing_lost = self.robot().writes.is_empty();
        let before = self.beliefs();
        // closes its store
        self.robot = None;
        self.at += self.random.random::<f64>().powi(3) * 10.0;
        self.boot += u32::from(self.random.random::<f64>() < 0.3);
        let robot = open(
            &self.config,
            &self.rules,
            self.now(),
            self.boot,
            self.spec.flaw,
        )?;
        self.robot = Some(robot);
        self.happen(self.at + COMMITS, Happening::Commit);
        let after = self.beliefs();
        for (page, (rate, again)) in before.into_iter().zip(after).enumerate() {
            if let (Some(rate), Some(again)) = (rate, again)
                && nothing_lost
                && !(0.7..1.4).contains(&(again / rate))
            {
                return Err(format!(
                    "page {page} was believed to change {rate:.3} times a day, after a restart \
                     {again:.3} times"
                ));
            }
        }
        Ok(())
    }

    /// Nothing can be written: the robot is told so by its archivist, and asks for nothing more.
    pub(super) fn fill_disk(&mut self) -> Result<(), String> {
        let now = self.now();
        let broken = Event::Broken("no space left on device".into());
        let keeper = &mut self.robot().keeper;
        let actions = keeper.step(now, [broken]);
        if !actions.jobs.is_empty() || !keeper.is_done() {
            return Err("a robot that cannot write goes on".into());
        }
        self.kill()
    }

    /// The robot is stopped in good order, and started again at once; later if it has something to do
    /// before a new one would do anything.
    pub(super) fn restart(&mut self) -> Result<(), String> {
        let now = self.now();
        let soon = 2.0 * self.spec.interval + COMMITS;
        let robot = self.robot();
        let status = robot.keeper.status_at(now);
        let is_quiet = status.next_due_in.is_none_or(|due| due > soon);
        if !is_quiet || robot.keeper.is_waiting() || !robot.writes.is_empty() {
            self.happen(self.at + COMMITS, Happening::Restart);
            return Ok(());
        }
        let mut last = robot.keeper.close(now);
        last.retain(|write| !self.is_forgotten(write));
        let written = self.robot().archivist.write(last);
        written.map_err(|error| error.to_string())?;
        let before = self.prospects_by_url();
        self.robot = None;
        if self.spec.moves {
            self.config.data.0 = moved(&self.config, self.report.restarts, now)?;
        }
        let robot = open(&self.config, &self.rules, now, self.boot, self.spec.flaw)?;
        self.robot = Some(robot);
        self.happen(self.at + COMMITS, Happening::Commit);
        let after = self.prospects_by_url();
        let of = |wait: &PageWait| {
            let PageWait {
                changes_per_day,
                changes_per_day_interval,
                chance_fresh,
                due,
                ..
            } = *wait;
            (changes_per_day, changes_per_day_interval, chance_fresh, due)
        };
        if !before.keys().eq(after.keys()) {
            return Err("not the same pages before and after a restart".into());
        }
        let differs = |(old, new): &(&PageWait, &PageWait)| of(old) != of(new);
        let mut pages = before.iter().zip(after.values());
        if let Some(((page, old), new)) = pages.find(|((_, old), new)| differs(&(old, new))) {
            return Err(format!(
                "{page} before and after a restart:\n{old:#?}\n{new:#?}"
            ));
        }
        self.report.restarts += 1;
        Ok(())
    }

    /// What is believed and planned of every page.
    pub(super) fn prospects(&mut self) -> Vec<PageWait> {
        let now = self.now();
        let robot = self.robot();
        let pages = robot.reader.page_count().unwrap_or(0);
        let of = |page: u32| robot.keeper.page(now, PageId(page));
        (0..pages).map(of).collect()
    }

    /// The same by URL: a robot that takes pages over gives them numbers of its own.
    fn prospects_by_url(&mut self) -> BTreeMap<String, PageWait> {
        let prospects = (0..).map(PageId).zip(self.prospects());
        let reader = &self.robot().reader;
        let named =
            prospects.filter_map(|(page, wait)| Some((reader.address(page).ok()?.url, wait)));
        named.collect()
    }

    /// How often pages are believed to change.
    fn beliefs(&mut self) -> Vec<Option<f64>> {
        let prospects = self.prospects();
        prospects.iter().map(|page| page.changes_per_day).collect()
    }
}

/// Takes all hosts over into a directory where there was nothing; returns it.
fn moved(config: &Config, number: usize, now: Now) -> Result<PathBuf, String> {
    let told = |error: storage::Error| error.to_string();
    let from = Reader::open(&state_directory(&config.data.0)).map_err(told)?;
    let hosts: Vec<HostId> = (0..from.host_count().map_err(told)?).map(HostId).collect();
    let bytes = moving::export(&from, &hosts, None, now, &BTreeMap::new()).map_err(told)?;
    let directory = config.data.0.join(format!("moved-{number}"));
    let options = StoreOptions {
        durability: Durability::Buffered,
        ..StoreOptions::default()
    };
    let mut store = Store::open(&state_directory(&directory), options).map_err(told)?;
    let imported = moving::import(&mut store, config, &bytes, None, now);
    let imported = imported.map_err(|error| error.to_string())?;
    store.commit(&imported.unpacked.batch).map_err(told)?;
    Ok(directory)
}
