use super::super::drawn::{Spacing, draw};
use super::super::{Evidence, forgetting};
use super::*;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;

const GLOBAL: Prior = Prior {
    alpha: 1.0,
    beta: 10.0,
};

/// A host of `pages` whose rates follow `truth`, each with evidence of `visits`; dated ones or
/// one-bit ones. Returns the pages' rates and evidence too.
fn host(
    truth: Prior,
    pages: u32,
    visits: u32,
    dated: bool,
    seed: u64,
) -> (HostPrior, Vec<(f64, Evidence)>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rates = Gamma::new(truth.alpha, 1.0 / truth.beta).unwrap();
    let mut host = HostPrior::new(GLOBAL);
    let known = (0..pages)
        .map(|_| {
            let rate = rates.sample(&mut rng).max(1e-6);
            let mut evidence = Evidence::default();
            host.add(evidence);
            for visit in draw(&mut rng, Spacing::Uniform, rate, visits) {
                let told = if dated { visit.dated() } else { visit.bit() };
                let prior = host.prior();
                let after = forgetting(f64::INFINITY, evidence, prior, visit.interval, told);
                host.replace(evidence, after);
                evidence = after;
            }
            (rate, evidence)
        })
        .collect();
    (host, known)
}

#[test]
fn a_small_host_is_taken_for_the_others_and_a_large_one_for_itself() {
    let fast = Prior {
        alpha: 40.0,
        beta: 10.0,
    };
    let mean_beside = |pages: u32| {
        let (_, own) = host(GLOBAL, pages, 60, true, 1);
        let (_, others) = host(fast, 200, 60, true, 2);
        let (mut here, mut all) = (MeanRate::default(), MeanRate::default());
        for &(_, evidence) in &own {
            here.add(evidence);
            all.add(evidence);
        }
        for &(_, evidence) in &others {
            all.add(evidence);
        }
        here.among(&all, 1.0)
    };
    let (none, few, many) = (mean_beside(0), mean_beside(4), mean_beside(400));
    assert!((none - fast.mean()).abs() < 0.3, "{none}");
    assert!(GLOBAL.mean() < few && few < none, "{few}");
    assert!((many - GLOBAL.mean()).abs() < 0.1, "{many}");
}

#[test]
fn a_host_without_pages_believes_the_global_prior() {
    let prior = HostPrior::new(GLOBAL).prior();
    assert!((prior.alpha / GLOBAL.alpha - 1.0).abs() < 1e-12);
    assert!((prior.beta / GLOBAL.beta - 1.0).abs() < 1e-12);
}

#[test]
fn many_pages_teach_mean_and_spread() {
    for (alpha, beta) in [(2.0, 2.0), (0.7, 1.4), (4.0, 40.0)] {
        for dated in [false, true] {
            let truth = Prior { alpha, beta };
            let (host, _) = host(truth, 2_000, 60, dated, 7);
            let found = host.prior();
            assert!(
                (found.mean() / truth.mean() - 1.0).abs() < 0.2,
                "{truth:?}, dated {dated}: {found:?}"
            );
            assert!(
                (0.5..2.0).contains(&(found.alpha / alpha)),
                "{truth:?}, dated {dated}: {found:?}"
            );
        }
    }
}

#[test]
fn few_pages_stay_near_the_global_prior_and_many_leave_it() {
    let truth = Prior {
        alpha: 2.0,
        beta: 2.0,
    };
    let distance = |pages| {
        let (host, _) = host(truth, pages, 30, false, 3);
        (host.prior().mean() / GLOBAL.mean()).ln()
    };
    let (one, many) = (distance(1), distance(300));
    assert!(one.abs() < 0.6 * many, "{one} {many}");
}

/// On pages with three visits each, the host's prior gives a smaller error than the global one,
/// and shrinks: the estimates spread less than the evidence alone would.
#[test]
fn the_host_prior_helps_pages_with_little_data() {
    let truth = Prior {
        alpha: 3.0,
        beta: 6.0,
    };
    let (host, pages) = host(truth, 1_000, 3, false, 9);
    let mut squares = [0.0; 3];
    for (rate, evidence) in pages {
        let alone = evidence.events() / evidence.exposure();
        let found = [evidence.rate(host.prior()), evidence.rate(GLOBAL), alone];
        for (square, found) in squares.iter_mut().zip(found) {
            *square += (found - rate) * (found - rate);
        }
    }
    let [own, global, alone] = squares.map(f64::sqrt);
    assert!(
        own < 0.8 * global && own < 0.5 * alone,
        "{own} {global} {alone}"
    );
}

proptest! {
    #[test]
    fn pages_go_as_they_came(
        pages in prop::collection::vec((0.0..100.0f64, 0.0..1e4f64), 1..40),
        gone in prop::collection::vec((0.0..100.0f64, 0.0..1e4f64), 0..40),
    ) {
        let evidence = |list: &[(f64, f64)]| -> Vec<Evidence> {
            list.iter().map(|&(events, exposure)| Evidence::new(events, exposure)).collect()
        };
        let (pages, gone) = (evidence(&pages), evidence(&gone));
        let mut never = HostPrior::new(GLOBAL);
        for &page in &pages {
            never.add(page);
        }
        let mut host = HostPrior::new(GLOBAL);
        for &page in &gone {
            host.add(page);
        }
        for &page in &pages {
            host.add(page);
        }
        for &page in &gone {
            host.remove(page);
        }
        let (left, kept) = (host.prior(), never.prior());
        prop_assert!((left.mean() / kept.mean() - 1.0).abs() < 1e-6);
        prop_assert!((left.alpha / kept.alpha - 1.0).abs() < 1e-3, "{left:?} {kept:?}");
        for &page in &pages {
            host.remove(page);
        }
        prop_assert_eq!(host, HostPrior::new(GLOBAL));
    }

    #[test]
    fn the_prior_is_always_proper(
        pages in prop::collection::vec((-9.0..9.0f64, -9.0..9.0f64), 0..40),
    ) {
        let mut host = HostPrior::new(GLOBAL);
        for (log_events, log_exposure) in pages {
            host.add(Evidence::new(10f64.powf(log_events), 10f64.powf(log_exposure)));
            let Prior { alpha, beta } = host.prior();
            prop_assert!(alpha > 0.0 && alpha.is_finite(), "{alpha}");
            prop_assert!(beta > 0.0 && beta.is_finite(), "{beta}");
        }
    }
}
