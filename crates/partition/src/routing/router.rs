//! One robot's routing table, and the tables of a whole fleet.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::Range;

use super::aggregate::{Unknown, aggregate};
use super::lookup::Lookup;
use super::table::Table;
use crate::hash::Ring;
use crate::hierarchy::Tree;
use crate::task::PartitionError;
use ground::Prefix;

/// A host and its robot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// Its name.
    pub host: String,
    /// Its address, when known.
    pub address: Option<IpAddr>,
    /// The robot that downloads it.
    pub robot: u32,
}

/// Why tables cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RoutingError {
    /// A host of a robot that is not in the tree.
    #[error("{host} belongs to robot {robot}, which is unknown")]
    UnknownRobot {
        /// The host.
        host: String,
        /// The robot as given.
        robot: u32,
    },
    /// The tree itself.
    #[error(transparent)]
    Tree(#[from] PartitionError),
}

/// Where a robot sends a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// It is its own.
    Own,
    /// To a member of one of its ancestors, counted from the top.
    Member {
        /// How many levels below the top the ancestor is.
        level: u32,
        /// Which of its members.
        member: u32,
    },
}

/// In tables: the robot itself.
const OWN: u32 = 0;

/// A robot's table: host names first, then blocks, then consistent hashing.
#[derive(Clone, Debug)]
pub struct Router {
    path: Vec<u32>,
    /// What the owners in the table stand for; the first is the robot itself.
    targets: Vec<Target>,
    hosts: HashMap<Box<str>, u32>,
    table: Table,
    lookup: Lookup,
    /// For each ancestor, its members.
    rings: Vec<Ring>,
}

impl Router {
    /// Where to send a URL of `host`.
    pub fn route(&self, host: &str, address: Option<IpAddr>) -> Target {
        let known = self
            .hosts
            .get(host)
            .copied()
            .or_else(|| self.lookup.owner(address?));
        known.map_or_else(|| self.by_hash(host), |owner| self.targets[owner as usize])
    }

    /// All robots of a group ask the same ring, so they agree.
    fn by_hash(&self, host: &str) -> Target {
        for (level, ring) in (0..).zip(&self.rings) {
            let member = ring.of_host(host);
            if member != self.path[level as usize] {
                return Target::Member { level, member };
            }
        }
        Target::Own
    }

    /// The blocks, with owners as [`Router::target`] explains them.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What an owner in the table stands for.
    pub fn target(&self, owner: u32) -> Target {
        self.targets[owner as usize]
    }

    /// The hosts that are listed by name, in their order, with where they go.
    pub fn named(&self) -> Vec<(&str, Target)> {
        let mut named: Vec<(&str, Target)> = self
            .hosts
            .iter()
            .map(|(host, &owner)| (&**host, self.target(owner)))
            .collect();
        named.sort_unstable_by_key(|(host, _)| *host);
        named
    }

    /// How many hosts are listed by name.
    pub fn named_hosts(&self) -> usize {
        self.hosts.len()
    }
}

/// The routers of all robots of a tree.
#[derive(Clone, Debug)]
pub struct Fleet {
    tree: Tree,
    routers: Vec<Router>,
}

impl Fleet {
    /// Tables for every robot. Hosts are known by their addresses; with registry `blocks` the
    /// rest of each block is known too.
    pub fn new(tree: Tree, assigned: &[Assigned], blocks: &[Prefix]) -> Result<Self, RoutingError> {
        if let Some(bad) = assigned.iter().find(|a| a.robot as usize >= tree.robots()) {
            return Err(RoutingError::UnknownRobot {
                host: bad.host.clone(),
                robot: bad.robot,
            });
        }
        let addresses: Vec<(IpAddr, u32)> = assigned
            .iter()
            .filter_map(|a| Some((a.address?, a.robot)))
            .collect();
        let table = Table::from_assignment(&addresses, blocks);
        let exact = Lookup::new(&table);
        let named: Vec<&Assigned> = assigned
            .iter()
            .filter(|a| a.address.and_then(|ip| exact.owner(ip)) != Some(a.robot))
            .collect();
        let routers = (0..tree.robots() as u32)
            .map(|robot| router(&tree, robot, &table, &named))
            .collect::<Result<_, _>>()?;
        Ok(Self { tree, routers })
    }

    /// One robot's table.
    pub fn router(&self, robot: u32) -> &Router {
        &self.routers[robot as usize]
    }

    /// The robots, any of which may represent what `target` means to `robot`.
    pub fn robots_of(&self, robot: u32, target: Target) -> Range<u32> {
        match target {
            Target::Own => robot..robot + 1,
            Target::Member { level, member } => {
                let mut path = self.tree.path(robot)[..level as usize].to_vec();
                path.push(member);
                self.tree.robots_of(&path)
            }
        }
    }

    /// The robots a URL passes, from the one that found it to the one that keeps it;
    /// `representative` chooses who answers for a group.
    pub fn journey(
        &self,
        from: u32,
        host: &str,
        address: Option<IpAddr>,
        mut representative: impl FnMut(Range<u32>) -> u32,
    ) -> Vec<u32> {
        let mut passed = vec![from];
        // each hop leads at least one level down the right branch
        for _ in 0..=self.tree.levels() {
            let here = passed[passed.len() - 1];
            match self.router(here).route(host, address) {
                Target::Own => break,
                target @ Target::Member { .. } => {
                    passed.push(representative(self.robots_of(here, target)));
                }
            }
        }
        passed
    }
}

/// The table of one robot: other robots collapse to the members it knows, before aggregation.
fn router(
    tree: &Tree,
    robot: u32,
    table: &Table,
    named: &[&Assigned],
) -> Result<Router, PartitionError> {
    let path = tree.path(robot).to_vec();
    let mut targets = vec![Target::Own];
    let mut owner_of = vec![OWN; tree.robots()];
    for (level, &own) in (0..).zip(&path) {
        let above = &path[..level as usize];
        let members = tree.member_capacities(above).len() as u32;
        for member in (0..members).filter(|&member| member != own) {
            let robots = tree.robots_of(&[above, &[member]].concat());
            owner_of[robots.start as usize..robots.end as usize].fill(targets.len() as u32);
            targets.push(Target::Member { level, member });
        }
    }
    let rings = (0..path.len())
        .map(|level| Ring::new(&tree.member_capacities(&path[..level])))
        .collect::<Result<_, _>>()?;
    let seen = table.rename(|owner| owner_of[owner as usize]);
    let table = aggregate(&seen, Unknown::Anyone);
    let lookup = Lookup::new(&table);
    // seen from here another robot of the same group may be no exception
    let hosts = (named.iter())
        .map(|a| (a, owner_of[a.robot as usize]))
        .filter(|(a, owner)| a.address.and_then(|ip| lookup.owner(ip)) != Some(*owner))
        .map(|(a, owner)| (a.host.as_str().into(), owner))
        .collect();
    Ok(Router {
        path,
        targets,
        hosts,
        table,
        lookup,
        rings,
    })
}
