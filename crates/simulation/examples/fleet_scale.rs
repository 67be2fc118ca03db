//! What the protocol costs a robot, by the number of robots: rows for experiments/fleet-scale.
//! `fleet_scale [SEEDS]`.

use std::process::ExitCode;

use simulation::fleet::{Scenario, finish};

fn main() -> ExitCode {
    let seeds = std::env::args().nth(1).map_or(Some(3), |n| n.parse().ok());
    let Some(seeds) = seeds else {
        eprintln!("usage: fleet_scale [SEEDS]");
        return ExitCode::from(2);
    };
    println!(
        "robots,levels,seed,view_members,view_bytes,lease_bytes,summary_bytes,plan_bytes,key_writes_per_robot_second,told_by_a_join"
    );
    for (robots, levels) in [(10, 1), (100, 1), (100, 2), (1_000, 3)] {
        for seed in 0..seeds {
            let outcome = match finish(&Scenario::tree(robots, levels, seed)) {
                Ok(outcome) => outcome,
                Err(failure) => {
                    println!("{failure}");
                    return ExitCode::FAILURE;
                }
            };
            let report = outcome.report;
            let (members, bytes) = outcome.views.iter().max().copied().unwrap_or_default();
            let told = outcome
                .adoptions
                .iter()
                .filter(|(at, _)| *at > 20_000)
                .count();
            let writes = report.swaps as f64 / robots as f64 / (report.took as f64 / 1_000.0);
            println!(
                "{robots},{levels},{seed},{members},{bytes},{},{},{},{writes:.3},{told}",
                report.lease_bytes, report.summary_bytes, report.plan_bytes
            );
        }
    }
    ExitCode::SUCCESS
}
