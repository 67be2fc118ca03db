//! Going through all pages in order, on all cores.

use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread;

use super::brief::{self, Admitted, PageBrief};
use super::tables::Table;
use super::{PageId, Reader, admission};
use crate::error::Result;

/// Pages read at a time: what is read of them fits into the cache of a core.
pub(super) const BLOCK: u32 = 2048;
/// Blocks that a thread may be ahead.
const AHEAD: usize = 4;
/// Threads at most; more would wait for the disk, or for whoever takes what they made.
const THREADS: usize = 16;

/// Makes things on all cores and hands them to `take` on this thread, in order.
pub(super) fn in_order<T: Send>(
    count: u64,
    make: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
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
        self.scan_blocks(
            0..pages.div_ceil(BLOCK),
            |made: &mut Vec<T>, page| made.push(read(page)),
            |made| {
                made.into_iter().for_each(&mut take);
                Ok(())
            },
        )
    }

    /// Goes through blocks of [`BLOCK`] pages; something is made of each block as a whole.
    pub(super) fn scan_blocks<T: Default + Send>(
        &self,
        blocks: Range<u32>,
        read: impl Fn(&mut T, Result<PageBrief<'_>>) + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let pages = self.page_count()?;
        let first = blocks.start;
        let make = |number: u64| {
            let start = (first + number as u32) * BLOCK;
            let mut made = T::default();
            self.read_block(start..pages.min(start + BLOCK), |page| {
                read(&mut made, page);
            })?;
            Ok(made)
        };
        in_order(blocks.len() as u64, make, |made: Result<T>| take(made?))
    }

    /// The pages of a range.
    pub(super) fn read_block(
        &self,
        pages: Range<u32>,
        mut read: impl FnMut(Result<PageBrief<'_>>),
    ) -> Result<()> {
        let read_slots = |table: Table, slot: usize| -> Result<Vec<u8>> {
            let mut bytes = vec![0; pages.len() * slot];
            let offset = u64::from(pages.start) * slot as u64;
            self.tables.read(table, &mut bytes, offset)?;
            Ok(bytes)
        };
        let slots = read_slots(Table::Admissions, admission::SLOT)?;
        let briefs = read_slots(Table::Briefs, brief::SLOT)?;
        let each = slots
            .chunks_exact(admission::SLOT)
            .zip(briefs.chunks_exact(brief::SLOT));
        for (id, (slot, brief)) in pages.map(PageId).zip(each) {
            let Some(slot) = admission::Slot::decode(slot) else {
                read(Err(self.damaged(Table::Admissions, id.0)));
                continue;
            };
            let admitted = Admitted {
                host: slot.host,
                depth: slot.depth,
                added: slot.added,
            };
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

    fn has_briefs(&self) -> bool {
        self.version >= 2
    }
}
