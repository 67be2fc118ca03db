//! MaxMind-format databases: cities and autonomous systems by address.

use super::{Heuristic, Place};
use ground::Point;
use maxminddb::{LookupResult, MaxMindDbError, PathElement, Reader};
use serde::de::IgnoredAny;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// A database that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: is not a valid MaxMind database: {cause}", path.display())]
pub struct DatabaseError {
    path: PathBuf,
    cause: MaxMindDbError,
}

/// Where addresses are.
pub struct CityDatabase {
    reader: Reader<Vec<u8>>,
    path: PathBuf,
}

/// Whose addresses are whose.
pub struct AsDatabase {
    reader: Reader<Vec<u8>>,
    path: PathBuf,
}

/// An autonomous system and the block of it that an address is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsEntry {
    /// Its number.
    pub number: u32,
    /// Who runs it.
    pub organisation: Option<String>,
    /// The block in CIDR form.
    pub block: String,
}

impl CityDatabase {
    /// Reads the file.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let reader = open(path)?;
        Ok(Self {
            reader,
            path: path.to_owned(),
        })
    }

    /// Where an address is, if the database knows. Both the nested records of commercial databases
    /// and the flat ones of free databases are understood.
    pub fn place(&self, address: IpAddr) -> Result<Option<Place>, DatabaseError> {
        let found = self.lookup(address);
        found.map_err(|cause| DatabaseError {
            path: self.path.clone(),
            cause,
        })
    }

    fn lookup(&self, address: IpAddr) -> Result<Option<Place>, MaxMindDbError> {
        let record = self.reader.lookup(address)?;
        // a field of another type is as good as none, a record that cannot be read is not
        record.decode::<IgnoredAny>()?;
        let latitude = number(&record, &[&["location", "latitude"], &["latitude"]]);
        let longitude = number(&record, &[&["location", "longitude"], &["longitude"]]);
        let (Some(latitude), Some(longitude)) = (latitude, longitude) else {
            return Ok(None);
        };
        let Some(point) = Point::new(latitude, longitude) else {
            return Ok(None);
        };
        Ok(Some(Place {
            heuristic: Heuristic::Database,
            point,
            city: text(&record, &[&["city", "names", "en"], &["city"]]),
            country: text(&record, &[&["country", "iso_code"], &["country_code"]]),
        }))
    }
}

impl AsDatabase {
    /// Reads the file.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let reader = open(path)?;
        Ok(Self {
            reader,
            path: path.to_owned(),
        })
    }

    /// Whose address it is, if the database knows.
    pub fn entry(&self, address: IpAddr) -> Result<Option<AsEntry>, DatabaseError> {
        let found = self.lookup(address);
        found.map_err(|cause| DatabaseError {
            path: self.path.clone(),
            cause,
        })
    }

    fn lookup(&self, address: IpAddr) -> Result<Option<AsEntry>, MaxMindDbError> {
        let record = self.reader.lookup(address)?;
        let key = [PathElement::Key("autonomous_system_number")];
        let Some(number) = record.decode_path::<u32>(&key)? else {
            return Ok(None);
        };
        Ok(Some(AsEntry {
            number,
            organisation: text(&record, &[&["autonomous_system_organization"]]),
            block: record.network()?.to_string(),
        }))
    }
}

fn open(path: &Path) -> Result<Reader<Vec<u8>>, DatabaseError> {
    Reader::open_readfile(path).map_err(|cause| DatabaseError {
        path: path.to_owned(),
        cause,
    })
}

type Found<'r> = LookupResult<'r, Vec<u8>>;

/// The first of these fields that the record has as a text; one of another type is as good as none.
fn text(record: &Found, fields: &[&[&str]]) -> Option<String> {
    let found = fields
        .iter()
        .find_map(|field| record.decode_path::<String>(&keys(field)).ok().flatten());
    found.filter(|text| !text.is_empty())
}

/// The first of these fields that the record has, as a number or as a text that is one.
fn number(record: &Found, fields: &[&[&str]]) -> Option<f64> {
    fields.iter().find_map(|field| {
        let keys = keys(field);
        let double = record.decode_path::<f64>(&keys).ok().flatten();
        let single = || {
            record
                .decode_path::<f32>(&keys)
                .ok()
                .flatten()
                .map(f64::from)
        };
        let written = || text(record, &[field])?.parse().ok();
        double.or_else(single).or_else(written)
    })
}

fn keys<'k>(field: &[&'k str]) -> Vec<PathElement<'k>> {
    field.iter().map(|&key| PathElement::Key(key)).collect()
}
