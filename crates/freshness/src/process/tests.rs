//! Counts, gaps, hours and starts of drawn changes against what each process promises.

use super::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn shapes() -> Vec<(&'static str, Process)> {
    let bursty = Gap::gamma(0.5, 1.0).unwrap();
    let steady = Gap::weibull(4.0, 0.7).unwrap();
    let office = Week::office(1.0).unwrap();
    let drift = Drift::new(vec![(0.0, 1.0), (30.0, 5.0), (70.0, 0.0), (90.0, 0.5)]).unwrap();
    vec![
        ("never", Process::poisson(0.0).unwrap()),
        ("Poisson", Process::poisson(2.5).unwrap()),
        ("bursty", Process::renewal(bursty.clone())),
        ("steady", Process::renewal(steady)),
        ("drift", Process::Drift(drift)),
        (
            "weekly",
            Process::weekly(Process::poisson(3.0).unwrap(), office.clone()),
        ),
        (
            "weekly bursty",
            Process::weekly(Process::renewal(bursty), office),
        ),
        (
            "modulated",
            Process::Modulated(Modulated::new(0.1, 8.0, 6.0, 2.0).unwrap()),
        ),
        ("periodic", Process::periodic(0.7, 0.2, 0.0).unwrap()),
        ("jittery", Process::periodic(0.7, 0.2, 0.9).unwrap()),
        ("dying", Process::dying(20.0, 3.0, 15.0).unwrap()),
        (
            "trace",
            Process::trace(vec![1.0, 2.0, 2.0, 17.5, 99.0, 230.0]).unwrap(),
        ),
    ]
}

