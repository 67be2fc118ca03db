//! Conditional requests: believed where they are true, given up where they lie.

mod crawling;

use crawling::{Crawler, impolite, serve};
use simulation::small_web::Kind;
use simulation::web::spec::Validators;
use simulation::web::{Visit, WebSpec};
use storage::{Outcome, Position, Reader};

/// Days of web time in a second: a page changes every second or so.
const DAYS_PER_SECOND: f64 = 2.0;
const SECONDS: f64 = 8.0;
const DELAY: f64 = 0.01;

struct Crawled {
    /// Visits to pages.
    visits: Vec<Visit>,
    /// Those that were told "unchanged" of a page that had changed since it was copied, by the server's record.
    lies: usize,
    /// Changes that were noticed in the second half.
    changed: usize,
    log: String,
}

/// Crawls a web in which all hosts say the same of their versions.
fn crawl(validators: Validators) -> Crawled {
    let (web, running) = serve(
        &WebSpec {
            hosts: 2,
            largest: 12,
            kinds: [(Kind::Poisson, 1.0)].into(),
            rates: (0.5, 0.6),
            validators: [(validators, 1.0)].into(),
            ..WebSpec::plain()
        },
        DAYS_PER_SECOND * 86_400.0,
    );
    let mut crawler = Crawler::of_web(&web, &running)
        .delay(DELAY)
        .with("revisit.budget", "\"30/second\"");
    let ended = crawler
        .start(&["--json", "--verbose"])
        .interrupted_after(SECONDS);
    let visits = running.record.visits();
    assert_eq!(impolite(&web, &visits, DELAY, |_, _| false), 0);
    let pages = visits
        .into_iter()
        .filter(|visit| &*visit.path != "/robots.txt");
    let reader = Reader::open(&crawler.state()).unwrap();
    let seen = reader.observations(Position(0)).unwrap();
    let seen: Vec<_> = seen.map(Result::unwrap).collect();
    let changed = seen[seen.len() / 2..].iter();
    let changed = changed
        .filter(|seen| seen.outcome == Outcome::Changed)
        .count();
    crawler.verify_archive();
    let visits: Vec<Visit> = pages.collect();
    let mut copied = vec![0.0; web.pages().len()];
    let mut lies = 0;
    for visit in &visits {
        let Some(number) = web.find(&visit.host, &visit.path) else {
            continue;
        };
        let (page, at) = (&web.pages()[number], running.clock.web(visit.start));
        if visit.complete {
            copied[number] = at;
        } else if visit.status == 304 {
            lies += usize::from(page.version(copied[number]) != page.version(at));
        }
    }
    Crawled {
        visits,
        lies,
        changed,
        log: ended.err,
    }
}

#[test]
fn a_host_whose_validators_lie_is_soon_found_out() {
    let crawled = crawl(Validators::Frozen);
    let (visits, changed, log) = (crawled.visits, crawled.changed, crawled.log);
    assert!(log.contains("its validators lie"), "{log}");
    assert!(crawled.lies <= 20, "{} lies were believed", crawled.lies);
    let last = &visits[visits.len() / 2..];
    assert!(
        last.iter().all(|visit| !visit.conditional),
        "still believed"
    );
    assert!(
        last.len() > 20 && changed > last.len() / 10,
        "{changed} changes in {}",
        last.len()
    );
}

#[test]
fn a_truthful_host_is_asked_conditionally() {
    let crawled = crawl(Validators::Tag);
    let (visits, changed, log) = (crawled.visits, crawled.changed, crawled.log);
    assert_eq!(crawled.lies, 0);
    assert!(!log.contains("its validators lie"), "{log}");
    let last = &visits[visits.len() / 2..];
    let conditional = last.iter().filter(|visit| visit.conditional);
    let (same, new): (Vec<&Visit>, Vec<_>) = conditional.partition(|visit| visit.status == 304);
    assert!(last.len() > 20 && same.len() + new.len() > last.len() / 2);
    assert!(!same.is_empty() && !new.is_empty());
    // audits go on, and true changes are noticed
    assert!(last.iter().any(|visit| !visit.conditional) && changed > 0);
}
