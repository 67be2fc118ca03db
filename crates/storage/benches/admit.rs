//! What admitting, committing and packing cost. `cargo bench -p storage -- [URLs]`; the directory
//! for the store is `TMPDIR`.

use std::fs;
use std::time::{Duration, Instant};

use storage::archive::{Exchange, HttpVersion, Packer};
use storage::{
    Admission, Batch, Candidate, HostId, Observation, Outcome, PageId, PageRow, PageState, Place,
    Store, StoreOptions, digest,
};

const HOSTS: u64 = 1000;
const BATCH: u64 = 4000;
/// How often something quick is repeated.
const TIMES: u32 = 5000;
const NOW: i64 = 1_790_000_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let urls = arguments.find_map(|a| a.parse().ok()).unwrap_or(10_000_000);
    admit(urls);
    commit();
    pack();
}

/// The `n`th URL of an endless list, about 70 bytes long.
fn url(n: u64, out: &mut String) -> u64 {
    use std::fmt::Write;
    let mixed = n
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let host = mixed >> 40 & 1023;
    out.clear();
    let _ = write!(
        out,
        "https://www.site-{:03}.example.org/section/{:x}/article-{n}.html",
        host % HOSTS,
        mixed & 0xfff_ffff
    );
    host % HOSTS
}

/// Of five candidates one was there before: which one, nobody knows beforehand.
fn number(n: u64) -> u64 {
    if n % 5 == 4 && n > 10 {
        n.wrapping_mul(0xd134_2543_de82_ef95) % (n - n / 5 - 1)
    } else {
        n - n / 5
    }
}

fn admit(count: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    let hosts: Vec<HostId> = (0..HOSTS)
        .map(|h| store.host(&format!("www.site-{h:03}.example.org")).unwrap())
        .collect();
    let mut texts = vec![String::new(); BATCH as usize];
    let (mut new, mut known, mut bytes) = (0u32, 0u64, 0);
    let mut spent = Duration::ZERO;
    let processor = processor_time();
    let whole = Instant::now();
    let mut start = 0;
    while start < count {
        let end = (start + BATCH).min(count);
        let numbers: Vec<u64> = (start..end).map(number).collect();
        let host_of: Vec<u64> = numbers
            .iter()
            .zip(&mut texts)
            .map(|(&n, text)| url(n, text))
            .collect();
        let candidates: Vec<_> = texts
            .iter()
            .zip(host_of)
            .map(|(text, host)| Candidate {
                key: text,
                url: text,
                host: hosts[host as usize],
                depth: 3,
                from: None,
                at: NOW,
            })
            .take(numbers.len())
            .collect();
        bytes += candidates.iter().map(|c| c.url.len()).sum::<usize>();
        let clock = Instant::now();
        let admissions = store.admit(&candidates).unwrap();
        store.commit(&Batch::default()).unwrap();
        spent += clock.elapsed();
        for (n, admission) in numbers.iter().zip(admissions) {
            // new URLs come in order, so a URL's number is its page's
            match admission {
                Admission::New(page) => {
                    assert_eq!(page, PageId(new), "numbers are given in order");
                    assert_eq!(*n, u64::from(new), "a known URL was taken for new");
                    new += 1;
                }
                Admission::Known(page) => {
                    assert_eq!(*n, u64::from(page.0), "a URL was taken for another");
                    known += 1;
                }
            }
        }
        start = end;
    }
    let used = processor_time() - processor;
    println!(
        "admitted {count} URLs of {} bytes ({new} new, {known} known), all answers right",
        bytes as u64 / count
    );
    println!(
        "  {:.0} a second in the store, committed every {BATCH} and synced; with making them {:.0}; {:.2} µs CPU each",
        count as f64 / spent.as_secs_f64(),
        count as f64 / whole.elapsed().as_secs_f64(),
        used * 1e6 / count as f64
    );
    println!(
        "  {:.1} bytes of memory for each page; {}",
        store.memory() as f64 / f64::from(new),
        peak()
    );
    drop(store);
    let clock = Instant::now();
    let processor = processor_time();
    let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.page_count(), new);
    println!(
        "  opened again in {:.2} s ({:.2} s CPU); {}",
        clock.elapsed().as_secs_f64(),
        (processor_time() - processor),
        peak()
    );
    let mut text = String::new();
    for n in (0..u64::from(new)).step_by(997) {
        url(n, &mut text);
        assert_eq!(store.find(&text), Some(PageId(n as u32)));
        assert_eq!(store.address(PageId(n as u32)).unwrap().url, text);
    }
}

