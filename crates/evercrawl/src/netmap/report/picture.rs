//! The map picture: what of the map has a place.

use anyhow::Result;
use ground::Point;
use netmap::picture::{Dot, Kind, Line, map};
use netmap::store::Store;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

/// Draws robots, hosts and routers, and the links of all routes. Hops without a place are passed
/// over: their neighbours are joined.
pub fn draw(store: &Store) -> Result<String> {
    let located = store.located()?;
    let place: HashMap<IpAddr, Point> = located
        .iter()
        .filter_map(|l| Some((l.address, l.places.first()?.point)))
        .collect();
    let robots: HashMap<String, Point> = store
        .sources()?
        .into_iter()
        .filter_map(|(name, point)| Some((name, point?)))
        .collect();
    let measurements = store.measurements(0.0)?;
    let routes = store.routes()?;
    let targets: BTreeSet<IpAddr> = measurements
        .iter()
        .map(|m| m.address)
        .chain(routes.iter().map(|route| route.target))
        .collect();
    let mut dots: Vec<Dot> = located
        .iter()
        .filter_map(|l| {
            Some(Dot {
                kind: if targets.contains(&l.address) {
                    Kind::Host
                } else {
                    Kind::Router
                },
                point: *place.get(&l.address)?,
                name: l.address.to_string(),
            })
        })
        .collect();
    dots.extend(robots.iter().map(|(name, &point)| Dot {
        kind: Kind::Robot,
        point,
        name: name.clone(),
    }));
    let mut lines = Vec::new();
    let mut traced = BTreeSet::new();
    for route in &routes {
        traced.insert((route.source.clone(), route.target));
        let mut last = robots.get(&route.source).map(|&point| (point, 0.0));
        for (address, rtt_ms) in &route.hops {
            let Some(&to) = place.get(address) else {
                continue;
            };
            if let Some((from, before)) = last {
                lines.push(Line {
                    from,
                    to,
                    rtt_ms: f64::max(rtt_ms - before, 0.0),
                });
            }
            last = Some((to, *rtt_ms));
        }
    }
    for m in &measurements {
        let ends = robots.get(&m.source).zip(place.get(&m.address));
        if let Some((&from, &to)) = ends
            && !traced.contains(&(m.source.clone(), m.address))
        {
            let rtt_ms = m.rtt_ms;
            lines.push(Line { from, to, rtt_ms });
        }
    }
    let count = |kind| dots.iter().filter(|dot| dot.kind == kind).count();
    let title = format!(
        "{} routes, {} hosts and {} routers seen by {} robots",
        routes.len(),
        count(Kind::Host),
        count(Kind::Router),
        count(Kind::Robot)
    );
    Ok(map(&title, &dots, &lines))
}
