//! Longest-prefix match, compiled to a sorted list of address ranges.

use std::net::IpAddr;

use super::table::{Entry, Table};
use ground::prefix::{Family, key_of};

const NOBODY: u32 = u32::MAX;
/// The ranges that begin within each value of the first 16 bits are found by one index.
const INDEX_BITS: u32 = 16;

/// A table made for questions. Nested blocks become disjoint ranges, twice the entries at most;
/// an answer is an index by the first 16 bits and a short binary search.
#[derive(Clone, Debug)]
pub struct Lookup {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

#[derive(Clone, Debug)]
struct Ranges<K> {
    /// For each value of the first bits, the number of ranges that begin below it.
    index: Vec<u32>,
    starts: Vec<K>,
    owners: Vec<u32>,
}

impl<K: Ord + Copy> Ranges<K> {
    fn new(table: &Table, family: Family, key: impl Fn(u128) -> K) -> Self {
        let (wide_starts, owners) = flatten(table.of_family(family));
        let mut index = vec![0_u32; (1 << INDEX_BITS) + 1];
        for &start in &wide_starts {
            index[(start >> (128 - INDEX_BITS)) as usize + 1] += 1;
        }
        for i in 1..index.len() {
            index[i] += index[i - 1];
        }
        Self {
            index,
            starts: wide_starts.into_iter().map(key).collect(),
            owners,
        }
    }

    fn owner(&self, first_bits: usize, key: K) -> Option<u32> {
        let (from, until) = (self.index[first_bits], self.index[first_bits + 1]);
        let within = &self.starts[from as usize..until as usize];
        let after = from as usize + within.partition_point(|&start| start <= key);
        let owner = self.owners[after.checked_sub(1)?];
        (owner != NOBODY).then_some(owner)
    }
}

/// The table as a function of the address that changes at each start.
fn flatten<'a>(entries: impl Iterator<Item = &'a Entry>) -> (Vec<u128>, Vec<u32>) {
    let mut ranges: Vec<(u128, u32)> = Vec::new();
    let begin = |start: u128, owner: u32, ranges: &mut Vec<(u128, u32)>| {
        if ranges.last().is_some_and(|last| last.0 == start) {
            ranges.pop();
        }
        if ranges.last().map_or(NOBODY, |last| last.1) != owner {
            ranges.push((start, owner));
        }
    };
    // the blocks that hold the current address, the narrowest last
    let mut open: Vec<&Entry> = Vec::new();
    let close_until = |open: &mut Vec<&Entry>, start: Option<u128>, ranges: &mut Vec<_>| {
        while let Some(last) = open.last()
            && start.is_none_or(|start| last.prefix.last_bits() < start)
        {
            let end = last.prefix.last_bits();
            open.pop();
            if let Some(next) = end.checked_add(1) {
                begin(next, open.last().map_or(NOBODY, |e| e.owner), ranges);
            }
        }
    };
    for entry in entries {
        close_until(&mut open, Some(entry.prefix.bits()), &mut ranges);
        begin(entry.prefix.bits(), entry.owner, &mut ranges);
        open.push(entry);
    }
    close_until(&mut open, None, &mut ranges);
    ranges.into_iter().unzip()
}

impl Lookup {
    /// Compiles a table.
    pub fn new(table: &Table) -> Self {
        Self {
            v4: Ranges::new(table, Family::V4, |bits| (bits >> 96) as u32),
            v6: Ranges::new(table, Family::V6, |bits| bits),
        }
    }

    /// The owner of the longest block that holds `address`.
    pub fn owner(&self, address: IpAddr) -> Option<u32> {
        let (family, bits) = key_of(address);
        let first_bits = (bits >> (128 - INDEX_BITS)) as usize;
        match family {
            Family::V4 => self.v4.owner(first_bits, (bits >> 96) as u32),
            Family::V6 => self.v6.owner(first_bits, bits),
        }
    }
}
