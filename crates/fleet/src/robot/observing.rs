//! What was read, told to those who divide: by each robot to the partitioner of its group, by that one to
//! the partitioner above. What is told are sums, so that one lost or told twice does no harm; a
//! new partitioner is told everything again.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Hold, Robot, Task};
use crate::counts::{Answered, Counts, Observation, Reading, SAMPLES};
use crate::identity::{GroupId, Millis, RobotId, Unit};
use crate::io::{Delivery, Outcome, Output};
use crate::parcel::{Batch, Cargo, Message, Origin, Subject, To};
use crate::record::Record;

/// About so many bytes in one message.
const TELL_BYTES: usize = 256 << 10;
/// Most names of a server that are told.
const TELL_NAMES: usize = 1_024;
/// Of so many answers one is timed, after the first.
const ONE_OF: u32 = 16;
/// A server is told of again when it has grown by one in so many.
const GROWN: u64 = 8;

/// What the robot knows of links, and whom it has told.
#[derive(Debug, Default)]
pub(super) struct Observing {
    /// Of servers that it holds.
    pub counts: BTreeMap<IpAddr, Counts>,
    /// Of the shares of groups whose partitioner it is.
    pub collected: BTreeMap<GroupId, BTreeMap<IpAddr, Counts>>,
    /// What each group's partitioner has, by the size of the sums.
    told: BTreeMap<GroupId, Told>,
    at: Millis,
    /// Answers since one was timed.
    untimed: BTreeMap<IpAddr, u32>,
}

#[derive(Debug)]
struct Told {
    who: (RobotId, u64),
    sizes: BTreeMap<IpAddr, u64>,
    under_way: bool,
}

impl Robot {
    /// What was read from a server that the robot holds.
    pub fn counts_of(&self, server: IpAddr) -> Option<&Counts> {
        self.observing.counts.get(&server)
    }

    /// A page was read for the first time.
    pub(super) fn count(&mut self, unit: Unit, reading: Reading) {
        if let Unit::Server(server) = unit {
            let counts = self.observing.counts.entry(server).or_default();
            counts.add(&reading);
            self.draft.records.push(Record::Read(unit, reading));
        }
    }

    /// A server answered. The first answers are kept, and later one of many: distances seldom change.
    pub(super) fn time(&mut self, unit: Unit, micros: u32) {
        let Unit::Server(server) = unit else { return };
        let robot = self.settings.robot;
        let counts = self.observing.counts.entry(server).or_default();
        let known = counts.delays.get(&robot).map_or(0, |delay| delay.answers);
        let untimed = self.observing.untimed.entry(server).or_default();
        *untimed += 1;
        if known as usize >= SAMPLES && *untimed < ONE_OF {
            return;
        }
        self.observing.untimed.remove(&server);
        let answered = Answered {
            robot,
            path: self.levels.iter().map(|level| level.group).collect(),
            micros,
        };
        counts.time(&answered);
        self.draft.records.push(Record::Timed(unit, answered));
    }

    /// A record about links, from a package, a log or our own disk.
    pub(super) fn apply_counts(&mut self, record: &Record) {
        let counts = &mut self.observing.counts;
        match record {
            Record::Read(Unit::Server(server), reading) => {
                counts.entry(*server).or_default().add(reading);
            }
            Record::Timed(Unit::Server(server), answered) => {
                counts.entry(*server).or_default().time(answered);
            }
            Record::Counted(Unit::Server(server), sums) => {
                counts.entry(*server).or_default().renew(sums.clone());
            }
            Record::Handed(Unit::Server(server)) => {
                counts.remove(server);
            }
            Record::Observed(group, observations) => {
                self.collect(*group, observations.iter().cloned());
            }
            _ => {}
        }
    }

    fn collect(&mut self, group: GroupId, all: impl Iterator<Item = Observation>) -> bool {
        let known = self.observing.collected.entry(group).or_default();
        let mut news = false;
        for Observation { server, counts } in all {
            news |= known.entry(server).or_default().renew(counts);
        }
        news
    }

    /// What others read came to us.
    pub(super) fn on_observed(
        &mut self,
        group: GroupId,
        all: Vec<Observation>,
        delivery: Option<Delivery>,
    ) {
        // whoever is the partitioner by now is told by all
        if self.makes(group) && self.collect(group, all.iter().cloned()) {
            self.draft
                .records
                .push(Record::Observed(group, Arc::new(all)));
        }
        self.draft.deliveries.extend(delivery);
    }

