//! Where hosts are.
#![doc = include_str!("../README.md")]

mod agreement;
mod database;
mod loc;
mod names;
mod registry;
mod sources;

pub use agreement::{Agreement, Coverage, agreement, coverage};
pub use database::{AsDatabase, AsEntry, CityDatabase, DatabaseError};
pub use loc::parse_loc;
pub use names::{City, cities, from_name};
pub use registry::{Registry, RegistryError};
pub use sources::{Sources, SourcesError};

use ground::Point;
use serde::Serialize;
use std::fmt;

/// What said where something is; the most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Heuristic {
    /// A DNS LOC record.
    Loc,
    /// An airport code in the host name.
    Airport,
    /// The domain of an institution.
    Institution,
    /// The name of a city in the host name.
    City,
    /// A geolocation database.
    Database,
    /// The country to whose holder a registry gave the address.
    Registry,
}

impl Heuristic {
    /// All, the most trusted first.
    pub const ALL: [Self; 6] = [
        Self::Loc,
        Self::Airport,
        Self::Institution,
        Self::City,
        Self::Database,
        Self::Registry,
    ];

    /// As it stands in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loc => "loc",
            Self::Airport => "airport",
            Self::Institution => "institution",
            Self::City => "city",
            Self::Database => "database",
            Self::Registry => "registry",
        }
    }

    /// The heuristic of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

impl fmt::Display for Heuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One answer to where something is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Who says so.
    pub heuristic: Heuristic,
    /// Where.
    #[serde(flatten)]
    pub point: Point,
    /// The city, when known.
    pub city: Option<String>,
    /// Two letters, when known.
    pub country: Option<String>,
}
