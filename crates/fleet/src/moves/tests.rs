use super::*;
use crate::identity::RobotId;

#[test]
fn packages_survive_the_journey_and_damage_is_seen() {
    let unit = Unit::Server("192.0.2.1".parse().unwrap());
    let package = Package {
        unit,
        ages: Ages {
            last_request: Some(4_000),
            left_alone: 600_000,
        },
        records: vec![Record::Held(unit), Record::Row(unit, vec![7; 100].into())],
    };
    let from = Session {
        robot: RobotId(4),
        incarnation: 1,
    };
    let (notice, pieces) = package.cut(from, 9, 16);
    assert!(pieces.len() > 6 && pieces.iter().all(|piece| piece.len() <= 16));
    assert_eq!(Package::join(&notice, &pieces), Ok(package.clone()));
    assert_eq!(
        Package::join(&notice, &pieces[1..]),
        Err(PackageError::Digest)
    );
    let mut swapped = pieces;
    swapped.swap(0, 1);
    assert_eq!(Package::join(&notice, &swapped), Err(PackageError::Digest));
    // `Retry-After: 600` is kept, and so is what is left of the interval
    assert_eq!(package.ages.wait(15_000), 600_000);
    let asked = Ages {
        last_request: Some(4_000),
        left_alone: 0,
    };
    assert_eq!(asked.wait(15_000), 11_000);
    assert_eq!(Ages::default().wait(15_000), 0);
}
