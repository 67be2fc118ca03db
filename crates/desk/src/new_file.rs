//! Output files that appear whole or not at all.

use crate::bad_input::BadInput;
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// What Ctrl-C must take away.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static ON_INTERRUPT: Once = Once::new();

/// The exit code shells give to a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// A file being written beside its target; replaces it on [`NewFile::finish`] and is removed when
/// dropped before. Devices and pipes are written directly.
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
        // a link stays a link; what it points to is replaced
        let target = target
            .canonicalize()
            .unwrap_or_else(|_| target.to_path_buf());
        let special = fs::metadata(&target).is_ok_and(|found| !found.is_file());
        let (file, temporary) = if special {
            (OpenOptions::new().write(true).open(&target)?, None)
        } else {
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            let name = format!(".{name}.{}.tmp", std::process::id());
            let temporary = directory(&target).join(name);
            remove_on_interrupt(&temporary);
            let file = File::create(&temporary).inspect_err(|_| forget(&temporary))?;
            (file, Some(temporary))
        };
        Ok(Self {
            writer: BufWriter::with_capacity(1 << 18, file),
            target,
            temporary,
        })
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

fn remove_on_interrupt(temporary: &Path) {
    ON_INTERRUPT.call_once(|| {
        // without a handler a file may be left behind, which is no reason to stop
        let _ = ctrlc::set_handler(|| {
            remove_pending();
            std::process::exit(INTERRUPTED);
        });
    });
    pending(|pending| pending.push(temporary.to_path_buf()));
}

fn forget(temporary: &Path) {
    pending(|pending| pending.retain(|other| other != temporary));
}

fn pending(change: impl FnOnce(&mut Vec<PathBuf>)) {
    change(&mut PENDING.lock().unwrap_or_else(PoisonError::into_inner));
}
