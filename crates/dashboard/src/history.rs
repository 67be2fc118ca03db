//! How the crawl went: figures over time, denser the nearer they are. A year takes a few thousand of them.

use robot::view::Status;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use storage::Time;

/// Milliseconds between two samples at least.
const CLOSEST: Time = 2_000;
/// Two neighbours of a sample are this share of its age apart, or it is left out.
const SHARE_OF_AGE: Time = 200;
/// Between two times that it is kept.
const KEEPING: Duration = Duration::from_mins(1);
/// No file of ours is longer.
const LONGEST: u64 = 4 << 20;
const HEAD: &str = "time_ms,freshness,low,high,requests,bytes,changes,fetched,known\n";

/// The figures of an instant; counts are those since the robot started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub at: Time,
    /// Freshness and its interval, if there are copies.
    pub freshness: Option<(f64, f64, f64)>,
    pub requests: u64,
    pub bytes: u64,
    pub changes: u64,
    pub fetched: u64,
    pub known: u64,
}

impl Sample {
    pub fn of(at: Time, status: &Status) -> Self {
        let interval = status.freshness_interval;
        let freshness = status.estimated_freshness;
        Self {
            at,
            freshness: freshness.map(|freshness| {
                let (low, high) = interval.unwrap_or((freshness, freshness));
                (freshness, low, high)
            }),
            requests: status.requests,
            bytes: status.bytes,
            changes: status.changes,
            fetched: status.pages_fetched,
            known: status.pages_known,
        }
    }

    fn line(&self) -> String {
        let freshness = self.freshness.map_or_else(
            || ",,".to_owned(),
            |(mean, low, high)| format!("{mean:.5},{low:.5},{high:.5}"),
        );
        let Self {
            at,
            requests,
            bytes,
            changes,
            fetched,
            known,
            ..
        } = self;
        format!("{at},{freshness},{requests},{bytes},{changes},{fetched},{known}\n")
    }

    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [at, mean, low, high, counts @ ..] = fields.as_slice() else {
            return None;
        };
        let share = |text: &str| {
            text.parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
        };
        let [requests, bytes, changes, fetched, known] = *counts else {
            return None;
        };
        Some(Self {
            at: at.parse().ok()?,
            freshness: if mean.is_empty() {
                None
            } else {
                Some((share(mean)?, share(low)?, share(high)?))
            },
            requests: requests.parse().ok()?,
            bytes: bytes.parse().ok()?,
            changes: changes.parse().ok()?,
            fetched: fetched.parse().ok()?,
            known: known.parse().ok()?,
        })
    }
}

/// All samples, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    samples: Vec<Sample>,
    file: Option<PathBuf>,
    kept: Option<Instant>,
}

impl History {
    /// Where it is kept with a crawl.
    pub fn file(data: &Path) -> PathBuf {
        data.join("dashboard-history.csv")
    }

    /// The one that was kept; kept in `file` from now on if that is given.
    pub fn open(kept: &Path, file: Option<PathBuf>) -> Self {
        let is_short = std::fs::metadata(kept).is_ok_and(|found| found.len() <= LONGEST);
        let text = is_short.then(|| std::fs::read_to_string(kept).ok());
        let text = text.flatten().unwrap_or_default();
        // a line that somebody meddled with is left out
        let mut samples: Vec<Sample> = text.lines().filter_map(Sample::read).collect();
        samples.sort_by_key(|sample| sample.at);
        Self {
            samples,
            file,
            kept: Some(Instant::now()),
        }
    }

    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Takes another one, if it is not too close to the last.
    pub fn take(&mut self, sample: Sample) {
        let last = self.samples.last().map(|last| last.at);
        if last.is_some_and(|last| (last..last + CLOSEST).contains(&sample.at)) {
            return;
        }
        // the clock was set back: what follows cannot be told apart
        self.samples.retain(|other| other.at < sample.at);
        self.samples.push(sample);
        self.thin(sample.at);
        if self.kept.is_none_or(|kept| kept.elapsed() >= KEEPING) {
            self.keep();
        }
    }

    /// Leaves out what is denser than its age deserves.
    fn thin(&mut self, now: Time) {
        let mut kept: Vec<Sample> = Vec::with_capacity(self.samples.len());
        let mut samples = std::mem::take(&mut self.samples).into_iter().peekable();
        while let Some(sample) = samples.next() {
            let needed = ((now - sample.at) / SHARE_OF_AGE).max(CLOSEST);
            let is_dense = (kept.last().zip(samples.peek()))
                .is_some_and(|(before, after)| after.at - before.at < needed);
            if !is_dense {
                kept.push(sample);
            }
        }
        self.samples = kept;
    }

    /// Writes it down, if it is to be kept: whole or as it was.
    pub fn keep(&mut self) {
        self.kept = Some(Instant::now());
        let Some(file) = &self.file else { return };
        let mut text = HEAD.to_owned();
        for sample in &self.samples {
            let _ = text.write_str(&sample.line());
        }
        let new = file.with_extension("new");
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, file));
        if let Err(error) = written {
            tracing::warn!(%error, "the dashboard's history cannot be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Time) -> Sample {
        Sample {
            at,
            freshness: (at % 3 != 0).then_some((0.5, 0.25, 0.75)),
            requests: at as u64,
            bytes: 1,
            changes: 2,
            fetched: 3,
            known: 4,
        }
    }

    #[test]
    fn a_long_time_takes_little_room_and_the_last_hour_is_dense() {
        let mut history = History::default();
        let day = 86_400_000;
        // a sample every ten seconds
        for at in (0..=day).step_by(10_000) {
            history.take(sample(at));
        }
        let samples = history.samples();
        assert!((500..4000).contains(&samples.len()), "{}", samples.len());
        assert_eq!((samples[0].at, samples.last().unwrap().at), (0, day));
        let recent = samples.iter().filter(|sample| day - sample.at < 1_800_000);
        assert!(recent.count() >= 170);
        for pair in samples.windows(2) {
            let age = day - pair[1].at;
            assert!(
                pair[1].at - pair[0].at <= (age / 50).max(20_000),
                "{pair:?}"
            );
        }
    }

    #[test]
    fn it_is_kept_and_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = History::file(directory.path());
        let mut history = History::open(&file, Some(file.clone()));
        for at in [0, 1_000, 5_000, 10_000] {
            history.take(sample(at));
        }
        history.keep();
        let again = History::open(&file, None);
        assert_eq!(again.samples(), [sample(0), sample(5_000), sample(10_000)]);
        std::fs::write(
            &file,
            "<script>\n1,2,3\n5000,,,,1,1,2,3,4\n9,7,0,0,1,1,1,1,1\n",
        )
        .unwrap();
        assert_eq!(History::open(&file, None).samples().len(), 1);
    }
}
