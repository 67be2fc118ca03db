//! Output files that appear whole or not at all.

use crate::bad_input::BadInput;
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// What Ctrl-C must take away.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static ON_INTERRUPT: Once = Once::new();

/// The exit code shells give to a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// A file being written beside its target; replaces it on [`NewFile::finish`] and is removed when
/// dropped before. A link is replaced, not followed. Devices and pipes are written directly.
pub struct NewFile {
    writer: BufWriter<File>,
    target: PathBuf,
    temporary: Option<PathBuf>,
}

/// Whether a file could be created there, so that long work is not done for nothing.
pub fn check_target(target: &Path, inputs: &[&Path]) -> Result<()> {
    if target.is_dir() {
        return Err(BadInput::file(target, "is a directory; expected the name of a file").into());
    }
    if let Ok(target) = target.canonicalize()
        && let Some(input) = (inputs.iter()).find(|i| i.canonicalize().is_ok_and(|i| i == target))
    {
        return Err(BadInput::file(input, "would be overwritten by the output").into());
    }
    fs::metadata(directory(target))
        .map(drop)
        .with_context(|| format!("cannot write {}", target.display()))
}

impl NewFile {
    /// Starts a file that is to become `target`.
    pub fn create(target: &Path) -> Result<Self> {
        Self::start(target).with_context(|| format!("cannot write {}", target.display()))
    }

    fn start(target: &Path) -> io::Result<Self> {
        if is_special(target) {
            let file = OpenOptions::new().write(true).open(target)?;
            return Ok(Self::new(file, target, None));
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.");
        let mut builder = tempfile::Builder::new();
        // exclusive, and nobody can guess the name: what others may have put there is not followed
        builder
            .prefix(&prefix)
            .suffix(".tmp")
            .rand_bytes(16)
            .permissions(Permissions::from_mode(0o666));
        on_interrupt();
        let (file, temporary) = pending(|pending| {
            let (file, path) = builder.tempfile_in(directory(target))?.keep()?;
            pending.push(path.clone());
            Ok::<_, io::Error>((file, path))
        })?;
        Ok(Self::new(file, target, Some(temporary)))
    }

    fn new(file: File, target: &Path, temporary: Option<PathBuf>) -> Self {
        Self {
            writer: BufWriter::with_capacity(1 << 18, file),
            target: target.to_owned(),
            temporary,
        }
    }

    /// Puts the file in its place.
    pub fn finish(mut self) -> Result<()> {
        self.place()
            .with_context(|| format!("cannot write {}", self.target.display()))
    }

    fn place(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        if let Some(temporary) = &self.temporary {
            self.writer.get_ref().sync_all()?;
            fs::rename(temporary, &self.target)?;
            forget(temporary);
            self.temporary = None;
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes);
        written.map_err(|error| named(&self.target, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| named(&self.target, &error))
    }
}

/// The same error, saying which file it is about.
fn named(target: &Path, error: &io::Error) -> io::Error {
    let reason = format!("cannot write {}: {error}", target.display());
    io::Error::new(error.kind(), reason)
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // the error that led here is the one to report
            let _ = fs::remove_file(temporary);
            forget(temporary);
        }
    }
}

/// Devices and pipes, and the system's own links to what is open. Links of anybody else are
/// replaced, not followed: they may have been planted.
fn is_special(target: &Path) -> bool {
    let of_system = [
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/fd",
        "/proc",
    ];
    of_system.iter().any(|place| target.starts_with(place))
        || fs::symlink_metadata(target)
            .is_ok_and(|found| !found.is_file() && !found.file_type().is_symlink())
}

fn directory(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Takes away all files not finished, for a process about to end.
pub fn remove_pending() {
    pending(|pending| {
        for temporary in pending.iter() {
            let _ = fs::remove_file(temporary);
        }
    });
}

fn on_interrupt() {
    ON_INTERRUPT.call_once(|| {
        // without a handler a file may be left behind, which is no reason to stop
        let _ = ctrlc::set_handler(|| {
            remove_pending();
            std::process::exit(INTERRUPTED);
        });
    });
}

fn forget(temporary: &Path) {
    pending(|pending| pending.retain(|other| other != temporary));
}

fn pending<T>(change: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    change(&mut PENDING.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn written(target: &Path) {
        let mut file = NewFile::create(target).unwrap();
        file.write_all(b"ours").unwrap();
        file.finish().unwrap();
    }

    #[test]
    fn planted_links_are_replaced_and_never_followed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let target = folder.path().join("out.csv");
        symlink(&precious, &target).unwrap();
        // by the name that could be guessed once
        let guessed = format!(".out.csv.{}.tmp", std::process::id());
        symlink(&precious, folder.path().join(guessed)).unwrap();
        written(&target);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&target).unwrap(), "ours");
        assert!(!fs::symlink_metadata(&target).unwrap().is_symlink());
        // where a link leads to nothing
        let dangling = folder.path().join("dangling.csv");
        symlink(folder.path().join("nothing"), &dangling).unwrap();
        written(&dangling);
        assert!(!folder.path().join("nothing").exists());
    }

    #[test]
    fn nothing_is_left_of_a_file_that_was_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.csv");
        let names = || -> Vec<String> {
            let entries = fs::read_dir(folder.path()).unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        };
        let first = NewFile::create(&target).unwrap();
        let second = NewFile::create(&target).unwrap();
        let [one, other] = &names()[..] else { panic!() };
        assert_ne!(one, other);
        drop((first, second));
        assert!(names().is_empty());
    }
}
