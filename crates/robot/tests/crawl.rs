//! The robot against the demo web, over real sockets.

use robot::config::Config;
use robot::view::Status;
use robot::{Until, archive_directory, start, state_directory};
use simulation::web::{
    Audit, Clock, Rules, Running, Server, Visit, Web, WebSpec, check_politeness,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::{PageState, Reader};

/// Seconds between two requests to a host or address in these tests.
const DELAY: f64 = 0.01;

fn config(web: &Web, running: &Running, data: &Path) -> Config {
    let mut config = running.crawl_config(web, DELAY, data);
    config.fetch.first_byte_seconds = 1.0;
    config.fetch.body_seconds = 2.0;
    // pages change within seconds here
    config.revisit.least_interval = "0".into();
    config.revisit.least_chance = 0.0;
    config
}

fn crawl_once(config: &Config) -> Status {
    let crawl = start(config, Until::FetchedOnce).unwrap();
    let began = Instant::now();
    while !crawl.is_over() {
        assert!(
            began.elapsed() < Duration::from_mins(1),
            "{:#?}",
            crawl.status()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    crawl.wait().unwrap()
}

fn impolite(web: &Web, visits: &[Visit]) -> usize {
    let rules = Rules {
        host_delay: DELAY,
        address_delay: DELAY,
        crawl_delay: web.crawl_delays(),
        ..Rules::default()
    };
    let violations = check_politeness(visits, &rules);
    for violation in violations.iter().take(5) {
        eprintln!(
            "{violation:?}: {:?}, {:?}",
            visits[violation.before], visits[violation.visit]
        );
    }
    violations.len()
}

#[test]
fn every_page_is_fetched_once_and_archived() {
    let spec = WebSpec {
        hosts: 6,
        largest: 30,
        ..WebSpec::plain()
    };
    let web = Arc::new(Web::new(&spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = config(&web, &running, directory.path());
    let status = crawl_once(&config);
    let visits = running.record.visits();
    assert_eq!(impolite(&web, &visits), 0);
    assert_eq!(
        status.first_visits as usize,
        web.pages().len(),
        "{status:#?}"
    );
    let mut paths: Vec<_> = visits
        .iter()
        .map(|v| (v.host.clone(), v.path.clone()))
        .collect();
    paths.sort();
    let requests = paths.len();
    paths.dedup();
    assert_eq!(paths.len(), requests, "a page was fetched twice");

    let verified = storage::archive::verify(&archive_directory(directory.path())).unwrap();
    assert_eq!(verified.flaws, []);
    assert!(verified.records as usize > web.pages().len());
    let reader = Reader::open(&state_directory(directory.path())).unwrap();
    let live = reader.pages().unwrap().filter(|page| {
        let row = page.as_ref().unwrap().row.as_ref();
        row.is_some_and(|row| row.state == PageState::Live && row.place.is_some())
    });
    assert_eq!(live.count(), web.pages().len());

    // a second start refreshes every page once, and asks for robots.txt no sooner than it must
    let before = running.record.len();
    let again = crawl_once(&config);
    assert_eq!(again.first_visits, 0);
    assert_eq!(again.revisits as usize, web.pages().len());
    assert_eq!(again.pages_fetched as usize, web.pages().len());
    assert_eq!(running.record.len(), before + web.pages().len());
    assert_eq!(impolite(&web, &running.record.visits()), 0);
}

#[test]
fn an_odd_web_is_survived_politely() {
    let spec = WebSpec {
        hosts: 30,
        largest: 20,
        latency_ms: (0.0, 2.0),
        crawl_delay: 0.05,
        ..WebSpec::full()
    };
    let web = Arc::new(Web::new(&spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(10_000.0)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&web, &running, directory.path());
    config.traps.per_prefix = 60;
    config.fetch.max_bytes = 1 << 20;
    config.fetch.max_decoded_bytes = 4 << 20;
    let crawl = start(&config, Until::Stopped).unwrap();
    std::thread::sleep(Duration::from_secs(15));
    let stopping = Instant::now();
    crawl.stop();
    let status = crawl.wait().unwrap();
    assert!(
        stopping.elapsed() < Duration::from_secs(2),
        "{:?}",
        stopping.elapsed()
    );
    let visits = running.record.visits();
    assert_eq!(impolite(&web, &visits), 0);
    let forbidden = |visit: &&Visit| {
        web.find(&visit.host, &visit.path)
            .is_some_and(|page| !web.pages()[page].allowed)
    };
    assert_eq!(visits.iter().find(forbidden), None);
    // hosts that do not answer are left alone for longer and longer, so not all is reached in time
    let audit = Audit::new(&web, running.clock, &visits);
    let known = audit.known(running.now());
    assert!(known >= 30, "{known} known; {status:#?}");
    let verified = storage::archive::verify(&archive_directory(directory.path())).unwrap();
    assert_eq!(verified.flaws, []);
}
