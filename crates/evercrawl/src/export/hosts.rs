//! All that is known of hosts, for another crawl.

use super::Arguments;
use super::target::Target;
use crate::bad_input::BadInput;
use crate::data::{Data, hosts, is_host};
use crate::terminal::{complain, grouped};
use anyhow::Result;
use robot::moving;
use std::collections::BTreeMap;
use std::io::Write;
use storage::archive::identify;
use storage::{HostId, Store, StoreOptions};

/// Writes the hosts of a name; then, if that is wanted, has them elsewhere.
pub fn write(data: &Data, arguments: &Arguments) -> Result<()> {
    let Some(wanted) = &arguments.host else {
        return Err(BadInput("--format host needs --host".into()).into());
    };
    let reader = data.reader()?;
    let mut ids: Vec<HostId> = (hosts(&reader)?.into_iter())
        .filter(|(_, row)| is_host(&row.name, wanted))
        .map(|(id, _)| id)
        .collect();
    ids.sort_unstable();
    if ids.is_empty() {
        return Err(BadInput(format!("no host {wanted} is known; see `evercrawl hosts`")).into());
    }
    let mut target = Target::open(arguments.out.as_deref(), true, &[])?;
    // nobody else may write while the pages leave
    let store = (arguments.leave)
        .then(|| Store::open(reader.directory(), StoreOptions::default()))
        .transpose()?;
    let own = data.archive().ok().map(|archive| identify(&archive));
    let now = moving::time_of(&reader.learnt()?);
    let bytes = moving::export(&reader, &ids, own.transpose()?, now, &BTreeMap::new())?;
    target.write_all(&bytes)?;
    target.finish()?;
    if let Some(mut store) = store {
        let batch = store.leave(&ids)?;
        store.commit(&batch)?;
        let count = grouped(batch.pages.len());
        complain("note", &format!("{count} pages are elsewhere from now on"));
    }
    Ok(())
}
