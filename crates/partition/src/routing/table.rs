//! Tables of blocks and owners, and their making from an assignment of hosts.

use std::collections::HashMap;
use std::net::IpAddr;

use super::lookup::Lookup;
use ground::prefix::{Family, Prefix};

/// A block and to whom it belongs, but for the blocks inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The block.
    pub prefix: Prefix,
    /// A robot or a member of a group.
    pub owner: u32,
}

/// Two entries for one block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} has two owners")]
pub struct TwoOwners(pub Prefix);

/// Entries in order of address; the longest block that holds an address decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    entries: Vec<Entry>,
}

impl Table {
    /// Repeated entries vanish; contradicting ones are refused.
    pub fn new(mut entries: Vec<Entry>) -> Result<Self, TwoOwners> {
        entries.sort_unstable();
        entries.dedup();
        if let Some(pair) = entries.windows(2).find(|w| w[0].prefix == w[1].prefix) {
            return Err(TwoOwners(pair[0].prefix));
        }
        Ok(Self { entries })
    }

    /// The table of `addresses` inside known `blocks`: each block goes to the owner of most of
    /// the addresses for which it is the narrowest block, the other addresses are exceptions.
    /// Addresses outside all blocks stand alone. An address given to several owners goes to the
    /// one that has it most often; among equals to the block's.
    pub fn from_assignment(addresses: &[(IpAddr, u32)], blocks: &[Prefix]) -> Self {
        let hosts = favourites(
            addresses
                .iter()
                .map(|&(ip, owner)| (Prefix::host(ip), owner)),
        );
        let numbered = (0..blocks.len() as u32)
            .map(|owner| Entry {
                prefix: blocks[owner as usize],
                owner,
            })
            .collect::<Vec<_>>();
        let mut narrowest: HashMap<Prefix, u32> = HashMap::new();
        for entry in &numbered {
            narrowest.entry(entry.prefix).or_insert(entry.owner);
        }
        let unique = narrowest
            .into_iter()
            .map(|(prefix, owner)| Entry { prefix, owner })
            .collect();
        let inside = Lookup::new(&Self::new(unique).expect("each block once"));
        let block_of = |host: &Prefix| inside.owner(host.address()).map(|b| blocks[b as usize]);
        let votes = hosts.iter().flat_map(|(host, owners)| {
            let block = block_of(host);
            owners
                .iter()
                .filter_map(move |&owner| Some((block?, owner)))
        });
        let block_owners: HashMap<Prefix, u32> = favourites(votes)
            .into_iter()
            .map(|(block, owners)| (block, owners[0]))
            .collect();
        let mut entries: Vec<Entry> = block_owners
            .iter()
            .map(|(&prefix, &owner)| Entry { prefix, owner })
            .collect();
        for (host, owners) in &hosts {
            let covered = block_of(host).map(|block| block_owners[&block]);
            if covered.is_none_or(|owner| !owners.contains(&owner)) {
                entries.push(Entry {
                    prefix: *host,
                    owner: owners[0],
                });
            }
        }
        // a block of one address is its host's own majority: the two never contradict
        Self::new(entries).expect("hosts lie inside their blocks")
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order of address, wider blocks first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn of_family(&self, family: Family) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| entry.prefix.family() == family)
    }

    /// The same blocks with owners renamed: a parent sees its children, not their robots.
    #[must_use]
    pub fn rename(&self, name: impl Fn(u32) -> u32) -> Self {
        let entries = self
            .entries
            .iter()
            .map(|entry| Entry {
                prefix: entry.prefix,
                owner: name(entry.owner),
            })
            .collect();
        Self { entries }
    }
}

/// The owners that most often go with each prefix, in ascending order.
fn favourites(pairs: impl Iterator<Item = (Prefix, u32)>) -> HashMap<Prefix, Vec<u32>> {
    let mut pairs: Vec<(Prefix, u32)> = pairs.collect();
    pairs.sort_unstable();
    pairs
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| {
            let votes = || same.chunk_by(|a, b| a.1 == b.1);
            let most = votes().map(<[_]>::len).max();
            let owners = votes().filter(|votes| Some(votes.len()) == most);
            (same[0].0, owners.map(|votes| votes[0].1).collect())
        })
        .collect()
}
