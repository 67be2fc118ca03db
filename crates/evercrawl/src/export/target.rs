//! Where an export goes: a file that appears whole, or standard output.

use crate::bad_input::BadInput;
use crate::data;
use crate::new_file::{NewFile, check_target};
use anyhow::Result;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

pub enum Target {
    File(NewFile),
    Output(BufWriter<StdoutLock<'static>>),
}

impl Target {
    /// Opens it, unless it would overwrite what is read, or write what is no text on a terminal.
    pub fn open(path: Option<&Path>, binary: bool, inputs: &[PathBuf]) -> Result<Self> {
        if let Some(path) = path {
            let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
            check_target(path, &inputs)?;
            return Ok(Self::File(NewFile::create(path)?));
        }
        if binary && io::stdout().is_terminal() {
            let what = "this format is not for a terminal: name a file with --out";
            return Err(BadInput(what.into()).into());
        }
        Ok(Self::Output(data::output()))
    }

    pub fn finish(self) -> Result<()> {
        match self {
            Self::File(file) => file.finish(),
            Self::Output(mut out) => Ok(out.flush()?),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Output(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Output(out) => out.flush(),
        }
    }
}
