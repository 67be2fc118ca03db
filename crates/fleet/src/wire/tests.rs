use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::*;
use crate::demand::Curve;
use crate::filter::{Block, Filter};
use crate::identity::{GroupId, Member, RobotId, Session, Text, Unit};
use crate::key::{Charter, Counters, Grant, Key, Lease, Progress, Quiet, Summary, Value, What};
use crate::moves::Notice;
use crate::parcel::{Batch, Cargo, Errand, Message, Origin, Parcel, Receipt, Subject, To};
use crate::plan::{Plan, Seat, Standing, Version};
use crate::record::{Record, Shared};

fn text() -> impl Strategy<Value = Text> {
    "[a-z0-9./?-]{1,40}".prop_map(Into::into)
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from)
    ]
}

fn session() -> impl Strategy<Value = Session> {
    (any::<u64>(), any::<u64>()).prop_map(|(robot, incarnation)| Session {
        robot: RobotId(robot),
        incarnation,
    })
}

fn member() -> impl Strategy<Value = Member> {
    prop_oneof![
        any::<u64>().prop_map(|id| Member::Robot(RobotId(id))),
        any::<u64>().prop_map(|id| Member::Group(GroupId(id)))
    ]
}

fn version() -> impl Strategy<Value = Version> {
    (any::<u64>(), any::<u64>()).prop_map(|(number, term)| Version { number, term })
}

fn unit() -> impl Strategy<Value = Unit> {
    prop_oneof![
        address().prop_map(Unit::Server),
        any::<u8>().prop_map(Unit::Register)
    ]
}

fn parcel() -> impl Strategy<Value = Parcel> {
    let facts = (any::<u16>(), any::<u8>(), any::<u64>(), of(any::<u64>()));
    let bytes = proptest::collection::vec(any::<u8>(), 0..64);
    let errand = (text(), any::<u8>(), of(bytes.prop_map(Into::into)));
    let errand = errand.prop_map(|(of, hops, answer)| Errand { of, hops, answer });
    let links = (of(text()), of(errand));
    (text(), text(), of(address()), facts, links).prop_map(
        |(name, url, server, (depth, redirects, found, dated), (referrer, errand))| Parcel {
            name,
            url,
            server,
            depth,
            redirects,
            found,
            dated,
            referrer,
            errand,
        },
    )
}

fn cargo() -> impl Strategy<Value = Cargo> {
    let notice = (
        unit(),
        session(),
        any::<u64>(),
        0..limits::PIECES,
        any::<u64>(),
    );
    let notice = notice.prop_map(|(unit, from, number, pieces, digest)| {
        Cargo::Moved(Notice {
            unit,
            from,
            number,
            pieces,
            digest,
        })
    });
    prop_oneof![parcel().prop_map(Cargo::Url), notice]
}

fn message() -> impl Strategy<Value = Message> {
    let subject = (any::<u64>(), member()).prop_map(|(group, member)| Subject {
        group: GroupId(group),
        to: To::Member(member),
    });
    let origin = (session(), subject).prop_map(|(session, reply)| Origin { session, reply });
    let by = (any::<u64>().prop_map(GroupId), version());
    let batch = (origin, any::<u8>(), by, vec((any::<u64>(), cargo()), 0..6));
    let batch = batch.prop_map(|(origin, hops, by, entries)| {
        Message::Batch(Batch {
            origin,
            hops,
            by,
            entries,
        })
    });
    let receipt = (
        session(),
        vec(any::<u64>(), 0..9),
        vec((text(), address()), 0..4),
    );
    let receipt = receipt.prop_map(|(session, entries, bindings)| {
        Message::Receipt(Receipt {
            session,
            entries,
            bindings,
        })
    });
    prop_oneof![batch, receipt]
}

fn progress() -> impl Strategy<Value = Progress> {
    let versions = || prop::collection::btree_map(any::<u64>().prop_map(GroupId), version(), 0..4);
    let rounds = prop::collection::btree_map(any::<u64>().prop_map(GroupId), any::<u64>(), 0..4);
    let counters = (any::<bool>(), any::<u64>(), any::<u64>(), any::<u64>());
    (versions(), versions(), 0.0..1e6, rounds, counters).prop_map(
        |(adopted, settled, most, rounds, (idle, taken, state, asked))| Progress {
            adopted,
            settled,
            demand: Curve::of(|price| most / (1.0 + price) - 1.0),
            rounds,
            counters: Counters {
                idle,
                taken,
                state,
                asked,
            },
        },
    )
}

