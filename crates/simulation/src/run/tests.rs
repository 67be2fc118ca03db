use super::*;
use freshness::{
    PageId,
    measure::{evenly_spaced, mean_age, purely_random, score_changes},
    policy::{Change, Outcome},
};
use rand::RngExt;

/// Visits its pages in turn, evenly, or draws each, and writes down what it saw.
struct Simple {
    pages: u32,
    gap: f64,
    turn: u64,
    start: f64,
    random: Option<Xoshiro256PlusPlus>,
    visits: Vec<(u32, f64)>,
}

impl Simple {
    fn lane(pages: Range<usize>, rate: f64, start: f64, random: bool) -> Lane {
        Lane {
            policy: Box::new(Self {
                pages: pages.len() as u32,
                gap: 1.0 / rate,
                turn: 0,
                start,
                random: random.then(|| Xoshiro256PlusPlus::seed_from_u64(9)),
                visits: Vec::new(),
            }),
            pages,
        }
    }
}

impl Policy for Simple {
    fn next(&mut self, now: f64) -> Next {
        let due = self.start + (self.turn as f64 + 0.5) * self.gap;
        if now < due {
            return Next::Wait(due);
        }
        let page = match &mut self.random {
            Some(rng) => rng.random_range(0..self.pages),
            None => (self.turn % u64::from(self.pages)) as u32,
        };
        self.turn += 1;
        Next::Visit(PageId(page))
    }

    fn observe(&mut self, page: PageId, at: f64, outcome: Outcome<'_>) {
        assert!(!matches!(outcome, Outcome::Failed));
        self.visits.push((page.0, at));
    }

    fn change(&mut self, _: f64, _: Change) {}
}

fn poisson(pages: usize, rate: f64, days: f64) -> World {
    World {
        server: (0..pages as u32).collect(),
        delay: vec![0.0; pages],
        weight: None,
        changes: Changes::Poisson(vec![rate; pages]),
        from: 0.0,
        until: days,
    }
}

fn options() -> Options {
    Options {
        start: Start::Stale,
        observe: Some(Observe::Bit),
        seed: 1,
        early_stop: false,
        windows: WINDOWS,
        parallel: false,
    }
}

fn quietly(world: &World, lanes: Vec<Lane>, options: &Options) -> Account {
    let stop = AtomicBool::new(false);
    let control = Control {
        stop: &stop,
        progress: &|_| {},
    };
    run(world, lanes, options, &control)
}

#[test]
fn closed_forms_come_out() {
    let days = 2000.0;
    for rate in [0.2, 1.0, 4.0] {
        let world = poisson(50, rate, days);
        let even = quietly(
            &world,
            vec![Simple::lane(0..50, 50.0, 0.0, false)],
            &options(),
        );
        let edge = 3.0 / days;
        assert!((even.freshness - evenly_spaced(rate, 1.0)).abs() < edge);
        assert!((even.age - mean_age(rate, 1.0)).abs() < edge);
        assert!((even.visits as f64 - 50.0 * days).abs() < 2.0);
        let random = quietly(
            &world,
            vec![Simple::lane(0..50, 50.0, 0.0, true)],
            &options(),
        );
        assert!((random.freshness - purely_random(rate, 1.0)).abs() < 0.005 + edge);
    }
}

