//! Records come back, other tools' records too, and damage stays where it is.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::digest;
use crate::store::fast_directory;

const TIME: i64 = 1_790_000_000_123;

pub(crate) fn exchange<'a>(url: &'a str, body: &'a [u8]) -> Exchange<'a> {
    Exchange {
        url,
        time: TIME,
        ip: Some([192, 0, 2, 7].into()),
        version: HttpVersion::Http2,
        status: 200,
        reason: b"OK",
        headers: &[
            (b"Content-Type", b"text/html; charset=utf-8"),
            (b"Transfer-Encoding", b"chunked"),
            (b"Content-Length", b"999999"),
            (b"X-Evil", b"a\r\nWARC-Type: warcinfo\r\n\r\n"),
        ],
        body,
        digest: digest(body),
        truncated: None,
        request: b"GET / HTTP/1.1\r\nHost: example.org\r\n",
    }
}

fn url(number: usize) -> String {
    format!("https://example.org/page/{number}")
}

fn body(number: usize) -> Vec<u8> {
    format!("<p>body {number}\r\n\r\n")
        .repeat(number + 1)
        .into_bytes()
}

fn options(rotate_bytes: u64) -> ArchiveOptions {
    ArchiveOptions {
        rotate_bytes,
        ..ArchiveOptions::default()
    }
}

/// Appends records of pages `from..to`.
fn fill(archive: &mut Archive, from: usize, to: usize) -> Vec<Place> {
    let mut packer = Packer::new(1, 42);
    let mut places = Vec::new();
    for number in from..to {
        let (url, body) = (url(number), body(number));
        let exchange = exchange(&url, &body);
        places.push(archive.append(&packer.response(&exchange)).unwrap());
        archive.append(&packer.request(&exchange, None)).unwrap();
    }
    archive.sync().unwrap();
    places
}

fn check(record: &Record, number: usize) {
    assert_eq!(record.kind(), "response");
    assert_eq!(record.url(), Some(&url(number)[..]));
    assert_eq!(record.time(), Some(TIME));
    assert_eq!(record.status(), Some(200));
    assert_eq!(record.payload, body(number));
}

#[test]
fn records_come_back() {
    let directory = fast_directory();
    let mut archive = Archive::open(directory.path(), options(2000)).unwrap();
    let mut places = fill(&mut archive, 0, 10);
    drop(archive);
    let mut archive = Archive::open(directory.path(), options(2000)).unwrap();
    assert_eq!(archive.recovered(), []);
    places.extend(fill(&mut archive, 10, 20));
    assert!(places[19].file > 3, "no rotation: {places:?}");
    for (number, place) in places.iter().enumerate() {
        check(&archive.read(*place).unwrap(), number);
        let entries = lookup(directory.path(), &url(number)).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].place, *place);
        assert_eq!(
            (entries[0].status, &entries[0].mime[..]),
            (200, "text/html")
        );
    }
    let report = verify(directory.path()).unwrap();
    assert_eq!(report.flaws, []);
    assert_eq!(report.digests, 20);
    assert_eq!(report.records, 40 + u64::from(report.files));
    let kinds: Vec<_> = records(directory.path())
        .unwrap()
        .map(|r| r.unwrap().kind().to_string())
        .collect();
    assert_eq!(kinds[..3], ["warcinfo", "response", "request"]);
}

#[test]
fn what_comes_from_the_web_cannot_break_a_record() {
    let directory = fast_directory();
    let mut archive = Archive::open(directory.path(), options(1 << 20)).unwrap();
    let evil = "http://example.org/\r\nWARC-Type: warcinfo\r\n\r\n\0\u{1b}[2J é";
    let exchange = exchange(evil, b"body");
    let place = archive
        .append(&Packer::new(1, 1).response(&exchange))
        .unwrap();
    let record = archive.read(place).unwrap();
    assert_eq!(record.kind(), "response");
    let url = "http://example.org/%0D%0AWARC-Type:%20warcinfo%0D%0A%0D%0A%00%1B[2J%20%C3%A9";
    assert_eq!(record.url(), Some(url));
    assert_eq!(record.payload, b"body");
    assert_eq!(record.header("WARC-Protocol"), Some("h2"));
    assert_eq!(record.header("WARC-IP-Address"), Some("192.0.2.7"));
    // what would mislead a reader of the body
    assert_eq!(record.http_header("Transfer-Encoding"), None);
    assert_eq!(
        record.http_header("X-Crawler-Transfer-Encoding"),
        Some(&b"chunked"[..])
    );
    assert_eq!(record.http_header("Content-Length"), Some(&b"4"[..]));
    assert_eq!(
        record.http_header("X-Crawler-Content-Length"),
        Some(&b"999999"[..])
    );
    archive.sync().unwrap();
    assert_eq!(lookup(directory.path(), evil).unwrap().len(), 1);
}

