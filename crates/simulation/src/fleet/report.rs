//! What a run comes to.

use fleet::identity::Millis;

/// Figures of a run that ended well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Virtual milliseconds until every page was found.
    pub took: Millis,
    /// Steps of the world.
    pub steps: u64,
    /// Pages of the web.
    pub pages: u64,
    /// Requests.
    pub requests: u64,
    /// Requests for pages that had all their visits already.
    pub again: u64,
    /// Requests written after a pause between the gate and the bytes, without a lease.
    pub late: u64,
    /// Pauses at the gate.
    pub pauses_at_gate: u64,
    /// URLs in published batches, those passed on and sent again among them.
    pub entries: u64,
    /// Distinct pairs of a robot and a URL for another robot.
    pub pairs: u64,
    /// The most hops of an entry.
    pub most_hops: u8,
    /// URLs that were passed on by a robot that knew better than their sender.
    pub passed_on: u64,
    /// Appends that were refused because the session was over.
    pub appends_refused: u64,
    /// Units handed over in order.
    pub handed: u64,
    /// Sessions that were evicted.
    pub evicted: u64,
    /// Messages published.
    pub messages: u64,
    /// Publications that found a stream full.
    pub refused: u64,
    /// Times that a group was divided by its links.
    pub divisions: u64,
    /// Entries of logs that were cut behind snapshots.
    pub purged: u64,
    /// Commits that took the place of all before them, and the most that a disk had.
    pub checkpoints: u64,
    /// Logs that were begun anew, because the engine had forgotten more than could be told again.
    pub renumbered: u64,
    /// Entries in custody that were read from disk again.
    pub recalled: u64,
    /// See `checkpoints`.
    pub longest_disk: u64,
    /// Objects that were stored in the end.
    pub objects: u64,
    /// Writes of keys.
    pub swaps: u64,
    /// The longest lease, plan and summary.
    pub lease_bytes: u64,
    /// See `lease_bytes`.
    pub plan_bytes: u64,
    /// See `lease_bytes`.
    pub summary_bytes: u64,
}

/// A run that did not.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What to run again.
    pub seed: u64,
    /// Virtual time.
    pub at: Millis,
    /// Which rule.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
    /// Who held what when, the last part of it.
    pub story: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in &self.story {
            writeln!(f, "  {line}")?;
        }
        let seconds = self.at as f64 / 1_000.0;
        write!(
            f,
            "seed {} at {seconds:.3} s: {}: {}",
            self.seed, self.rule, self.what
        )
    }
}