    /// What was read is told with the next tick.
    pub(super) fn observing_at_once(&mut self) {
        self.observing.at = self.now;
    }

    pub(super) fn advance_observing(&mut self) {
        if self.settings.division.is_none() || self.now < self.observing.at {
            return;
        }
        self.observing.at = self.now + self.settings.observe;
        if self.session.is_none() || !self.lease_valid(self.now) {
            return;
        }
        let above: Vec<GroupId> = self.above().collect();
        let gone = |group: &GroupId| !above.contains(group) || !self.makes(*group);
        let gone: Vec<GroupId> = self
            .observing
            .collected
            .keys()
            .copied()
            .filter(gone)
            .collect();
        for group in gone {
            self.observing.collected.remove(&group);
        }
        for depth in 0..above.len() {
            if depth + 1 == above.len() || self.makes(above[depth + 1]) {
                self.tell(depth);
            }
        }
    }

    /// What is to be told to a group: by its member robots what they hold, by partitioners below it what
    /// they collected.
    fn source(&self, depth: usize) -> Vec<(IpAddr, &Counts)> {
        let held = |server: IpAddr| {
            let hold = self.units.get(&Unit::Server(server));
            matches!(hold, Some(Hold::Own { .. } | Hold::Arriving { .. }))
        };
        match self.levels.get(depth + 1) {
            None => {
                let counts = self.observing.counts.iter();
                counts
                    .filter(|(s, _)| held(**s))
                    .map(|(s, c)| (*s, c))
                    .collect()
            }
            Some(below) => {
                let collected = self.observing.collected.get(&below.group);
                let collected = collected.into_iter().flatten();
                collected.map(|(s, c)| (*s, c)).collect()
            }
        }
    }

    fn tell(&mut self, depth: usize) {
        let Some(plan) = self.levels[depth].plan.clone() else {
            return;
        };
        let (group, who) = (plan.group, (plan.maker, plan.version.term));
        let told = self
            .observing
            .told
            .get(&group)
            .filter(|told| told.who == who);
        if told.is_some_and(|told| told.under_way) {
            return;
        }
        let size_told = |server: &IpAddr| told.and_then(|told| told.sizes.get(server).copied());
        let mut news = Vec::new();
        let (mut bytes, mut left_out) = (0, 0);
        for (server, counts) in self.source(depth) {
            let size = counts.size();
            if size_told(&server).is_some_and(|told| size * GROWN < told * (GROWN + 1)) {
                continue;
            }
            let (counts, cut) = counts.cut(TELL_NAMES);
            left_out += cut as u64;
            let names = counts.pages.keys().chain(counts.links.keys());
            bytes += 16 + names.map(|name| name.len() + 4).sum::<usize>();
            news.push((size, Observation { server, counts }));
            if bytes > TELL_BYTES {
                break;
            }
        }
        self.tally.names_left_out += left_out;
        let sizes = news.iter().map(|(size, o)| (o.server, *size)).collect();
        let all: Vec<Observation> = news.into_iter().map(|(_, o)| o).collect();
        let told = self.observing.told.entry(group).or_insert(Told {
            who,
            sizes: BTreeMap::new(),
            under_way: false,
        });
        if told.who != who {
            told.who = who;
            told.sizes.clear();
        }
        if all.is_empty() {
            return;
        }
        if plan.maker == self.settings.robot {
            told.sizes.extend::<BTreeMap<_, _>>(sizes);
            return self.on_observed(group, all, None);
        }
        told.under_way = true;
        let Some(session) = self.session else { return };
        let subject = |robot| Subject {
            group,
            to: To::Robot(robot),
        };
        let origin = Origin {
            session,
            reply: subject(self.settings.robot),
        };
        let batch = Batch {
            origin,
            hops: 0,
            by: (group, plan.version),
            entries: vec![(0, Cargo::Seen(all))],
        };
        let token = self.token(Task::Tell(group, sizes));
        self.outputs.push(Output::Publish {
            token,
            subject: subject(plan.maker),
            message: Message::Batch(batch),
        });
    }

    pub(super) fn on_told(
        &mut self,
        group: GroupId,
        sizes: BTreeMap<IpAddr, u64>,
        outcome: Outcome,
    ) {
        if let Some(told) = self.observing.told.get_mut(&group) {
            told.under_way = false;
            if matches!(outcome, Outcome::Done(_)) {
                told.sizes.extend(sizes);
            }
        }
    }
}
