use super::*;
use std::io::Write;

/// A directory of files for one test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("evercrawl-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn reads_changes_and_items() {
    let folder = Folder::new("reads");
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
    assert_eq!(trace.servers, ["x.org", "y.org"]);
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
    let folder = Folder::new("sorts");
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
    let folder = Folder::new("bad");
    let head = b"item_id,timestamp_seconds\n".as_slice();
    let mut long = head.to_vec();
    for k in 0..50_000 {
        writeln!(long, "{},{}", k % 700, k * 7919).unwrap();
    }
    let cut = gzip(&long);
    let cases: [(&str, &[u8], &str); 9] = [
        (
            "negative.csv",
            b"item_id,timestamp_seconds\n1,5\n1,-6\n",
            ":3: timestamp_seconds -6 is negative",
        ),
        (
            "word.csv",
            b"item_id,timestamp_seconds\n1,soon\n",
            ":2: timestamp_seconds 'soon' is not a finite number",
        ),
        (
            "nan.csv",
            b"item_id,timestamp_seconds\n1,NaN\n",
            ":2: timestamp_seconds 'NaN'",
        ),
        (
            "twice.csv",
            b"item_id,timestamp_seconds\n1,5\n2,5\n1,5\n",
            ":4: duplicate: item '1' changed at 5 already on line 2",
        ),
        (
            "ragged.csv",
            b"item_id,timestamp_seconds\n1,5\n1,5,6\n",
            ":3: not CSV: 3 column(s)",
        ),
        (
            "page.csv",
            b"<!doctype html>\n<p>1,2\n",
            ":1: not a CSV file with a column 'item_id'",
        ),
        (
            "binary.csv",
            b"item_id,timestamp_seconds\n\xff\xfe,3\n",
            ":2: not CSV: the line is not UTF-8",
        ),
        (
            "empty.csv",
            b"item_id,timestamp_seconds\n",
            ":1: no changes at all",
        ),
        (
            "cut.csv.gz",
            &cut[..cut.len() / 2],
            "the gzip file is cut off after this line",
        ),
    ];
    for (name, content, expected) in cases {
        let file = folder.file(name, content);
        let error = Trace::read(&file, None).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains(expected),
            "{name}: {error}"
        );
    }
    let error = Trace::read(&folder.file("cut.csv.gz", &cut[..cut.len() / 2]), None).unwrap_err();
    assert!(
        matches!(error, Error::Line { line, .. } if line > 1000),
        "{error}"
    );
    assert!(matches!(
        Trace::read(&folder.0.join("absent.csv"), None),
        Err(Error::Open { .. })
    ));
}

#[test]
fn refuses_items_that_do_not_fit() {
    let folder = Folder::new("items");
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
            "items.csv:2: weight -1 is negative",
        ),
        (
            "item_id,place\n1,a\n",
            "items.csv:1: not a CSV file with a column 'server'",
        ),
    ] {
        let items = folder.file("items.csv", content.as_bytes());
        let error = Trace::read(&changes, Some(&items)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
