//! Where a crawl begins, and which of its seeds it could never fetch.

use crate::config::Config;
use crate::crawl::StartError;
use crate::seeds::SeedList;
use fetch::AddressRules;
use frontier::scope::{Judgement, Reason, Scope, Seed};
use std::fmt::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use url::{Host, Url};

/// So many seeds are named where none can be fetched.
const NAMED: usize = 5;
/// For those whose configuration is older than the meaning of `include`.
const INCLUDE: &str = "scope.include restricts what seeds reach; use scope.also to add more";

/// A seed that cannot be fetched with these settings, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barred {
    /// The seed.
    pub seed: Url,
    /// What bars it, and what to set.
    pub why: String,
}

impl fmt::Display for Barred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the seed {} is not fetched: {}", self.seed, self.why)
    }
}

/// The seeds that a crawl with these settings would never fetch.
pub fn barred(config: &Config) -> Result<Vec<Barred>, StartError> {
    find(config, &SeedList::of(config)?.read_all(config)?)
}

fn find(config: &Config, seeds: &[Seed]) -> Result<Vec<Barred>, StartError> {
    barred_of(config, seeds, seeds)
}

/// Those of some seeds that would never be fetched; all seeds together say what is in scope.
pub fn barred_of(config: &Config, all: &[Seed], some: &[Seed]) -> Result<Vec<Barred>, StartError> {
    let scope = Scope::new(&config.scope, all)?;
    let rules = crate::crawl::address_rules(config)?;
    let barred = some.iter().filter_map(|Seed { url: seed, .. }| {
        let why = out_of_scope(&scope, seed)
            .or_else(|| by_address(config, &scope, &rules, seed).map(|(_, why)| why))?;
        let seed = seed.clone();
        Some(Barred { seed, why })
    });
    Ok(barred.collect())
}

/// What bars a URL by the addresses that are known without asking anybody: the key, and the words.
pub fn refused_address(
    config: &Config,
    scope: &Scope,
    url: &Url,
) -> Result<Option<(&'static str, String)>, StartError> {
    let rules = crate::crawl::address_rules(config)?;
    Ok(by_address(config, scope, &rules, url))
}

/// Refuses settings by which nothing can ever be fetched.
pub(crate) fn check(config: &Config, seeds: &[Seed]) -> Result<(), StartError> {
    if let Some(all) = config
        .scope
        .types
        .deny
        .iter()
        .find(|kind| kind.trim().starts_with('*'))
    {
        let why = format!("scope.types.deny = [{all:?}] refuses every content type");
        return Err(StartError::NothingToFetch(why));
    }
    let all = |family: &str| config.scope.addresses.deny.iter().any(|net| net == family);
    if all("0.0.0.0/0") && all("::/0") {
        let why = "scope.addresses.deny refuses every address";
        return Err(StartError::NothingToFetch(why.into()));
    }
    let barred = find(config, seeds)?;
    if barred.is_empty() || barred.len() < seeds.len() {
        return Ok(());
    }
    let mut why = String::from("no seed can be fetched");
    for Barred { seed, why: cause } in barred.iter().take(NAMED) {
        let _ = write!(why, "\n  {seed}: {cause}");
    }
    if barred.len() > NAMED {
        let _ = write!(why, "\n  and {} more", barred.len() - NAMED);
    }
    Err(StartError::NothingToFetch(why))
}

fn out_of_scope(scope: &Scope, seed: &Url) -> Option<String> {
    match scope.judge(seed, 0) {
        Judgement::In => None,
        Judgement::Out(Reason::NotIncluded) => {
            Some(format!("out of scope: {} ({INCLUDE})", Reason::NotIncluded))
        }
        Judgement::Out(reason) => Some(format!("out of scope: {reason}")),
    }
}

