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
        spec.patience = 1200.0;
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
    // the first revisits to a host test its validators, and every twentieth
    assert!(
        again > 100 && conditional * 10 > again * 7,
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

/// All servers go from one robot to another and back, with visits between. The rows that arrive are what the last
/// owner had, bit for bit (checked at every arrival): evidence, failures, pages that are gone. The first
/// requests after a move are conditional; whoever asked for ten minutes of peace has them. Pages are due when they
/// were to be, though each robot has a threshold of its own.
#[test]
fn to_another_robot_and_back_nothing_is_forgotten() {
    let (mut compared, mut conditional, mut moved) = (0, 0, 0);
    let (mut gone, mut failed, mut peace) = (0, 0, 0);
    let mut off = Vec::new();
    for seed in 0..4 {
        let mut spec = RealSpec::calm(seed, 2);
        spec.until = Until::Stopped;
        spec.patience = 3000.0;
        spec.retry_after = Some(600.0);
        spec.vanish = Some(150.0);
        spec.faults = vec![
            (20.0, RealFault::All(0)),
            (500.0, RealFault::Note),
            (500.5, RealFault::All(1)),
            (530.0, RealFault::Note),
            (900.0, RealFault::Note),
            (900.5, RealFault::All(0)),
            (930.0, RealFault::Note),
        ];
        let report = run(spec);
        for (before, after, owner) in [(0, 1, 1), (2, 3, 0)] {
            let (before, after) = (&report.notes[before], &report.notes[after]);
            assert!(before.keys().eq(after.keys()), "the same pages are known");
            assert!(
                after.values().all(|noted| noted.owner == owner),
                "{after:?}"
            );
        }
        off.extend(report.dues_off);
        compared += report.same_rows;
        (gone, failed) = (gone + report.same_gone, failed + report.same_failed);
        conditional += report.moved_conditional;
        moved += report.moved_again;
        peace += report.peace;
    }
    let worst = off.iter().copied().fold(0.0, f64::max);
    let close = off.iter().filter(|off| **off <= 0.01).count();
    println!(
        "{compared} rows the same, {gone} gone, {failed} with failures; {conditional} of {moved} conditional; \
         peace {peace} times; {close} of {} due times within one per cent, the worst off by {worst}",
        off.len()
    );
    assert!(off.len() > 100 && close == off.len());
    assert!(compared > 100 && gone > 0 && failed > 0 && peace > 4);
    // some are asked without validators on purpose
    assert!(moved > 50 && conditional * 10 > moved * 8);
}

/// When one leaves, the fleet's list of pages stays the same but for the owner of what was its own.
#[test]
fn a_robot_that_leaves_leaves_all_its_pages() {
    for seed in 0..3 {
        let mut spec = RealSpec::calm(seed, 3);
        spec.faults = vec![
            (600.0, RealFault::Note),
            (600.5, RealFault::Leave(2)),
            (700.0, RealFault::Note),
        ];
        let notes = run(spec).notes;
        let (before, after) = (&notes[0], &notes[1]);
        assert!(before.keys().eq(after.keys()));
        let had = before.values().filter(|noted| noted.owner == 2).count();
        assert!(had > 0, "it had something");
        for (url, old) in before {
            let new = after[url];
            assert!(
                new.owner == old.owner || old.owner == 2 && new.owner != 2,
                "{url}"
            );
            assert!(new.visits >= old.visits, "{url}");
        }
    }
}

/// Mistakes in what is written, in which order, are seen with real robots as well. Others are not: keepers leave
/// servers alone for an interval whatever the protocol says. `EVERCRAWL_FLAW=NAME` tries one of all.
#[test]
fn planted_mistakes_are_found_with_real_robots() {
    let flaws = [
        Flaw::AcknowledgeBeforeCommit,
        Flaw::LogBeforeOutbox,
        Flaw::LowerVersion,
        Flaw::PurgeBeforeStored,
    ];
    let chosen = std::env::var("EVERCRAWL_FLAW").ok();
    let named = |flaw: &Flaw| {
        chosen
            .as_ref()
            .is_none_or(|name| *name == format!("{flaw:?}"))
    };
    let all = if chosen.is_some() {
        &Flaw::ALL[..]
    } else {
        &flaws
    };
    for &flaw in all.iter().filter(|flaw| named(flaw)) {
        let found = (0..60).find_map(|seed| {
            let mut spec = RealSpec::stormy(seed);
            spec.snapshot = (flaw == Flaw::PurgeBeforeStored).then_some(6);
            spec.flaw = Some(flaw);
            let directory = tempfile::tempdir().unwrap();
            let failure = Real::new(spec, directory.path()).run().err()?;
            Some((seed, failure))
        });
        let (seed, failure) = found.unwrap_or_else(|| panic!("nobody sees {flaw:?}"));
        let rule = failure.lines().next().unwrap_or_default();
        println!("{flaw:?}: seed {seed}: {rule}");
    }
}
