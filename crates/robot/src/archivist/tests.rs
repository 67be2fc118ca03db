//! What pages embed is admitted once, and asked for again when its page changed.

use super::*;
use crate::clock::Now;
use crate::message::{Done, Found};
use crate::notes::Cut;
use storage::{PageId, PageRow, REQUISITE, StoreOptions};
use url::Url;

const HOUR: f64 = 3600.0;

fn found(url: &str, depth: u16, wall: f64) -> Found {
    Found {
        url: Url::parse(url).unwrap(),
        key: url.into(),
        depth,
        from: None,
        changed: None,
        at: millis(wall),
    }
}

/// A visit that found a copy with these links.
fn visited(page: PageId, wall: f64, outcome: Outcome, links: Vec<Found>) -> Write {
    Write::Visited(Box::new(Visited {
        done: Done {
            page,
            host: HostId(0),
            new: false,
            at: Now { at: wall, wall },
            result: VisitResult::Copy {
                outcome,
                modified: None,
            },
            failures: 0,
            liar: None,
            cut: Cut::default(),
            requisite: false,
            terms: crate::overrides::Overrides::default().usual_terms(),
        },
        row: Some(PageRow {
            last_visit: Some(millis(wall)),
            ..PageRow::default()
        }),
        status: 200,
        millis: 0,
        delay: None,
        bytes: 0,
        record: None,
        request: None,
        links,
        redirect: false,
        print: None,
    }))
}

#[test]
fn requisites_are_asked_for_again_when_a_page_changed_but_not_for_every_page() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    let traps = Traps::new(frontier::trap::TrapConfig::default());
    let mut archivist = Archivist::new(store, None, traps);
    let write = |archivist: &mut Archivist, write| archivist.write(vec![write]).unwrap();
    let began = 1e9;
    let first = write(
        &mut archivist,
        Write::Links(vec![found("http://h/", 0, began)]),
    );
    let (page, _) = first.pages[0];
    let style = |wall: f64| vec![found("http://h/style.css", REQUISITE, wall)];
    let stored = write(
        &mut archivist,
        visited(page, began, Outcome::FirstSeen, style(began)),
    );
    let requisite = stored.requisites[0];
    assert_eq!(stored.pages.len(), 1);
    let had = visited(requisite, began, Outcome::FirstSeen, Vec::new());
    write(&mut archivist, had);

    let mut again = |after: f64, outcome: Outcome| {
        let wall = began + after;
        write(&mut archivist, visited(page, wall, outcome, style(wall))).again
    };
    assert!(again(0.5 * HOUR, Outcome::Changed).is_empty());
    assert!(again(2.0 * HOUR, Outcome::Unchanged).is_empty());
    assert!(again(2.0 * HOUR, Outcome::Minor).is_empty());
    assert_eq!(again(2.0 * HOUR, Outcome::Changed), [requisite]);
}

#[test]
fn whoever_names_a_page_gets_it_whatever_its_url_looks_like() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    let traps = Traps::new(frontier::trap::TrapConfig::default());
    let mut archivist = Archivist::new(store, None, traps);
    let long = |n: usize| {
        let url = format!("http://h/?{n}={}", "x".repeat(2500));
        vec![found(&url, 0, 1e9)]
    };
    let mut write = |write| archivist.write(vec![write]).unwrap();
    let found = write(Write::Links(long(1)));
    assert_eq!((found.pages.len(), found.trapped), (0, 1));
    for named in [Write::Seeds(long(2)), Write::Wanted(long(3))] {
        let stored = write(named);
        assert_eq!((stored.pages.len(), stored.trapped), (1, 0));
    }
}
