//! The Internet graph: the union of all routes, and shortest paths in it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A link between two vertices and how much RTT it adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// Milliseconds.
    pub weight_ms: f64,
}

/// The links of a route that starts at `source`: each hop that answered, with its RTT. A link
/// weighs the difference of its ends' RTTs, or 0 when that is negative. Over silent hops the
/// neighbours that answered are joined.
pub fn links_of(source: usize, hops: impl IntoIterator<Item = (usize, f64)>) -> Vec<Link> {
    let mut links = Vec::new();
    let (mut last, mut last_rtt) = (source, 0.0);
    for (vertex, rtt_ms) in hops {
        if vertex != last {
            links.push(Link {
                a: last,
                b: vertex,
                weight_ms: f64::max(rtt_ms - last_rtt, 0.0),
            });
        }
        (last, last_rtt) = (vertex, rtt_ms);
    }
    links
}

/// Vertices and weighted links, in compressed rows.
#[derive(Clone, Debug)]
pub struct Graph {
    start: Vec<usize>,
    neighbours: Vec<(usize, f64)>,
}

impl Graph {
    /// The union of links over that many vertices; of a link seen several times the median is kept.
    pub fn new(vertices: usize, links: &[Link]) -> Self {
        let mut seen: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for link in links {
            let ends = (link.a.min(link.b), link.a.max(link.b));
            seen.entry(ends).or_default().push(link.weight_ms);
        }
        let mut degree = vec![0; vertices];
        for &(a, b) in seen.keys() {
            degree[a] += 1;
            degree[b] += 1;
        }
        let mut start = vec![0; vertices + 1];
        for v in 0..vertices {
            start[v + 1] = start[v] + degree[v];
        }
        let mut free = start.clone();
        let mut neighbours = vec![(0, 0.0); start[vertices]];
        for ((a, b), weights) in seen {
            let weight = median(weights);
            for (from, to) in [(a, b), (b, a)] {
                neighbours[free[from]] = (to, weight);
                free[from] += 1;
            }
        }
        Self { start, neighbours }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.start.len() - 1
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The neighbours of a vertex and the weights of the links to them.
    pub fn neighbours(&self, vertex: usize) -> &[(usize, f64)] {
        &self.neighbours[self.start[vertex]..self.start[vertex + 1]]
    }

    /// Milliseconds from a vertex to every other along the shortest path; infinite where there is
    /// none.
    pub fn distances_from(&self, source: usize) -> Vec<f64> {
        let mut distance = vec![f64::INFINITY; self.vertices()];
        distance[source] = 0.0;
        // times are not negative, so their bits order as they do
        let mut queue = BinaryHeap::from([(Reverse(0_u64), source)]);
        while let Some((Reverse(bits), vertex)) = queue.pop() {
            let so_far = f64::from_bits(bits);
            if so_far > distance[vertex] {
                continue;
            }
            for &(next, weight) in self.neighbours(vertex) {
                let there = so_far + weight;
                if there < distance[next] {
                    distance[next] = there;
                    queue.push((Reverse(there.to_bits()), next));
                }
            }
        }
        distance
    }
}

/// The middle value; between two, their mean.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn negative_differences_become_zero_and_silence_is_bridged() {
        let links = links_of(0, [(1, 5.0), (2, 4.0), (4, 30.0)]);
        let expected = [(0, 1, 5.0), (1, 2, 0.0), (2, 4, 26.0)];
        let found: Vec<_> = links.iter().map(|l| (l.a, l.b, l.weight_ms)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn routes_share_segments() {
        // two robots (0, 1), a router (2) near both, two servers (3, 4): 1 never traced 4
        let mut links = links_of(0, [(2, 10.0), (3, 40.0)]);
        links.extend(links_of(0, [(2, 12.0), (4, 92.0)]));
        links.extend(links_of(1, [(2, 1.0), (3, 31.0)]));
        let graph = Graph::new(5, &links);
        assert_eq!((graph.vertices(), graph.links()), (5, 4));
        let from = graph.distances_from(1);
        assert_eq!(from[4], 81.0);
        assert_eq!(from[3], 31.0);
        assert_eq!(from[0], 12.0);
    }

    proptest! {
        #[test]
        fn distances_keep_the_triangle_inequality_and_are_symmetric(
            links in prop::collection::vec((0_usize..12, 0_usize..12, 0.0..100.0), 1..40),
        ) {
            let links: Vec<Link> = links
                .into_iter()
                .filter(|(a, b, _)| a != b)
                .map(|(a, b, weight_ms)| Link { a, b, weight_ms })
                .collect();
            let graph = Graph::new(12, &links);
            let all: Vec<Vec<f64>> = (0..12).map(|v| graph.distances_from(v)).collect();
            for a in 0..12 {
                for b in 0..12 {
                    let (there, back) = (all[a][b], all[b][a]);
                    prop_assert!(there == back || (there - back).abs() < 1e-9);
                    for c in 0..12 {
                        prop_assert!(all[a][c] <= all[a][b] + all[b][c] + 1e-9);
                    }
                }
            }
        }
    }
}
