use super::*;
use crate::{scenario::Scenario, world::Changes};
use std::sync::atomic::AtomicBool;

fn quietly(plan: &Sweep, world: &World) -> Result<Vec<Row>, Error> {
    let world = Arc::new(world.clone());
    let stop = AtomicBool::new(false);
    let control = Control {
        stop: &stop,
        progress: &|_| {},
    };
    sweep(plan, &|_| Ok(Arc::clone(&world)), &control)
}

fn scenario(process: &str) -> World {
    let text = format!(
        "pages = 300\nservers = 6\ndays = 120\nnever_changing = 0.2\npoliteness_seconds = 900\n\
         [rates]\nexponent = 0.8\nleast = 0.02\nmost = 4\n[process]\nkind = \"{process}\""
    );
    let scenario = Scenario::parse(&text).unwrap();
    scenario.world(scenario.repository(), 0, 0.0).unwrap()
}

fn plan(policies: &[&str]) -> Sweep {
    Sweep {
        policies: policies.iter().map(|&name| name.to_owned()).collect(),
        budgets: vec![Budget::Share(0.1), Budget::Share(0.5)],
        knowledge: Source::Hindsight,
        observe: Observe::Bit,
        start: Start::Fresh,
        runs: 2,
        seed: 1,
        early_stop: false,
        threads: 2,
    }
}

fn without_times(mut rows: Vec<Row>) -> Vec<Row> {
    for row in &mut rows {
        row.ns_per_selection = None;
        row.allocation_seconds = None;
    }
    rows
}

#[test]
fn no_polite_policy_exceeds_its_bound_and_good_ones_come_near() {
    let rows = quietly(
        &plan(&["merge-opt-polite", "random-opt-polite"]),
        &scenario("poisson"),
    );
    let rows = rows.unwrap();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        // an edge: fresh at the start, and visits evenly spaced only from the first on
        assert!(row.freshness < row.bound_polite + 0.02, "{row:?}");
        assert!(row.bound_polite <= row.bound_impolite + 1e-12);
        assert_eq!(row.impolite_visits, 0);
        let factor = if row.policy.starts_with("merge") {
            0.927
        } else {
            0.77
        };
        assert!(row.freshness > factor * row.bound_polite, "{row:?}");
        assert!(row.freshness_ci95.is_finite() && row.runs == 2 && !row.partial);
        let budget = row.budget_per_day * 120.0;
        assert!((row.visits as f64 / budget - 1.0).abs() < 0.02, "{row:?}");
    }
}

#[test]
fn every_policy_runs_with_every_knowledge_the_same_on_any_number_of_threads() {
    let mut all = plan(&[]);
    all.policies = policy::names();
    all.budgets = vec![Budget::Share(0.3)];
    all.runs = 1;
    let world = World {
        from: 100.0,
        ..scenario("seasonal")
    };
    let trained = Source::Trained {
        from: 0.0,
        until: 100.0,
    };
    for knowledge in [Source::Hindsight, trained, Source::Online] {
        for observe in [Observe::Bit, Observe::LastModified, Observe::History] {
            let plan = Sweep {
                knowledge,
                observe,
                ..all.clone()
            };
            let two = without_times(quietly(&plan, &world).unwrap());
            let one = without_times(quietly(&Sweep { threads: 1, ..plan }, &world).unwrap());
            assert_eq!(one, two);
            assert_eq!(one.len(), all.policies.len());
            for row in one {
                assert!((0.0..=1.0).contains(&row.freshness), "{row:?}");
                assert!(row.visits > 0, "{row:?}");
            }
        }
    }
}

/// The way large repositories are run agrees with the way of small ones.
#[test]
fn lanes_run_plans_as_the_policy_itself_does() {
    let world = Arc::new(scenario("poisson"));
    let plan = plan(&["merge-opt-polite"]);
    let stop = AtomicBool::new(false);
    let control = Control {
        stop: &stop,
        progress: &|_| {},
    };
    let mut round = Round::new(&plan, &|_| Ok(Arc::clone(&world)), 0, &control).unwrap();
    // lanes are for pages sorted by server
    round.world = Arc::clone(&world);
    assert!(round.world.server.is_sorted());
    let whole = round.trial(0).unwrap();
    round.large = true;
    let lanes = round.trial(0).unwrap();
    let difference = whole.account.freshness - lanes.account.freshness;
    assert!(difference.abs() < 0.01, "{difference}");
    assert!(whole.account.visits.abs_diff(lanes.account.visits) <= 12);
}

#[test]
fn budgets_are_read_in_three_ways() {
    let mut world = World {
        server: vec![0, 1],
        delay: vec![0.5, 0.25],
        weight: None,
        changes: Changes::Instants {
            offsets: vec![0, 3, 4],
            at: vec![0.0, 1.0, 2.0, 9.0],
        },
        from: 0.0,
        until: 10.0,
    };
    assert_eq!(Budget::PerDay(2.0).per_day(&world).unwrap(), 2.0);
    assert_eq!(Budget::Share(0.5).per_day(&world).unwrap(), 3.0);
    // the change at the very start is not part of the test
    assert!((Budget::PerChange(2.0).per_day(&world).unwrap() - 0.6).abs() < 1e-12);
    assert!(matches!(
        Budget::PerDay(7.0).per_day(&world),
        Err(Error::AbovePoliteness { .. })
    ));
    assert!(matches!(
        Budget::PerDay(0.0).per_day(&world),
        Err(Error::NoVisits)
    ));
    world.delay = vec![0.0, 0.0];
    assert!(matches!(
        Budget::Share(0.5).per_day(&world),
        Err(Error::NoPoliteness)
    ));
    let unknown = quietly(&plan(&["merge-best"]), &world).unwrap_err();
    assert!(unknown.to_string().contains("merge-best"));
}

#[test]
fn policies_that_learn_run_to_the_end() {
    let mut sweep = plan(&["default", "merge-opt-polite"]);
    sweep.early_stop = true;
    for row in quietly(&sweep, &scenario("poisson")).unwrap() {
        assert!(row.policy != "default" || !row.converged, "{row:?}");
    }
}

#[test]
fn a_run_is_the_same_whatever_runs_beside_it() {
    let world = scenario("seasonal");
    let run = |runs, threads| {
        let plan = Sweep {
            runs,
            threads,
            ..plan(&["default"])
        };
        quietly(&plan, &world).unwrap().remove(0)
    };
    let (one, five) = (run(5, 1), run(5, 3));
    assert_eq!(one.freshness, five.freshness);
    assert_eq!((five.runs, five.partial), (5, false));
    assert_eq!(run(1, 1).series, five.series);
    // pages numbered anew make another run of the same world
    assert!(five.freshness_ci95 > 0.0);
}

/// Most visits go to pages that are known to change, and there are fewer visits than pages.
#[test]
fn default_that_is_told_all_is_no_worse_than_uniform() {
    let mut world = scenario("seasonal");
    if let Changes::Instants { offsets, at } = &mut world.changes {
        // the second half does not change
        let half = offsets[150];
        at.truncate(half);
        offsets[151..].fill(half);
    }
    let plan = Sweep {
        budgets: vec![Budget::PerDay(1.0)],
        start: Start::Stale,
        ..plan(&["default", "uniform"])
    };
    let rows = quietly(&plan, &world).unwrap();
    let [default, uniform] = [&rows[0], &rows[1]].map(|row| row.freshness);
    assert!(default > uniform - 0.01, "{default} {uniform}");
}
