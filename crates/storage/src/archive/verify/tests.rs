//! What is missing is noticed, whichever side it is missing from.

use std::fs;

use super::super::tests::exchange;
use super::super::{Archive, ArchiveOptions, Packer, sealed_index};
use super::*;
use crate::store::fast_directory;

/// Several files of several records; the copies in them.
fn filled(directory: &Path) -> Vec<(Place, PageId)> {
    let options = ArchiveOptions {
        rotate_bytes: 3000,
        ..ArchiveOptions::default()
    };
    let mut archive = Archive::open(directory, options).unwrap();
    let mut packer = Packer::new(1, 42);
    let mut copies = Vec::new();
    for number in 0..40u32 {
        let url = format!("https://example.org/{number}");
        let body = url.repeat(number as usize + 1).into_bytes();
        let exchange = exchange(&url, &body);
        let place = archive.append(&packer.response(&exchange)).unwrap();
        archive.append(&packer.request(&exchange, None)).unwrap();
        copies.push((place, PageId(number)));
    }
    archive.sync().unwrap();
    copies
}

fn of_file(copies: &[(Place, PageId)], file: u32) -> Vec<PageId> {
    let here = copies.iter().filter(|(place, _)| place.file == file);
    here.map(|(_, page)| *page).collect()
}

#[test]
fn what_is_there_is_not_missed() {
    let directory = fast_directory();
    let copies = filled(directory.path());
    let report = verify_copies(directory.path(), copies.clone()).unwrap();
    assert_eq!((report.flaws, report.lost), (vec![], vec![]));
    assert!(report.files >= 3);
    assert_eq!(report.digests, 40);
    // a page may refer to what was never there
    let nowhere = Place {
        file: 2,
        offset: 5,
        length: 7,
    };
    let elsewhere = Place {
        file: 99,
        ..nowhere
    };
    let (place, _) = copies[3];
    let other = Place {
        length: place.length + 1,
        ..place
    };
    let wrong = vec![
        (nowhere, PageId(50)),
        (elsewhere, PageId(51)),
        (other, PageId(52)),
    ];
    let report = verify_copies(directory.path(), wrong).unwrap();
    assert_eq!(report.lost, [PageId(50), PageId(51), PageId(52)]);
    assert_eq!(report.flaws, []);
}

#[test]
fn a_file_that_is_gone() {
    let directory = fast_directory();
    let copies = filled(directory.path());
    fs::remove_file(directory.path().join(file_name(2))).unwrap();
    let report = verify_copies(directory.path(), copies.clone()).unwrap();
    assert_eq!(report.lost, of_file(&copies, 2));
    assert!(!report.lost.is_empty());
    let [flaw] = &report.flaws[..] else {
        panic!("{:?}", report.flaws);
    };
    let said = format!(
        "the file is missing; {} records were in it",
        report.lost.len()
    );
    assert_eq!(flaw.what, said);
    // without its index too, only pages know of it
    fs::remove_file(sealed_index(directory.path(), 2)).unwrap();
    let report = verify_copies(directory.path(), copies.clone()).unwrap();
    assert_eq!(report.lost, of_file(&copies, 2));
    assert_eq!(report.flaws, []);
}

#[test]
fn a_file_cut_anywhere() {
    let directory = fast_directory();
    let copies = filled(directory.path());
    let path = directory.path().join(file_name(2));
    let bytes = fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(37).chain(ends(&copies)) {
        fs::write(&path, &bytes[..length]).unwrap();
        let report = verify_copies(directory.path(), copies.clone()).unwrap();
        let lost: Vec<_> = copies
            .iter()
            .filter(|(place, _)| {
                place.file == 2 && place.offset + u64::from(place.length) > length as u64
            })
            .map(|(_, page)| *page)
            .collect();
        assert_eq!(report.lost, lost, "{length}");
        assert_eq!(
            report.flaws.is_empty(),
            lost.is_empty() && is_end(&path),
            "{length}"
        );
    }
}

/// Where records of the second file end: a file cut there looks whole.
fn ends(copies: &[(Place, PageId)]) -> impl Iterator<Item = usize> + '_ {
    let here = copies.iter().filter(|(place, _)| place.file == 2);
    here.map(|(place, _)| (place.offset + u64::from(place.length)) as usize)
}

/// Whether the file ends with a whole record.
fn is_end(path: &Path) -> bool {
    Records::open(path).unwrap().all(|record| record.is_ok())
}

#[test]
fn an_index_that_does_not_agree() {
    let directory = fast_directory();
    let copies = filled(directory.path());
    let index = sealed_index(directory.path(), 1);
    let text = fs::read_to_string(&index).unwrap();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.remove(1);
    fs::write(&index, lines.concat()).unwrap();
    let report = verify_copies(directory.path(), copies.clone()).unwrap();
    assert_eq!(report.lost, []);
    assert_eq!(report.flaws.len(), 1);
    assert_eq!(report.flaws[0].what, "it is not in the index");
    fs::remove_file(&index).unwrap();
    let report = verify_copies(directory.path(), copies.clone()).unwrap();
    assert_eq!(report.flaws.len(), of_file(&copies, 1).len());
}
