//! The robot as far as a kill takes it, and how it is started on what its store has.

use super::faults::Flaw;
use robot::archivist::Archivist;
use robot::clock::{Clock, Now};
use robot::config::Config;
use robot::keeper::Keeper;
use robot::message::{Found, Write};
use robot::reading::Rules;
use robot::{Intake, Losses, Until, offline, state_directory};
use std::collections::HashSet;
use std::sync::Arc;
use storage::{Durability, Reader, Store, StoreOptions};
use url::Url;

/// The robot as far as a kill takes it.
pub(super) struct Robot {
    pub keeper: Keeper,
    pub archivist: Archivist,
    pub reader: Reader,
    pub intake: Intake,
    /// What the archivist has not written yet.
    pub writes: Vec<Write>,
    /// Pages whose visits are among that.
    pub unwritten: HashSet<u32>,
    /// Hosts that asked to be left alone, and until when: among that, too.
    pub asked: Vec<(usize, f64)>,
}

/// Starts the robot on what its store has.
pub(super) fn open(
    config: &Config,
    rules: &Arc<Rules>,
    now: Now,
    boot: u32,
    flaw: Option<Flaw>,
) -> Result<Robot, String> {
    let told = |error: storage::Error| error.to_string();
    let state = state_directory(&config.data.0);
    let options = StoreOptions {
        durability: Durability::Buffered,
        ..StoreOptions::default()
    };
    let store = Store::open(&state, options).map_err(told)?;
    let learnt = Some(store.learnt()).filter(|record| !record.is_empty());
    let before = Now {
        at: now.at
            - if flaw == Some(Flaw::NoOpening) {
                1e6
            } else {
                0.0
            },
        ..now
    };
    let mut keeper = Keeper::new(
        config.clone(),
        Until::Stopped,
        rules.clone(),
        Clock::virtually(&boot.to_string()),
        before,
        learnt,
    )
    .map_err(|error| error.to_string())?;
    if let Some(Flaw::Keeper(flaw)) = flaw {
        keeper.plant(flaw);
    }
    keeper
        .restore(before, &store, &mut Losses::default())
        .map_err(told)?;
    let traps = offline::traps(config, store.reader(), None, |_| {}).map_err(told)?;
    let canonical = config.keys.canonical();
    let seeds = config
        .seeds
        .iter()
        .filter_map(|seed| Url::parse(&seed.url).ok());
    let seeds = seeds.map(|url| Found {
        key: canonical.key(&url),
        url,
        depth: 0,
        from: None,
        changed: None,
        at: (now.wall * 1e3) as i64,
    });
    Ok(Robot {
        keeper,
        archivist: Archivist::new(store, None, traps),
        reader: Reader::open(&state).map_err(told)?,
        intake: Intake::new(config, rules.clone()),
        writes: vec![Write::Links(seeds.collect())],
        unwritten: HashSet::new(),
        asked: Vec::new(),
    })
}
