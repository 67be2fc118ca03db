use super::demand::age_gain;
use super::*;
use crate::measure::visit_gain;
use proptest::prelude::*;
use std::ops::Range;

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

fn impolite<'a>(rate: &'a [f64], server: &'a [u32], budget: f64) -> Problem<'a> {
    Problem {
        pages: Pages { rate, weight: None },
        server,
        caps: &[f64::INFINITY],
        budget,
    }
}

#[test]
fn cho_gives_the_published_example() {
    let rate = [1.0, 2.0, 3.0, 4.0, 5.0];
    let plan = allocate(&impolite(&rate, &[0; 5], 5.0), Allocation::Cho).unwrap();
    let rounded: Vec<f64> = plan
        .frequency
        .iter()
        .map(|f| (f * 100.0).round() / 100.0)
        .collect();
    assert_eq!(rounded, [1.15, 1.36, 1.35, 1.14, 0.00]);
    assert_eq!(plan.frequency[4], 0.0);
}

#[test]
fn uniform_and_proportional_skip_what_never_changes() {
    let rate = [1.0, 0.0, 3.0];
    let problem = impolite(&rate, &[0; 3], 4.0);
    let frequency = |a| allocate(&problem, a).unwrap().frequency;
    assert_eq!(frequency(Allocation::Uniform), [2.0, 0.0, 2.0]);
    assert_eq!(frequency(Allocation::Proportional), [1.0, 0.0, 3.0]);
}

#[test]
fn bad_problems_are_refused_by_name() {
    let good = [1.0, 2.0];
    let servers = [0, 0];
    let refuse = |problem: Problem| allocate(&problem, Allocation::OptPolite).unwrap_err();
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let rate = [1.0, bad];
        let error = refuse(impolite(&rate, &servers, 1.0));
        assert!(matches!(
            error,
            Error::Number {
                what: "rate",
                index: 1,
                ..
            }
        ));
        let error = refuse(impolite(&good, &servers, bad));
        assert!(matches!(error, Error::Number { what: "budget", .. }));
    }
    assert!(matches!(
        refuse(impolite(&good, &[0], 1.0)),
        Error::Length { .. }
    ));
    assert!(matches!(
        refuse(impolite(&good, &[0, 7], 1.0)),
        Error::UnknownServer { page: 1, .. }
    ));
    let capped = Problem {
        caps: &[2.0],
        ..impolite(&good, &servers, 2.1)
    };
    assert!(matches!(
        refuse(capped),
        Error::BudgetAbovePoliteness { .. }
    ));
    assert!("chow".parse::<Allocation>().is_err());
}

#[test]
fn a_flat_optimum_still_spends_the_budget_exactly() {
    // all pages change so fast that the price cannot tell frequencies apart
    let rate = [1e6; 10];
    let plan = allocate(&impolite(&rate, &[0; 10], 1.0), Allocation::Cho).unwrap();
    assert!(close(plan.frequency.iter().sum(), 1.0, 1e-9));
    let mixed = [1e6, 1e-9, 1e6, 1e-9];
    let plan = allocate(&impolite(&mixed, &[0; 4], 1e-3), Allocation::Cho).unwrap();
    assert!(close(plan.frequency.iter().sum(), 1e-3, 1e-9));
    assert!(plan.frequency[1] > 0.0);
}

#[test]
fn nothing_to_do_is_done() {
    for allocation in Allocation::ALL {
        let empty = allocate(&impolite(&[], &[], 3.0), allocation).unwrap();
        assert!(empty.frequency.is_empty());
        let still = allocate(&impolite(&[0.0, 0.0], &[0, 0], 3.0), allocation).unwrap();
        assert_eq!(still.frequency, [0.0, 0.0]);
        let broke = allocate(&impolite(&[1.0, 2.0], &[0, 0], 0.0), allocation).unwrap();
        assert_eq!(broke.frequency, [0.0, 0.0]);
    }
    assert_eq!(bounds(&impolite(&[0.0], &[0], 1.0)).unwrap(), (1.0, 1.0));
}

#[test]
fn servers_take_the_whole_budget_when_it_is_all_they_allow() {
    let rate = [1.0, 5.0, 0.2, 3.0];
    let problem = Problem {
        caps: &[2.0, 1.0],
        budget: 3.0,
        ..impolite(&rate, &[0, 0, 1, 1], 0.0)
    };
    let plan = allocate(&problem, Allocation::OptPolite).unwrap();
    assert!(close(plan.frequency[0] + plan.frequency[1], 2.0, 1e-9));
    assert!(close(plan.frequency[2] + plan.frequency[3], 1.0, 1e-9));
}

/// A random repository: rates over fifteen decades, some pages still, some worthless, small and
/// large servers with their own caps, pages in any order.
#[derive(Clone, Debug)]
struct Instance {
    rate: Vec<f64>,
    weight: Vec<f64>,
    server: Vec<u32>,
    caps: Vec<f64>,
    budget: f64,
}

