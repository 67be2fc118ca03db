//! `evercrawl completions` and `evercrawl man`: what a shell and `man` want to know of the arguments.

use crate::bad_input::BadInput;
use crate::terminal;
use anyhow::{Context, Result};
use clap_complete::Shell;
use std::path::PathBuf;

/// Print a completion script for your shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  evercrawl completions bash > ~/.local/share/bash-completion/completions/evercrawl
  evercrawl completions zsh > ~/.zfunc/_evercrawl
  evercrawl completions fish > ~/.config/fish/completions/evercrawl.fish")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

/// Write manual pages, one per command.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  evercrawl man ~/.local/share/man/man1 && man evercrawl-crawl")]
pub struct Man {
    /// Where to write them; created if it does not exist.
    directory: PathBuf,
}

pub fn completions(arguments: &Completions, mut command: clap::Command) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "evercrawl", &mut text);
    Ok(terminal::print(&String::from_utf8(text)?)?)
}

pub fn man(arguments: &Man, command: clap::Command) -> Result<()> {
    let directory = &arguments.directory;
    if directory.exists() && !directory.is_dir() {
        return Err(BadInput::file(directory, "not a directory").into());
    }
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .with_context(|| directory.display().to_string())
}
