//! Names of addresses and LOC records of names, asked of the system's or a given name server.

use crate::place::{Place, parse_loc};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{RData, RecordType};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The type of LOC records (RFC 1876).
const LOC: u16 = 29;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
#[error("no name server answers: {0}")]
pub struct Error(String);

/// Asks a name server, one question at a time.
pub struct Dns {
    resolver: TokioResolver,
    runtime: tokio::runtime::Runtime,
}

impl Dns {
    /// Asks that server, or those of the system.
    pub fn new(server: Option<SocketAddr>) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error(error.to_string()))?;
        let mut builder = match server {
            Some(server) => {
                let mut connection = ConnectionConfig::udp();
                connection.port = server.port();
                let server = NameServerConfig::new(server.ip(), true, vec![connection]);
                let config = ResolverConfig::from_parts(None, vec![], vec![server]);
                TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            }
            None => TokioResolver::builder_tokio().map_err(|error| Error(error.to_string()))?,
        };
        let options: &mut ResolverOpts = builder.options_mut();
        options.timeout = PATIENCE;
        options.attempts = 1;
        let resolver = builder.build().map_err(|error| Error(error.to_string()))?;
        Ok(Self { resolver, runtime })
    }

    /// The names of an address; none when nobody knows or answers.
    pub fn names(&self, address: IpAddr) -> Vec<String> {
        let found = self.runtime.block_on(self.resolver.reverse_lookup(address));
        let Ok(found) = found else { return Vec::new() };
        let names = found
            .answers()
            .iter()
            .filter_map(|record| match &record.data {
                RData::PTR(name) => Some(name.to_utf8().trim_end_matches('.').to_lowercase()),
                _ => None,
            });
        names.collect()
    }

    /// Where the owner of a name says that it is.
    pub fn place(&self, name: &str) -> Option<Place> {
        // a final point: no search domains
        let name = format!("{}.", name.trim_end_matches('.'));
        let asked = self.resolver.lookup(name, RecordType::Unknown(LOC));
        let found = self.runtime.block_on(asked).ok()?;
        found
            .answers()
            .iter()
            .find_map(|record| match &record.data {
                RData::Unknown { rdata, .. } => parse_loc(&rdata.anything),
                _ => None,
            })
    }
}
