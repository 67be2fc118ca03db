//! The data directory of a crawl, as the commands that look at it find it.

use crate::bad_input::BadInput;
use crate::crawl::{kept_config, read_config};
use crate::terminal::{is_obeyed, plain};
use anyhow::Result;
use robot::config::Config;
use robot::control::Remote;
use robot::seeds::SeedList;
use std::collections::HashMap;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::{Path, PathBuf};
use storage::{HostId, HostRow, PageId, Reader};
use url::Url;

/// As much of a wrong URL as is said back.
const SHOWN: usize = 200;

/// Which crawl.
#[derive(clap::Args)]
pub struct Which {
    /// A configuration (TOML) to use instead of the one that the crawl was last started with.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory of the crawl [default: evercrawl-data].
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,
}

/// A crawl that is or was.
#[derive(Default)]
pub struct Data {
    pub directory: PathBuf,
    /// As it was configured, with all seeds that were added and without those that were removed.
    pub config: Config,
    /// As it was configured.
    pub raw: Config,
}

/// What comes of asking a crawl.
pub enum Asked<T> {
    Answer(T),
    /// It runs and does not answer: it is starting, it was stopped, or it hangs.
    Silence,
    /// None is running.
    Nobody,
}

impl<T> Asked<T> {
    /// What is waited for where there is no answer.
    pub fn robot(&self) -> &'static str {
        match self {
            Self::Answer(_) => "the robot",
            Self::Silence => "the robot: it is running, but does not answer",
            Self::Nobody => "a robot: none is running",
        }
    }
}

impl Which {
    /// The configuration that was named, or the defaults.
    pub fn config(&self) -> Result<Config> {
        read_config(self.config.as_deref())
    }

    /// Whether a crawl was named at all.
    pub fn is_said(&self) -> bool {
        self.config.is_some() || self.data.is_some()
    }

    pub fn find(&self) -> Result<Data> {
        let mut config = read_config(self.config.as_deref())?;
        let directory = self.data.clone().unwrap_or_else(|| config.data.0.clone());
        if self.config.is_none() {
            config = kept_config(&directory).unwrap_or(config);
        }
        config.data.0 = directory;
        Data::of(config)
    }
}

impl Data {
    /// The crawl in the directory that is configured.
    pub fn of(raw: Config) -> Result<Self> {
        let seeds = SeedList::of(&raw)?.all(&raw);
        let config = Config {
            seeds,
            ..raw.clone()
        };
        Ok(Self {
            directory: raw.data.0.clone(),
            config,
            raw,
        })
    }

    /// The pages, hosts and visits.
    pub fn reader(&self) -> Result<Reader> {
        find_store(&self.directory)?.ok_or_else(|| self.absent("crawl"))
    }

    /// Whether a crawl is running now, answering or not.
    pub fn is_running(&self) -> bool {
        Remote::find(&self.directory).is_some()
    }

    /// Asks the crawl, if one is running now.
    pub fn ask<T>(&self, question: impl Fn(&Remote) -> io::Result<T>) -> Asked<T> {
        let Some(remote) = Remote::find(&self.directory) else {
            return Asked::Nobody;
        };
        match question(&remote) {
            Ok(answer) => Asked::Answer(answer),
            // it may have ended meanwhile
            Err(_) if self.is_running() => Asked::Silence,
            Err(_) => Asked::Nobody,
        }
    }

    /// The directory of the WARC files.
    pub fn archive(&self) -> Result<PathBuf> {
        let archive = robot::archive_directory(&self.directory);
        if archive.is_dir() {
            Ok(archive)
        } else {
            Err(self.absent("archive"))
        }
    }

    fn absent(&self, what: &str) -> anyhow::Error {
        let reason = format!(
            "no {what} here; `evercrawl crawl URL` starts a crawl, --data names the directory of an existing one"
        );
        BadInput::file(&self.directory, reason).into()
    }

    /// The page that a URL stands for.
    pub fn page(&self, reader: &Reader, url: &Url) -> Result<Option<PageId>> {
        Ok(reader.find(&self.config.keys.canonical().key(url))?)
    }
}

