//! A budget kept exactly: at most so many requests in any window, wherever it begins.

use std::collections::VecDeque;

use crate::identity::Millis;

/// The requests of the last window.
#[derive(Clone, Debug)]
pub struct Pace {
    window: Millis,
    recent: VecDeque<Millis>,
}

impl Pace {
    /// For windows of this length.
    pub fn new(window: Millis) -> Self {
        Self {
            window,
            recent: VecDeque::new(),
        }
    }

    /// A request leaves now.
    pub fn used(&mut self, now: Millis) {
        self.recent.push_back(now);
        while self
            .recent
            .front()
            .is_some_and(|&at| at + self.window <= now)
        {
            self.recent.pop_front();
        }
    }

    /// From when on one more request is allowed, with so many in a window; no limit if nothing
    /// is said.
    pub fn free_at(&self, allowed: Option<u32>) -> Millis {
        match allowed {
            None => 0,
            Some(0) => Millis::MAX,
            Some(allowed) => {
                let nth_last = self.recent.len().checked_sub(allowed as usize);
                nth_last.map_or(0, |index| self.recent[index] + self.window)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_window_has_more_even_when_the_share_changes() {
        let mut pace = Pace::new(100);
        let mut now = 0;
        let mut times = Vec::new();
        for i in 0..200 {
            let allowed = if i % 50 < 25 { 5 } else { 2 };
            now = pace.free_at(Some(allowed)).max(now + 7);
            let within = times.iter().filter(|&&at| at + 100 > now).count();
            assert!(within < allowed as usize);
            pace.used(now);
            times.push(now);
        }
        assert_eq!(pace.free_at(Some(0)), Millis::MAX);
        assert_eq!(pace.free_at(None), 0);
    }
}