fn by_address(
    config: &Config,
    scope: &Scope,
    rules: &AddressRules,
    seed: &Url,
) -> Option<(&'static str, String)> {
    let addresses = match seed.host()? {
        Host::Ipv4(address) => vec![address.into()],
        Host::Ipv6(address) => vec![IpAddr::from(address)],
        Host::Domain(name) => match config.fetch.hosts.get(name) {
            Some(addresses) if addresses.is_empty() => {
                let why = format!("fetch.hosts has no address for {name}");
                return Some(("fetch.hosts", why));
            }
            Some(addresses) => addresses.clone(),
            None if is_local(name) => vec![Ipv4Addr::LOCALHOST.into()],
            None => return None,
        },
    };
    let permitted: Vec<IpAddr> = addresses
        .iter()
        .copied()
        .filter(|a| rules.permits(*a))
        .collect();
    let Some(first) = permitted.first() else {
        return addresses
            .first()
            .map(|address| ("fetch.allow_networks", not_public(*address)));
    };
    if permitted
        .iter()
        .any(|address| scope.judge_address(*address).is_in())
    {
        return None;
    }
    match scope.judge_address(*first) {
        Judgement::In => None,
        Judgement::Out(reason) => Some(("scope.addresses", format!("out of scope: {reason}"))),
    }
}

/// Names that are this machine, wherever they are asked for (RFC 6761).
fn is_local(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

fn not_public(address: IpAddr) -> String {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    format!(
        "its address {address} is not public; --allow-private, or fetch.allow_networks = \
         [\"{address}/{bits}\"], allows it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<String> {
        let config = Config::parse(text).unwrap();
        let seeds = crate::seeds::read_all(&config.seeds).unwrap();
        check(&config, &seeds).err().map(|error| error.to_string())
    }

    #[test]
    fn settings_by_which_nothing_can_be_fetched_are_refused() {
        for (settings, word) in [
            ("scope.include = ['^https://other/']", "scope.also"),
            ("scope.exclude = ['example']", "scope.exclude: example"),
            ("scope.reach = 'nowhere'", "scope.also"),
            (
                "scope.domains.allow = ['example.com']",
                "scope.domains.allow",
            ),
            ("scope.paths.deny = ['/']", "scope.paths.deny: /"),
            ("scope.types.deny = ['*/*']", "scope.types.deny"),
            (
                "fetch.hosts = { 'www.example.org' = ['10.0.0.1'] }",
                "--allow-private",
            ),
            (
                "fetch.hosts = { 'www.example.org' = [] }",
                "fetch.hosts has no address",
            ),
            (
                "scope.addresses.deny = ['::/0', '0.0.0.0/0']",
                "scope.addresses.deny",
            ),
            (
                "scope.addresses.deny = ['198.0.0.0/8']\nfetch.hosts = { 'www.example.org' = ['198.1.1.1'] }",
                "scope.addresses.deny",
            ),
        ] {
            let text = format!("seeds = ['https://www.example.org/']\n{settings}");
            let said = refusal(&text).unwrap_or_else(|| panic!("{settings} is fine"));
            assert!(said.contains(word), "{settings}: {said}");
        }
        for seed in [
            "http://127.0.0.1/",
            "http://[::1]:80/",
            "http://localhost/",
            "http://10.1.2.3/",
        ] {
            let said = refusal(&format!("seeds = ['{seed}']")).unwrap();
            assert!(said.contains("--allow-private"), "{seed}: {said}");
            let allowed = "fetch.allow_networks = ['0.0.0.0/0', '::/0']";
            assert_eq!(refusal(&format!("seeds = ['{seed}']\n{allowed}")), None);
        }
    }

    #[test]
    fn one_seed_that_can_be_fetched_is_enough() {
        let text = "seeds = ['https://a.org/', 'https://b.org/x']\nscope.include = ['/x']";
        assert_eq!(refusal(text), None);
        let config = Config::parse(text).unwrap();
        let seeds = crate::seeds::read_all(&config.seeds).unwrap();
        let barred = find(&config, &seeds).unwrap();
        assert_eq!(barred.len(), 1);
        assert_eq!(barred[0].seed.as_str(), "https://a.org/");
        // a crawl that goes on has no need of seeds
        assert_eq!(refusal("scope.exclude = ['.']"), None);
    }
}
