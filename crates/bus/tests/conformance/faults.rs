//! Servers that die while robots write. What was acknowledged is there afterwards, and lost
//! answers were found again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bus::nats::Nats;
use bus::{Arrival, Bus};
use fleet::identity::GroupId;
use fleet::io::Outcome;
use fleet::key::{Key, Value, What};
use tokio::time::{Instant, sleep, timeout};

use crate::rig::{Real, layout, limited};
use crate::servers::Cluster;
use crate::suite::{entry, increment, next_message, number, numbered, robot, session};

const KEY: Key = Key {
    group: GroupId(1),
    what: What::Quiet,
};

/// What writers were promised.
#[derive(Default)]
struct Promised {
    /// Compare-and-sets that won, and those whose end is not known.
    swaps: (u64, u64),
    /// Messages that were taken.
    messages: BTreeSet<u64>,
    /// Entries that the log had when it last answered.
    entries: u64,
    /// The longest time without a successful compare-and-set.
    gap: Duration,
}

/// Writes everywhere until told to stop.
async fn write(bus: Nats, stop: Arc<AtomicBool>) -> Promised {
    let swaps = async {
        let (mut won, mut unknown) = (0, 0);
        let (mut last, mut gap) = (Instant::now(), Duration::ZERO);
        while !stop.load(Ordering::Relaxed) {
            match increment(&bus, KEY).await {
                Some(true) => {
                    won += 1;
                    gap = gap.max(last.elapsed());
                    last = Instant::now();
                }
                Some(false) => {}
                None => unknown += 1,
            }
        }
        (won, unknown, gap)
    };
    let messages = async {
        let (mut taken, mut number) = (BTreeSet::new(), 0);
        while !stop.load(Ordering::Relaxed) {
            number += 1;
            if let Outcome::Done(_) = bus.publish(robot(1, 1), &numbered(number)).await {
                taken.insert(number);
            }
        }
        taken
    };
    let entries = async {
        let mut written = 0;
        while !stop.load(Ordering::Relaxed) {
            let tail = bus
                .append(session(1), written, &[entry(written, 100)])
                .await;
            assert!(!tail.sealed);
            if let Some(entries) = tail.entries {
                assert!(
                    entries >= written,
                    "{entries} entries, {written} were promised"
                );
                written = entries;
            } else {
                // as the protocol does
                sleep(Duration::from_millis(100)).await;
                written = bus.tail(session(1)).await.entries.unwrap_or(written);
            }
        }
        written
    };
    let ((won, unknown, gap), messages, entries) = tokio::join!(swaps, messages, entries);
    Promised {
        swaps: (won, unknown),
        messages,
        entries,
        gap,
    }
}

/// All that was promised is there, and each of it once where that was promised.
async fn kept(bus: &Nats, promised: Promised) {
    let tally = bus.tally();
    println!(
        "swaps {:?}, longest gap {:.1} s, {} messages, {} entries; ambiguous {}, resolved {}, reconnects {}",
        promised.swaps,
        promised.gap.as_secs_f64(),
        promised.messages.len(),
        promised.entries,
        tally.ambiguous.get(),
        tally.resolved.get(),
        tally.reconnects.get(),
    );
    let mut readings = bus.poll(KEY.group).await;
    for _ in 0..20 {
        if readings.is_ok() {
            break;
        }
        sleep(Duration::from_millis(500)).await;
        readings = bus.poll(KEY.group).await;
    }
    let readings = readings.expect("an answer");
    let Ok(Value::Quiet(quiet)) = &readings[0].value else {
        panic!("not what was written: {readings:?}");
    };
    let (won, unknown) = promised.swaps;
    assert!(
        won > 0 && (won..=won + unknown).contains(&quiet.round),
        "{quiet:?}"
    );

    let mut arrivals = bus.consume(robot(1, 1)).await.expect("a reader");
    let mut seen = BTreeSet::new();
    while !promised.messages.is_subset(&seen) {
        let delivered = next_message(&mut arrivals).await;
        seen.insert(number(&delivered.message));
        delivered.acknowledge();
    }

    assert!(matches!(bus.seal(session(1)).await, Outcome::Done(_)));
    let replayed = bus.replay(session(1)).await.expect("a sealed log");
    assert!(replayed.entries.len() as u64 >= promised.entries);
    for (at, found) in (0..).zip(&replayed.entries) {
        assert_eq!(*found, entry(at, 100), "each entry once and in order");
    }
}

