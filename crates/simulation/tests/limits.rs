//! How often pages are revisited by default, in virtual time: static sites cost little, news are
//! followed as closely as allowed, and first things come first.

use robot::config::{Config, Revisit};
use simulation::bottle::{Bottle, BottleReport, BottleSpec, BottleWeb};

const DAY: f64 = 86_400.0;
/// Seconds, by default.
const LEAST_INTERVAL: f64 = 300.0;

/// One host of pages that change as often as this on the average, its home page as often as that.
fn site(pages: usize, every: f64, home: f64, days: f64) -> BottleSpec {
    BottleSpec {
        seed: 1,
        web: BottleWeb {
            hosts: 1,
            pages,
            change_every: (every, every),
            home_changes_every: Some(home),
            turnover: 0.0,
            silent: 0.0,
            slowest: 0.2,
            patience: None,
            robots_hold: None,
            crowd: 0,
        },
        stormy: 0.0,
        calm: days * DAY,
        kills: 0,
        full_disks: 0,
        clock_steps: 0,
        interval: 1.0,
        connections: 64,
        revisit: Revisit::default(),
        restarts: Vec::new(),
        moves: false,
        flaw: None,
    }
}

fn run(spec: BottleSpec) -> BottleReport {
    let directory = tempfile::tempdir().unwrap();
    let bottle = Bottle::new(spec, directory.path()).unwrap();
    bottle.run().unwrap()
}

/// Visits on each day.
fn by_day(report: &BottleReport) -> Vec<usize> {
    let mut days = Vec::new();
    for &(at, _) in &report.visits {
        let day = (at / DAY) as usize;
        days.resize(days.len().max(day + 1), 0);
        days[day] += 1;
    }
    days
}

/// The times of a page's visits from this day on.
fn since(visits: &[f64], from: f64) -> impl Iterator<Item = f64> + '_ {
    let start = visits[0];
    let visits = visits.iter().map(move |at| at - start);
    visits.filter(move |&at| at >= from * DAY)
}

#[test]
fn a_static_site_costs_little_after_two_weeks() {
    let report = run(site(500, 1e12, 1e12, 28.0));
    let days = by_day(&report);
    println!("visits by day: {days:?}");
    let late = &days[14..];
    let mean = late.iter().sum::<usize>() as f64 / late.len() as f64;
    println!(
        "{mean:.0} a day from the third week on, {} requests for robots.txt",
        report.robots
    );
    // robots.txt is asked for once a day besides
    assert!(mean + 2.0 < 200.0, "{mean} visits a day");
    assert!(report.robots <= 30);
}

#[test]
fn news_are_followed_as_closely_as_the_least_interval_allows() {
    let report = run(site(50, 3600.0, 180.0, 6.0));
    for (page, visits) in &report.by_page {
        let closest = visits.windows(2).map(|two| two[1] - two[0]);
        let closest = closest.fold(f64::INFINITY, f64::min);
        assert!(
            closest >= LEAST_INTERVAL - 0.5,
            "page {page} after {closest} s"
        );
    }
    let most = DAY / LEAST_INTERVAL;
    let home = since(&report.by_page[&0], 5.0).count() as f64;
    let others = report.by_page.len() as f64 - 1.0;
    let all: usize = report
        .by_page
        .values()
        .map(|visits| since(visits, 5.0).count())
        .sum();
    let mean = (all as f64 - home) / others;
    println!("on the last day: the home page {home}, others {mean:.0} on the average, of {most}");
    assert!(home > 0.9 * most, "{home} visits to the home page");
    assert!(mean > 0.8 * most, "{mean} visits to others");
}

#[test]
fn news_are_followed_as_closely_as_the_budget_allows() {
    let mut spec = site(50, 3600.0, 180.0, 4.0);
    spec.revisit.budget = "2000/day".into();
    let report = run(spec);
    let last = by_day(&report)[3];
    println!(
        "{last} visits on the last day of 2000; {:.3} fresh",
        report.fresh
    );
    assert!((1900..=2040).contains(&last), "{last} visits");
}

