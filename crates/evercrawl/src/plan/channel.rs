//! `--channel`: how much bandwidth a plan needs, by the bound on the overflow of a channel and as
//! measured with random offsets.

use crate::terminal::{self, grouped, short};
use freshness::channel::{headroom, measured_excesses, overflow_probability};
use ground::Bytes;
use ground::quantity::DAY;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// The windows in which requests are counted, in seconds.
const WINDOWS: [(&str, f64); 4] = [
    ("1 s", 1.0),
    ("1 min", 60.0),
    ("1 h", 3600.0),
    ("1 day", DAY),
];
/// Random numbers that a window may cost: less than a second.
const MOST_OFFSETS: usize = 100_000_000;
/// As many draws as tell one in a thousand well, and as few as tell anything.
const DRAWS: (usize, usize) = (100, 10_000);
const SEED: u64 = 1;

/// What the channel must take.
#[derive(Serialize)]
pub struct Channel {
    /// Probability that a window holds more than the channel takes.
    pub overflow: f64,
    pub page_bytes: f64,
    /// Pages that are visited at all.
    pub visited_pages: usize,
    /// Draws of random offsets behind what is measured.
    pub draws: usize,
    pub windows: Vec<Window>,
}

/// Requests in any window of this length.
#[derive(Serialize)]
pub struct Window {
    #[serde(rename = "window")]
    pub length: &'static str,
    pub expected_requests: f64,
    /// Above the expectation, so that overflow is as improbable as wished, by the bound.
    pub headroom_bound: f64,
    /// The same as measured; the largest seen where draws are too few to tell.
    pub headroom_measured: f64,
    /// How often the bound's headroom was exceeded in the draws.
    pub overflow_measured: f64,
    /// What the bound says of the headroom measured.
    pub overflow_bound_of_measured: f64,
    pub megabits_per_second_bound: f64,
    pub megabits_per_second_measured: f64,
}

impl Channel {
    /// Of visits a day to each page.
    pub fn new(visits_per_day: &[f64], overflow: f64, Bytes(page_bytes): Bytes) -> Self {
        let visited: Vec<f64> = (visits_per_day.iter())
            .map(|visits| visits / DAY)
            .filter(|&visits| visits > 0.0)
            .collect();
        let pages = visited.len();
        let draws = (MOST_OFFSETS / pages.max(1)).clamp(DRAWS.0, DRAWS.1);
        let windows = WINDOWS.map(|(length, seconds)| {
            let expected: f64 = visited.iter().map(|visits| visits * seconds).sum();
            let bound = headroom(pages, overflow);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
            let excesses = measured_excesses(&visited, seconds, draws, || rng.random());
            // at most this many draws may lie above
            let above = (overflow * draws as f64) as usize;
            let measured = excesses[draws - 1 - above.min(draws - 1)].max(0.0);
            let exceeded = excesses.iter().filter(|&&excess| excess >= bound).count();
            let megabits = |headroom: f64| (expected + headroom) * page_bytes * 8.0 / 1e6 / seconds;
            Window {
                length,
                expected_requests: expected,
                headroom_bound: bound,
                headroom_measured: measured,
                overflow_measured: exceeded as f64 / draws as f64,
                overflow_bound_of_measured: overflow_probability(pages, measured),
                megabits_per_second_bound: megabits(bound),
                megabits_per_second_measured: megabits(measured),
            }
        });
        Self {
            overflow,
            page_bytes,
            visited_pages: pages,
            draws,
            windows: windows.into(),
        }
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let columns = [
            ("window", true),
            ("expected", false),
            ("headroom, bound", false),
            ("measured", false),
            ("Mbit/s, bound", false),
            ("measured", false),
        ];
        let rows: Vec<[String; 6]> = (self.windows.iter())
            .map(|window| {
                [
                    window.length.to_owned(),
                    short(window.expected_requests),
                    short(window.headroom_bound),
                    short(window.headroom_measured),
                    short(window.megabits_per_second_bound),
                    short(window.megabits_per_second_measured),
                ]
            })
            .collect();
        format!(
            "\nchannel for {} visited pages of {} bytes that overflows with probability {} at most; \
             measured in {} draws\n{}",
            grouped(self.visited_pages),
            short(self.page_bytes),
            self.overflow,
            grouped(self.draws),
            terminal::table(&columns, &rows)
        )
    }
}
