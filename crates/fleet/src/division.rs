//! How a group divides its share by what its robots read: a table for its next plan, computed from
//! the links between servers and from how far they are. Pure and self-contained, so that it can be computed beside the robot.
//!
//! Servers are given away whole, with all names bound to them. Filters come first: a server that one member
//! alone takes is fixed there. A server that the table has placed before stays where it is unless moving it is
//! worth it, and no more pages move than [`Terms::promise`] allows; one that only the ring has placed goes
//! where its links are. What was placed before anybody knew how far it is may move once beyond the promise.

mod distances;
mod paths;

use std::collections::BTreeMap;
use std::net::IpAddr;

use distances::Distances;
use partition::hierarchy::{Member as Leaf, Tree};
use partition::limits::Balance;
use partition::method::Method;
use partition::moves::moved_pages;
use partition::routing::{Table, Unknown, aggregate};
use partition::solve::{Before, Host, Named, Nearness, Problem, Robot, Servers, solve};
use partition::task::{NOWHERE, PartitionError};

use crate::counts::{Answered, Counts};
use crate::filter::Block;
use crate::identity::{GroupId, Member, Millis, Text};
use crate::plan::{Seat, Version};
use crate::trace::Traced;
use crate::wire::encode;

/// By how much a member's pages and servers may exceed its fair share.
const BALANCE: Balance = Balance {
    pages: Some(0.1),
    servers: Some(0.5),
    traffic: None,
};
/// How much it matters that servers are near, where few links between members matter 1.
const NEARNESS: f64 = 1.0;
/// What moving a page costs, in links of an average page; dearer each time that too much would move.
const PRICE: f64 = 1.0;
const DEARER: f64 = 4.0;
const TRIES: usize = 4;
/// A newcomer gets its share, and half as much again may move in all.
const FOR_NEWCOMERS: f64 = 1.5;
/// What was placed before distances were known moves beyond the promise if a page comes this much nearer.
const NEARER: f64 = 0.8;
/// Most bytes of a table inside a plan.
const TABLE_BYTES: usize = 512 << 10;

/// When and how a group is divided anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// With fewer servers the ring is good enough.
    pub least: usize,
    /// So many more servers than last time, as a share, and it is divided again.
    pub growth: f64,
    /// And after so long, because links change.
    pub every: Millis,
    /// The share of pages that may change hands though their owners stay.
    pub promise: f64,
    /// So long the first division waits for the distances of nine servers of ten; 0 where nobody measures them.
    pub patience: Millis,
    /// Whether robots look for the ways to servers that answer no probes.
    pub routes: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            least: 64,
            growth: 0.25,
            every: 6 * 3_600_000,
            promise: 0.05,
            patience: 0,
            routes: false,
        }
    }
}

/// A server to be given away.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Which.
    pub server: IpAddr,
    /// What was read there.
    pub counts: Counts,
    /// The member that the table gave it to before, as a position in `seats`.
    pub before: Option<usize>,
    /// That was before its distances were known as well as they are now: it may move though nothing else may.
    pub blind: bool,
    /// The member that has it, by the table or by the ring.
    pub owner: Option<usize>,
    /// How far its block of addresses is, as robots measured that asked it nothing.
    pub probes: Vec<Answered>,
    /// Where it is, by its names or by a database, in whatever words.
    pub place: Option<Text>,
}