/// While hundreds of pages wait for their first visit, the home page is not asked again and again.
#[test]
fn first_things_first() {
    let share_of_new = Config::default().budget.share_of_new;
    for (name, revisit) in [
        ("default", Revisit::default()),
        (
            "eager",
            Revisit {
                budget: "100%".into(),
                least_interval: "0".into(),
                least_chance: 0.0,
                first_guess_days: 1e-4,
                ..Revisit::default()
            },
        ),
    ] {
        let report = run(BottleSpec {
            revisit,
            ..site(500, 600.0, 10.0, 0.1)
        });
        let mut seen = std::collections::HashSet::new();
        let new: Vec<bool> = (report.visits.iter())
            .map(|&(_, page)| seen.insert(page))
            .collect();
        let end = new.iter().rposition(|&new| new).unwrap();
        let again = new[..end].iter().filter(|new| !**new).count() as f64;
        let share = again / end as f64;
        let home = report.by_page[&0].iter();
        let seconds = report.visits[end].0;
        let start = report.by_page[&0][0];
        let home = home.filter(|&&at| at - start < seconds).count();
        println!(
            "{name}: {end} visits in {seconds:.0} s, {share:.3} again, the home page {home} times"
        );
        assert!(share <= 1.0 - share_of_new + 0.01, "{name}: {share}");
        if name == "default" {
            assert!(
                home as f64 <= 1.0 + seconds / LEAST_INTERVAL,
                "{home} in {seconds} s"
            );
        } else {
            assert!(share > 0.5 * (1.0 - share_of_new), "{name}: no revisits");
        }
    }
}

/// A large host that asks for a day of patience, and then for another, takes nothing from the revisits of others,
/// neither while it waits nor when its day is over.
#[test]
fn whoever_asks_for_patience_keeps_nobody_else_waiting() {
    const PAGES: usize = 1300;
    let visits = |patience| {
        let mut spec = site(PAGES, 2.0 * 3600.0, 1800.0, 1.5);
        spec.web.hosts = 2;
        spec.web.patience = patience;
        let report = run(spec);
        let of_second = report.by_page.iter().filter(|(page, _)| **page >= PAGES);
        let late = of_second.flat_map(|(_, visits)| visits.iter());
        let start = report.by_page[&PAGES][0];
        let mut hours = vec![0; 36];
        for at in late {
            hours[((at - start) / 3600.0).clamp(0.0, 35.0) as usize] += 1;
        }
        hours
    };
    let (alone, beside) = (visits(None), visits(Some((0.3 * DAY, DAY))));
    println!("visits by hour: {alone:?} without, {beside:?} beside it");
    // what politeness allows is less by then, and so is the budget: a fifth of it
    for hours in (2..35).step_by(3) {
        let sum = |visits: &[i32]| f64::from(visits[hours..hours + 3].iter().sum::<i32>());
        let (alone, beside) = (sum(&alone), sum(&beside));
        assert!(beside >= 0.85 * alone, "hour {hours}: {beside} of {alone}");
    }
}

/// New pages that cannot be had keep nobody waiting: a host that asks for a day of patience while most of its
/// pages were never seen takes nothing from the revisits of others, which could use all that is allowed.
#[test]
fn new_pages_that_cannot_be_had_leave_their_share_to_revisits() {
    const PAGES: usize = 60;
    const HOSTS: usize = 21;
    let visits = |patience| {
        let mut spec = site(PAGES, 600.0, 60.0, 0.02);
        spec.web.hosts = HOSTS;
        spec.web.patience = patience;
        spec.revisit = Revisit {
            budget: "100%".into(),
            least_interval: "0".into(),
            least_chance: 0.0,
            ..Revisit::default()
        };
        let report = run(spec);
        let first = report.by_page[&0][0];
        let others = report.by_page.iter().filter(|(page, _)| **page >= PAGES);
        let late = others.flat_map(|(_, visits)| visits.iter());
        // by then all others know all their pages
        late.filter(|&&at| at - first > 1000.0).count() as f64
    };
    let (alone, beside) = (visits(None), visits(Some((20.0, DAY))));
    println!("{alone} revisits without, {beside} beside new pages that wait");
    let few = Config::default().budget.requests_per_second * 0.1 * 728.0;
    assert!(alone > 1.5 * few, "{alone} show nothing");
    assert!(beside >= 0.9 * alone, "{beside} of {alone}");
}

