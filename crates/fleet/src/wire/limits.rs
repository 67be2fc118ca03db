//! What a peer may send: a message that can be read is not yet one that makes sense. A peer is not
//! trusted, so sizes that no honest robot reaches are refused before anybody acts on them.

use super::{WireError, decode};
use crate::counts::{Counts, MOST_ROBOTS, SAMPLES};
use crate::key::{Key, Value, What};
use crate::parcel::{Cargo, Message, Parcel};

/// Most bytes of a message in a stream.
pub const MESSAGE: usize = 4 << 20;
/// Most bytes under a key.
pub const VALUE: usize = 1 << 20;
/// Most entries of a batch, and of a receipt.
pub const ENTRIES: usize = 4_096;
/// Robots of version 0.2 refuse more, so that no more are sent.
pub const SENT_ENTRIES: usize = 1_024;
/// Most pieces of a package.
pub const PIECES: u32 = 1 << 16;
/// Most members of a group.
pub const MEMBERS: usize = 4_096;
/// Most names of a server, and most that it links to, in what a partitioner is told.
pub const NAMES: usize = 1_024;
/// No tree is deeper.
pub const LEVELS: usize = 16;
/// The longest host name in DNS.
const NAME: usize = 253;
/// The longest URL.
const URL: usize = 8_192;
/// The longest answer to an errand.
pub const ANSWER: usize = 256 << 10;

/// Reads a message of a stream.
pub fn message(bytes: &[u8]) -> Result<Message, WireError> {
    within("bytes of a message", bytes.len(), MESSAGE)?;
    let message: Message = decode(bytes)?;
    match &message {
        Message::Batch(batch) => {
            within("entries", batch.entries.len(), ENTRIES)?;
            for (_, cargo) in &batch.entries {
                match cargo {
                    Cargo::Url(url) => parcel(url)?,
                    Cargo::Moved(notice) => {
                        within("pieces", notice.pieces as usize, PIECES as usize)?;
                    }
                    Cargo::Seen(observations) => {
                        for observation in observations {
                            counts(&observation.counts)?;
                        }
                    }
                }
            }
        }
        Message::Receipt(receipt) => {
            within("entries", receipt.entries.len(), ENTRIES)?;
            within("bindings", receipt.bindings.len(), ENTRIES)?;
            for (name, _) in &receipt.bindings {
                text("name", name, NAME)?;
            }
        }
    }
    Ok(message)
}

/// Reads what is under a key; it must be of the kind that the key is for.
pub fn value(key: Key, bytes: &[u8]) -> Result<Value, WireError> {
    within("bytes of a value", bytes.len(), VALUE)?;
    let value: Value = decode(bytes)?;
    let fits = match (&value, key.what) {
        (Value::Plan(plan), What::Plan) => plan.group == key.group,
        (Value::Lease(lease), What::Lease(robot)) => lease.session.robot == robot,
        (Value::Grant(_), What::Grant)
        | (Value::Summary(_), What::Summary(_))
        | (Value::Charter(_), What::Charter)
        | (Value::Quiet(_), What::Quiet) => true,
        _ => false,
    };
    if !fits {
        return Err(WireError::OtherKey);
    }
    match &value {
        Value::Plan(plan) => {
            within("members", plan.seats.len(), MEMBERS)?;
            within("dead sessions", plan.dead.len(), MEMBERS)?;
        }
        Value::Grant(grant) => within("shares", grant.shares.len(), MEMBERS)?,
        Value::Summary(summary) => within("representatives", summary.representatives.len(), 64)?,
        Value::Lease(lease) => within("responses", lease.responses.len(), MEMBERS)?,
        Value::Charter(charter) => {
            within("groups", charter.groups.len(), MEMBERS)?;
            within("filters", charter.filters.len(), MEMBERS)?;
        }
        Value::Quiet(_) => {}
    }
    Ok(value)
}

fn counts(counts: &Counts) -> Result<(), WireError> {
    within("names", counts.pages.len(), NAMES)?;
    within("names", counts.links.len(), NAMES)?;
    within("robots", counts.delays.len(), MOST_ROBOTS)?;
    for delay in counts.delays.values() {
        within("samples", delay.newest.len(), SAMPLES)?;
        within("groups", delay.path.len(), LEVELS)?;
    }
    let names = counts.pages.keys().chain(counts.links.keys());
    names
        .into_iter()
        .try_for_each(|name| text("name", name, NAME))
}

fn parcel(parcel: &Parcel) -> Result<(), WireError> {
    text("name", &parcel.name, NAME)?;
    text("URL", &parcel.url, URL)?;
    if let Some(referrer) = &parcel.referrer {
        text("referrer", referrer, URL)?;
    }
    if let Some(errand) = &parcel.errand {
        text("host of a robots.txt", &errand.of, URL)?;
        let answer = errand.answer.as_ref().map_or(0, |answer| answer.len());
        within("bytes of an answer", answer, ANSWER)?;
    }
    Ok(())
}

fn text(what: &'static str, text: &str, most: usize) -> Result<(), WireError> {
    within(what, text.len(), most)?;
    // most are plain, and that is quickly seen
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if text.is_empty() || !is_plain && text.contains(char::is_control) {
        return Err(WireError::Text);
    }
    Ok(())
}

fn within(what: &'static str, value: usize, most: usize) -> Result<(), WireError> {
    if value > most {
        return Err(WireError::TooMany { what, value, most });
    }
    Ok(())
}
