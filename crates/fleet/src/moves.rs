//! Packages: all that is known of a unit, on its way to the next owner through the object store.
//! Times are ages, because the next owner has another clock.

use std::sync::Arc;

use partition::hash::stable_hash;

use crate::identity::{Millis, Session, Text, Unit};
use crate::record::Record;
use crate::wire::{WireError, decode, encode, wire_struct};

/// What politeness has to remember of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// Since the last request began; nothing if there was none.
    pub last_request: Option<Millis>,
    /// How much longer the server wants to be left alone (`Retry-After`).
    pub left_alone: Millis,
}
wire_struct!(Ages {
    last_request,
    left_alone
});

impl Ages {
    /// How long the next owner waits before its first request.
    pub fn wait(&self, interval: Millis) -> Millis {
        let rest = self
            .last_request
            .map_or(0, |age| interval.saturating_sub(age));
        rest.max(self.left_alone)
    }
}

/// A unit on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// Which.
    pub unit: Unit,
    /// Of its server.
    pub ages: Ages,
    /// Rows as the store writes them, or names and their servers.
    pub records: Vec<Record>,
}
wire_struct!(Package {
    unit,
    ages,
    records
});

/// Tells the next owner where the package is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which unit moves.
    pub unit: Unit,
    /// Who packed it.
    pub from: Session,
    /// The sender's number of the package.
    pub number: u64,
    /// How many pieces it has.
    pub pieces: u32,
    /// Of all pieces together.
    pub digest: u64,
}
wire_struct!(Notice {
    unit,
    from,
    number,
    pieces,
    digest
});

impl Notice {
    /// The name of a piece in the object store.
    pub fn piece(&self, index: u32) -> Text {
        let Session { robot, incarnation } = self.from;
        format!("package/{robot}.{incarnation}/{}/{index}", self.number).into()
    }

    /// The names of all pieces.
    pub fn all_pieces(&self) -> Vec<Text> {
        (0..self.pieces).map(|index| self.piece(index)).collect()
    }
}

/// Why a package cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    /// Pieces of something else, or damaged ones.
    #[error("the pieces are not those that the notice speaks of")]
    Digest,
    /// Not what it says.
    #[error("the package holds another unit")]
    OtherUnit,
    /// Not readable.
    #[error(transparent)]
    Wire(#[from] WireError),
}

impl Package {
    /// Cut into pieces of at most `most` bytes, with the notice for the next owner.
    pub fn cut(&self, from: Session, number: u64, most: usize) -> (Notice, Vec<Arc<[u8]>>) {
        let bytes = encode(self);
        let pieces: Vec<Arc<[u8]>> = bytes.chunks(most.max(1)).map(Into::into).collect();
        let notice = Notice {
            unit: self.unit,
            from,
            number,
            pieces: pieces.len() as u32,
            digest: stable_hash(&bytes),
        };
        (notice, pieces)
    }

    /// Put together again.
    pub fn join(notice: &Notice, pieces: &[Arc<[u8]>]) -> Result<Self, PackageError> {
        let bytes = pieces.concat();
        if pieces.len() != notice.pieces as usize || stable_hash(&bytes) != notice.digest {
            return Err(PackageError::Digest);
        }
        let package: Self = decode(&bytes)?;
        if package.unit == notice.unit {
            Ok(package)
        } else {
            Err(PackageError::OtherUnit)
        }
    }
}

#[cfg(test)]
mod tests;
