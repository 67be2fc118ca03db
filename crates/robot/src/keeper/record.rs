//! What is known of all pages together, and of the crawl, as it is kept in the store: a line of
//! JSON, then what the policy learnt.

use super::{Keeper, RECORD_BYTES, RECORDS};
use crate::clock::{Now, Stood};
use crate::message::Write;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first line.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Head {
    /// Where the crawl's clock stood.
    clock: Stood,
    /// When the pass over all pages began that is not over yet.
    #[serde(default)]
    pass: Option<f64>,
    /// Links and bodies that were cut since the crawl began.
    #[serde(default)]
    cut: (u64, u64),
    /// Addresses and robots.txt files that could not be had since the crawl began, by cause: there is no
    /// visit in the log that would tell of them.
    #[serde(default)]
    of_hosts: Causes,
    /// Bytes received for what fits a rule that limits them.
    #[serde(default)]
    received: BTreeMap<String, u64>,
}

/// How often something failed, by cause.
pub(crate) type Causes = BTreeMap<u8, u64>;

/// The parts of a record; none if it is no record.
pub(super) fn unpack(record: &[u8]) -> Option<(Head, &[u8])> {
    let end = record.iter().position(|&byte| byte == b'\n')?;
    let head = serde_json::from_slice(&record[..end]).ok()?;
    Some((head, &record[end + 1..]))
}

/// Where the clock stood when the record was made.
pub fn clock_stood(record: &[u8]) -> Option<Stood> {
    unpack(record).map(|(head, _)| head.clock)
}

/// What the policy had learnt of all pages then.
pub fn policy_learnt(record: &[u8]) -> Option<&[u8]> {
    unpack(record).map(|(_, revisits)| revisits)
}

/// When the pass over all pages began that was not over then.
pub(super) fn unfinished_pass(record: &[u8]) -> Option<f64> {
    unpack(record).and_then(|(head, _)| head.pass)
}

/// Links and bodies that were cut up to then.
pub fn cut(record: &[u8]) -> (u64, u64) {
    unpack(record).map_or((0, 0), |(head, _)| head.cut)
}

/// What failed of hosts up to then, by cause.
pub(crate) fn failures_of_hosts(record: &[u8]) -> Causes {
    unpack(record).map_or_else(Causes::new, |(head, _)| head.of_hosts)
}

/// What was received up to then for what fits a rule that limits it.
pub(super) fn received(record: &[u8]) -> BTreeMap<String, u64> {
    unpack(record).map_or_else(BTreeMap::new, |(head, _)| head.received)
}

/// A record for a crawl that takes over what another's policy learnt.
pub(crate) fn taken_over(clock: Stood, learnt: &[u8]) -> Vec<u8> {
    let head = Head {
        clock,
        ..Head::default()
    };
    packed(&head, learnt)
}

fn packed(head: &Head, learnt: &[u8]) -> Vec<u8> {
    let mut record = serde_json::to_vec(head).expect("plain values");
    record.push(b'\n');
    record.extend(learnt);
    record
}

impl Keeper {
    /// Has it written down.
    pub(super) fn record(&mut self, now: Now) {
        self.learnt = false;
        let head = Head {
            clock: self.clock.stands(now),
            pass: self.pass.filter(|_| !self.is_quiet()),
            cut: (self.status.cut_links, self.status.cut_bodies),
            of_hosts: self.of_hosts.clone(),
            received: self.rules.overrides.quotas.received(),
        };
        let record = packed(&head, &self.revisits.learnt());
        self.next_record = now.at + RECORDS.max(record.len() as f64 / RECORD_BYTES);
        self.writes.push(Write::Learnt(record));
    }
}
