//! Address blocks, IPv4 and IPv6 alike.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The two address families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// 32 bits.
    V4,
    /// 128 bits.
    V6,
}

impl Family {
    /// Bits of an address.
    pub fn width(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

/// A CIDR block. Its bits stand at the top of a 128-bit word, whatever the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    family: Family,
    bits: u128,
    length: u8,
}

/// Why a text is no block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// Not `address/length`.
    #[error("“{0}” is not an address block such as 193.136.0.0/16")]
    Malformed(String),
    /// More bits than an address has.
    #[error("“{0}” has more bits than an address")]
    TooLong(String),
    /// Bits beyond the length.
    #[error("“{0}” has bits set beyond its length")]
    BitsBeyond(String),
}

/// The leftmost bits of an address and its family.
pub(super) fn key_of(address: IpAddr) -> (Family, u128) {
    match address {
        IpAddr::V4(v4) => (Family::V4, u128::from(v4.to_bits()) << 96),
        IpAddr::V6(v6) => (Family::V6, v6.to_bits()),
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl Prefix {
    /// The block of `length` bits that holds `address`, or nothing if it is too long.
    pub fn around(address: IpAddr, length: u8) -> Option<Self> {
        let (family, bits) = key_of(address);
        (length <= family.width()).then(|| Self::from_bits(family, bits, length))
    }

    /// One address alone.
    pub fn host(address: IpAddr) -> Self {
        let (family, bits) = key_of(address);
        Self::from_bits(family, bits, family.width())
    }

    pub(super) fn from_bits(family: Family, bits: u128, length: u8) -> Self {
        Self {
            family,
            bits: bits & mask(length),
            length,
        }
    }

    /// Its family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// How many bits are given.
    pub fn length(&self) -> u8 {
        self.length
    }

    pub(super) fn bits(&self) -> u128 {
        self.bits
    }

    /// The last key inside.
    pub(super) fn last_bits(&self) -> u128 {
        self.bits | !mask(self.length)
    }

    /// Whether `address` lies inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (family, bits) = key_of(address);
        family == self.family && bits & mask(self.length) == self.bits
    }

    /// The longest block that holds both.
    pub(super) fn common(&self, other: &Self) -> Self {
        let same = (self.bits ^ other.bits).leading_zeros() as u8;
        Self::from_bits(
            self.family,
            self.bits,
            same.min(self.length).min(other.length),
        )
    }

    /// The lower or the upper half.
    pub(super) fn half(&self, upper: bool) -> Self {
        let bit = u128::from(upper) << (127 - self.length);
        Self {
            family: self.family,
            bits: self.bits | bit,
            length: self.length + 1,
        }
    }

    /// The first address inside.
    pub fn address(&self) -> IpAddr {
        match self.family {
            Family::V4 => Ipv4Addr::from_bits((self.bits >> 96) as u32).into(),
            Family::V6 => Ipv6Addr::from_bits(self.bits).into(),
        }
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let malformed = || PrefixError::Malformed(text.to_owned());
        let (address, length) = text.split_once('/').ok_or_else(malformed)?;
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        let length: u8 = length.parse().map_err(|_| malformed())?;
        let prefix =
            Self::around(address, length).ok_or_else(|| PrefixError::TooLong(text.to_owned()))?;
        if prefix.address() != address {
            return Err(PrefixError::BitsBeyond(text.to_owned()));
        }
        Ok(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.length)
    }
}
