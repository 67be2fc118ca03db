//! The archivist: what the keeper wants written is on disk after a while.

use super::happening::Happening;
use super::{Bottle, COMMITS, Flaw, SLOW_COMMITS};
use rand::RngExt;
use robot::message::{Event, Stored, Write};

impl Bottle {
    /// Whether it is never written, by mistake.
    pub(super) fn is_forgotten(&self, write: &Write) -> bool {
        match write {
            Write::Host { .. } => self.spec.flaw == Some(Flaw::HostsForgotten),
            Write::Learnt(_) => self.spec.flaw == Some(Flaw::LessonsForgotten),
            _ => false,
        }
    }

    pub(super) fn pass_on(&mut self, mut write: Write) {
        if let Write::Visited(visited) = &mut write {
            let page = visited.done.page;
            self.robot().unwritten.insert(page.0);
            match (self.spec.flaw, &mut visited.row) {
                (Some(Flaw::NoMemos), Some(row)) => row.memo.clear(),
                (Some(Flaw::StoredTooSoon), _) => {
                    let visits = vec![(page, None)];
                    let stored = Event::Stored(Box::new(Stored {
                        visits,
                        ..Stored::default()
                    }));
                    self.happen(self.at, Happening::Heard(Box::new(stored)));
                }
                _ => {}
            }
        }
        if self.is_forgotten(&write) {
            return;
        }
        if self.robot().writes.is_empty() {
            let slow = self.at < self.web.calm && self.random.random::<f64>() < 0.1;
            let wait = if slow { SLOW_COMMITS } else { COMMITS };
            self.happen(self.at + wait, Happening::Commit);
        }
        self.robot().writes.push(write);
    }

    pub(super) fn commit(&mut self) -> Result<Option<Event>, String> {
        for (host, until) in std::mem::take(&mut self.robot().asked) {
            self.record.promise(host, until);
        }
        let writes = std::mem::take(&mut self.robot().writes);
        if writes.is_empty() {
            return Ok(None);
        }
        self.robot().unwritten.clear();
        let stored = self.robot().archivist.write(writes);
        let mut stored = stored.map_err(|error| error.to_string())?;
        if self.spec.flaw == Some(Flaw::StoredTooSoon) {
            stored.visits.clear();
        }
        Ok(Some(Event::Stored(Box::new(stored))))
    }
}
