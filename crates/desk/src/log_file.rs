//! A log file that does not grow without end: when it is full it becomes `….1`, the one before that `….2`,
//! and so on; the last is removed.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Lines go to its end, each whole; older ones to files beside it.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    most_bytes: u64,
    kept: u32,
    /// Lines that could not be written.
    lost: u64,
}

impl LogFile {
    /// Opens a file, or begins one for its owner's eyes only; so many older ones are kept.
    pub fn open(path: &Path, most_bytes: u64, kept: u32) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: open(path)?,
            most_bytes,
            kept,
            lost: 0,
        })
    }

    /// Makes room for a line, if there is something to make room from.
    fn turn(&mut self, line: u64) -> io::Result<()> {
        // asked each time: others may have cut or moved it
        let length = self.file.metadata()?.len();
        if length == 0 || length + line <= self.most_bytes {
            return Ok(());
        }
        // from the oldest on: a crash on the way leaves a gap, and loses nothing
        remove(&self.numbered(self.kept))?;
        for number in (0..self.kept).rev() {
            rename(&self.numbered(number), &self.numbered(number + 1))?;
        }
        self.file = open(&self.path)?;
        Ok(())
    }

    /// The file itself, and older ones from 1.
    fn numbered(&self, number: u32) -> PathBuf {
        if number == 0 {
            return self.path.clone();
        }
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        name.into()
    }

    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        self.turn(line.len() as u64)?;
        if self.lost > 0 {
            let gap = if line.starts_with(b"{") {
                format!("{{\"lines_not_written\":{}}}\n", self.lost)
            } else {
                let lines = crate::terminal::count(self.lost, "line");
                format!("{lines} could not be written here\n")
            };
            self.file.write_all(gap.as_bytes())?;
            self.lost = 0;
        }
        self.file.write_all(line)
    }
}

impl Write for LogFile {
    /// Takes a line; one that cannot be written is counted, and the file says so once it can.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.add(line).is_err() {
            self.lost += 1;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens for appending; links are not followed, whoever put them there.
fn open(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
        .open(path);
    let file = opened.map_err(|error| match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => refused("is a link, and links are not followed"),
        _ => error,
    })?;
    let is_ours = |found: &Metadata| found.is_file() && found.nlink() == 1;
    if !is_ours(&file.metadata()?) {
        return Err(refused("is not a regular file"));
    }
    Ok(file)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

fn remove(path: &Path) -> io::Result<()> {
    unless_absent(fs::remove_file(path))
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    unless_absent(fs::rename(from, to))
}

fn unless_absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crawl.log");
        let older = |number: u32| folder.path().join(format!("crawl.log.{number}"));
        let mut log = LogFile::open(&path, 20, 2).unwrap();
        for number in 0..9 {
            writeln!(log, "line {number:03}").unwrap();
            if number == 4 {
                // opened again, as after a crash
                log = LogFile::open(&path, 20, 2).unwrap();
            }
        }
        assert_eq!(read(&older(2)), "line 004\nline 005\n");
        assert_eq!(read(&older(1)), "line 006\nline 007\n");
        assert_eq!(read(&path), "line 008\n");
        assert!(!older(3).exists());
        for file in [path.clone(), older(1)] {
            assert_eq!(
                fs::metadata(file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        // a crash between two steps leaves a gap, which the next time finds
        fs::rename(older(2), older(3)).unwrap();
        for number in 9..12 {
            writeln!(log, "line {number:03}").unwrap();
        }
        assert_eq!(read(&older(2)), "line 006\nline 007\n");
        // a line that is too long has a file of its own, whole
        let long = format!("{}\n", "x".repeat(50));
        log.write_all(long.as_bytes()).unwrap();
        writeln!(log, "after").unwrap();
        assert_eq!(read(&older(1)), long);
        // none are kept
        let mut log = LogFile::open(&path, 20, 0).unwrap();
        for _ in 0..9 {
            writeln!(log, "another line").unwrap();
        }
        assert_eq!(read(&path), "another line\n");
    }

    #[test]
    fn planted_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let path = folder.path().join("crawl.log");
        symlink(&precious, &path).unwrap();
        let error = LogFile::open(&path, 20, 1).unwrap_err();
        assert!(error.to_string().contains("is a link"), "{error}");
        fs::remove_file(&path).unwrap();
        fs::hard_link(&precious, &path).unwrap();
        LogFile::open(&path, 20, 1).unwrap_err();
        fs::remove_file(&path).unwrap();
        // where the next file will be put aside, and where the new one will be
        let mut log = LogFile::open(&path, 20, 1).unwrap();
        symlink(&precious, folder.path().join("crawl.log.1")).unwrap();
        for _ in 0..3 {
            writeln!(log, "0123456789").unwrap();
        }
        assert_eq!(read(&precious), "precious");
        assert_eq!(read(&path), "0123456789\n");
    }

    #[test]
    fn lines_that_could_not_be_written_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crawl.log");
        let mut log = LogFile::open(&path, 20, 1).unwrap();
        writeln!(log, "0123456789").unwrap();
        // nothing can be put aside there
        let aside = folder.path().join("crawl.log.1");
        fs::create_dir(&aside).unwrap();
        log.write_all(b"lost number 1\n").unwrap();
        log.write_all(b"lost number 2\n").unwrap();
        fs::remove_dir(&aside).unwrap();
        log.write_all(b"back again\n").unwrap();
        assert_eq!(
            read(&path),
            "2 lines could not be written here\nback again\n"
        );
        assert_eq!(read(&aside), "0123456789\n");
    }
}
