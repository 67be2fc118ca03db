//! Shadow prices without a pass over the pages.
//!
//! A page takes a visit every `unit·D(price·/(w·unit))`, where `D` is the delay of its shape (see
//! `shape`) and `unit` its time scale. So what pages demand at a price depends on their shape and
//! on `w·unit` alone, up to a factor `1/unit`. Pages are counted in narrow classes of the two, for
//! each server, and the prices of the whole budget and of the servers at their caps are found over
//! the classes. A page that comes, goes or is seen in a new light costs one addition.

use super::shape::{Shape, Stake};
use crate::ServerId;
use crate::allocate::demand::Demand;
use crate::allocate::fill::fill;

/// Classes per doubling of `w·unit`: nine percent wide, and each is taken at its mean.
const PER_OCTAVE: f64 = 8.0;

/// Prices of a visit: one for the budget, one for each server.
#[derive(Clone, Debug, Default)]
pub(super) struct Prices {
    pub global: f64,
    /// The global price, or more for a server at its cap.
    pub server: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    shape: Shape,
    /// `⌊PER_OCTAVE·log2(w·unit)⌋`
    octave: i16,
    pages: u32,
    /// The sums over pages of `1/unit`, and of that divided by `w·unit`.
    speed: f64,
    ratio: f64,
}

/// Demand by server and class.
#[derive(Clone, Debug, Default)]
pub(super) struct Market {
    servers: Vec<Vec<Class>>,
    /// Pages that came, went or changed class since prices were last found, and all pages.
    moved: usize,
    total: usize,
}

impl Market {
    pub fn new(servers: usize) -> Self {
        Self {
            servers: vec![Vec::new(); servers],
            ..Self::default()
        }
    }

    /// How many moved since prices were last found, and as an earlier run knew it.
    pub fn moved(&self) -> usize {
        self.moved
    }

    pub fn set_moved(&mut self, moved: usize) {
        self.moved = moved;
    }

    pub fn add_server(&mut self) {
        self.servers.push(Vec::new());
    }

    /// Counts a page in.
    pub fn add(&mut self, server: ServerId, stake: Stake) {
        self.total += 1;
        self.moved += 1;
        self.count(server, stake, 1.0);
    }

    /// Counts a page in that was there before a restart.
    pub fn restore(&mut self, server: ServerId, stake: Stake) {
        self.total += 1;
        self.count(server, stake, 1.0);
    }

    /// Counts a page out.
    pub fn remove(&mut self, server: ServerId, stake: Stake) {
        self.total -= 1;
        self.moved += 1;
        self.count(server, stake, -1.0);
    }

    /// A page is seen in a new light.
    pub fn replace(&mut self, server: ServerId, before: Stake, after: Stake) {
        if before == after {
            return;
        }
        self.moved += usize::from(class(before) != class(after));
        self.count(server, before, -1.0);
        self.count(server, after, 1.0);
    }

    fn count(&mut self, server: ServerId, stake: Stake, sign: f64) {
        let Some(key) = class(stake) else { return };
        let speed = sign / stake.unit;
        let ratio = speed / (stake.weight * stake.unit);
        let classes = &mut self.servers[server.index()];
        match classes.binary_search_by_key(&key, |class| (class.shape, class.octave)) {
            Ok(k) => {
                let class = &mut classes[k];
                class.speed += speed;
                class.ratio += ratio;
                if sign > 0.0 {
                    class.pages += 1;
                } else {
                    class.pages -= 1;
                    if class.pages == 0 {
                        classes.remove(k);
                    }
                }
            }
            Err(k) => classes.insert(
                k,
                Class {
                    shape: key.0,
                    octave: key.1,
                    pages: 1,
                    speed,
                    ratio,
                },
            ),
        }
    }

    /// Whether enough has come and gone for new prices.
    pub fn stirred(&self) -> bool {
        self.moved * 50 > self.total
    }

    /// Finds the prices at which all servers together take the budget, each within its cap.
    pub fn prices(&mut self, delay: &[f64], budget: f64) -> Prices {
        self.moved = 0;
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
            classes.extend(server.iter().copied());
            offsets.push(classes.len());
        }
        if caps.iter().all(|cap| cap.is_infinite()) {
            // nothing tells servers apart: the same classes of all servers are one
            classes = merged(classes);
            offsets = vec![0, classes.len()];
            caps = vec![f64::INFINITY];
        }
        let filling = fill(&Classes(classes), &offsets, &caps, budget);
        let mut server = filling.server_price;
        server.resize(delay.len(), filling.price);
        Prices {
            global: filling.price,
            server,
        }
    }
}

/// The class of a page; none for one that never changes or counts for nothing.
fn class(stake: Stake) -> Option<(Shape, i16)> {
    let worth = stake.weight * stake.unit;
    (worth > 0.0 && worth.is_finite()).then(|| {
        let octave = (PER_OCTAVE * worth.log2()).floor() as i16;
        (stake.shape, octave)
    })
}

fn merged(mut classes: Vec<Class>) -> Vec<Class> {
    classes.sort_by_key(|class| (class.shape, class.octave));
    classes.dedup_by(|later, kept| {
        let same = later.shape == kept.shape && later.octave == kept.octave;
        if same {
            kept.speed += later.speed;
            kept.ratio += later.ratio;
        }
        same
    });
    classes
}

struct Classes(Vec<Class>);

impl Demand for Classes {
    fn visits(&self, position: usize, price: f64) -> (f64, f64) {
        let class = &self.0[position];
        let speed = class.speed;
        if speed <= 0.0 {
            return (0.0, 0.0);
        }
        let gain = price * class.ratio / speed;
        let (delay, slope) = class.shape.delay_and_slope(gain);
        if delay.is_finite() {
            (speed / delay, -speed * slope * gain / (delay * delay))
        } else {
            (0.0, 0.0)
        }
    }

    fn reserve(&self, position: usize) -> f64 {
        let class = &self.0[position];
        if class.speed > 0.0 && class.ratio > 0.0 {
            class.shape.reserve() * class.speed / class.ratio
        } else {
            0.0
        }
    }
}