impl Instance {
    fn problem(&self) -> Problem<'_> {
        Problem {
            pages: Pages {
                rate: &self.rate,
                weight: Some(&self.weight),
            },
            server: &self.server,
            caps: &self.caps,
            budget: self.budget,
        }
    }

    fn sum(&self, frequency: &[f64], server: usize) -> f64 {
        let on = |page: &usize| self.server[*page] as usize == server;
        (0..self.rate.len())
            .filter(on)
            .map(|page| frequency[page])
            .sum()
    }

    fn changes(&self, page: usize) -> bool {
        self.rate[page] > 0.0 && self.weight[page] > 0.0
    }

    /// Whether the server's pages can take any visits at all.
    fn alive(&self, server: usize) -> bool {
        (0..self.rate.len()).any(|p| self.server[p] as usize == server && self.changes(p))
    }
}

fn instances(
    rate_decades: Range<f64>,
    cap_decades: Range<f64>,
    budget_share: Range<f64>,
) -> impl Strategy<Value = Instance> {
    let page = (rate_decades, 0..10u8, -2.0..2.0f64, any::<u32>());
    let pages = prop::collection::vec(page, 1..60);
    let caps = prop::collection::vec(cap_decades, 1..7);
    (pages, caps, budget_share).prop_map(|(pages, caps, share)| {
        let caps: Vec<f64> = caps.iter().map(|e| 10f64.powf(*e)).collect();
        Instance {
            rate: pages
                .iter()
                .map(|p| if p.1 == 0 { 0.0 } else { 10f64.powf(p.0) })
                .collect(),
            weight: pages
                .iter()
                .map(|p| if p.1 == 1 { 0.0 } else { 10f64.powf(p.2) })
                .collect(),
            server: pages.iter().map(|p| p.3 % caps.len() as u32).collect(),
            budget: share * caps.iter().sum::<f64>(),
            caps,
        }
    })
}

type Marginal = fn(f64, f64, f64) -> f64;

/// The marginal gain of one more visit per unit of time.
fn marginal(allocation: Allocation) -> Marginal {
    match allocation {
        Allocation::Cho | Allocation::OptPolite => |w, l, f| w / l * visit_gain(l / f),
        Allocation::Harmonic => |w, l, f| w * l / (f * (f + l)),
        Allocation::Age => |w, l, f| w / (l * l) * age_gain(l / f),
        Allocation::Uniform | Allocation::Proportional => unreachable!("nothing is optimised"),
    }
}

fn check_optimal(case: &Instance, allocation: Allocation) {
    let plan = allocate(&case.problem(), allocation).unwrap();
    let capped = allocation != Allocation::Cho;
    for page in 0..case.rate.len() {
        let (f, w, l) = (plan.frequency[page], case.weight[page], case.rate[page]);
        assert!(f.is_finite() && f >= 0.0);
        if !case.changes(page) {
            assert_eq!(f, 0.0);
            continue;
        }
        let price = plan.server_price[case.server[page] as usize];
        if f > 0.0 {
            let gain = marginal(allocation)(w, l, f);
            assert!(
                close(gain, price, 1e-9),
                "page {page}: gain {gain}, price {price}"
            );
        } else {
            assert!(
                w / l <= price * (1.0 + 1e-9),
                "page {page} starves below the price"
            );
        }
    }
    let total: f64 = plan.frequency.iter().sum();
    if !capped {
        let expected = if (0..case.rate.len()).any(|p| case.changes(p)) {
            case.budget
        } else {
            0.0
        };
        assert!(close(total, expected, 1e-9), "spent {total} of {expected}");
        return;
    }
    let mut room = 0.0;
    for (server, &cap) in case.caps.iter().enumerate() {
        let sum = case.sum(&plan.frequency, server);
        assert!(
            sum <= cap * (1.0 + 1e-9),
            "server {server}: {sum} over its cap {cap}"
        );
        if case.alive(server) {
            room += cap;
            let price = plan.server_price[server];
            assert!(price >= plan.price * (1.0 - 1e-12));
            if price > plan.price * (1.0 + 1e-9) {
                assert!(
                    close(sum, cap, 1e-9),
                    "a price of its own without being full"
                );
            }
        }
    }
    assert!(
        close(total, case.budget.min(room), 1e-9),
        "spent {total} of {}",
        case.budget
    );
}

