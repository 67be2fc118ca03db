//! A crawl that is killed at random moments (`kill -9`) loses nothing, forgets no manners, and does
//! little twice. `scripts/storm kills 1000` does it a thousand times.

mod crawling;
#[path = "../../storage/tests/python/mod.rs"]
mod python;

use crawling::{Crawler, impolite, serve};
use python::python;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulation::web::spec::{Robots, Sitemap};
use simulation::web::{Visit, WebSpec};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::time::{Duration, Instant};
use storage::PageState;

/// Kills, unless `EVERCRAWL_KILLS` says otherwise; and so many at most of one crawl, which would be
/// done before there are more.
const KILLS: usize = 20;
const KILLS_OF_A_CRAWL: usize = 50;
/// Milliseconds between a start and the kill; of every other life, between its first request and the
/// kill, for a busy machine may take longer to start.
const LIFE: std::ops::Range<u64> = 50..400;
const DELAY: f64 = 0.03;
const CONNECTIONS: usize = 8;
/// After every Nth kill the last WARC record is left half written.
const TEAR_EVERY: usize = 3;

/// Begins a record at the end of the last WARC file, as a kill in the middle of a write does.
fn tear(crawler: &Crawler) -> bool {
    let files = storage::archive::files(&crawler.archive()).unwrap_or_default();
    let Some((number, file)) = files.last() else {
        return false;
    };
    // nobody writes to a file that is complete
    let complete = format!("evercrawl-{number:05}.cdxj");
    if crawler.archive().join(complete).exists() {
        return false;
    }
    let mut bytes = fs::read(file).unwrap();
    if bytes.len() < 100 {
        return false;
    }
    // the first record is longer than this
    bytes.extend_from_within(..60);
    fs::write(file, bytes).unwrap();
    true
}

fn page_of(visit: &Visit) -> Option<(String, String)> {
    let is_page = &*visit.path != "/robots.txt";
    is_page.then(|| (visit.host.to_string(), visit.path.to_string()))
}

/// Forbidden pages, slow hosts, shared addresses, a host that asks for more time.
fn spec() -> WebSpec {
    WebSpec {
        hosts: 6,
        largest: 450,
        robots: [
            (Robots::Plain, 4.0),
            (Robots::Delay, 1.0),
            (Robots::Absent, 1.0),
        ]
        .into(),
        sitemaps: [(Sitemap::Absent, 1.0), (Sitemap::Truthful, 1.0)].into(),
        disallowed: 0.04,
        shared_addresses: 0.2,
        crawl_delay: 0.1,
        latency_ms: (0.0, 5.0),
        ..WebSpec::plain()
    }
}

#[test]
fn killed_at_random_moments() {
    let began = Instant::now();
    let wanted = std::env::var("EVERCRAWL_KILLS").ok();
    let wanted = wanted.map_or(KILLS, |kills| kills.parse().expect("a number of kills"));
    let (mut kills, mut requests) = (0, 0);
    for seed in 0.. {
        let now = (wanted - kills).min(KILLS_OF_A_CRAWL);
        if now == 0 {
            break;
        }
        requests += crawl_killed(now, seed);
        kills += now;
        let seconds = began.elapsed().as_secs_f64();
        eprintln!("{kills} kills, {requests} requests: no URL lost, none too soon; {seconds:.0} s");
    }
}

/// One crawl from its start to its end, over this many kills; returns the requests it took.
fn crawl_killed(kills: usize, seed: u64) -> usize {
    let began = Instant::now();
    let (web, running) = serve(&spec(), 1.0);
    let mut crawler = Crawler::of_web(&web, &running)
        .delay(DELAY)
        .with("budget.connections", CONNECTIONS.to_string())
        // several files
        .with("archive.rotate_bytes", "600000");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut known = BTreeSet::new();
    let mut fetched = HashSet::new();
    let mut requested = HashSet::new();
    let (mut twice, mut most_twice, mut requests) = (0, 0, 0);
    let (mut torn, mut mended) = (0, 0);
    for life in 0..=kills {
        let last = life == kills;
        let process = crawler.start(&["--once"]);
        let ended = if last {
            process.succeeds_within(120)
        } else {
            let patience = Instant::now() + Duration::from_secs(10);
            while life % 2 == 1 && running.record.len() == requests && Instant::now() < patience {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(random.random_range(LIFE)));
            let ended = process.kill();
            assert!(
                !ended.status.success(),
                "there was nothing left to do in life {life}"
            );
            ended
        };
        assert!(!ended.err.contains("error"), "{}", ended.err);
        mended += ended.err.matches("unfinished record").count();

        let visits = running.record.visits();
        let mut again = 0;
        for page in visits[requests..].iter().filter_map(page_of) {
            assert!(!fetched.contains(&page), "{page:?} again in life {life}");
            again += usize::from(!requested.insert(page));
        }
        requests = visits.len();
        twice += again;
        most_twice = most_twice.max(again);

        if known.is_empty() && storage::Reader::open(&crawler.state()).is_err() {
            continue; // killed before there was a store
        }
        let mut now_known = BTreeSet::new();
        for page in crawler.pages() {
            let url = url::Url::parse(&page.url).unwrap();
            if page
                .row
                .as_ref()
                .is_some_and(|row| row.last_visit.is_some())
            {
                let host = url.host_str().unwrap().to_owned();
                fetched.insert((host, url.path().to_owned()));
            }
            now_known.insert(page.url);
        }
        let lost: Vec<_> = known.difference(&now_known).collect();
        assert!(lost.is_empty(), "{lost:?} lost in life {life}");
        known = now_known;
        if !last && life % TEAR_EVERY == 0 {
            torn += usize::from(tear(&crawler));
        }
    }

    let pages = crawler.pages();
    let live = |url: &str| {
        let page = pages.iter().find(|page| page.url == url);
        let row = page.and_then(|page| page.row.as_ref());
        row.is_some_and(|row| row.state == PageState::Live && row.place.is_some())
    };
    for (number, page) in web.pages().iter().enumerate() {
        let url = web.url(number, running.port);
        assert_eq!(live(&url), page.allowed, "{url}");
    }
    let visits = running.record.visits();
    // whoever died before writing down what robots.txt asks for can but ask again
    let excused = |visit: &Visit, gap: f64| &*visit.path == "/robots.txt" && gap >= DELAY;
    assert_eq!(impolite(&web, &visits, DELAY, excused), 0);
    // what was under way, and what waited for its commit, which a busy machine puts off
    assert!(
        most_twice <= 4 * CONNECTIONS && twice <= kills * CONNECTIONS,
        "{twice} pages twice, {most_twice} after one kill"
    );
    assert!(
        kills < KILLS || torn > 0 && mended > 0,
        "{torn} torn, {mended} mended"
    );
    let records = crawler.verify_archive();
    eprintln!(
        "{kills} kills, {} pages, {} requests, {twice} twice (at most {most_twice} after a kill), \
         {torn} records torn, {mended} mended, {records} records in {:.1} s",
        web.pages().len(),
        visits.len(),
        began.elapsed().as_secs_f64()
    );
    check_with_warcio(&crawler);
    visits.len()
}

fn check_with_warcio(crawler: &Crawler) {
    let Some(mut check) = python("warcio") else {
        return;
    };
    let files = storage::archive::files(&crawler.archive()).unwrap();
    let files: Vec<_> = files.into_iter().map(|(_, path)| path).collect();
    assert!(files.len() > 1, "no file was full");
    let checked = check
        .args(["-m", "warcio.cli", "check"])
        .args(&files)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{text}");
}