fn roomy(replicas: usize) -> bus::layout::Layout {
    bus::layout::Layout {
        waiting: 1_000_000,
        ..layout(replicas)
    }
}

/// Writes, kills a server of three, goes on, and looks.
async fn one_dies(leader: bool) {
    let Some(mut cluster) = Cluster::start(3).await else {
        return;
    };
    let rig = Real::new(&cluster, roomy(3)).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(write(rig.bus.clone(), Arc::clone(&stop)));
    sleep(Duration::from_secs(2)).await;
    let context = async_nats::jetstream::new(rig.client.clone());
    let stream = context.get_stream(rig.names.bucket(KEY.group)).await;
    let stream = stream.expect("the bucket");
    let name = stream
        .cached_info()
        .cluster
        .as_ref()
        .and_then(|c| c.leader.clone());
    let leads = match name.as_deref() {
        Some("s0") => 0,
        Some("s1") => 1,
        Some("s2") => 2,
        other => panic!("no leader: {other:?}"),
    };
    let victim = if leader { leads } else { (leads + 1) % 3 };
    cluster.kill(victim);
    // long enough for an election
    sleep(Duration::from_secs(if leader { 8 } else { 3 })).await;
    cluster.run(victim);
    sleep(Duration::from_secs(3)).await;
    stop.store(true, Ordering::Relaxed);
    kept(&rig.bus, writing.await.expect("it ran")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_of_the_keys_dies() {
    limited(90, one_dies(true)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_of_three_dies() {
    limited(90, one_dies(false)).await;
}

/// A single server is killed and comes back: nothing acknowledged is lost, watches and readers go
/// on by themselves, or a poll finds what they missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_only_server_restarts() {
    let Some(mut cluster) = Cluster::start(1).await else {
        return;
    };
    let rig = Real::new(&cluster, roomy(1)).await;
    let test = async {
        let mut watch = rig.bus.watch(KEY.group).await.expect("a watch");
        let mut arrivals = rig.bus.consume(robot(1, 2)).await.expect("a reader");
        let stop = Arc::new(AtomicBool::new(false));
        let writing = tokio::spawn(write(rig.bus.clone(), Arc::clone(&stop)));
        for _ in 0..2 {
            sleep(Duration::from_secs(1)).await;
            cluster.kill(0);
            sleep(Duration::from_millis(500)).await;
            cluster.run(0);
            sleep(Duration::from_secs(3)).await;
        }
        stop.store(true, Ordering::Relaxed);
        kept(&rig.bus, writing.await.expect("it ran")).await;
        while watch.try_recv().is_ok() {}
        assert_eq!(
            increment(&rig.bus, KEY).await,
            Some(true),
            "the server is back"
        );
        let told = timeout(Duration::from_secs(10), watch.recv()).await;
        assert!(told.is_ok_and(|told| told.is_some()), "the watch goes on");
        let sent = rig.bus.publish(robot(1, 2), &numbered(1)).await;
        assert!(matches!(sent, Outcome::Done(_)), "{sent:?}");
        let arrival = timeout(Duration::from_secs(20), arrivals.recv()).await;
        match arrival.expect("the reader goes on") {
            Some(Arrival::Message(delivered)) => delivered.acknowledge(),
            other => panic!("expected a message: {other:?}"),
        }
        assert!(rig.bus.tally().reconnects.get() >= 2);
    };
    limited(60, test).await;
}

/// A server loses all that it had and is founded again: readers make their consumers anew, and go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_only_server_loses_everything() {
    let Some(mut cluster) = Cluster::start(1).await else {
        return;
    };
    let rig = Real::new(&cluster, roomy(1)).await;
    let test = async {
        let mut arrivals = rig.bus.consume(robot(1, 2)).await.expect("a reader");
        for number in 1..=2 {
            let sent = rig.bus.publish(robot(1, 2), &numbered(number)).await;
            assert!(matches!(sent, Outcome::Done(_)), "{sent:?}");
            let delivered = next_message(&mut arrivals).await;
            assert_eq!(self::number(&delivered.message), number);
            delivered.acknowledge();
            if number == 1 {
                cluster.kill(0);
                cluster.wipe(0);
                sleep(Duration::from_millis(500)).await;
                cluster.run(0);
                crate::rig::prepare(&rig.bus).await;
            }
        }
    };
    limited(60, test).await;
}
