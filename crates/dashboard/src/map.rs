//! Map: servers where they are, by the map that `netmap` made; in the colours of their robots where there is a
//! fleet, by round-trip times otherwise.

use crate::fleet::watch::Watch;
use crate::fleet::{Fleet, mark};
use crate::frame::{self, Place, table};
use crate::routes::{Answer, Asked, Made, Trouble};
use crate::server::House;
use crate::words::{number, query, shown};
use ground::Point;
use hyper::StatusCode;
use maud::{Markup, PreEscaped, html};
use netmap::picture::{HEIGHT, WIDTH, earth, labels, project};
use netmap::store::Store;
use std::collections::{BTreeMap, HashMap};
use std::f64::consts::{FRAC_PI_2, TAU};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The file is read again after this.
const STALE: Duration = Duration::from_secs(30);
/// Answers of so many seconds make a round-trip time, as in `netmap`.
const WINDOW: f64 = 7.0 * 86_400.0;
/// Servers on a page of the table.
const SHOWN: usize = 100;
/// Round-trip times up to these milliseconds have a shade of their own: class and words.
const BANDS: [(f64, &str, &str); 4] = [
    (10.0, "near", "up to 10 ms"),
    (50.0, "middle", "up to 50 ms"),
    (150.0, "far", "up to 150 ms"),
    (f64::INFINITY, "farthest", "more than 150 ms"),
];

/// A server on the map.
#[derive(Clone, Debug)]
struct Spot {
    address: IpAddr,
    name: String,
    point: Option<Point>,
    place: String,
    /// Milliseconds from each robot that measured it.
    rtt: BTreeMap<String, f64>,
}

#[derive(Default)]
struct Read {
    spots: Vec<Spot>,
    /// Robots that have a place.
    robots: Vec<(String, Point)>,
}

/// A map file, and what it said.
pub(crate) struct Map {
    file: PathBuf,
    kept: Mutex<Option<(Instant, Arc<Read>)>>,
}

impl Map {
    pub fn new(file: PathBuf) -> Self {
        Self {
            file,
            kept: Mutex::new(None),
        }
    }

    fn read(&self) -> anyhow::Result<Arc<Read>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, read)) = &*kept
            && at.elapsed() < STALE
        {
            return Ok(read.clone());
        }
        let read = Arc::new(Read::of(&Store::open_read_only(&self.file)?)?);
        *kept = Some((Instant::now(), read.clone()));
        Ok(read)
    }
}

impl Read {
    fn of(store: &Store) -> anyhow::Result<Self> {
        let mut rtt: HashMap<IpAddr, BTreeMap<String, f64>> = HashMap::new();
        for measured in store.measurements(WINDOW)? {
            let of = rtt.entry(measured.address).or_default();
            of.insert(measured.source, measured.rtt_ms);
        }
        let targets = store.targets()?;
        let located = store.located()?.into_iter();
        let mut spots: Vec<Spot> = located
            .filter(|known| {
                rtt.contains_key(&known.address) || targets.contains_key(&known.address)
            })
            .map(|known| {
                let place = known.places.first();
                let words = place.map(|place| {
                    let parts = [&place.city, &place.country];
                    let parts: Vec<&str> =
                        parts.into_iter().flatten().map(String::as_str).collect();
                    parts.join(", ")
                });
                let called = targets.get(&known.address).and_then(|names| names.first());
                let name = called.or(known.names.first()).cloned();
                Spot {
                    address: known.address,
                    name: name.unwrap_or_default(),
                    point: place.map(|place| place.point),
                    place: words.unwrap_or_default(),
                    rtt: rtt.get(&known.address).cloned().unwrap_or_default(),
                }
            })
            .collect();
        spots.sort_by_key(|spot| spot.address);
        let robots = store.sources()?.into_iter();
        Ok(Self {
            spots,
            robots: robots.filter_map(|(name, at)| Some((name, at?))).collect(),
        })
    }
}

/// A server with its robot, where there is a fleet, and the time that counts.
struct Seen<'a> {
    spot: &'a Spot,
    robot: Option<String>,
    /// From its robot, or from the nearest that measured.
    rtt: Option<f64>,
}

