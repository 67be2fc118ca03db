//! The map on disk: an `SQLite` file that any SQL tool opens.
//!
//! Tables: `store/schema.sql`. One process writes at a time; others wait for it. A result is
//! written whole or not at all.

mod question;
mod read;

pub use question::Answer;
pub use read::{Located, Measurement, TracedRoute};

use crate::place::{AsEntry, Place};
use crate::probe::{Measured, Route};
use ground::Point;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Marks the files that are ours: "evcm" as a number, in a field `SQLite` leaves to applications.
const APPLICATION: i32 = 0x6576_636d;

/// What went wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `SQLite` says so.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A sound database of something else.
    #[error("is a database, but not a map: it has other tables")]
    Foreign,
    /// No question at all.
    #[error("it contains no query: expected SQL such as SELECT * FROM hosts")]
    Empty,
    /// A question that would change the map.
    #[error("only queries are allowed: {0} would change the map")]
    NotReadOnly(String),
}

type Result<T> = std::result::Result<T, Error>;

/// What is done to a target, each with a memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// RTT.
    Probe,
    /// Route.
    Trace,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Trace => "trace",
        }
    }
}

/// An open map.
pub struct Store {
    connection: Connection,
}

impl Store {
    /// Opens the map, making it if need be.
    pub fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 && !is_ours(&connection)? {
            return Err(Error::Foreign);
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.execute_batch(include_str!("store/schema.sql"))?;
        Ok(Self { connection })
    }

