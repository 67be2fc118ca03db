//! Other people's programs read what we write: pyarrow, warcio, pywb.

use super::python::python;
use super::replay::Replay;
use super::site::{HOST, Scene, TEXT, text};
use std::process::Stdio;

/// Runs a Python program with a library, where both are there.
fn run(library: &str, program: &str, argument: &str) -> Option<String> {
    let mut python = python(library)?;
    let output = python
        .args(["-c", program, argument])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap())
}

pub fn parquet_is_read(scene: &Scene) {
    let file = scene.directory.path().join("pages.parquet");
    scene.say(&["export", "--format", "parquet", "--out", text(&file)]);
    let csv = scene.directory.path().join("same.csv");
    scene.say(&["export", "--format", "csv", "--out", text(&csv)]);
    let program = "
import csv, sys
import pyarrow.parquet as parquet
table = parquet.read_table(sys.argv[1])
rows = table.to_pylist()
text = list(csv.DictReader(open(sys.argv[1].replace('pages.parquet', 'same.csv'))))
assert len(rows) == len(text), (len(rows), len(text))
for row, line in zip(rows, text):
    assert list(row) == list(line), (row, line)
    for name, value in row.items():
        if hasattr(value, 'isoformat'):
            value = value.strftime('%Y-%m-%dT%H:%M:%S.') + '%03dZ' % (value.microsecond // 1000)
        assert ('' if value is None else str(value)) == line[name], (name, value, line[name])
print(table.schema.field('last_visit').type, table.num_rows)
";
    if let Some(answer) = run("pyarrow", program, text(&file)) {
        assert_eq!(answer.trim(), "timestamp[ms, tz=UTC] 11");
    }
}

pub fn warc_is_read(scene: &Scene) {
    let file = scene.directory.path().join("one.warc.gz");
    scene.say(&[
        "export",
        "--format",
        "warc",
        "--host",
        HOST,
        "--out",
        text(&file),
    ]);
    let records = storage::archive::Records::open(&file).unwrap();
    let records: Vec<_> = records.collect::<Result<_, _>>().unwrap();
    let of = |kind: &str| {
        records
            .iter()
            .filter(|record| record.kind() == kind)
            .count()
    };
    assert!(of("warcinfo") == 1 && of("response") > 7 && of("revisit") > 0);
    assert!(
        !records
            .iter()
            .any(|r| r.url().is_some_and(|url| url.contains("other.")))
    );
    let program = "
import sys
from warcio.archiveiterator import ArchiveIterator
count = 0
for record in ArchiveIterator(open(sys.argv[1], 'rb'), check_digests='raise'):
    record.content_stream().read()
    count += 1
print(count)
";
    if let Some(answer) = run("warcio", program, text(&file)) {
        assert_eq!(answer.trim(), records.len().to_string());
    }
}

/// pywb indexes the archive and serves its pages, as they were at any time.
pub fn pywb_replays(scene: &Scene) {
    let place = scene.directory.path().join("pywb");
    let archive = robot::archive_directory(&scene.data());
    let Some(replay) = Replay::start(&archive, &place) else {
        return;
    };
    let page = |time: &str, path: &str| replay.page(time, &scene.url(path));
    // the last visits found the same as before, or were told so: their records refer to others
    for path in ["/packed", "/"] {
        let shown = page("2100", path);
        let is_whole = shown.starts_with("HTTP/1.1 200") && shown.contains(TEXT);
        assert!(is_whole, "{shown}");
    }
    let (first, last) = (page("2000", "/changing"), page("2100", "/changing"));
    assert!(
        first.contains(TEXT) && last.contains(TEXT),
        "{first} {last}"
    );
    let news = |page: &str| page.split("number").nth(1).map(str::to_owned);
    assert_ne!(news(&first), news(&last));
    assert!(page("2100", "/never").starts_with("HTTP/1.1 404"));
}
