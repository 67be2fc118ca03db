//! The graph of clusters.

use crate::graph::{Graph, Link, Load, Vertex};
use crate::refine::{FREE, Instance};

/// A coarser graph and where each finer vertex went.
pub struct Contraction {
    pub graph: Graph,
    pub fixed: Vec<u32>,
    pub coarse_of: Vec<Vertex>,
}

impl Contraction {
    /// A partition of the coarser graph seen on the finer one.
    pub fn project(&self, part: &[u32]) -> Vec<u32> {
        self.coarse_of.iter().map(|&c| part[c as usize]).collect()
    }

    /// A property that is the same all over a cluster, seen on the coarser graph.
    pub fn lift(&self, fine: &[u32]) -> Vec<u32> {
        let mut coarse = vec![0; self.graph.len()];
        for (v, &c) in self.coarse_of.iter().enumerate() {
            coarse[c as usize] = fine[v];
        }
        coarse
    }
}

/// Contracts every cluster to one vertex; edges between two clusters are added up.
pub fn contract(instance: Instance, label: &[Vertex]) -> Contraction {
    let fine = instance.graph;
    let mut number = vec![Vertex::MAX; fine.len()];
    let mut count = 0;
    let coarse_of: Vec<Vertex> = label
        .iter()
        .map(|&cluster| {
            let n = &mut number[cluster as usize];
            if *n == Vertex::MAX {
                *n = count;
                count += 1;
            }
            *n
        })
        .collect();
    let coarse = count as usize;
    let mut members_end = vec![0_u32; coarse + 1];
    for &c in &coarse_of {
        members_end[c as usize + 1] += 1;
    }
    for c in 0..coarse {
        members_end[c + 1] += members_end[c];
    }
    let members_start = members_end.clone();
    let mut members = vec![0 as Vertex; fine.len()];
    for (v, &c) in coarse_of.iter().enumerate() {
        members[members_end[c as usize] as usize] = v as Vertex;
        members_end[c as usize] += 1;
    }
    let mut offsets = Vec::with_capacity(coarse + 1);
    let mut links: Vec<Link> = Vec::new();
    let mut loads = vec![Load::default(); coarse];
    let mut fixed = vec![FREE; coarse];
    // where the link to a cluster lies, when it is one of the current cluster's
    let mut seen_at = vec![0_u32; coarse];
    offsets.push(0);
    for c in 0..coarse {
        let first = links.len() as u32;
        for &v in &members[members_start[c] as usize..members_start[c + 1] as usize] {
            loads[c] += fine.load(v);
            fixed[c] = fixed[c].min(instance.fixed[v as usize]);
            for link in fine.links(v) {
                let to = coarse_of[link.to as usize];
                if to as usize == c {
                    continue;
                }
                let at = seen_at[to as usize];
                if at >= first && (at as usize) < links.len() && links[at as usize].to == to {
                    links[at as usize].weight += link.weight;
                } else {
                    seen_at[to as usize] = links.len() as u32;
                    links.push(Link {
                        to,
                        weight: link.weight,
                    });
                }
            }
        }
        offsets.push(links.len() as u32);
    }
    Contraction {
        graph: Graph::from_rows(offsets, links, loads, fine.unit()),
        fixed,
        coarse_of,
    }
}
