//! DNS LOC records (RFC 1876).

use super::{Heuristic, Place};
use ground::Point;

/// The value that stands for the equator and for Greenwich.
const ORIGIN: f64 = 2_147_483_648.0;
/// Thousandths of an arc second in a degree.
const PER_DEGREE: f64 = 3_600_000.0;
const LENGTH: usize = 16;

/// The place in the data of a LOC record; none when it is not one of version 0.
pub fn parse_loc(rdata: &[u8]) -> Option<Place> {
    if rdata.len() != LENGTH || rdata[0] != 0 {
        return None;
    }
    let degrees = |at: usize| {
        let bytes = [rdata[at], rdata[at + 1], rdata[at + 2], rdata[at + 3]];
        (f64::from(u32::from_be_bytes(bytes)) - ORIGIN) / PER_DEGREE
    };
    Some(Place {
        heuristic: Heuristic::Loc,
        point: Point::new(degrees(4), degrees(8))?,
        city: None,
        country: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record of an example in RFC 1876: 42 21 54 N 71 06 18 W −24m 30m.
    fn example() -> Vec<u8> {
        let thousandths = |degrees: u32, minutes: u32, seconds: u32| {
            ((degrees * 60 + minutes) * 60 + seconds) * 1000
        };
        let mut rdata = vec![0, 0x33, 0x16, 0x13];
        rdata.extend((0x8000_0000 + thousandths(42, 21, 54)).to_be_bytes());
        rdata.extend((0x8000_0000 - thousandths(71, 6, 18)).to_be_bytes());
        rdata.extend(9_997_600_u32.to_be_bytes());
        rdata
    }

    #[test]
    fn the_example_of_the_standard() {
        let place = parse_loc(&example()).unwrap();
        assert!((place.point.latitude - 42.365).abs() < 1e-9);
        assert!((place.point.longitude + 71.105).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_loc_record_has_no_place() {
        assert_eq!(parse_loc(&[]), None);
        assert_eq!(parse_loc(&example()[..15]), None);
        let mut other = example();
        other[0] = 1;
        assert_eq!(parse_loc(&other), None);
        let mut nowhere = example();
        nowhere[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(parse_loc(&nowhere), None);
    }
}
