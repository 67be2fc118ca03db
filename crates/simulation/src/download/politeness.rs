//! How long a server is left alone after a download.

/// A rule for the interval between the end of a download and the next request to its server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Politeness {
    /// The same for all, in seconds.
    Fixed(f64),
    /// Large servers can take more: `td_max − (ln pages / ln pages_max)·(td_max − 1)`; the value
    /// is `td_max`, in seconds.
    Density(f64),
    /// So many times the duration of the download before.
    Latency(f64),
}

/// The rule by latency, as the robot has it by default.
pub const LATENCY: Politeness = Politeness::Latency(frontier::politeness::LATENCY_FACTOR);

impl Politeness {
    /// Seconds to wait after a download of `duration` seconds from a server of `pages` pages,
    /// when the largest has `largest`.
    pub fn interval(&self, pages: u64, largest: u64, duration: f64) -> f64 {
        match *self {
            Self::Fixed(seconds) => seconds,
            Self::Density(most) if largest < 2 => most,
            Self::Density(most) => {
                let share = (pages.max(1) as f64).ln() / (largest as f64).ln();
                most - share * (most - 1.0)
            }
            Self::Latency(factor) => factor * duration,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_server_waits_a_second_and_the_smallest_the_most() {
        let density = Politeness::Density(15.0);
        assert_eq!(density.interval(78_523, 78_523, 0.1), 1.0);
        assert_eq!(density.interval(1, 78_523, 0.1), 15.0);
        assert_eq!(density.interval(1, 1, 0.1), 15.0);
        assert!((density.interval(280, 78_400, 9.0) - 8.0).abs() < 1e-9);
        assert_eq!(LATENCY.interval(5, 9, 0.25), 2.5);
        assert_eq!(Politeness::Fixed(15.0).interval(5, 9, 0.25), 15.0);
    }

    /// They once did not: five times as long in the one, ten times in the other.
    #[test]
    fn robot_and_simulator_wait_as_long() {
        let rule = robot::config::Config::default().politeness.interval;
        for duration in [0.1, 0.25, 1.0, 7.5, 60.0] {
            let simulated = LATENCY.interval(5, 9, duration);
            assert_eq!(rule.seconds(5, duration), simulated, "after {duration} s");
        }
    }
}
