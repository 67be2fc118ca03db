//! How long beliefs are trusted on a server that has made few rounds, while others have made many.

use super::*;

/// A quick server of 200 pages has made thirty rounds when one at its cap has made three of its own. Half of that one's pages change
/// too often to be worth a visit, but nobody has watched them for long.
#[test]
fn no_page_is_left_alone_for_longer_than_it_was_watched_and_a_round() {
    let (quick, slow) = (200, 20);
    let mut rate = vec![0.2; quick + slow];
    rate[quick..quick + slow / 2].fill(50.0);
    let repository = Repository {
        weight: vec![1.0; quick + slow],
        server: [vec![0; quick], vec![1; slow]].concat(),
        delay: vec![0.001, 1.0],
        budget: 110.0,
        rate,
    };
    let setup = Setup {
        knowledge: Knowledge::Online { guess: 1.0 },
        ..repository.setup(1)
    };
    let until = 60.0;
    let mut policy = build("default", &setup).unwrap();
    let limits = Limits {
        most_interval: 1e6,
        ..Limits::NONE
    };
    assert!(policy.set_limits(0, limits));
    let visits = drive(policy.as_mut(), &repository, until, true);
    let round = slow as f64 * repository.delay[1];
    for (page, visits) in visits.iter().enumerate().skip(quick) {
        let (first, last) = (visits[0], *visits.last().unwrap());
        let due = policy.due(PageId(page as u32)).unwrap();
        let most = round + (last - first);
        assert!(
            due - last <= most * (1.0 + 1e-6),
            "page {page}, watched for {} and due {} after its last visit",
            last - first,
            due - last
        );
    }
}
