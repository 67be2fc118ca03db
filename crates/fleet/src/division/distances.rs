//! How far members are from servers, by the answers that their robots got, by probes, and by where servers are.
//!
//! A server is asked by one robot at a time, so few pairs are known from answers. Of the others most can be guessed, by what
//! is trusted most:
//! - a member is as far from a server as from others of its block of addresses that it asked: they are mostly in one place,
//!   and the ring, which knows no places, gives blocks to many;
//! - probes of the block say how far members are from it that never asked it. An answer takes the way and the server's own
//!   time, a probe the way alone: the difference at those who know both is added;
//! - of a server that answers no probes, ways tell: a robot that looked for it is as far as the shortest path over the
//!   routers that all found, up to whoever got an answer;
//! - servers at one place, by name or database, are as far from a member as the others there.

use std::collections::BTreeMap;

use partition::solve::{Host, Measured, Robot};

use super::Placed;
use super::paths::Paths;
use crate::counts::{block, is_of};
use crate::plan::Seat;
use crate::trace::Traced;

/// Microseconds between members and servers, by their positions.
pub(super) struct Distances(BTreeMap<(usize, usize), u32>);

fn median(mut values: Vec<u32>) -> Option<u32> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// The union of the ways. Where one ends is what the robot that found it measured, or else the server's answers to it.
fn paths_of<'a>(placed: &[&Placed], traces: &'a [Traced]) -> Paths<'a> {
    let answers = placed.iter().flat_map(|placed| {
        let delays = placed.counts.delays.iter();
        delays.filter_map(|(robot, delay)| Some(((block(placed.server), *robot), delay.median()?)))
    });
    let answers: BTreeMap<_, u32> = answers.collect();
    Paths::new(traces, |traced| {
        let answer = || answers.get(&(block(traced.server), traced.robot));
        traced.trace.end.or_else(|| answer().copied())
    })
}

impl Distances {
    pub(super) fn of(seats: &[Seat], placed: &[&Placed], traces: &[Traced]) -> Self {
        let mut known = Self(BTreeMap::new());
        known.by_answers(seats, placed);
        known.by_others(seats.len(), placed, |placed| Some(block(placed.server)));
        known.by_probes(seats, placed, traces);
        known.by_others(seats.len(), placed, |placed| placed.place.clone());
        known
    }

    fn by_answers(&mut self, seats: &[Seat], placed: &[&Placed]) {
        for (at, placed) in placed.iter().enumerate() {
            for (seat, Seat { member, .. }) in seats.iter().enumerate() {
                let delays = placed.counts.delays.iter();
                let own = delays.filter(|(robot, delay)| is_of(*member, **robot, &delay.path));
                let own = median(own.filter_map(|(_, delay)| delay.median()).collect());
                if let Some(micros) = own {
                    self.0.insert((at, seat), micros);
                }
            }
        }
    }

    /// A server that nothing is known of is as far as others with the same mark.
    fn by_others<M: Ord>(
        &mut self,
        seats: usize,
        placed: &[&Placed],
        mark: impl Fn(&Placed) -> Option<M>,
    ) {
        let mut marked: BTreeMap<(usize, M), Vec<u32>> = BTreeMap::new();
        for (&(at, seat), &micros) in &self.0 {
            if let Some(mark) = mark(placed[at]) {
                marked.entry((seat, mark)).or_default().push(micros);
            }
        }
        let marked = marked.into_iter();
        let medians: BTreeMap<(usize, M), u32> = marked
            .filter_map(|(mark, micros)| Some((mark, median(micros)?)))
            .collect();
        for (at, placed) in placed.iter().enumerate() {
            for seat in 0..seats {
                let near = mark(placed).and_then(|mark| medians.get(&(seat, mark)));
                if let Some(&micros) = near {
                    self.0.entry((at, seat)).or_insert(micros);
                }
            }
        }
    }

    /// By probes; where there are none, by ways.
    fn by_probes(&mut self, seats: &[Seat], placed: &[&Placed], traces: &[Traced]) {
        let paths = paths_of(placed, traces);
        for (at, placed) in placed.iter().enumerate() {
            let found;
            let ways = if placed.probes.is_empty() {
                found = paths.to(placed.server);
                &found
            } else {
                &placed.probes
            };
            let probes = seats.iter().enumerate().filter_map(|(seat, of)| {
                let own = ways.iter().filter(|probe| probe.is_of(of.member));
                Some((seat, median(own.map(|probe| probe.micros).collect())?))
            });
            let probes: Vec<(usize, u32)> = probes.collect();
            let both = probes.iter().filter_map(|(seat, probe)| {
                let answer = self.0.get(&(at, *seat))?;
                Some(answer.saturating_sub(*probe))
            });
            let own_time = median(both.collect());
            let unanswered = (0..seats.len()).all(|seat| !self.0.contains_key(&(at, seat)));
            // answers of some and probes of others cannot be compared
            let Some(own_time) = own_time.or(unanswered.then_some(0)) else {
                continue;
            };
            for (seat, probe) in probes {
                let micros = probe.saturating_add(own_time);
                self.0.entry((at, seat)).or_insert(micros);
            }
        }
    }

    /// Whether it matters for any server who has it.
    pub(super) fn differ(&self) -> bool {
        let mut pairs = self.0.iter().zip(self.0.iter().skip(1));
        pairs.any(|(((at, _), near), ((next, _), far))| at == next && near != far)
    }

    /// In milliseconds, for the partition.
    pub(super) fn measured(&self) -> Vec<Measured> {
        let measured = self.0.iter().map(|(&(at, seat), &micros)| Measured {
            robot: Robot(seat as u32),
            host: Host(at as u32),
            cost: f64::from(micros) / 1e3,
        });
        measured.collect()
    }

    /// Microseconds from a page to its member, as it is and by a new division, where both are known, of servers that count.
    pub(super) fn mean(
        &self,
        placed: &[&Placed],
        part: &[u32],
        counts: impl Fn(usize) -> bool,
    ) -> Option<(u32, u32)> {
        let (mut pages, mut now, mut then) = (0, 0, 0);
        let placed = placed.iter().enumerate();
        for (at, placed) in placed.filter(|(at, _)| counts(*at)) {
            let Some(owner) = placed.owner else { continue };
            let of = |seat: usize| self.0.get(&(at, seat)).copied().map(u64::from);
            if let (Some(before), Some(after)) = (of(owner), of(part[at] as usize)) {
                let total = placed.counts.total();
                pages += total;
                now += total * before;
                then += total * after;
            }
        }
        (pages > 0).then(|| ((now / pages) as u32, (then / pages) as u32))
    }
}
