//! What a damaged store has lost, counted, so that it can be said in a few lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use storage::{Damage, Error};

/// How often something was lost, by file.
#[derive(Debug, Default)]
pub struct Losses(BTreeMap<(PathBuf, &'static str), u64>);

impl Losses {
    /// An entry that could not be read.
    pub(crate) fn note(&mut self, error: &Error, what: &'static str) {
        if let Error::Damaged { path, .. } | Error::Io { path, .. } = error {
            self.count(path, what, 1);
        }
    }

    pub(crate) fn count(&mut self, path: &Path, what: &'static str, entries: u64) {
        if entries > 0 {
            *self.0.entry((path.to_owned(), what)).or_default() += entries;
        }
    }

    /// All of them, after what is known of other files.
    pub(crate) fn beside(self, known: &[Damage]) -> Vec<Damage> {
        let lost = self.0.into_iter().filter_map(|((path, what), entries)| {
            let is_known = known.iter().any(|damage| damage.path == path);
            let what = format!("{entries} {what}");
            (!is_known).then_some(Damage { path, what })
        });
        known.iter().cloned().chain(lost).collect()
    }
}
