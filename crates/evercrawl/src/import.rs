//! `evercrawl import`: hosts of another crawl, taken over.

use crate::bad_input::BadInput;
use crate::data::Which;
use crate::terminal::{complain, grouped, print};
use anyhow::{Context, Result};
use robot::moving::{self, Refused};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use storage::archive::identify;
use storage::{PACKAGE_LIMIT, Store, StoreOptions};

const MORE: &str = "\
What `evercrawl export --format host` wrote is taken over completely or not at all: pages with everything learnt \
about them, and how the hosts want to be treated. The next crawl continues where the other one stopped. Copies stay in \
the other crawl's archive, where `get` finds them if archive.others names its directory. The log of visits stays \
there too. Pages about which this crawl knows as much stay as they are.

No crawl may be running in the data directory. It is created if there is none.

Examples:
  evercrawl export --data old --format host --host www.example.org --leave --out www.host
  evercrawl import --data new www.host";

/// Import hosts that another crawl exported.
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// What `export --format host` wrote.
    file: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let path = &arguments.file;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(PACKAGE_LIMIT as u64 + 1).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))?;
    // before anything is made
    storage::Package::decode(&bytes).map_err(|why| BadInput::file(path, why))?;
    let state = robot::state_directory(&data.directory);
    let mut store = Store::open(&state, StoreOptions::default())?;
    let archive = data.archive().ok().map(|archive| identify(&archive));
    let now = moving::time_of(store.learnt());
    let imported = moving::import(&mut store, &data.config, &bytes, archive.transpose()?, now);
    let imported = imported.map_err(|why| match why {
        Refused::Store(error) => error.into(),
        why => anyhow::Error::from(BadInput::file(path, why)),
    })?;
    let unpacked = imported.unpacked;
    store.commit(&unpacked.batch)?;
    if imported.unlearnt > 0 {
        let unlearnt = format!(
            "what was learnt about {} pages is left out: the clocks of the two crawls differ by {} s",
            imported.unlearnt, imported.clocks_differ
        );
        complain("warning", &unlearnt);
    }
    let number = |count: u64| grouped(count as usize);
    let mut text = format!(
        "{} hosts · {} pages taken over",
        number(unpacked.hosts.len() as u64),
        number(unpacked.taken)
    );
    for (count, what) in [
        (unpacked.kept, "known just as well here"),
        (
            unpacked.doubles,
            "the same page as another by this crawl's keys",
        ),
    ] {
        if count > 0 {
            write!(text, " · {} {what}", number(count))?;
        }
    }
    text.push('\n');
    Ok(print(&text)?)
}
