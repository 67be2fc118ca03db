//! Python with other people's libraries, which read what we write. Also used by the tests of the
//! binary.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Python with a library, installed beside if it is not there; none if it cannot be had.
/// `EVERCRAWL_PYTHON` names another interpreter than `python3`.
pub fn python(library: &str) -> Option<Command> {
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let _turn = turn(&beside);
    let directory = beside.join(library);
    if !has(library, &directory) {
        let _ = command(&directory)
            .args(["-m", "pip", "install", "-q", "--retries", "0"])
            .args(["--timeout", "10", "--upgrade", "--target"])
            .arg(&directory)
            .arg(library)
            .status();
    }
    if has(library, &directory) {
        return Some(command(&directory));
    }
    eprintln!("skipped: no Python with {library} (EVERCRAWL_PYTHON names one)");
    None
}

/// One process at a time may install.
fn turn(beside: &PathBuf) -> Option<File> {
    fs::create_dir_all(beside).ok()?;
    let file = File::create(beside.join("lock")).ok()?;
    file.lock().ok()?;
    Some(file)
}

fn command(directory: &Path) -> Command {
    let python = std::env::var("EVERCRAWL_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(python);
    command.env("PYTHONPATH", directory).stderr(Stdio::null());
    command
}

fn has(library: &str, directory: &Path) -> bool {
    let status = command(directory)
        .args(["-c", &format!("import {library}")])
        .status();
    status.is_ok_and(|status| status.success())
}