/// A group's share and those who divide it.
#[derive(Clone, Debug)]
pub struct Division {
    /// Whose share.
    pub group: GroupId,
    /// The plan that the answer is to follow.
    pub version: Version,
    /// Those who get something.
    pub seats: Vec<Seat>,
    /// What there is.
    pub servers: Vec<Placed>,
    /// Ways to them that robots found.
    pub traces: Vec<Traced>,
    /// The share of the members' capacity that came since the last time.
    pub came: f64,
    /// See [`Terms::promise`].
    pub promise: f64,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divided {
    /// Whose share.
    pub group: GroupId,
    /// The plan that it follows.
    pub version: Version,
    /// Blocks and the members they go to.
    pub table: Vec<(Block, Member)>,
    /// Pages in all, and those of them that change hands though the table had placed them.
    pub pages: u64,
    /// See `pages`.
    pub moved: u64,
    /// Pages that move beyond the promise, because they were placed before distances were known.
    pub late: u64,
    /// Servers that the table has no room for: the ring has them.
    pub unlisted: usize,
    /// Microseconds from a page to its robot, as a mean over all pages where both are known: as it is, and as it will be.
    pub delay: Option<(u32, u32)>,
}

impl Division {
    /// Divides. With fewer servers than members the ring is all there is.
    pub fn solve(&self) -> Result<Divided, PartitionError> {
        let mut divided = Divided {
            group: self.group,
            version: self.version,
            table: Vec::new(),
            pages: self
                .servers
                .iter()
                .map(|placed| placed.counts.total())
                .sum(),
            moved: 0,
            late: 0,
            unlisted: 0,
            delay: None,
        };
        let taken: Vec<Vec<u32>> = self
            .servers
            .iter()
            .map(|placed| self.takers(placed))
            .collect();
        let here: Vec<usize> = (0..taken.len()).filter(|&i| !taken[i].is_empty()).collect();
        if self.seats.is_empty() || here.len() < self.seats.len() {
            return Ok(divided);
        }
        let part = self.divide(&here, &taken, &mut divided)?;
        let mut addresses: Vec<(IpAddr, u32)> = (here.iter().zip(&part))
            .map(|(&server, &seat)| (self.servers[server].server, seat))
            .collect();
        let member = |seat: u32| self.seats[seat as usize].member;
        loop {
            let table = Table::from_assignment(&addresses, &[]);
            let table = aggregate(&table, Unknown::Kept);
            let entries = table.entries().iter();
            divided.table = entries
                .map(|e| (Block(e.prefix), member(e.owner)))
                .collect();
            let bytes = encode(&divided.table).len();
            if bytes <= TABLE_BYTES {
                return Ok(divided);
            }
            // the heaviest servers are what counts
            if divided.unlisted == 0 {
                let pages = self.servers.iter().map(|p| (p.server, p.counts.total()));
                let pages: BTreeMap<IpAddr, u64> = pages.collect();
                addresses.sort_by_key(|(server, _)| std::cmp::Reverse(pages[server]));
            }
            let room = addresses.len() * TABLE_BYTES / bytes * 9 / 10;
            divided.unlisted += addresses.len() - room;
            addresses.truncate(room);
        }
    }

    /// The members that may own a server: those whose ranges hold it, and of these, if there are any, those who
    /// want most of its pages.
    fn takers(&self, placed: &Placed) -> Vec<u32> {
        let seats = || (0..).zip(&self.seats);
        let takes = |seat: &Seat| seat.filter.takes_server(placed.server);
        let owners: Vec<u32> = seats().filter(|(_, s)| takes(s)).map(|(i, _)| i).collect();
        let wants = |seat: &u32| {
            let filter = &self.seats[*seat as usize].filter;
            let pages = placed.counts.pages.iter();
            let wanted = pages.filter(|(name, _)| filter.takes_page(name, "/"));
            let wanted: u64 = wanted.map(|(_, &pages)| u64::from(pages)).sum();
            2 * wanted >= placed.counts.total()
        };
        let willing: Vec<u32> = owners.iter().copied().filter(|seat| wants(seat)).collect();
        if willing.is_empty() { owners } else { willing }
    }

