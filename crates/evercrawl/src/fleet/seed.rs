//! `evercrawl fleet seed`: where a fleet begins.

use super::office::{Office, Where};
use crate::bad_input::BadInput;
use crate::seeds::read_seeds;
use crate::terminal;
use anyhow::Result;
use frontier::scope::Seed;
use robot::config::Seed as Given;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;

/// Seeds in one paper.
const TOGETHER: usize = 2_000;

/// Add seeds to the fleet.
///
/// Each seed goes to the robot that owns its server, and what it reaches is in scope from then on.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// URLs to start from.
    urls: Vec<String>,
    /// A file with one URL per line, optionally followed by a reach; - for standard input.
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// A paper with some of the seeds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Chunk {
    pub seeds: Vec<Given>,
    /// A robot has them on its disk.
    pub given: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let seeds = read_seeds(&arguments.urls, &arguments.files)?;
    if seeds.is_empty() {
        return Err(BadInput("no seed: expected URLs, or --file FILE".into()).into());
    }
    let office = Office::open(&arguments.place)?;
    office.articles()?;
    let added = add(&office, &seeds)?;
    let known = seeds.len() - added;
    let more = match known {
        0 => String::new(),
        known => format!("; {} known before", terminal::count(known as u64, "seed")),
    };
    let added = terminal::count(added as u64, "seed");
    Ok(terminal::print(&format!("{added} added{more}\n"))?)
}

/// All papers with seeds, and their revisions.
pub fn all(office: &Office) -> Result<Vec<(String, u64, Chunk)>> {
    let papers = office.runtime.block_on(office.nats.papers("seeds."))?;
    let read = papers.into_iter().map(|paper| {
        let chunk = serde_json::from_slice(&paper.bytes)?;
        Ok((paper.name, paper.revision, chunk))
    });
    read.collect()
}

/// Writes down those that are new; says how many.
pub fn add(office: &Office, seeds: &[Seed]) -> Result<usize> {
    let before = all(office)?;
    let mut known: HashSet<String> = (before.iter())
        .flat_map(|(_, _, chunk)| chunk.seeds.iter().map(|seed| seed.url.clone()))
        .collect();
    let new: Vec<Given> = (seeds.iter())
        .filter(|seed| known.insert(seed.url.to_string()))
        .map(|seed| Given {
            url: seed.url.to_string(),
            reach: seed.reach,
        })
        .collect();
    for (number, seeds) in (before.len()..).zip(new.chunks(TOGETHER)) {
        let chunk = Chunk {
            seeds: seeds.to_vec(),
            given: false,
        };
        office.write(&format!("seeds.{number:06}"), 0, &chunk)?;
    }
    Ok(new.len())
}
