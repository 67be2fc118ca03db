use super::*;

#[test]
fn a_calm_fleet_finds_everything() {
    for robots in [1, 2, 5] {
        let report = run(&Scenario::calm(1, robots)).unwrap_or_else(|failure| panic!("{failure}"));
        eprintln!("{report:?}");
    }
}
