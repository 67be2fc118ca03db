use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::hierarchy::{Member, Tree};

fn table(entries: &[(&str, u32)]) -> Table {
    let entries = entries
        .iter()
        .map(|&(prefix, owner)| Entry {
            prefix: prefix.parse().unwrap(),
            owner,
        })
        .collect();
    Table::new(entries).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// The rule itself: the longest of the entries that hold the address.
fn by_definition(table: &Table, address: IpAddr) -> Option<u32> {
    table
        .entries()
        .iter()
        .filter(|entry| entry.prefix.contains(address))
        .max_by_key(|entry| entry.prefix.length())
        .map(|entry| entry.owner)
}

#[test]
fn a_block_has_one_owner() {
    let twice = ["10.0.0.0/8", "10.0.0.0/8"].map(|p| p.parse().unwrap());
    let entries = twice
        .iter()
        .zip([0, 1])
        .map(|(&prefix, owner)| Entry { prefix, owner });
    assert!(Table::new(entries.collect()).is_err());
}

#[test]
fn known_tables_shrink_as_far_as_they_can() {
    let check = |before: &[(&str, u32)], unknown, after: &[(&str, u32)]| {
        assert_eq!(
            aggregate(&table(before), unknown),
            table(after),
            "{before:?}"
        );
    };
    // inside a block of the same owner
    check(
        &[("10.0.0.0/8", 1), ("10.1.0.0/16", 1)],
        Unknown::Kept,
        &[("10.0.0.0/8", 1)],
    );
    // contiguous
    check(
        &[("10.0.0.0/9", 1), ("10.128.0.0/9", 1)],
        Unknown::Kept,
        &[("10.0.0.0/8", 1)],
    );
    // a gap nobody knows may not be filled, or may
    let gap = [("10.0.0.0/10", 1), ("10.128.0.0/9", 1)];
    check(&gap, Unknown::Kept, &gap);
    check(&gap, Unknown::Anyone, &[("10.0.0.0/8", 1)]);
    // three of four to one owner: a block and an exception
    check(
        &[("10.0.0.0/10", 1), ("10.64.0.0/10", 2), ("10.128.0.0/9", 1)],
        Unknown::Kept,
        &[("10.0.0.0/8", 1), ("10.64.0.0/10", 2)],
    );
    check(
        &[("2001:db8::1/128", 3), ("2001:db8::2/128", 3)],
        Unknown::Anyone,
        &[("2001:db8::/126", 3)],
    );
    check(&[], Unknown::Anyone, &[]);
}

#[test]
fn blocks_take_the_majority_and_the_rest_are_exceptions() {
    let addresses = [
        (ip("193.136.1.1"), 4),
        (ip("193.136.1.2"), 4),
        (ip("193.136.1.3"), 5),
        (ip("8.8.8.8"), 6),
    ];
    let blocks = ["193.136.0.0/16", "192.0.0.0/8"].map(|p| p.parse().unwrap());
    let made = Table::from_assignment(&addresses, &blocks);
    let expected = [
        ("193.136.0.0/16", 4),
        ("193.136.1.3/32", 5),
        ("8.8.8.8/32", 6),
    ];
    assert_eq!(made, table(&expected));
}

#[test]
fn among_equals_an_address_goes_with_its_block() {
    let shared = ip("193.136.1.3");
    let addresses = [
        (ip("193.136.1.1"), 4),
        (ip("193.136.1.2"), 4),
        (shared, 2),
        (shared, 4),
        (shared, 5),
    ];
    let block = ["193.136.0.0/16".parse().unwrap()];
    let made = Table::from_assignment(&addresses, &block);
    assert_eq!(made, table(&[("193.136.0.0/16", 4)]));
    let alone = Table::from_assignment(&addresses[2..], &[]);
    assert_eq!(alone, table(&[("193.136.1.3/32", 2)]));
}

#[test]
fn names_stand_only_where_they_tell_more_than_the_blocks() {
    let tree = Tree::new(&Member::two_levels(2, 2)).unwrap();
    let assigned: Vec<Assigned> = (0..2)
        .map(|robot| Assigned {
            host: format!("h{robot}.example"),
            address: Some(ip("193.136.1.3")),
            robot,
        })
        .collect();
    let fleet = Fleet::new(tree, &assigned, &[]).unwrap();
    let names = [0, 1, 2, 3].map(|robot| fleet.router(robot).named_hosts());
    // to the other group both are the first group's
    assert_eq!(names, [1, 1, 0, 0]);
    for host in &assigned {
        for from in 0..4 {
            let journey = fleet.journey(from, &host.host, host.address, |robots| robots.start);
            assert_eq!(journey.last(), Some(&host.robot));
        }
    }
}

fn address() -> impl Strategy<Value = IpAddr> {
    // few distinct high bits, so that blocks nest and meet
    prop_oneof![
        (0_u32..4, 0_u32..64).prop_map(|(high, low)| Ipv4Addr::from_bits(high << 30 | low).into()),
        (0_u128..4, 0_u128..64)
            .prop_map(|(high, low)| Ipv6Addr::from_bits(high << 126 | low).into()),
    ]
}

fn any_table() -> impl Strategy<Value = Table> {
    let entry = (address(), 0_u8..=128, 0_u32..4).prop_map(|(address, length, owner)| {
        let longest = Prefix::host(address).length();
        // near both ends, where the addresses differ
        let length = if length % 3 == 0 {
            length % 5
        } else {
            longest - length % 7
        };
        let prefix = Prefix::around(address, length).unwrap();
        Entry { prefix, owner }
    });
    proptest::collection::vec(entry, 0..40).prop_map(|mut entries| {
        entries.sort_unstable();
        entries.dedup_by_key(|entry| entry.prefix);
        Table::new(entries).unwrap()
    })
}

fn fleet_input() -> impl Strategy<Value = (Vec<Assigned>, Vec<Prefix>)> {
    let hosts = proptest::collection::vec((proptest::option::of(address()), 0_u32..7), 1..60);
    let blocks = proptest::collection::vec((address(), 0_u8..32), 0..8);
    (hosts, blocks).prop_map(|(hosts, blocks)| {
        let assigned = (0..)
            .zip(hosts)
            .map(|(i, (address, robot))| Assigned {
                host: format!("h{i}.example"),
                address,
                robot,
            })
            .collect();
        let blocks = blocks
            .into_iter()
            .map(|(address, length)| Prefix::around(address, length).unwrap())
            .collect();
        (assigned, blocks)
    })
}

/// Seven robots at different depths.
fn uneven_tree() -> Tree {
    let robot = Member::Robot(1.0);
    let site = Member::Group(vec![robot.clone(), robot.clone()]);
    let region = Member::Group(vec![site.clone(), robot.clone(), site]);
    Tree::new(&Member::Group(vec![robot.clone(), region, robot])).unwrap()
}

proptest! {
    #[test]
    fn lookup_is_the_longest_match(table in any_table(), probes in proptest::collection::vec(address(), 50)) {
        let lookup = Lookup::new(&table);
        for probe in probes {
            prop_assert_eq!(lookup.owner(probe), by_definition(&table, probe));
        }
    }

    #[test]
    fn aggregation_keeps_the_meaning_and_never_grows(table in any_table(), probes in proptest::collection::vec(address(), 50)) {
        let exact = aggregate(&table, Unknown::Kept);
        let free = aggregate(&table, Unknown::Anyone);
        prop_assert!(exact.len() <= table.len());
        prop_assert!(free.len() <= exact.len());
        let edges = table.entries().iter().map(|entry| entry.prefix.address());
        for probe in probes.into_iter().chain(edges) {
            let owner = by_definition(&table, probe);
            prop_assert_eq!(by_definition(&exact, probe), owner);
            if owner.is_some() {
                prop_assert_eq!(by_definition(&free, probe), owner);
            }
        }
        prop_assert_eq!(aggregate(&free, Unknown::Anyone).len(), free.len());
    }

    #[test]
    fn every_host_goes_to_its_owner_from_every_robot((assigned, blocks) in fleet_input(), choice in any::<u32>()) {
        let tree = uneven_tree();
        let levels = tree.levels();
        let fleet = Fleet::new(tree, &assigned, &blocks).unwrap();
        for host in &assigned {
            for from in 0..7 {
                let mut turn = choice;
                let journey = fleet.journey(from, &host.host, host.address, |robots| {
                    turn = turn.wrapping_mul(2_654_435_761).wrapping_add(1);
                    robots.start + (turn >> 16) % (robots.end - robots.start)
                });
                prop_assert_eq!(journey.last(), Some(&host.robot));
                prop_assert!(journey.len() - 1 <= levels);
            }
        }
    }
}

/// No table can do with fewer: all tables over the blocks of a 3-bit space are tried.
#[test]
fn no_smaller_table_has_the_same_meaning() {
    let block = |bits: u8, length: u8| {
        let address = Ipv4Addr::new(bits, 0, 0, 0);
        Prefix::around(address.into(), length).unwrap()
    };
    // eight addresses x.0.0.0 with x a multiple of 32; owner 2 stands for unknown
    let blocks: Vec<Prefix> = (0..=3_u8)
        .flat_map(|length| (0..1_u16 << length).map(move |i| (i, length)))
        .map(|(i, length)| block((i << (8 - length)) as u8, length))
        .collect();
    let mut smallest = vec![usize::MAX; 3_usize.pow(8)];
    // every choice of nobody, 0 or 1 for each of the 15 blocks would be 14 million tables: up to
    // four entries are enough, since ORTC is never seen to need more here
    let mut tables: Vec<Vec<Entry>> = vec![Vec::new()];
    let mut frontier = tables.clone();
    for _ in 0..4 {
        frontier = frontier
            .iter()
            .flat_map(|entries| {
                let next = entries.last().map_or(0, |last| {
                    blocks.iter().position(|b| *b == last.prefix).unwrap() + 1
                });
                (next..blocks.len())
                    .flat_map(move |b| [0, 1].map(|owner| (b, owner)))
                    .map(|(b, owner)| {
                        let prefix = blocks[b];
                        [entries.as_slice(), &[Entry { prefix, owner }]].concat()
                    })
            })
            .collect();
        tables.extend(frontier.iter().cloned());
    }
    let meaning = |table: &Table| -> Vec<Option<u32>> {
        (0..8)
            .map(|i| by_definition(table, Ipv4Addr::new(i * 32, 0, 0, 0).into()))
            .collect()
    };
    let code = |owners: &[Option<u32>]| {
        owners
            .iter()
            .fold(0, |code, owner| code * 3 + owner.unwrap_or(2) as usize)
    };
    for entries in tables {
        let size = entries.len();
        let table = Table::new(entries).unwrap();
        let least = &mut smallest[code(&meaning(&table))];
        *least = size.min(*least);
    }
    for (wanted, &least) in smallest.iter().enumerate() {
        let digits: Vec<usize> = (0..8).map(|i| wanted / 3_usize.pow(7 - i) % 3).collect();
        let entries = (0..8_u8)
            .zip(&digits)
            .filter(|(_, owner)| **owner < 2)
            .map(|(i, &owner)| Entry {
                prefix: block(i * 32, 3),
                owner: owner as u32,
            })
            .collect();
        let exact = aggregate(&Table::new(entries).unwrap(), Unknown::Kept).len();
        assert!(
            exact == least || (least == usize::MAX && exact > 4),
            "{digits:?}: {exact} {least}"
        );
    }
}

/// 256 subnets' hosts of 193.136.0.0/16 in three groups of three robots.
#[test]
fn worked_example_of_193_136() {
    let tree = Tree::new(&Member::two_levels(3, 3)).unwrap();
    // consecutive subnets to consecutive robots, but for every 50th, which lies elsewhere
    let assigned: Vec<Assigned> = (0..=255_u8)
        .map(|subnet| Assigned {
            host: format!("www.s{subnet}.pt"),
            address: Some(Ipv4Addr::new(193, 136, subnet, 10).into()),
            robot: if subnet % 50 == 49 {
                8
            } else {
                u32::from(subnet) * 9 / 256
            },
        })
        .collect();
    let fleet = Fleet::new(tree, &assigned, &[]).unwrap();
    for host in &assigned {
        for from in 0..9 {
            // whoever answers for the group, the first or the last
            for last in [false, true] {
                let journey = fleet.journey(from, &host.host, host.address, |robots| {
                    if last { robots.end - 1 } else { robots.start }
                });
                assert_eq!(journey.last(), Some(&host.robot));
                assert!(journey.len() <= 3, "{journey:?}");
            }
        }
    }
    for robot in 0..9 {
        let router = fleet.router(robot);
        assert!(router.table().len() < 60, "{}", router.table().len());
        let targets: std::collections::HashSet<u32> = router
            .table()
            .entries()
            .iter()
            .map(|entry| entry.owner)
            .collect();
        // l·(c − 1) + 1
        assert!(targets.len() <= 5);
    }
    // an unknown host far away: all agree on one robot
    let finals: std::collections::HashSet<u32> = (0..9)
        .map(|from| {
            let journey = fleet.journey(from, "new.example", Some(ip("9.9.9.9")), |r| r.start);
            journey[journey.len() - 1]
        })
        .collect();
    assert_eq!(finals.len(), 1);
}

/// 50,000 hosts in /24s whose hosts mostly go together.
#[test]
fn dont_care_space_makes_tables_small() {
    let mut entries = std::collections::BTreeMap::new();
    let mut x = 1_u64;
    for i in 0..50_000_u32 {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let subnet = (x >> 40) as u32 % 14_000;
        let low = (x >> 33) as u32 % 127 * 2;
        let address = Ipv4Addr::from_bits(193 << 24 | subnet << 8 | low);
        let owner = if i % 20 == 0 {
            i / 20 % 30
        } else {
            subnet / 16 % 30
        };
        entries.entry(Prefix::host(address.into())).or_insert(owner);
    }
    let hosts: Vec<Entry> = entries
        .into_iter()
        .map(|(prefix, owner)| Entry { prefix, owner })
        .collect();
    let table = Table::new(hosts).unwrap();
    let exact = aggregate(&table, Unknown::Kept);
    let free = aggregate(&table, Unknown::Anyone);
    assert!(
        free.len() * 5 < exact.len(),
        "{} {}",
        free.len(),
        exact.len()
    );
    let lookup = Lookup::new(&free);
    for entry in table.entries() {
        assert_eq!(lookup.owner(entry.prefix.address()), Some(entry.owner));
    }
}
