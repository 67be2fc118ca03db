//! Mistakes on purpose: the simulation proves by them that it can see. A robot gets one only by a
//! hidden constructor that nothing but the simulation calls; no configuration names them.

/// A mistake.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// Messages are acknowledged and receipted before what they brought is on disk.
    AcknowledgeBeforeCommit,
    /// A page's row goes into the log before its links are published.
    LogBeforeOutbox,
    /// After a take-over servers are asked at once.
    NoQuietTime,
    /// The ring knows members by position.
    PositionalRing,
    /// Links are routed by what the finder's own DNS says.
    OwnDns,
    /// A lease counts from the answer.
    LeaseFromReceipt,
    /// An older plan replaces a newer one.
    LowerVersion,
    /// The log is cut though the snapshot was never stored.
    PurgeBeforeStored,
    /// What cannot be dealt with is kept and never returned.
    KeepDeliveries,
    /// What cannot be published is waited for without end. Seen where streams are full only.
    NoWayOut,
}

impl Flaw {
    /// All that storms bring to light.
    pub const ALL: [Self; 9] = [
        Self::AcknowledgeBeforeCommit,
        Self::LogBeforeOutbox,
        Self::NoQuietTime,
        Self::PositionalRing,
        Self::OwnDns,
        Self::LeaseFromReceipt,
        Self::LowerVersion,
        Self::PurgeBeforeStored,
        Self::KeepDeliveries,
    ];
}
