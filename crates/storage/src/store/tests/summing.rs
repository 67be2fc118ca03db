//! The summary is what counting gives, and lists are what sorting gives.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::store::scan::BLOCK;
use crate::store::select::Mark;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % sides
    }
}

/// Commits of all kinds: new pages of a few hosts, rows overwritten, twice in a commit too.
fn live(store: &mut Store, dice: &mut Dice, commits: u32, most_new: u32) {
    for _ in 0..commits {
        let mut batch = Batch::default();
        for _ in 0..dice.roll(most_new) {
            let host = dice.roll(7);
            let host = store.host(&format!("https://host{host}.example")).unwrap();
            let url = format!("https://host{}.example/{}", host.0, dice.roll(1_000_000));
            let candidate = Candidate {
                depth: dice.roll(2) as u16,
                from: (dice.roll(50) > 0).then_some(PageId(0)),
                ..candidate(&url, host)
            };
            store.admit(&[candidate]).unwrap();
        }
        for _ in 0..dice.roll(60) {
            if store.page_count() == 0 {
                break;
            }
            let page = PageId(dice.roll(store.page_count()));
            let at = 1_700_000_000_000 + i64::from(dice.roll(1000));
            let row = PageRow {
                state: PageState::ALL[dice.roll(5) as usize],
                last_visit: (dice.roll(3) > 0).then_some(at),
                last_change: (dice.roll(2) > 0).then_some(at + 5),
                last_failure: (dice.roll(2) > 0).then_some((at, dice.roll(4) as u8)),
                changes: dice.roll(20),
                ..row(page.0)
            };
            batch.pages.push((page, row));
            batch.observations.push(Observation {
                outcome: [Outcome::Changed, Outcome::Gone, Outcome::Failed(3)]
                    [dice.roll(3) as usize],
                at,
                ..visit(page.0)
            });
        }
        store.commit(&batch).unwrap();
    }
}

fn entries(reader: &Reader) -> Vec<PageEntry> {
    reader.pages().unwrap().map(Result::unwrap).collect()
}

fn check_summary(reader: &Reader) {
    let totals = reader.totals().unwrap();
    let mut expected = Totals::default();
    let mut hosts = BTreeMap::new();
    for entry in entries(reader) {
        let row = entry.row.unwrap_or_default();
        expected.pages[row.state] += 1;
        let of: &mut StateCounts = hosts.entry(entry.host.0).or_default();
        of[row.state] += 1;
        if row.state == PageState::Excluded {
            let cause = row.last_failure.map_or(0, |failure| failure.1);
            *expected.excluded.entry(cause).or_default() += 1;
        }
    }
    for visit in reader.observations(Position(0)).unwrap() {
        let visit = visit.unwrap();
        match visit.outcome {
            Outcome::Changed => expected.changed += 1,
            Outcome::Gone => expected.gone += 1,
            _ => *expected.failed.entry(3).or_default() += 1,
        }
        expected.bytes += u64::from(visit.bytes);
        expected.first_visit = expected.first_visit.or(Some(visit.at));
        expected.last_visit = expected.last_visit.max(Some(visit.at));
    }
    assert_eq!(totals, expected);
    let found = (0..).zip(reader.host_pages().unwrap());
    let found: BTreeMap<_, _> = found.filter(|(_, pages)| pages.all() > 0).collect();
    assert_eq!(found, hosts);
    for (id, row) in reader.hosts().unwrap().map(Result::unwrap) {
        assert_eq!(reader.find_host(&row.name).unwrap(), Some(id));
        assert_eq!(reader.host(id).unwrap(), Some(row));
    }
    assert_eq!(reader.find_host("https://nowhere.example").unwrap(), None);
}

