use super::super::Observation;
use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const DAY: f64 = 86_400.0;
/// The first guess of a crawl that was told nothing: once a week.
const WEEKLY: f64 = 1.0 / (7.0 * DAY);

/// What was found of a page, and what is believed of it.
type Page = (Findings, Belief);

fn begin(population: &Population, host: usize) -> Page {
    (Findings::default(), population.begin(host))
}

/// A visit to a page that is visited about as often as all others.
fn observe(
    population: &mut Population,
    host: usize,
    (findings, belief): &mut Page,
    interval: f64,
    observation: Observation,
) {
    findings.learn(interval, interval, observation);
    let changed = observation.changed(interval);
    population.observe(host, belief, findings, interval, changed);
}

fn stated(population: &Population, host: usize, (findings, belief): &Page) -> Rate {
    population.rate(host, belief, findings)
}

fn bit(changed: bool) -> Observation {
    if changed {
        Observation::Changed
    } else {
        Observation::Unchanged
    }
}

/// 43,200 changes a day, or any rate above some three a second: every visit finds one.
#[test]
fn a_page_that_changed_at_every_visit_may_change_at_any_rate_above() {
    let mut population = Population::new(WEEKLY);
    let mut page = begin(&population, 0);
    for _ in 0..25 {
        observe(&mut population, 0, &mut page, 1.0, Observation::Changed);
    }
    let rate = stated(&population, 0, &page);
    assert!(rate.low > 0.3 && rate.low < 10.0, "{rate:?}");
    assert!(rate.high > 50.0, "the data set no upper bound: {rate:?}");
    let chance = population.chance_unchanged(&page.1, 1.0);
    assert!(chance < 0.1, "{chance}");
}

#[test]
fn a_page_that_never_changed_has_no_lower_bound() {
    for guess in [WEEKLY, WEEKLY * 1e5, WEEKLY * 1e-5] {
        let mut population = Population::new(guess);
        let mut page = begin(&population, 0);
        for _ in 0..20 {
            observe(&mut population, 0, &mut page, DAY, Observation::Unchanged);
        }
        let rate = stated(&population, 0, &page);
        assert!(rate.low < 0.01 / DAY && rate.high < 0.5 / DAY, "{rate:?}");
        assert!(population.chance_unchanged(&page.1, DAY) > 0.9);
    }
}

/// Pages visited at intervals of about their own: after five visits intervals hold, what is
/// stated is true, and no guess is remembered.
#[test]
fn guesses_wrong_by_any_factor_are_forgotten_after_a_few_visits() {
    for rate in [1.0, 1e-3, 1e-8] {
        let stated = [1e-5, 1.0, 1e5].map(|factor| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut population = Population::new(rate * factor);
            let mut pages = vec![begin(&population, 0); 1_000];
            for _ in 0..5 {
                for page in &mut pages {
                    let interval = rng.random_range(0.2..2.0) / rate;
                    let changed = rng.random::<f64>() > (-rate * interval).exp();
                    observe(&mut population, 0, page, interval, bit(changed));
                }
            }
            let within = |page: &&Page| {
                let interval = stated(&population, 0, page);
                interval.low <= rate && rate <= interval.high
            };
            assert!(pages.iter().filter(within).count() >= 850);
            let chance =
                |(page, age): (&Page, f64)| population.chance_unchanged(&page.1, age / rate);
            pages.iter().zip(ages()).map(chance).sum::<f64>() / 1_000.0
        });
        let truth = ages().map(|age| (-age).exp()).sum::<f64>() / 1_000.0;
        for other in stated {
            assert!((other - stated[1]).abs() < 0.015, "{rate}: {stated:?}");
            assert!((other - truth).abs() < 0.03, "{rate}: {stated:?}, {truth}");
        }
    }
}

/// As old as copies are that are fetched anew after about 1.1.
fn ages() -> impl Iterator<Item = f64> {
    (0..1_000).map(|k| 1.1 * (f64::from(k) * 0.618).fract())
}

/// The posterior on the grid is that of the closed form where there is one: counts have a gamma
/// likelihood, which a flat prior over logarithms leaves as it is.
#[test]
fn counted_changes_have_the_gamma_distribution_they_should() {
    for (changes, time) in [(3.0, 1.0), (40.0, 1e-4), (900.0, 1e7)] {
        let findings = Findings::counted(changes, time);
        let flat = Prior([1.0; KNOTS]);
        let posterior = Posterior::new(&findings, &flat);
        let pace = posterior.pace();
        assert!((pace.alpha / changes - 1.0).abs() < 0.02, "{pace:?}");
        assert!((pace.beta / time - 1.0).abs() < 0.02, "{pace:?}");
        let expected = (1.0 + 0.5 / changes).powf(-changes);
        let found = posterior.chance_unchanged(0.5 * time / changes);
        assert!((found - expected).abs() < 2e-3, "{found} {expected}");
    }
}

#[test]
fn a_host_lends_its_pages_what_it_knows() {
    let mut population = Population::new(WEEKLY);
    for host in 0..2 {
        for _ in 0..30 {
            let mut page = begin(&population, host);
            for _ in 0..10 {
                // one changes daily, the other not
                observe(&mut population, host, &mut page, 3.0 * DAY, bit(host == 0));
            }
        }
    }
    let chance = |host| population.chance_unchanged(&population.begin(host), DAY);
    assert!(
        chance(0) < 0.6 && chance(1) > 0.9,
        "{} {}",
        chance(0),
        chance(1)
    );
}

