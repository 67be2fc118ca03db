//! How fresh a run kept its copies, judged by what the pages truly did.

use std::collections::BTreeMap;

use fleet::identity::Millis;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::web::Page;

/// Copies that were up to date, as a share of all pages, on average from `from` to `to`. Each page
/// changes `rate` times a millisecond on average, at times that the seed decides.
pub fn freshness(
    pages: impl Iterator<Item = Page>,
    visits: &[(Millis, Page)],
    rate: f64,
    seed: u64,
    (from, to): (Millis, Millis),
) -> f64 {
    let mut seen: BTreeMap<Page, Vec<Millis>> = BTreeMap::new();
    for &(at, page) in visits {
        seen.entry(page).or_default().push(at);
    }
    let mut fresh = 0.0;
    let mut count = 0.0;
    for page in pages {
        let own = seed ^ (u64::from(page.host) << 16 | u64::from(page.number)) << 20;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(own);
        let mut changes = Vec::new();
        let mut at = 0.0;
        while at < to as f64 && rate > 0.0 {
            at += -(1.0 - rng.random::<f64>()).ln() / rate;
            changes.push(at as Millis);
        }
        let visits = seen.get(&page).map_or(&[][..], Vec::as_slice);
        fresh += up_to_date(visits, &changes, (from, to)) as f64;
        count += 1.0;
    }
    fresh / (count * (to - from) as f64)
}

/// Milliseconds in which the copy is as the page.
fn up_to_date(visits: &[Millis], changes: &[Millis], (from, to): (Millis, Millis)) -> Millis {
    let mut total = 0;
    for (number, &visit) in visits.iter().enumerate() {
        let next_visit = visits.get(number + 1).copied().unwrap_or(to);
        let changed = changes.partition_point(|&change| change <= visit);
        let next_change = changes.get(changed).copied().unwrap_or(to);
        let (begin, end) = (visit.max(from), next_visit.min(next_change).min(to));
        total += end.saturating_sub(begin);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_by_hand() {
        // seen at 10 and 50, changed at 20 and 30: fresh from 10 to 20 and from 50 on
        assert_eq!(up_to_date(&[10, 50], &[20, 30], (0, 100)), 60);
        assert_eq!(up_to_date(&[10, 50], &[20, 30], (15, 60)), 15);
        assert_eq!(up_to_date(&[], &[20], (0, 100)), 0);
        let page = Page { host: 1, number: 1 };
        let never = freshness([page].into_iter(), &[(0, page)], 0.0, 1, (0, 100));
        assert!((never - 1.0).abs() < 1e-12);
    }
}
