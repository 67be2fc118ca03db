//! Whether what is stated is true: the estimator beside a policy at work, against the world's truth.
//!
//! A policy visits pages; what is stated comes from what it keeps of its visits, as in a live robot. At even
//! instants the stated freshness is held against the true one, and after so many visits to a page the
//! stated interval against the page's rate, or, where pages have no rate, against what the next
//! visits find.

pub mod live;
mod whole;

pub use whole::{Judged, Whole};

use crate::world::{Changes, Copies, Observe, Start, World};
use freshness::estimate::{Belief, Findings, Population, Posterior, observation};
use freshness::policy::{Next, Outcome, Policy};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Pages are put to the test when they have been visited so often.
pub const TESTED_AFTER: [u32; 4] = [5, 10, 20, 40];
/// So many visits after a test are foretold.
const FORETOLD: usize = 10;
/// The stated freshness is looked at so often.
const LOOKS: usize = 400;
/// Pages by how often they were visited: from these numbers on.
pub const CLASSES: [u32; 6] = [1, 2, 3, 5, 10, 30];

/// What was stated and what was true, over pages and instants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stated {
    /// Copies looked at.
    pub looks: f64,
    /// The sum of what was stated of them.
    pub stated: f64,
    /// The sum of the truth.
    pub truth: f64,
}

impl Stated {
    fn add(&mut self, stated: f64, truth: f64) {
        self.looks += 1.0;
        self.stated += stated;
        self.truth += truth;
    }

    /// By how much the stated freshness was too high, as a share of one.
    pub fn excess(&self) -> f64 {
        (self.stated - self.truth) / self.looks
    }
}

/// How often a 95 % interval held.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Intervals put to the test.
    pub tested: f64,
    /// Those that held.
    pub held: f64,
    /// Those whose truth was above.
    pub above: f64,
}

impl Held {
    fn add(&mut self, below: bool, above: bool) {
        self.tested += 1.0;
        self.held += f64::from(u8::from(!below && !above));
        self.above += f64::from(u8::from(above));
    }

    /// The share that held.
    pub fn share(&self) -> f64 {
        self.held / self.tested
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// Freshness by how often pages were visited, as in [`CLASSES`].
    pub by_visits: [Stated; CLASSES.len()],
    /// Over all copies of which each had at least five visits, at each look.
    pub known: Vec<Stated>,
    /// Over all copies, at each look.
    pub whole: Vec<Whole>,
    /// Intervals of rates, by [`TESTED_AFTER`]; in worlds whose pages have a rate.
    pub rates: [Held; TESTED_AFTER.len()],
    /// Intervals of the number of changes found by the next visits, by [`TESTED_AFTER`].
    pub foretold: [Held; TESTED_AFTER.len()],
    /// Visits made.
    pub visits: u64,
}

impl Calibration {
    /// Over all copies with at least five visits and all looks.
    pub fn all_known(&self) -> Stated {
        self.known
            .iter()
            .fold(Stated::default(), |sum, look| Stated {
                looks: sum.looks + look.looks,
                stated: sum.stated + look.stated,
                truth: sum.truth + look.truth,
            })
    }
}

struct Page {
    findings: Findings,
    belief: Belief,
    last: f64,
    visits: u32,
    tests: Vec<Test>,
}

/// Visits that were foretold, and what they found so far.
struct Test {
    after: usize,
    posterior: Posterior,
    intervals: Vec<f64>,
    changed: usize,
}

impl Test {
    /// The chance of each number of changed visits, then whether it was too low or too high.
    fn judge(&self) -> (bool, bool) {
        let mut chance = [0.0; FORETOLD + 1];
        for (rate, weight) in self.posterior.rates() {
            let mut of_rate = [0.0; FORETOLD + 1];
            of_rate[0] = 1.0;
            for interval in &self.intervals {
                let changed = -(-rate * interval).exp_m1();
                for k in (0..=FORETOLD).rev() {
                    let one_more = if k > 0 { of_rate[k - 1] * changed } else { 0.0 };
                    of_rate[k] = of_rate[k] * (1.0 - changed) + one_more;
                }
            }
            for (sum, chance) in chance.iter_mut().zip(of_rate) {
                *sum += weight * chance;
            }
        }
        let up_to = |k: usize| chance[..=k].iter().sum::<f64>();
        let below = up_to(self.changed) < 0.025;
        let above = self.changed > 0 && 1.0 - up_to(self.changed - 1) < 0.025;
        (below, above)
    }
}

/// Runs a policy that keeps findings, in charge of all pages, over the world's test period; what is stated
/// of them starts with a guess of `guess` changes a day.
pub fn calibrate(
    world: &World,
    mut policy: Box<dyn Policy>,
    observe: Observe,
    guess: f64,
    seed: u64,
) -> Calibration {
    let mut copies = Copies::new(world, 0..world.pages(), Start::Stale);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut population = Population::new(guess);
    let new_page = |_| Page {
        findings: Findings::default(),
        belief: Belief::default(),
        last: f64::NAN,
        visits: 0,
        tests: Vec::new(),
    };
    let mut pages: Vec<Page> = (0..world.pages()).map(new_page).collect();
    let mut found = Calibration::default();
    // of its own, so that visits are the same whatever is looked at
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(!seed);
    let mut now = world.from;
    let mut looks = 0;
    loop {
        let look_at = world.from + world.days() * (looks + 1) as f64 / LOOKS as f64;
        let next = if now < look_at {
            policy.next(now)
        } else {
            Next::Idle
        };
        match next {
            Next::Visit(page) => {
                let index = page.index();
                let outcome = copies.visit(index, now, observe, &mut rng);
                let host = world.server[index] as usize;
                let tell = Visit {
                    world,
                    host,
                    index,
                    now,
                };
                policy.observe(page, now, outcome);
                let findings = policy.findings(page).unwrap_or_default();
                let page = &mut pages[index];
                page.findings = findings;
                tell.visit(page, &mut population, outcome, &mut found);
                found.visits += 1;
            }
            Next::Wait(at) if at < look_at => now = at.max(now.next_up()),
            _ => {
                now = now.max(look_at);
                look(world, &copies, &pages, &population, now, &mut found);
                let all = whole::whole(world, &copies, &pages, &population, now, &mut draws);
                found.whole.extend(all);
                looks += 1;
                if looks == LOOKS {
                    return found;
                }
            }
        }
    }
}

/// A visit to a page of a world.
struct Visit<'w> {
    world: &'w World,
    host: usize,
    index: usize,
    now: f64,
}

