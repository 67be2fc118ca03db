//! A crawl of pages that link to pages, as the robot does it, and what must hold of it afterwards.

use std::path::Path;

use storage::archive::{Archive, ArchiveOptions, Exchange, HttpVersion, Packer};
use storage::{
    Batch, Candidate, Error, Observation, Outcome, PageId, PageRow, PageState, Position, Store,
    StoreOptions, digest,
};

/// Page `n` links to pages `LINKS·n + 1` to `LINKS·n + LINKS`, as in a tree.
const LINKS: u32 = 4;
const PAGES_A_COMMIT: u32 = 7;
const TIME: i64 = 1_790_000_000_000;

pub struct Crawl {
    pub store: Store,
    pub archive: Archive,
    /// Pages fetched and committed.
    pub fetched: u32,
}

pub fn url(number: u32) -> String {
    format!("https://host{}.example/{number}", number % 5)
}

fn body(number: u32) -> Vec<u8> {
    format!("page {number} ")
        .repeat(number as usize % 90)
        .into_bytes()
}

/// What is learnt of a page, and of all when so many were fetched: both must be of one commit.
fn memo(number: u32) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + number as usize % 24)
}

fn learnt(fetched: u32) -> Vec<u8> {
    fetched.to_le_bytes().repeat(1 + fetched as usize % 5000)
}

/// What is sent to others with a page: long, so that room is made again.
fn entry(number: u32) -> Vec<u8> {
    url(number).repeat(60).into_bytes()
}

/// Whether the entry of a page is forgotten once so many were fetched.
fn is_forgotten(number: u32, fetched: u32) -> bool {
    let after = if number.is_multiple_of(3) { 200 } else { 20 };
    number + after < fetched
}

impl Crawl {
    pub fn open(directory: &Path, journal_bytes: u64, rotate_bytes: u64) -> Result<Self, Error> {
        let store = Store::open(
            &directory.join("store"),
            StoreOptions {
                journal_bytes,
                ..StoreOptions::default()
            },
        )?;
        let options = ArchiveOptions {
            rotate_bytes,
            ..ArchiveOptions::default()
        };
        let archive = Archive::open(&directory.join("archive"), options)?;
        let mut crawl = Self {
            store,
            archive,
            fetched: 0,
        };
        crawl.fetched = crawl
            .store
            .reader()
            .pages()?
            .filter_map(Result::ok)
            .filter(|p| p.row.is_some())
            .count() as u32;
        if crawl.store.page_count() == 0 {
            crawl.admit(0)?;
        }
        Ok(crawl)
    }

    fn admit(&mut self, number: u32) -> Result<(), Error> {
        let url = url(number);
        let host = self.store.host(&format!("host{}.example", number % 5))?;
        let from = number.checked_sub(1).map(|n| PageId(n / LINKS));
        self.store.admit(&[Candidate {
            key: &url,
            url: &url,
            host,
            depth: 0,
            from,
            at: TIME,
        }])?;
        Ok(())
    }

    /// Fetches a few pages and commits them.
    pub fn step(&mut self) -> Result<(), Error> {
        let mut packer = Packer::new(1, 5);
        let mut batch = Batch::default();
        let end = (self.fetched + PAGES_A_COMMIT).min(self.store.page_count());
        for number in self.fetched..end {
            let (url, body) = (url(number), body(number));
            let exchange = Exchange {
                url: &url,
                time: TIME + i64::from(number),
                ip: None,
                version: HttpVersion::Http11,
                status: 200,
                reason: b"OK",
                headers: &[(b"Content-Type", b"text/plain")],
                body: &body,
                digest: digest(&body),
                truncated: None,
                request: b"GET / HTTP/1.1\r\n\r\n",
            };
            let place = self.archive.append(&packer.response(&exchange))?;
            let row = PageRow {
                state: PageState::Live,
                last_visit: Some(exchange.time),
                digest: exchange.digest,
                place: Some(place),
                visits: 1,
                memo: memo(number),
                ..PageRow::default()
            };
            batch.pages.push((PageId(number), row));
            batch.hosts.push((
                self.store.host(&format!("host{}.example", number % 5))?,
                number.to_le_bytes().to_vec(),
            ));
            batch.observations.push(Observation {
                page: PageId(number),
                at: exchange.time,
                outcome: Outcome::FirstSeen,
                modified: None,
                status: 200,
                millis: 1,
                bytes: body.len() as u32,
                digest: exchange.digest,
                reason: 0,
            });
            for link in 1..=LINKS {
                self.admit(number * LINKS + link)?;
            }
        }
        batch.learnt = Some(learnt(end));
        batch.outbox = (self.fetched..end).map(entry).collect();
        let forgotten = (0..end).filter(|&number| is_forgotten(number, end));
        batch.receipts = forgotten.map(u64::from).collect();
        self.archive.sync()?;
        self.store.commit(&batch)?;
        self.fetched = end;
        Ok(())
    }

    /// Everything fetched is in the archive, with all its links admitted, and nothing else is.
    pub fn check(&mut self, acknowledged: u32) {
        assert_eq!(self.store.damage(), []);
        assert!(
            self.fetched >= acknowledged,
            "{} of {acknowledged} left",
            self.fetched
        );
        assert_eq!(self.store.page_count(), self.fetched * LINKS + 1);
        if self.fetched > 0 {
            assert_eq!(self.store.learnt(), learnt(self.fetched));
        }
        let kept = (0..self.fetched).filter(|&number| !is_forgotten(number, self.fetched));
        let kept: Vec<_> = kept
            .map(|number| (u64::from(number), entry(number)))
            .collect();
        assert_eq!(self.store.outbox(0, usize::MAX).unwrap(), kept);
        let entries: Vec<_> = self
            .store
            .reader()
            .pages()
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for entry in entries {
            let number = entry.id.0;
            assert_eq!(self.store.address(entry.id).unwrap().url, url(number));
            assert_eq!(self.store.find(&url(number)), Some(entry.id));
            assert_eq!(entry.row.is_some(), number < self.fetched);
            let Some(row) = entry.row else { continue };
            assert_eq!(row.memo, memo(number));
            let record = self.archive.read(row.place.unwrap()).unwrap();
            assert_eq!(record.url(), Some(&url(number)[..]));
            assert_eq!(record.payload, body(number));
        }
        let seen = self.store.reader().observations(Position(0)).unwrap();
        let pages: Vec<_> = seen.map(|o| o.unwrap().page.0).collect();
        assert_eq!(pages, (0..self.fetched).collect::<Vec<_>>());
        for host in 0..5 {
            let Some(last) = (0..self.fetched).rev().find(|n| n % 5 == host) else {
                continue;
            };
            let id = self
                .store
                .find_host(&format!("host{host}.example"))
                .unwrap();
            assert_eq!(self.store.host_row(id).unwrap().blob, last.to_le_bytes());
        }
    }
}
