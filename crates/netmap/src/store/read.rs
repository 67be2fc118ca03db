//! What the map knows, for those who compute with it.

use super::{Result, Store};
use crate::place::{Heuristic, Place};
use crate::sampling::median;
use ground::Point;
use rusqlite::Row;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The RTT between a source and an address, over a window of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Who measured.
    pub source: String,
    /// Whom.
    pub address: IpAddr,
    /// The median of all answers in the window.
    pub rtt_ms: f64,
    /// Packets sent in the window.
    pub sent: u32,
    /// Answers.
    pub answered: u32,
    /// How; only what was measured in the way of the newest counts.
    pub method: String,
    /// When last, in seconds since 1970.
    pub at: f64,
}

/// A route as hops that answered.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedRoute {
    /// From whom.
    pub source: String,
    /// To whom.
    pub target: IpAddr,
    /// Whether the target answered.
    pub reached: bool,
    /// Who answered on the way, and after how many milliseconds.
    pub hops: Vec<(IpAddr, f64)>,
}

/// An address, its names and all that is said about its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Located {
    /// The address.
    pub address: IpAddr,
    /// Names that stand for it.
    pub names: Vec<String>,
    /// The most trusted first.
    pub places: Vec<Place>,
}

impl Store {
    /// The RTT of each source to each address that answered: the median of all answers to what was
    /// sent in so many seconds up to the newest result of the pair; with 0 that of the newest alone.
    pub fn measurements(&self, window: f64) -> Result<Vec<Measurement>> {
        let sql = "SELECT s.name, a.address, e.sent, e.answered, e.method, e.at, e.id, x.rtt_ms
                   FROM end_to_end e
                   JOIN (SELECT source, address, method, max(at) AS last FROM end_to_end
                         WHERE median_ms IS NOT NULL GROUP BY source, address) n
                     ON n.source = e.source AND n.address = e.address AND n.method = e.method
                   JOIN sources s ON s.id = e.source JOIN addresses a ON a.id = e.address
                   JOIN rtt_samples x ON x.result = e.id
                   WHERE e.at >= n.last - ?1 AND x.rtt_ms IS NOT NULL
                   ORDER BY s.name, a.address, e.at, e.id, x.number";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([window], |row| {
            let measurement = Measurement {
                source: row.get(0)?,
                address: address(row, 1)?,
                rtt_ms: 0.0,
                sent: row.get(2)?,
                answered: row.get(3)?,
                method: row.get(4)?,
                at: row.get(5)?,
            };
            Ok((measurement, row.get::<_, i64>(6)?, row.get::<_, f64>(7)?))
        })?;
        let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        let same_pair =
            |a: &Measurement, b: &Measurement| (&a.source, a.address) == (&b.source, b.address);
        let pairs = rows.chunk_by(|a, b| same_pair(&a.0, &b.0));
        let over = |own: &[(Measurement, i64, f64)]| {
            let results = || own.chunk_by(|a, b| a.1 == b.1).map(|same| &same[0].0);
            let answers: Vec<f64> = own.iter().map(|row| row.2).collect();
            Some(Measurement {
                rtt_ms: median(&answers)?,
                sent: results().map(|result| result.sent).sum(),
                answered: results().map(|result| result.answered).sum(),
                ..own.last()?.0.clone()
            })
        };
        Ok(pairs.filter_map(over).collect())
    }

    /// All answers of each source from each address, in milliseconds.
    pub fn answers(&self) -> Result<Vec<Vec<f64>>> {
        let rows = self.all(
            "SELECT e.source, e.address, e.method, x.rtt_ms FROM end_to_end e
             JOIN rtt_samples x ON x.result = e.id WHERE x.rtt_ms IS NOT NULL
             ORDER BY e.source, e.address, e.method, e.at, x.number",
            |row| {
                let pair: (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok((pair, row.get(3)?))
            },
        )?;
        let pairs = rows.chunk_by(|a, b| a.0 == b.0);
        Ok(pairs
            .map(|own| own.iter().map(|row| row.1).collect())
            .collect())
    }

    /// All routes in the order in which they were found.
    pub fn routes(&self) -> Result<Vec<TracedRoute>> {
        let sql = "SELECT r.id, s.name, t.address, r.reached, h.address, o.rtt_ms
                   FROM routes r
                   JOIN sources s ON s.id = r.source JOIN addresses t ON t.id = r.address
                   JOIN hops o ON o.route = r.id JOIN addresses h ON h.id = o.address
                   WHERE o.rtt_ms IS NOT NULL ORDER BY r.id, o.hop";
        let rows = self.all(sql, |row| {
            let id: i64 = row.get(0)?;
            let route = TracedRoute {
                source: row.get(1)?,
                target: address(row, 2)?,
                reached: row.get(3)?,
                hops: vec![(address(row, 4)?, row.get(5)?)],
            };
            Ok((id, route))
        })?;
        let mut routes: Vec<(i64, TracedRoute)> = Vec::new();
        for (id, route) in rows {
            match routes.last_mut() {
                Some((last, known)) if *last == id => known.hops.extend(route.hops),
                _ => routes.push((id, route)),
            }
        }
        Ok(routes.into_iter().map(|(_, route)| route).collect())
    }

    /// All addresses with names and places.
    pub fn located(&self) -> Result<Vec<Located>> {
        let all = self.all("SELECT address FROM addresses ORDER BY id", |row| {
            address(row, 0)
        })?;
        let names = self.all(
            "SELECT a.address, h.name FROM host_addresses x
             JOIN hosts h ON h.id = x.host JOIN addresses a ON a.id = x.address ORDER BY h.name",
            |row| Ok((address(row, 0)?, row.get::<_, String>(1)?)),
        )?;
        let places = self.all(
            "SELECT a.address, p.heuristic, p.latitude, p.longitude, c.name, c.country
             FROM places p JOIN addresses a ON a.id = p.address
             LEFT JOIN cities c ON c.id = p.city",
            |row| Ok((address(row, 0)?, place(row)?)),
        )?;
        let mut found: Vec<Located> = all
            .into_iter()
            .map(|address| Located {
                address,
                names: Vec::new(),
                places: Vec::new(),
            })
            .collect();
        let at: std::collections::HashMap<IpAddr, usize> = found
            .iter()
            .enumerate()
            .map(|(k, l)| (l.address, k))
            .collect();
        for (address, name) in names {
            found[at[&address]].names.push(name);
        }
        for (address, place) in places {
            found[at[&address]].places.extend(place);
        }
        for located in &mut found {
            located.places.sort_by_key(|place| place.heuristic);
        }
        Ok(found)
    }

    /// What each address was called by those who asked for it.
    pub fn targets(&self) -> Result<BTreeMap<IpAddr, Vec<String>>> {
        let rows = self.all(
            "SELECT a.address, t.name FROM targets t JOIN addresses a ON a.id = t.address
             ORDER BY t.name",
            |row| Ok((address(row, 0)?, row.get(1)?)),
        )?;
        let mut targets: BTreeMap<IpAddr, Vec<String>> = BTreeMap::new();
        for (address, name) in rows {
            targets.entry(address).or_default().push(name);
        }
        Ok(targets)
    }

    /// The robots and where they are.
    pub fn sources(&self) -> Result<Vec<(String, Option<Point>)>> {
        self.all(
            "SELECT name, latitude, longitude FROM sources ORDER BY name",
            |row| {
                let latitude: Option<f64> = row.get(1)?;
                let longitude: Option<f64> = row.get(2)?;
                let point = latitude.zip(longitude);
                Ok((
                    row.get(0)?,
                    point.and_then(|(lat, lon)| Point::new(lat, lon)),
                ))
            },
        )
    }

    /// The address that a name was last found to stand for.
    pub fn address_of(&self, host: &str) -> Result<Option<IpAddr>> {
        let mut statement = self.connection.prepare(
            "SELECT a.address FROM host_addresses x
             JOIN hosts h ON h.id = x.host JOIN addresses a ON a.id = x.address
             WHERE h.name = ?1 ORDER BY a.id DESC LIMIT 1",
        )?;
        let mut found = statement.query_map([host], |row| address(row, 0))?;
        Ok(found.next().transpose()?)
    }

    fn all<T>(&self, sql: &str, read: impl Fn(&Row) -> rusqlite::Result<T>) -> Result<Vec<T>> {
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| read(row))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

fn address(row: &Row, column: usize) -> rusqlite::Result<IpAddr> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error: std::net::AddrParseError| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}

/// None for a heuristic of another version.
fn place(row: &Row) -> rusqlite::Result<Option<Place>> {
    let heuristic: String = row.get(1)?;
    let point = Point::new(row.get(2)?, row.get(3)?);
    let (city, country): (Option<String>, _) = (row.get(4)?, row.get(5)?);
    Ok(Heuristic::named(&heuristic)
        .zip(point)
        .map(|(heuristic, point)| Place {
            heuristic,
            point,
            city: city.filter(|name| !name.is_empty()),
            country,
        }))
}
