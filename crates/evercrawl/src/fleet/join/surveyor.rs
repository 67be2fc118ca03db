//! A partitioner has it measured how far the members of its groups are from servers that they do not ask.

use super::prober::Prober;
use crate::fleet::ask::Ask;
use crate::fleet::groups::Groups;
use crate::fleet::office::{Member, Office};
use fleet::identity::{self, GroupId, RobotId};
use robot::Sight;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Most blocks of addresses that are asked for at a time.
const AT_ONCE: usize = 64;
const LOOK: Duration = Duration::from_millis(200);

/// Asks until it is dropped.
pub struct Surveyor(Arc<AtomicBool>);

impl Drop for Surveyor {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Survey {
    robot: RobotId,
    office: Arc<Office>,
    sight: Sight,
    prober: Prober,
    round: usize,
}

impl Surveyor {
    pub fn start(
        robot: RobotId,
        (office, sight): (&Arc<Office>, &Sight),
        prober: Prober,
        every: Duration,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut survey = Survey {
            robot,
            office: office.clone(),
            sight: sight.clone(),
            prober,
            round: 0,
        };
        let over = stop.clone();
        let thread = std::thread::Builder::new().name("surveyor".into());
        thread.spawn(move || {
            let mut next = Instant::now() + every;
            while !over.load(Ordering::Relaxed) {
                if Instant::now() >= next {
                    survey.look();
                    next = Instant::now() + every;
                }
                std::thread::sleep(LOOK);
            }
        })?;
        Ok(Self(stop))
    }
}

impl Survey {
    /// Asks for what is not known, and takes what is known by now.
    fn look(&mut self) {
        let wanted = self.sight.look(|seam| {
            let protocol = seam.protocol();
            let groups: Vec<GroupId> = protocol.above().collect();
            let wanted = groups
                .iter()
                .flat_map(|group| protocol.unprobed(*group, AT_ONCE));
            let mut by: BTreeMap<identity::Member, Vec<IpAddr>> = BTreeMap::new();
            for wanted in wanted {
                for member in wanted.by {
                    by.entry(member).or_default().push(wanted.server);
                }
            }
            by
        });
        let wanted = wanted.unwrap_or_default();
        if wanted.is_empty() {
            return;
        }
        self.round += 1;
        let (Ok((_, groups)), Ok(robots)) = (self.office.groups(), self.office.robots()) else {
            return;
        };
        for (member, mut servers) in wanted {
            let Some((robot, path)) = self.choose(member, &groups, &robots) else {
                continue;
            };
            servers.sort_unstable();
            servers.dedup();
            servers.truncate(AT_ONCE);
            let measured = if robot == self.robot {
                Some(self.prober.of(&servers))
            } else {
                let ask = Ask::Probe { servers };
                self.office.ask::<Vec<(IpAddr, Option<u32>)>>(robot, &ask)
            };
            for (server, micros) in measured.unwrap_or_default() {
                self.sight.probed(server, robot, path.clone(), micros);
            }
        }
    }

    /// A robot of a member, another one each time, and the groups above it.
    fn choose(
        &self,
        member: identity::Member,
        groups: &Groups,
        robots: &[Member],
    ) -> Option<(RobotId, Vec<GroupId>)> {
        let of = robots.iter().filter_map(|robot| {
            let group = groups.named(&robot.group).ok()?;
            let path = groups.path(GroupId(group.id));
            let is_of = match member {
                identity::Member::Robot(id) => robot.id() == id,
                identity::Member::Group(group) => path.contains(&group),
            };
            is_of.then(|| (robot.id(), path))
        });
        let of: Vec<(RobotId, Vec<GroupId>)> = of.collect();
        of.get(self.round % of.len().max(1)).cloned()
    }
}
