//! Committing: first the journal, then the tables, now and then a checkpoint.

use std::collections::BTreeMap;
use std::path::Path;

use super::host::Extent;
use super::journal::Frame;
use super::record::{self, Kept, Record};
use super::tables::Table;
use super::{Batch, HostId, Store, admission, at_most, brief, host, observation, page};
use crate::error::{Context, Error, Result, sync_directory};

/// How many times its length the journal may grow while a checkpoint is under way.
const PATIENCE: u64 = 4;

impl Store {
    /// Writes everything admitted and named since the last commit, and `batch`: all or nothing.
    /// When it returns, it is durable as the options say.
    ///
    /// After most errors (a full disk) nothing was written, all is still in memory, and the commit
    /// may be tried again. After [`Error::Broken`] the store must be opened again.
    pub fn commit(&mut self, batch: &Batch) -> Result<()> {
        if let Some(cause) = &self.broken {
            return Err(Error::Broken(cause.clone()));
        }
        self.check(batch)?;
        let mut frame = Frame::new();
        let learnt = next(
            Record::Learnt,
            &self.learnt,
            batch.learnt.as_ref(),
            &mut frame,
        )?;
        let keeper = next(
            Record::Keeper,
            &self.keeper,
            batch.keeper.as_ref(),
            &mut frame,
        )?;
        let (extents, hosts_end) = self.write_hosts(&batch.hosts, &mut frame)?;
        let outbox = self.outbox.put(batch, &self.reader.tables, &mut frame)?;
        self.archives.put(&mut frame);
        let is_empty =
            self.new_slots.is_empty() && batch.pages.is_empty() && batch.observations.is_empty();
        if frame.is_empty() && is_empty {
            return Ok(());
        }
        let entry = self.account_for(batch, &extents, &mut frame)?;
        self.write_pages(batch, &mut frame);
        self.journal.append(&mut frame).inspect_err(|error| {
            if let Error::Broken(cause) = error {
                self.broken = Some(cause.clone());
            }
        })?;
        // from here on it is committed
        self.pages = self.page_count();
        self.urls_end += self.new_urls.len() as u64;
        self.new_slots.clear();
        self.new_urls.clear();
        self.extents
            .resize(self.extents.len() + self.new_hosts.len(), None);
        self.new_hosts.clear();
        for (id, extent) in extents {
            self.extents[id.0 as usize] = Some(extent);
        }
        self.hosts_end = hosts_end;
        self.learnt = learnt.unwrap_or(std::mem::take(&mut self.learnt));
        self.keeper = keeper.unwrap_or(std::mem::take(&mut self.keeper));
        self.account.enter(entry);
        if let Some(change) = outbox {
            self.outbox.enter(change);
        }
        self.archives.committed();
        let segment = self.observations / observation::SEGMENT;
        self.observations += batch.observations.len() as u64;
        self.apply(&frame)?;
        self.index.keep_up(&self.reader, self.pages);
        if self.observations / observation::SEGMENT > segment {
            let kept = self.options.segments_kept();
            if let Err(error) = self.reader.tables.drop_segments(kept) {
                tracing::warn!(%error, "old observations could not be removed");
            }
        }
        if let Err(error) = self.checkpoint() {
            tracing::warn!(%error, "no checkpoint; the journal grows");
        }
        Ok(())
    }

    /// Whether all that a batch refers to is there.
    fn check(&self, batch: &Batch) -> Result<()> {
        for (id, row) in &batch.pages {
            self.expect_page(*id)?;
            if let Some(target) = row.redirect_to {
                self.expect_page(target)?;
            }
            if let Some((archive, _)) = row.away
                && !self.archives.has(archive)
            {
                return Err(Error::NoSuchArchive(archive.0));
            }
            at_most(
                "what is learnt of a page",
                row.memo.len(),
                brief::MEMO_LIMIT,
            )?;
        }
        let mut visits = batch.observations.iter();
        visits.try_for_each(|visit| self.expect_page(visit.page))
    }

