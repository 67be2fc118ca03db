//! The copies of a page that the archive has.

use crate::difference::Difference;
use crate::reading::look;
use crate::watch::Watch;
use bytes::Bytes;
use fetch::Exchange;
use parse::change::{Memory, Verdict};
use parse::{PageText, Shown};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use storage::Time;
use storage::archive::{IndexEntry, Record, lookup, read};
use url::Url;

/// The media type of visits that found what was there before.
const REVISIT: &str = "warc/revisit";

/// Among so many contents the last other one is looked for: each has to be read.
pub const LOOKED_BACK: usize = 100;

/// What a redirect says besides where it leads is not read.
const LONGEST_REDIRECT: u64 = 1 << 20;

/// Every visit of a page that the archive tells of, in order of time.
pub struct Copies {
    archive: PathBuf,
    /// The visits.
    pub entries: Vec<IndexEntry>,
}

/// What a visit brought, content encoding removed.
#[derive(Debug)]
pub struct Copy {
    /// Status and headers.
    pub exchange: Exchange,
    /// The body.
    pub body: Bytes,
    /// It is not all of it.
    pub cut: bool,
}

/// Where a page redirected to when it was last asked for, by the archive.
pub fn redirect(archive: &Path, url: &str) -> Option<Url> {
    let copies = Copies::of(archive, url).ok()?;
    let last = copies.entries.len().checked_sub(1)?;
    let copy = copies.read(last, LONGEST_REDIRECT).ok()??;
    let location = copy.exchange.location()?;
    Url::parse(url).ok()?.join(&location).ok()
}

impl Copies {
    /// Of the page requested by this URL.
    pub fn of(archive: &Path, url: &str) -> storage::Result<Self> {
        Ok(Self {
            archive: archive.to_owned(),
            entries: lookup(archive, url)?,
        })
    }

    /// The last visit until then that brought the content with this digest, as its number.
    pub fn with_digest(&self, digest: &str, until: Time) -> Option<usize> {
        let is_it = |entry: &IndexEntry| entry.digest == digest && entry.time <= until;
        self.entries.iter().rposition(is_it)
    }

    /// The last visit before that one which brought other content.
    pub fn before(&self, visit: usize) -> Option<usize> {
        let digest = &self.entries.get(visit)?.digest;
        let mut earlier = self.entries[..visit].iter();
        earlier.rposition(|entry| entry.digest != *digest && entry.status < 300)
    }

    /// The last visit before that one which said something else than noise; nothing if none of the last
    /// [`LOOKED_BACK`] other contents did.
    pub fn before_in_content(
        &self,
        visit: usize,
        watch: &Watch,
        url: &Url,
        limit: u64,
    ) -> storage::Result<Option<usize>> {
        let Some(last) = self.read(visit, limit)? else {
            return Ok(None);
        };
        let (text, _) = last.look(watch, url);
        let mut known: Vec<&str> = vec![&self.entries[visit].digest];
        for (earlier, entry) in self.entries[..visit].iter().enumerate().rev() {
            if entry.status >= 300 || known.contains(&entry.digest.as_str()) {
                continue;
            }
            if known.len() > LOOKED_BACK {
                break;
            }
            known.push(&entry.digest);
            let Some(copy) = self.read(earlier, limit)? else {
                continue;
            };
            let (before, _) = copy.look(watch, url);
            if Memory::first(&before).judge(&text) == Verdict::Changed {
                return Ok(Some(earlier));
            }
        }
        Ok(None)
    }

    /// What a visit brought, at most `limit` bytes of it; nothing where its content is not in the
    /// archive, or cannot be decoded.
    pub fn read(&self, visit: usize, limit: u64) -> storage::Result<Option<Copy>> {
        let entry = &self.entries[visit];
        let full = |other: &&IndexEntry| other.mime != REVISIT && other.digest == entry.digest;
        let until_then = &self.entries[..=visit];
        let Some(place) = until_then.iter().rfind(full).map(|entry| entry.place) else {
            return Ok(None);
        };
        Ok(Copy::of(read(&self.archive, place)?, limit))
    }

    /// What differs between the contents of two visits; nothing where one of them is not there.
    pub fn difference(
        &self,
        [before, after]: [usize; 2],
        watch: &Watch,
        url: &Url,
        limit: u64,
    ) -> storage::Result<Option<Difference>> {
        let (before, after) = (self.read(before, limit)?, self.read(after, limit)?);
        Ok(before.zip(after).map(|(before, after)| {
            let shown = |copy: &Copy| copy.look(watch, url).1;
            Difference::between(&shown(&before), &shown(&after))
        }))
    }
}

impl Copy {
    /// Of an archived answer, at most `limit` bytes of its body; nothing if it is none, or cannot be
    /// decoded.
    pub fn of(record: Record, limit: u64) -> Option<Self> {
        let cut = record.header("WARC-Truncated").is_some();
        let nobody = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let exchange = Exchange::kept(record.head.into(), record.payload.into(), nobody).ok()?;
        let decoded = exchange.decoded(limit).ok()?;
        Some(Self {
            body: decoded.bytes,
            cut: cut || decoded.flaw.is_some(),
            exchange,
        })
    }

    /// What the robot reads of it for comparing.
    pub fn look(&self, watch: &Watch, url: &Url) -> (PageText, Vec<Shown>) {
        let content_type = self.exchange.content_type();
        look(watch, url, &self.body, content_type.as_deref())
    }
}
