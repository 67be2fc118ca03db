//! Two stores and the bus between them.

use crate::server::{Server, connect, layout};
use crate::{Measured, url};
use bus::{Arrival, Bus};
use fleet::identity::{GroupId, Member, RobotId, Session};
use fleet::io::Outcome;
use fleet::parcel::{Batch as Parcels, Cargo, Message, Origin, Parcel, Subject, To};
use fleet::plan::Version;
use fleet::record::Record;
use fleet::wire::encode;
use std::sync::Arc;
use std::time::Instant;
use storage::{Batch, Candidate, Durability, Store, StoreOptions};

/// URLs in a message: as many as the wire's limits allow, nearly.
const TOGETHER: u64 = 1_000;
const MESSAGES: u64 = 1_200;
/// Messages whose URLs are committed at a time.
const COMMITTED: u64 = 16;
/// Publications under way at a time.
const AT_ONCE: usize = 8;

const TO: Subject = Subject {
    group: GroupId(1),
    to: To::Member(Member::Robot(RobotId(2))),
};

fn open(directory: &std::path::Path) -> Store {
    let options = StoreOptions {
        durability: Durability::Synced,
        ..StoreOptions::default()
    };
    Store::open(directory, options).expect("a store")
}

fn parcels(message: u64) -> Vec<(u64, Cargo)> {
    let all = (message * TOGETHER..(message + 1) * TOGETHER).map(|n| {
        let (name, server, url) = url(n);
        let mut parcel = Parcel::new(name.into(), url.into());
        parcel.server = Some(server);
        (n, Cargo::Url(parcel))
    });
    all.collect()
}

pub fn run(server: &Server) -> Measured {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sender = runtime.block_on(connect(server.port(), &layout()));
    let receiver = runtime.block_on(connect(server.port(), &layout()));
    runtime
        .block_on(sender.init(&[GroupId(1)]))
        .expect("streams");
    let directories = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let mut from = open(directories[0].path());
    let mut to = open(directories[1].path());
    let mut arrivals = runtime.block_on(receiver.consume(TO)).expect("a reader");
    let begun = Instant::now();
    let handle = runtime.handle().clone();
    let sending = std::thread::spawn(move || {
        let turns = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
        for first in (0..MESSAGES).step_by(COMMITTED as usize) {
            let messages: Vec<Vec<(u64, Cargo)>> =
                (first..first + COMMITTED).map(parcels).collect();
            let batch = Batch {
                outbox: messages
                    .iter()
                    .map(|entries| {
                        let records = entries
                            .iter()
                            .map(|(n, cargo)| Record::Out(*n, cargo.clone()));
                        encode(&records.collect::<Vec<_>>())
                    })
                    .collect(),
                ..Batch::default()
            };
            from.commit(&batch).expect("committed");
            for entries in messages {
                let turn = handle.block_on(Arc::clone(&turns).acquire_owned());
                let (turn, sender) = (turn.expect("open"), sender.clone());
                handle.spawn(async move {
                    let outcome = sender.publish(TO, &message(entries)).await;
                    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
                    drop(turn);
                });
            }
        }
    });
    let mut urls = 0;
    while urls < MESSAGES * TOGETHER {
        let mut held = vec![runtime.block_on(arrivals.recv()).expect("a message")];
        while let Ok(more) = arrivals.try_recv() {
            held.push(more);
        }
        for arrival in &held {
            let Arrival::Message(delivered) = arrival else {
                panic!("{arrival:?}");
            };
            if let Message::Batch(batch) = &delivered.message {
                urls += admit(&mut to, batch);
            }
        }
        to.commit(&Batch::default()).expect("committed");
        for arrival in held {
            if let Arrival::Message(delivered) = arrival {
                delivered.acknowledge();
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    sending.join().expect("it ran");
    assert_eq!(u64::from(to.page_count()), urls, "every URL is there once");
    Measured {
        urls,
        seconds,
        settled: None,
        cores: None,
    }
}

fn message(entries: Vec<(u64, Cargo)>) -> Message {
    let session = Session {
        robot: RobotId(1),
        incarnation: 1,
    };
    Message::Batch(Parcels {
        origin: Origin { session, reply: TO },
        hops: 0,
        by: (TO.group, Version::default()),
        entries,
    })
}

fn admit(store: &mut Store, batch: &Parcels) -> u64 {
    let urls = batch.entries.iter().filter_map(|(_, cargo)| match cargo {
        Cargo::Url(parcel) => Some(parcel),
        _ => None,
    });
    let urls: Vec<(&Parcel, storage::HostId)> = urls
        .map(|parcel| (parcel, store.host(&parcel.name).expect("a host")))
        .collect();
    let candidates: Vec<Candidate> = urls
        .iter()
        .map(|(parcel, host)| Candidate {
            key: &parcel.url,
            url: &parcel.url,
            host: *host,
            depth: parcel.depth,
            from: None,
            at: 0,
        })
        .collect();
    store.admit(&candidates).expect("admitted").len() as u64
}
