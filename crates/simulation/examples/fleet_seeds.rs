//! Many seeds of the fleet's simulation: `fleet_seeds FIRST COUNT [FLAW]`. A seed that breaks an
//! invariant tells its story; with the name of a planted mistake the run ends when it is found.

use std::process::ExitCode;
use std::time::Instant;

use fleet::flaw::Flaw;
use simulation::fleet::{Report, Scenario, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| arguments.get(i).map_or(Some(default), |a| a.parse().ok());
    let (Some(first), Some(count)) = (number(0, 0), number(1, 300)) else {
        eprintln!("usage: fleet_seeds [FIRST] [COUNT] [FLAW]");
        return ExitCode::from(2);
    };
    let flaw = match arguments.get(2) {
        None => None,
        Some(name) => {
            let found = Flaw::ALL.into_iter().find(|f| format!("{f:?}") == *name);
            if found.is_none() {
                eprintln!("no flaw is called {name}; there are {:?}", Flaw::ALL);
                return ExitCode::from(2);
            }
            found
        }
    };
    let begin = Instant::now();
    let mut failures = 0;
    let mut total = Report::default();
    for seed in first..first + count {
        let mut scenario = Scenario::random(seed);
        scenario.flaw = flaw;
        match run(&scenario) {
            Ok(report) => add(&mut total, &report),
            Err(failure) => {
                failures += 1;
                if failures <= 3 {
                    println!("{failure}\n  {:?}", scenario.events);
                } else {
                    println!("seed {seed}: {}: {}", failure.rule, failure.what);
                }
                if flaw.is_some() {
                    break;
                }
            }
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{count} seeds from {first}, {failures} failed, {seconds:.1} s\n{total:#?}");
    ExitCode::from(u8::from((failures > 0) != flaw.is_some()))
}

fn add(total: &mut Report, report: &Report) {
    total.took += report.took;
    total.steps += report.steps;
    total.pages += report.pages;
    total.requests += report.requests;
    total.again += report.again;
    total.late += report.late;
    total.pauses_at_gate += report.pauses_at_gate;
    total.entries += report.entries;
    total.pairs += report.pairs;
    total.most_hops = total.most_hops.max(report.most_hops);
    total.handed += report.handed;
    total.evicted += report.evicted;
    total.messages += report.messages;
    total.swaps += report.swaps;
    total.purged += report.purged;
    total.renumbered += report.renumbered;
    total.recalled += report.recalled;
}
