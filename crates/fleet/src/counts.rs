//! What a server's pages say of it: how many there are, and where they link. Robots count as they read; a
//! group's partitioner divides by it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::identity::Text;
use crate::wire::wire_struct;

/// A page was read for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The host name that it has.
    pub name: Text,
    /// The names that it links to, and how many of its links go there.
    pub links: Vec<(Text, u32)>,
}
wire_struct!(Reading { name, links });

/// Sums of what was read of a server. They only grow, so of two the larger is the newer, and one that
/// comes twice counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages read, by host name.
    pub pages: BTreeMap<Text, u32>,
    /// Links from them, by the name that they lead to.
    pub links: BTreeMap<Text, u32>,
}
wire_struct!(Counts { pages, links });

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

    /// Pages in all.
    pub fn total(&self) -> u64 {
        self.pages.values().map(|&pages| u64::from(pages)).sum()
    }

    /// Pages and links in all: what makes one newer than another.
    pub fn size(&self) -> u64 {
        let links: u64 = self.links.values().map(|&links| u64::from(links)).sum();
        self.total() + links
    }

    /// The heaviest names only, at most so many of each; how many were left out.
    #[must_use]
    pub fn cut(&self, most: usize) -> (Self, usize) {
        let (pages, fewer) = heaviest(&self.pages, most);
        let (links, less) = heaviest(&self.links, most);
        (Self { pages, links }, fewer + less)
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
