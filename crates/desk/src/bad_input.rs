//! What the user gave and can mend, as opposed to what failed on the way.

use std::fmt;
use std::path::Path;

/// An input that cannot be used; the message says where it stands and what was expected.
#[derive(Debug)]
pub struct BadInput(pub String);

impl BadInput {
    /// Bad input on a line of a file.
    pub fn at(path: &Path, line: u64, reason: impl fmt::Display) -> Self {
        Self(format!("{}:{line}: {reason}", path.display()))
    }

    /// A file that is bad as a whole.
    pub fn file(path: &Path, reason: impl fmt::Display) -> Self {
        Self(format!("{}: {reason}", path.display()))
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}
