//! Every command in the documents is one that the program takes, every configuration one that it reads.

use super::{Block, blocks};
use crate::Arguments;
use clap::Parser;
use robot::config::Config;

/// The commands of a block: whole lines of `sh`, lines behind a prompt elsewhere.
fn commands(block: &Block) -> Vec<String> {
    let lines = block.text.replace("\\\n> ", " ").replace("\\\n", " ");
    let commands = lines.lines().filter_map(|line| match &*block.language {
        "sh" => Some(line.trim()),
        "console" | "text" => line.strip_prefix("$ "),
        _ => None,
    });
    commands.map(str::to_owned).collect()
}

/// The words of each `evercrawl` in a line of shell: quotes, comments, pipes and redirections are known, no more.
fn calls(line: &str) -> Vec<Vec<String>> {
    let (mut calls, mut words) = (Vec::new(), Vec::<String>::new());
    let (mut word, mut quote) = (None::<String>, None);
    for letter in line.chars().chain([' ', ';']) {
        match (letter, quote) {
            (_, Some(mark)) if letter == mark => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => {
                words.extend(word.take());
                calls.push(std::mem::take(&mut words));
                break;
            }
            (' ', None) => words.extend(word.take()),
            ('|' | ';' | '&' | '(' | ')', None) => {
                words.extend(word.take());
                calls.push(std::mem::take(&mut words));
            }
            // what may be left out
            ('[' | ']', None) => {}
            _ => word.get_or_insert_default().push(letter),
        }
    }
    calls.retain_mut(|words| {
        let redirection = words
            .iter()
            .position(|word| word.trim_start_matches('2').starts_with(['>', '<']));
        words.truncate(redirection.unwrap_or(words.len()));
        // what a variable holds is not known here
        let is_known = !words.iter().any(|word| word.starts_with('$'));
        is_known && words.first().is_some_and(|word| word == "evercrawl")
    });
    calls
}

#[test]
fn lines_of_shell_are_taken_apart() {
    let line = "a=1 | evercrawl why 'x y' > f; evercrawl status # evercrawl no";
    assert_eq!(
        calls(line),
        [vec!["evercrawl", "why", "x y"], vec!["evercrawl", "status"]]
    );
}

#[test]
fn every_command_can_be_given() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for block in blocks() {
        for words in commands(&block).iter().flat_map(|line| calls(line)) {
            seen += 1;
            let error = Arguments::try_parse_from(&words).err();
            let is_asked = |error: &clap::Error| !error.use_stderr();
            if let Some(error) = error.filter(|error| !is_asked(error)) {
                wrong.push(format!("{}: {}\n{error}", block.place(), words.join(" ")));
            }
        }
    }
    assert!(
        seen > 50,
        "only {seen} commands found: are blocks still read?"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A block is a whole configuration or a part of one.
#[test]
fn every_configuration_can_be_read() {
    let mut wrong = Vec::new();
    let configurations = blocks()
        .into_iter()
        .filter(|block| block.language == "toml");
    for block in configurations {
        let part = format!("seeds = [\"https://example.org/\"]\n{}", block.text);
        let whole = if block.text.contains("seeds =") {
            &block.text
        } else {
            &part
        };
        if let Err(error) = Config::parse(whole) {
            wrong.push(format!("{}: {error}", block.place()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
