//! Rows come back as they were, as far as they fit.

use proptest::prelude::*;

use super::super::page::{SLOT, Slot, decode, encode};
use super::super::{ARCHIVES_LIMIT, ArchiveNumber, PageId, PageRow, PageState};
use crate::Place;

fn time() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(prop_oneof![any::<i64>(), 0..2_000_000_000_000i64])
}

fn string(longest: usize) -> impl Strategy<Value = Option<Vec<u8>>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..longest))
}

fn placed((file, offset, length): (u32, u64, u32)) -> Place {
    Place {
        file,
        offset,
        length,
    }
}

prop_compose! {
    pub(super) fn rows(longest: usize)(
        times in (time(), time(), time(), time(), time()),
        failure in (time(), any::<u8>()),
        numbers in any::<(u16, u64, u32, u32, u32, u16, u64)>(),
        digest in any::<[u8; 20]>(),
        place in prop::option::of(any::<(u32, u64, u32)>()),
        archive in prop_oneof![Just(0), 1..ARCHIVES_LIMIT as u16],
        redirect in prop::option::of(any::<u32>()),
        strings in (string(longest), string(longest), string(longest)),
        notes in prop::collection::vec(any::<u8>(), 0..=longest),
    ) -> PageRow {
        PageRow {
            state: PageState::Gone,
            first_visit: times.0,
            last_visit: times.1,
            last_change: times.2,
            last_modified: times.3,
            last_failure: failure.0.map(|at| (at, failure.1)),
            status: numbers.0,
            text: numbers.1,
            visits: numbers.2,
            changes: numbers.3,
            minor: numbers.4,
            failures_in_a_row: numbers.5,
            length: numbers.6,
            digest,
            copied: times.4,
            place: place.filter(|_| archive == 0).map(placed),
            away: place.filter(|_| archive > 0).map(|place| (ArchiveNumber(archive), placed(place))),
            redirect_to: redirect.map(PageId),
            notes,
            etag: strings.0,
            modified: strings.1,
            content_type: strings.2,
            memo: Vec::new(),
        }
    }
}

proptest! {
    #[test]
    fn short_strings_come_back(row in rows(15)) {
        prop_assert_eq!(decode(&encode(&row)), Slot::Row(Box::new(row)));
    }

    #[test]
    fn long_strings_cost_only_themselves(row in rows(400)) {
        let encoded = encode(&row);
        prop_assert!(encoded.len() <= SLOT);
        let Slot::Row(read) = decode(&encoded) else {
            panic!("not readable");
        };
        let mut expected = row.clone();
        expected.etag = row.etag.filter(|_| read.etag.is_some());
        expected.modified = row.modified.filter(|_| read.modified.is_some());
        if read.notes.is_empty() {
            expected.notes.clear();
        }
        if let (Some(kept), Some(given)) = (&read.content_type, &mut expected.content_type) {
            given.truncate(kept.len());
        }
        prop_assert_eq!(*read, expected);
    }

    #[test]
    fn any_slot_is_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..SLOT)) {
        decode(&bytes);
    }
}

#[test]
fn usual_validators_fit_together() {
    let row = PageRow {
        first_visit: Some(1_790_000_000_000),
        last_visit: Some(1_795_000_000_000),
        last_change: Some(1_791_000_000_000),
        last_modified: Some(1_780_000_000_000),
        last_failure: Some((1_792_000_000_000, 3)),
        place: Some(Place {
            file: 300,
            offset: 1 << 30,
            length: 30_000,
        }),
        etag: Some(vec![b'e'; 66]),
        modified: Some(b"Wed, 21 Oct 2015 07:28:00 GMT".to_vec()),
        content_type: Some(b"text/html; charset=utf-8".to_vec()),
        length: 200_000,
        visits: 1000,
        memo: Vec::new(),
        ..super::row(9)
    };
    assert_eq!(decode(&encode(&row)), Slot::Row(Box::new(row.clone())));
    // the robot's notes have room beside validators as servers make them
    let row = PageRow {
        etag: Some(b"W/\"5f3a1c7-2b9-5d8e1f0a\"".to_vec()),
        notes: vec![7; super::super::NOTES_LIMIT],
        ..row
    };
    assert_eq!(decode(&encode(&row)), Slot::Row(Box::new(row)));
}
