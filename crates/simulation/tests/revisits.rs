//! Worlds that change while they are crawled: pages come and go, and budgets and delays are not what
//! they were. What a policy is worth then, through the same door as a crawler.

use freshness::allocate::{Pages, Problem, bounds};
use freshness::policy::Next;
use freshness::revisits::Revisits;
use ground::{HostId, PageId, Seconds};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::world::{Changes, Copies, Observe, Start, World};
use std::ops::Range;

const PAGES: u32 = 300;
const SERVERS: u32 = 3;

/// What is so from a day on.
struct Phase {
    days: Range<f64>,
    pages: Range<u32>,
    budget: f64,
    delay: f64,
}

const fn phase(days: Range<f64>, pages: Range<u32>, budget: f64, delay: f64) -> Phase {
    Phase {
        days,
        pages,
        budget,
        delay,
    }
}

fn world() -> World {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut rate = || 10f64.powf(rng.random_range(-1.5..0.7));
    World {
        server: (0..PAGES).map(|page| page % SERVERS).collect(),
        delay: vec![0.0; SERVERS as usize],
        weight: None,
        changes: Changes::Poisson((0..PAGES).map(|_| rate()).collect()),
        from: 0.0,
        until: 400.0,
    }
}

/// The most that any policy reaches in a phase that knows all rates.
fn bound(world: &World, phase: &Phase) -> f64 {
    let Changes::Poisson(rates) = &world.changes else {
        unreachable!("this world is Poisson")
    };
    let pages = phase.pages.start as usize..phase.pages.end as usize;
    let problem = Problem {
        pages: Pages {
            rate: &rates[pages.clone()],
            weight: None,
        },
        server: &world.server[pages],
        caps: &[1.0 / phase.delay; SERVERS as usize],
        budget: phase.budget.min(f64::from(SERVERS) / phase.delay),
    };
    bounds(&problem).expect("a sound problem").1
}

/// The mean freshness of the second half of each phase, as a part of the bound.
fn reached(name: &str, phases: &[Phase]) -> Vec<f64> {
    let world = world();
    let mut copies = Copies::new(&world, 0..PAGES as usize, Start::Stale);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut revisits = Revisits::new(name, 0.0, 0.3, 1, None).expect("a policy for crawls");
    for _ in 0..SERVERS {
        revisits.add_host(0.0, Seconds(phases[0].delay));
    }
    let mut now = 0.0;
    let each = |phase: &Phase| {
        now = phase.days.start;
        revisits.set_budget(now, phase.budget);
        for server in 0..SERVERS {
            revisits.set_delay(now, HostId(server), Seconds(phase.delay));
        }
        for page in (0..PAGES).filter(|page| !phase.pages.contains(page)) {
            revisits.drop_page(PageId(page), now);
        }
        for page in phase.pages.clone() {
            if !revisits.keeps(PageId(page)) {
                copies.refresh(page as usize, now);
                revisits.keep(now, PageId(page), HostId(page % SERVERS), 1.0, now, None);
            }
        }
        let half = f64::midpoint(phase.days.start, phase.days.end);
        let (mut fresh, mut visits) = (0.0, 0);
        while now < phase.days.end {
            match revisits.next(now) {
                Next::Visit(PageId(page)) => {
                    assert!(
                        phase.pages.contains(&page),
                        "{name} visits {page}, which went"
                    );
                    visits += 1;
                    let copy = page as usize;
                    if now > half {
                        fresh += copies.score(copy, half, now).fresh;
                    }
                    let outcome = copies.visit(copy, now, Observe::Bit, &mut rng);
                    revisits.visited(PageId(page), now, outcome);
                }
                Next::Wait(at) => now = at.max(now.next_up()).min(phase.days.end),
                Next::Idle => panic!("{name} has nothing to do"),
            }
        }
        for page in phase.pages.clone() {
            fresh += copies.score(page as usize, half, phase.days.end).fresh;
        }
        let length = phase.days.end - phase.days.start;
        let most = phase.budget * length + 20.0;
        assert!(
            f64::from(visits) <= most,
            "{name}: {visits} visits of {most}"
        );
        let pages = f64::from(phase.pages.end - phase.pages.start);
        fresh / (pages * length / 2.0) / bound(&world, phase)
    };
    phases.iter().map(each).collect()
}

#[test]
fn freshness_is_near_the_bound_again_after_every_change() {
    let phases = [
        phase(0.0..100.0, 0..150, 100.0, 1e-3),
        // twice the pages, on the numbers of nobody
        phase(100.0..200.0, 0..300, 100.0, 1e-3),
        // the first third goes; less budget
        phase(200.0..300.0, 100..300, 50.0, 1e-3),
        // they come back under other numbers; servers are slow, at most 40 visits a day each
        phase(300.0..400.0, 0..250, 200.0, 0.025),
    ];
    for (name, least) in [("default", 0.95), ("index", 0.9)] {
        let reached = reached(name, &phases);
        println!("{name}: {reached:.3?}");
        let near = |&share: &f64| share > least && share < 1.02;
        assert!(reached.iter().all(near), "{name}: {reached:?}");
    }
}
