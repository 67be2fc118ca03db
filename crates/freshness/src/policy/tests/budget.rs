//! Whoever learns keeps to the budget from the start, on many servers and through many plans.

use super::*;

#[test]
fn learners_keep_to_the_budget_from_the_first_visit_on() {
    let sizes = [vec![1; 300], vec![6; 60]].concat();
    let mut repository = Repository::random(5, &sizes, false, 0.5);
    repository.delay.fill(0.0);
    let rounds = 4.0;
    repository.budget = repository.rate.len() as f64;
    for name in names() {
        if ["multiplicative", "halfway"].contains(&name.as_str()) {
            continue; // they make as many visits as they see fit
        }
        let setup = Setup {
            knowledge: Knowledge::Online { guess: 1.0 },
            ..repository.setup(1)
        };
        let mut policy = build(&name, &setup).unwrap();
        let visits = drive(policy.as_mut(), &repository, rounds, false);
        let spent = |until: f64| {
            let made = |visits: &Vec<f64>| visits.iter().filter(|&&at| at < until).count();
            visits.iter().map(made).sum::<usize>() as f64 / repository.budget
        };
        let early = spent(rounds / 10.0);
        assert!(early < rounds / 10.0 * 1.25, "{name} began with {early}");
        let all = spent(rounds);
        assert!((all / rounds - 1.0).abs() < 0.06, "{name} spent {all}");
    }
}
