use super::*;

fn run(spec: RealSpec) -> RealReport {
    let directory = tempfile::tempdir().unwrap();
    let report = Real::new(spec, directory.path()).run();
    report.unwrap_or_else(|what| panic!("{what}"))
}

/// Three robots, nothing goes wrong: every page is fetched once, URLs are sent once, a host at a forbidden address and
/// endless redirects from robot to robot are refused, robots.txt files at other robots' hosts are had.
#[test]
fn three_real_robots_share_a_web() {
    let (mut refused, mut trapped, mut errands) = (0, 0, 0);
    for seed in 0..8 {
        let report = run(RealSpec::calm(seed, 3));
        assert_eq!(report.again, 0, "{report:?}");
        let most = report.pairs as u64 * 11 / 10;
        assert!(report.entries <= most, "{report:?}");
        refused += report.refused;
        trapped += report.trapped;
        errands += report.errands;
    }
    assert!(refused > 0 && trapped > 0 && errands > 0);
}

#[test]
fn whatever_goes_wrong_real_robots_find_every_page() {
    let number = |name: &str, usual: u64| {
        let given = std::env::var(name).ok();
        given.and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let first = number("EVERCRAWL_REAL_SEED", 0);
    let seeds = number("EVERCRAWL_REAL_SEEDS", 40);
    let (mut evicted, mut handed, mut failed) = (0, 0, Vec::new());
    for seed in first..first + seeds {
        let mut spec = RealSpec::stormy(seed);
        if seeds == 1 {
            spec.story = usize::MAX;
        }
        let directory = tempfile::tempdir().unwrap();
        match Real::new(spec, directory.path()).run() {
            Ok(report) => {
                evicted += report.evicted;
                handed += report.handed;
            }
            Err(what) => failed.push(what),
        }
    }
    println!("{seeds} storms, {evicted} robots evicted, {handed} servers handed over");
    let failures = failed.len();
    assert!(
        failed.is_empty(),
        "{failures} fail:\n{}",
        failed.join("\n\n")
    );
    assert!(
        seeds < 40 || evicted > 0 && handed > 0,
        "the faults do something"
    );
}

/// Servers go from robot to robot and back while pages are visited again and again: what is known and learnt of them
/// goes along, so next visits are conditional, and nobody is asked too soon.
#[test]
fn servers_that_move_keep_what_is_known_of_them() {
    let (mut handed, mut again, mut conditional) = (0, 0, 0);
    for seed in 0..3 {
        let mut spec = RealSpec::calm(seed, 3);
        spec.until = Until::Stopped;
        spec.patience = 600.0;
        let tables = [3, 4, 3, 4];
        let times = (1..).map(|turn| 100.0 * f64::from(turn));
        spec.faults = times.zip(tables.map(RealFault::Divide)).collect();
        let report = run(spec);
        assert_eq!(report.unlearnt, 0, "{report:?}");
        handed += report.handed;
        again += report.again;
        conditional += report.conditional;
    }
    assert!(handed > 10, "{handed} servers moved");
    // some are asked without validators on purpose
    assert!(
        again > 100 && conditional * 10 > again * 8,
        "{conditional} of {again}"
    );
}

#[test]
fn the_budget_of_the_fleet_is_kept_in_every_window() {
    for seed in 0..2 {
        let mut spec = RealSpec::calm(seed, 3);
        spec.budget = Some(8);
        spec.faults = vec![(60.0, RealFault::Kill(1, 50.0))];
        assert!(run(spec).requests > 50);
    }
}

#[test]
fn a_robot_that_leaves_costs_no_page() {
    for seed in 0..3 {
        let mut spec = RealSpec::calm(seed, 3);
        spec.faults = vec![(40.0, RealFault::Leave(2))];
        let report = run(spec);
        assert_eq!(report.again, 0, "{report:?}");
    }
}

/// Without the gate a robot that was cut off goes on asking: the judge sees it.
#[test]
fn a_missing_gate_is_found() {
    let found = (0..20).find_map(|seed| {
        let mut spec = RealSpec::calm(seed, 3);
        spec.faults = vec![(20.0, RealFault::Cut(1, 90.0))];
        spec.no_gate = true;
        let directory = tempfile::tempdir().unwrap();
        Real::new(spec, directory.path()).run().err()
    });
    let found = found.expect("nobody sees it");
    assert!(found.contains("W15") || found.contains("W1 "), "{found}");
}
