//! Ranges of addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses: `192.0.2.0/24`, `2001:db8::/32`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    first: IpAddr,
    length: u8,
}

impl Range {
    /// Whether the address is in the range; one of IPv4 written as IPv6 counts as IPv4.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => self.network_v4(address) == first,
            (IpAddr::V6(first), IpAddr::V6(address)) => self.network_v6(address) == first,
            _ => false,
        }
    }

    fn network_v4(self, address: Ipv4Addr) -> Ipv4Addr {
        let mask = u32::MAX
            .checked_shl(32 - u32::from(self.length))
            .unwrap_or(0);
        Ipv4Addr::from_bits(address.to_bits() & mask)
    }

    fn network_v6(self, address: Ipv6Addr) -> Ipv6Addr {
        let mask = u128::MAX
            .checked_shl(128 - u32::from(self.length))
            .unwrap_or(0);
        Ipv6Addr::from_bits(address.to_bits() & mask)
    }
}

impl FromStr for Range {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), str::parse).map_err(|_| ())?;
        if length > most {
            return Err(());
        }
        let range = Self {
            first: address,
            length,
        };
        let first = match address {
            IpAddr::V4(v4) => range.network_v4(v4).into(),
            IpAddr::V6(v6) => range.network_v6(v6).into(),
        };
        Ok(Self { first, length })
    }
}
