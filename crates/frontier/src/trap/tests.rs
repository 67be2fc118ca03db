//! Traps and what gets past them.

use proptest::prelude::*;
use url::Url;

use super::{Trap, TrapConfig, Traps};

fn url(path: &str) -> Url {
    Url::parse(&format!("http://h{path}")).expect("a URL")
}

fn admit(traps: &mut Traps, path: &str) -> Result<(), Trap> {
    traps.admit("h", &url(path))
}

#[test]
fn shapes() {
    let mut traps = Traps::new(TrapConfig {
        path_depth: 12,
        ..Default::default()
    });
    let mut check = |path: &str, expected| assert_eq!(admit(&mut traps, path), expected, "{path}");
    check("/", Ok(()));
    check("/a/b/a/b/a/b", Err(Trap::Repeats(2)));
    check("/a/b/a/b/a/b/", Err(Trap::Repeats(2)));
    check("/x/y/a/b/a/b/a/b/z", Err(Trap::Repeats(2)));
    check("/a/a/a", Err(Trap::Repeats(2)));
    check("/a/b/c/a/b/c/a/b/c", Err(Trap::Repeats(2)));
    check("/a/b/c/d/a/b/c/d/a/b/c/d", Err(Trap::Repeats(2)));
    check("/a/a/b/b/a/a", Ok(()));
    check("/a/b/a/b/a/c", Ok(()));
    check("/2011/11/11/11-things", Ok(()));
    check("/1/2/3/4/5/6/7/8/9/10/11/12/", Ok(()));
    check("/1/2/3/4/5/6/7/8/9/10/11/12/13", Err(Trap::Depth(12)));
    check(&format!("/{}", "x".repeat(1990)), Ok(()));
    check(&format!("/{}", "x".repeat(2000)), Err(Trap::Length(2000)));
}

#[test]
fn caps_per_host_and_per_prefix() {
    let config = TrapConfig {
        per_host: 25,
        per_prefix: 10,
        ..Default::default()
    };
    let mut traps = Traps::new(config);
    let admitted = |traps: &mut Traps, front: &str| {
        (0..100)
            .filter(|i| admit(traps, &format!("{front}{i}")).is_ok())
            .count()
    };
    assert_eq!(admitted(&mut traps, "/calendar/day"), 10);
    assert_eq!(admit(&mut traps, "/calendar/x"), Err(Trap::Prefix(10)));
    assert_eq!(
        admitted(&mut traps, "/search?q="),
        10,
        "a path with a query is a prefix too"
    );
    assert_eq!(admitted(&mut traps, "/page"), 5, "the host is full");
    assert_eq!(admit(&mut traps, "/"), Err(Trap::Host(25)));
    assert_eq!(traps.admit("other", &url("/calendar/x")), Ok(()));
}

#[test]
fn every_level_is_capped() {
    let mut traps = Traps::new(TrapConfig {
        per_prefix: 10,
        ..Default::default()
    });
    let spread = (0..100)
        .filter(|i| admit(&mut traps, &format!("/a/{i}/b/c/d")).is_ok())
        .count();
    assert_eq!(
        spread, 10,
        "wide traps are found at the level where they are narrow"
    );
    let deep = (0..100)
        .filter(|i| admit(&mut traps, &format!("/x/y/z/{i}/e")).is_ok())
        .count();
    assert_eq!(deep, 10);
}

#[test]
fn runs_of_near_duplicates_lower_the_cap() {
    let config = TrapConfig {
        per_prefix: 1000,
        duplicate_run: 5,
        least_per_prefix: 20,
        ..Default::default()
    };
    let mut traps = Traps::new(config);
    let mut note = |path: &str, duplicate| traps.note_content("h", &url(path), duplicate);
    for i in 0..5 {
        note(&format!("/one/{i}"), true);
        note(&format!("/mixed/{i}"), i != 3);
    }
    for i in 0..100 {
        note(&format!("/trap/{i}"), true);
    }
    let mut room = |front: &str| {
        (0..2000)
            .filter(|i| admit(&mut traps, &format!("{front}{i}")).is_ok())
            .count()
    };
    assert_eq!(room("/one/"), 500, "one run halves");
    assert_eq!(room("/mixed/"), 1000, "a page that differs ends the run");
    assert_eq!(room("/trap/"), 20, "however many runs, a few are left");
    assert_eq!(room("/innocent/"), 1000);
}