    /// The seat of each server of `here`.
    fn divide(
        &self,
        here: &[usize],
        taken: &[Vec<u32>],
        divided: &mut Divided,
    ) -> Result<Vec<u32>, PartitionError> {
        let placed: Vec<&Placed> = here.iter().map(|&at| &self.servers[at]).collect();
        let may = |at: usize, seat: u32| taken[here[at]].contains(&seat);
        let links = links(&placed);
        let servers = Servers {
            of_host: (0..placed.len() as u32).collect(),
            count: placed.len(),
        };
        let pages = placed.iter().map(|placed| placed.counts.total().max(1));
        let graph = servers.graph(pages, links.iter().copied(), self.seats.len())?;
        let leaves = self
            .seats
            .iter()
            .map(|seat| Leaf::Robot(f64::from(seat.capacity.max(1))));
        let tree = Tree::new(&Leaf::Group(leaves.collect()))?;
        let before = seats_before(&placed, may);
        let only = (0..placed.len()).filter_map(|at| match taken[here[at]][..] {
            [only] => Some((Host(at as u32), Robot(only))),
            _ => None,
        });
        let fixed: Vec<(Host, Robot)> = only.collect();
        let names: Vec<Named> = (placed.iter())
            .map(|placed| Named {
                name: placed.counts.pages.keys().next().map_or("", |name| name),
                address: Some(placed.server),
            })
            .collect();
        let identities: Vec<u64> = self
            .seats
            .iter()
            .map(|seat| seat.member.identity())
            .collect();
        let distances = Distances::of(&self.seats, &placed, &self.traces);
        let measured = distances.measured();
        let nearness = [Nearness {
            measured: &measured,
            preference: NEARNESS,
        }];
        let problem = Problem {
            method: Method::Graph,
            hosts: &names,
            servers: &servers,
            links: &graph,
            preference: 1.0,
            nearness: if distances.differ() { &nearness } else { &[] },
            tree: &tree,
            identities: &identities,
            balance: BALANCE,
            fixed: &fixed,
            seed: self.group.0 ^ self.version.number << 20,
        };
        let allowed = (self.promise + FOR_NEWCOMERS * self.came) * divided.pages as f64;
        let moved = |part: &[u32], counts: &dyn Fn(usize) -> bool| {
            let was = |at: usize| counts(at) && before[at] != NOWHERE;
            let known = (0..part.len()).map(|at| if was(at) { before[at] } else { part[at] });
            moved_pages(&graph, &known.collect::<Vec<u32>>(), part)
        };
        let attempt = |before: &[u32], price: f64| {
            let previous = Before {
                part: before,
                price,
            };
            let part = solve(&problem, Some(previous))?;
            let mut part = part.expect("graphs divide hosts");
            self.obey(&mut part, &placed, &links, may);
            Ok::<_, PartitionError>(part)
        };
        if placed.iter().any(|placed| placed.blind) {
            // whole clusters have to change places, which servers that move one by one never do
            let blind = |at: usize| placed[at].blind;
            let freed = (0..placed.len()).map(|at| if blind(at) { NOWHERE } else { before[at] });
            let part = attempt(&freed.collect::<Vec<u32>>(), PRICE)?;
            // ways become known slowly: what they do not tell of yet would hide what they do
            let judged = |at: usize| self.traces.is_empty() || blind(at);
            let nearer = distances.mean(&placed, &part, judged);
            let nearer =
                nearer.is_some_and(|(was, will)| f64::from(will) <= NEARER * f64::from(was));
            let firm = moved(&part, &|at| !blind(at));
            if nearer && firm as f64 <= allowed {
                (divided.moved, divided.late) = (firm, moved(&part, &blind));
                divided.delay = distances.mean(&placed, &part, |_| true);
                return Ok(part);
            }
        }
        let mut price = PRICE;
        let mut part = Vec::new();
        for _ in 0..TRIES {
            part = attempt(&before, price)?;
            divided.moved = moved(&part, &|_| true);
            if divided.moved as f64 <= allowed {
                divided.delay = distances.mean(&placed, &part, |_| true);
                return Ok(part);
            }
            price *= DEARER;
        }
        // a promise is a promise: only what is new finds its place
        for (seat, &before) in part.iter_mut().zip(&before) {
            if before != NOWHERE {
                *seat = before;
            }
        }
        divided.moved = 0;
        divided.delay = distances.mean(&placed, &part, |_| true);
        Ok(part)
    }

    /// A server that came to a member that does not take it goes to the one of those who do that it is linked
    /// to most.
    fn obey(
        &self,
        part: &mut [u32],
        placed: &[&Placed],
        links: &[(Host, Host, f64)],
        may: impl Fn(usize, u32) -> bool,
    ) {
        let astray: Vec<usize> = (0..placed.len()).filter(|&at| !may(at, part[at])).collect();
        for at in astray {
            let mut pull = vec![0.0; self.seats.len()];
            for &(Host(from), Host(to), weight) in links {
                let other = match (from as usize == at, to as usize == at) {
                    (true, false) => to,
                    (false, true) => from,
                    _ => continue,
                };
                pull[part[other as usize] as usize] += weight;
            }
            let seats = (0..self.seats.len() as u32).filter(|&seat| may(at, seat));
            let best = seats.max_by(|&a, &b| pull[a as usize].total_cmp(&pull[b as usize]));
            part[at] = best.expect("somebody takes it");
        }
    }
}

/// The links between servers; those to names that nobody has read yet are left aside.
fn links(placed: &[&Placed]) -> Vec<(Host, Host, f64)> {
    let mut at: BTreeMap<&Text, (u32, u32)> = BTreeMap::new();
    for (position, placed) in (0..).zip(placed) {
        for (name, &pages) in &placed.counts.pages {
            let known = at.entry(name).or_insert((pages, position));
            // after a new binding the larger part of the pages counts
            if pages > known.0 {
                *known = (pages, position);
            }
        }
    }
    let mut links = Vec::new();
    for (from, placed) in (0..).zip(placed) {
        for (name, &count) in &placed.counts.links {
            if let Some(&(_, to)) = at.get(name).filter(|(_, to)| *to != from) {
                links.push((Host(from), Host(to), f64::from(count)));
            }
        }
    }
    links
}

/// Who had each server by the table before, of those who may have it now.
fn seats_before(placed: &[&Placed], may: impl Fn(usize, u32) -> bool) -> Vec<u32> {
    let seats = placed.iter().enumerate().map(|(at, placed)| {
        let seat = placed.before.map(|seat| seat as u32);
        seat.filter(|&seat| may(at, seat)).unwrap_or(NOWHERE)
    });
    seats.collect()
}

#[cfg(test)]
mod tests;
