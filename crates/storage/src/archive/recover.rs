//! Opening an archive: the tail is checked, indexes are brought up to date.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::path::Path;

use super::lines::Lines;
use super::read::{Record, Records};
use super::{Current, Recovered, file_name, files, index, open_index, sealed_index};
use crate::error::{Context, Result, sync_directory};
use crate::{Digest, replace_file};

/// The number of the last file, and that file if it is to be continued.
pub(super) fn recover(
    directory: &Path,
    recovered: &mut Vec<Recovered>,
) -> Result<(u32, Option<Current>)> {
    let files = files(directory)?;
    let Some(&(last, _)) = files.last() else {
        return Ok((0, None));
    };
    for &(number, ref path) in &files {
        let open = open_index(directory, number);
        if sealed_index(directory, number).exists() {
            if open.exists() {
                std::fs::remove_file(&open).context("remove", &open)?;
            }
        } else if number == last {
            return Ok((last, Some(resume(directory, number, recovered)?)));
        } else {
            let lines: Vec<_> = Records::open(path)?
                .flatten()
                .filter_map(|r| line(&r))
                .collect();
            write_sealed(directory, number, lines.concat().as_bytes())?;
        }
    }
    Ok((last, None))
}

/// Writes the sorted index of a complete file.
pub(super) fn write_sealed(directory: &Path, number: u32, text: &[u8]) -> Result<()> {
    let mut lines: Vec<_> = text.split_inclusive(|&b| b == b'\n').collect();
    lines.sort_unstable();
    replace_file(&sealed_index(directory, number), &lines.concat())?;
    sync_directory(directory)?;
    let open = open_index(directory, number);
    match std::fs::remove_file(&open) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context("remove", &open),
        _ => Ok(()),
    }
}

/// Finds the end of the last whole record, cuts what follows, and goes on from there.
fn resume(directory: &Path, number: u32, recovered: &mut Vec<Recovered>) -> Result<Current> {
    let path = directory.join(file_name(number));
    let length = std::fs::metadata(&path).context("look at", &path)?.len();
    let (from, index_end) = indexed(directory, number, length)?;
    let mut end = from;
    let mut lines = String::new();
    for found in Records::from(&path, from)? {
        match found {
            Ok(record) => {
                end = record.place.offset + u64::from(record.place.length);
                lines.extend(line(&record));
            }
            // with nothing readable behind it, this is the tail
            Err(flaw) if flaw.offset + flaw.length >= length => {
                cut(directory, number, flaw.offset, recovered)?;
            }
            Err(flaw) => tracing::warn!(%flaw, "damage in the archive"),
        }
    }
    let mut current = Current::open(directory, number, end, index_end)?;
    current.lines = lines;
    current.flush()?;
    Ok(current)
}

/// Where the last record of the index that can be trusted begins, and the end of the lines before
/// it: everything from there on is looked at again.
fn indexed(directory: &Path, number: u32, length: u64) -> Result<(u64, u64)> {
    let path = open_index(directory, number);
    let file = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((0, 0)),
        file => file.context("open", &path)?,
    };
    let mut lines = Lines::from(file, 0).context("read", &path)?;
    let mut trusted = (0, 0);
    while let Some(line) = lines.next().context("read", &path)? {
        if !line.bytes.ends_with(b"\n") {
            break;
        }
        let Some(entry) = str::from_utf8(line.bytes)
            .ok()
            .and_then(|line| index::parse(line, number))
        else {
            // one damaged line makes all doubtful
            return Ok((0, 0));
        };
        let place = entry.place;
        if place.offset < trusted.0 || place.offset + u64::from(place.length) > length {
            break;
        }
        trusted = (place.offset, line.offset);
    }
    Ok(trusted)
}

/// Keeps the bytes from `offset` on in a file beside, and cuts them off.
fn cut(directory: &Path, number: u32, offset: u64, recovered: &mut Vec<Recovered>) -> Result<()> {
    let path = directory.join(file_name(number));
    let mut file = File::open(&path).context("open", &path)?;
    file.seek(SeekFrom::Start(offset)).context("read", &path)?;
    let kept_in = directory.join(format!("{}.cut-{offset}", file_name(number)));
    // it may be long
    let mut tail = File::create(&kept_in).context("create", &kept_in)?;
    let lost_bytes = std::io::copy(&mut file, &mut tail).context("write", &kept_in)?;
    tail.sync_all().context("sync", &kept_in)?;
    sync_directory(directory)?;
    recovered.push(Recovered {
        file: path,
        offset,
        lost_bytes,
        kept_in,
    });
    Ok(())
}

/// The line of the index for a record, if it has one.
pub(super) fn line(record: &Record) -> Option<String> {
    let head = index_head(record)?;
    Some(head + &index::tail(record.place, &file_name(record.place.file)))
}

/// The same up to where the place comes.
pub(super) fn index_head(record: &Record) -> Option<String> {
    let mime = match record.kind() {
        "response" => index::media_type(record.http_header("Content-Type").unwrap_or_default()),
        "revisit" => index::REVISIT.into(),
        _ => return None,
    };
    let digest = record
        .header("WARC-Payload-Digest")
        .and_then(parse_digest)?;
    Some(index::head(
        record.url()?,
        record.time()?,
        &mime,
        record.status()?,
        &digest,
    ))
}

fn parse_digest(text: &str) -> Option<Digest> {
    let mut digest = [0; 20];
    let letters = text.strip_prefix("sha1:")?.as_bytes();
    if letters.len() != 32 {
        return None;
    }
    for (five, eight) in digest.chunks_mut(5).zip(letters.chunks(8)) {
        let mut bits = 0u64;
        for &letter in eight {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'2'..=b'7' => letter - b'2' + 26,
                _ => return None,
            };
            bits = bits << 5 | u64::from(value);
        }
        five.copy_from_slice(&bits.to_be_bytes()[3..]);
    }
    Some(digest)
}
