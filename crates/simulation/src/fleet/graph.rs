//! A web whose hosts link as those of a real host graph do.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use fleet::counts::Counts;
use fleet::division::Placed;
use fleet::identity::Text;

/// Hosts by number, with their pages and the links between them.
#[derive(Clone, Debug, Default)]
pub struct HostGraph {
    /// Of each host.
    pub pages: Vec<u32>,
    /// From, to and how many.
    pub links: Vec<(u32, u32, u32)>,
}

/// Each host is a server of its own.
pub fn address(host: u32) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + host).into()
}

/// The name of a host of the model web.
pub fn name(host: u32) -> Text {
    format!("h{host}.example").into()
}

impl HostGraph {
    /// From lines `source, target, links`, tabs between them. A host has as many pages as links to
    /// itself and one more, up to `most_pages`.
    pub fn read(text: &str, most_pages: u32) -> Option<Self> {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut graph = Self::default();
        for line in text.lines() {
            let mut fields = line.split('\t');
            let (source, target, links) = (fields.next()?, fields.next()?, fields.next()?);
            let [from, to] = [source, target].map(|host| {
                let next = numbers.len() as u32;
                *numbers.entry(host).or_insert(next)
            });
            graph.pages.resize(numbers.len(), 1);
            let links: u32 = links.parse().ok()?;
            if from == to {
                graph.pages[from as usize] = links.saturating_add(1).min(most_pages);
            } else {
                graph.links.push((from, to, links));
            }
        }
        Some(graph)
    }

    /// The part that grows from the host with most links: always the host that has most links with those
    /// that are in. Hosts are numbered in that order, and each but the first is linked from one before it.
    #[must_use]
    pub fn core(&self, hosts: usize, most_links: u32) -> Self {
        let mut neighbours: Vec<Vec<(u32, u64)>> = vec![Vec::new(); self.pages.len()];
        for &(from, to, links) in &self.links {
            neighbours[from as usize].push((to, links.into()));
            neighbours[to as usize].push((from, links.into()));
        }
        let heavy = |host: &u32| {
            neighbours[*host as usize]
                .iter()
                .map(|(_, l)| l)
                .sum::<u64>()
        };
        let Some(first) = (0..self.pages.len() as u32).max_by_key(heavy) else {
            return Self::default();
        };
        let mut place: HashMap<u32, u32> = HashMap::new();
        let mut pull: HashMap<u32, (u64, u32)> = HashMap::from([(first, (0, first))]);
        let mut part = Self::default();
        while place.len() < hosts {
            let best = pull
                .iter()
                .max_by_key(|(host, (links, _))| (*links, **host));
            let Some((&host, &(_, from))) = best else {
                break;
            };
            pull.remove(&host);
            if let Some(&parent) = place.get(&from) {
                part.links.push((parent, place.len() as u32, 1));
            }
            place.insert(host, place.len() as u32);
            part.pages.push(self.pages[host as usize]);
            for &(other, links) in &neighbours[host as usize] {
                if !place.contains_key(&other) {
                    let known = pull.entry(other).or_insert((0, host));
                    known.0 += links;
                }
            }
        }
        let inside = (self.links.iter()).filter_map(|(from, to, links)| {
            Some((*place.get(from)?, *place.get(to)?, (*links).min(most_links)))
        });
        part.links.extend(inside);
        part
    }

    /// All hosts as a partitioner knows them that was told everything.
    pub fn observed(&self) -> Vec<Placed> {
        let mut placed: Vec<Placed> = (0..)
            .zip(&self.pages)
            .map(|(host, &pages)| Placed {
                server: address(host),
                counts: Counts {
                    pages: [(name(host), pages)].into(),
                    ..Counts::default()
                },
                before: None,
                blind: false,
                owner: None,
                probes: Vec::new(),
                place: None,
            })
            .collect();
        for &(from, to, links) in &self.links {
            let counts = &mut placed[from as usize].counts;
            *counts.links.entry(name(to)).or_default() += links;
        }
        placed
    }

    /// Links whose ends have different owners.
    pub fn exchanged<T: PartialEq>(&self, owner: impl Fn(u32) -> T) -> u64 {
        let apart = self
            .links
            .iter()
            .filter(|(from, to, _)| owner(*from) != owner(*to));
        apart.map(|(_, _, links)| u64::from(*links)).sum()
    }
}
