use super::*;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn reads_changes_and_items() {
    let folder = Folder::new();
    let changes = folder.file(
        "changes.csv.gz",
        &gzip(b"item_id,timestamp_seconds\nb,5\na,10\na,20.5\nb,7\n"),
    );
    let items = folder.file(
        "items.csv",
        b"item_id,title,host,weight\na,\"one, two\",x.org,2\nc,three,y.org,1\nb,four,x.org,0.5\n",
    );
    let trace = Trace::read(&changes, Some(&items)).unwrap();
    assert_eq!(trace.ids, ["a", "c", "b"]);
    assert_eq!(trace.server, [0, 1, 0]);
    assert_eq!(trace.servers, 2);
    assert_eq!(trace.weight, Some(vec![2.0, 1.0, 0.5]));
    assert_eq!(trace.changes(0), [10.0, 20.5]);
    assert_eq!(trace.changes(1), [] as [f64; 0]);
    assert_eq!(trace.changes(2), [5.0, 7.0]);
    let alone = Trace::read(&changes, None).unwrap();
    assert_eq!(alone.ids, ["b", "a"]);
    assert_eq!((alone.server, alone.weight), (vec![0, 0], None));
}

#[test]
fn sorts_what_is_out_of_order_and_says_so() {
    let folder = Folder::new();
    let changes = folder.file(
        "changes.csv",
        b"item_id,timestamp_seconds\n1,30\n1,10\n1,20\n",
    );
    let trace = Trace::read(&changes, None).unwrap();
    assert_eq!(trace.seconds, [10.0, 20.0, 30.0]);
    assert_eq!(trace.warnings.len(), 1);
    assert!(
        trace.warnings[0].contains("changes.csv:3: "),
        "{}",
        trace.warnings[0]
    );
}

/// Each bad file, and what must be said about it, the line included.
#[test]
fn says_what_is_wrong_and_on_which_line() {
    let folder = Folder::new();
    let mut long = b"item_id,timestamp_seconds\n".to_vec();
    for k in 0..50_000 {
        writeln!(long, "{},{}", k % 700, k * 7919).unwrap();
    }
    let cut = gzip(&long);
    let cases: [(&str, &[u8], &str); 11] = [
        (
            "negative.csv",
            b"item_id,timestamp_seconds\n1,5\n1,-6\n",
            ":3: timestamp_seconds is '-6'",
        ),
        (
            "word.csv",
            b"item_id,timestamp_seconds\r\n1,4\r\n\r\n1,soon\r\n",
            ":4: timestamp_seconds is 'soon'",
        ),
        (
            "nan.csv",
            b"item_id,timestamp_seconds\n1,NaN\n",
            ":2: timestamp_seconds is 'NaN'",
        ),
        (
            "milliseconds.csv",
            b"item_id,timestamp_seconds\n1,1199145600000\n",
            ":2: timestamp_seconds is 1199145600000: expected seconds since 1970",
        ),
        (
            "twice.csv",
            b"item_id,timestamp_seconds\n1,5\n2,5\n1,5\n",
            ":4: duplicate: item '1' changed at 5 already on line 2",
        ),
        (
            "ragged.csv",
            b"item_id,timestamp_seconds\n1,5\n1,5,6\n",
            ":3: 3 fields",
        ),
        (
            "page.csv",
            b"<!doctype html>\n<p>1,2\n",
            ":1: the column 'item_id' is missing",
        ),
        (
            "binary.csv",
            b"item_id,timestamp_seconds\n1,\xff\xfe\n",
            ":2: timestamp_seconds is",
        ),
        (
            "empty.csv",
            b"item_id,timestamp_seconds\n",
            "empty.csv: has no changes at all",
        ),
        (
            "instant.csv",
            b"item_id,timestamp_seconds\n1,5\n2,5\n",
            "instant.csv: all changes fall on one instant",
        ),
        ("cut.csv.gz", &cut[..cut.len() / 2], "is not valid gzip"),
    ];
    for (name, content, expected) in cases {
        let file = folder.file(name, content);
        let error = Trace::read(&file, None).unwrap_err();
        assert!(error.is::<BadInput>());
        let error = error.to_string();
        assert!(
            error.contains(name) && error.contains(expected),
            "{name}: {error}"
        );
        if name == "cut.csv.gz" {
            let line: u64 = error.split(':').nth(1).unwrap().parse().unwrap();
            assert!((1_000..50_000).contains(&line), "{error}");
        }
    }
    let absent = folder.0.path().join("absent.csv");
    assert!(Trace::read(&absent, None).unwrap_err().is::<BadInput>());
}

#[test]
fn refuses_items_that_do_not_fit() {
    let folder = Folder::new();
    let changes = folder.file("changes.csv", b"item_id,timestamp_seconds\n1,5\n2,6\n");
    for (content, expected) in [
        (
            "item_id,server\n1,a\n",
            "changes.csv:3: item '2' is not listed in",
        ),
        (
            "item_id,server\n1,a\n1,b\n",
            "items.csv:3: item '1' is listed twice",
        ),
        (
            "item_id,server,weight\n1,a,-1\n",
            "items.csv:2: weight is '-1'",
        ),
        (
            "item_id,server,weight\n1,a,1e308\n",
            "items.csv:2: weight is 1",
        ),
        (
            "item_id,place\n1,a\n",
            "items.csv:1: the column 'server' or 'host' is missing",
        ),
    ] {
        let items = folder.file("items.csv", content.as_bytes());
        let error = Trace::read(&changes, Some(&items)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
