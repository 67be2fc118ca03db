use proptest::prelude::*;

use super::*;
use crate::identity::{GroupId, Member, RobotId, Session};
use crate::parcel::{Batch, Cargo, Message, Origin, Parcel, Subject, To};
use crate::plan::Version;

fn message() -> Message {
    let mut parcel = Parcel::new("host.example".into(), "/path?q".into());
    parcel.server = Some("192.0.2.1".parse().unwrap());
    parcel.dated = Some(20_000);
    let reply = Subject {
        group: GroupId(1),
        to: To::Robot(RobotId(300)),
    };
    Message::Batch(Batch {
        origin: Origin {
            session: Session {
                robot: RobotId(300),
                incarnation: 2,
            },
            reply,
        },
        hops: 1,
        by: (GroupId(1), Version { number: 9, term: 2 }),
        entries: vec![(u64::MAX, Cargo::Url(parcel))],
    })
}

#[test]
fn what_is_written_is_read_back_and_nothing_else() {
    let bytes = encode(&message());
    assert_eq!(decode::<Message>(&bytes), Ok(message()));
    for cut in 0..bytes.len() {
        assert!(decode::<Message>(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(decode::<Message>(&longer), Err(WireError::Long(1)));
    let other = [&[FORMAT + 1], &bytes[1..]].concat();
    assert_eq!(
        decode::<Message>(&other),
        Err(WireError::Format(FORMAT + 1))
    );
    // a list that says to be long does not make anybody allocate
    let liar = [FORMAT, 0xff, 0xff, 0xff, 0x07];
    assert!(decode::<Vec<u64>>(&liar).is_err());
}

proptest! {
    #[test]
    fn garbage_is_refused_or_is_what_would_be_written(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let bytes = [&[FORMAT], &bytes[..]].concat();
        if let Ok(message) = decode::<Message>(&bytes) {
            prop_assert_eq!(encode(&message), bytes);
        }
    }

    #[test]
    fn numbers(value in any::<u64>(), robot in any::<u64>()) {
        let pair = (value, Member::Robot(RobotId(robot)));
        prop_assert_eq!(decode::<(u64, Member)>(&encode(&pair)), Ok(pair));
    }
}