#[test]
fn revisits_refer_to_their_original() {
    let directory = fast_directory();
    let mut archive = Archive::open(directory.path(), options(1 << 20)).unwrap();
    let mut packer = Packer::new(1, 1);
    let url = "http://example.org/";
    let first = exchange(url, b"body");
    let place = archive.append(&packer.response(&first)).unwrap();
    let id = archive
        .read(place)
        .unwrap()
        .header("WARC-Record-ID")
        .unwrap()
        .to_string();
    let original = Original {
        url,
        time: TIME,
        digest: first.digest,
    };
    let later = Exchange {
        time: TIME + 5000,
        ..first
    };
    let not_modified = Exchange {
        time: TIME + 9000,
        status: 304,
        body: b"",
        digest: digest(b""),
        ..first
    };
    for (exchange, how, profile) in [
        (&later, Revisit::IdenticalDigest, "identical-payload-digest"),
        (&not_modified, Revisit::NotModified, "server-not-modified"),
    ] {
        let place = archive
            .append(&packer.revisit(exchange, &original, how))
            .unwrap();
        let record = archive.read(place).unwrap();
        assert_eq!(record.kind(), "revisit");
        assert!(record.header("WARC-Profile").unwrap().ends_with(profile));
        assert_eq!(record.header("WARC-Refers-To"), Some(&id[..]));
        assert_eq!(record.header("WARC-Refers-To-Target-URI"), Some(url));
        assert_eq!(
            record.header("WARC-Refers-To-Date"),
            Some(&date::iso(TIME)[..])
        );
        assert_eq!(
            record.header("WARC-Payload-Digest"),
            Some(&index::digest_text(&first.digest)[..])
        );
        assert_eq!(
            (record.payload.len(), record.status()),
            (0, Some(exchange.status))
        );
    }
    archive.sync().unwrap();
    let found = lookup(directory.path(), url).unwrap();
    let mimes: Vec<_> = found.iter().map(|entry| &entry.mime[..]).collect();
    assert_eq!(mimes, ["text/html", "warc/revisit", "warc/revisit"]);
    for (entry, status) in found.into_iter().zip([200, 200, 304]) {
        let version = version(directory.path(), entry).unwrap();
        assert_eq!(version.content().payload, b"body");
        assert_eq!(version.visit.status(), Some(status));
    }
}

#[test]
fn a_tail_cut_anywhere_loses_only_its_record() {
    let directory = fast_directory();
    let mut archive = Archive::open(directory.path(), options(1 << 20)).unwrap();
    let places = fill(&mut archive, 0, 3);
    drop(archive);
    let path = directory.path().join(file_name(1));
    let open_index = open_index(directory.path(), 1);
    let (bytes, index) = (fs::read(&path).unwrap(), fs::read(&open_index).unwrap());
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        if length % 3 == 0 {
            fs::remove_file(&open_index).unwrap();
        } else {
            // cut too, or ahead
            let kept = if length % 3 == 1 {
                index.len() / 2
            } else {
                index.len()
            };
            fs::write(&open_index, &index[..kept]).unwrap();
        }
        let mut archive = Archive::open(directory.path(), options(1 << 20)).unwrap();
        let whole = places
            .iter()
            .take_while(|p| p.offset + u64::from(p.length) <= length as u64)
            .count();
        for (number, place) in places[..whole].iter().enumerate() {
            check(&archive.read(*place).unwrap(), number);
        }
        let lost: u64 = archive.recovered().iter().map(|r| r.lost_bytes).sum();
        let end = fs::metadata(&path).unwrap().len();
        assert_eq!(end + lost, length as u64);
        let added = fill(&mut archive, 3, 4);
        check(&archive.read(added[0]).unwrap(), 3);
        for number in (0..whole).chain([3]) {
            assert_eq!(
                lookup(directory.path(), &url(number)).unwrap().len(),
                1,
                "{length} {number}"
            );
        }
        drop(archive);
        assert_eq!(verify(directory.path()).unwrap().flaws, []);
        for cut in fs::read_dir(directory.path()).unwrap() {
            let cut = cut.unwrap().path();
            if cut.to_string_lossy().contains(".cut-") {
                fs::remove_file(cut).unwrap();
            }
        }
    }
}

