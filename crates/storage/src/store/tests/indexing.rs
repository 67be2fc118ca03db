//! What the index says is what going through all pages says, whatever happens to its files.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use super::*;
use crate::store::index::RUN;

const PAGES: u32 = 2 * RUN + 5000;

/// Those of the large host come after all others of their block, whose first URL tells nothing of them.
fn address(number: u32) -> String {
    let large = if host_of(number) == 1 { "z" } else { "" };
    format!("https://site.example/{large}{number:x}")
}

/// One host with a page here and there, one with half of all, and a thousand that come and go.
fn host_of(number: u32) -> u32 {
    match number {
        n if n % 4099 == 7 => 0,
        n if n % 2 == 0 => 1,
        n => 2 + n / 300 % 1000,
    }
}

/// Few pages have a row.
fn last_visit(number: u32) -> Option<i64> {
    let mixed = number.wrapping_mul(2_654_435_761);
    (number % 37 == 1 || host_of(number) == 0).then_some(i64::from(mixed >> 7))
}

fn fill(directory: &Path) -> Store {
    let options = StoreOptions {
        durability: Durability::Buffered,
        ..StoreOptions::default()
    };
    let mut store = Store::open(directory, options).unwrap();
    for host in 0..1002 {
        store.host(&format!("https://host{host}.example")).unwrap();
    }
    let numbers: Vec<u32> = (0..PAGES).collect();
    for some in numbers.chunks(50_000) {
        let mut batch = Batch::default();
        for &number in some {
            let url = address(number);
            store
                .admit(&[candidate(&url, HostId(host_of(number)))])
                .unwrap();
            if let Some(at) = last_visit(number) {
                let row = PageRow {
                    state: PageState::Live,
                    last_visit: Some(at),
                    ..PageRow::default()
                };
                batch.pages.push((PageId(number), row));
            }
        }
        store.commit(&batch).unwrap();
    }
    store
}

fn check(directory: &Path) {
    let reader = Reader::open(directory).unwrap();
    for number in [0, 1, 77_777, RUN - 1, RUN, 2 * RUN - 1, 2 * RUN, PAGES - 1] {
        let found = reader.find(&address(number)).unwrap();
        assert_eq!(found, Some(PageId(number)));
    }
    for number in PAGES..PAGES + 5 {
        assert_eq!(reader.find(&address(number)).unwrap(), None);
    }
    // as few as are looked up one by one, and more
    for step in [9_973, 11] {
        let keys: Vec<String> = (0..PAGES + 100_000).step_by(step).map(address).collect();
        let found = reader.find_all(keys.iter().rev().map(String::as_str));
        let expected = (0..PAGES).step_by(step).map(PageId);
        assert!(found.unwrap().into_iter().eq(expected), "every {step}th");
    }
    for host in [0, 1, 2, 500, 1001, 5000] {
        let wanted = Wanted {
            hosts: Some([HostId(host)].into()),
            ..Wanted::default()
        };
        let own = || (0..PAGES).filter(|&number| host_of(number) == host);
        let first: Vec<_> = own().take(20).map(PageId).collect();
        let found = reader.select(&wanted, Order::Found, 20, None).unwrap();
        assert_eq!((found.pages, found.unreadable), (first, 0), "{host}");
        let mut latest: Vec<_> = own().map(|n| (Reverse(last_visit(n)), PageId(n))).collect();
        latest.sort();
        let latest: Vec<_> = latest.into_iter().take(20).map(|(_, page)| page).collect();
        let found = reader.select(&wanted, Order::Visit, 20, None).unwrap();
        assert_eq!((found.pages, found.unreadable), (latest, 0), "{host}");
        let mut urls: Vec<_> = own().map(|n| (address(n), PageId(n))).collect();
        urls.sort();
        let by_url: Vec<_> = urls.into_iter().map(|(_, page)| page).collect();
        let found = reader.select(&wanted, Order::Url, 20, None).unwrap();
        let until = by_url.len().min(20);
        assert_eq!(
            (&found.pages[..], found.unreadable),
            (&by_url[..until], 0),
            "{host}"
        );
        // and on from the middle, which is anywhere in a run
        for middle in [1, by_url.len() / 3, by_url.len() / 2].map(|at| at.min(by_url.len())) {
            let place = by_url[..middle].last().map(|&page| (page, None));
            let mark = place.map(|place| reader.mark(Order::Url, place).unwrap());
            let found = reader.select(&wanted, Order::Url, 20, mark.as_ref());
            let until = by_url.len().min(middle + 20);
            assert_eq!(found.unwrap().pages, by_url[middle..until], "{host}");
        }
        let visited = Wanted {
            state: Some(PageState::Live),
            ..wanted.clone()
        };
        let found = reader.select(&visited, Order::Url, 20, None).unwrap();
        let live = by_url.iter().filter(|page| last_visit(page.0).is_some());
        assert!(found.pages.iter().eq(live.take(20)), "{host}");
        let from = PageId(RUN - 1000);
        let mut urls = Vec::new();
        let read = |id, url: &str| (id, url.to_owned());
        let lost = reader.scan_urls(from, Some(HostId(host)), read, |one| urls.push(one));
        assert_eq!(lost.unwrap(), 0);
        let expected = own().filter(|&number| number >= from.0);
        assert!(
            urls.into_iter()
                .eq(expected.map(|n| (PageId(n), address(n))))
        );
    }
    // a search that stops after every block finds each page once
    for host in [None, Some(1)] {
        let (mut found, mut next, mut parts) = (Vec::new(), Some(PageId(3000)), 0);
        while let Some(from) = next {
            let has = |url: &str| url.ends_with("77");
            let search = reader.search_urls(from, host.map(HostId), has, |some| {
                found.extend(some);
                ControlFlow::Break(())
            });
            next = search.unwrap();
            parts += 1;
        }
        let is_wanted =
            |n: &u32| address(*n).ends_with("77") && host.is_none_or(|host| host_of(*n) == host);
        let expected = (3000..PAGES).filter(is_wanted).map(PageId);
        assert!(found.into_iter().eq(expected), "{host:?}");
        assert!(parts > 10, "{parts}");
    }
}

