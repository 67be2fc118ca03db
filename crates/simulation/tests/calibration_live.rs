//! A real crawl of the demo web: is what the robot says of its pages what the server's record says?

use robot::config::Count;
use simulation::calibration::live::{Live, judge};
use simulation::small_web::Kind;
use simulation::web::WebSpec;

/// Rates over five orders of magnitude, a first guess of a week where a change takes a second or so.
#[test]
fn what_a_robot_says_of_its_pages_is_what_the_server_knows() {
    check((1e-3, 1e2), Count::Body);
}

/// By their text, of which some is taken for noise: pages that are looked at often were said to be fresher
/// than they are.
#[test]
fn what_is_taken_for_noise_makes_no_page_fresher() {
    check((1e-2, 1e1), Count::Text);
}

fn check(rates: (f64, f64), count: Count) {
    let seconds = 40.0;
    let live = Live {
        web: WebSpec {
            hosts: 10,
            largest: 60,
            size_exponent: 0.5,
            kinds: [(Kind::Poisson, 1.0)].into(),
            rates,
            days: seconds + 30.0,
            ..WebSpec::plain()
        },
        seconds,
        budget: 150.0,
        count,
    };
    let data = tempfile::tempdir().unwrap();
    let found = judge(&live, data.path()).unwrap();
    let (known, rates) = (found.known(), found.known_rates());
    assert!(rates.tested >= 200.0, "{found:#?}");
    assert!(known.excess().abs() < 0.03, "{} {found:#?}", known.excess());
    assert!(rates.share() >= 0.85, "{} {found:#?}", rates.share());
    // all copies, those that were hardly visited too
    assert!(found.all.excess().abs() < 0.05, "{found:#?}");
}
