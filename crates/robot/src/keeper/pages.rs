//! Where each page is on its way: in line, under way, or nowhere.

use storage::{HostId, PageId};

/// What a page waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing: the policy will say when it is due, or it is excluded.
    Idle,
    /// Its turn.
    InLine,
    /// An answer, and that it is on disk.
    Away,
    /// That its last visit is on disk; it is due again already.
    AwayAndDue,
    /// That its last visit, which failed, is on disk; then its next try.
    AwayThenLater,
    /// Its next try, after one that failed.
    Later,
    /// Nothing here: another robot has it.
    Elsewhere,
}

/// All pages.
#[derive(Debug, Default)]
pub(super) struct Pages {
    host: Vec<HostId>,
    stage: Vec<Stage>,
}

impl Pages {
    pub fn add(&mut self, page: PageId, host: HostId) {
        debug_assert_eq!(page.index(), self.host.len());
        self.host.push(host);
        self.stage.push(Stage::Idle);
    }

    pub fn len(&self) -> usize {
        self.host.len()
    }

    pub fn host(&self, page: PageId) -> HostId {
        self.host[page.index()]
    }

    pub fn stage(&self, page: PageId) -> Stage {
        self.stage[page.index()]
    }

    pub fn set(&mut self, page: PageId, stage: Stage) {
        self.stage[page.index()] = stage;
    }

    /// The page wants a visit: whether it is to be put in line now. One that is on its way already
    /// has its visit; one that is being stored gets it afterwards.
    pub fn is_due(&mut self, page: PageId) -> bool {
        match self.stage(page) {
            Stage::Idle => true,
            Stage::Away => {
                self.set(page, Stage::AwayAndDue);
                false
            }
            Stage::InLine
            | Stage::AwayAndDue
            | Stage::AwayThenLater
            | Stage::Later
            | Stage::Elsewhere => false,
        }
    }

    /// Somebody wants the page visited: whether it is to be put in line now. As [`Self::is_due`], but
    /// one that waits for its next try waits no longer.
    pub fn is_wanted(&mut self, page: PageId) -> bool {
        match self.stage(page) {
            Stage::Idle | Stage::Later => true,
            Stage::Away | Stage::AwayThenLater => {
                self.set(page, Stage::AwayAndDue);
                false
            }
            Stage::InLine | Stage::AwayAndDue | Stage::Elsewhere => false,
        }
    }

    /// The page is to be tried again at some other time.
    pub fn put_off(&mut self, page: PageId) {
        let stage = match self.stage(page) {
            Stage::Away | Stage::AwayAndDue | Stage::AwayThenLater => Stage::AwayThenLater,
            Stage::Idle | Stage::InLine | Stage::Later => Stage::Later,
            Stage::Elsewhere => Stage::Elsewhere,
        };
        self.set(page, stage);
    }

    /// That time has come: whether it is to be put in line now.
    pub fn is_to_be_tried(&mut self, page: PageId) -> bool {
        match self.stage(page) {
            Stage::Later => true,
            Stage::AwayThenLater => {
                self.set(page, Stage::AwayAndDue);
                false
            }
            Stage::Idle | Stage::InLine | Stage::Away | Stage::AwayAndDue | Stage::Elsewhere => {
                false
            }
        }
    }

    /// The visit is on disk: whether the page is due again already.
    pub fn is_stored(&mut self, page: PageId) -> bool {
        let stage = self.stage(page);
        match stage {
            Stage::Away | Stage::AwayAndDue => self.set(page, Stage::Idle),
            Stage::AwayThenLater => self.set(page, Stage::Later),
            Stage::Idle | Stage::InLine | Stage::Later | Stage::Elsewhere => {}
        }
        stage == Stage::AwayAndDue
    }
}
