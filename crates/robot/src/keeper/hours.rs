//! Hours of the day in which hosts may be asked. The wall tells whether a host is open; waiting for that goes by the
//! crawl's clock, so that the wall is looked at again often enough to notice that somebody set it.

use super::Keeper;
use crate::clock::Now;
use frontier::hours::Hours;
use storage::HostId;

/// Seconds between two looks at the wall.
const LOOK: f64 = 60.0;

/// All hours that hosts have, numbered from 1.
#[derive(Debug)]
pub(super) struct OpeningHours {
    all: Vec<Hours>,
    next_look: f64,
}

impl OpeningHours {
    pub fn new() -> Self {
        Self {
            all: Vec::new(),
            next_look: f64::INFINITY,
        }
    }

    fn get(&self, number: u8) -> Option<Hours> {
        let at = usize::from(number).checked_sub(1)?;
        self.all.get(at).copied()
    }
}

impl Keeper {
    /// The number of these hours, which are looked at from now on.
    pub(super) fn hours_number(&mut self, now: Now, hours: Option<Hours>) -> u8 {
        let Some(hours) = hours else { return 0 };
        let known = self.hours.all.iter().position(|known| *known == hours);
        let at = known.unwrap_or(self.hours.all.len());
        if known.is_none() {
            self.hours.all.push(hours);
            self.look_at_hours(now);
        }
        // more hours than minutes of a quarter of a day: the last are taken for the same
        u8::try_from(at + 1).unwrap_or(u8::MAX)
    }

    /// Opens and closes hosts by the time of the day; says when it is to be done again.
    pub(super) fn keep_hours(&mut self, now: Now) -> f64 {
        if now.at >= self.hours.next_look {
            self.look_at_hours(now);
        }
        self.hours.next_look
    }

    fn look_at_hours(&mut self, now: Now) {
        let mut next = now.at + LOOK;
        for (number, hours) in (1..=u8::MAX).zip(&self.hours.all) {
            let opens = hours.opens(now.wall).map(|opens| now.from_wall(opens));
            let change = opens.unwrap_or_else(|| now.from_wall(hours.closes(now.wall)));
            next = next.min(change);
            let until = opens.map_or(f64::NEG_INFINITY, |opens| opens.min(now.at + LOOK));
            self.lines.close(number, until);
        }
        self.hours.next_look = next.max(now.at.next_up());
    }

    /// When the host opens, on the crawl's clock, if it is closed at this time of the day.
    pub(super) fn opens(&self, now: Now, host: HostId) -> Option<(Hours, f64)> {
        let hours = self.hours.get(self.lines.hours(host))?;
        let opens = hours.opens(now.wall)?;
        Some((hours, now.from_wall(opens)))
    }
}
