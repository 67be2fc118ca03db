//! Which robot each part goes to. Between the parts nothing changes when they change places, but what ties their
//! vertices to robots does; and where parts are full, no search that moves single vertices finds such a change.

use crate::graph::Load;
use crate::refine::{FREE, Instance};

/// Gives the parts, as they are, to the robots to which they are tied most together, within the limits.
pub fn rename(instance: Instance, part: &mut [u32]) {
    if instance.fixed.iter().all(|&part| part == FREE) {
        return;
    }
    let parts = instance.parts();
    let (ties, loads) = ties(instance, part);
    let fits = |from: usize, to: usize| {
        let (free, fixed) = (loads[from].0, loads[to].1);
        from == to || (free + fixed).fits(&instance.limits[to])
    };
    let weight = |from: usize, to: usize| fits(from, to).then_some(ties[from * parts + to]);
    let to = heaviest(parts, weight);
    let together = |to: &dyn Fn(usize) -> usize| -> u64 {
        (0..parts).map(|from| ties[from * parts + to(from)]).sum()
    };
    if together(&|from| to[from]) <= together(&|from| from) {
        return;
    }
    for v in instance.graph.vertices().filter(|&v| instance.is_free(v)) {
        let own = &mut part[v as usize];
        *own = to[*own as usize] as u32;
    }
}

/// How heavy the links are from the free vertices of each part to the fixed ones of each, and what both weigh.
fn ties(instance: Instance, part: &[u32]) -> (Vec<u64>, Vec<(Load, Load)>) {
    let parts = instance.parts();
    let mut ties = vec![0; parts * parts];
    let mut loads = vec![(Load::default(), Load::default()); parts];
    for v in instance.graph.vertices() {
        let own = part[v as usize] as usize;
        if !instance.is_free(v) {
            loads[own].1 += instance.graph.load(v);
            continue;
        }
        loads[own].0 += instance.graph.load(v);
        for link in instance.graph.links(v) {
            if !instance.is_free(link.to) {
                let robot = part[link.to as usize] as usize;
                ties[own * parts + robot] += u64::from(link.weight);
            }
        }
    }
    (ties, loads)
}

/// Pairs each of `count` rows with a column of its own, so that the weights are greatest together (the Hungarian
/// method, by shortest augmenting paths). Without a weight a pair is impossible; a row and the column of its number are not.
fn heaviest(count: usize, weight: impl Fn(usize, usize) -> Option<u64>) -> Vec<usize> {
    const IMPOSSIBLE: i128 = 1 << 80;
    let cost = |row, column| weight(row, column).map_or(IMPOSSIBLE, |weight| -i128::from(weight));
    // column `count` is where each search begins
    let mut row_of = vec![None; count + 1];
    let (mut of_row, mut of_column) = (vec![0_i128; count], vec![0_i128; count + 1]);
    for new in 0..count {
        row_of[count] = Some(new);
        let mut at = count;
        let mut seen = vec![false; count + 1];
        let mut least = vec![(i128::MAX, count); count];
        while let Some(row) = row_of[at] {
            seen[at] = true;
            let mut next = (i128::MAX, count);
            for column in (0..count).filter(|&column| !seen[column]) {
                let reduced = cost(row, column) - of_row[row] - of_column[column];
                least[column] = least[column].min((reduced, at));
                next = next.min((least[column].0, column));
            }
            let (step, to) = next;
            for column in 0..=count {
                if seen[column] {
                    of_row[row_of[column].expect("seen ones are taken")] += step;
                    of_column[column] -= step;
                } else if column < count {
                    least[column].0 -= step;
                }
            }
            at = to;
        }
        while at != count {
            let before = least[at].1;
            row_of[at] = row_of[before];
            at = before;
        }
    }
    let mut column_of = vec![0; count];
    for (column, row) in row_of[..count].iter().enumerate() {
        column_of[row.expect("as many rows as columns")] = column;
    }
    column_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::GraphBuilder;
    use proptest::prelude::*;

    fn best(count: usize, weights: &[Option<u64>], row: usize, free: u32) -> Option<u64> {
        if row == count {
            return Some(0);
        }
        let columns = (0..count).filter(|column| free >> column & 1 == 1);
        let all = columns.filter_map(|column| {
            Some(
                weights[row * count + column]?
                    + best(count, weights, row + 1, free & !(1 << column))?,
            )
        });
        all.max()
    }

    proptest! {
        #[test]
        fn no_other_pairs_weigh_more(
            count in 1_usize..7,
            weights in prop::collection::vec(prop::option::weighted(0.7, 0_u64..50), 49),
        ) {
            let mut weights = weights[..count * count].to_vec();
            (0..count).for_each(|row| weights[row * count + row] = weights[row * count + row].or(Some(0)));
            let found = heaviest(count, |row, column| weights[row * count + column]);
            let mut columns = found.clone();
            columns.sort_unstable();
            prop_assert_eq!(columns, (0..count).collect::<Vec<_>>());
            let sum: Option<u64> = (0..count).map(|row| weights[row * count + found[row]]).sum();
            prop_assert_eq!(sum, best(count, &weights, 0, (1 << count) - 1));
        }
    }

    #[test]
    fn full_parts_change_places() {
        // three hosts beside three robots, each at its neighbour's, and no room for two
        let mut builder = GraphBuilder::new(6);
        for host in 0..3 {
            builder.pages(host, 5).unwrap();
            builder.robot(3 + host).unwrap();
            builder.link(host, 3 + host, 9.0).unwrap();
            builder.link(host, 3 + (host + 1) % 3, 4.0).unwrap();
        }
        let graph = builder.build().unwrap();
        let room = |pages| Load {
            pages,
            ..graph.total_load()
        };
        let fixed = [FREE, FREE, FREE, 0, 1, 2];
        let mut part = vec![1, 2, 0, 0, 1, 2];
        let mut limits = vec![room(5); 3];
        let instance = Instance {
            graph: &graph,
            limits: &limits,
            fixed: &fixed,
        };
        rename(instance, &mut part);
        assert_eq!(part, [0, 1, 2, 0, 1, 2]);
        // where there is no room, what is there stays
        limits[0] = room(4);
        let mut part = vec![1, 2, 0, 0, 1, 2];
        let instance = Instance {
            graph: &graph,
            limits: &limits,
            fixed: &fixed,
        };
        rename(instance, &mut part);
        assert_eq!(part, [2, 1, 0, 0, 1, 2]);
    }
}
