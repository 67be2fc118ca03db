use super::*;

fn hosts() -> Vec<String> {
    (0..20_000).map(|i| format!("www{i}.example.pt")).collect()
}

#[test]
fn shares_follow_capacities() {
    let capacities = [1.0, 2.0, 1.0];
    let shares = Shares::new(&capacities).unwrap();
    let ring = Ring::new(&capacities).unwrap();
    let mut counts = [[0; 3]; 2];
    for host in hosts() {
        counts[0][shares.of_host(&host) as usize] += 1;
        counts[1][ring.of_host(&host) as usize] += 1;
    }
    for (method, tolerance) in counts.iter().zip([0.03, 0.2]) {
        for (count, expected) in method.iter().zip([5_000.0, 10_000.0, 5_000.0]) {
            let ratio = f64::from(*count) / expected;
            assert!((ratio - 1.0).abs() < tolerance, "{counts:?}");
        }
    }
    assert!((shares.url_share(1) - 0.5).abs() < 1e-9);
    assert!((shares.url_cut() - (1.0 - 0.375)).abs() < 1e-9);
}

#[test]
fn the_ring_moves_only_what_it_must() {
    let before = Ring::with_identities(&[(7, 1.0), (8, 1.0), (9, 1.0)]).unwrap();
    let joined = Ring::with_identities(&[(7, 1.0), (8, 1.0), (9, 1.0), (1, 1.0)]).unwrap();
    let left = Ring::with_identities(&[(7, 1.0), (9, 1.0)]).unwrap();
    for host in hosts() {
        let old = before.of_host(&host);
        let new = joined.of_host(&host);
        assert!(new == old || new == 3);
        if old != 1 {
            assert_eq!(left.of_host(&host), old / 2);
        }
    }
}

#[test]
fn an_address_and_a_url_have_one_robot() {
    let shares = Shares::new(&[1.0; 5]).unwrap();
    let address: IpAddr = "193.136.7.9".parse().unwrap();
    assert_eq!(shares.of_address(address), shares.of_address(address));
    let urls: std::collections::HashSet<u32> = (0..100)
        .map(|i| shares.of_url(&format!("http://a.pt/{i}")))
        .collect();
    assert_eq!(urls.len(), 5);
    assert!(Shares::new(&[]).is_err());
    assert!(Ring::new(&[1.0, 0.0]).is_err());
}

#[test]
fn the_unit_of_capacities_is_free() {
    for unit in [1e-9, 0.01, 1.0, 1e3, 1e9] {
        let ring = Ring::new(&[unit, 3.0 * unit]).unwrap();
        let hosts = hosts();
        let second = hosts.iter().filter(|host| ring.of_host(host) == 1);
        let share = second.count() as f64 / hosts.len() as f64;
        assert!((share - 0.75).abs() < 0.1, "{unit}: {share}");
    }
}