    /// Opens a map that exists, to read only.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(PATIENCE)?;
        if !is_ours(&connection)? {
            return Err(Error::Foreign);
        }
        Ok(Self { connection })
    }

    /// Takes over all that another map has and this one has not: results of other robots, places,
    /// names. Doing it again changes nothing.
    pub fn merge(&mut self, other: &Path) -> Result<()> {
        drop(Self::open_read_only(other)?);
        self.connection
            .execute("ATTACH ?1 AS other", [other.to_string_lossy()])?;
        let transaction = self.connection.transaction()?;
        let merged = transaction.execute_batch(include_str!("store/merge.sql"));
        let merged = merged.and_then(|()| transaction.commit());
        self.connection.execute_batch("DETACH other")?;
        Ok(merged?)
    }

    /// Notes who measures, and where that is.
    pub fn source(&self, name: &str, point: Option<Point>) -> Result<i64> {
        let sql = "INSERT INTO sources (name, latitude, longitude) VALUES (?1, ?2, ?3)
                   ON CONFLICT (name) DO UPDATE SET
                     latitude = coalesce(?2, latitude), longitude = coalesce(?3, longitude)
                   RETURNING id";
        let latitude = point.map(|p| p.latitude);
        let longitude = point.map(|p| p.longitude);
        let id = self
            .connection
            .query_row(sql, params![name, latitude, longitude], |row| row.get(0))?;
        Ok(id)
    }

    /// Notes that a name stands for an address.
    pub fn name(&mut self, host: &str, address: IpAddr) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let host_id: i64 = transaction.query_row(
            "INSERT INTO hosts (name) VALUES (?1)
             ON CONFLICT (name) DO UPDATE SET name = name RETURNING id",
            [host],
            |row| row.get(0),
        )?;
        let address_id = address_id(&transaction, address)?;
        transaction.execute(
            "INSERT OR IGNORE INTO host_addresses (host, address) VALUES (?1, ?2)",
            [host_id, address_id],
        )?;
        Ok(transaction.commit()?)
    }

    /// Notes what a target was called, and the address that it stood for.
    pub fn target(&mut self, name: &str, address: IpAddr) -> Result<()> {
        if name.parse::<IpAddr>().is_err() {
            self.name(name, address)?;
        }
        let transaction = self.connection.transaction()?;
        let address = address_id(&transaction, address)?;
        transaction.execute(
            "INSERT OR IGNORE INTO targets (name, address) VALUES (?1, ?2)",
            params![name, address],
        )?;
        Ok(transaction.commit()?)
    }

    /// Asks for leave to send packets to an address: denied when that was done less than `again`
    /// seconds ago, noted otherwise.
    pub fn claim(
        &mut self,
        kind: Kind,
        source: i64,
        address: IpAddr,
        now: f64,
        again: f64,
    ) -> Result<bool> {
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let address = address_id(&transaction, address)?;
        let last: Option<f64> = transaction
            .query_row(
                "SELECT at FROM attempts WHERE source = ?1 AND address = ?2 AND kind = ?3",
                params![source, address, kind.name()],
                |row| row.get(0),
            )
            .optional()?;
        if last.is_some_and(|at| now - at < again) {
            return Ok(false);
        }
        transaction.execute(
            "INSERT OR REPLACE INTO attempts (source, address, kind, at) VALUES (?1, ?2, ?3, ?4)",
            params![source, address, kind.name(), now],
        )?;
        transaction.commit()?;
        Ok(true)
    }

    /// Takes back a claim that came to nothing.
    pub fn release(&mut self, kind: Kind, source: i64, address: IpAddr) -> Result<()> {
        self.connection.execute(
            "DELETE FROM attempts WHERE source = ?1 AND kind = ?3
             AND address = (SELECT id FROM addresses WHERE address = ?2)",
            params![source, address.to_string(), kind.name()],
        )?;
        Ok(())
    }

    /// Keeps what probing found.
    pub fn keep_rtt(&mut self, source: i64, to: IpAddr, at: f64, found: &Measured) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let address = address_id(&transaction, to)?;
        transaction.execute(
            "INSERT INTO end_to_end (source, address, at, method, sent, answered, median_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                source,
                address,
                at,
                found.method.name(),
                found.samples.len() as u32,
                found.answered().len() as u32,
                found.median_ms(),
            ],
        )?;
        let result = transaction.last_insert_rowid();
        for (number, sample) in found.samples.iter().enumerate() {
            transaction.execute(
                "INSERT INTO rtt_samples (result, number, rtt_ms) VALUES (?1, ?2, ?3)",
                params![result, number as u32, sample],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Keeps a route.
    pub fn keep_route(&mut self, source: i64, at: f64, found: &Route) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let address = address_id(&transaction, found.target)?;
        transaction.execute(
            "INSERT INTO routes (source, address, at, method, reached) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![source, address, at, found.method.name(), found.reached],
        )?;
        let route = transaction.last_insert_rowid();
        for hop in &found.hops {
            let router = hop
                .address
                .map(|a| address_id(&transaction, a))
                .transpose()?;
            transaction.execute(
                "INSERT INTO hops (route, hop, address, rtt_ms) VALUES (?1, ?2, ?3, ?4)",
                params![route, hop.limit, router, hop.rtt_ms],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Keeps what heuristics say about an address, in place of what they said before.
    pub fn keep_places(&mut self, of: IpAddr, at: f64, places: &[Place]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let address = address_id(&transaction, of)?;
        for place in places {
            // a country alone is a city without a name
            let name = place.city.as_deref().unwrap_or_default();
            let city: Option<i64> = match (name, &place.country) {
                (name, Some(country)) => Some(transaction.query_row(
                    "INSERT INTO cities (name, country) VALUES (?1, ?2)
                     ON CONFLICT (name, country) DO UPDATE SET name = name RETURNING id",
                    [name, country.as_str()],
                    |row| row.get(0),
                )?),
                _ => None,
            };
            transaction.execute(
                "INSERT OR REPLACE INTO places (address, heuristic, latitude, longitude, city, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    address,
                    place.heuristic.name(),
                    place.point.latitude,
                    place.point.longitude,
                    city,
                    at,
                ],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Keeps whose address it is.
    pub fn keep_as(&mut self, of: IpAddr, entry: &AsEntry) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let address = address_id(&transaction, of)?;
        transaction.execute(
            "INSERT INTO autonomous_systems (number, organisation) VALUES (?1, ?2)
             ON CONFLICT (number) DO UPDATE SET organisation = coalesce(?2, organisation)",
            params![entry.number, entry.organisation],
        )?;
        let block: i64 = transaction.query_row(
            "INSERT INTO address_blocks (prefix, autonomous_system) VALUES (?1, ?2)
             ON CONFLICT (prefix) DO UPDATE SET autonomous_system = ?2 RETURNING id",
            params![entry.block, entry.number],
            |row| row.get(0),
        )?;
        transaction.execute(
            "UPDATE addresses SET block = ?2 WHERE id = ?1",
            [address, block],
        )?;
        Ok(transaction.commit()?)
    }
}

fn is_ours(connection: &Connection) -> Result<bool> {
    let mark: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok(mark == APPLICATION)
}

fn address_id(transaction: &Transaction, address: IpAddr) -> Result<i64> {
    let id = transaction.query_row(
        "INSERT INTO addresses (address) VALUES (?1)
         ON CONFLICT (address) DO UPDATE SET address = address RETURNING id",
        [address.to_string()],
        |row| row.get(0),
    )?;
    Ok(id)
}

#[cfg(test)]
mod tests;
