//! What a crawl's own visits show of changes: each lies between two visits, and some are dated.

use super::findings::{Class, Concentration, Findings, Rates, Rhythm, of_classes};
use freshness::fit::{OF_WAITS, Visit, VisitedPage as Page, dated, fit_waits, rate_of};
use ground::quantity::DAY;
use serde::Serialize;
use std::collections::BTreeMap;

/// A change whose time is known to this many seconds has an hour of the day.
const WITHIN: f64 = 3600.0;

/// What kind of evidence visits are.
#[derive(Debug, Serialize)]
pub struct Watched {
    pub visits: usize,
    /// Pages that were visited less than twice tell nothing.
    pub once: usize,
    /// Changes that were dated by their server.
    pub dated: usize,
    /// Changes whose time is known to an hour, by a date or by visits: the rhythm is theirs.
    pub timed: usize,
}

impl Findings {
    /// Of the visits to all pages of a crawl; none where no visit found a change.
    pub fn watched(mut pages: Vec<Page>, least: usize) -> Option<Self> {
        for page in &mut pages {
            // a clock that was set back leaves no intervals
            page.visits.dedup_by(|now, before| now.at <= before.at);
        }
        let once = pages.iter().filter(|page| page.visits.len() < 2).count();
        let visits = pages.iter().map(|page| page.visits.len()).sum();
        pages.retain(|page| page.visits.len() > 1);
        let counts: Vec<usize> = pages.iter().map(|page| page.changes().count()).collect();
        let all = || pages.iter().flat_map(Page::changes);
        let changes = all().count();
        if changes == 0 {
            return None;
        }
        let timed: Vec<f64> = all()
            .filter_map(|(before, now)| timed(before, now))
            .collect();
        let first = pages.iter().map(|page| page.visits[0].at);
        let first = first.fold(f64::INFINITY, f64::min);
        let ends = pages.iter().filter_map(|page| page.visits.last());
        let last = ends.map(|visit| visit.at).fold(0.0, f64::max);
        let rates = pages.iter().filter_map(|page| rate_of(&page.waits(true)));
        let mut of_hosts: BTreeMap<_, usize> = BTreeMap::new();
        for (page, count) in pages.iter().zip(&counts) {
            *of_hosts.entry(page.host).or_default() += count;
        }
        let of_hosts: Vec<usize> = of_hosts.into_values().collect();
        let mut concentration = vec![Concentration::of("items", counts.clone())];
        if of_hosts.len() > 1 {
            concentration.push(Concentration::of("servers", of_hosts));
        }
        Some(Self {
            items: pages.len(),
            changing: counts.iter().filter(|&&count| count > 0).count(),
            changes,
            days: (last - first) / DAY,
            rates: Rates::of(rates.map(|rate| rate * DAY).collect()),
            // what is shorter than the time between two visits is not seen
            classes: of_classes(&counts, least, |own, from, below| {
                Class::fitted(own, (from, below), &OF_WAITS, |page| {
                    fit_waits(&pages[page].waits(false)).ok()
                })
            }),
            concentration,
            rhythm: Rhythm::of(&timed),
            watched: Some(Watched {
                visits,
                once,
                dated: all().filter(|&(a, b)| dated(a, b).is_some()).count(),
                timed: timed.len(),
            }),
        })
    }
}

/// When a change happened, where that is known to the hour.
fn timed(before: Visit, now: Visit) -> Option<f64> {
    let between = (now.at - before.at <= WITHIN).then(|| f64::midpoint(before.at, now.at));
    dated(before, now).or(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use freshness::fit::{Age, Wait};

    fn visit(at: f64, changed: bool, modified: Option<f64>) -> Visit {
        Visit {
            at,
            changed,
            modified,
        }
    }

    #[test]
    fn waits_lie_between_visits() {
        let visits = vec![
            visit(100.0, true, Some(40.0)),
            visit(110.0, false, None),
            visit(130.0, true, None),
            visit(150.0, true, Some(145.0)),
            visit(190.0, false, None),
        ];
        let page = Page { host: 0, visits };
        let wait = |age, from, to| Wait { age, from, to };
        let expected = vec![
            wait(Age::Known(60.0), 10.0, 30.0),
            wait(Age::Below(20.0), 0.0, 20.0),
            wait(Age::Known(5.0), 40.0, f64::INFINITY),
        ];
        assert_eq!(page.waits(false), expected);
    }

    #[test]
    fn dates_that_contradict_the_visits_are_not_believed() {
        let (before, late) = (visit(100.0, false, None), visit(120.0, true, Some(90.0)));
        assert_eq!(dated(before, late), None);
        assert_eq!(timed(before, late), Some(110.0));
        let page = Page {
            host: 0,
            visits: vec![before, late, visit(120.0, true, None)],
        };
        let found = Findings::watched(vec![page, Page::default()], 5).unwrap();
        let watched = found.watched.unwrap();
        assert_eq!((found.items, found.changes, watched.once), (1, 1, 1));
        assert_eq!((watched.dated, watched.timed), (0, 1));
    }

    #[test]
    fn without_a_change_nothing_can_be_said() {
        let visits = vec![visit(1.0, true, None), visit(2.0, false, None)];
        assert!(Findings::watched(vec![Page { host: 0, visits }], 5).is_none());
    }
}
