//! What is for others is kept until there is a receipt, in the order in which it was committed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::*;
use super::fast_directory;

/// What a commit says.
#[derive(Clone, Debug)]
struct Step {
    entries: Vec<usize>,
    /// Of each so many numbers one is forgotten.
    forgets: u64,
    opened_again: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lengths = prop_oneof![4 => 0..200usize, 1 => 100_000..150_000usize];
    let step = (prop::collection::vec(lengths, 0..8), 1u64..5, any::<bool>());
    let step = step.prop_map(|(entries, forgets, opened_again)| Step {
        entries,
        forgets,
        opened_again,
    });
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn it_agrees_with_a_map(steps in steps()) {
        let directory = fast_directory();
        let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
        let mut kept = BTreeMap::new();
        let mut next = 0;
        let mut written = 0;
        for step in steps {
            let entries: Vec<Vec<u8>> = step.entries.iter().map(|&length| vec![length as u8; length]).collect();
            let forgotten = |number: &u64| number.is_multiple_of(step.forgets);
            // also numbers that were forgotten before, or are not given yet
            let receipts = (0..next + 3).filter(forgotten).collect();
            kept.retain(|number, _| !forgotten(number));
            prop_assert_eq!(store.outbox_next(), next);
            let receipts: Vec<u64> = receipts;
            store.commit(&Batch { outbox: entries.clone(), receipts, ..Batch::default() }).unwrap();
            for entry in entries {
                written += entry.len();
                kept.insert(next, entry);
                next += 1;
            }
            if step.opened_again {
                drop(store);
                store = Store::open(directory.path(), StoreOptions::default()).unwrap();
                prop_assert_eq!(store.damage(), []);
            }
            let all: Vec<_> = kept.clone().into_iter().collect();
            prop_assert_eq!(store.outbox(0, usize::MAX).unwrap(), &all[..]);
            prop_assert_eq!(store.outbox_len(), all.len());
            let later: Vec<_> = all.into_iter().filter(|(number, _)| *number >= 5).take(2).collect();
            prop_assert_eq!(store.outbox(5, 2).unwrap(), later);
        }
        // what is forgotten takes no room for long
        let live: usize = kept.values().map(|entry| entry.len() + 24).sum();
        let length = std::fs::metadata(directory.path().join("outbox")).unwrap().len() as usize;
        prop_assert!(length <= written + 24 * next as usize);
        prop_assert!(length <= 6 * live + (6 << 20), "{} for {}", length, live);
    }
}

#[test]
fn damage_costs_what_it_hits() {
    let directory = fast_directory();
    let mut store = Store::open(directory.path(), StoreOptions::default()).unwrap();
    let entries: Vec<Vec<u8>> = (0..5).map(|n| vec![n; 100]).collect();
    let batch = Batch {
        outbox: entries.clone(),
        ..Batch::default()
    };
    store.commit(&batch).unwrap();
    drop(store);
    // the journal is done, and gone
    drop(Store::open(directory.path(), StoreOptions::default()).unwrap());
    let path = directory.path().join("outbox");
    for hit in [2 * 124 + 1, 2 * 124 + 17, 2 * 124 + 60] {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[hit] ^= 0xff;
        std::fs::write(&path, &bytes).unwrap();
        let store = Store::open(directory.path(), StoreOptions::default()).unwrap();
        assert_eq!(store.damage().len(), 1, "{hit}");
        let left: Vec<u64> = (store.outbox(0, 10).unwrap().into_iter())
            .map(|(number, _)| number)
            .collect();
        assert_eq!(left, [0, 1, 3, 4]);
        drop(store);
        bytes[hit] ^= 0xff;
        std::fs::write(&path, &bytes).unwrap();
    }
}
