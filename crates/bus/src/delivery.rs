//! A message in the hands of its reader.

use fleet::parcel::Message;
use fleet::wire::WireError;
use tokio::sync::mpsc;

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
            number,
            to,
            acknowledged: false,
        }
    }

    /// It is dealt with. If the engine does not hear of it, it comes again.
    pub fn acknowledge(mut self) {
        self.acknowledged = true;
    }
}

impl Drop for Delivered {
    fn drop(&mut self) {
        // nobody listens if the reader has gone, and then it comes again
        let _ = self.to.send(if self.acknowledged {
            Verdict::Done(self.number)
        } else {
            Verdict::Dropped(self.number)
        });
    }
}
