//! The country of a server, by whatever knows it: its name first, then databases, then registries.

use super::{CityDatabase, DatabaseError, Heuristic, Registry, RegistryError, from_name};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// What is asked besides the names of hosts.
#[derive(Default)]
pub struct Sources {
    city: Option<CityDatabase>,
    registry: Option<Registry>,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum SourcesError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("{}: {error}", path.display())]
    Registry { path: PathBuf, error: RegistryError },
}

impl Sources {
    /// Reads a database of cities, if there is one, and the lists of registries.
    pub fn open(city: Option<&Path>, registries: &[PathBuf]) -> Result<Self, SourcesError> {
        let city = city.map(CityDatabase::open).transpose()?;
        let mut registry: Option<Registry> = None;
        for path in registries {
            let list = Registry::open(path).map_err(|error| SourcesError::Registry {
                path: path.clone(),
                error,
            })?;
            registry = Some(match registry {
                Some(known) => known.with(list),
                None => list,
            });
        }
        Ok(Self { city, registry })
    }

    /// The country of a host (empty where its name is not known) at an address, by the most trusted that knows it.
    /// A record that cannot be read is as good as none.
    pub fn country(&self, host: &str, address: IpAddr) -> Option<(Heuristic, String)> {
        let named = || {
            from_name(host)
                .into_iter()
                .find_map(|place| Some((place.heuristic, place.country?)))
        };
        let found = || {
            let place = self.city.as_ref()?.place(address).ok()??;
            Some((Heuristic::Database, place.country?))
        };
        let delegated = || {
            let country = self.registry.as_ref()?.country(address)?;
            Some((Heuristic::Registry, country.to_owned()))
        };
        named().or_else(found).or_else(delegated)
    }
}

impl Sources {
    /// Where a host is, in words that are the same for all that are there: a city with its country, or a country alone.
    pub fn place(&self, host: &str, address: IpAddr) -> Option<String> {
        let found = || self.city.as_ref()?.place(address).ok()?;
        let mut places = from_name(host).into_iter().chain(found());
        let city = places.find_map(|place| Some((place.city?, place.country?)));
        match city {
            Some((city, country)) => Some(format!("{city}, {country}")),
            None => self.country(host, address).map(|(_, country)| country),
        }
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (city, registry) = (self.city.is_some(), self.registry.is_some());
        write!(f, "Sources {{ city: {city}, registry: {registry} }}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_before_a_registry_and_what_nobody_knows_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("delegated");
        std::fs::write(
            &list,
            "ripencc|PT|ipv4|193.136.0.0|65536|19930901|allocated\n",
        )
        .unwrap();
        let sources = Sources::open(None, &[list]).unwrap();
        let address = "193.136.1.1".parse().unwrap();
        let country = |host: &str, address| sources.country(host, address);
        assert_eq!(
            country("www.example.org", address),
            Some((Heuristic::Registry, "PT".to_owned()))
        );
        let named = country("www.fra1.hosting.example.net", address);
        assert_eq!(named, Some((Heuristic::Airport, "DE".to_owned())));
        let nowhere = "192.0.2.1".parse().unwrap();
        assert_eq!(country("www.example.org", nowhere), None);
        let place = |host: &str, address| sources.place(host, address);
        let frankfurt = place("www.fra1.hosting.example.net", nowhere);
        assert_eq!(frankfurt.as_deref(), Some("Frankfurt am Main, DE"));
        assert_eq!(place("www.example.org", address).as_deref(), Some("PT"));
        assert_eq!(place("www.example.org", nowhere), None);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("broken");
        std::fs::write(&broken, "nonsense").unwrap();
        let error = Sources::open(Some(&broken), &[]).unwrap_err().to_string();
        assert!(
            error.contains("broken") && error.contains("MaxMind"),
            "{error}"
        );
        let error = Sources::open(None, &[broken]).unwrap_err().to_string();
        assert!(error.contains("broken"), "{error}");
    }
}
