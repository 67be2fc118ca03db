use super::*;
use crate::identity::RobotId;

#[test]
fn shares_are_whole_and_never_more_than_there_is() {
    let demands: Vec<(Member, Curve)> = (1..12_u32)
        .map(|i| {
            let demand = Curve::of(|price| f64::from(i) / (1.0 + price));
            (Member::Robot(RobotId(i.into())), demand)
        })
        .collect();
    for total in [0, 1, 7, 50, 500, 5_000] {
        let shares = divide(total, &demands, 10.0);
        let given: u32 = shares.values().sum();
        let wanted: u32 = (1..12).map(|i| i * 10).sum();
        assert!(given <= total, "{given} of {total}");
        assert!(given + 1 >= total.min(wanted), "{given} of {total}");
        if total > wanted {
            // what nobody wants yet is for all alike
            assert!(given + 11 > total, "{given} of {total}");
            let more = |(at, share): (u32, &u32)| share - 10 * at;
            let more: Vec<u32> = (1..).zip(shares.values()).map(more).collect();
            assert!(
                more.iter().all(|&spare| spare.abs_diff(more[0]) <= 1),
                "{more:?}"
            );
        }
    }
}

#[test]
fn robots_that_have_nothing_yet_may_begin() {
    let nothing: Vec<(Member, Curve)> = (1..=3)
        .map(|i| (Member::Robot(RobotId(i)), Curve::default()))
        .collect();
    let shares = divide(500, &nothing, 10.0);
    assert!(shares.values().all(|&share| share == 166), "{shares:?}");
}