#[test]
fn memory_is_bounded_and_the_busy_are_not_forgotten() {
    let config = TrapConfig {
        per_prefix: 400,
        least_per_prefix: 1,
        counters: 1000,
        ..Default::default()
    };
    let mut traps = Traps::new(config);
    let mut busy = 0;
    for i in 0..100 {
        traps.note_content("h", &url(&format!("/alike/{i}")), true);
    }
    for i in 0..100_000 {
        busy += usize::from(admit(&mut traps, &format!("/busy/{i}")).is_ok());
        let _ = admit(&mut traps, &format!("/d{i}/x"));
        assert!(traps.counters.len() <= 1000);
    }
    assert_eq!(busy, 400);
    // five halvings, though no URL was ever counted there
    let alike = (0..200).filter(|i| admit(&mut traps, &format!("/alike/{i}")).is_ok());
    assert_eq!(alike.count(), 12);
}

proptest! {
    #[test]
    fn a_restart_forgets_nothing(
        paths in prop::collection::vec(("//?[ab]/[ab%é](/[0-9]{1,2}){0,3}([?]q=[0-9])?", prop::bool::weighted(0.1)), 0..80),
    ) {
        // every near-duplicate is a run
        let config = TrapConfig { per_host: 60, per_prefix: 24, duplicate_run: 1, least_per_prefix: 2, ..Default::default() };
        let (first, second) = paths.split_at(paths.len() / 2);
        let mut unbroken = Traps::new(config.clone());
        let mut restarted = Traps::new(config.clone());
        for (path, near_duplicate) in first {
            if admit(&mut unbroken, path).is_ok() {
                restarted.restore("h", &url(path));
            }
            for halved in unbroken.note_content("h", &url(path), *near_duplicate) {
                restarted.restore_halved("h", &halved);
            }
        }
        let bytes = unbroken.to_bytes();
        let mut kept = Traps::from_bytes(config.clone(), &bytes).unwrap();
        prop_assert_eq!(kept.to_bytes(), &bytes[..]);
        for (path, near_duplicate) in second {
            let admitted = admit(&mut unbroken, path);
            prop_assert_eq!(admit(&mut restarted, path), admitted);
            prop_assert_eq!(admit(&mut kept, path), admitted);
            let halved = unbroken.note_content("h", &url(path), *near_duplicate);
            prop_assert_eq!(restarted.note_content("h", &url(path), *near_duplicate), &halved[..]);
            prop_assert_eq!(kept.note_content("h", &url(path), *near_duplicate), halved);
        }
        for wrong in [&bytes[..bytes.len() - 1], &[2; 9], b""] {
            prop_assert!(Traps::from_bytes(config.clone(), wrong).is_none());
        }
    }

    #[test]
    fn circles_are_found_where_they_are(segments in prop::collection::vec("[ab]", 1..14)) {
        let config = TrapConfig { path_depth: 20, ..Default::default() };
        let n = segments.len();
        let naive = (1..=n).any(|period| {
            (0..n).any(|start| start + 3 * period <= n && {
                let block = |i: usize| &segments[start + i * period..start + (i + 1) * period];
                block(0) == block(1) && block(1) == block(2)
            })
        });
        let found = admit(&mut Traps::new(config), &format!("/{}", segments.join("/")));
        prop_assert_eq!(found == Err(Trap::Repeats(2)), naive);
    }
}