/// The pages, hosts and visits in a data directory, if there are any.
pub fn find_store(directory: &Path) -> Result<Option<Reader>> {
    match Reader::open(&robot::state_directory(directory)) {
        Err(storage::Error::Io { source, .. })
            if matches!(
                source.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        opened => Ok(Some(opened?)),
    }
}

/// The same of a directory that stands in place of a file.
pub fn store_in_place_of(file: &str, directory: &Path) -> Result<Reader> {
    find_store(directory)?.ok_or_else(|| {
        let reason = format!("there is no crawl in this directory; expected one, or {file}");
        BadInput::file(directory, reason).into()
    })
}

/// Scheme, name and port of every host, and what is kept of it.
pub fn hosts(reader: &Reader) -> Result<HashMap<HostId, HostRow>> {
    Ok(reader.hosts()?.collect::<storage::Result<_>>()?)
}

/// The host of a URL as DNS and maps call it, without scheme and port.
pub fn host_name(url: &Url) -> Option<&str> {
    let name = url.host_str()?;
    Some(name.trim_start_matches('[').trim_end_matches(']'))
}

/// Whether a host (`http://example.org:8080`) is the one meant: by all of it, or by its name with
/// or without the port.
pub fn is_host(origin: &str, wanted: &str) -> bool {
    let name = origin.split_once("://").map_or(origin, |(_, name)| name);
    let wanted = wanted.trim_end_matches('/');
    let bare = match name.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => name,
    };
    [origin, name, bare]
        .iter()
        .any(|form| form.eq_ignore_ascii_case(wanted))
}

/// A URL as given in an argument.
pub fn read_url(text: &str) -> Result<Url> {
    let base = Url::parse("http://invalid/").expect("a URL");
    let absolute = Url::parse(text.trim()).map_err(frontier::key::Refused::from);
    let read = absolute.and_then(|_| frontier::key::parse_link(&base, text));
    read.map_err(|why| {
        let mut shown: String = plain(text).chars().take(SHOWN).collect();
        if text.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        BadInput(format!("'{shown}': {why}")).into()
    })
}

/// Standard output, for many lines.
pub fn output() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// A value as one line of JSON, in which a terminal finds nothing to obey.
pub fn json_line(out: &mut impl Write, value: &impl serde::Serialize) -> Result<()> {
    // not written directly: the error of a closed pipe would be hidden inside another
    let mut line = serde_json::to_string(value)?;
    if line.contains(is_obeyed) {
        // within strings, where the escape means the same
        let escaped = |c: char| {
            if is_obeyed(c) {
                format!("\\u{:04x}", c as u32)
            } else {
                c.into()
            }
        };
        line = line.chars().map(escaped).collect();
    }
    Ok(writeln!(out, "{line}")?)
}

/// Files in a directory and their bytes.
pub fn size(directory: &Path) -> (u64, u64) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return (0, 0);
    };
    let lengths = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let is_archive = entry.file_name().to_string_lossy().ends_with(".warc.gz");
        is_archive.then(|| entry.metadata().map_or(0, |found| found.len()))
    });
    lengths.fold((0, 0), |(files, bytes), length| (files + 1, bytes + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_in_any_way() {
        let origin = "http://www.example.org:8080";
        for wanted in [
            origin,
            "www.example.org:8080",
            "WWW.example.org",
            "http://www.example.org:8080/",
        ] {
            assert!(is_host(origin, wanted), "{wanted}");
        }
        for wanted in ["example.org", "www.example.org:80", "8080", ""] {
            assert!(!is_host(origin, wanted), "{wanted}");
        }
        assert!(is_host("http://[::1]:80", "[::1]"));
        assert!(is_host("http://[::1]", "[::1]"));
    }

    #[test]
    fn only_urls_that_can_be_crawled_are_urls() {
        assert_eq!(
            read_url("HTTP://Example.org/a#b").unwrap().as_str(),
            "http://example.org/a"
        );
        for text in [
            "",
            "example.org",
            "mailto:a@b",
            "http://",
            "http://a/\u{1b}[2J",
        ] {
            assert!(read_url(text).unwrap_err().is::<BadInput>(), "{text:?}");
        }
        let long = read_url(&format!("http://a/{}", "é".repeat(1 << 20))).unwrap_err();
        assert_eq!(
            long.to_string().chars().count(),
            200 + "''…: longer than 8192 bytes".chars().count()
        );
    }
}