fn seen<'a>(read: &'a Read, watch: Option<&Watch>) -> anyhow::Result<Vec<Seen<'a>>> {
    let owners = match watch {
        Some(watch) => {
            let addresses: Vec<IpAddr> = read.spots.iter().map(|spot| spot.address).collect();
            watch.owners(&addresses)?
        }
        None => vec![None; read.spots.len()],
    };
    let seen = read.spots.iter().zip(owners).map(|(spot, robot)| {
        let own = robot
            .as_ref()
            .and_then(|robot| spot.rtt.get(robot))
            .copied();
        let nearest = spot.rtt.values().copied().min_by(f64::total_cmp);
        Seen {
            spot,
            rtt: own.or(nearest),
            robot,
        }
    });
    Ok(seen.collect())
}

fn band(rtt: f64) -> usize {
    BANDS
        .iter()
        .position(|(most, ..)| rtt <= *most)
        .unwrap_or(3)
}

pub(crate) fn page(house: &House, asked: &Asked) -> Made {
    let Some(map) = &house.map else {
        return Err(Trouble::missing(
            "There is no map. Name one with --map or dashboard.map.",
        ));
    };
    let read = map.read()?;
    let watch = house.fleet.as_ref();
    let seen = seen(&read, watch)?;
    let fleet = watch.map(Watch::latest).unwrap_or_default();
    let placed = seen.iter().filter(|seen| seen.spot.point.is_some()).count();
    let body = html! {
        h1 { "Map" }
        div id="map" data-live="fleet" {
            (known(placed, seen.len(), watch.is_some()))
            @if !seen.is_empty() {
                figure { div.scroll tabindex="0" role="region" aria-label="Map" { (picture(&read, &seen, &fleet, watch.is_some())) } }
                (legend(&seen, &fleet, watch.is_some()))
                (listed(&seen, &fleet, asked, watch.is_some()))
            }
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(house, Place::Map, "Map", &body),
    ))
}

/// How many servers have a place, and what to do if none has.
fn known(placed: usize, all: usize, by_robot: bool) -> Markup {
    let locate = html! { code { "evercrawl netmap locate" } };
    html! {
        @if all == 0 {
            p.empty { "The map has no servers yet. " code { "evercrawl netmap probe" } " measures them, " (locate) " finds out where they are." }
        } @else if placed == 0 {
            p.empty { "No server has a place on the map yet. " (locate) " finds out where they are." }
        } @else {
            p.quiet {
                "Servers with a place on the map: " (number(placed as u64)) " of " (number(all as u64)) "."
                @if by_robot { " Each has the mark of its robot." }
            }
        }
    }
}

/// What is drawn at one place: a robot's or a band's servers there.
type Heap = BTreeMap<(i64, i64), BTreeMap<Option<usize>, (usize, Point)>>;

fn picture(read: &Read, seen: &[Seen], fleet: &Fleet, by_robot: bool) -> Markup {
    let mut heaps = Heap::new();
    for server in seen {
        let Some(point) = server.spot.point else {
            continue;
        };
        let tenth = |degrees: f64| (degrees * 10.0).round() as i64;
        let which = if by_robot {
            server.robot.as_ref().and_then(|robot| fleet.number(robot))
        } else {
            server.rtt.map(band)
        };
        let heap = heaps
            .entry((tenth(point.latitude), tenth(point.longitude)))
            .or_default();
        heap.entry(which).or_insert((0, point)).0 += 1;
    }
    let mut dots = String::new();
    for heap in heaps.values() {
        for (turn, (which, (count, point))) in heap.iter().enumerate() {
            let (x, y) = project(*point);
            // those of several robots in one city stand around it
            let (away, angle) = match heap.len() {
                1 => (0.0, 0.0),
                several => (11.0, turn as f64 / several as f64 * TAU - FRAC_PI_2),
            };
            let (x, y) = (x + away * angle.cos(), y + away * angle.sin());
            dots += &dot(*which, by_robot, *count, x, y);
        }
    }
    let robots: Vec<(f64, f64, &str)> = (read.robots.iter())
        .map(|(name, point)| {
            let (x, y) = project(*point);
            (x, y, name.as_str())
        })
        .collect();
    let names = labels(&robots, WIDTH);
    html! {
        svg.world viewBox=(format!("0 0 {WIDTH} {HEIGHT:.1}")) role="img" aria-label="Servers and robots on a map of the world" {
            // both are made of figures
            (PreEscaped(earth()))
            (PreEscaped(dots))
            @for ((x, y, name), label) in robots.iter().zip(&names) {
                rect.robot x=(format!("{:.1}", x - 4.5)) y=(format!("{:.1}", y - 4.5)) width="9" height="9" {}
                text.robot x=(format!("{:.1}", label.x)) y=(format!("{:.1}", label.y))
                    text-anchor=(if label.ends { "end" } else { "start" }) { (shown(name)) }
            }
        }
    }
}

