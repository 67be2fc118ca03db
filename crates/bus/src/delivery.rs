//! A message in the hands of its reader.

use std::time::Duration;

use fleet::parcel::Message;
use fleet::wire::WireError;
use tokio::sync::mpsc;

/// A message is held for so many times the wait for its acknowledgement; then another reader may try,
/// and this one has room for others.
pub(crate) const LONGEST: u32 = 20;
/// Before what was dropped comes again for the first time.
const AGAIN: Duration = Duration::from_secs(1);

/// How long a message stays away that was dropped: each time twice as long, and never longer than one of which nothing is heard.
pub(crate) fn away(times: u64, ack_wait: Duration) -> Duration {
    let doublings = times.saturating_sub(1).min(16) as u32;
    (AGAIN * (1 << doublings)).min(ack_wait)
}

/// What a reader gets.
#[derive(Debug)]
pub enum Arrival {
    /// A message.
    Message(Delivered),
    /// Something that is none. It is among the dead letters.
    Unreadable(WireError),
    /// A message that was delivered too often. It is among the dead letters.
    GivenUp,
}

/// A message that comes again, here or at another reader, if it is dropped or held too long
/// without [`Self::acknowledge`].
#[derive(Debug)]
pub struct Delivered {
    /// Itself.
    pub message: Message,
    /// The how many-th time it is delivered.
    pub times: u64,
    /// What it is acknowledged by.
    pub claim: Claim,
}

/// The reader's hold on a message.
#[derive(Debug)]
pub struct Claim {
    number: u64,
    /// To the task that holds the message for the engine.
    to: mpsc::UnboundedSender<Verdict>,
    acknowledged: bool,
}

/// What became of a delivery, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Done(u64),
    Dropped(u64),
}

impl Delivered {
    pub(crate) fn new(
        message: Message,
        times: u64,
        number: u64,
        to: mpsc::UnboundedSender<Verdict>,
    ) -> Self {
        Self {
            message,
            times,
            claim: Claim {
                number,
                to,
                acknowledged: false,
            },
        }
    }

    /// As [`Claim::acknowledge`].
    pub fn acknowledge(self) {
        self.claim.acknowledge();
    }
}

impl Claim {
    /// It is dealt with. If the engine does not hear of it, it comes again.
    pub fn acknowledge(mut self) {
        self.acknowledged = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // nobody listens if the reader has gone, and then it comes again
        let _ = self.to.send(if self.acknowledged {
            Verdict::Done(self.number)
        } else {
            Verdict::Dropped(self.number)
        });
    }
}
