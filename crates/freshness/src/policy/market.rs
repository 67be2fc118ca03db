//! Shadow prices without a pass over the pages.
//!
//! What pages demand at a price depends on `λ/w` alone, up to a factor `λ`: page *i* takes
//! `λ·φ(price·λ/w)` visits. So pages are counted in narrow classes of `λ/w`, for each server, and
//! the prices of the whole budget and of the servers at their caps are found over the classes. A
//! page that comes, goes or changes its rate costs one addition.

use crate::ServerId;
use crate::allocate::demand::Demand;
use crate::allocate::fill::fill;

/// Classes per doubling of `λ/w`: nine percent wide, so that the error of taking all pages of a
/// class for its middle is below a thousandth.
const PER_OCTAVE: f64 = 8.0;

/// Visits per change, `φ`, that a page takes at a normalised price `ρ = price·λ/w`.
pub(super) trait Appetite: Sync {
    /// `φ(ρ)` and its derivative by `ln ρ`.
    fn visits_per_change(&self, normal_price: f64) -> (f64, f64);

    /// The normalised price from which on no visit is taken.
    fn reserve(&self) -> f64;
}

/// Prices of a visit: one for the budget, one for each server.
#[derive(Clone, Debug, Default)]
pub(super) struct Prices {
    pub global: f64,
    /// The global price, or more for a server at its cap.
    pub server: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    /// `⌊PER_OCTAVE·log2(λ/w)⌋`
    ratio: i16,
    pages: u32,
    /// The sum of the rates.
    changes: f32,
}

/// Demand by server and class.
#[derive(Clone, Debug, Default)]
pub(super) struct Market {
    servers: Vec<Vec<Class>>,
    /// Rates that came or went since prices were last found, and all rates.
    moved: f64,
    total: f64,
}

impl Market {
    pub fn new(servers: usize) -> Self {
        Self {
            servers: vec![Vec::new(); servers],
            ..Self::default()
        }
    }

    pub fn add_server(&mut self) {
        self.servers.push(Vec::new());
    }

    /// Counts a page in.
    pub fn add(&mut self, server: ServerId, rate: f64, weight: f64) {
        let Some(ratio) = class(rate, weight) else {
            return;
        };
        let classes = &mut self.servers[server.index()];
        match classes.binary_search_by_key(&ratio, |class| class.ratio) {
            Ok(k) => {
                classes[k].pages += 1;
                classes[k].changes += rate as f32;
            }
            Err(k) => classes.insert(
                k,
                Class {
                    ratio,
                    pages: 1,
                    changes: rate as f32,
                },
            ),
        }
        self.moved += rate;
        self.total += rate;
    }

    /// Counts a page out.
    pub fn remove(&mut self, server: ServerId, rate: f64, weight: f64) {
        let Some(ratio) = class(rate, weight) else {
            return;
        };
        let classes = &mut self.servers[server.index()];
        if let Ok(k) = classes.binary_search_by_key(&ratio, |class| class.ratio) {
            classes[k].pages -= 1;
            classes[k].changes -= rate as f32;
            if classes[k].pages == 0 {
                classes.remove(k);
            }
        }
        self.moved += rate;
        self.total -= rate;
    }

    /// Whether enough has come and gone for new prices.
    pub fn stirred(&self) -> bool {
        self.moved > 0.02 * self.total
    }

    /// Finds the prices at which all servers together take the budget, each within its cap.
    pub fn prices(&mut self, appetite: &impl Appetite, delay: &[f64], budget: f64) -> Prices {
        self.moved = 0.0;
        let cap = |delay: &f64| {
            if *delay > 0.0 {
                1.0 / delay
            } else {
                f64::INFINITY
            }
        };
        let mut caps: Vec<f64> = delay.iter().map(cap).collect();
        let mut offsets = vec![0];
        let mut classes = Vec::new();
        for server in &self.servers {
            classes.extend(server.iter().map(|class| Demanded::of(*class)));
            offsets.push(classes.len());
        }
        if caps.iter().all(|cap| cap.is_infinite()) {
            // nothing tells servers apart: the same classes of all servers are one
            classes = merged(classes);
            offsets = vec![0, classes.len()];
            caps = vec![f64::INFINITY];
        }
        let filling = fill(&Classes { classes, appetite }, &offsets, &caps, budget);
        let mut server = filling.server_price;
        server.resize(delay.len(), filling.price);
        Prices {
            global: filling.price,
            server,
        }
    }
}

/// The class of a page; none for one that never changes or counts for nothing.
fn class(rate: f64, weight: f64) -> Option<i16> {
    (rate > 0.0 && weight > 0.0).then(|| (PER_OCTAVE * (rate / weight).log2()).floor() as i16)
}

/// A class as the allocation sees it.
#[derive(Clone, Copy, Debug)]
struct Demanded {
    ratio: f64,
    changes: f64,
}

impl Demanded {
    fn of(class: Class) -> Self {
        Self {
            ratio: ((f64::from(class.ratio) + 0.5) / PER_OCTAVE).exp2(),
            changes: f64::from(class.changes).max(0.0),
        }
    }
}

fn merged(mut classes: Vec<Demanded>) -> Vec<Demanded> {
    classes.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    classes.dedup_by(|later, kept| {
        let same = later.ratio == kept.ratio;
        if same {
            kept.changes += later.changes;
        }
        same
    });
    classes
}

struct Classes<'a, A> {
    classes: Vec<Demanded>,
    appetite: &'a A,
}

impl<A: Appetite> Demand for Classes<'_, A> {
    fn visits(&self, position: usize, price: f64) -> (f64, f64) {
        let class = &self.classes[position];
        let (visits, slope) = self.appetite.visits_per_change(price * class.ratio);
        (class.changes * visits, class.changes * slope)
    }

    fn reserve(&self, position: usize) -> f64 {
        let class = &self.classes[position];
        if class.changes > 0.0 {
            self.appetite.reserve() / class.ratio
        } else {
            0.0
        }
    }
}
