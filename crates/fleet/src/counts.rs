//! What a server's pages say of it: how many there are, where they link, and how far it is from those who
//! asked it. Robots count as they read; a group's partitioner divides by it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::identity::{GroupId, Member, RobotId, Text};
use crate::wire::wire_struct;

/// Answers whose delays are kept: the median of seven is close enough, and more bring little.
pub const SAMPLES: usize = 7;

/// Most robots whose distances from a server are told.
pub const MOST_ROBOTS: usize = 16;

/// A page was read for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The host name that it has.
    pub name: Text,
    /// The names that it links to, and how many of its links go there.
    pub links: Vec<(Text, u32)>,
}
wire_struct!(Reading { name, links });

/// How long a server took to begin an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Whom it answered.
    pub robot: RobotId,
    /// The groups above that robot, the fleet first.
    pub path: Vec<GroupId>,
    /// From the request's last byte to the answer's first.
    pub micros: u32,
}
wire_struct!(Answered {
    robot,
    path,
    micros
});

impl Answered {
    /// Whether that robot is the member, or below it.
    pub(crate) fn is_of(&self, member: Member) -> bool {
        is_of(member, self.robot, &self.path)
    }
}

/// Whether a robot with these groups above it is the member, or below it.
pub(crate) fn is_of(member: Member, robot: RobotId, path: &[GroupId]) -> bool {
    match member {
        Member::Robot(member) => member == robot,
        Member::Group(group) => path.contains(&group),
    }
}

/// The block of addresses that a server is in: what is mostly in one place.
pub(crate) use ground::network as block;

/// How far a server is from a robot, by its answers. What the server itself takes is in it: that is the same for
/// all who ask, and does not change who is nearest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The groups above the robot when it was last answered, the fleet first.
    pub path: Vec<GroupId>,
    /// Answers that were ever timed.
    pub answers: u32,
    /// The newest of them, in microseconds.
    pub newest: Vec<u32>,
}
wire_struct!(Delay {
    path,
    answers,
    newest
});

impl Delay {
    fn add(&mut self, answered: &Answered) {
        self.path.clone_from(&answered.path);
        self.answers = self.answers.saturating_add(1);
        if self.newest.len() >= SAMPLES {
            self.newest.remove(0);
        }
        self.newest.push(answered.micros);
    }

    /// Microseconds; distributions are skewed, so this is the median.
    pub fn median(&self) -> Option<u32> {
        let mut sorted = self.newest.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

/// Sums of what was read of a server. They only grow, so of two the larger is the newer, and one that
/// comes twice counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages read, by host name.
    pub pages: BTreeMap<Text, u32>,
    /// Links from them, by the name that they lead to.
    pub links: BTreeMap<Text, u32>,
    /// How far it is from the robots that had it.
    pub delays: BTreeMap<RobotId, Delay>,
}
wire_struct!(Counts {
    pages,
    links,
    delays
});

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Which.
    pub server: IpAddr,
    /// Of its pages.
    pub counts: Counts,
}
wire_struct!(Observation { server, counts });

impl Counts {
    /// One more page.
    pub fn add(&mut self, reading: &Reading) {
        *self.pages.entry(reading.name.clone()).or_default() += 1;
        for (name, links) in &reading.links {
            let known = self.links.entry(name.clone()).or_default();
            *known = known.saturating_add(*links);
        }
    }

    /// An answer was timed.
    pub fn time(&mut self, answered: &Answered) {
        self.delays.entry(answered.robot).or_default().add(answered);
    }

    /// Pages in all.
    pub fn total(&self) -> u64 {
        self.pages.values().map(|&pages| u64::from(pages)).sum()
    }

    /// Pages, links and timed answers in all: what makes one newer than another.
    pub fn size(&self) -> u64 {
        let links: u64 = self.links.values().map(|&links| u64::from(links)).sum();
        let answers = self.delays.values().map(|delay| u64::from(delay.answers));
        self.total() + links + answers.sum::<u64>()
    }

    /// The heaviest names only, at most so many of each; how many were left out.
    #[must_use]
    pub fn cut(&self, most: usize) -> (Self, usize) {
        let (pages, fewer) = heaviest(&self.pages, most);
        let (links, less) = heaviest(&self.links, most);
        // of robots, those who know it best
        let mut delays: Vec<(&RobotId, &Delay)> = self.delays.iter().collect();
        delays.sort_by_key(|(_, delay)| std::cmp::Reverse(delay.answers));
        let delays = delays.into_iter().take(MOST_ROBOTS);
        let delays = delays
            .map(|(robot, delay)| (*robot, delay.clone()))
            .collect();
        let cut = Self {
            pages,
            links,
            delays,
        };
        (cut, fewer + less)
    }

    /// Takes the other's place if that is newer; whether it was.
    pub fn renew(&mut self, other: Self) -> bool {
        let newer = other.size() > self.size();
        if newer {
            *self = other;
        }
        newer
    }
}

fn heaviest(counts: &BTreeMap<Text, u32>, most: usize) -> (BTreeMap<Text, u32>, usize) {
    if counts.len() <= most {
        return (counts.clone(), 0);
    }
    let mut order: Vec<(&Text, &u32)> = counts.iter().collect();
    order.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let kept = order[..most].iter();
    let kept = kept.map(|(name, count)| ((*name).clone(), **count));
    (kept.collect(), counts.len() - most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_the_median_of_the_newest_answers() {
        let mut counts = Counts::default();
        let (robot, path) = (RobotId(3), vec![GroupId(1)]);
        for micros in [9_000, 90, 100, 80, 70_000, 110, 95, 105] {
            let path = path.clone();
            counts.time(&Answered {
                robot,
                path,
                micros,
            });
        }
        let delay = &counts.delays[&robot];
        assert_eq!((delay.answers, delay.newest.len()), (8, SAMPLES));
        assert_eq!(delay.median(), Some(100));
        assert_eq!(counts.size(), 8);
        assert_eq!(Delay::default().median(), None);
    }

    #[test]
    fn of_two_sums_the_larger_counts_and_once() {
        let reading = |name: &str, to: &str| Reading {
            name: name.into(),
            links: vec![(to.into(), 2), ("x.example".into(), 1)],
        };
        let mut counts = Counts::default();
        counts.add(&reading("a.example", "b.example"));
        let old = counts.clone();
        counts.add(&reading("a.example", "c.example"));
        assert_eq!((counts.total(), counts.size()), (2, 8));
        let mut known = old.clone();
        assert!(known.renew(counts.clone()) && !known.renew(counts.clone()));
        assert!(!known.renew(old), "an older one comes late");
        assert_eq!(known, counts);
        let (cut, left_out) = counts.cut(2);
        assert_eq!(left_out, 1);
        assert!(
            cut.links
                .keys()
                .eq(["b.example", "c.example"].map(Text::from).iter())
        );
    }
}