fn observations() -> impl Strategy<Value = Vec<(usize, f64, Observation)>> {
    let observation = prop_oneof![
        Just(Observation::Unchanged),
        Just(Observation::Changed),
        (-12.0..10.0f64).prop_map(|log| Observation::LastModified {
            age: 10f64.powf(log)
        }),
        Just(Observation::LastModified { age: f64::NAN }),
        (0u32..100_000).prop_map(|changes| Observation::History { changes }),
    ];
    let interval = (-12.0..12.0f64).prop_map(|log| 10f64.powf(log));
    prop::collection::vec((0usize..12, interval, observation), 1..80)
}

proptest! {
    #[test]
    fn nothing_that_visits_tell_breaks_it(visits in observations(), log in -20.0..20.0f64) {
        let mut population = Population::new(10f64.powf(log));
        let mut pages = vec![begin(&population, 0); 12];
        for (page, interval, observation) in visits {
            observe(&mut population, page % 3, &mut pages[page], interval, observation);
            let rate = stated(&population, page % 3, &pages[page]);
            prop_assert!(rate.low > 0.0 && rate.high.is_finite(), "{rate:?}");
            prop_assert!(rate.low <= rate.median && rate.median <= rate.high, "{rate:?}");
            let mut last = 1.0;
            for age in [0.0, 1e-9, 1.0, 1e5, 1e12, f64::INFINITY] {
                let chance = population.chance_unchanged(&pages[page].1, age);
                prop_assert!((0.0..=last + 1e-12).contains(&chance), "{chance} at {age}");
                last = chance;
            }
            prop_assert_eq!(read(&bytes(&pages[page])), Some(pages[page]));
        }
    }

    /// What pages are counted for can be found again from them alone, and nothing of a page is left
    /// when it is taken out.
    #[test]
    fn sums_are_those_of_the_pages_that_are_there(visits in observations()) {
        let mut population = Population::new(WEEKLY);
        let empty = population.all;
        let mut pages = vec![begin(&population, 0); 12];
        for (page, interval, observation) in visits {
            observe(&mut population, page % 3, &mut pages[page], interval, observation);
        }
        let mut again = Population::new(WEEKLY);
        again.relearn(&population.learnt());
        for (number, page) in pages.iter().enumerate() {
            again.restore(number % 3, &page.1);
        }
        again.hosts.resize(3, Spread::EMPTY);
        population.hosts.resize(3, Spread::EMPTY);
        prop_assert_eq!(&again, &population);
        for (number, page) in pages.iter_mut().enumerate() {
            population.remove(number % 3, &mut page.1);
        }
        prop_assert_eq!(population.all, empty);
    }
}

fn bytes((findings, belief): &Page) -> Vec<u8> {
    let mut bytes = Vec::new();
    findings.write(&mut Writer(&mut bytes));
    belief.write(&mut Writer(&mut bytes));
    bytes
}

fn read(bytes: &[u8]) -> Option<Page> {
    let mut from = Reader(bytes);
    let page = (Findings::read(&mut from)?, Belief::read(&mut from)?);
    from.is_over().then_some(page)
}

#[test]
fn a_page_is_thirty_six_bytes_and_what_is_none_is_refused() {
    assert_eq!(size_of::<Page>(), 36);
    let mut population = Population::new(WEEKLY);
    let mut page = Page::default();
    observe(&mut population, 0, &mut page, 1.0, Observation::Changed);
    let whole = bytes(&page);
    assert_eq!(read(&whole), Some(page));
    assert!(read(&whole[1..]).is_none());
    let with = |place: usize, number: f32| {
        let mut other = whole.clone();
        other[place..place + 4].copy_from_slice(&number.to_le_bytes());
        read(&other)
    };
    assert!(with(0, f32::NAN).is_none());
    assert!(with(28, 0.0).is_none(), "no pace");
}

/// The version before wrote the correction alone; how much pages change together is then learnt anew.
#[test]
fn what_the_version_before_wrote_is_read_and_what_is_damaged_is_not() {
    let mut before = Population::new(WEEKLY);
    let mut pages = vec![begin(&before, 0); 20];
    for visit in 0..400 {
        let page = &mut pages[visit % 20];
        observe(&mut before, 0, page, DAY, bit(visit / 100 % 2 == 0));
    }
    let learnt = before.learnt();
    let mut correction = Vec::new();
    before.correction.write(&mut Writer(&mut correction));
    assert_eq!(learnt[..correction.len()], correction);
    let relearnt = |bytes: &[u8]| {
        let mut again = Population::new(WEEKLY);
        again.relearn(bytes);
        (again.correction == before.correction, again.common())
    };
    let first = Population::new(WEEKLY).common();
    assert!((before.common() - first).abs() > 0.01);
    assert_eq!(relearnt(&learnt), (true, before.common()));
    assert_eq!(relearnt(&correction), (true, first));
    assert_eq!(relearnt(&learnt[..learnt.len() - 1]), (false, first));
}
