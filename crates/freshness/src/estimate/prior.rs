//! What is believed of a page before it is observed, learnt from the other pages of its host.

mod counted;
mod mean;
mod moments;

pub use mean::MeanRate;
pub use moments::HostPrior;

/// A gamma distribution of rates: as if `alpha` changes had been seen in `beta` units of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Shape: pseudo-changes. Positive.
    pub alpha: f64,
    /// Inverse scale: pseudo-exposure. Positive.
    pub beta: f64,
}

impl Prior {
    /// The mean rate.
    pub fn mean(self) -> f64 {
        self.alpha / self.beta
    }
}

#[cfg(test)]
mod tests;
