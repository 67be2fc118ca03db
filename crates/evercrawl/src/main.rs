//! The `evercrawl` command: arguments, subcommands, exit codes.
//!
//! Exit code 0 is success, 1 a failure (a full disk, a file that cannot be written), 2 bad input
//! (arguments or files that ask for what cannot be), 130 an interruption that left a partial result.

mod archive;
#[cfg(test)]
mod book;
mod changes;
mod config;
mod crawl;
mod dashboard_view;
mod data;
mod demo;
mod diff;
mod difference_view;
mod export;
mod fingerprint;
mod fleet;
mod get;
mod hosts;
mod import;
mod manual;
mod moment;
mod netmap;
mod page_view;
mod pages;
mod partition;
mod plan;
mod scope;
mod seeds;
mod status;
mod visit;
mod visits;
mod watch;
mod why;

use clap::{CommandFactory, Parser, Subcommand};
use desk::bad_input::BadInput;
use desk::{bad_input, html, interrupt, new_file, table, terminal};
use interrupt::Interrupted;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// Pages are read, packed and freed on different threads; this one does not mind.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MORE: &str = "\
Each command has --help, most with examples. To begin:
  evercrawl crawl https://docs.example.org/     crawl a site and keep the copies fresh
  evercrawl watch https://shop.example/item/1   watch a page for changes
  evercrawl demo                                see it at work on this machine, without a network";

/// A web crawler that keeps its copy of the Web up to date.
#[derive(Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true, after_help = MORE)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Archive(archive::Arguments),
    Changes(changes::Arguments),
    Completions(manual::Completions),
    Config(config::Arguments),
    Crawl(crawl::Arguments),
    Dashboard(dashboard_view::Arguments),
    Demo(demo::Arguments),
    Diff(diff::Arguments),
    Export(export::Arguments),
    Fit(lab::fit::Arguments),
    Fleet(fleet::Arguments),
    Get(get::Arguments),
    Hosts(hosts::Arguments),
    Import(import::Arguments),
    Man(manual::Man),
    Netmap(netmap::Arguments),
    Pages(pages::Arguments),
    Partition(partition::Arguments),
    Plan(plan::Arguments),
    Reproduce(lab::reproduce::Arguments),
    Scope(scope::Arguments),
    Seeds(seeds::Arguments),
    Simulate(lab::simulate::Arguments),
    Status(status::Arguments),
    Visit(visit::Arguments),
    Watch(watch::Arguments),
    Why(why::Arguments),
}

fn main() -> ExitCode {
    // clap itself ends with 2 on arguments it cannot read
    let outcome = match Arguments::parse().command {
        Command::Archive(arguments) => archive::run(&arguments),
        Command::Changes(arguments) => changes::run(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments, Arguments::command()),
        Command::Config(arguments) => config::run(&arguments),
        Command::Crawl(arguments) => crawl::run(&arguments),
        Command::Dashboard(arguments) => dashboard_view::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Fit(arguments) => lab::fit::run(&arguments, visits::read),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::Get(arguments) => get::run(&arguments),
        Command::Hosts(arguments) => hosts::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Man(arguments) => manual::man(&arguments, Arguments::command()),
        Command::Pages(arguments) => pages::run(&arguments),
        Command::Partition(arguments) => partition::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Netmap(arguments) => netmap::run(&arguments),
        Command::Reproduce(arguments) => lab::reproduce::run(&arguments),
        Command::Seeds(arguments) => seeds::run(&arguments),
        Command::Scope(arguments) => scope::run(&arguments),
        Command::Simulate(arguments) => lab::simulate::run(&arguments, partition::crawled),
        Command::Status(arguments) => status::run(&arguments),
        Command::Visit(arguments) => visit::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Why(arguments) => why::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // whoever read our output has seen enough
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() => ExitCode::from(interrupt::EXIT_CODE),
        Err(error) => {
            terminal::complain("error", &told(&error));
            ExitCode::from(if error.is::<BadInput>() { 2 } else { 1 })
        }
    }
}

/// An error and its causes; many say their cause themselves.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text += if text.is_empty() { "" } else { ": " };
            text += &cause;
        }
    }
    text
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_closed = |kind: ErrorKind| kind == ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        if let Some(error) = cause.downcast_ref::<csv::Error>() {
            return matches!(error.kind(), csv::ErrorKind::Io(error) if is_closed(error.kind()));
        }
        if let Some(error) = cause.downcast_ref::<serde_json::Error>() {
            return error.io_error_kind().is_some_and(is_closed);
        }
        let error = cause.downcast_ref::<io::Error>();
        error.is_some_and(|error| is_closed(error.kind()))
    })
}