fn plan() -> impl Strategy<Value = Plan> {
    let seat = (
        member(),
        any::<u64>(),
        any::<u32>(),
        any::<bool>(),
        vec(any::<u64>(), 0..4),
        text(),
    );
    let seat = seat.prop_map(
        |(member, incarnation, capacity, active, representatives, domain)| Seat {
            standing: match (active, incarnation % 2) {
                (true, _) => Standing::Active,
                (false, 0) => Standing::Leaving,
                (false, _) => Standing::Empty,
            },
            representatives: representatives.into_iter().map(RobotId).collect(),
            filter: Filter {
                ranges: vec![Block("192.0.2.0/24".parse().unwrap())],
                domains: vec![domain],
                refused_paths: Vec::new(),
            },
            ..Seat::new(member, incarnation, capacity)
        },
    );
    let block = address().prop_map(|a| Block(partition::routing::Prefix::host(a)));
    let parts = (
        vec(seat, 0..5),
        vec(session(), 0..3),
        vec((block, member()), 0..5),
    );
    (any::<u64>(), version(), any::<u64>(), parts).prop_map(|(group, version, maker, parts)| {
        let mut plan = Plan::new(GroupId(group), version, RobotId(maker));
        (plan.seats, plan.dead, plan.table) = parts;
        plan.parent = (maker % 2 == 0).then_some(GroupId(maker));
        plan.buried = (maker % 3 == 0).then_some(version);
        plan.charter = group;
        plan
    })
}

fn value() -> impl Strategy<Value = (Key, Value)> {
    let shares = || prop::collection::btree_map(member(), any::<u32>(), 0..5);
    let grant = (any::<u64>(), shares(), shares(), any::<bool>());
    let grant = grant.prop_map(|(round, before, shares, firm)| {
        let grant = Grant {
            round,
            before,
            shares,
            firm,
        };
        (What::Grant, Value::Grant(grant))
    });
    let lease = (
        session(),
        any::<u64>(),
        any::<bool>(),
        any::<u32>(),
        progress(),
    );
    let lease = lease.prop_map(|(session, nonce, sealed, capacity, progress)| {
        let lease = Lease {
            session,
            nonce,
            sealed,
            leaving: !sealed,
            capacity,
            load: (nonce % 101) as u8,
            responses: BTreeMap::from([(session.robot, capacity)]),
            progress,
        };
        (What::Lease(session.robot), Value::Lease(lease))
    });
    let summary = (
        any::<u64>(),
        any::<u32>(),
        vec(any::<u64>(), 0..9),
        progress(),
    );
    let summary = summary.prop_map(|(maker, capacity, representatives, progress)| {
        let summary = Summary {
            maker: RobotId(maker),
            beat: maker,
            capacity,
            representatives: representatives.into_iter().map(RobotId).collect(),
            progress,
        };
        (What::Summary(GroupId(maker)), Value::Summary(summary))
    });
    let quiet = (any::<u64>(), any::<bool>())
        .prop_map(|(round, reached)| (What::Quiet, Value::Quiet(Quiet { round, reached })));
    let charter = (any::<u64>(), vec(any::<u64>(), 0..5), member(), text());
    let charter = charter.prop_map(|(number, groups, member, domain)| {
        let filter = Filter {
            domains: vec![domain],
            ..Filter::default()
        };
        let charter = Charter {
            number,
            parent: (number % 2 == 0).then_some(GroupId(number)),
            groups: groups.into_iter().map(GroupId).collect(),
            filters: BTreeMap::from([(member, filter)]),
            ring: number % 3 == 0,
        };
        (What::Charter, Value::Charter(charter))
    });
    let other = prop_oneof![grant, lease, summary, quiet, charter].prop_map(|(what, value)| {
        let group = GroupId(1);
        (Key { group, what }, value)
    });
    let plan = plan().prop_map(|plan| {
        let key = Key {
            group: plan.group,
            what: What::Plan,
        };
        (key, Value::Plan(Shared(Arc::new(plan))))
    });
    prop_oneof![4 => other, 1 => plan]
}

/// What a careless or hostile peer makes of a message.
fn damaged(bytes: &[u8], how: u8, at: usize, with: u8) -> Vec<u8> {
    let at = at % bytes.len();
    let mut bytes = bytes.to_vec();
    match how % 4 {
        0 => bytes[at] = with,
        1 => bytes.insert(at, with),
        2 => {
            bytes.remove(at);
        }
        _ => bytes.truncate(at),
    }
    bytes
}

