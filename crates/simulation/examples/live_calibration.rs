//! What the robot says of the demo web while it crawls it, against the server's own record. Rows of
//! CSV on standard output. Arguments: seconds of each crawl, seed, and the number of a web if not all.

use robot::config::Count;
use simulation::calibration::live::{Live, judge};
use simulation::calibration::{CLASSES, Held, Stated};
use simulation::small_web::Kind;
use simulation::web::WebSpec;
use simulation::web::spec::Robots;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().map_or(Ok(90.0), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let plain = |rates| WebSpec {
        seed,
        hosts: 10,
        largest: 60,
        size_exponent: 0.5,
        kinds: [(Kind::Poisson, 1.0)].into(),
        rates,
        days: seconds + 30.0,
        ..WebSpec::plain()
    };
    let mut odd = WebSpec {
        latency_ms: (0.1, 3.0),
        crawl_delay: 0.05,
        hosts: 20,
        days: seconds + 30.0,
        seed,
        ..WebSpec::default()
    };
    // a robots.txt that cannot be had is asked for again after minutes
    odd.robots.remove(&Robots::Failing);
    let worlds = [
        ("five decades", plain((1e-3, 1e2)), 150.0, Count::Body),
        ("three decades", plain((1e-2, 1e1)), 150.0, Count::Body),
        ("one rate", plain((0.3, 0.3)), 100.0, Count::Body),
        // the same pages, but what differs at nearly every look is noise
        ("three decades", plain((1e-2, 1e1)), 150.0, Count::Text),
        ("demo", odd, 150.0, Count::Text),
    ];
    println!(
        "world,count,budget,seconds,seed,requests,stated,true,status_stated,status_true,status_within,rate_held,rate_above,told,minor,unseen,false_alarms,same,by_visits,held_by_visits"
    );
    let only = arguments.next();
    let is_asked = |number: usize| only.as_ref().is_none_or(|only| *only == number.to_string());
    let worlds = (0..).zip(worlds).filter(|(number, _)| is_asked(*number));
    for (_, (name, web, budget, count)) in worlds {
        let data =
            std::env::temp_dir().join(format!("evercrawl-calibration-{}", std::process::id()));
        let live = Live {
            web,
            seconds,
            budget,
            count,
        };
        let found = judge(&live, &data);
        // scratch that stays behind harms nobody
        let _ = std::fs::remove_dir_all(&data);
        let found = found?;
        let (known, rates) = (found.known(), found.known_rates());
        let excess = |(from, class): (&u32, &Stated)| format!("{from}+ {:+.3}", class.excess());
        let held = |(from, class): (&u32, &Held)| format!("{from}+ {:.3}", class.share());
        let by = |words: Vec<String>| words.join(" ");
        println!(
            "{name},{count:?},{budget},{seconds},{seed},{},{:.4},{:.4},{:.4},{:.4},{:.3},{:.3},{:.3},{},{},{},{},{},{},{}",
            found.requests,
            known.stated / known.looks,
            known.truth / known.looks,
            found.all.stated / found.all.looks,
            found.all.truth / found.all.looks,
            found.within.share(),
            rates.share(),
            rates.above / rates.tested,
            found.verdicts.told,
            found.verdicts.minor,
            found.verdicts.unseen,
            found.verdicts.false_alarms,
            found.verdicts.same,
            by(CLASSES.iter().zip(&found.by_visits).map(excess).collect()),
            by(CLASSES.iter().zip(&found.rates).map(held).collect()),
        );
    }
    Ok(())
}
