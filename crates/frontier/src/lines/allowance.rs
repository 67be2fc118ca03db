//! How many requests per second politeness allows.
//!
//! A host allows one in its interval and response time. An address allows what its hosts allow, but
//! no more than one at a time: asking each of its hosts in turn.

/// No interval is taken for shorter: zero would promise endless visits.
const LEAST: f64 = 1e-4;

/// What one host adds to its address's sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Requests per second to the host.
    rate: f64,
    /// Seconds for which a request to the host keeps the address.
    gap: f64,
}

impl Part {
    /// `interval` of the host, `gap` of its address, both from the end of an answer that takes
    /// `response` seconds; `parallel` requests at a time.
    pub fn new(interval: f64, gap: f64, response: f64, parallel: u16) -> Self {
        let parallel = f64::from(parallel.max(1));
        Self {
            rate: parallel / (interval + response).max(LEAST),
            gap: (gap + response).max(LEAST) / parallel,
        }
    }
}

/// Hosts together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    hosts: u32,
    rate: f64,
    gap: f64,
}

impl Sum {
    pub fn add(&mut self, part: Part) {
        self.hosts += 1;
        self.rate += part.rate;
        self.gap += part.gap;
    }

    pub fn remove(&mut self, part: Part) {
        self.hosts -= 1;
        self.rate -= part.rate;
        self.gap -= part.gap;
        if self.hosts == 0 {
            *self = Self::default(); // sums drift
        }
    }

    /// Requests per second where the hosts share an address.
    pub fn in_turn(&self) -> f64 {
        let in_turn = f64::from(self.hosts) / self.gap.max(LEAST);
        self.rate.clamp(0.0, in_turn)
    }

    /// Requests per second where they do not.
    pub fn at_once(&self) -> f64 {
        self.rate.max(0.0)
    }
}
