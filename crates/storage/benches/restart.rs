//! What a restart and the views cost: `cargo bench -p storage --bench restart -- PAGES [VISITS] [DIRECTORY]`.
//!
//! Makes a store of so many pages with the store's own commits, unless the directory has one: half of
//! the pages were visited, each with a memo. The log is given `VISITS` visits (ten for each page unless
//! said otherwise) by making its files as long as those would be, without contents: reading them would
//! give no visits, and how much is read is shown, so that it can be seen that nobody reads them.

use std::fs::{self, File};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use storage::{
    Batch, Candidate, Durability, Observation, Order, Outcome, PageId, PageRow, PageState, Place,
    Reader, Store, StoreOptions, Wanted,
};

const HOSTS: u32 = 10_000;
/// A host with a page here and there, and one with 1/32 of all, besides.
const RARE: u32 = HOSTS;
const LARGE: u32 = HOSTS + 1;
const BATCH: u32 = 20_000;
const NOW: i64 = 1_790_000_000_000;
/// Bytes of a visit in the log, and visits in a file of it.
const VISIT: u64 = 56;
const VISITS_A_FILE: u64 = 1 << 18;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let pages: u32 = arguments
        .next()
        .map_or(1_000_000, |a| a.parse().expect("pages"));
    let visits: u64 = arguments
        .next()
        .map_or(10 * u64::from(pages), |a| a.parse().expect("visits"));
    let given = arguments.next().map(PathBuf::from);
    let scratch = tempfile::tempdir().unwrap();
    let directory = given.unwrap_or_else(|| scratch.path().to_path_buf());
    if !directory.join("identity").exists() {
        make(&directory, pages, visits);
    }
    restart(&directory);
    views(&directory);
}

fn mixed(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn url(n: u32, out: &mut String) -> u32 {
    use std::fmt::Write;
    let mixed = mixed(n.into());
    // pages of a host are found together, as in a crawl
    let host = (mixed >> 20) as u32 % 16 + (n / 1000) * 7;
    out.clear();
    let host = match n {
        n if n % 1021 == 5 => RARE,
        _ if mixed >> 7 & 31 == 3 => LARGE,
        _ => host % HOSTS,
    };
    let _ = write!(
        out,
        "https://www.site-{host:04}.example.org/section/{:x}/article-{n}.html",
        mixed & 0xfff
    );
    host
}

fn origin(host: u32) -> String {
    format!("https://www.site-{host:04}.example.org")
}

fn make(directory: &Path, pages: u32, visits: u64) {
    let clock = Measured::start();
    let options = StoreOptions {
        durability: Durability::Buffered,
        observations_kept: 1 << 60,
        ..StoreOptions::default()
    };
    let mut store = Store::open(directory, options).unwrap();
    let mut text = String::new();
    for first in (0..pages).step_by(BATCH as usize) {
        let mut batch = Batch::default();
        for page in first..pages.min(first + BATCH) {
            let host = url(page, &mut text);
            let host = store.host(&origin(host)).unwrap();
            let candidate = Candidate {
                key: &text,
                url: &text,
                host,
                depth: 3,
                from: Some(PageId(0)),
                at: NOW,
            };
            store.admit(&[candidate]).unwrap();
            if page % 2 == 0 {
                let random = mixed(u64::from(page) + 77);
                let at = NOW + (random >> 34).cast_signed();
                let row = PageRow {
                    state: if page % 50 == 0 {
                        PageState::Gone
                    } else {
                        PageState::Live
                    },
                    first_visit: Some(NOW),
                    last_visit: Some(at),
                    last_change: Some(at - (random & 0xffff).cast_signed()),
                    status: 200,
                    visits: 20,
                    changes: (random >> 20) as u32 % 20,
                    etag: Some(b"\"5f3b-1c2d3e4f5a6b\"".to_vec()),
                    modified: Some(b"Wed, 21 Oct 2015 07:28:00 GMT".to_vec()),
                    content_type: Some(b"text/html; charset=utf-8".to_vec()),
                    place: Some(Place {
                        file: 3,
                        offset: 1 << 28,
                        length: 5000,
                    }),
                    memo: mixed(page.into()).to_le_bytes().repeat(8),
                    ..PageRow::default()
                };
                batch.pages.push((PageId(page), row));
            }
        }
        batch.observations.push(Observation {
            page: PageId(first),
            at: NOW,
            outcome: Outcome::Unchanged,
            modified: None,
            status: 200,
            millis: 30,
            bytes: 20_000,
            digest: [7; 20],
            reason: 0,
        });
        batch.learnt = Some(vec![first as u8; 20_000]);
        store.commit(&batch).unwrap();
    }
    drop(store);
    let log = directory.join("observations");
    for segment in 0..visits.div_ceil(VISITS_A_FILE) {
        let held = VISITS_A_FILE.min(visits - segment * VISITS_A_FILE);
        let path = log.join(format!("{segment:08}.log"));
        let mut options = File::options();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .unwrap();
        file.set_len(held * VISIT).unwrap();
    }
    clock.say(&format!("made {pages} pages"), pages.into());
    // the journal is done again once, as after a crash
    let clock = Measured::start();
    drop(Store::open(directory, options).unwrap());
    clock.say("first opening, with the journal", pages.into());
}

/// All that a keeper does with the store before it can go on.
fn restart(directory: &Path) {
    let options = StoreOptions {
        observations_kept: 1 << 60,
        ..StoreOptions::default()
    };
    let before = resident();
    let whole = Measured::start();
    let clock = Measured::start();
    let store = Store::open(directory, options).unwrap();
    let pages = u64::from(store.page_count());
    clock.say("opened, seen set built", pages);
    let opened = resident();
    println!(
        "  {:.1} bytes of memory a page in the store ({:.1} by its own account)",
        (opened - before) as f64 / pages as f64,
        store.memory() as f64 / pages as f64
    );
    let clock = Measured::start();
    // 16 bytes a page: host, state and when it was last visited
    let mut known: Vec<(u32, u8, i64)> = Vec::with_capacity(pages as usize);
    let mut learnt = 0u64;
    let reader = store.reader();
    let read = |page: storage::Result<storage::PageBrief<'_>>| {
        let page = page.unwrap();
        let memo = page
            .memo
            .first_chunk()
            .map_or(0, |memo| u64::from_le_bytes(*memo));
        (page.id, page.host, page.state, page.last_visit, memo)
    };
    reader
        .scan(read, |(id, host, state, last_visit, memo)| {
            assert!(memo == 0 || memo == mixed(id.0.into()));
            learnt += u64::from(memo != 0);
            known.push((host.0, state as u8, last_visit.unwrap_or(0)));
        })
        .unwrap();
    assert_eq!(known.len() as u64, pages);
    clock.say("all pages scanned with their memos", pages);
    whole.say("RESTART: opened and scanned", pages);
    println!("  {learnt} memos right; position {:?}", store.position());
    let clock = Measured::start();
    let (mut bytes, mut count) = (0usize, 0u64);
    let lost = reader
        .scan_urls(
            PageId(0),
            None,
            |_, url| url.len(),
            |length| {
                bytes += length;
                count += 1;
            },
        )
        .unwrap();
    assert_eq!((count, lost), (pages, 0));
    clock.say("all URLs scanned", pages);
    black_box(bytes);
}