fn check_selection(reader: &Reader, dice: &mut Dice) {
    let entries = entries(reader);
    for order in [
        Order::Found,
        Order::Url,
        Order::Visit,
        Order::Change,
        Order::Changes,
    ] {
        for _ in 0..6 {
            let wanted = Wanted {
                state: (dice.roll(2) > 0).then(|| PageState::ALL[dice.roll(5) as usize]),
                hosts: (dice.roll(3) == 0)
                    .then(|| HashSet::from([HostId(dice.roll(7)), HostId(99)])),
                seeds: dice.roll(5) == 0,
            };
            let mut expected: Vec<_> = entries
                .iter()
                .filter(|entry| {
                    let state = entry.row.as_ref().map_or(PageState::New, |row| row.state);
                    wanted.state.is_none_or(|wanted| wanted == state)
                        && wanted
                            .hosts
                            .as_ref()
                            .is_none_or(|hosts| hosts.contains(&entry.host))
                        && (!wanted.seeds || entry.depth == 0 && entry.from.is_none())
                })
                .map(|entry| {
                    let row = entry.row.clone().unwrap_or_default();
                    let url = reader.address(entry.id).unwrap().url;
                    let number = match order {
                        Order::Found | Order::Url => None,
                        Order::Visit => row.last_visit,
                        Order::Change => row.last_change,
                        Order::Changes => Some(row.changes.into()),
                    };
                    let url = Some(url).filter(|_| order == Order::Url);
                    (Reverse(number), url, entry.id)
                })
                .collect();
            expected.sort();
            let expected: Vec<_> = expected.into_iter().map(|(_, _, id)| id).collect();
            let most = 1 + dice.roll(40) as usize;
            let first = reader.select(&wanted, order, most, None).unwrap();
            assert_eq!(
                first.pages,
                expected[..most.min(expected.len())],
                "{order:?} {wanted:?}"
            );
            // and the rest of it, part by part
            let part = expected.len() / 3 + 1;
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let found = reader.select(&wanted, order, part, after.as_ref()).unwrap();
                all.extend(found.pages);
                // a list may go on for somebody who kept nothing but the place
                let again = |mark: &Mark| reader.mark(order, mark.place()).unwrap();
                after = found.more.as_ref().map(again);
                assert_eq!(after, found.more);
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(all, expected, "{order:?} {wanted:?}");
        }
    }
}

#[test]
fn figures_and_lists_are_true() {
    let directory = fast_directory();
    let mut dice = Dice(5);
    let mut store = open(directory.path());
    for _ in 0..3 {
        live(&mut store, &mut dice, 30, 200);
        check_summary(store.reader());
        check_selection(store.reader(), &mut dice);
        drop(store);
        store = open(directory.path());
        check_summary(store.reader());
    }
    assert!(store.page_count() > 2 * BLOCK);
    assert_eq!(store.damage(), []);
}

/// What is lost of the summary is counted again, and the same as before.
#[test]
fn a_lost_summary_is_made_again() {
    let directory = fast_directory();
    let mut dice = Dice(6);
    let mut store = open(directory.path());
    live(&mut store, &mut dice, 40, 200);
    drop(store);
    // what a zone offers is at most that; counted again it is exact
    std::fs::remove_file(directory.path().join("zones")).unwrap();
    for _ in 0..2 {
        drop(open(directory.path()));
    }
    for name in ["zones", "roll", "totals-even", "totals-odd"] {
        let path = directory.path().join(name);
        let before = std::fs::read(&path).unwrap();
        for damage in 0..3 {
            let mut bytes = before.clone();
            match damage {
                0 => bytes.clear(),
                1 => bytes.truncate(before.len() / 2),
                _ => bytes[before.len() / 2] ^= 1,
            }
            std::fs::write(&path, bytes).unwrap();
            let reader = Reader::open(directory.path()).unwrap();
            check_selection(&reader, &mut dice);
            check_summary(open(directory.path()).reader());
            if name == "zones" || name == "roll" {
                // written by the journal, which is done with when the store is opened again
                drop(open(directory.path()));
                assert_eq!(std::fs::read(&path).unwrap(), before);
            }
        }
    }
}
