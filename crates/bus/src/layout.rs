//! How large, how patient, how often: the engine's settings for a fleet.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet::identity::GroupId;

/// The same for all who share a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Copies of everything: 1 or 3.
    pub replicas: usize,
    /// Most bytes of a group's keys, with those of their past that are kept.
    pub key_bytes: u64,
    /// Most bytes that wait in a group's stream.
    pub queue_bytes: u64,
    /// Most messages that wait for one reader, so that one who is away leaves room for others.
    pub waiting: u64,
    /// A message that its reader neither acknowledges nor works on comes again after this.
    pub ack_wait: Duration,
    /// A message that was delivered so often without an end goes to the dead letters.
    pub deliveries: u64,
    /// Most messages that a reader may hold.
    pub in_flight: u64,
    /// Most bytes of all logs of a site.
    pub log_bytes: u64,
    /// Most bytes of all objects.
    pub object_bytes: u64,
    /// Most bytes of dead letters; the oldest give way.
    pub dead_bytes: u64,
    /// One attempt at anything.
    pub attempt: Duration,
    /// All attempts at a compare-and-set.
    pub patience: Duration,
    /// Groups whose streams are in a `JetStream` domain of their own.
    pub domains: BTreeMap<GroupId, String>,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            replicas: 3,
            key_bytes: 1 << 30,
            queue_bytes: 1 << 30,
            waiting: 10_000,
            ack_wait: Duration::from_secs(30),
            deliveries: 10,
            in_flight: 64,
            log_bytes: 16 << 30,
            object_bytes: 16 << 30,
            dead_bytes: 64 << 20,
            attempt: Duration::from_secs(2),
            patience: Duration::from_secs(6),
            domains: BTreeMap::new(),
        }
    }
}
