//! What happens in a bottle, in the order of its instants.

use robot::message::Event;
use std::cmp::Ordering;

/// Something that happens.
pub(super) enum Happening {
    Heard(Box<Event>),
    /// A request ends, unless it has before, and this is heard.
    Ended(u64, Vec<Event>),
    Commit,
    Kill,
    DiskFull,
    Restart,
    ClockStep(f64),
}

pub(super) struct Timed(pub f64, pub u64, pub Happening);

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Timed {}
impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}