/// `OPT_POLITE` by nested bisection of the two multipliers, each page by bisection of its own: slow,
/// and shares no code with the allocation.
fn nested_bisection(case: &Instance) -> Vec<f64> {
    let frequency = |page: usize, price: f64| {
        let (w, l) = (case.weight[page], case.rate[page]);
        if !case.changes(page) || w / l <= price {
            return 0.0;
        }
        let (mut low, mut high) = (-60.0, 60.0); // ln r
        for _ in 0..200 {
            let mid = f64::midpoint(low, high);
            let r = f64::exp(mid);
            // the plain formula where it is exact enough, its series where it cancels
            let gain = if r < 1e-3 {
                r * r / 2.0 - r.powi(3) / 3.0 + r.powi(4) / 8.0 - r.powi(5) / 30.0
            } else {
                -(-r).exp_m1() - r * (-r).exp()
            };
            if w / l * gain < price {
                low = mid;
            } else {
                high = mid;
            }
        }
        l / low.exp()
    };
    let server_total = |server: usize, price: f64| -> f64 {
        let on = |page: &usize| case.server[*page] as usize == server;
        (0..case.rate.len())
            .filter(on)
            .map(|page| frequency(page, price))
            .sum()
    };
    let own_price = |server: usize, floor: f64| {
        if server_total(server, floor) <= case.caps[server] {
            return floor;
        }
        let (mut low, mut high) = (floor.ln(), 80.0);
        for _ in 0..100 {
            let mid = f64::midpoint(low, high);
            if server_total(server, mid.exp()) > case.caps[server] {
                low = mid;
            } else {
                high = mid;
            }
        }
        high.exp()
    };
    let prices = |global: f64| -> Vec<f64> {
        (0..case.caps.len())
            .map(|server| own_price(server, global))
            .collect()
    };
    let (mut low, mut high) = (-80.0f64, 80.0f64);
    for _ in 0..100 {
        let mid = f64::midpoint(low, high);
        let spent: f64 = prices(mid.exp())
            .iter()
            .enumerate()
            .map(|(server, &price)| server_total(server, price))
            .sum();
        if spent > case.budget {
            low = mid;
        } else {
            high = mid;
        }
    }
    let prices = prices(high.exp());
    (0..case.rate.len())
        .map(|page| frequency(page, prices[case.server[page] as usize]))
        .collect()
}

/// `fl(fl(1/λ)·λ) < 1` for 321 of these 1999 rates: there demand must be zero all the same.
#[test]
fn rounding_of_the_reserve_price_does_not_overspend() {
    for k in 1..2000 {
        let rate = f64::from(k) * 0.180_977_102_020_550_1;
        let problem = Problem {
            pages: Pages {
                rate: &[rate],
                weight: None,
            },
            server: &[0],
            caps: &[rate / 300.0],
            budget: rate / 3000.0,
        };
        for allocation in [Allocation::Cho, Allocation::OptPolite] {
            let plan = allocate(&problem, allocation).unwrap();
            assert!(
                close(plan.frequency[0], problem.budget, 1e-9),
                "{allocation} at rate {rate}: {} of {}",
                plan.frequency[0],
                problem.budget
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn allocations_meet_their_optimality_conditions(case in instances(-9.0..6.0, -3.0..4.0, 0.001..1.0)) {
        for allocation in
            [Allocation::Cho, Allocation::OptPolite, Allocation::Harmonic, Allocation::Age]
        {
            check_optimal(&case, allocation);
        }
    }

    #[test]
    fn allocating_again_changes_nothing(case in instances(-9.0..6.0, -3.0..4.0, 0.001..1.0)) {
        for allocation in Allocation::ALL {
            let once = allocate(&case.problem(), allocation).unwrap();
            let again = allocate(&case.problem(), allocation).unwrap();
            prop_assert_eq!(&once.frequency, &again.frequency);
            prop_assert!(once.frequency.iter().all(|f| f.is_finite() && *f >= 0.0));
        }
    }

    #[test]
    fn the_bounds_are_ordered(case in instances(-9.0..6.0, -3.0..4.0, 0.001..1.0)) {
        let (impolite, polite) = bounds(&case.problem()).unwrap();
        prop_assert!((0.0..=1.0 + 1e-12).contains(&impolite));
        prop_assert!(polite <= impolite * (1.0 + 1e-12));
        let uniform = allocate(&case.problem(), Allocation::Uniform).unwrap();
        let value = freshness(case.problem().pages, &uniform.frequency);
        prop_assert!(value <= impolite * (1.0 + 1e-12));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn opt_polite_equals_nested_bisection(case in instances(-1.0..1.0, 0.5..2.0, 0.2..1.0)) {
        let plan = allocate(&case.problem(), Allocation::OptPolite).unwrap();
        let oracle = nested_bisection(&case);
        check_optimal(&case, Allocation::OptPolite);
        let pages = case.problem().pages;
        // what the oracle finds is allowed, so it cannot be better
        let best = freshness(pages, &plan.frequency);
        prop_assert!(freshness(pages, &oracle) <= best * (1.0 + 1e-9));
        // near a flat optimum no price that the oracle could find spends all that a server has
        for server in 0..case.caps.len() {
            let (ours, theirs) = (case.sum(&plan.frequency, server), case.sum(&oracle, server));
            prop_assume!(close(ours, theirs, 1e-9));
        }
        // near starvation frequencies are ill-conditioned, the value never is
        prop_assert!(close(freshness(pages, &plan.frequency), freshness(pages, &oracle), 1e-9));
        for (page, (&ours, &theirs)) in plan.frequency.iter().zip(&oracle).enumerate() {
            let scale = ours.max(theirs).max(case.budget * 1e-6);
            prop_assert!((ours - theirs).abs() <= 1e-6 * scale, "page {}: {} {}", page, ours, theirs);
        }
    }
}
