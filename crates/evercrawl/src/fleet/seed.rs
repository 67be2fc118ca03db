//! `evercrawl fleet seed`: where a fleet begins.

mod papers;

use super::office::{Office, Where};
use crate::bad_input::BadInput;
use crate::seeds::read_seeds;
use crate::terminal::{self, plain};
use anyhow::{Result, anyhow};
use bus::nats::papers::Room;
use frontier::scope::Seed;
use papers::PAPERS;
pub use papers::{Chunk, MARK, Papers, read};
use robot::barred::{Barred, barred_of};
use robot::config::{Config, Seed as Given};
use std::collections::HashSet;
use std::fmt::Write;
use std::path::PathBuf;

/// Most seeds in one paper, and most bytes of them.
const TOGETHER: usize = 2_000;
const BYTES: usize = 512 << 10;
/// What a message takes in a stream besides what it says.
const FRAME: u64 = 512;
/// Of the papers' room so much is not for seeds: groups, robots and marks change while a fleet works.
const KEPT_FREE: u64 = 8;
/// So many refused seeds are named.
const NAMED: usize = 5;

/// Add seeds to the fleet.
///
/// Each seed goes to the robot that owns its server, and what it reaches is in scope from then on. Seeds that no robot
/// would fetch, by the scope or the networks of the fleet's configuration, are refused.
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

pub fn run(arguments: &Arguments) -> Result<()> {
    let seeds = read_seeds(&arguments.urls, &arguments.files)?;
    if seeds.is_empty() {
        return Err(BadInput("no seed: expected URLs, or --file FILE".into()).into());
    }
    let office = Office::open(&arguments.place)?;
    let config = office.articles()?.config()?;
    let Added { new, known, barred } = add(&office, &config, &seeds)?;
    let more = match known {
        0 => String::new(),
        known => format!("; {} known before", terminal::count(known as u64, "seed")),
    };
    let added = terminal::count(new as u64, "seed");
    terminal::print(&format!("{added} added{more}\n"))?;
    if barred.is_empty() {
        return Ok(());
    }
    Err(BadInput(refusal(&barred)).into())
}

/// Which seeds are not taken, and why.
pub fn refusal(barred: &[Barred]) -> String {
    let count = terminal::count(barred.len() as u64, "seed");
    let mut text = format!("{count} refused: by the fleet's configuration no robot would fetch");
    text += if barred.len() == 1 { " it" } else { " them" };
    for Barred { seed, why } in barred.iter().take(NAMED) {
        let _ = write!(text, "\n  {}: {}", plain(seed.as_str()), plain(why));
    }
    if barred.len() > NAMED {
        let _ = write!(text, "\n  and {} more", barred.len() - NAMED);
    }
    text
}

/// What became of seeds.
pub struct Added {
    pub new: usize,
    pub known: usize,
    pub barred: Vec<Barred>,
}

/// Writes down those that are new and that robots may fetch: all of them, or none if there is no room.
pub fn add(office: &Office, config: &Config, seeds: &[Seed]) -> Result<Added> {
    let before = Papers::read(office)?;
    let known: HashSet<&str> = before.seeds().map(|seed| seed.url.as_str()).collect();
    let mut seen = HashSet::new();
    let mut new: Vec<Seed> = (seeds.iter())
        .filter(|seed| !known.contains(seed.url.as_str()) && seen.insert(&seed.url))
        .cloned()
        .collect();
    let known = seeds.len() - new.len();
    let mut all = robot::seeds::read_all(&before.seeds().cloned().collect::<Vec<_>>())?;
    all.extend(new.iter().cloned());
    let barred = barred_of(config, &all, &new).map_err(crate::crawl::explain)?;
    let refused: HashSet<&url::Url> = barred.iter().map(|barred| &barred.seed).collect();
    new.retain(|seed| !refused.contains(&seed.url));
    let chunks = cut(&new);
    let room = office.runtime.block_on(office.nats.room_for_papers())?;
    check_room(&chunks, room)?;
    let mut kept = 0;
    for (number, chunk) in (before.next()..).zip(&chunks) {
        let written = office.write(&format!("{PAPERS}{number:06}"), 0, chunk);
        written.map_err(|error| {
            let left = new.len() - kept;
            anyhow!("{error}. {kept} seeds were added, {left} were not; seeds that are known are not added twice")
        })?;
        kept += chunk.seeds.len();
    }
    Ok(Added {
        new: kept,
        known,
        barred,
    })
}

