//! The promises, one by one. Each case has keys, readers and sessions of its own, so that all run
//! at the same time on one engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bus::{Arrival, Bus, Delivered, PIECE, Replayed};
use fleet::identity::{GroupId, Member, RobotId, Session, Unit};
use fleet::io::{Outcome, Tail};
use fleet::key::{Key, Quiet, Value, What};
use fleet::parcel::{Batch, Message, Origin, Receipt, Subject, To};
use fleet::plan::Version;
use fleet::record::Record;
use fleet::wire::{FORMAT, encode, limits};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};

use crate::rig::{Rig, layout};

pub async fn all<R: Rig>(rig: &R) {
    let bus = rig.bus();
    tokio::join!(
        compare_and_set(&bus),
        racers_lose_nothing(&bus),
        changes_are_told(&bus),
        messages_arrive(&bus),
        readers_share(&bus),
        what_is_dropped_comes_again(&bus),
        what_is_held_does_not(&bus),
        whoever_holds_too_long_hears_more(&bus),
        garbage_is_buried(rig),
        full_is_refused(&bus),
        logs_are_fenced(&bus),
        logs_are_replayed_and_purged(&bus),
        objects_are_whole(&bus),
        questions_are_answered(&bus),
    );
}

pub fn robot(group: u64, id: u64) -> Subject {
    Subject {
        group: GroupId(group),
        to: To::Member(Member::Robot(RobotId(id))),
    }
}

pub fn session(robot: u64) -> Session {
    Session {
        robot: RobotId(robot),
        incarnation: 1,
    }
}

/// A message with a number in it.
pub fn numbered(number: u64) -> Message {
    Message::Receipt(Receipt {
        session: session(1),
        entries: vec![number],
        bindings: Vec::new(),
    })
}

pub fn number(message: &Message) -> u64 {
    match message {
        Message::Receipt(receipt) => receipt.entries[0],
        Message::Batch(_) => panic!("not one of ours"),
    }
}

pub fn quiet(round: u64) -> Value {
    Value::Quiet(Quiet {
        round,
        reached: false,
    })
}

pub fn entry(number: u64, bytes: usize) -> Arc<Vec<Record>> {
    let mut row = number.to_le_bytes().to_vec();
    row.resize(8 + bytes, number as u8);
    Arc::new(vec![Record::Row(Unit::Register(1), row.into())])
}

pub fn tail(entries: u64, sealed: bool) -> Tail {
    Tail {
        entries: Some(entries),
        sealed,
    }
}

pub async fn next(arrivals: &mut UnboundedReceiver<Arrival>) -> Arrival {
    let arrival = timeout(Duration::from_secs(30), arrivals.recv());
    arrival.await.expect("something comes").expect("it goes on")
}

pub async fn next_message(arrivals: &mut UnboundedReceiver<Arrival>) -> Delivered {
    match next(arrivals).await {
        Arrival::Message(delivered) => delivered,
        other => panic!("expected a message: {other:?}"),
    }
}

async fn nothing(arrivals: &mut UnboundedReceiver<Arrival>, wait: Duration) {
    if let Ok(arrival) = timeout(wait, arrivals.recv()).await {
        panic!("nothing should come: {arrival:?}");
    }
}

pub fn revision(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Done(revision) => revision,
        other => panic!("expected it to be done: {other:?}"),
    }
}

async fn compare_and_set(bus: &impl Bus) {
    let group = GroupId(0);
    let what = What::Quiet;
    let key = Key { group, what };
    let first = revision(bus.swap(key, 0, &quiet(1)).await);
    assert_eq!(bus.swap(key, 0, &quiet(2)).await, Outcome::Refused);
    assert_eq!(bus.swap(key, first + 1, &quiet(2)).await, Outcome::Refused);
    let second = revision(bus.swap(key, first, &quiet(2)).await);
    assert!(second > first);
    assert_eq!(bus.swap(key, first, &quiet(3)).await, Outcome::Refused);
    let readings = bus.poll(group).await.expect("an answer");
    assert_eq!(readings.len(), 1, "{readings:?}");
    assert_eq!((readings[0].key, readings[0].revision), (key, second));
    assert_eq!(readings[0].value, Ok(quiet(2)));
}

