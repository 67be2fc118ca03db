//! The articles of a trace as worlds.

use flate2::read::GzDecoder;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::world::{Changes, World};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

const YEAR: f64 = 365.0;
const LEAST_CHANGES: usize = 300;
/// Visits per article and day that the published politeness, 15 s, allows 10,000 articles.
const MOST_VISITS: f64 = 86_400.0 / 15.0 / 10_000.0;

/// The changes, in days, of the articles that changed enough in the last year of a trace, or in one
/// so many years before. The year is from 0 to [`YEAR`].
pub fn articles(trace: &str, years_before: f64) -> Vec<Vec<f64>> {
    let file = std::fs::File::open(trace).expect("the trace can be opened");
    let mut articles: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines().skip(1) {
        let line = line.expect("the trace can be read");
        let (article, seconds) = line.split_once(',').expect("two columns");
        let seconds: f64 = seconds.parse().expect("seconds");
        let changes = articles.entry(article.to_owned()).or_default();
        changes.push(seconds / 86_400.0);
    }
    let last = articles.values().flatten().copied().fold(0.0, f64::max);
    for changes in articles.values_mut() {
        for at in &mut *changes {
            *at += (1.0 + years_before) * YEAR - last;
        }
        changes.sort_unstable_by(f64::total_cmp);
    }
    let mut articles: Vec<_> = articles.into_values().collect();
    let in_year = |&&at: &&f64| 0.0 < at && at <= YEAR;
    articles.retain(|changes| changes.iter().filter(in_year).count() >= LEAST_CHANGES);
    articles
}

/// The same gaps in a random order: a renewal process.
pub fn shuffled(articles: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let shuffle = |changes: &Vec<f64>| {
        let year: Vec<f64> = changes.iter().copied().filter(|&at| at > 0.0).collect();
        let mut gaps: Vec<f64> = year.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.push(year[0] + YEAR - year[year.len() - 1]);
        gaps.shuffle(&mut rng);
        // the year starts anywhere in the circle of gaps
        let turn = rng.random::<f64>() * YEAR;
        let mut at = -turn;
        let mut around = vec![at];
        for gap in gaps.iter().chain(&gaps) {
            at += gap;
            around.push(at);
        }
        around.retain(|&at| at <= YEAR);
        around
    };
    articles.iter().map(shuffle).collect()
}

/// One server with as many visits an article as published, times `visits`.
pub fn world(articles: &[Vec<f64>], visits: f64) -> World {
    let mut offsets = vec![0];
    for changes in articles {
        offsets.push(offsets[offsets.len() - 1] + changes.len());
    }
    World {
        server: vec![0; articles.len()],
        delay: vec![1.0 / (visits * MOST_VISITS * articles.len() as f64)],
        weight: None,
        changes: Changes::Instants {
            offsets,
            at: articles.concat(),
        },
        from: 0.0,
        until: YEAR,
    }
}