/// In papers of which each can be kept.
pub fn cut(seeds: &[Seed]) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut bytes = 0;
    for seed in seeds {
        let seed = Given {
            url: seed.url.to_string(),
            reach: seed.reach,
        };
        let size = size(&seed);
        match chunks.last_mut() {
            Some(last) if last.seeds.len() < TOGETHER && bytes + size <= BYTES => {
                bytes += size;
                last.seeds.push(seed);
            }
            _ => {
                bytes = size;
                chunks.push(Chunk {
                    seeds: vec![seed],
                    ..Chunk::default()
                });
            }
        }
    }
    chunks
}

/// Bytes of a seed in a paper.
fn size(seed: &Given) -> usize {
    // a comma follows
    serde_json::to_vec(seed).map_or(0, |bytes| bytes.len() + 1)
}

/// Refuses seeds for which there is no room.
pub fn check_room(chunks: &[Chunk], room: Room) -> Result<()> {
    let bytes = |chunk: &Chunk| FRAME + chunk.seeds.iter().map(|s| size(s) as u64).sum::<u64>();
    let wanted: u64 = chunks.iter().map(bytes).sum();
    let free = (room.most - room.most / KEPT_FREE).saturating_sub(room.taken);
    if wanted <= free {
        return Ok(());
    }
    let seeds: usize = chunks.iter().map(|chunk| chunk.seeds.len()).sum();
    let fit = (seeds as u64).saturating_mul(free) / wanted;
    Err(BadInput(format!(
        "there is no room for {}, which take {wanted} bytes: the fleet has {free} bytes left for seeds, enough for \
         about {fit} of them. None was added. Give fewer, or create a fleet with more --storage, under another name: \
         seeds get a 36th part of it",
        terminal::count(seeds as u64, "seed"),
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn seeds(count: usize, length: usize) -> Vec<Seed> {
        let url = |n: usize| format!("http://a.org/{n:0length$}").parse::<url::Url>();
        (0..count).map(|n| url(n).unwrap().into()).collect()
    }

    #[test]
    fn seeds_are_cut_by_number_and_by_bytes() {
        let sizes = |seeds: &[Seed]| -> Vec<usize> {
            let chunks = cut(seeds);
            let bytes = chunks
                .iter()
                .map(|chunk| serde_json::to_vec(chunk).unwrap());
            assert!(bytes.into_iter().all(|bytes| bytes.len() < BYTES + 64));
            chunks.iter().map(|chunk| chunk.seeds.len()).collect()
        };
        assert_eq!(sizes(&seeds(4_500, 6)), [2_000, 2_000, 500]);
        let long = sizes(&seeds(2_000, 8_000));
        assert!(long.len() > 30, "{long:?}");
        assert_eq!(long.iter().sum::<usize>(), 2_000);
        assert!(cut(&[]).is_empty());
    }

    #[test]
    fn without_room_nothing_is_promised() {
        let chunks = cut(&seeds(1_000, 100));
        let room = |taken| Room {
            most: 8 << 20,
            taken,
        };
        assert!(check_room(&chunks, room(0)).is_ok());
        let error = check_room(&chunks, room(7_300_000)).unwrap_err();
        assert!(error.is::<BadInput>());
        assert!(error.to_string().contains("None was added"), "{error}");
        assert!(error.to_string().contains("--storage"), "{error}");
    }

    #[test]
    fn what_was_given_is_marked_beside_and_by_robots_of_version_0_2_in_the_paper() {
        // as 0.2.0 wrote it
        let old = r#"{"seeds":["http://a.org/"],"given":true}"#;
        let old: Chunk = serde_json::from_str(old).unwrap();
        let new = || Arc::new(cut(&seeds(3, 1)).remove(0));
        let mut papers = Papers {
            chunks: vec![
                ("seeds.000000".into(), Arc::new(old)),
                ("seeds.000001".into(), new()),
                ("seeds.000002".into(), new()),
            ],
            ..Papers::default()
        };
        assert_eq!((papers.count(), papers.count_waiting()), (7, 6));
        assert_eq!(papers.next(), 3);
        papers.through = Some("seeds.000001".into());
        assert_eq!(papers.count_waiting(), 3);
        // and 0.2.0 reads the mark as a paper without seeds
        let mark = serde_json::to_value(Chunk::mark("seeds.000001")).unwrap();
        assert_eq!(mark["seeds"].as_array().map(Vec::len), Some(0));
        assert_eq!(mark["given"], true);
    }
}