/// What the views ask of a store that nobody has open.
fn views(directory: &Path) {
    let reader = Reader::open(directory).unwrap();
    let pages = u64::from(reader.page_count().unwrap());
    let any = Wanted::default();
    let gone = Wanted {
        state: Some(PageState::Gone),
        ..Wanted::default()
    };
    let of_host = |host: u32| Wanted {
        hosts: Some([reader.find_host(&origin(host)).unwrap().unwrap()].into()),
        ..Wanted::default()
    };
    let (host, rare, large) = (of_host(77), of_host(RARE), of_host(LARGE));
    let lists = [
        ("all", &any),
        ("gone", &gone),
        ("a host", &host),
        ("a host with a page here and there", &rare),
        ("a host with 1/32 of all", &large),
    ];
    for (name, wanted) in lists {
        for order in [
            Order::Found,
            Order::Url,
            Order::Visit,
            Order::Change,
            Order::Changes,
        ] {
            let clock = Measured::start();
            let found = reader.select(wanted, order, 10, None).unwrap();
            clock.say(
                &format!("10 of {name} by {order:?} ({} found)", found.pages.len()),
                pages,
            );
        }
    }
    let clock = Measured::start();
    let totals = reader.totals().unwrap();
    clock.say(
        &format!("totals: {} live", totals.pages[PageState::Live]),
        pages,
    );
    let clock = Measured::start();
    let hosts = reader.host_pages().unwrap();
    clock.say(&format!("pages of {} hosts by state", hosts.len()), pages);
    let mut text = String::new();
    url(pages as u32 / 2, &mut text);
    for (name, key) in [
        ("a known URL", &text[..]),
        ("an unknown URL", "https://nowhere/"),
    ] {
        let clock = Measured::start();
        let found = reader.find(key).unwrap();
        clock.say(&format!("{name}: {found:?}"), pages);
    }
    println!("peak memory {} MB", peak() >> 20);
}

/// Wall time, processor time and bytes read since it was started.
struct Measured {
    clock: Instant,
    processor: f64,
    read: u64,
}

impl Measured {
    fn start() -> Self {
        Self {
            clock: Instant::now(),
            processor: processor_time(),
            read: bytes_read(),
        }
    }

    fn say(&self, what: &str, pages: u64) {
        let seconds = self.clock.elapsed().as_secs_f64();
        println!(
            "{what}: {seconds:.3} s, {:.2} s processor, {:.2} million pages/s, {:.1} bytes read a page",
            processor_time() - self.processor,
            pages as f64 / seconds / 1e6,
            (bytes_read() - self.read) as f64 / pages as f64,
        );
    }
}

fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    // the kernel reports hundredths of a second
    fields
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum::<u64>() as f64
        / 100.0
}

fn number_after(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// By this process, from files or from memory that holds them.
fn bytes_read() -> u64 {
    number_after("/proc/self/io", "rchar:")
}

fn resident() -> u64 {
    number_after("/proc/self/status", "VmRSS:") << 10
}

fn peak() -> u64 {
    number_after("/proc/self/status", "VmHWM:") << 10
}
