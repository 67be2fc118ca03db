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

/// A CIDR block, written `193.136.0.0/16`, or one address; bits beyond its
/// length do not matter. Its bits stand at the top of a 128-bit word, whatever the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    family: Family,
    bits: u128,
    length: u8,
}

/// Why a text is no block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// Neither an address nor `address/length`.
    #[error("'{0}' is not an address block such as 193.136.0.0/16")]
    Malformed(String),
    /// More bits than an address has.
    #[error("'{0}' has more bits than an address")]
    TooLong(String),
}

/// The leftmost bits of an address and its family.
pub fn key_of(address: IpAddr) -> (Family, u128) {
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

    /// The block of the first `length` of `bits`.
    pub fn from_bits(family: Family, bits: u128, length: u8) -> Self {
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

    /// Its bits, at the top of the word.
    pub fn bits(&self) -> u128 {
        self.bits
    }

    /// The last key inside.
    pub fn last_bits(&self) -> u128 {
        self.bits | !mask(self.length)
    }

    /// Whether `address` lies inside; one of IPv4 written as IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (family, bits) = key_of(address.to_canonical());
        family == self.family && bits & mask(self.length) == self.bits
    }

    /// The longest block that holds both.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let same = (self.bits ^ other.bits).leading_zeros() as u8;
        Self::from_bits(
            self.family,
            self.bits,
            same.min(self.length).min(other.length),
        )
    }

    /// The lower or the upper half.
    #[must_use]
    pub fn half(&self, upper: bool) -> Self {
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
        let shown = || text.chars().take(64).collect();
        let malformed = || PrefixError::Malformed(shown());
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        let Some(length) = length else {
            return Ok(Self::host(address));
        };
        let length: u8 = length.parse().map_err(|_| malformed())?;
        Self::around(address, length).ok_or_else(|| PrefixError::TooLong(shown()))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_read() {
        let check = |text: &str, block: &str| {
            let prefix: Prefix = text.parse().expect(text);
            assert_eq!(prefix.to_string(), block, "{text}");
        };
        check("10.0.0.0/8", "10.0.0.0/8");
        check("0.0.0.0/0", "0.0.0.0/0");
        check("fe80::/10", "fe80::/10");
        check("1.2.3.4/32", "1.2.3.4/32");
        check(" 127.0.0.1 ", "127.0.0.1/32");
        check("::1", "::1/128");
        // bits beyond the length do not matter
        check("10.1.2.3/8", "10.0.0.0/8");
        for bad in [
            "",
            "10/8",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "a/8",
            "::1/8/8",
        ] {
            assert!(bad.parse::<Prefix>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_block_holds_exactly_its_prefix(bits: u32, other: u32, length in 0u8..=32) {
            let (address, other) = (Ipv4Addr::from_bits(bits), Ipv4Addr::from_bits(other));
            let block = Prefix::around(address.into(), length).unwrap();
            let first = |address: Ipv4Addr| {
                let binary = format!("{:032b}", address.to_bits());
                binary[..usize::from(length)].to_owned()
            };
            let inside = first(address) == first(other);
            prop_assert_eq!(block.contains(other.into()), inside);
            prop_assert_eq!(block.contains(other.to_ipv6_mapped().into()), inside);
            prop_assert_eq!(block.to_string().parse(), Ok(block));
        }
    }
}