/// A host that answers nothing but 503 is asked at ever longer intervals, whether the robot is killed
/// meanwhile or not. A kill may cost the last step, which was not on disk yet.
#[test]
fn back_off_goes_on_after_a_restart() {
    const PAGES: usize = 14;
    const TROUBLE: f64 = 20.0;
    for (seed, kills) in [(1, 0), (2, 4), (3, 12), (4, 12)] {
        let mut spec = site(PAGES, 3600.0, 3600.0, 0.0);
        spec.web.hosts = 4;
        spec.web.patience = Some((TROUBLE, 0.0));
        (spec.seed, spec.kills) = (seed, kills);
        (spec.stormy, spec.calm) = (40_000.0, 4000.0);
        spec.revisit.budget = "100%".into();
        spec.revisit.least_interval = "0".into();
        spec.revisit.least_chance = 0.0;
        let report = run(spec);
        let first = report.by_page[&0][0];
        let of_host = report.by_page.iter().filter(|(page, _)| **page < PAGES);
        let mut asked: Vec<f64> = of_host.flat_map(|(_, visits)| visits.clone()).collect();
        asked.retain(|at| at - first > TROUBLE);
        asked.sort_by(f64::total_cmp);
        let gaps: Vec<f64> = asked.windows(2).map(|two| two[1] - two[0]).collect();
        println!("{kills} kills: {gaps:.0?}");
        let least = (0..).map(|step| (2.5 * 2f64.powi(step)).min(1800.0));
        let early = gaps.iter().zip(least).find(|(gap, least)| **gap < *least);
        assert_eq!(early, None, "{kills} kills: {gaps:?}");
        assert!(gaps.len() >= 12, "it is asked again all the same: {gaps:?}");
    }
}

/// Two robots live through the same; one is restarted now and then. They do the same.
#[test]
fn a_restart_changes_no_decision() {
    nothing_changes(false);
}

/// The same when another robot takes all hosts over each time, from what was exported of them: the same due
/// times and beliefs to the last bit (the bottle compares them), the same visits at the same times, within the
/// second that a host is left alone: ages are told in milliseconds, and a robots.txt that is due with a page may have its turn
/// before it or after it.
#[test]
fn a_move_to_another_crawl_changes_no_decision() {
    nothing_changes(true);
}

fn nothing_changes(moves: bool) {
    let mut spec = site(40, 20_000.0, 2000.0, 4.0);
    spec.web.hosts = 3;
    spec.web.slowest = 0.0;
    spec.revisit.budget = "2000/day".into();
    let without = run(spec.clone());
    spec.restarts = vec![0.5 * DAY, 1.1 * DAY, 2.3 * DAY, 3.0 * DAY];
    spec.moves = moves;
    let with = run(spec);
    assert_eq!((without.restarts, with.restarts), (0, 4));
    // pages are numbered anew where they move to: those of the web are what they are
    let mut visits = 0;
    for (page, times) in &without.by_page {
        let other = &with.by_page[page];
        let differ = |(a, b): &(&f64, &f64)| (*a - *b).abs() > 1.001;
        assert_eq!(times.iter().zip(other).find(differ), None, "page {page}");
        assert_eq!(times.len(), other.len(), "page {page}");
        visits += times.len();
    }
    assert_eq!(without.by_page.len(), with.by_page.len());
    assert!(visits > 3000);
}
