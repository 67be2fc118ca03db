//! Size-constrained label propagation: which vertices to contract together.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::graph::{Load, Vertex};
use crate::refine::Instance;

/// What a clustering must respect.
pub struct Rules<'a> {
    /// The most a cluster may weigh.
    pub largest: Load,
    /// Vertices with different colours stay apart (blocks of earlier partitions).
    pub colours: Option<&'a [u32]>,
    /// Stop when this few clusters are left.
    pub enough: usize,
}

/// A cluster number for each vertex, not yet dense.
pub fn cluster(instance: Instance, rules: &Rules, rng: &mut Xoshiro256PlusPlus) -> Vec<Vertex> {
    let graph = instance.graph;
    let mut label: Vec<Vertex> = graph.vertices().collect();
    let mut loads: Vec<Load> = graph.vertices().map(|v| graph.load(v)).collect();
    let mut singleton = vec![true; graph.len()];
    let mut ratings = vec![0_u32; graph.len()];
    let mut rated: Vec<Vertex> = Vec::new();
    let mut clusters = graph.len();
    let mut order: Vec<Vertex> = graph.vertices().filter(|&v| instance.is_free(v)).collect();
    order.shuffle(rng);
    let same_colour =
        |a: Vertex, b: Vertex| rules.colours.is_none_or(|c| c[a as usize] == c[b as usize]);
    // whom a vertex would have joined, had there been room
    let mut favourite: Vec<Vertex> = graph.vertices().collect();
    for &v in &order {
        if !singleton[v as usize] {
            continue;
        }
        if clusters <= rules.enough {
            break;
        }
        for link in graph.links(v) {
            if instance.is_free(link.to) && same_colour(v, link.to) {
                let target = label[link.to as usize];
                if ratings[target as usize] == 0 {
                    rated.push(target);
                }
                ratings[target as usize] += link.weight;
            }
        }
        let load = graph.load(v);
        let mut best = (0.0, v);
        let mut wanted = (0, v);
        for target in rated.drain(..) {
            let weight = std::mem::take(&mut ratings[target as usize]);
            if weight > wanted.0 {
                wanted = (weight, target);
            }
            let together = loads[target as usize] + load;
            let rating = rate(weight, loads[target as usize]);
            if rating > best.0 && together.fits(&rules.largest) {
                best = (rating, target);
            }
        }
        favourite[v as usize] = wanted.1;
        let target = best.1;
        if target != v {
            label[v as usize] = target;
            loads[target as usize] += load;
            singleton[v as usize] = false;
            singleton[target as usize] = false;
            clusters -= 1;
        }
    }
    pair_the_rest(instance, rules, &favourite, &singleton, &mut label, &order);
    label
}

/// Heavy edges first, light clusters preferred: hubs must not swallow everything at once.
fn rate(weight: u32, cluster: Load) -> f64 {
    f64::from(weight) / (cluster.pages.max(1) as f64).sqrt()
}

/// Leaves of a full hub, and vertices without neighbours, are joined among themselves: without
/// this a power-law graph stops shrinking.
fn pair_the_rest(
    instance: Instance,
    rules: &Rules,
    favourite: &[Vertex],
    singleton: &[bool],
    label: &mut [Vertex],
    order: &[Vertex],
) {
    let graph = instance.graph;
    let mut lonely: Vec<(Vertex, u32, Vertex)> = order
        .iter()
        .filter(|&&v| singleton[v as usize])
        .map(|&v| {
            let shared = if graph.degree(v) == 0 {
                Vertex::MAX
            } else {
                favourite[v as usize]
            };
            (shared, rules.colours.map_or(0, |c| c[v as usize]), v)
        })
        .filter(|&(shared, _, v)| shared != v)
        .collect();
    // stable, so that equals keep their random order
    lonely.sort_by_key(|&(shared, colour, _)| (shared, colour));
    for siblings in lonely.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let mut open: Option<(Vertex, Load)> = None;
        for &(_, _, v) in siblings {
            let load = graph.load(v);
            match open {
                Some((leader, together)) if (together + load).fits(&rules.largest) => {
                    label[v as usize] = leader;
                    open = Some((leader, together + load));
                }
                _ => open = Some((v, load)),
            }
        }
    }
}
