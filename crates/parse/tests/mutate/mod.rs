//! Documents that are nearly right: known ones, a few changes later. Also used by the tests of
//! other crates that read what strangers wrote.
//!
//! `EVERCRAWL_FUZZ_SECONDS` is the time for each target (2 by default); `EVERCRAWL_FUZZ_SEED` starts
//! from another place.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::{Duration, Instant};

/// Inputs stay below this, so that oracles keep up and no link is too long.
const LARGEST: usize = 4 * 1024;
/// Far above what any input of that size takes; a quadratic parser would pass it.
const SLOWEST: Duration = Duration::from_secs(2);

struct Mutator {
    rng: Xoshiro256PlusPlus,
    corpus: Vec<Vec<u8>>,
    /// The first so many of the corpus, which stay.
    seeds: usize,
    /// Pieces that mean something to the parser.
    tokens: &'static [&'static str],
}

impl Mutator {
    fn new(seeds: &[&str], tokens: &'static [&'static str], name: &str) -> Self {
        let seed = std::env::var("EVERCRAWL_FUZZ_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed: u64 = seed.unwrap_or(1);
        let target: u64 = name.bytes().map(u64::from).sum();
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(1_000) + target),
            corpus: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
            seeds: seeds.len(),
            tokens,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end.max(1))
    }

    /// A document of the corpus after a few changes; now and then it joins the corpus.
    fn next(&mut self) -> Vec<u8> {
        let chosen = self.below(self.corpus.len());
        let mut input = self.corpus[chosen].clone();
        for _ in 0..=self.below(6) {
            self.mutate(&mut input);
        }
        input.truncate(LARGEST);
        if self.below(20) == 0 {
            if self.corpus.len() < 200 {
                self.corpus.push(input.clone());
            } else {
                let replaced = self.seeds + self.below(self.corpus.len() - self.seeds);
                self.corpus[replaced].clone_from(&input);
            }
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = at + self.below((input.len() - at).min(64) + 1);
        match self.below(7) {
            0 | 1 => {
                let token = self.tokens[self.below(self.tokens.len())];
                input.splice(at..at, token.bytes());
            }
            2 => {
                let token = self.tokens[self.below(self.tokens.len())];
                input.splice(at..end, token.bytes());
            }
            3 => drop(input.drain(at..end)),
            4 => {
                let other = self.below(self.corpus.len());
                let from = self.below(self.corpus[other].len() + 1);
                let length = self.below((self.corpus[other].len() - from).min(400) + 1);
                let piece = self.corpus[other][from..from + length].to_vec();
                input.splice(at..at, piece);
            }
            5 => {
                let piece = input[at..end].repeat(1 + self.below(20));
                input.splice(at..at, piece);
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.rng.random_range(0..8);
                }
            }
        }
    }
}

/// Runs one target for its time.
pub fn fuzz(
    name: &str,
    seeds: &[&str],
    tokens: &'static [&'static str],
    mut run: impl FnMut(&[u8]),
) {
    let seconds = std::env::var("EVERCRAWL_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok());
    let budget = Duration::from_secs_f64(seconds.unwrap_or(2.0));
    let start = Instant::now();
    let mut mutator = Mutator::new(seeds, tokens, name);
    let mut inputs = 0;
    while start.elapsed() < budget || inputs < 100 {
        let input = mutator.next();
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&input)));
        if let Err(panic) = outcome {
            eprintln!("{name} failed on {:?}", String::from_utf8_lossy(&input));
            std::panic::resume_unwind(panic);
        }
        let took = begun.elapsed();
        assert!(
            took < SLOWEST,
            "{name} took {took:?} on {:?}",
            String::from_utf8_lossy(&input)
        );
        inputs += 1;
    }
    eprintln!(
        "{name}: {inputs} inputs in {:.1} s",
        start.elapsed().as_secs_f64()
    );
}