#[test]
fn a_damaged_byte_loses_only_its_record() {
    let directory = fast_directory();
    let mut archive = Archive::open(directory.path(), options(1 << 20)).unwrap();
    let places = fill(&mut archive, 0, 4);
    drop(archive);
    let path = directory.path().join(file_name(1));
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        fs::write(&path, damaged).unwrap();
        let report = verify(directory.path()).unwrap();
        assert!(report.records >= 8, "{at}: {report:?}");
        assert!(report.flaws.len() <= 1, "{at}: {report:?}");
        if let Some(flaw) = report.flaws.first() {
            assert!(flaw.offset <= at as u64 && at as u64 <= flaw.offset + flaw.length);
        }
        for (number, place) in places.iter().enumerate() {
            let within =
                place.offset <= at as u64 && (at as u64) < place.offset + u64::from(place.length);
            match read(directory.path(), *place) {
                Ok(record) => check(&record, number),
                Err(error) => assert!(within, "{at}: {error}"),
            }
        }
        // opening passes over damage that is not at the end
        if at < places[3].offset as usize {
            let archive = Archive::open(directory.path(), options(1 << 20)).unwrap();
            assert_eq!(archive.recovered(), []);
        }
    }
}

#[test]
fn a_lost_index_is_made_anew() {
    let directory = fast_directory();
    let mut archive = Archive::open(directory.path(), options(1500)).unwrap();
    fill(&mut archive, 0, 12);
    drop(archive);
    let indexes = || -> Vec<(PathBuf, String)> {
        let mut found: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        found.retain(|path| path.to_string_lossy().contains(".cdxj"));
        found.sort();
        found
            .into_iter()
            .map(|p| (p.clone(), fs::read_to_string(p).unwrap()))
            .collect()
    };
    let before = indexes();
    assert!(before.len() > 3);
    for (path, _) in &before {
        fs::remove_file(path).unwrap();
    }
    drop(Archive::open(directory.path(), options(1500)).unwrap());
    assert_eq!(indexes(), before);
}

#[test]
fn bombs_are_refused() {
    let directory = fast_directory();
    let path = directory.path().join(file_name(1));
    let mut bomb = Vec::new();
    let mut encoder = flate2::write::GzEncoder::new(&mut bomb, flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..=(RECORD_LIMIT >> 20) {
        std::io::Write::write_all(&mut encoder, &zeros).unwrap();
    }
    encoder.finish().unwrap();
    fs::write(&path, bomb).unwrap();
    let flaws = verify(directory.path()).unwrap().flaws;
    assert!(flaws[0].what.contains("longer than"), "{flaws:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_file_is_read_without_panic(bytes: Vec<u8>, member: Vec<u8>) {
        let directory = fast_directory();
        let path = directory.path().join(file_name(1));
        let mut encoder = flate2::write::GzEncoder::new(bytes, flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, b"WARC/1.1\r\n").unwrap();
        std::io::Write::write_all(&mut encoder, &member).unwrap();
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        let report = verify(directory.path()).unwrap();
        prop_assert!(report.records + report.flaws.len() as u64 > 0);
        drop(Archive::open(directory.path(), options(100)).unwrap());
    }
}

fn data() -> Option<PathBuf> {
    let given = std::env::var_os("EVERCRAWL_DATA").map(PathBuf::from);
    let data =
        given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    data.join("warc").is_dir().then(|| data.join("warc"))
}

#[test]
fn archives_of_other_tools_are_read() {
    let Some(data) = data() else {
        eprintln!("skipped: no archives of other tools (EVERCRAWL_DATA)");
        return;
    };
    for (name, responses, revisits) in
        [("pywb_iana.warc.gz", 48, 123), ("pywb_dupes.warc.gz", 3, 9)]
    {
        let records: Vec<_> = Records::open(&data.join(name))
            .unwrap()
            .map(std::result::Result::unwrap)
            .collect();
        let count = |kind: &str| records.iter().filter(|r| r.kind() == kind).count();
        assert_eq!(
            (count("response"), count("revisit")),
            (responses, revisits),
            "{name}"
        );
        for record in records.iter().filter(|r| r.kind() == "response") {
            assert!(record.url().is_some() && record.time().is_some() && record.status().is_some());
        }
    }
}