#[test]
fn an_index_changes_no_answer() {
    let directory = fast_directory();
    let path = |number: u32| directory.path().join(format!("index/{number:08}.run"));
    // made while pages come in, and the rest when the store is opened
    drop(fill(directory.path()));
    let until_made = |number: u32| {
        let store = open(directory.path());
        let limit = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while !path(number).exists() {
            assert!(
                std::time::Instant::now() < limit,
                "run {number} is not made"
            );
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(store);
        std::fs::read(path(number)).unwrap()
    };
    let runs = [until_made(0), until_made(1)];
    assert!(!path(2).exists());
    check(directory.path());
    // lost, cut, of other pages, damaged here and there
    std::fs::remove_file(path(0)).unwrap();
    std::fs::write(path(1), &runs[1][..runs[1].len() / 3]).unwrap();
    check(directory.path());
    std::fs::write(path(0), &runs[1]).unwrap();
    check(directory.path());
    for step in [1001, 100_003] {
        let mut bytes = runs[1].clone();
        bytes.iter_mut().step_by(step).for_each(|byte| *byte ^= 4);
        std::fs::write(path(1), bytes).unwrap();
        check(directory.path());
    }
    // and made again, of as many pages as there are
    std::fs::write(path(2), &runs[0]).unwrap();
    std::fs::remove_file(path(0)).unwrap();
    assert!(until_made(0) == runs[0]);
    assert!(!path(2).exists());
    let limit = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let store = open(directory.path());
    while std::fs::read(path(1)).unwrap() != runs[1] {
        assert!(
            std::time::Instant::now() < limit,
            "what is damaged stays so"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(store);
    check(directory.path());
}

/// Bytes that this process has read from files.
fn bytes_read() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap().trim().parse().unwrap()
}

/// To find that a URL is not known, and the first pages of a large host, all pages were read.
#[test]
fn what_is_sought_is_read_and_little_else() {
    let directory = fast_directory();
    drop(fill(directory.path()));
    let limit = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let store = open(directory.path());
    while !directory.path().join("index/00000001.run").exists() {
        assert!(std::time::Instant::now() < limit, "no index");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(store);
    let reader = Reader::open(directory.path()).unwrap();
    let wanted = Wanted {
        hosts: Some([HostId(1)].into()),
        ..Wanted::default()
    };
    let unknown = || reader.find(&address(PAGES + 1)).map(drop);
    let totals = || reader.totals().map(drop);
    let list = |wanted: &Wanted, order| reader.select(wanted, order, 10, None).map(drop);
    let all = Wanted::default();
    let views: [(&str, &dyn Fn() -> crate::Result<()>); 4] = [
        ("an unknown URL", &unknown),
        ("totals", &totals),
        ("all by URL", &|| list(&all, Order::Url)),
        ("a large host by URL", &|| list(&wanted, Order::Url)),
    ];
    // pages that are in no run yet are gone through
    let tail = u64::from(PAGES % RUN) * 400;
    for (name, view) in views {
        let before = bytes_read();
        view().unwrap();
        let read = bytes_read() - before;
        println!("{name}: {read} bytes read, of {PAGES} pages");
        assert!(read < tail + 2_000_000, "{name}: {read} bytes");
    }
}

/// Pages that cannot be read are told as such, whether they are indexed or not.
#[test]
fn lost_pages_are_told() {
    let directory = fast_directory();
    drop(fill(directory.path()));
    let table = directory.path().join("admissions");
    let mut bytes = std::fs::read(&table).unwrap();
    for number in [7, RUN + 1, PAGES - 1] {
        bytes[number as usize * admission::SLOT + 30] ^= 1;
    }
    let wanted = Wanted {
        hosts: Some([HostId(0), HostId(1)].into()),
        ..Wanted::default()
    };
    for _ in 0..2 {
        std::fs::write(&table, &bytes).unwrap();
        let reader = Reader::open(directory.path()).unwrap();
        let found = reader.select(&wanted, Order::Changes, 1 << 20, None);
        let found = found.unwrap();
        assert!(found.unreadable >= 1, "{}", found.unreadable);
        assert!(!found.pages.contains(&PageId(7)));
        assert_eq!(reader.find(&address(7)).unwrap(), None);
        assert_eq!(reader.find(&address(8)).unwrap(), Some(PageId(8)));
        // made of what is left
        let _ = std::fs::remove_dir_all(directory.path().join("index"));
        drop(open(directory.path()));
    }
}
