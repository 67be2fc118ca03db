//! How long partitioning and lookup take: `cargo bench -p partition`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use ground::Prefix;
use partition::graph::GraphBuilder;
use partition::limits::Balance;
use partition::routing::{Entry, Lookup, Table, Unknown, aggregate};
use partition::task::Task;
use partition::{multilevel, single_level};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    lookups(&mut rng);
    partitions(&mut rng);
}

fn lookups(rng: &mut Xoshiro256PlusPlus) {
    let mut v4 = || IpAddr::from(Ipv4Addr::from_bits(rng.random()));
    let addresses: Vec<IpAddr> = (0..1 << 20).map(|_| v4()).collect();
    let to_v6 = |ip: &IpAddr| match ip {
        IpAddr::V4(v4) => Ipv6Addr::from_bits((0x2 << 124) | u128::from(v4.to_bits()) << 92).into(),
        IpAddr::V6(_) => *ip,
    };
    let v6: Vec<IpAddr> = addresses.iter().map(to_v6).collect();
    for (name, addresses) in [("IPv4", addresses), ("IPv6", v6)] {
        // as in the Internet: lengths 12 to 24, most of them long
        let mut entries: Vec<Entry> = (0..)
            .zip(&addresses)
            .map(|(i, &address)| Entry {
                prefix: Prefix::around(address, 24 - (i % 49_u32).isqrt() as u8 * 12 / 7)
                    .expect("short enough"),
                owner: i % 30,
            })
            .collect();
        entries.sort_unstable();
        entries.dedup_by_key(|entry| entry.prefix);
        let step = entries.len() as f64 / 100_000.0;
        let entries = (0..100_000)
            .map(|i| entries[(f64::from(i) * step) as usize])
            .collect();
        let table = Table::new(entries).expect("each prefix once");
        let begun = Instant::now();
        let smaller = aggregate(&table, Unknown::Anyone);
        let aggregation = begun.elapsed();
        let lookup = Lookup::new(&table);
        let begun = Instant::now();
        let found = addresses
            .iter()
            .filter(|&&ip| black_box(lookup.owner(ip)).is_some())
            .count();
        let each = begun.elapsed().as_nanos() as f64 / addresses.len() as f64;
        println!(
            "{name}: {} prefixes, {each:.1} ns a lookup ({found} of {} found); aggregated to {} in {aggregation:.0?}",
            table.len(),
            addresses.len(),
            smaller.len(),
        );
    }
}

fn partitions(rng: &mut Xoshiro256PlusPlus) {
    let hosts = 50_000;
    let mut rows = GraphBuilder::new(hosts as usize);
    for _ in 0..200_000 {
        let source = rng.random_range(0..hosts);
        let popular = rng.random::<f64>().powi(3);
        let target = if rng.random::<f64>() < 0.7 {
            source / 500 * 500 + (popular * 500.0) as u32
        } else {
            (popular * f64::from(hosts)) as u32 * 7919 % hosts
        };
        rows.link(source, target, 1.0).expect("in range");
    }
    let graph = rows.build().expect("small");
    for parts in [8, 30] {
        let capacities = vec![1.0; parts];
        let task = Task::new(&graph, &capacities, Balance::default());
        for (name, method) in [
            ("multilevel", multilevel::partition as fn(&Task) -> _),
            ("single level", single_level::partition),
        ] {
            let begun = Instant::now();
            let answer = method(&task).expect("a good task");
            println!(
                "{parts} parts, {name}: cut {:.3} in {:.2?}",
                answer.cut as f64 / graph.total_weight() as f64,
                begun.elapsed(),
            );
        }
    }
}
