//! From names to addresses that may be contacted.

use crate::error::{DnsFault, FetchError};
use crate::options::Options;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::Name;
use hickory_resolver::{Resolver, TokioResolver};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Addresses of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Those that may be contacted, IPv4 first; at least one.
    pub addresses: Vec<IpAddr>,
    /// How long the answer holds.
    pub expires_in: Duration,
}

/// Asks the configured server, or those the system names.
pub(crate) fn resolver(options: &Options) -> Result<TokioResolver, NetError> {
    let dns = &options.dns;
    let mut builder = match dns.server {
        Some(server) => {
            let config = ResolverConfig::from_name_servers(vec![name_server(server)]);
            Resolver::builder_with_config(config, TokioRuntimeProvider::default())
        }
        None => Resolver::builder_tokio()?,
    };
    let settings = builder.options_mut();
    settings.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    settings.cache_size = dns.cache;
    settings.timeout = dns.timeout;
    settings.attempts = dns.attempts;
    settings.positive_min_ttl = Some(dns.least_ttl);
    settings.positive_max_ttl = Some(dns.most_ttl);
    settings.negative_min_ttl = Some(dns.least_ttl);
    settings.negative_max_ttl = Some(dns.most_ttl);
    builder.build()
}

fn name_server(server: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    NameServerConfig::new(server.ip(), true, connections.to_vec())
}

/// The addresses of `host`, whoever knows them, and how long that holds.
pub(crate) async fn find(
    host: &str,
    options: &Options,
    resolver: Option<&TokioResolver>,
) -> Result<(Vec<IpAddr>, Duration), FetchError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        Ok((vec![address], options.dns.most_ttl))
    } else if let Some(addresses) = options.hosts.get(host) {
        Ok((addresses.clone(), options.dns.most_ttl))
    } else {
        let resolver = resolver.ok_or(FetchError::Dns(DnsFault::Failed))?;
        // several servers, each asked several times, must not add up
        let patience = options.dns.timeout * (options.dns.attempts as u32 + 1);
        tokio::time::timeout(patience, ask(host, resolver))
            .await
            .unwrap_or(Err(FetchError::Dns(DnsFault::Timeout)))
    }
}

/// The same, without those that may not be contacted.
pub(crate) async fn resolve(
    host: &str,
    options: &Options,
    resolver: Option<&TokioResolver>,
) -> Result<Resolved, FetchError> {
    let (addresses, expires_in) = find(host, options, resolver).await?;
    let (good, refused): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|&address| options.addresses.permits(address));
    match (good.is_empty(), refused.first()) {
        (false, _) => Ok(Resolved {
            addresses: good,
            expires_in,
        }),
        (true, Some(&address)) => Err(FetchError::AddressRefused(address)),
        (true, None) => Err(FetchError::Dns(DnsFault::NotFound)),
    }
}

async fn ask(host: &str, resolver: &TokioResolver) -> Result<(Vec<IpAddr>, Duration), FetchError> {
    // ASCII only: international names have become punycode in the URL
    let mut name = Name::from_ascii(host).map_err(|_| FetchError::Dns(DnsFault::Malformed))?;
    // a whole name: the system's search list is for people who type
    name.set_fqdn(true);
    let answer = resolver.lookup_ip(name).await.map_err(|error| {
        FetchError::Dns(match error {
            NetError::Dns(DnsError::NoRecordsFound(_)) => DnsFault::NotFound,
            NetError::Timeout => DnsFault::Timeout,
            _ => DnsFault::Failed,
        })
    })?;
    let expires_in = answer
        .valid_until()
        .saturating_duration_since(Instant::now());
    Ok((answer.iter().collect(), expires_in))
}
