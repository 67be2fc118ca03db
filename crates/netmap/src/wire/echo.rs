//! The bytes of an ICMP echo: eight of header, a little ballast, the Internet checksum.

use std::net::IpAddr;

/// Which echo is ours among those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub identifier: u16,
    pub number: u16,
}

const HEADER: usize = 8;
/// As much as `ping` sends, so that no router treats it otherwise.
const BALLAST: usize = 56;

/// An echo request.
pub fn request(target: IpAddr, mark: Mark) -> Vec<u8> {
    let mut bytes = vec![0; HEADER + BALLAST];
    bytes[0] = request_type(target);
    bytes[4..6].copy_from_slice(&mark.identifier.to_be_bytes());
    bytes[6..8].copy_from_slice(&mark.number.to_be_bytes());
    // for IPv6 the system adds it, which knows the source address
    let sum = checksum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// Whether these bytes, as a socket gives them, are the reply to our request. Raw IPv4 sockets
/// give the IP header too; a ping socket has an identifier that the system chose.
pub fn is_reply(bytes: &[u8], target: IpAddr, mark: Mark, raw: bool) -> bool {
    let reply = match target {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) => 129,
    };
    let skip = match (raw, target, bytes.first()) {
        (true, IpAddr::V4(_), Some(first)) => usize::from(first & 0x0f) * 4,
        _ => 0,
    };
    is_echo(bytes, skip, reply, mark, raw)
}

/// Whether these bytes, quoted by an ICMP error, are our request.
pub fn is_quoted(bytes: &[u8], target: IpAddr, mark: Mark, raw: bool) -> bool {
    const IPV6_HEADER: usize = 40;
    let request = request_type(target);
    // raw IPv6 sockets quote from the IP header on
    is_echo(bytes, 0, request, mark, raw) || is_echo(bytes, IPV6_HEADER, request, mark, raw)
}

fn is_echo(bytes: &[u8], skip: usize, kind: u8, mark: Mark, raw: bool) -> bool {
    let Some(bytes) = bytes.get(skip..skip + HEADER) else {
        return false;
    };
    bytes[0] == kind
        && bytes[6..8] == mark.number.to_be_bytes()
        && (!raw || bytes[4..6] == mark.identifier.to_be_bytes())
}

fn request_type(target: IpAddr) -> u8 {
    match target {
        IpAddr::V4(_) => 8,
        IpAddr::V6(_) => 128,
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2);
    let mut sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |&low| u32::from(low)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_the_standard_example() {
        // RFC 1071, section 3
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&bytes), !0xddf2);
        let target = IpAddr::from([192, 0, 2, 1]);
        let mark = Mark {
            identifier: 7,
            number: 9,
        };
        // a message with its checksum in place sums to zero
        assert_eq!(checksum(&request(target, mark)), 0);
    }

    #[test]
    fn only_our_own_echo_counts() {
        let target = IpAddr::from([192, 0, 2, 1]);
        let mark = Mark {
            identifier: 0x1234,
            number: 5,
        };
        let mut bytes = vec![0x45; 20];
        bytes.extend(request(target, mark));
        bytes[20] = 0;
        assert!(is_reply(&bytes, target, mark, true));
        let other = Mark { number: 6, ..mark };
        assert!(!is_reply(&bytes, target, other, true));
        let foreign = Mark {
            identifier: 1,
            ..mark
        };
        assert!(!is_reply(&bytes, target, foreign, true));
        assert!(is_reply(&bytes[20..], target, foreign, false));
        assert!(!is_reply(&bytes[..24], target, mark, true));
        assert!(is_quoted(&request(target, mark), target, mark, true));
        assert!(!is_quoted(&request(target, mark), target, other, true));
    }
}
