//! Numbers that would be swapped easily if they were bare.

/// The number of a page, in order of admission from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

/// The number of a host, in the order in which hosts were met, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

impl PageId {
    /// Its place in arrays over pages.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl HostId {
    /// Its place in arrays over hosts.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
