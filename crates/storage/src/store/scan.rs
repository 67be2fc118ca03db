//! Going through all pages in order, on all cores.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::sync_channel;
use std::thread;

use super::brief::{self, Admitted, PageBrief};
use super::index::pieces;
use super::tables::Table;
use super::{HostId, PageId, Reader, admission};
use crate::error::{Error, Result};

/// Pages read at a time: what is read of them fits into the cache of a core.
pub(super) const BLOCK: u32 = 2048;
/// Blocks that a thread may be ahead.
const AHEAD: usize = 4;
/// Pages of a sample that a thread reads at a time.
const SAMPLED_TOGETHER: u64 = 256;
/// Threads at most; more would wait for the disk, or for whoever takes what they made.
const THREADS: usize = 16;

/// Why a scan ends early.
enum Stop {
    /// There is enough; the block that would be next.
    Enough(Option<u64>),
    Error(Error),
}

/// Makes things on all cores and hands them to `take` on this thread, in order.
pub(super) fn in_order<T: Send, E>(
    count: u64,
    make: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(T) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS));
    if threads == 1 || count <= 1 {
        return (0..count).try_for_each(|number| take(make(number)));
    }
    let make = &make;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|first| {
                let (made, taken) = sync_channel(AHEAD);
                scope.spawn(move || {
                    // nobody takes any more after an error
                    let mut own = (first..count).step_by(threads);
                    own.all(|number| made.send(make(number)).is_ok())
                });
                taken
            })
            .collect();
        for number in 0..count {
            let worker = &workers[(number % threads as u64) as usize];
            // a worker ends early only if `make` panics, which the scope passes on
            let Ok(made) = worker.recv() else { break };
            take(made)?;
        }
        Ok(())
    })
}

/// How many blocks so many pages make.
pub(super) fn blocks(pages: u32) -> u64 {
    u64::from(pages.div_ceil(BLOCK))
}

/// The pages of a block.
pub(super) fn block(number: u64, pages: u32) -> Range<u32> {
    let start = number as u32 * BLOCK;
    start..pages.min(start.saturating_add(BLOCK))
}

