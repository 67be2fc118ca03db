//! What the verdict on a link costs with 1 to 10^6 seeds: `cargo bench -p frontier --bench scope`.

use std::hint::black_box;
use std::time::Instant;

use frontier::scope::{Reach, Scope, ScopeConfig};
use url::Url;

const LINKS: usize = 100_000;

fn main() {
    println!(
        "{:>8} {:>10} {:>10} {:>10} {:>10}",
        "seeds", "site", "domain", "host", "prefix"
    );
    for seeds in [1, 10_000, 1_000_000] {
        let seed = |i| Url::parse(&format!("https://www.site{i}.org/docs/{i}/")).expect("a URL");
        let urls: Vec<Url> = (0..seeds).map(seed).collect();
        let cost = |reach| format!("{:.0} ns", nanoseconds(&urls, reach));
        println!(
            "{seeds:>8} {:>10} {:>10} {:>10} {:>10}",
            cost(Reach::Site),
            cost(Reach::Domain),
            cost(Reach::Host),
            cost(Reach::Prefix)
        );
    }
}

/// The median over rounds of 100 links, every other one of which is in scope where there are seeds
/// enough, so short that other programs on the machine interrupt few of them.
fn nanoseconds(seeds: &[Url], reach: Reach) -> f64 {
    let config = ScopeConfig {
        reach,
        ..ScopeConfig::default()
    };
    let scope = Scope::new(&config, seeds).expect("a scope");
    let link = |i: usize| {
        // far apart, as links from different pages are
        let seed = i.wrapping_mul(0x9E37_79B9) % seeds.len();
        let domain = if i.is_multiple_of(2) { "org" } else { "net" };
        let text = format!("https://www.site{seed}.{domain}/docs/{seed}/page-{i}.html");
        Url::parse(&text).expect("a URL")
    };
    let links: Vec<Url> = (0..LINKS).map(link).collect();
    let mut rounds: Vec<f64> = links
        .chunks(100)
        .map(|round| {
            let begun = Instant::now();
            for link in round {
                black_box(scope.judge(link, 3).is_in());
            }
            begun.elapsed().as_nanos() as f64 / round.len() as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}
