use super::*;
use crate::policy::tests::{REPOSITORIES, Repository, drive};
use crate::policy::{Knowledge, build};

/// The share of the bound POLITE that a policy which knows nothing reaches in the last third.
fn reached(name: &str, repository: &Repository, seed: u64, until: f64) -> f64 {
    let mut setup = repository.setup(seed);
    setup.knowledge = Knowledge::Online { guess: 1.0 };
    let mut policy = build(name, &setup).unwrap();
    let visits = drive(policy.as_mut(), repository, until, true);
    repository.freshness(&visits, until * 2.0 / 3.0, until) / repository.bounds().1
}

#[test]
fn learners_do_better_than_who_learns_nothing() {
    for (seed, sizes, weighted, share) in REPOSITORIES {
        let repository = Repository::random(seed, sizes, weighted, share);
        let of = |name| reached(name, &repository, seed, 600.0);
        let (blind, even) = (of("random-uniform"), of("merge-uniform"));
        let (q, gradient, epochs, index) =
            (of("q-learning"), of("gradient"), of("epochs"), of("index"));
        println!(
            "{seed}: random-uniform {blind:.4} merge-uniform {even:.4} q-learning {q:.4} gradient {gradient:.4} epochs {epochs:.4} index {index:.4}"
        );
    }
}
