//! Downloads of each robot over time, in a bounded number of bins.

/// Bins at most; when time runs past them, neighbours are joined.
const BINS: usize = 128;

/// How many downloads ended in each bin of time, robot by robot.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Seconds a bin.
    pub width: f64,
    /// For each robot, its bins; all equally many.
    pub downloads: Vec<Vec<u32>>,
}

impl Timeline {
    /// Nothing yet, for so many robots.
    pub fn new(robots: usize) -> Self {
        Self {
            width: 1.0,
            downloads: vec![vec![0; BINS]; robots],
        }
    }

    /// Notes that `pages` downloads of a robot ended at a time.
    pub fn note(&mut self, robot: u32, seconds: f64, pages: u32) {
        while seconds >= self.width * BINS as f64 {
            self.width *= 2.0;
            for bins in &mut self.downloads {
                for bin in 0..BINS / 2 {
                    bins[bin] = bins[2 * bin] + bins[2 * bin + 1];
                }
                bins[BINS / 2..].fill(0);
            }
        }
        self.downloads[robot as usize][(seconds / self.width) as usize] += pages;
    }

    /// Leaves out the bins after the end.
    pub fn end(&mut self, seconds: f64) {
        let bins = (seconds / self.width) as usize + 1;
        for downloads in &mut self.downloads {
            downloads.truncate(bins);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_are_joined() {
        let mut timeline = Timeline::new(2);
        for second in 0..1000 {
            timeline.note(second % 2, f64::from(second), 1);
        }
        timeline.end(999.0);
        assert_eq!(timeline.width, 8.0);
        assert_eq!(timeline.downloads[0].len(), 125);
        assert!(timeline.downloads.iter().flatten().all(|&bin| bin == 4));
    }
}
