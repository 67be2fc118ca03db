//! What people meet: what they ask for, what they are told, what they see.

#[path = "../crawling/mod.rs"]
mod crawling;
mod messages;
mod once;
mod running;
mod scope;
mod terminal;
mod trouble;

use std::process::{Command, Output};

/// Runs `evercrawl` with these arguments.
fn evercrawl(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command.args(arguments);
    command
}

/// Standard output of a command that succeeds.
fn told(arguments: &[&str]) -> String {
    let output = evercrawl(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a command that ends with this code.
fn refused(code: i32, arguments: &[&str]) -> String {
    let output = evercrawl(arguments);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {output:?}"
    );
    String::from_utf8(output.stderr).unwrap()
}