impl Visit<'_> {
    fn visit(
        &self,
        page: &mut Page,
        population: &mut Population,
        outcome: Outcome<'_>,
        found: &mut Calibration,
    ) {
        let previous = (!page.last.is_nan()).then_some(page.last);
        let changed = outcome.changed_since(previous);
        if let Some(changed) = changed {
            let interval = self.now - page.last;
            page.tests.retain_mut(|test| {
                test.intervals.push(interval);
                test.changed += usize::from(changed);
                if test.intervals.len() < FORETOLD {
                    return true;
                }
                let (below, above) = test.judge();
                found.foretold[test.after].add(below, above);
                false
            });
        }
        if page.visits == 0 {
            page.belief = population.begin(self.host);
        }
        page.last = self.now;
        page.visits += 1;
        let told = observation(previous, self.now, outcome);
        if let Some((interval, observation)) = told {
            let changed = observation.changed(interval);
            population.observe(
                self.host,
                &mut page.belief,
                &page.findings,
                interval,
                changed,
            );
        }
        let Some(after) = TESTED_AFTER.iter().position(|&n| n == page.visits) else {
            return;
        };
        let posterior = population.posterior(self.host, &page.belief, &page.findings);
        if let Changes::Poisson(rates) = &self.world.changes {
            let (stated, rate) = (posterior.rate(), rates[self.index]);
            found.rates[after].add(rate < stated.low && rate > 0.0, rate > stated.high);
        }
        page.tests.push(Test {
            after,
            posterior,
            intervals: Vec::new(),
            changed: 0,
        });
    }
}

fn look(
    world: &World,
    copies: &Copies,
    pages: &[Page],
    population: &Population,
    now: f64,
    found: &mut Calibration,
) {
    let mut known = Stated::default();
    for (index, page) in pages.iter().enumerate() {
        let Some(class) = CLASSES.iter().rposition(|&from| page.visits >= from) else {
            continue;
        };
        let stated = population.chance_unchanged(&page.belief, now - page.last);
        let truth = truth(world, copies, index, page.last, now);
        found.by_visits[class].add(stated, truth);
        if page.visits >= 5 {
            known.add(stated, truth);
        }
    }
    found.known.push(known);
}

/// The chance that the copy of a page, made at `last`, is fresh.
fn truth(world: &World, copies: &Copies, index: usize, last: f64, now: f64) -> f64 {
    let instant = (now.abs() * 1e-9).max(1e-12);
    let truth = match &world.changes {
        Changes::Poisson(rates) => (-rates[index] * (now - last)).exp(),
        Changes::Instants { .. } => copies.score(index, now, now + instant).fresh / instant,
    };
    truth.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use freshness::policy::{self, Knowledge, Setup};

    /// Rates over five orders of magnitude, first guesses wrong by as much either way.
    #[test]
    fn what_is_stated_is_true_after_five_visits_whatever_the_guess() {
        let rate: Vec<f64> = (0..200)
            .map(|page| 10f64.powf(f64::from(page) / 40.0))
            .collect();
        let mean = rate.iter().sum::<f64>() / 200.0;
        let world = World {
            server: (0..200).map(|page| page % 5).collect(),
            delay: vec![0.0; 5],
            weight: None,
            changes: Changes::Poisson(rate),
            from: 0.0,
            until: 300.0 / mean,
        };
        for guess in [1.0 / 7.0, mean * 1e5, mean * 1e-5] {
            let setup = Setup {
                server: &world.server,
                weight: None,
                delay: &world.delay,
                budget: 0.25 * world.changes_in_test() / world.days(),
                start: world.from,
                seed: 1,
                knowledge: Knowledge::Online { guess },
            };
            let policy = policy::build("default", &setup).unwrap();
            let found = calibrate(&world, policy, Observe::Bit, guess, 1);
            let excess = found.all_known().excess();
            assert!(excess.abs() < 0.03, "guess {guess}: {excess}");
            for held in &found.rates {
                assert!(held.share() >= 0.85, "guess {guess}: {held:?}");
            }
        }
    }
}
