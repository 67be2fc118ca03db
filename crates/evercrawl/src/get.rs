//! `evercrawl get`: what was stored of a page, any version kept.

use crate::bad_input::BadInput;
use crate::data::{Data, Which, read_url};
use crate::moment::Moment;
use crate::terminal::{complain, plain};
use anyhow::{Result, anyhow, bail};
use bytes::Bytes;
use fetch::decode::{self, Flaw};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use storage::archive::{IndexEntry, Record, date, lookup, read};

const REVISIT: &str = "warc/revisit";

const MORE: &str = "\
A version is what a visit brought. Visits that found the same content share one copy, which is found
for them.

Examples:
  evercrawl get https://docs.example.org/guide/ > guide.html
  evercrawl get --versions https://docs.example.org/guide/
  evercrawl get --at 2026-11-01 --headers https://docs.example.org/guide/
  evercrawl get --raw https://docs.example.org/guide/ | zcat";

/// Print what was stored of a page: its body, or its HTTP headers.
///
/// The last version, or the one that held at a given time, without its content encoding (gzip and
/// others).
#[derive(clap::Args)]
#[command(after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The URL of the page.
    url: String,
    /// The version of this time: the last one fetched until then.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<Moment>,
    /// Status line and headers of the answer, not its body.
    #[arg(long, conflicts_with = "raw")]
    headers: bool,
    /// The body as it was transferred, content encoding kept.
    #[arg(long)]
    raw: bool,
    /// List the versions there are: time, status, digest.
    #[arg(long, conflicts_with_all = ["headers", "raw", "at"])]
    versions: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.which.find()?;
    let archive = data.archive()?;
    let versions = versions(&data, &archive, &arguments.url)?;
    if arguments.versions {
        return list(&versions);
    }
    let entry = choose(&versions, arguments.at)?;
    let record = read(&archive, entry.place)?;
    let bytes = if arguments.headers {
        Bytes::from(record.head)
    } else {
        let original = match record.kind() {
            "revisit" => original(&archive, &record)?,
            _ => record,
        };
        if let Some(why) = original.header("WARC-Truncated") {
            let cut = format!("the copy is not whole: it was cut ({})", plain(why));
            complain("warning", &cut);
        }
        if arguments.raw {
            Bytes::from(original.payload)
        } else {
            body(original, data.config.fetch.max_decoded_bytes)?
        }
    };
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        out.write_all(for_terminal(&bytes)?.as_bytes())?;
    } else {
        out.write_all(&bytes)?;
    }
    Ok(out.flush()?)
}

