//! `evercrawl get`: what was stored of a page, any version kept.

use crate::bad_input::BadInput;
use crate::data::{Data, Which, read_url};
use crate::moment::Moment;
use crate::terminal::{complain, plain};
use anyhow::{Result, anyhow, bail};
use bytes::Bytes;
use fetch::decode::{self, Flaw};
use robot::copies::Copy;
use robot::text::Document;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use storage::archive::{IndexEntry, Record, Version, lookup, read, version};

const REVISIT: &str = "warc/revisit";

const MORE: &str = "\
A version is what a visit brought. Visits that found the same content share one copy.

Examples:
  evercrawl get https://docs.example.org/guide/ > guide.html
  evercrawl get --versions https://docs.example.org/guide/
  evercrawl get --at 2026-11-01 --headers https://docs.example.org/guide/
  evercrawl get --text --at '1w ago' https://docs.example.org/guide/
  evercrawl get --raw https://docs.example.org/guide/ | zcat";

/// Print the stored copy of a page: its body or its HTTP headers.
///
/// The last version, or the one of a given time, without its content encoding (gzip and
/// others).
#[derive(clap::Args)]
#[command(after_help = MORE)]
#[allow(clippy::struct_excessive_bools)] // flags are
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The URL of the page.
    url: String,
    /// The version as of this time: the last one fetched by then.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<Moment>,
    /// Print the status line and the headers instead of the body; control characters are made visible, unless --raw is
    /// given too.
    #[arg(long)]
    headers: bool,
    /// Print the body as it was transferred, in its content encoding; with --headers, every byte of the headers.
    #[arg(long)]
    raw: bool,
    /// Print the main text, without menus, footers and markup.
    #[arg(long, conflicts_with_all = ["headers", "raw"])]
    text: bool,
    /// With --text: print one JSON object, with title, description, language, author and dates. With --versions: one
    /// for each version.
    #[arg(long)]
    json: bool,
    /// List the stored versions: time, status, digest.
    #[arg(long, conflicts_with_all = ["headers", "raw", "at", "text"])]
    versions: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.json && !arguments.text && !arguments.versions {
        return Err(BadInput("--json: expected --text or --versions beside it".into()).into());
    }
    let data = arguments.which.find()?;
    let (url, versions) = versions(&data, &arguments.url)?;
    if arguments.versions {
        return list(&versions, arguments.json);
    }
    let at = arguments.at.map_or(storage::Time::MAX, |at| at.0);
    let mut copies = versions.iter().filter(|(_, entry)| entry.is_copy());
    let Some((archive, entry)) = copies.clone().rfind(|version| is_of(version, at)) else {
        let first = copies.next().map(taken);
        let first = first.ok_or_else(|| {
            anyhow!("there is no copy of {url}, only a record that it was missing")
        })?;
        bail!(
            "no copy from that time; the first is from {}",
            Moment(first)
        );
    };
    let mut found = version(archive, entry.clone())?;
    if found.visit.kind() == "revisit" && found.original.is_none() {
        // the content may be in the archive of whoever had the page before
        found.original = original(&versions, entry)?;
    }
    if arguments.text {
        return print_text(arguments, found, &url, data.config.fetch.max_decoded_bytes);
    }
    let bytes = if arguments.headers {
        // of a 304 no head is kept, and the content is the original's
        let of_original = found.original.filter(|_| found.visit.head.is_empty());
        let head = of_original.unwrap_or(found.visit).head;
        if arguments.raw {
            Bytes::from(head)
        } else {
            // read by people, whatever is between them and us
            Bytes::from(shown(&String::from_utf8_lossy(&head)))
        }
    } else {
        if found.visit.kind() == "revisit" && found.original.is_none() {
            bail!("the same as an earlier copy, which is not in the archive");
        }
        let content = found.original.unwrap_or(found.visit);
        if let Some(why) = content.header("WARC-Truncated") {
            let cut = format!("the copy is incomplete: it was cut ({})", plain(why));
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

/// The URL by which a page was requested, of which there is a copy.
pub fn requested(data: &Data, text: &str) -> Result<String> {
    Ok(versions(data, text)?.0)
}

/// Versions, and in which archive they are.
type Versions = Vec<(PathBuf, IndexEntry)>;

/// When a version was taken: the record tells, the index knows the second only.
fn taken((archive, entry): &(PathBuf, IndexEntry)) -> storage::Time {
    let record = read(archive, entry.place).ok();
    record
        .and_then(|record| record.time())
        .unwrap_or(entry.time)
}

/// It was there at that time. Few records are read: those of the same second.
fn is_of(version: &(PathBuf, IndexEntry), at: storage::Time) -> bool {
    let second = version.1.time;
    second <= at && (second.saturating_add(1000) <= at || taken(version) <= at)
}

/// The URL by which a page was requested, and every version kept of it, in order of time: in the crawl's own
/// archive, and in those of others that are told of.
fn versions(data: &Data, text: &str) -> Result<(String, Versions)> {
    let url = read_url(text)?;
    let others = &data.config.archive.others;
    let own = match data.archive() {
        Err(absent) if others.is_empty() && data.reader().is_err() => return Err(absent),
        own => own,
    };
    let archives: Vec<PathBuf> = own.into_iter().chain(others.iter().cloned()).collect();
    let found = lookup_all(&archives, url.as_str())?;
    if !found.is_empty() {
        return Ok((url.into(), found));
    }
    // the page may have been found under another URL; an archive alone has no page table
    if let Ok(reader) = data.reader()
        && let Some(page) = data.page(&reader, &url)?
    {
        let requested = reader.address(page)?.url;
        let found = lookup_all(&archives, &requested)?;
        if !found.is_empty() {
            return Ok((requested, found));
        }
        if let Some((number, _)) = reader.page(page)?.and_then(|row| row.away)
            && let Some(id) = reader.archive(number)?
        {
            bail!(
                "the copy of {url} is in the archive {id} of the crawl that had it before; \
                 set archive.others to its directory"
            );
        }
    }
    bail!("there is no copy of {url}; `evercrawl why` may tell the reason")
}

fn lookup_all(archives: &[PathBuf], url: &str) -> Result<Versions> {
    let mut found = Versions::new();
    for archive in archives {
        let entries = lookup(archive, url)?;
        found.extend(entries.into_iter().map(|entry| (archive.clone(), entry)));
    }
    found.sort_by_key(|(_, entry)| entry.time);
    Ok(found)
}

/// The last full copy with the same content up to then.
fn original(versions: &Versions, revisit: &IndexEntry) -> Result<Option<Record>> {
    let full = versions.iter().rfind(|(_, entry)| {
        entry.mime != REVISIT && entry.digest == revisit.digest && entry.time <= revisit.time
    });
    let found = full.map(|(archive, entry)| read(archive, entry.place));
    Ok(found.transpose()?)
}

/// The main text of a version, and what the page says of itself.
fn print_text(arguments: &Arguments, found: Version, url: &str, limit: u64) -> Result<()> {
    let at = found.visit.time().unwrap_or(found.entry.time);
    let copy = Copy::of(found.original.unwrap_or(found.visit), limit);
    let url = read_url(url)?;
    let document = copy.and_then(|copy| Document::of(&copy, &url, at));
    let document = document.ok_or_else(|| anyhow!("this version has no text: it is not a page"))?;
    let mut out = crate::data::output();
    if arguments.json {
        crate::data::json_line(&mut out, &document)?;
    } else {
        let title = document.own.title.iter().map(String::as_str);
        let text = title.chain(document.text.split("\n\n"));
        let blocks: Vec<String> = text.map(plain).collect();
        writeln!(out, "{}", blocks.join("\n\n"))?;
    }
    Ok(out.flush()?)
}

/// The records tell all of the time, and whether the copy is whole.
fn list(versions: &Versions, json: bool) -> Result<()> {
    let mut out = crate::data::output();
    for (archive, entry) in versions {
        let record = read(archive, entry.place).ok();
        let time = record.as_ref().and_then(Record::time).unwrap_or(entry.time);
        let is_same = entry.mime == REVISIT;
        let cut = record
            .as_ref()
            .and_then(|record| record.header("WARC-Truncated"));
        if json {
            let version = serde_json::json!({
                "time": Moment(time),
                "status": entry.status,
                "digest": entry.digest,
                "type": (!is_same).then_some(&entry.mime),
                "same_as_before": is_same,
                "cut": cut,
            });
            writeln!(out, "{version}")?;
            continue;
        }
        let note = if is_same {
            "the same as before".to_owned()
        } else {
            plain(&entry.mime)
        };
        let cut = cut.map_or_else(String::new, |why| format!(", cut ({})", plain(why)));
        writeln!(
            out,
            "{}  {}  {}  {note}{cut}",
            Moment(time),
            entry.status,
            plain(&entry.digest)
        )?;
    }
    Ok(out.flush()?)
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
        Some(Flaw::Ratio) => complain("warning", "cut: it decompresses to suspiciously many bytes"),
        Some(Flaw::Broken) => complain(
            "warning",
            "the content encoding is broken; only a part could be decoded",
        ),
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
        BadInput("this is not UTF-8 text and may garble a terminal: redirect it to a file".into())
    })?;
    Ok(shown(text))
}

/// Lines with their control characters shown.
fn shown(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line.strip_suffix('\r').unwrap_or(line), "\n"),
            None => (line, ""),
        };
        let cells: Vec<String> = line.split('\t').map(plain).collect();
        cells.join("\t") + end
    });
    lines.collect()
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
