//! The smallest table with the same meaning.

use super::table::{Entry, Table};
use ground::prefix::{Family, Prefix};

/// What becomes of addresses that no entry covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// They stay uncovered.
    Kept,
    /// Nobody knows a host there: they may go to anyone.
    Anyone,
}

/// Whom a node of the binary trie may be given to at the least number of entries below it.
enum Choices {
    Anyone,
    Nobody,
    /// In ascending order.
    Of(Vec<u32>),
}

impl Choices {
    fn join(lower: &Self, upper: &Self) -> Self {
        match (lower, upper) {
            (Self::Nobody, _) | (_, Self::Nobody) => Self::Nobody,
            (Self::Anyone, Self::Anyone) => Self::Anyone,
            (Self::Anyone, Self::Of(owners)) | (Self::Of(owners), Self::Anyone) => {
                Self::Of(owners.clone())
            }
            (Self::Of(a), Self::Of(b)) => {
                let both: Vec<u32> = a
                    .iter()
                    .filter(|owner| b.binary_search(owner).is_ok())
                    .copied()
                    .collect();
                if !both.is_empty() {
                    return Self::Of(both);
                }
                let mut either = [a.as_slice(), b].concat();
                either.sort_unstable();
                Self::Of(either)
            }
        }
    }
}

struct Node {
    prefix: Prefix,
    choices: Choices,
    halves: Option<(usize, usize)>,
}

struct Trie {
    nodes: Vec<Node>,
    unknown: Unknown,
}

impl Trie {
    /// Adds the trie of `entries`, all inside `prefix`, where what they leave open belongs to
    /// `inherited`.
    fn add(&mut self, mut prefix: Prefix, entries: &[Entry], inherited: Option<u32>) -> usize {
        let mut entries = entries;
        let mut inherited = inherited;
        if let (None, Unknown::Anyone, Some(first), Some(last)) =
            (inherited, self.unknown, entries.first(), entries.last())
        {
            // nothing else is known here: go straight to where the entries part
            prefix = first.prefix.common(&last.prefix);
        }
        if let Some((first, rest)) = entries.split_first()
            && first.prefix == prefix
        {
            inherited = Some(first.owner);
            entries = rest;
        }
        let (choices, halves) = if entries.is_empty() {
            let choices = match (inherited, self.unknown) {
                (Some(owner), _) => Choices::Of(vec![owner]),
                (None, Unknown::Anyone) => Choices::Anyone,
                (None, Unknown::Kept) => Choices::Nobody,
            };
            (choices, None)
        } else {
            let upper = prefix.half(true);
            let middle = entries.partition_point(|entry| entry.prefix.bits() < upper.bits());
            let a = self.add(prefix.half(false), &entries[..middle], inherited);
            let b = self.add(upper, &entries[middle..], inherited);
            let choices = Choices::join(&self.nodes[a].choices, &self.nodes[b].choices);
            (choices, Some((a, b)))
        };
        self.nodes.push(Node {
            prefix,
            choices,
            halves,
        });
        self.nodes.len() - 1
    }

    /// Writes the entries below `node`, which inherits `owner` from above.
    fn write(&self, node: usize, mut owner: Option<u32>, out: &mut Vec<Entry>) {
        let node = &self.nodes[node];
        if let Choices::Of(owners) = &node.choices
            && owner.is_none_or(|owner| owners.binary_search(&owner).is_err())
        {
            owner = owners.first().copied();
            out.extend(owner.map(|owner| Entry {
                prefix: node.prefix,
                owner,
            }));
        }
        if let Some((a, b)) = node.halves {
            self.write(a, owner, out);
            self.write(b, owner, out);
        }
    }
}

/// ORTC: from the leaves up, the owners that would serve; from the root down, an entry only where
/// what is inherited does not serve. No table with the same meaning has fewer entries.
#[must_use]
pub fn aggregate(table: &Table, unknown: Unknown) -> Table {
    let mut entries = Vec::new();
    for family in [Family::V4, Family::V6] {
        let known: Vec<Entry> = table.of_family(family).copied().collect();
        if known.is_empty() {
            continue;
        }
        let mut trie = Trie {
            nodes: Vec::new(),
            unknown,
        };
        let root = trie.add(Prefix::from_bits(family, 0, 0), &known, None);
        trie.write(root, None, &mut entries);
    }
    Table::new(entries).expect("a trie has each prefix once")
}
