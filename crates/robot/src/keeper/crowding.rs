//! Requests that are given up, because others wait for a connection.

use super::Keeper;
use crate::message::Progress;
use frontier::lines::Greedy;

/// Those of a site or network above its share are given up after so many seconds, the slowest
/// first; those of others after so many, if they bring fewer bytes a second than this.
const PATIENCE: f64 = 2.0;
const PATIENCE_WITHIN_SHARE: f64 = 5.0;
const SLOW: f64 = 2048.0;

impl Keeper {
    /// Requests that may have to be given up: somebody is to tell how far they have come.
    pub(super) fn suspects(&mut self, at: f64) -> Vec<u64> {
        let greedy = self.lines.greediest(at);
        greedy.map_or_else(Vec::new, |greedy| self.tickets.requests_to(&greedy.hosts))
    }

    /// That was told: the slowest are given up, if it is still needed.
    pub(super) fn measured(&mut self, at: f64, mut told: Vec<Progress>) {
        let Some(greedy) = self.lines.greediest(at) else {
            return;
        };
        let theirs = self.tickets.requests_to(&greedy.hosts);
        told.retain(|progress| theirs.contains(&progress.ticket));
        self.give_up.extend(too_slow(&greedy, told));
    }
}

/// The slowest, as many as are too many.
fn too_slow(greedy: &Greedy, mut told: Vec<Progress>) -> impl Iterator<Item = u64> {
    let rate = |progress: &Progress| progress.bytes as f64 / progress.seconds.max(1e-3);
    told.retain(|progress| {
        if greedy.above_share {
            progress.seconds > PATIENCE
        } else {
            progress.seconds > PATIENCE_WITHIN_SHARE && rate(progress) < SLOW
        }
    });
    told.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    told.truncate(greedy.too_many);
    told.into_iter().map(|progress| progress.ticket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given_up(above_share: bool, too_many: usize, told: &[(u64, f64)]) -> Vec<u64> {
        let greedy = Greedy {
            hosts: Vec::new(),
            above_share,
            too_many,
        };
        let told = (0..).zip(told);
        let told = told.map(|(ticket, &(bytes, seconds))| Progress {
            ticket,
            bytes,
            seconds,
        });
        too_slow(&greedy, told.collect()).collect()
    }

    #[test]
    fn whoever_keeps_to_its_share_is_given_up_only_when_it_hardly_moves() {
        let told = [(0, 4.9), (1500, 5.1), (3000, 10.0), (1 << 20, 60.0)];
        assert_eq!(given_up(false, 9, &told), [1, 2]);
        assert_eq!(given_up(false, 1, &told[2..]), [0]);
    }

    #[test]
    fn whoever_takes_more_loses_the_slowest() {
        let told = [(0, 1.9), (1 << 20, 3.0), (1 << 10, 3.0), (1 << 15, 3.0)];
        assert_eq!(given_up(true, 9, &told), [2, 3, 1]);
        assert_eq!(given_up(true, 2, &told), [2, 3]);
    }
}
