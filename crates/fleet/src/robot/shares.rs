//! The robot's part of the budget: what it gives up it gives up at once, what it gains it uses
//! when all others have given theirs up.

use super::Robot;
use crate::identity::{GroupId, Millis};
use crate::key::Grant;
use crate::record::Record;

impl Robot {
    pub(super) fn on_grant(&mut self, group: GroupId, grant: &Grant) {
        let known = self.grants.get(&group);
        let newer = known.is_none_or(|known| (grant.round, grant.firm) > (known.round, known.firm));
        if !newer {
            return;
        }
        self.grants.insert(group, grant.clone());
        if Some(&group) == self.settings.path.last() {
            self.draft.records.push(Record::Granted(grant.clone()));
        }
        self.news = true;
    }

    /// The span of time that [`Robot::allowance`] is for.
    pub fn window(&self) -> Millis {
        self.settings.window
    }

    /// Requests in a window; nothing if there is no limit.
    pub fn allowance(&self) -> Option<u32> {
        self.settings.budget?;
        let home = self.settings.path.last()?;
        let allowed = |grant: &Grant| grant.allowed(self.me());
        Some(self.grants.get(home).map_or(0, allowed))
    }
}