fn commit() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    let host = store.host("www.site.example.org").unwrap();
    let mut text = String::new();
    let (pages, links, batch_size) = (100_000u32, 5u32, 256u32);
    let row = PageRow {
        state: PageState::Live,
        first_visit: Some(NOW),
        last_visit: Some(NOW + 1000),
        etag: Some(b"\"5f3b-1c2d3e4f5a6b\"".to_vec()),
        modified: Some(b"Wed, 21 Oct 2015 07:28:00 GMT".to_vec()),
        content_type: Some(b"text/html; charset=utf-8".to_vec()),
        place: Some(Place {
            file: 3,
            offset: 1 << 28,
            length: 5000,
        }),
        ..PageRow::default()
    };
    let processor = processor_time();
    let clock = Instant::now();
    for first in (0..pages).step_by(batch_size as usize) {
        let mut batch = Batch::default();
        for page in first..first + batch_size {
            for link in 0..links {
                url(u64::from(page * links + link), &mut text);
                let candidate = Candidate {
                    key: &text,
                    url: &text,
                    host,
                    depth: 1,
                    from: None,
                    at: NOW,
                };
                store.admit(&[candidate]).unwrap();
            }
            batch.pages.push((PageId(page), row.clone()));
            batch.observations.push(Observation {
                page: PageId(page),
                at: NOW,
                outcome: Outcome::FirstSeen,
                modified: None,
                status: 200,
                millis: 30,
                bytes: 20_000,
                digest: [7; 20],
                reason: 0,
            });
        }
        batch.hosts.push((host, vec![1; 300]));
        store.commit(&batch).unwrap();
    }
    println!(
        "committed {pages} pages with {links} new links each, {batch_size} at a time, synced: {:.1} µs CPU, {:.1} µs each; {}",
        (processor_time() - processor) * 1e6 / f64::from(pages),
        clock.elapsed().as_secs_f64() * 1e6 / f64::from(pages),
        peak()
    );
}

fn pack() {
    // words of unequal frequency, as in prose
    let mut body = Vec::new();
    let mut state = 1u64;
    while body.len() < 20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let word = ((state >> 33) % 4000) * ((state >> 20) % 4000) / 4000;
        body.extend_from_slice(format!("<p>word{word} ").as_bytes());
    }
    let exchange = Exchange {
        url: "https://www.site.example.org/section/article.html",
        time: NOW,
        ip: Some([192, 0, 2, 1].into()),
        version: HttpVersion::Http11,
        status: 200,
        reason: b"OK",
        headers: &[
            (b"Content-Type", b"text/html"),
            (b"Date", b"Wed, 21 Oct 2015 07:28:00 GMT"),
        ],
        body: &body,
        digest: digest(&body),
        truncated: None,
        request: b"GET /section/article.html HTTP/1.1\r\nHost: www.site.example.org\r\n\r\n",
    };
    let each = |processor: f64| (processor_time() - processor) * 1e6 / f64::from(TIMES);
    for level in [0, 1, 6] {
        let mut packer = Packer::new(level, 1);
        let processor = processor_time();
        let mut length = 0;
        for _ in 0..TIMES {
            length = packer.response(&exchange).length() + packer.request(&exchange, None).length();
        }
        println!(
            "packed 20 KB at level {level}: {:.0} µs CPU, {length} bytes (response and request)",
            each(processor)
        );
    }
    let processor = processor_time();
    for _ in 0..TIMES {
        std::hint::black_box(digest(std::hint::black_box(&body)));
    }
    println!("digest of 20 KB: {:.0} µs CPU", each(processor));
}

/// Seconds of processor time of this process, all threads, user and system.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|t| t.parse::<u64>().ok())
        .sum();
    // the kernel reports hundredths of a second
    ticks as f64 / 100.0
}

/// The most memory this process ever held.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or("VmHWM unknown");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
