//! What a revisit costs with ever more live pages: processor time of asking, answering and a changed
//! delay, all in, and the longest single step by the processor time of the asking thread.
//!
//! `cargo bench -p freshness --bench growth -- [PAGES…]`; prints CSV rows. Every answer changes the
//! delay of its host between 0.2 and 1.0 s; and one host of all pages, between 0.2 and 1.0 ms.

use freshness::policy::{Next, Outcome};
use freshness::revisits::Revisits;
use ground::{HostId, PageId, Seconds};

const MEASURED: usize = 200_000;
const STEPS: usize = 50_000;

fn main() {
    let arguments = std::env::args().skip(1);
    let mut sizes: Vec<u32> = arguments.filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    println!("pages,hosts,keep_us,visit_us,longest_step_ms,restore_us,memo_bytes,record_bytes");
    for pages in sizes {
        for hosts in [pages / 100, 1] {
            measure(pages, hosts);
        }
    }
}

struct Crawl {
    revisits: Revisits,
    hosts: u32,
    unit: f64,
    now: f64,
    answers: u64,
}

impl Crawl {
    fn open(hosts: u32, now: f64, learnt: Option<&[u8]>) -> Self {
        let unit = if hosts == 1 { 1e-3 } else { 1.0 };
        let mut revisits = Revisits::new("default", now, 1e-5, 1, learnt).expect("it is known");
        for _ in 0..hosts {
            revisits.add_host(now, Seconds(0.6 * unit));
        }
        revisits.set_budget(now, 0.5 * f64::from(hosts) / unit);
        Self {
            revisits,
            hosts,
            unit,
            now,
            answers: 0,
        }
    }

    /// One visit, its answer, and the delay that comes with it.
    fn step(&mut self) {
        loop {
            match self.revisits.next(self.now) {
                Next::Visit(page) => {
                    self.answers += 1;
                    let random = self.answers.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                    let share = random as f64 / f64::from(1 << 24);
                    // from one page in a thousand visits changed to all
                    let changed = share.powi(3) < f64::from(page.0 % 1000) / 1000.0;
                    let outcome = if changed {
                        Outcome::Changed
                    } else {
                        Outcome::Unchanged
                    };
                    self.revisits.visited(page, self.now, outcome);
                    let delay = (0.2 + 0.8 * share) * self.unit;
                    self.revisits
                        .set_delay(self.now, HostId(page.0 % self.hosts), Seconds(delay));
                    return;
                }
                Next::Wait(at) => self.now = at.max(self.now.next_up()),
                Next::Idle => panic!("there is always a page to visit"),
            }
        }
    }
}

fn measure(pages: u32, hosts: u32) {
    let mut crawl = Crawl::open(hosts, 0.0, None);
    let begin = processor();
    for page in 0..pages {
        let host = HostId(page % hosts);
        (crawl.revisits).keep(0.0, PageId(page), host, 1.0, 0.0, None);
    }
    let keep = (processor() - begin) / f64::from(pages);
    for _ in 0..(pages as usize / 4).max(MEASURED / 4) {
        crawl.step();
    }
    let begin = processor();
    for _ in 0..MEASURED {
        crawl.step();
    }
    let visit = (processor() - begin) / MEASURED as f64;
    let mut longest = 0.0f64;
    for _ in 0..STEPS.max(pages as usize / 3) {
        let begin = thread();
        crawl.step();
        longest = longest.max(thread() - begin);
    }
    let record = crawl.revisits.learnt();
    let memos: Vec<Vec<u8>> = (0..pages)
        .map(|page| crawl.revisits.memo(PageId(page)))
        .collect();
    let begin = processor();
    let mut again = Crawl::open(hosts, crawl.now, Some(&record));
    for (page, memo) in (0..).zip(&memos) {
        let (page, host) = (PageId(page), HostId(page % hosts));
        again
            .revisits
            .keep(crawl.now, page, host, 1.0, 0.0, Some(memo));
    }
    again.step();
    let restore = (processor() - begin) / f64::from(pages);
    println!(
        "{pages},{hosts},{:.2},{:.2},{:.1},{:.2},{},{}",
        keep * 1e6,
        visit * 1e6,
        longest * 1e3,
        restore * 1e6,
        memos[0].len(),
        record.len()
    );
}

/// Processor time of this thread, in seconds: what others do on the machine is not our step.
fn thread() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let first = told.split_whitespace().next();
    first
        .and_then(|time| time.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1e9
}

/// Processor time of this process, in seconds.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = after_name
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // user and system time are the 14th and 15th field; the state before them is no number
    (fields[10] + fields[11]) / 100.0
}
