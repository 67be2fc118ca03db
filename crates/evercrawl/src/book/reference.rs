//! The reference of the book is made from the program. To write it anew:
//! `EVERCRAWL_WRITE_REFERENCE=1 cargo test -p evercrawl reference`.

use super::{read, root};
use crate::Arguments;
use clap::{Command, CommandFactory};

fn commands() -> String {
    let mut page = String::from(
        "# Commands\n\nWhat `--help` says of every command. Made from the program; a test compares them.\n",
    );
    let mut top = Arguments::command().term_width(100).max_term_width(100);
    top.build();
    describe(&mut top, "evercrawl", &mut page);
    page
}

fn describe(command: &mut Command, name: &str, page: &mut String) {
    let help = command.render_long_help().to_string();
    let help: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    for part in ["\n## ", name, "\n\n```text\n", &help.join("\n"), "\n```\n"] {
        page.push_str(part);
    }
    for inner in command.get_subcommands_mut() {
        if inner.get_name() != "help" && !inner.is_hide_set() {
            let name = format!("{name} {}", inner.get_name());
            describe(inner, &name, page);
        }
    }
}

fn settings() -> String {
    let head = "# Settings\n\nEvery key with its default and its meaning, as `evercrawl config sample` prints it. Made from the\nprogram; a test compares them.\n";
    format!("{head}\n```toml\n{}```\n", robot::config::SAMPLE)
}

fn compare(name: &str, made: &str) {
    let file = root().join("docs/reference").join(name);
    if std::env::var_os("EVERCRAWL_WRITE_REFERENCE").is_some() {
        std::fs::write(&file, made).expect("written");
    }
    let is_the_same = read(&file) == made;
    assert!(
        is_the_same,
        "docs/reference/{name} is old: see crates/evercrawl/src/book/reference.rs"
    );
}

#[test]
fn the_reference_is_that_of_the_program() {
    compare("commands.md", &commands());
    compare("settings.md", &settings());
}
