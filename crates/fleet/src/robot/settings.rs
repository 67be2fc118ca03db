//! What a robot has to be told.

use crate::division::Terms;
use crate::identity::{GroupId, Millis, RobotId};
use crate::lease::Term;

/// Of one robot; all but the first three are the fleet's.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who.
    pub robot: RobotId,
    /// In units of an average robot.
    pub capacity: u32,
    /// The groups above it, the fleet first.
    pub path: Vec<GroupId>,
    /// Of session leases.
    pub term: Term,
    /// Between two polls of all keys.
    pub poll: Millis,
    /// The longest interval that any server is left alone between two requests.
    pub interval: Millis,
    /// No request lasts longer.
    pub longest: Millis,
    /// Entries without a receipt are sent again after this.
    pub resend: Millis,
    /// Of what is for others and waits for long no more than so much is kept in memory; of the rest, where it is.
    pub custody: usize,
    /// A name that has no server so many times is given up, with the URLs that wait for it.
    pub lookups: u8,
    /// Most bytes in a piece of a package.
    pub piece: usize,
    /// Most places in the sent cache, 16 bytes each; it has as many as it needs up to that.
    pub sent_cache: usize,
    /// Requests of the whole fleet in each `window`; nothing if there is no limit.
    pub budget: Option<u32>,
    /// The span of time for which the budget counts.
    pub window: Millis,
    /// When groups are divided by their links; by the ring alone if nothing is said.
    pub division: Option<Terms>,
    /// Entries of the log after which a snapshot is made; never if nothing is said.
    pub snapshot: Option<u64>,
    /// Between two times that partitioners are told what was read.
    pub observe: Millis,
}

impl Settings {
    /// The fleet's usual values.
    pub fn new(robot: RobotId, path: Vec<GroupId>) -> Self {
        Self {
            robot,
            capacity: 1,
            path,
            // a killed leader of the engine stops renewals for up to ten seconds
            term: Term {
                lasts: 30_000,
                margin: 1_000,
            },
            poll: 5_000,
            interval: 15_000,
            longest: 10_000,
            resend: 20_000,
            custody: 4_096,
            lookups: 3,
            piece: 16 << 20,
            sent_cache: 1 << 25,
            budget: None,
            // a clock may be one per cent fast
            window: 10_200,
            division: Some(Terms::default()),
            snapshot: Some(20_000),
            observe: 30_000,
        }
    }
}