async fn racers_lose_nothing(bus: &impl Bus) {
    let (group, what) = (GroupId(3), What::Quiet);
    let racers = (0..4).map(|_| {
        let bus = bus.clone();
        tokio::spawn(async move {
            let mut won = 0;
            for _ in 0..25 {
                won += u64::from(increment(&bus, Key { group, what }).await == Some(true));
            }
            won
        })
    });
    let mut won = 0;
    for racer in racers.collect::<Vec<_>>() {
        won += racer.await.expect("it ran");
    }
    let readings = bus.poll(group).await.expect("an answer");
    assert_eq!(readings[0].value, Ok(quiet(won)));
    assert!(won >= 25, "someone wins every time: {won}");
}

/// Counts up by one; whether it won, or nothing if that is not known.
pub async fn increment(bus: &impl Bus, key: Key) -> Option<bool> {
    let readings = bus.poll(key.group).await.ok()?;
    let present = readings.iter().find(|reading| reading.key == key);
    let (revision, round) = present.map_or((0, 0), |reading| match &reading.value {
        Ok(Value::Quiet(quiet)) => (reading.revision, quiet.round),
        other => panic!("not what was written: {other:?}"),
    });
    match bus.swap(key, revision, &quiet(round + 1)).await {
        Outcome::Done(_) => Some(true),
        Outcome::Refused => Some(false),
        Outcome::Unknown => None,
    }
}

async fn changes_are_told(bus: &impl Bus) {
    let (group, other) = (GroupId(1), GroupId(2));
    let mut watch = bus.watch(group).await.expect("a watch");
    let what = What::Quiet;
    revision(bus.swap(Key { group: other, what }, 0, &quiet(9)).await);
    let mut last = 0;
    for round in 1..=5 {
        last = revision(bus.swap(Key { group, what }, last, &quiet(round)).await);
        // refused, and so told to nobody
        bus.swap(Key { group, what }, 0, &quiet(99)).await;
        let change = timeout(Duration::from_secs(10), watch.recv());
        let change = change.await.expect("a change").expect("it goes on");
        assert_eq!((change.key, change.revision), (Key { group, what }, last));
        assert_eq!(change.value, Ok(quiet(round)));
    }
}

async fn messages_arrive(bus: &impl Bus) {
    let subject = robot(1, 10);
    for number in 0..5 {
        revision(bus.publish(subject, &numbered(number)).await);
    }
    // a subject for the same robot's receipts, and one for a group of the same number
    let receipts = Subject {
        to: To::Robot(RobotId(10)),
        ..subject
    };
    let group = Subject {
        to: To::Member(Member::Group(GroupId(10))),
        ..subject
    };
    revision(bus.publish(receipts, &numbered(100)).await);
    revision(bus.publish(group, &numbered(200)).await);
    let mut arrivals = bus.consume(subject).await.expect("a reader");
    for expected in 0..5 {
        let delivered = next_message(&mut arrivals).await;
        assert_eq!((number(&delivered.message), delivered.times), (expected, 1));
        delivered.acknowledge();
    }
    revision(bus.publish(subject, &numbered(5)).await);
    let delivered = next_message(&mut arrivals).await;
    assert_eq!(number(&delivered.message), 5);
    delivered.acknowledge();
    nothing(&mut arrivals, layout(1).ack_wait * 2).await;
    let mut arrivals = bus.consume(receipts).await.expect("a reader");
    assert_eq!(number(&next_message(&mut arrivals).await.message), 100);
    let mut arrivals = bus.consume(group).await.expect("a reader");
    assert_eq!(number(&next_message(&mut arrivals).await.message), 200);
}

async fn readers_share(bus: &impl Bus) {
    let subject = robot(1, 11);
    let mut one = bus.consume(subject).await.expect("a reader");
    let mut two = bus.consume(subject).await.expect("a reader");
    let mut seen = BTreeSet::new();
    for number in 0..30 {
        revision(bus.publish(subject, &numbered(number)).await);
    }
    while seen.len() < 30 {
        let arrival = tokio::select! {
            arrival = next(&mut one) => arrival,
            arrival = next(&mut two) => arrival,
        };
        let Arrival::Message(delivered) = arrival else {
            panic!("expected a message: {arrival:?}");
        };
        assert!(
            seen.insert(number(&delivered.message)),
            "one reader gets it"
        );
        delivered.acknowledge();
    }
}