/// A heap of servers: the more, the larger.
fn dot(which: Option<usize>, by_robot: bool, count: usize, x: f64, y: f64) -> String {
    let size = (count as f64).sqrt().min(4.0);
    let circle = |class: &str| {
        let radius = 2.0 + 1.5 * size;
        format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>")
    };
    match which {
        Some(number) if by_robot => {
            let scale = 0.7 + 0.4 * size;
            let shape = mark(number, 0.0, 0.0);
            format!("<g transform=\"translate({x:.1} {y:.1}) scale({scale:.2})\">{shape}</g>")
        }
        Some(band) => circle(BANDS[band.min(3)].1),
        None => circle("nobody"),
    }
}

fn legend(seen: &[Seen], fleet: &Fleet, by_robot: bool) -> Markup {
    let of = |which: &dyn Fn(&Seen) -> bool| seen.iter().filter(|seen| which(seen)).count() as u64;
    html! {
        p.legend {
            @if by_robot {
                @for robot in &fleet.robots {
                    span.key { (fleet.mark(&robot.name)) " " span.quiet { "(" (number(of(&|seen| seen.robot.as_deref() == Some(&robot.name)))) ")" } }
                }
            } @else {
                @for (k, (_, class, words)) in BANDS.iter().enumerate() {
                    span.key {
                        svg.mark viewBox="0 0 14 14" aria-hidden="true" { circle class=(class) cx="7" cy="7" r="5" {} }
                        (words) " " span.quiet { "(" (number(of(&|seen| seen.rtt.map(band) == Some(k)))) ")" }
                    }
                }
            }
            @let unknown = of(&|seen| if by_robot { seen.robot.is_none() } else { seen.rtt.is_none() });
            @if unknown > 0 {
                span.key {
                    svg.mark viewBox="0 0 14 14" aria-hidden="true" { circle.nobody cx="7" cy="7" r="5" {} }
                    (if by_robot { "no robot" } else { "not measured" }) " " span.quiet { "(" (number(unknown)) ")" }
                }
            }
            span.key { svg.mark viewBox="0 0 14 14" aria-hidden="true" { rect.robot x="2.5" y="2.5" width="9" height="9" {} } "robot" }
        }
    }
}

/// The servers, farthest first.
fn listed(seen: &[Seen], fleet: &Fleet, asked: &Asked, by_robot: bool) -> Markup {
    let mut order: Vec<&Seen> = seen.iter().collect();
    order.sort_by(|a, b| {
        let far = |seen: &Seen| seen.rtt.unwrap_or(-1.0);
        far(b).total_cmp(&far(a))
    });
    let skipped: usize = asked.number("after").unwrap_or(0);
    let some = order.iter().skip(skipped).take(SHOWN);
    let rows = html! {
        thead { tr { th { "Server" } th { "Host" } th { "Place" } @if by_robot { th { "Robot" } } th.n { "Round trip" } } }
        tbody {
            @for server in some {
                tr {
                    td { (server.spot.address) }
                    td.url { (shown(&server.spot.name)) }
                    td { (shown(&server.spot.place)) }
                    @if by_robot { td.who { @if let Some(robot) = &server.robot { (fleet.mark(robot)) } } }
                    td.n { @match server.rtt { Some(ms) => { (format!("{ms:.1} ms")) } None => { "–" } } }
                }
            }
        }
    };
    html! {
        (table("Servers on the map", &rows))
        p.paging {
            @if skipped > 0 { a href="/map" { "First" } " " }
            @if skipped + SHOWN < order.len() {
                a href=(format!("/map{}", query(&[("after", &(skipped + SHOWN).to_string())]))) { "Next" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_without_servers_says_what_to_do() {
        let text = |placed, all| known(placed, all, false).into_string();
        assert!(text(0, 0).contains("netmap probe"));
        assert!(text(0, 3).contains("netmap locate") && !text(0, 3).contains("probe"));
        assert!(text(1, 3).contains("1 of 3."));
    }
}