impl Reader {
    /// Hands every page to `read`, on any thread, and what it makes of it to `take`, in order of
    /// admission, on this one. URLs, rows and the log of visits are not read. Takes a few MB of
    /// memory, however many pages there are. A page that is not readable is an error for `read`.
    pub fn scan<T: Send>(
        &self,
        read: impl Fn(Result<PageBrief<'_>>) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        let pages = self.page_count()?;
        let make = |number: u64| -> Result<Vec<T>> {
            let mut made = Vec::with_capacity(BLOCK as usize);
            self.read_block(block(number, pages), |page| made.push(read(page)))?;
            Ok(made)
        };
        in_order(blocks(pages), make, |made: Result<Vec<T>>| {
            made?.into_iter().for_each(&mut take);
            Ok(())
        })
    }

    /// The same for about `most` pages that lie evenly among all, or for all if they are not more.
    /// Returns of how many pages each is one.
    pub fn sample<T: Send>(
        &self,
        most: u32,
        read: impl Fn(Result<PageBrief<'_>>) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<u32> {
        let pages = self.page_count()?;
        let step = pages.div_ceil(most.max(1)).max(1);
        if step == 1 {
            self.scan(read, take)?;
            return Ok(step);
        }
        let sampled = u64::from(pages.div_ceil(step));
        let make = |group: u64| -> Result<Vec<T>> {
            let first = group * SAMPLED_TOGETHER;
            let mut made = Vec::new();
            for number in first..sampled.min(first + SAMPLED_TOGETHER) {
                let id = number as u32 * step;
                self.read_block(id..id + 1, |page| made.push(read(page)))?;
            }
            Ok(made)
        };
        in_order(
            sampled.div_ceil(SAMPLED_TOGETHER),
            make,
            |made: Result<Vec<T>>| {
                made?.into_iter().for_each(&mut take);
                Ok::<_, Error>(())
            },
        )?;
        Ok(step)
    }

    /// One page.
    pub fn brief<T>(&self, id: PageId, read: impl FnOnce(PageBrief<'_>) -> T) -> Result<T> {
        if id.0 >= self.page_count()? {
            return Err(Error::NoSuchPage(id.0));
        }
        let mut read = Some(read);
        let mut found = Err(Error::NoSuchPage(id.0));
        self.read_block(id.0..id.0 + 1, |page| {
            found = page.map(|page| read.take().expect("one page")(page));
        })?;
        found
    }

    /// Hands every URL that is readable to `read`, on any thread, and what it makes of it to `take`,
    /// in order of admission, on this one; begins with the page `from`, and may be of one host only.
    /// Returns how many were not readable.
    pub fn scan_urls<T: Send>(
        &self,
        from: PageId,
        host: Option<HostId>,
        read: impl Fn(PageId, &str) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<u64> {
        let mut unreadable = 0;
        self.scan_blocks(from, host, read, |made, lost| {
            unreadable += lost;
            made.into_iter().for_each(&mut take);
            ControlFlow::Continue(())
        })?;
        Ok(unreadable)
    }

    /// Looks for pages whose URL `is_wanted`, in order of admission, from the page `from` on; may be
    /// of one host only. `take` gets what was found block by block and says when it has enough.
    /// Returns the first page that was not looked at, if there is one.
    pub fn search_urls(
        &self,
        from: PageId,
        host: Option<HostId>,
        is_wanted: impl Fn(&str) -> bool + Sync,
        mut take: impl FnMut(Vec<PageId>) -> ControlFlow<()>,
    ) -> Result<Option<PageId>> {
        let read = |page, url: &str| is_wanted(url).then_some(page);
        self.scan_blocks(from, host, read, |made, _| {
            take(made.into_iter().flatten().collect())
        })
    }

    /// Reads URLs block by block until `take`, which also hears how many were not readable, has
    /// enough. Returns the first page that was not looked at, if there is one.
    fn scan_blocks<T: Send>(
        &self,
        from: PageId,
        host: Option<HostId>,
        read: impl Fn(PageId, &str) -> T + Sync,
        mut take: impl FnMut(Vec<T>, u64) -> ControlFlow<()>,
    ) -> Result<Option<PageId>> {
        let pages = self.page_count()?;
        let mut places: Vec<(u64, Option<Vec<u16>>)> = match host {
            Some(host) => (self.whereabouts(&[host].into())?.into_iter())
                .map(|(block, offsets)| (block.into(), offsets))
                .collect(),
            None => (0..blocks(pages)).map(|block| (block, None)).collect(),
        };
        places.retain(|(number, _)| *number >= u64::from(from.0 / BLOCK));
        let make = |number: u64| -> Result<(Vec<T>, u64)> {
            let (number, offsets) = &places[number as usize];
            let mut range = block(*number, pages);
            let pieces = pieces(&range, offsets.as_deref());
            range.start = range.start.max(from.0).min(range.end);
            let mut made = Vec::with_capacity(range.len());
            let mut expected = 0;
            for piece in pieces {
                let piece = piece.start.max(range.start)..piece.end.max(range.start);
                expected += self.read_urls(piece, host, |id, url| {
                    if let Ok(url) = str::from_utf8(url) {
                        made.push(read(id, url));
                    }
                })?;
            }
            let unreadable = expected - made.len() as u64;
            Ok((made, unreadable))
        };
        let mut ahead = places.iter().map(|(number, _)| *number).skip(1);
        let taken = in_order(places.len() as u64, make, |made: Result<(Vec<T>, u64)>| {
            let (made, lost) = made.map_err(Stop::Error)?;
            let next = ahead.next();
            match take(made, lost) {
                ControlFlow::Break(()) => Err(Stop::Enough(next)),
                ControlFlow::Continue(()) => Ok(()),
            }
        });
        match taken {
            Ok(()) => Ok(None),
            Err(Stop::Enough(next)) => Ok(next.map(|next| PageId(block(next, pages).start))),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// All slots of the table of admissions in order, read and checked on other threads; nothing for
    /// a damaged one.
    pub(super) fn scan_slots(
        &self,
        mut take: impl FnMut(PageId, Option<admission::Slot>),
    ) -> Result<()> {
        let pages = self.page_count()?;
        let make = |number: u64| -> Result<Vec<_>> {
            let block = block(number, pages);
            let mut bytes = vec![0; block.len() * admission::SLOT];
            let offset = u64::from(block.start) * admission::SLOT as u64;
            self.tables.read(Table::Admissions, &mut bytes, offset)?;
            let slots = bytes.chunks_exact(admission::SLOT);
            Ok(slots.map(admission::Slot::decode).collect())
        };
        let mut ids = 0..;
        in_order(blocks(pages), make, |slots: Result<Vec<_>>| {
            for slot in slots? {
                take(PageId(ids.next().expect("endless")), slot);
            }
            Ok(())
        })
    }

    /// The pages of a range.
    pub(super) fn read_block(
        &self,
        pages: Range<u32>,
        read: impl FnMut(Result<PageBrief<'_>>),
    ) -> Result<()> {
        self.read_wanted(pages, None, read)
    }

    /// The pages of a range, or of none if no page is of one of the hosts.
    pub(super) fn read_wanted(
        &self,
        pages: Range<u32>,
        hosts: Option<&HashSet<HostId>>,
        mut read: impl FnMut(Result<PageBrief<'_>>),
    ) -> Result<()> {
        let read_slots = |table: Table, slot: usize| -> Result<Vec<u8>> {
            let mut bytes = vec![0; pages.len() * slot];
            let offset = u64::from(pages.start) * slot as u64;
            self.tables.read(table, &mut bytes, offset)?;
            Ok(bytes)
        };
        let slots = read_slots(Table::Admissions, admission::SLOT)?;
        if let Some(hosts) = hosts {
            let mut known = slots
                .chunks_exact(admission::SLOT)
                .map(admission::Slot::decode);
            if !known.any(|slot| slot.is_none_or(|slot| hosts.contains(&slot.host))) {
                return Ok(());
            }
        }
        let briefs = read_slots(Table::Briefs, brief::SLOT)?;
        let each = slots
            .chunks_exact(admission::SLOT)
            .zip(briefs.chunks_exact(brief::SLOT));
        for (id, (slot, brief)) in pages.map(PageId).zip(each) {
            let Some(slot) = admission::Slot::decode(slot) else {
                read(Err(self.damaged(Table::Admissions, id.0)));
                continue;
            };
            let admitted = Admitted::from(&slot);
            match brief::decode(brief) {
                brief::Slot::Full(stored) => read(Ok(stored.brief(id, admitted))),
                brief::Slot::Empty if self.has_briefs() => read(Ok(admitted.untried(id))),
                // being overwritten, damaged, or of the format that has none: the row has it all
                _ => match self.page(id) {
                    Ok(Some(row)) => read(Ok(row.brief(id, admitted))),
                    Ok(None) => read(Ok(admitted.untried(id))),
                    Err(error) => read(Err(error)),
                },
            }
        }
        Ok(())
    }

    /// The URLs of a range that are readable, of one host or of all; returns how many there are.
    pub(super) fn read_urls(
        &self,
        pages: Range<u32>,
        host: Option<HostId>,
        mut read: impl FnMut(PageId, &[u8]),
    ) -> Result<u64> {
        let mut slots = vec![0; pages.len() * admission::SLOT];
        let offset = u64::from(pages.start) * admission::SLOT as u64;
        self.tables.read(Table::Admissions, &mut slots, offset)?;
        let is_wanted =
            |slot: &admission::Slot| slot.is_sound() && host.is_none_or(|host| slot.host == host);
        let mut damaged = 0;
        let slots: Vec<_> = slots
            .chunks_exact(admission::SLOT)
            .map(|slot| {
                let slot = admission::Slot::decode(slot);
                damaged += u64::from(slot.is_none());
                slot.filter(is_wanted)
            })
            .collect();
        // they lie one after another
        let known = || slots.iter().flatten();
        let count = known().count() as u64 + damaged;
        if count == damaged {
            return Ok(count);
        }
        let start = known().map(|slot| slot.url_offset).min().unwrap_or(0);
        let end = known().map(admission::Slot::url_end).max().unwrap_or(0);
        let longest = (slots.len() * admission::URL_LIMIT) as u64;
        let mut urls = vec![0; (end - start).min(longest) as usize];
        let length = self.tables.read(Table::Urls, &mut urls, start)?;
        for (id, slot) in pages.map(PageId).zip(&slots) {
            let Some(slot) = slot else { continue };
            let at = (slot.url_offset - start) as usize;
            let url = urls[..length].get(at..at + slot.url_length as usize);
            if let Some(url) = url.filter(|url| libdeflater::crc32(url) == slot.url_sum) {
                read(id, url);
            }
        }
        Ok(count)
    }

    fn has_briefs(&self) -> bool {
        self.version >= 2
    }

    pub(super) fn has_summary(&self) -> bool {
        self.version >= 2
    }
}