/// Every version kept of a page, in order of time.
fn versions(data: &Data, archive: &Path, text: &str) -> Result<Vec<IndexEntry>> {
    let url = read_url(text)?;
    let found = lookup(archive, url.as_str())?;
    if !found.is_empty() {
        return Ok(found);
    }
    // the page may have been found under another URL; an archive alone has no page table
    if let Ok(reader) = data.reader()
        && let Some(page) = data.page(&reader, &url)?
    {
        let found = lookup(archive, &reader.address(page)?.url)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    bail!("no copy of {url} is kept; `evercrawl why` may tell the reason")
}

fn choose(versions: &[IndexEntry], at: Option<Moment>) -> Result<&IndexEntry> {
    let held = |entry: &&IndexEntry| at.is_none_or(|at| Moment(entry.time) <= at);
    versions.iter().rfind(held).ok_or_else(|| {
        let first = versions.first().map(|entry| Moment(entry.time).to_string());
        anyhow!(
            "no copy from that time: the first is of {}",
            first.unwrap_or_default()
        )
    })
}

fn list(versions: &[IndexEntry]) -> Result<()> {
    let mut out = io::stdout().lock();
    for entry in versions {
        let note = if entry.mime == REVISIT {
            "the same as before"
        } else {
            &plain(&entry.mime)
        };
        writeln!(
            out,
            "{}  {}  {}  {note}",
            Moment(entry.time),
            entry.status,
            plain(&entry.digest)
        )?;
    }
    Ok(())
}

/// The record with the content that a revisit record found again.
fn original(archive: &Path, revisit: &Record) -> Result<Record> {
    let url = revisit.header("WARC-Refers-To-Target-URI");
    let url = url.or(revisit.url()).unwrap_or_default();
    let stated = revisit.header("WARC-Refers-To-Date").and_then(date::parse);
    let before = revisit.time().unwrap_or(i64::MAX);
    let digest = revisit.header("WARC-Payload-Digest").unwrap_or_default();
    let mut found = lookup(archive, url)?;
    found.retain(|entry| {
        entry.mime != REVISIT && entry.time <= before && entry.digest.eq_ignore_ascii_case(digest)
    });
    // the index knows times to the second
    let is_stated =
        |entry: &&IndexEntry| stated.is_some_and(|time| time / 1000 == entry.time / 1000);
    let entry = found.iter().rfind(is_stated).or(found.last());
    let entry =
        entry.ok_or_else(|| anyhow!("the copy that was found again is not in the archive"))?;
    Ok(read(archive, entry.place)?)
}

/// The body without its content encodings.
fn body(record: Record, limit: u64) -> Result<Bytes> {
    let encodings = content_encodings(&record.head);
    let names = encodings.iter().map(Vec::as_slice);
    let decoded = decode::decode(&Bytes::from(record.payload), names, limit).map_err(|error| {
        let names: Vec<_> = encodings
            .iter()
            .map(|name| String::from_utf8_lossy(name))
            .collect();
        let names = plain(&names.join(", "));
        anyhow!("{error} ({names}); --raw prints the body as it was transferred")
    })?;
    match decoded.flaw {
        None => {}
        Some(Flaw::Limit) => complain(
            "warning",
            &format!("cut after {limit} bytes (fetch.max_decoded_bytes)"),
        ),
        Some(Flaw::Ratio) => complain("warning", "cut: it unpacks to suspiciously much"),
        Some(Flaw::Broken) => complain("warning", "the content encoding is broken; this is a part"),
    }
    Ok(decoded.bytes)
}

/// The values of all `Content-Encoding` headers, in order.
fn content_encodings(head: &[u8]) -> Vec<Vec<u8>> {
    let lines = head.split(|&byte| byte == b'\n').skip(1);
    let values = lines.filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = line[..colon].trim_ascii();
        let is_encoding = name.eq_ignore_ascii_case(b"content-encoding");
        is_encoding.then(|| &line[colon + 1..])
    });
    let names = values.flat_map(|value| value.split(|&byte| byte == b','));
    names.map(|name| name.trim_ascii().to_vec()).collect()
}

/// Text with its control characters shown; what is no text is refused.
fn for_terminal(bytes: &[u8]) -> Result<String, BadInput> {
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| {
        BadInput("this is no UTF-8 text, and not for a terminal: redirect it to a file".into())
    })?;
    let lines = text.split_inclusive('\n').map(|line| {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line.strip_suffix('\r').unwrap_or(line), "\n"),
            None => (line, ""),
        };
        let cells: Vec<String> = line.split('\t').map(plain).collect();
        cells.join("\t") + end
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_text_only() {
        let shown = for_terminal("a\tb\r\nc\x1b[2J\n\u{202e}d".as_bytes()).unwrap();
        assert_eq!(shown, "a\tb\nc\u{fffd}[2J\n\u{fffd}d");
        assert!(for_terminal(b"\x89PNG\r\n").is_err());
        assert!(for_terminal(b"a\0b").is_err());
    }

    #[test]
    fn encodings_are_read_from_all_headers() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: br, gzip\r\nX: y\r\ncontent-encoding:zstd\r\n\r\n";
        let expected: Vec<Vec<u8>> = vec![b"br".to_vec(), b"gzip".to_vec(), b"zstd".to_vec()];
        assert_eq!(content_encodings(head), expected);
    }

    #[test]
    fn the_version_of_a_time_is_the_last_until_then() {
        let entry = |time| IndexEntry {
            url: "http://a/".into(),
            time,
            mime: "text/html".into(),
            status: 200,
            digest: String::new(),
            place: storage::Place::default(),
        };
        let versions = [entry(1000), entry(5000)];
        assert_eq!(choose(&versions, None).unwrap().time, 5000);
        assert_eq!(choose(&versions, Some(Moment(4999))).unwrap().time, 1000);
        assert_eq!(choose(&versions, Some(Moment(5000))).unwrap().time, 5000);
        let error = choose(&versions, Some(Moment(999))).unwrap_err();
        assert!(error.to_string().contains("1970-01-01T00:00:01"), "{error}");
    }
}
