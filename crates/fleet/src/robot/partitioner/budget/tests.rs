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
        assert!(given <= total.min(wanted), "{given} of {total}");
        assert!(given + 1 >= total.min(wanted), "{given} of {total}");
    }
}
