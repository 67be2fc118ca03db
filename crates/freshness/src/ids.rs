//! Dense indices of pages and servers. Names stay with whoever reads files or URLs.

/// A page, as an index into the arrays that describe the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub u32);

/// A server, as an index into the arrays that describe the repository's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(pub u32);

impl PageId {
    /// The position of this page in arrays over pages.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ServerId {
    /// The position of this server in arrays over servers.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
