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

/// Crawls a web in which all hosts say the same of their versions; returns the visits to pages, how
/// many changes were noticed in the second half, and what was logged.
fn crawl(validators: Validators) -> (Vec<Visit>, usize, String) {
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
        .with("revisit.budget", "\"30/second\"")
        .with("revisit.first_guess_days", "0.00001")
        .with("revisit.audit_every", "5");
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
    (pages.collect(), changed, ended.err)
}

#[test]
fn a_host_whose_validators_lie_is_found_by_auditing() {
    let (visits, changed, log) = crawl(Validators::Frozen);
    assert!(log.contains("its validators lie"), "{log}");
    let believed = visits.iter().filter(|visit| visit.status == 304).count();
    assert!(believed > 0, "it was never believed");
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
    let (visits, changed, log) = crawl(Validators::Tag);
    assert!(!log.contains("its validators lie"), "{log}");
    let last = &visits[visits.len() / 2..];
    let conditional = last.iter().filter(|visit| visit.conditional);
    let (same, new): (Vec<&Visit>, Vec<_>) = conditional.partition(|visit| visit.status == 304);
    assert!(last.len() > 20 && same.len() + new.len() > last.len() / 2);
    assert!(!same.is_empty() && !new.is_empty());
    // audits go on, and true changes are noticed
    assert!(last.iter().any(|visit| !visit.conditional) && changed > 0);
}