    /// Puts new pages, rows and visits into `frame`. Whoever reads meanwhile finds what is referred to:
    /// hosts and the summary before pages, URLs before slots, pages before the rows that lead to them.
    fn write_pages(&self, batch: &Batch, frame: &mut Frame) {
        if !self.new_slots.is_empty() {
            let offset = u64::from(self.pages) * admission::SLOT as u64;
            frame.put(Table::Urls, self.urls_end, &self.new_urls);
            frame.put(Table::Admissions, offset, &self.new_slots);
        }
        for (id, row) in &batch.pages {
            let number = u64::from(id.0);
            let offset = number * page::SLOT as u64;
            frame.put(Table::Pages, offset, &page::encode(row));
            let offset = number * brief::SLOT as u64;
            frame.put(Table::Briefs, offset, &brief::encode(row));
        }
        if !batch.observations.is_empty() {
            let mut bytes = Vec::with_capacity(batch.observations.len() * observation::RECORD);
            for observation in &batch.observations {
                observation::encode(observation, &mut bytes);
            }
            let offset = self.observations * observation::RECORD as u64;
            frame.put(Table::Observations, offset, &bytes);
        }
    }

    /// Puts the hosts of a commit into `frame`; returns where they will be and the new end.
    fn write_hosts(
        &self,
        rows: &[(HostId, Vec<u8>)],
        frame: &mut Frame,
    ) -> Result<(Vec<(HostId, Extent)>, u64)> {
        let first_new = self.extents.len() as u32;
        let mut blobs: BTreeMap<HostId, &[u8]> = (first_new..self.host_count())
            .map(|id| (HostId(id), &[][..]))
            .collect();
        for (id, blob) in rows {
            self.expect_host(*id)?;
            at_most("what is kept of a host", blob.len(), host::BLOB_LIMIT)?;
            blobs.insert(*id, blob);
        }
        let mut end = self.hosts_end;
        let mut extents = Vec::with_capacity(blobs.len());
        for (id, blob) in blobs {
            let name = self.host_row(id)?.name;
            let class = host::class_for(&name, blob);
            let held = self.extents.get(id.0 as usize).copied().flatten();
            let extent = held.filter(|held| held.class >= class).unwrap_or_else(|| {
                let extent = Extent { offset: end, class };
                end += extent.capacity();
                extent
            });
            frame.put(
                Table::Hosts,
                extent.offset,
                &host::encode(id, &name, blob, extent.class),
            );
            extents.push((id, extent));
        }
        Ok((extents, end))
    }

    /// Does what the journal has. If that fails the journal still has it, and opening repeats it.
    fn apply(&mut self, frame: &Frame) -> Result<()> {
        for (table, offset, bytes) in frame.writes() {
            if let Err(error) = self.reader.tables.write(table, offset, bytes) {
                self.broken = Some(error.to_string());
                return Err(Error::Broken(error.to_string()));
            }
        }
        Ok(())
    }

    /// Once the journal is long: a new one, while the tables are made durable in the background.
    fn checkpoint(&mut self) -> Result<()> {
        let busy = self
            .checkpoint
            .as_ref()
            .is_some_and(|thread| !thread.is_finished());
        // a disk that cannot keep up is waited for in the end
        let patience = if busy { PATIENCE } else { 1 };
        if self.journal.length() < self.options.journal_bytes.saturating_mul(patience) {
            return Ok(());
        }
        self.finish_checkpoint()?;
        let retired = self.journal.rotate()?;
        let written = self.reader.tables.written();
        self.checkpoint = Some(std::thread::spawn(move || {
            written.sync()?;
            std::fs::remove_file(&retired).context("remove", &retired)?;
            sync_directory(retired.parent().unwrap_or(Path::new(".")))
        }));
        Ok(())
    }

    pub(super) fn finish_checkpoint(&mut self) -> Result<()> {
        let Some(thread) = self.checkpoint.take() else {
            return Ok(());
        };
        let done = thread
            .join()
            .unwrap_or_else(|_| Err(Error::Broken("a checkpoint panicked".into())));
        done.inspect_err(|error| self.broken = Some(error.to_string()))
    }
}

/// Puts a record into `frame` if it is to be written and another than before.
fn next(
    record: Record,
    before: &Kept,
    bytes: Option<&Vec<u8>>,
    frame: &mut Frame,
) -> Result<Option<Kept>> {
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    at_most("a record", bytes.len(), record::RECORD_LIMIT)?;
    if before.turn > 0 && before.bytes == *bytes {
        return Ok(None);
    }
    let kept = Kept {
        turn: before.turn + 1,
        bytes: bytes.clone(),
    };
    record::put(record, &kept, frame);
    Ok(Some(kept))
}
