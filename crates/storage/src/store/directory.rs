//! The directory itself: one writer at a time, a version, a key.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

use siphasher::sip128::SipHasher24;

use crate::error::{Context, Error, Result, sync_directory};

/// The version of all formats in the directory.
pub(crate) const VERSION: u32 = 2;
/// The oldest that is still read.
const OLDEST: u32 = 1;
const LOCK: &str = "lock";
const IDENTITY: &str = "identity";
/// It has three lines of less than 100 bytes.
const IDENTITY_LIMIT: u64 = 4096;
/// A number in digits.
const HOLDER_LIMIT: u64 = 32;
const MAGIC: &str = "evercrawl-store";
/// How often, and how far apart, a lock is tried that others hold.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// Takes the directory for this process, until the file is dropped or the process ends, however.
pub(crate) fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .context("open", &path)?;
    let mut taken = file.try_lock();
    for _ in 0..LOOKS {
        // perhaps somebody only looks whether it is in use
        if matches!(taken, Err(TryLockError::WouldBlock)) {
            std::thread::sleep(LOOK);
            taken = file.try_lock();
        }
    }
    match taken {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let holder = (&mut file)
                .take(HOLDER_LIMIT)
                .read_to_string(&mut text)
                .ok();
            return Err(Error::InUse {
                directory: directory.to_path_buf(),
                holder: holder.and_then(|_| text.trim().parse().ok()),
            });
        }
        Err(TryLockError::Error(source)) => return Err(source).context("lock", &path),
    }
    // the number is a courtesy to whoever is refused: a full disk must not keep us from opening
    if file.set_len(0).is_ok() {
        let _ = write!(file, "{}", std::process::id());
    }
    Ok(file)
}

/// Whether a process has taken the directory, at work or not.
pub fn is_in_use(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(LOCK)) else {
        return false;
    };
    // given back at once, with the file
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The key under which URLs are fingerprinted.
#[derive(Clone, Copy)]
pub(crate) struct Key([u8; 16]);

/// A canonical key as one store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub(crate) u128);

/// Makes fingerprints for one store, wherever there is time for it.
#[derive(Clone, Copy)]
pub struct Fingerprints(pub(crate) Key);

impl Fingerprints {
    /// Of a canonical key.
    pub fn of(self, key: &str) -> Fingerprint {
        Fingerprint(self.0.fingerprint(key))
    }
}

impl Key {
    /// Crawled URLs are hostile: without a secret key they could be made to collide.
    pub(crate) fn fingerprint(self, text: &str) -> u128 {
        SipHasher24::new_with_key(&self.0)
            .hash(text.as_bytes())
            .as_u128()
    }

    fn random() -> Self {
        let half = || RandomState::new().hash_one(std::process::id());
        Self((u128::from(half()) << 64 | u128::from(half())).to_le_bytes())
    }
}

/// What a store says of itself.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) version: u32,
    pub(crate) key: Key,
}

impl Identity {
    fn line(self) -> String {
        let Self { version, key } = self;
        let text = format!("{MAGIC} {version} {:032x}", u128::from_le_bytes(key.0));
        format!("{text} {:08x}", libdeflater::crc32(text.as_bytes()))
    }

    /// What a line says, if it is one of ours.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (magic, version, key) = (words.next()?, words.next()?, words.next()?);
        let identity = Self {
            version: version.parse().ok()?,
            key: Key(u128::from_str_radix(key, 16).ok()?.to_le_bytes()),
        };
        (magic == MAGIC && identity.line() == line).then_some(identity)
    }
}

/// Reads version and key, or makes them for a new store.
pub(crate) fn identify(directory: &Path) -> Result<Identity> {
    match read_identity(directory) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
        other => return other,
    }
    write_identity(directory, Key::random())
}

/// Says that all is of the present version.
pub(crate) fn write_identity(directory: &Path, key: Key) -> Result<Identity> {
    let identity = Identity {
        version: VERSION,
        key,
    };
    // one damaged byte must not cost the key, even if it is the end of a line
    let lines = format!("{}\n", identity.line()).repeat(3);
    crate::replace_file(&directory.join(IDENTITY), lines.as_bytes())?;
    sync_directory(directory)?;
    Ok(identity)
}

/// Whether there is more in the directory than a store that was never used.
fn has_pages(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.metadata().is_ok_and(|data| data.len() > 0))
        .any(|entry| {
            let name = entry.file_name();
            name == "admissions" || name.to_string_lossy().starts_with("journal-")
        })
}

/// Reads version and key of an existing store.
pub(crate) fn read_identity(directory: &Path) -> Result<Identity> {
    let path = directory.join(IDENTITY);
    let bytes = match crate::read_short(&path, IDENTITY_LIMIT) {
        Err(error) if error.kind() == ErrorKind::NotFound && has_pages(directory) => {
            return Err(Error::NoIdentity { path });
        }
        bytes => bytes.context("read", &path)?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let known = |version: u32| (OLDEST..=VERSION).contains(&version);
    let identities = text.lines().filter_map(Identity::parse);
    if let Some(identity) = identities.clone().find(|found| known(found.version)) {
        return Ok(identity);
    }
    // a version yet to come may say it in other words
    let stated = text.lines().find_map(|line| {
        let version = line.strip_prefix(MAGIC)?.split(' ').nth(1)?;
        let is_ours = version.parse().is_ok_and(known);
        (!is_ours).then(|| version.to_string())
    });
    Err(match stated {
        Some(found) => Error::Version {
            path,
            found,
            known: VERSION,
        },
        None => Error::Damaged {
            path,
            what: "it states neither version nor key".into(),
        },
    })
}