fn mean_and_error(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn instants_ascend_within_the_period_and_have_the_mean_rate() {
    for (name, process) in shapes() {
        for (from, until) in [(0.0, 100.0), (-3.3, 7.1), (41.7, 75.2), (500.0, 500.5)] {
            let mut rng = rng(7);
            let counts: Vec<f64> = (0..1000)
                .map(|_| {
                    let instants = process.instants(from, until, &mut rng);
                    assert!(instants.windows(2).all(|p| p[0] <= p[1]), "{name}");
                    assert!(
                        instants.iter().all(|&at| from <= at && at < until),
                        "{name}"
                    );
                    instants.len() as f64
                })
                .collect();
            let (mean, error) = mean_and_error(&counts);
            let expected = process.mean_rate(from, until) * (until - from);
            // what recurs is off its mean at the ends of the period
            let slack = match name {
                "periodic" => 1.0,
                "jittery" => 0.1,
                _ => 0.0,
            };
            assert!(
                (mean - expected).abs() <= 4.0 * error + slack + 1e-6,
                "{name} in [{from}, {until}): {mean} ± {error}, expected {expected}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_instants() {
    for (_, process) in shapes() {
        let draw = |seed| process.instants(0.0, 50.0, &mut rng(seed));
        assert_eq!(draw(3), draw(3));
    }
}

#[test]
fn gaps_of_a_renewal_process_have_the_variation_of_the_gap() {
    for gap in [
        Gap::gamma(0.5, 2.0).unwrap(),
        Gap::weibull(3.0, 1.0).unwrap(),
        Gap::log_normal(-0.3, 0.9).unwrap(),
    ] {
        let expected = gap.coefficient_of_variation();
        let instants = Process::renewal(gap.clone()).instants(0.0, 60_000.0, &mut rng(1));
        let gaps: Vec<f64> = instants.windows(2).map(|p| p[1] - p[0]).collect();
        let found = Gap::empirical(gaps).unwrap().coefficient_of_variation();
        assert!(
            (found / expected - 1.0).abs() < 0.03,
            "{gap}: {found} {expected}"
        );
    }
    // spells make the gaps more variable than Poisson
    let modulated = Process::Modulated(Modulated::new(0.1, 8.0, 6.0, 2.0).unwrap());
    let instants = modulated.instants(0.0, 20_000.0, &mut rng(2));
    let gaps: Vec<f64> = instants.windows(2).map(|p| p[1] - p[0]).collect();
    assert!(Gap::empirical(gaps).unwrap().coefficient_of_variation() > 2.0);
}

#[test]
fn the_first_gap_tells_how_the_process_started() {
    let gap = Gap::gamma(0.5, 2.0).unwrap();
    let first = |start| {
        let process = Process::Renewal {
            gap: gap.clone(),
            start,
        };
        let mut rng = rng(4);
        let firsts: Vec<f64> = (0..20_000)
            .map(|_| process.instants(10.0, 1000.0, &mut rng)[0] - 10.0)
            .collect();
        mean_and_error(&firsts)
    };
    let (mean, error) = first(Start::AtChange);
    assert!((mean - gap.mean()).abs() < 4.0 * error, "{mean}");
    // the inspection paradox: E[X²]/(2·E[X]), here one and a half times the mean gap
    let (mean, error) = first(Start::Stationary);
    assert!((mean - 1.5 * gap.mean()).abs() < 4.0 * error, "{mean}");
}

#[test]
fn a_stationary_process_has_no_transient() {
    let process = Process::renewal(Gap::gamma(0.2, 5.0).unwrap());
    let mut rng = rng(5);
    let mut counts = [0.0; 10];
    let runs = 20_000;
    for _ in 0..runs {
        for at in process.instants(0.0, 1.0, &mut rng) {
            counts[(at * 10.0) as usize] += 1.0 / f64::from(runs);
        }
    }
    for count in counts {
        assert!((count - 0.1).abs() < 0.012, "{counts:?}");
    }
}

#[test]
fn changes_follow_the_hours_and_the_days() {
    let mut hours = [1.0; 24];
    hours[9] = 5.0;
    hours[3] = 0.0;
    let days = [1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.0];
    for day in [1.0, 86_400.0] {
        let week = Week::new(day, &hours, &days).unwrap();
        for base in [
            Process::poisson(40.0 / day).unwrap(),
            Process::renewal(Gap::gamma(4.0, day / 160.0).unwrap()),
        ] {
            let process = Process::weekly(base, week.clone());
            let instants = process.instants(0.0, 700.0 * day, &mut rng(6));
            let mut by_hour = [0.0; 24];
            let mut by_day = [0.0; 7];
            for at in &instants {
                by_hour[(at / day * 24.0) as usize % 24] += 1.0;
                by_day[(at / day) as usize % 7] += 1.0;
            }
            let total = instants.len() as f64;
            for (hour, count) in by_hour.iter().enumerate() {
                let expected = total * hours[hour] / hours.iter().sum::<f64>();
                assert!(
                    (count - expected).abs() <= 4.0 * expected.sqrt(),
                    "hour {hour}"
                );
            }
            for (of_week, count) in by_day.iter().enumerate() {
                let expected = total * days[of_week] / days.iter().sum::<f64>();
                assert!(
                    (count - expected).abs() <= 4.0 * expected.sqrt(),
                    "day {of_week}"
                );
            }
        }
    }
}

#[test]
fn the_clock_of_the_week_runs_there_and_back() {
    let week = Week::office(24.0).unwrap();
    for k in -3000..3000 {
        let instant = f64::from(k) * 0.37;
        let back = week.instant(week.lived(instant));
        assert!((back - instant).abs() < 1e-8, "{instant} {back}");
    }
    assert!((week.lived(3.0 * 168.0) - 3.0 * 168.0).abs() < 1e-9);
}

#[test]
fn a_dying_page_dies() {
    let process = Process::dying(50.0, 0.0, 2.0).unwrap();
    let mut rng = rng(8);
    let runs = 500;
    let mut halves = [0.0; 5];
    let mut late = 0;
    for _ in 0..runs {
        for at in process.instants(-10.0, 1000.0, &mut rng) {
            match (at / 2.0) as usize {
                half @ 0..5 => halves[half] += 1.0 / f64::from(runs),
                _ => late += usize::from(at > 60.0),
            }
        }
    }
    for pair in halves.windows(2) {
        assert!((pair[0] / pair[1] - 2.0_f64).abs() < 0.15, "{halves:?}");
    }
    assert_eq!(late, 0);
}

#[test]
fn what_cannot_be_a_process_is_refused() {
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(Process::poisson(bad).is_err());
        assert!(Process::periodic(bad, 0.0, 0.0).is_err());
        assert!(Process::periodic(1.0, 0.0, bad).is_err());
        assert!(Process::dying(1.0, 0.0, bad).is_err());
        assert!(Drift::new(vec![(0.0, bad)]).is_err());
        assert!(Modulated::new(1.0, 1.0, bad, 1.0).is_err());
        assert!(Week::office(bad).is_err());
    }
    assert_eq!(
        Drift::new(vec![]),
        Err(ProcessError::Empty("the list of pieces"))
    );
    assert_eq!(
        Drift::new(vec![(1.0, 1.0), (1.0, 2.0)]),
        Err(ProcessError::NotAscending(1))
    );
    assert_eq!(
        Process::trace(vec![1.0, 3.0, 2.0]),
        Err(ProcessError::NotAscending(2))
    );
    assert!(Process::trace(vec![1.0, f64::NAN]).is_err());
    assert_eq!(
        Week::new(1.0, &[0.0; 24], &[1.0; 7]),
        Err(ProcessError::Empty("the week"))
    );
}