proptest! {
    #[test]
    fn messages_come_back_as_they_were(message in message()) {
        let bytes = encode(&message);
        prop_assert_eq!(limits::message(&bytes), Ok(message));
        for cut in 0..bytes.len() {
            prop_assert!(limits::message(&bytes[..cut]).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        prop_assert_eq!(limits::message(&longer), Err(WireError::Long(1)));
        let other = [&[FORMAT + 1], &bytes[1..]].concat();
        prop_assert_eq!(limits::message(&other), Err(WireError::Format(FORMAT + 1)));
    }

    #[test]
    fn values_come_back_as_they_were((key, value) in value()) {
        let bytes = encode(&value);
        prop_assert_eq!(limits::value(key, &bytes), Ok(value));
        let elsewhere = Key { group: GroupId(key.group.0 ^ 1), what: What::Lease(RobotId(0)) };
        prop_assert!(limits::value(elsewhere, &bytes).is_err());
    }

    #[test]
    fn records_come_back_as_they_were(parcel in parcel(), plan in plan(), session in session()) {
        for record in [
            Record::Admit(parcel),
            Record::Began(session),
            Record::Taken(session, plan.version),
            Record::Adopted(Shared(Arc::new(plan))),
        ] {
            prop_assert_eq!(decode::<Record>(&encode(&record)), Ok(record));
        }
    }

    /// There is one way to write a thing: whatever can be read is written so again.
    #[test]
    fn damage_is_refused_or_is_another_message(
        message in message(), (key, value) in value(),
        how in any::<u8>(), at in any::<usize>(), with in any::<u8>(),
    ) {
        let bytes = damaged(&encode(&message), how, at, with);
        if let Ok(message) = limits::message(&bytes) {
            prop_assert_eq!(encode(&message), bytes);
        }
        let bytes = damaged(&encode(&value), how, at, with);
        if let Ok(value) = limits::value(key, &bytes) {
            prop_assert_eq!(encode(&value), bytes);
        }
    }

    #[test]
    fn garbage_is_refused_or_is_what_would_be_written(bytes in vec(any::<u8>(), 0..80)) {
        let bytes = [&[FORMAT], &bytes[..]].concat();
        if let Ok(message) = decode::<Message>(&bytes) {
            prop_assert_eq!(encode(&message), bytes.clone());
        }
        if let Ok(value) = decode::<Value>(&bytes) {
            prop_assert_eq!(encode(&value), bytes);
        }
    }
}

#[test]
fn what_no_honest_robot_sends_is_refused() {
    let session = Session {
        robot: RobotId(1),
        incarnation: 1,
    };
    let receipt = |entries: usize, name: &str| {
        encode(&Message::Receipt(Receipt {
            session,
            entries: vec![7; entries],
            bindings: vec![(name.into(), "192.0.2.1".parse().unwrap())],
        }))
    };
    assert!(limits::message(&receipt(limits::ENTRIES, "host.example")).is_ok());
    for bytes in [
        receipt(limits::ENTRIES + 1, "host.example"),
        receipt(1, ""),
        receipt(1, "evil\u{1b}[2J.example"),
        receipt(1, &"x".repeat(254)),
        vec![FORMAT; limits::MESSAGE + 1],
        Vec::new(),
    ] {
        assert!(limits::message(&bytes).is_err());
    }
    // a list that says to be long makes nobody allocate
    assert!(decode::<Vec<u64>>(&[FORMAT, 0xff, 0xff, 0xff, 0x07]).is_err());
    // a map has its keys in order, each once
    let twice = [FORMAT, 2, 5, 1, 5, 1];
    assert!(decode::<BTreeMap<u64, u64>>(&twice).is_err());
}

#[test]
fn receipts_for_much_can_be_read() {
    let all = 2 * limits::ENTRIES as u64 + 7;
    let receipt = Receipt {
        session: Session {
            robot: RobotId(1),
            incarnation: 1,
        },
        entries: (0..all).collect(),
        bindings: vec![("a.example".into(), [192, 0, 2, 1].into())],
    };
    let whole = encode(&Message::Receipt(receipt.clone()));
    assert!(limits::message(&whole).is_err(), "too many at a time");
    let mut read = (Vec::new(), Vec::new());
    for part in receipt.in_parts(limits::ENTRIES) {
        let bytes = encode(&Message::Receipt(part));
        let Ok(Message::Receipt(part)) = limits::message(&bytes) else {
            panic!("a part is refused");
        };
        read.0.extend(part.entries);
        read.1.extend(part.bindings);
    }
    assert_eq!(read.0, (0..all).collect::<Vec<_>>());
    assert_eq!(read.1.len(), 1);
}
