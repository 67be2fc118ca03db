//! Pages brought together by server.

/// Pages in the order of their servers: server `s` holds the positions
/// `offsets[s]..offsets[s + 1]`.
pub(crate) struct Grouping {
    pub offsets: Vec<usize>,
    /// The page at each position; `None` when pages already stand in the order of their servers.
    order: Option<Vec<u32>>,
}

impl Grouping {
    pub fn new(server: &[u32], servers: usize) -> Self {
        let mut offsets = vec![0; servers + 1];
        for &s in server {
            offsets[s as usize + 1] += 1;
        }
        for s in 0..servers {
            offsets[s + 1] += offsets[s];
        }
        let order = (!server.is_sorted()).then(|| {
            let mut next = offsets.clone();
            let mut order = vec![0; server.len()];
            for (page, &s) in server.iter().enumerate() {
                order[next[s as usize]] = page as u32;
                next[s as usize] += 1;
            }
            order
        });
        Self { offsets, order }
    }

    /// The page at a position.
    pub fn page(&self, position: usize) -> usize {
        self.order
            .as_ref()
            .map_or(position, |order| order[position] as usize)
    }

    /// The values of pages, by position; `None` when they already are.
    pub fn gather(&self, values: &[f64]) -> Option<Vec<f64>> {
        let order = self.order.as_ref()?;
        Some(order.iter().map(|&page| values[page as usize]).collect())
    }

    /// Values by position, brought back to the order of pages.
    pub fn scatter(&self, values: Vec<f64>) -> Vec<f64> {
        let Some(order) = &self.order else {
            return values;
        };
        let mut scattered = vec![0.0; values.len()];
        for (&page, value) in order.iter().zip(values) {
            scattered[page as usize] = value;
        }
        scattered
    }
}
