//! What can go wrong, by cause.

use std::io;
use std::path::{Path, PathBuf};

/// The result of anything here.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process holds the directory.
    #[error("{} is in use by another process{}; only one may write to it", .directory.display(), .holder.map_or(String::new(), |pid| format!(" (pid {pid})")))]
    InUse {
        /// The directory.
        directory: PathBuf,
        /// Who holds it, where known.
        holder: Option<u32>,
    },
    /// Written by a newer program, or by no program of ours.
    #[error("{} has format version {found}; this program knows version {known}", .path.display())]
    Version {
        /// The file that says so.
        path: PathBuf,
        /// The version it states.
        found: String,
        /// The version known here.
        known: u32,
    },
    /// A store without the key by which it knows URLs.
    #[error("{} is missing; without it no page of this store would be recognised, and every URL would be crawled again. Restore it from a backup, or move its directory away and start a new crawl", .path.display())]
    NoIdentity {
        /// The file that should be there.
        path: PathBuf,
    },
    /// The bytes are not what was written.
    #[error("{} is damaged: {what}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        what: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A page number that was never given out.
    #[error("there is no page {0}")]
    NoSuchPage(u32),
    /// A host number that was never given out.
    #[error("there is no host {0}")]
    NoSuchHost(u32),
    /// The number of an archive that was never given out.
    #[error("there is no archive {0}")]
    NoSuchArchive(u16),
    /// Bytes that are no package of hosts.
    #[error("not a package of hosts: at byte {at} of {length}, expected {expected}")]
    Package {
        /// Where.
        at: usize,
        /// How long it is.
        length: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A value that does not fit its format.
    #[error("{what} of {length} bytes is too long (at most {limit})")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The longest that is taken.
        limit: usize,
    },
    /// An earlier failure left the state in memory and the one on disk apart.
    #[error("an earlier write failed ({0}); open the directory again")]
    Broken(String),
}

/// Adds what was tried, and on what, to an error of the operating system.
pub(crate) trait Context<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io {
            action,
            path: path.to_path_buf(),
            source,
        })
    }
}

/// Makes the creation, renaming or removal of files in `directory` durable.
pub(crate) fn sync_directory(directory: &Path) -> Result<()> {
    std::fs::File::open(directory)
        .and_then(|d| d.sync_all())
        .context("sync", directory)
}
