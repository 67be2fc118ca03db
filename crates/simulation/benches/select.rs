//! How long policies take to select a page, and how much memory they keep: on one server of 10,000
//! pages, and on the published repository of 14.5 million pages on 20,000 servers. Then WOLF over
//! 10,000 histories.
//!
//! `cargo bench -p simulation --bench select`; prints CSV rows, a summary on stderr. Names of
//! policies as arguments restrict it to them.

use freshness::allocate::{Pages, Problem, wolf};
use freshness::gap::Gap;
use freshness::policy::{Knowledge, Next, Outcome, Policy, Setup, build};
use peak_alloc::PeakAlloc;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::generate::{Parameters, Repository, generate};
use std::hint::black_box;
use std::time::Instant;

/// Counts what is allocated; a selection allocates nothing, so it is not slowed down by this.
#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// In days.
const DELAY: f64 = 15.0 / 86_400.0;
const BUDGET_SHARES: [f64; 2] = [0.1, 0.9];
/// Selections timed together: one alone takes as long as reading the clock.
const BATCH: usize = 100;
const BATCHES: usize = 10_000;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    println!("pages,servers,policy,budget_share,median_ns,mean_ns,bytes_per_page,build_seconds");
    let planned = ["merge-opt-polite", "random-opt-polite"];
    let of = |pages, servers| Parameters {
        pages,
        servers,
        ..Parameters::default()
    };
    let (small, medium, large) = (of(10_000, 1), of(1_000_000, 2_000), Parameters::default());
    let due = ["delayed-opt-polite", "index"];
    let repository = generate(&small);
    for name in planned.iter().chain(&due).chain(&["greedy"]) {
        if chosen(name) {
            measure(name, &repository);
        }
    }
    let repository = generate(&medium);
    for name in ["default", "q-learning"] {
        if chosen(name) {
            measure(name, &repository);
        }
    }
    let repository = generate(&large);
    for name in planned.iter().chain(&due) {
        if chosen(name) {
            measure(name, &repository);
        }
    }
    drop(repository);
    if chosen("wolf") {
        measure_wolf();
    }
}

fn measure(name: &str, repository: &Repository) {
    let pages = repository.server.len();
    let delay = vec![DELAY; repository.servers];
    for share in BUDGET_SHARES {
        let before = ALLOCATED.current_usage();
        let begin = Instant::now();
        let mut run = Run::new(name, repository, &delay, share);
        let build_seconds = begin.elapsed().as_secs_f64();
        // a round of all pages, so that everything is where it will be from then on
        for _ in 0..pages.max(10_000) {
            run.select();
        }
        let bytes = (ALLOCATED.current_usage() - before) as f64 / pages as f64;
        let mut times: Vec<f64> = (0..BATCHES).map(|_| run.time_batch()).collect();
        let mean = times.iter().sum::<f64>() / BATCHES as f64;
        times.sort_by(f64::total_cmp);
        let median = times[BATCHES / 2];
        println!(
            "{pages},{},{name},{share},{median:.1},{mean:.1},{bytes:.2},{build_seconds:.3}",
            repository.servers
        );
        eprintln!(
            "{name:20} {pages:9} pages at {:2.0} %: {median:7.1} ns, {bytes:5.2} bytes a page",
            share * 100.0
        );
    }
}

/// A policy under a virtual clock.
struct Run {
    policy: Box<dyn Policy>,
    now: f64,
    visits: usize,
}

impl Run {
    fn new(name: &str, repository: &Repository, delay: &[f64], share: f64) -> Self {
        let setup = Setup {
            server: &repository.server,
            weight: repository.weight.as_deref(),
            delay,
            budget: share * repository.servers as f64 / DELAY,
            start: 0.0,
            seed: 1,
            knowledge: Knowledge::Known {
                rate: &repository.rate,
                gaps: None,
            },
        };
        Self {
            policy: build(name, &setup).expect("the policy is known"),
            now: 0.0,
            visits: 0,
        }
    }

    /// One visit, with the waiting before it and the outcome after it.
    fn select(&mut self) {
        loop {
            match self.policy.next(self.now) {
                Next::Visit(page) => {
                    self.visits += 1;
                    let outcome = if self.visits.is_multiple_of(3) {
                        Outcome::Changed
                    } else {
                        Outcome::Unchanged
                    };
                    self.policy.observe(page, self.now, outcome);
                    return;
                }
                Next::Wait(at) => self.now = at,
                Next::Idle => panic!("there is always a page to visit"),
            }
        }
    }

    /// Nanoseconds of one selection, as the mean over a batch.
    fn time_batch(&mut self) -> f64 {
        let begin = Instant::now();
        for _ in 0..BATCH {
            self.select();
        }
        begin.elapsed().as_nanos() as f64 / BATCH as f64
    }
}

/// Histories of 300 to 3,000 bursty changes over two years, on one server without a cap.
fn measure_wolf() {
    const HISTORIES: usize = 10_000;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let bursty = LogNormal::new(0.0, 1.5).expect("a finite deviation");
    let histories: Vec<Vec<f64>> = (0..HISTORIES)
        .map(|_| {
            let changes = rng.random_range(300..=3_000);
            let gaps: Vec<f64> = (0..changes).map(|_| bursty.sample(&mut rng)).collect();
            let scale = 730.0 / gaps.iter().sum::<f64>();
            gaps.iter().map(|gap| gap * scale).collect()
        })
        .collect();
    let rate: Vec<f64> = histories
        .iter()
        .map(|gaps| gaps.len() as f64 / 730.0)
        .collect();
    let server = vec![0; HISTORIES];
    println!("histories,budget_per_change,repetition,seconds");
    for visits_per_change in [0.1, 1.0] {
        let problem = Problem {
            pages: Pages {
                rate: &rate,
                weight: None,
            },
            server: &server,
            caps: &[f64::INFINITY],
            budget: visits_per_change * rate.iter().sum::<f64>(),
        };
        let mut times: Vec<f64> = (0..5)
            .map(|repetition| {
                let begin = Instant::now();
                let gaps: Vec<Option<Gap>> = wolf::gaps_or_rates(&histories, &rate);
                let plan = wolf::wolf(&problem, &gaps).expect("the problem is sound");
                black_box(plan.frequency.len());
                let seconds = begin.elapsed().as_secs_f64();
                println!("{HISTORIES},{visits_per_change},{repetition},{seconds:.4}");
                seconds
            })
            .collect();
        times.sort_by(f64::total_cmp);
        eprintln!(
            "WOLF for {HISTORIES} histories, {visits_per_change} visits per change: {:.3} s",
            times[2]
        );
    }
}
