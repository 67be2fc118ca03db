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

#[test]
fn robots_that_have_nothing_yet_may_begin() {
    let robot = |id| Member::Robot(RobotId(id));
    let mut demands: Vec<(Member, Curve)> = (1..=3).map(|i| (robot(i), Curve::default())).collect();
    let shares = divide(500, &demands, 10.0);
    assert!(shares.values().all(|&share| share == 166), "{shares:?}");
    // one that knows what it wants gets that, and leaves the rest
    demands[0].1 = Curve::of(|price| 10.0 / (1.0 + price));
    let shares = divide(500, &demands, 10.0);
    assert!(
        shares[&robot(1)].abs_diff(100) <= 1 && shares[&robot(2)] == 200,
        "{shares:?}"
    );
    // where everything is wanted a little is kept for them, but no more than there is
    demands[0].1 = Curve::of(|price| 1_000.0 / (1.0 + price));
    let shares = divide(500, &demands, 10.0);
    assert_eq!((shares[&robot(1)], shares[&robot(2)]), (484, 8));
    for total in 0..20 {
        let shares = divide(total, &demands, 10.0);
        assert!(shares.values().sum::<u32>() <= total, "{total}: {shares:?}");
        assert!(
            shares[&robot(2)] == u32::from(total >= 3),
            "{total}: {shares:?}"
        );
    }
}