async fn what_is_dropped_comes_again(bus: &impl Bus) {
    let subject = robot(1, 12);
    let message = numbered(1);
    revision(bus.publish(subject, &message).await);
    let mut arrivals = bus.consume(subject).await.expect("a reader");
    for times in 1..=layout(1).deliveries {
        let delivered = next_message(&mut arrivals).await;
        assert_eq!(delivered.times, times);
    }
    assert!(matches!(next(&mut arrivals).await, Arrival::GivenUp));
    let buried = bus.dead_letters(50).await.expect("an answer").1;
    let letter = buried
        .iter()
        .find(|letter| letter.subject.ends_with("g1.member.r12"));
    let letter = letter.expect("it is buried");
    assert_eq!(letter.bytes, encode(&message));
    assert!(letter.reason.contains("3 times"), "{}", letter.reason);
    assert!(bus.tally().given_up.get() >= 1);
    // a reader that dies holding a message is no different
    revision(bus.publish(subject, &numbered(2)).await);
    let held = next_message(&mut arrivals).await;
    drop(arrivals);
    let mut arrivals = bus.consume(subject).await.expect("another reader");
    let again = next_message(&mut arrivals).await;
    assert_eq!((number(&again.message), again.times), (2, 2));
    again.acknowledge();
    drop(held);
}

async fn what_is_held_does_not(bus: &impl Bus) {
    let subject = robot(1, 13);
    revision(bus.publish(subject, &numbered(1)).await);
    let mut arrivals = bus.consume(subject).await.expect("a reader");
    let held = next_message(&mut arrivals).await;
    nothing(&mut arrivals, layout(1).ack_wait * 2).await;
    held.acknowledge();
    nothing(&mut arrivals, layout(1).ack_wait * 2).await;
}

/// A reader that forgets to say what became of messages must not be deaf for ever.
async fn whoever_holds_too_long_hears_more(bus: &impl Bus) {
    let subject = robot(1, 14);
    let most = layout(1).in_flight;
    for n in 1..=most + 1 {
        revision(bus.publish(subject, &numbered(n)).await);
    }
    let mut arrivals = bus.consume(subject).await.expect("a reader");
    let mut kept = Vec::new();
    for n in 1..=most {
        let delivered = next_message(&mut arrivals).await;
        assert_eq!(number(&delivered.message), n);
        kept.push(delivered);
    }
    nothing(&mut arrivals, layout(1).ack_wait * 2).await;
    // twenty times the wait for an acknowledgement
    let again = timeout(layout(1).ack_wait * 30, arrivals.recv()).await;
    let mut arrival = again.expect("it comes again").expect("it goes on");
    let mut heard = BTreeSet::new();
    loop {
        if let Arrival::Message(delivered) = arrival {
            heard.insert(number(&delivered.message));
            delivered.acknowledge();
        }
        if heard.len() as u64 > most {
            break;
        }
        arrival = next(&mut arrivals).await;
    }
    assert_eq!(heard.last(), Some(&(most + 1)));
    drop(kept);
}

async fn garbage_is_buried<R: Rig>(rig: &R) {
    let bus = rig.bus();
    let subject = robot(2, 1);
    let mut future = encode(&numbered(1));
    future[0] = FORMAT + 1;
    let mut cut = encode(&numbered(1));
    cut.pop();
    let many = encode(&Message::Receipt(Receipt {
        session: session(1),
        entries: (0..=limits::ENTRIES as u64).collect(),
        bindings: Vec::new(),
    }));
    let garbage = [b"garbage".to_vec(), future, cut, many, Vec::new()];
    for bytes in &garbage {
        rig.inject(subject, bytes.clone()).await;
    }
    revision(bus.publish(subject, &numbered(7)).await);
    let mut arrivals = bus.consume(subject).await.expect("a reader");
    for _ in &garbage {
        assert!(matches!(next(&mut arrivals).await, Arrival::Unreadable(_)));
    }
    let delivered = next_message(&mut arrivals).await;
    assert_eq!(number(&delivered.message), 7);
    delivered.acknowledge();
    let buried = bus.dead_letters(50).await.expect("an answer").1;
    for bytes in garbage {
        let letter = buried.iter().find(|letter| letter.bytes == bytes);
        assert!(
            letter.is_some_and(|letter| !letter.reason.is_empty()),
            "{bytes:?}"
        );
    }
    assert!(bus.tally().unreadable.get() >= 5);
    // a part of a message that could be read
    revision(
        bus.bury(subject, "out of\r\n scope", b"a URL".to_vec())
            .await,
    );
    let (count, newest) = bus.dead_letters(1).await.expect("an answer");
    let [letter] = &newest[..] else {
        panic!("one letter of {count}")
    };
    let reason: String = letter.reason.chars().filter(|c| !c.is_control()).collect();
    assert_eq!((&*reason, &*letter.bytes), ("out of scope", &b"a URL"[..]));
    assert_eq!(bus.tally().unburied.get(), 0);
    nothing(&mut arrivals, layout(1).ack_wait * 2).await;
}

