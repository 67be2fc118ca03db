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
use storage::archive::{IndexEntry, Record, lookup, version};

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
    /// Status line and headers that came with the body, not the body.
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
    let (url, versions) = versions(&data, &archive, &arguments.url)?;
    if arguments.versions {
        return list(&versions);
    }
    let at = arguments.at.map_or(storage::Time::MAX, |at| at.0);
    let Some(found) = version(&archive, &url, at)? else {
        let first = versions.first().map_or(0, |first| first.time);
        bail!("no copy from that time: the first is of {}", Moment(first));
    };
    let bytes = if arguments.headers {
        // of a 304 no head is kept, and the content is the original's
        let of_original = found.original.filter(|_| found.visit.head.is_empty());
        Bytes::from(of_original.unwrap_or(found.visit).head)
    } else {
        if found.visit.kind() == "revisit" && found.original.is_none() {
            bail!("the same as an earlier copy, which is not in the archive");
        }
        let content = found.original.unwrap_or(found.visit);
        if let Some(why) = content.header("WARC-Truncated") {
            let cut = format!("the copy is not whole: it was cut ({})", plain(why));
            complain("warning", &cut);
        }
        if arguments.raw {
            Bytes::from(content.payload)
        } else {
            body(content, data.config.fetch.max_decoded_bytes)?
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

/// The URL by which a page was requested, and every version kept of it, in order of time.
fn versions(data: &Data, archive: &Path, text: &str) -> Result<(String, Vec<IndexEntry>)> {
    let url = read_url(text)?;
    let found = lookup(archive, url.as_str())?;
    if !found.is_empty() {
        return Ok((url.into(), found));
    }
    // the page may have been found under another URL; an archive alone has no page table
    if let Ok(reader) = data.reader()
        && let Some(page) = data.page(&reader, &url)?
    {
        let requested = reader.address(page)?.url;
        let found = lookup(archive, &requested)?;
        if !found.is_empty() {
            return Ok((requested, found));
        }
    }
    bail!("no copy of {url} is kept; `evercrawl why` may tell the reason")
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
}
