//! What pages embed: fetched once, and again when a page that embeds it changed. It is no page: the
//! policy does not hear of it, and it is counted apart.

use super::pages::Stage;
use super::{Keeper, once};
use crate::message::{VisitResult, Visited};
use crate::view::RequisiteCounts;
use std::collections::HashMap;
use storage::{PageId, PageState};

/// What came of one so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Had {
    /// Nothing yet.
    Waiting,
    /// There is a copy.
    Copy,
    /// It is not there, not allowed, or was given up.
    Missing,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Requisites(HashMap<PageId, Had>);

impl Requisites {
    pub fn has(&self, page: PageId) -> bool {
        !self.0.is_empty() && self.0.contains_key(&page)
    }

    pub fn has_copy(&self, page: PageId) -> bool {
        !self.0.is_empty() && self.0.get(&page) == Some(&Had::Copy)
    }

    fn set(&mut self, page: PageId, had: Had, counts: &mut RequisiteCounts) {
        fn count(had: Had, counts: &mut RequisiteCounts) -> &mut u64 {
            match had {
                Had::Waiting => &mut counts.waiting,
                Had::Copy => &mut counts.fetched,
                Had::Missing => &mut counts.missing,
            }
        }
        match self.0.insert(page, had) {
            Some(before) => *count(before, counts) -= 1,
            None => counts.known += 1,
        }
        *count(had, counts) += 1;
    }
}

impl Keeper {
    /// A requisite the store has admitted.
    pub(super) fn add_requisite(&mut self, page: PageId) {
        self.set_requisite(page, Had::Waiting);
    }

    fn set_requisite(&mut self, page: PageId, had: Had) {
        self.requisites.set(page, had, &mut self.status.requisites);
    }

    /// What came of a visit, for a requisite; whether it is to be stored.
    pub(super) fn requisite_visited(&mut self, visited: &Visited) -> bool {
        let done = &visited.done;
        let page = done.page;
        match done.result {
            VisitResult::Copy { .. } => self.set_requisite(page, Had::Copy),
            VisitResult::Failed(_) => match once::retry_wait(done.failures) {
                Some(wait) => self.try_later(done.at.at + wait, page),
                None => self.requisite_failed(page),
            },
            VisitResult::Gone | VisitResult::Excluded(_) => {
                self.set_requisite(page, Had::Missing);
            }
            VisitResult::NotNow => {
                self.wait_in_line(page);
                return false;
            }
        }
        true
    }

    /// No more is tried; an old copy is one all the same.
    pub(super) fn requisite_failed(&mut self, page: PageId) {
        if !self.requisites.has_copy(page) {
            self.set_requisite(page, Had::Missing);
        }
    }

    /// A page that embeds them changed.
    pub(super) fn requisites_again(&mut self, pages: Vec<PageId>) {
        for page in pages {
            if self.pages.is_due(page) {
                self.wait_in_line(page);
            }
        }
    }

    /// Puts a requisite where it waits after a restart; `visited` on the crawl's clock.
    pub(super) fn restore_requisite(
        &mut self,
        page: PageId,
        state: PageState,
        failures: u16,
        visited: f64,
    ) {
        match state {
            PageState::New if once::retry_wait(failures).is_some() => self.wait_in_line(page),
            PageState::Live | PageState::Redirect => {
                self.set_requisite(page, Had::Copy);
                if self.pass.is_some_and(|pass| visited < pass) {
                    self.wait_in_line(page);
                }
            }
            // judging costs no request, and rules may be others now
            PageState::Excluded => self.wait_in_line(page),
            PageState::New | PageState::Gone | PageState::Elsewhere => {
                self.set_requisite(page, Had::Missing);
            }
        }
    }

    /// What a requisite waits for.
    pub(super) fn requisite_waits(&self, page: PageId) -> Option<String> {
        let is_idle = self.pages.stage(page) == Stage::Idle;
        (self.requisites.has(page) && is_idle).then(|| {
            "nothing: it is fetched again when a page that embeds it has changed".to_owned()
        })
    }
}
