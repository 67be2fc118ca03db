//! What a crawl works with, opened as its configuration says: store, archive, network.

use super::{StartError, archive_directory, state_directory};
use crate::clock::Clock;
use crate::config::Config;
use crate::seeds::SeedList;
use crate::visit::millis;
use crate::whole_file;
use fetch::{AddressRules, Options};
use frontier::scope::{Reach, Scope, Seed};
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;
use storage::archive::{Archive, ArchiveOptions};
use storage::{Durability, Reader, Store, StoreOptions};

pub(super) fn open_store(
    config: &Config,
    seeds: &[Seed],
    durability: Durability,
) -> Result<Store, StartError> {
    let state = state_directory(&config.data.0);
    if !state.exists() {
        check_beginning(config, seeds, 0)?;
    }
    let options = StoreOptions {
        durability,
        ..StoreOptions::default()
    };
    let store = Store::open(&state, options)?;
    check_beginning(config, seeds, store.page_count())?;
    Ok(store)
}

/// Whether there is anything to begin with: seeds, or pages of before that are still in scope.
fn check_beginning(config: &Config, seeds: &[Seed], pages: u32) -> Result<(), StartError> {
    if !seeds.is_empty() {
        return Ok(());
    }
    if pages == 0 {
        return Err(StartError::NoSeeds(config.data.0.clone()));
    }
    let scope = &config.scope;
    let besides = [&scope.also, &scope.prefixes, &scope.suffixes];
    if scope.reach == Reach::Anywhere || besides.iter().any(|list| !list.is_empty()) {
        return Ok(());
    }
    let why = "there are no seeds, so no page is in scope: set `seeds`, run `evercrawl seeds add`, or set scope.also";
    Err(StartError::NothingToFetch(why.into()))
}

/// Whether a crawl that is started with these settings, and with what is there of one before, has anything to do.
pub fn check_start(config: &Config) -> Result<(), StartError> {
    let seeds = SeedList::of(config)?.read_all(config)?;
    let state = state_directory(&config.data.0);
    let pages = if state.exists() {
        Reader::open(&state)?.page_count()?
    } else {
        0
    };
    check_beginning(config, &seeds, pages)
}

/// Opens the archive, and takes out what is not to be kept.
pub(super) fn open_archive(
    config: &Config,
    durability: Durability,
    store: &mut Store,
) -> storage::Result<Option<Archive>> {
    if !config.archive.enabled {
        return Ok(None);
    }
    let mut options = ArchiveOptions {
        rotate_bytes: config.archive.rotate_bytes,
        durability,
        ..ArchiveOptions::default()
    };
    let agent = config.identity.user_agent();
    options.info.push(("http-header-user-agent".into(), agent));
    if let Some(contact) = config.identity.contact() {
        options.info.push(("operator".into(), contact.into()));
    }
    let mut archive = Archive::open(&archive_directory(&config.data.0), options)?;
    let now = millis(Clock::start(None).now().wall);
    storage::archive::prune(&mut archive, store, &config.archive.keep(), now)?;
    Ok(Some(archive))
}

pub(super) fn fetch_options(config: &Config) -> Result<Options, StartError> {
    let mut options = Options::new(config.identity.user_agent());
    let f = &config.fetch;
    options.timeouts.connect = Duration::from_secs_f64(f.connect_seconds);
    options.timeouts.first_byte = Duration::from_secs_f64(f.first_byte_seconds);
    options.timeouts.body = Duration::from_secs_f64(f.body_seconds);
    options.timeouts.drip.bytes_per_second = f.least_bytes_per_second;
    options.limits.body = f.max_bytes;
    options.limits.decoded = f.max_decoded_bytes;
    options.http2 = f.http2;
    if let Some(source) = f.source {
        // better told now than as one host after the other that cannot be reached
        UdpSocket::bind((source, 0)).map_err(|error| StartError::System {
            what: format!("fetch.source = {source}: expected an address of this machine"),
            error,
        })?;
    }
    options.source = f.source;
    options.dns.server = f.dns_server;
    options.hosts = f
        .hosts
        .iter()
        .map(|(name, to)| (name.clone(), to.clone()))
        .collect();
    options.addresses = address_rules(config)?;
    if let Some(path) = &f.extra_roots {
        options.extra_roots =
            whole_file::read(path, whole_file::CERTIFICATES).map_err(|error| {
                StartError::Roots {
                    path: path.clone(),
                    error,
                }
            })?;
    }
    Ok(options)
}

/// Which servers may be probed: those that may be asked for pages, if nobody stands between.
pub fn may_probe(config: &Config) -> Result<impl Fn(IpAddr) -> bool + Send + use<>, StartError> {
    let proxied = |proxy: &String| !proxy.is_empty() && proxy != "none";
    let rules = config.rules.iter().filter_map(|rule| rule.proxy.as_ref());
    let behind_a_proxy = rules.chain([&config.fetch.proxy]).any(proxied);
    let scope = Scope::new(&config.scope, &[] as &[Seed])?;
    let addresses = address_rules(config)?;
    Ok(move |server| {
        let permitted = addresses.permits(server) && scope.judge_address(server).is_in();
        permitted && !behind_a_proxy
    })
}

/// Which addresses others may be told of: those that may be contacted.
pub fn may_contact(config: &Config) -> Result<impl Fn(IpAddr) -> bool + Send + use<>, StartError> {
    let addresses = address_rules(config)?;
    Ok(move |address| addresses.permits(address))
}

/// Which addresses may be contacted.
pub(crate) fn address_rules(config: &Config) -> Result<AddressRules, StartError> {
    let mut rules = AddressRules::default();
    for network in &config.fetch.allow_networks {
        let parsed = network.parse();
        let parsed =
            parsed.map_err(|error| StartError::Network(format!("{network:?}: {error}")))?;
        rules.allowed.push(parsed);
    }
    Ok(rules)
}
