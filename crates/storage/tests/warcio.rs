//! What we write is read by warcio as it was meant.

mod python;

use python::python;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use storage::archive::{
    Archive, ArchiveOptions, Exchange, HttpVersion, Original, Packer, Revisit, Truncated,
};
use storage::digest;

/// Prints what warcio sees of each record.
const LIST: &str = r"
import sys
from warcio.archiveiterator import ArchiveIterator
for record in ArchiveIterator(open(sys.argv[1], 'rb'), check_digests='raise'):
    body = record.content_stream().read()
    status = record.http_headers.get_statuscode() if record.http_headers and record.rec_type != 'request' else '-'
    print(record.rec_type, record.rec_headers.get_header('WARC-Target-URI'), status, len(body))
";

/// An archive with a record of every kind; returns its one file.
fn archive(directory: &Path) -> PathBuf {
    let mut archive = Archive::open(directory, ArchiveOptions::default()).unwrap();
    let mut packer = Packer::new(1, 9);
    // as if compressed by the server
    let gzipped = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, b"hello, archive").unwrap();
        encoder.finish().unwrap()
    };
    let plain = Exchange {
        url: "https://example.org/a?b=1",
        time: 1_790_000_000_123,
        ip: Some("2001:db8::1".parse().unwrap()),
        version: HttpVersion::Http11,
        status: 200,
        reason: b"OK",
        headers: &[
            (b"Content-Type", b"text/html"),
            (b"Transfer-Encoding", b"chunked"),
        ],
        body: b"5\r\nthis looks like chunks and is not\r\n0\r\n\r\n",
        digest: digest(b"5\r\nthis looks like chunks and is not\r\n0\r\n\r\n"),
        truncated: None,
        request: b"GET /a?b=1 HTTP/1.1\r\nHost: example.org\r\n\r\n",
    };
    let encoded = Exchange {
        url: "http://example.org/\r\nWARC-Type: warcinfo ü",
        version: HttpVersion::Http2,
        reason: b"",
        headers: &[
            (b"content-type", b"text/html"),
            (b"content-encoding", b"gzip"),
            (b"content-length", b"7"),
            (b"x-odd", b"a\r\n\r\nb\0c \xff"),
        ],
        body: &gzipped,
        digest: digest(&gzipped),
        truncated: Some(Truncated::Length),
        ..plain
    };
    let not_modified = Exchange {
        status: 304,
        time: plain.time + 1000,
        headers: &[(b"ETag", b"\"x\""), (b"Content-Length", b"43")],
        body: b"",
        digest: digest(b""),
        ..plain
    };
    let again = Exchange {
        time: plain.time + 2000,
        ..plain
    };
    let original = Original {
        url: plain.url,
        time: plain.time,
        digest: plain.digest,
    };
    for record in [
        packer.response(&plain),
        packer.request(&plain, None),
        packer.response(&encoded),
        packer.revisit(&not_modified, &original, Revisit::NotModified),
        packer.request(&not_modified, Some(Revisit::NotModified)),
        packer.revisit(&again, &original, Revisit::IdenticalDigest),
        Packer::new(0, 9).response(&Exchange {
            url: "http://example.org/stored",
            ..plain
        }),
    ] {
        archive.append(&record).unwrap();
    }
    archive.sync().unwrap();
    storage::archive::files(directory).unwrap().remove(0).1
}

#[test]
fn warcio_reads_it() {
    let Some(mut python) = python("warcio") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = archive(directory.path());
    let listed = python
        .args(["-c", LIST])
        .arg(&file)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let evil = "http://example.org/%0D%0AWARC-Type:%20warcinfo%20%C3%BC";
    let expected = format!(
        "warcinfo None - {}
response https://example.org/a?b=1 200 43
request https://example.org/a?b=1 - 0
response {evil} 200 14
revisit https://example.org/a?b=1 - 0
request https://example.org/a?b=1 - 0
revisit https://example.org/a?b=1 200 0
response http://example.org/stored 200 43
",
        "software: evercrawl/x.y.z\r\nformat: WARC File Format 1.1\r\n".len()
    );
    assert_eq!(String::from_utf8_lossy(&listed.stdout), expected);
}

#[test]
fn warcio_finds_nothing_wrong_and_the_same_places() {
    let Some(mut check) = python("warcio") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = archive(directory.path());
    let checked = check
        .args(["-m", "warcio.cli", "check", "-v"])
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{text}");
    assert_eq!(text.matches("digest pass").count(), 3, "{text}");
    let mut index = python("warcio").unwrap();
    let fields = ["-m", "warcio.cli", "index", "-f", "warc-type,offset,length"];
    let indexed = index.args(fields).arg(&file).output().unwrap();
    let theirs: Vec<(u64, u32)> = String::from_utf8_lossy(&indexed.stdout)
        .lines()
        .filter(|line| line.contains("response") || line.contains("revisit"))
        .map(|line| {
            let number = |name: &str| {
                let rest = &line[line.find(name).unwrap() + name.len()..];
                rest.split('"').nth(2).unwrap().parse::<u64>().unwrap()
            };
            (number("offset"), number("length") as u32)
        })
        .collect();
    let lines = fs::read_to_string(file.with_extension("").with_extension("cdxj.open")).unwrap();
    let ours: Vec<_> = [
        "https://example.org/a?b=1",
        "http://example.org/\r\nWARC-Type: warcinfo ü",
        "http://example.org/stored",
    ]
    .iter()
    .flat_map(|url| storage::archive::lookup(directory.path(), url).unwrap())
    .map(|entry| (entry.place.offset, entry.place.length))
    .collect();
    assert_eq!(lines.lines().count(), ours.len());
    let sorted = |mut places: Vec<(u64, u32)>| {
        places.sort_unstable();
        places
    };
    assert_eq!(sorted(theirs), sorted(ours));
}