#[test]
fn replays_score_as_the_measure_does() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let (pages, from, until) = (7, 3.0, 103.0);
    let mut offsets = vec![0];
    let mut at: Vec<f64> = Vec::new();
    for page in 0..pages {
        let mut instants: Vec<f64> = (0..page * 20)
            .map(|_| rng.random_range(0.0..120.0))
            .collect();
        instants.sort_by(f64::total_cmp);
        at.extend(&instants);
        offsets.push(at.len());
    }
    let weight: Vec<f64> = (0..pages).map(|page| f64::from(page as u32)).collect();
    let world = World {
        server: vec![0; pages],
        delay: vec![0.0],
        weight: Some(weight.clone()),
        changes: Changes::Instants { offsets, at },
        from,
        until,
    };
    for start in [Start::Stale, Start::Fresh] {
        let options = Options { start, ..options() };
        let account = quietly(
            &world,
            vec![Simple::lane(0..pages, 3.3, from, false)],
            &options,
        );
        let (mut fresh, mut age) = (0.0, 0.0);
        let mut staleness = Vec::new();
        for (page, weight) in weight.iter().enumerate() {
            let visits: Vec<f64> = (0..1000)
                .map(|k| from + (f64::from(k) + 0.5) / 3.3)
                .take_while(|&at| at < until)
                .enumerate()
                .filter(|(turn, _)| turn % pages == page)
                .map(|(_, at)| at)
                .collect();
            let changes = world.instants(page);
            let never = !changes.iter().any(|&at| from < at && at <= until);
            let score = score_changes(
                changes,
                &visits,
                from,
                until,
                start == Start::Fresh || never,
            );
            fresh += weight * score.fresh;
            age += weight * score.age;
            staleness.push(1.0 - score.fresh / (until - from));
        }
        let total = weight.iter().sum::<f64>() * (until - from);
        assert!((account.freshness - fresh / total).abs() < 1e-9);
        assert!((account.age - age / total).abs() < 1e-9);
        assert!((account.p95_staleness - quantile(&mut staleness, 0.95)).abs() < 1e-9);
        let mean = account.series.iter().sum::<f64>() / account.series.len() as f64;
        assert!((mean - account.freshness).abs() < 1e-12);
    }
}

#[test]
fn lanes_add_up_and_threads_change_nothing() {
    let world = poisson(60, 1.5, 30.0);
    let lanes = || {
        (0..6)
            .map(|k| Simple::lane(k * 10..(k + 1) * 10, 8.0, 0.0, true))
            .collect()
    };
    let one = quietly(&world, lanes(), &options());
    let parallel = Options {
        parallel: true,
        ..options()
    };
    let two = quietly(&world, lanes(), &parallel);
    assert_eq!(one.freshness.to_bits(), two.freshness.to_bits());
    assert_eq!(
        (one.visits, one.age.to_bits()),
        (two.visits, two.age.to_bits())
    );
    assert_eq!(one.visits, 6 * 240);
}

#[test]
fn early_stops_agree_with_the_whole_run() {
    let world = poisson(100, 0.5, 3000.0);
    let lanes = || vec![Simple::lane(0..100, 20.0, 0.0, false)];
    let whole = quietly(&world, lanes(), &options());
    let early = Options {
        early_stop: true,
        ..options()
    };
    let early = quietly(&world, lanes(), &early);
    assert!(early.converged && !whole.converged);
    assert!(early.days < whole.days / 4.0, "{}", early.days);
    assert!((early.freshness - whole.freshness).abs() < TOLERANCE * whole.freshness);
    assert!((early.age / whole.age - 1.0).abs() < 1e-3);
}

#[test]
fn standing_still_before_every_page_had_its_turn_is_not_convergence() {
    // the first sixty visits go to pages that never change
    let mut world = poisson(100, 0.001, 3000.0);
    if let Changes::Poisson(rate) = &mut world.changes {
        rate[..60].fill(0.0);
    }
    let early = Options {
        early_stop: true,
        ..options()
    };
    let lanes = vec![Simple::lane(0..100, 0.05, 0.0, false)];
    let account = quietly(&world, lanes, &early);
    assert!(account.visits >= 100, "{}", account.visits);
    assert!(account.freshness > 0.65, "{}", account.freshness);
}

#[test]
fn impolite_visits_are_counted() {
    let mut world = poisson(4, 1.0, 10.0);
    world.server = vec![0, 0, 1, 1];
    world.delay = vec![0.5, 0.5];
    // pairs of visits to one server 0.25 apart
    let account = quietly(
        &world,
        vec![Simple::lane(0..4, 4.0, 0.0, false)],
        &options(),
    );
    assert_eq!((account.visits, account.impolite), (40, 20));
}

#[test]
fn a_stop_keeps_what_was_done() {
    let world = poisson(10, 1.0, 100.0);
    let stop = AtomicBool::new(false);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let control = Control {
        stop: &stop,
        progress: &|windows| {
            if done.fetch_add(windows, Ordering::Relaxed) == 49 {
                stop.store(true, Ordering::Relaxed);
            }
        },
    };
    let account = run(
        &world,
        vec![Simple::lane(0..10, 10.0, 0.0, false)],
        &options(),
        &control,
    );
    assert!(account.interrupted && !account.converged);
    assert_eq!(account.series.len(), 50);
    assert!((account.days - 25.0).abs() < 1e-9);
    assert!(account.freshness > 0.5 && account.p95_staleness.is_nan());
}