async fn full_is_refused(bus: &impl Bus) {
    let (away, here) = (robot(3, 1), robot(3, 2));
    let most = layout(1).waiting;
    for number in 0..most {
        revision(bus.publish(away, &numbered(number)).await);
    }
    for _ in 0..3 {
        assert_eq!(bus.publish(away, &numbered(999)).await, Outcome::Refused);
    }
    assert!(bus.tally().full.get() >= 3);
    revision(bus.publish(here, &numbered(1)).await);
    let mut arrivals = bus.consume(away).await.expect("a reader");
    // on a busy machine an acknowledgement comes late, and its message comes twice
    let mut seen = BTreeSet::new();
    for _ in 0..10 * most {
        let delivered = next_message(&mut arrivals).await;
        seen.insert(number(&delivered.message));
        delivered.acknowledge();
        if seen.len() as u64 >= most {
            break;
        }
    }
    assert_eq!(seen, (0..most).collect(), "what was refused was not stored");
    // acknowledgements need not have come to the end yet
    for _ in 0..50 {
        if bus.publish(away, &numbered(1_000)).await != Outcome::Refused {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    loop {
        let delivered = next_message(&mut arrivals).await;
        let number = number(&delivered.message);
        if number == 1_000 {
            break;
        }
        assert!(number < most, "{number} was refused and came all the same");
        delivered.acknowledge();
    }
    // larger than any message may be
    let url = fleet::parcel::Parcel::new("a.test".into(), "x".repeat(limits::MESSAGE).into());
    let large = Message::Batch(Batch {
        origin: Origin {
            session: session(1),
            reply: here,
        },
        hops: 0,
        by: (GroupId(3), Version::default()),
        entries: vec![(1, fleet::parcel::Cargo::Url(url))],
    });
    assert_eq!(bus.publish(here, &large).await, Outcome::Refused);
    assert!(bus.tally().oversized.get() >= 1);
}

async fn logs_are_fenced(bus: &impl Bus) {
    let log = session(20);
    assert_eq!(bus.tail(log).await, tail(0, false));
    let entries: Vec<_> = (0..4).map(|n| entry(n, 10)).collect();
    assert_eq!(bus.append(log, 0, &entries[..2]).await, tail(2, false));
    assert_eq!(bus.append(log, 0, &entries[2..]).await, tail(2, false));
    assert_eq!(bus.append(log, 3, &entries[3..]).await, tail(2, false));
    assert_eq!(bus.append(log, 2, &entries[2..3]).await, tail(3, false));
    assert_eq!(
        bus.append(session(21), 0, &entries[..1]).await,
        tail(1, false)
    );
    assert_eq!(bus.replay(log).await, None, "it is not sealed");
    revision(bus.seal(log).await);
    revision(bus.seal(log).await);
    assert_eq!(bus.append(log, 3, &entries[3..]).await, tail(3, true));
    assert_eq!(bus.tail(log).await, tail(3, true));
    let entries = entries[..3].to_vec();
    assert_eq!(bus.replay(log).await, Some(Replayed { from: 0, entries }));
    // a seal while its owner appends: what was acknowledged is in, and nothing after it
    let log = session(22);
    let writer = tokio::spawn({
        let bus = bus.clone();
        async move {
            let mut written = 0;
            loop {
                let end = bus.append(log, written, &[entry(written, 10)]).await;
                if end.sealed {
                    return written;
                }
                written = end.entries.expect("an answer");
            }
        }
    });
    while bus.tail(log).await.entries < Some(3) {
        sleep(Duration::from_millis(5)).await;
    }
    revision(bus.seal(log).await);
    let written = writer.await.expect("it ran");
    let replayed = bus.replay(log).await.expect("a sealed log").entries;
    assert_eq!(replayed.len() as u64, written);
    for (at, found) in (0..).zip(&replayed) {
        assert_eq!(*found, entry(at, 10));
    }
}

async fn logs_are_replayed_and_purged(bus: &impl Bus) {
    let log = session(30);
    // some together, some alone, one larger than any message
    let sizes = [10, 3 << 20, 100, 100, 6 << 20, 10];
    let entries: Vec<_> = (0..).zip(sizes).map(|(n, size)| entry(n, size)).collect();
    assert_eq!(bus.append(log, 0, &entries[..2]).await, tail(2, false));
    assert_eq!(bus.append(log, 2, &entries[2..4]).await, tail(4, false));
    assert_eq!(bus.append(log, 4, &entries[4..]).await, tail(6, false));
    revision(bus.purge(log, 1).await);
    revision(bus.purge(log, 3).await);
    assert_eq!(bus.tail(log).await, tail(6, false));
    revision(bus.seal(log).await);
    let left = entries[2..].to_vec();
    let expected = Replayed {
        from: 2,
        entries: left,
    };
    assert_eq!(bus.replay(log).await, Some(expected));
    revision(bus.purge(log, 100).await);
    assert_eq!(
        bus.tail(log).await,
        tail(6, true),
        "a log never forgets its length"
    );
    let empty = Replayed {
        from: 6,
        entries: Vec::new(),
    };
    assert_eq!(bus.replay(log).await, Some(empty));
    revision(bus.purge(session(31), 5).await);
}

async fn objects_are_whole(bus: &impl Bus) {
    let bytes = |fill: u8, size: usize| -> Arc<[u8]> {
        (0..size).map(|n| fill ^ (n >> 9) as u8 ^ n as u8).collect()
    };
    assert_eq!(bus.get("r1.1/7/0").await, None);
    revision(bus.put("r1.1/7/0", bytes(1, 100)).await);
    revision(bus.put("r1.1/7/1", bytes(2, PIECE)).await);
    revision(bus.put("empty", bytes(2, 0)).await);
    assert_eq!(bus.get("r1.1/7/0").await, Some(bytes(1, 100)));
    assert!(bus.get("r1.1/7/1").await == Some(bytes(2, PIECE)));
    assert_eq!(bus.get("empty").await, Some(bytes(2, 0)));
    revision(bus.put("r1.1/7/0", bytes(3, 200)).await);
    assert_eq!(bus.get("r1.1/7/0").await, Some(bytes(3, 200)));
    revision(bus.remove("r1.1/7/0").await);
    assert_eq!(bus.get("r1.1/7/0").await, None);
    assert_eq!(
        bus.put("large", bytes(1, PIECE + 1)).await,
        Outcome::Refused
    );
    // all that a session stored but what is still needed, and nothing of others
    let (swept, other) = (session(61), session(6));
    let of = |kind: &str, session: Session, rest: &str| {
        format!("{kind}/{}.{}/{rest}", session.robot, session.incarnation)
    };
    let gone = [of("package", swept, "1/0"), of("snapshot", swept, "2/0")];
    let stay = [of("snapshot", swept, "3/0"), of("package", other, "1/0")];
    for name in gone.iter().chain(&stay) {
        revision(bus.put(name, bytes(5, 10)).await);
    }
    revision(bus.sweep(swept, &[stay[0].as_str().into()]).await);
    for name in gone {
        assert_eq!(bus.get(&name).await, None, "{name}");
    }
    for name in stay {
        assert_eq!(bus.get(&name).await, Some(bytes(5, 10)), "{name}");
    }
}

async fn questions_are_answered(bus: &impl Bus) {
    let robot = RobotId(40);
    assert_eq!(
        bus.ask(robot, b"how are you").await,
        None,
        "nobody is there"
    );
    let mut questions = bus.questions(robot).await.expect("asked");
    let answering = tokio::spawn(async move {
        let question = questions.recv().await.expect("a question");
        assert_eq!(question.bytes, b"how are you");
        question.answer.send(b"well".to_vec()).expect("heard");
        // the next gets no answer
        drop(questions.recv().await.expect("another"));
    });
    // a subscription takes a moment to be known everywhere
    let mut answer = None;
    while answer.is_none() {
        answer = bus.ask(robot, b"how are you").await;
    }
    assert_eq!(answer, Some(b"well".to_vec()));
    assert_eq!(bus.ask(robot, b"and now").await, None);
    answering.await.expect("it ran");
}
