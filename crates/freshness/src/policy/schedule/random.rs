//! RANDOM: each slot draws a page with probability in proportion to its frequency, in constant
//! time by the alias method.

use super::slots::Choice;
use crate::{PageId, ServerId};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A column of the alias table: `own` with probability `keep`, else `other`.
#[derive(Clone, Copy, Debug)]
struct Column {
    keep: f32,
    own: u32,
    other: u32,
    frequency: f32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Alias {
    servers: Vec<Vec<Column>>,
}

/// Vose's construction: columns below the mean are topped up by those above it.
fn build(columns: &mut [Column]) {
    let total: f64 = columns.iter().map(|c| f64::from(c.frequency)).sum();
    let unit = columns.len() as f64 / total;
    let mut level: Vec<f64> = columns
        .iter()
        .map(|c| f64::from(c.frequency) * unit)
        .collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..columns.len()).partition(|&k| level[k] < 1.0);
    while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
        columns[poor].keep = level[poor] as f32;
        columns[poor].other = columns[rich].own;
        level[rich] -= 1.0 - level[poor];
        if level[rich] < 1.0 {
            large.pop();
            small.push(rich);
        }
    }
    // rounding leaves columns that are full but for an epsilon
    for k in small.into_iter().chain(large) {
        columns[k].keep = 1.0;
    }
}

fn column(page: PageId, frequency: f64) -> Column {
    Column {
        keep: 1.0,
        own: page.0,
        other: page.0,
        frequency: frequency as f32,
    }
}

impl Choice for Alias {
    fn choose(&mut self, server: ServerId, rng: &mut Xoshiro256PlusPlus) -> Option<PageId> {
        let columns = &self.servers[server.index()];
        if columns.is_empty() {
            return None;
        }
        // one draw serves both: its whole part picks the column, its fraction the side
        let drawn = rng.random::<f64>() * columns.len() as f64;
        let column = &columns[drawn as usize];
        let own = drawn.fract() < f64::from(column.keep);
        Some(PageId(if own { column.own } else { column.other }))
    }

    fn replan(&mut self, pages: Vec<Vec<(PageId, f64)>>, _: &mut Xoshiro256PlusPlus) {
        for (columns, pages) in self.servers.iter_mut().zip(pages) {
            *columns = pages.into_iter().map(|(page, f)| column(page, f)).collect();
            build(columns);
        }
    }

    fn insert(
        &mut self,
        server: ServerId,
        page: PageId,
        frequency: f64,
        _: &mut Xoshiro256PlusPlus,
    ) {
        let columns = &mut self.servers[server.index()];
        columns.push(column(page, frequency));
        build(columns);
    }

    fn remove(&mut self, server: ServerId, page: PageId) -> f64 {
        let columns = &mut self.servers[server.index()];
        let Some(k) = columns.iter().position(|column| column.own == page.0) else {
            return 0.0;
        };
        let gone = columns.swap_remove(k);
        build(columns);
        f64::from(gone.frequency)
    }

    fn add_server(&mut self) {
        self.servers.push(Vec::new());
    }
}
