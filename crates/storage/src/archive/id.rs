//! The name by which others know an archive, wherever its files are moved.

use std::fmt;
use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::str::FromStr;

use crate::error::{Context, Error, Result, sync_directory};

/// The file that has it.
const FILE: &str = "archive-id";
/// Its digits and an end of line.
const LENGTH: u64 = 33;

/// Names an archive: whoever takes pages over says by it where their copies are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchiveId(pub u128);

impl fmt::Display for ArchiveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for ArchiveId {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = digits.then(|| u128::from_str_radix(text, 16).ok());
        number.flatten().map(Self).ok_or(())
    }
}

/// The id of the archive in `directory`; nothing if it was never given one.
pub fn id(directory: &Path) -> Result<Option<ArchiveId>> {
    let path = directory.join(FILE);
    let bytes = match crate::read_short(&path, LENGTH + 1) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        bytes => bytes.context("read", &path)?,
    };
    let text = str::from_utf8(&bytes).unwrap_or_default();
    let id = text.strip_suffix('\n').and_then(|text| text.parse().ok());
    id.map(Some).ok_or_else(|| Error::Damaged {
        path,
        what: "expected 32 hexadecimal digits and an end of line".into(),
    })
}

/// The id of the archive in `directory`, which gets one if it has none. Whoever comes first decides.
pub fn identify(directory: &Path) -> Result<ArchiveId> {
    if let Some(id) = id(directory)? {
        return Ok(id);
    }
    let half = || u128::from(RandomState::new().hash_one(std::process::id()));
    let new = ArchiveId(half() << 64 | half());
    let (path, own) = (
        directory.join(FILE),
        directory.join(format!("{FILE}.{new}")),
    );
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&own)
        .context("create", &own)?;
    let written = writeln!(file, "{new}").and_then(|()| file.sync_all());
    // there whole, and only if no other was quicker
    let linked = written.and_then(|()| std::fs::hard_link(&own, &path));
    std::fs::remove_file(&own).context("remove", &own)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        linked => linked.context("create", &path)?,
    }
    sync_directory(directory)?;
    id(directory).map(|id| id.unwrap_or(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_keeps_its_id() {
        let directory = crate::store::fast_directory();
        assert_eq!(id(directory.path()).unwrap(), None);
        let given = identify(directory.path()).unwrap();
        assert_eq!(identify(directory.path()).unwrap(), given);
        assert_eq!(id(directory.path()).unwrap(), Some(given));
        assert_eq!(given.to_string().parse(), Ok(given));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        std::fs::write(directory.path().join(FILE), "?\n").unwrap();
        assert!(identify(directory.path()).is_err());
    }
}
