//! What the keeper knows of hosts, and keeps across restarts.

use super::Keeper;
use crate::clock::Now;
use crate::message::{Found, Of, Write};
use frontier::key::parse_link;
use frontier::politeness::{Answer, Courtesy};
use frontier::retry_after;
use frontier::robots::{Fetched, Standing, Verdict};
use frontier::trap::Halved;
use ground::Seconds;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use storage::HostId;
use url::Url;

/// A delay that differs by more than this share is told to the policy.
const TOLD_WITHIN: f64 = 0.25;
/// An interval of zero would promise endless visits.
const LEAST_INTERVAL: f64 = 1e-4;
/// The least share of turns that is taken to be left to revisits where new pages wait.
const LEAST_LEFT: f64 = 0.01;

#[derive(Debug)]
pub(super) struct Host {
    /// Scheme, name and port.
    pub origin: String,
    /// What DNS is asked for.
    pub name: String,
    pub standing: Option<Arc<Standing>>,
    validators: Validators,
    /// Why no address was found, the last time one was sought.
    pub no_address: Option<u8>,
    /// Why its robots.txt was not had, the last time it was asked for.
    pub no_robots: Option<u8>,
    /// Whether its robots.txt is obeyed.
    pub obeyed: bool,
    /// Every Nth conditional request to it is made without conditions.
    pub audit_every: u32,
    /// The delay the policy knows.
    told: f64,
    /// Tries of its address or robots.txt that failed, requests in a row that brought nothing but
    /// trouble, and whether it was given up for them.
    pub failures: u16,
    pub trouble: u16,
    pub given_up: bool,
}

/// All but the first of so many revisits are tests of a host's validators, until they are proven.
pub const FIRST_TESTS: u32 = 5;

/// How far a host's validators can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validators {
    /// They never said "changed" in so many revisits.
    Unproven(u32),
    /// They were seen to change with a page.
    Proven,
    /// They were found to say "unchanged" of what had changed.
    Lying,
}

impl Validators {
    fn of(kept: &KeptHost) -> Self {
        match kept.unproven {
            _ if kept.lies => Self::Lying,
            _ if kept.proven => Self::Proven,
            revisits => Self::Unproven(revisits),
        }
    }
}

impl Host {
    pub fn robots_url(&self) -> Url {
        let url = Url::parse(&self.origin).and_then(|origin| origin.join("/robots.txt"));
        url.unwrap_or_else(|_| Url::parse("http://invalid/robots.txt").expect("a URL"))
    }
}

/// What is stored of a host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct KeptHost {
    /// How it is to be spared.
    pub courtesy: Courtesy,
    /// Its robots.txt.
    pub standing: Option<Standing>,
    /// Its validators were found to say "unchanged" of what had changed.
    #[serde(default)]
    pub lies: bool,
    /// They were seen to change with a page.
    #[serde(default)]
    pub proven: bool,
    /// Revisits while they were not.
    #[serde(default)]
    pub unproven: u32,
    /// Where near-duplicates lowered the caps of traps.
    #[serde(default)]
    pub halved: Vec<Halved>,
    /// Why no address was found, the last time one was sought.
    #[serde(default)]
    pub no_address: Option<u8>,
    /// Why its robots.txt was not had, the last time it was asked for.
    #[serde(default)]
    pub no_robots: Option<u8>,
}

impl Keeper {
    /// Adds the next host, with what was stored of it before.
    pub(super) fn add_host(&mut self, now: Now, origin: &str, blob: &[u8]) {
        let kept: KeptHost = serde_json::from_slice(blob).unwrap_or_default();
        let mut courtesy = kept.courtesy;
        let invalid = || Url::parse("http://invalid/").expect("a URL");
        let url = Url::parse(origin).unwrap_or_else(|_| invalid());
        let name = url.host_str().unwrap_or("invalid");
        let terms = self.rules.overrides.host(&url);
        if !blob.is_empty() {
            courtesy.restarted(terms.interval, 1, now.at);
        }
        let robots_until = match &kept.standing {
            _ if !terms.robots => f64::INFINITY,
            Some(standing) => standing.expires,
            None => 0.0,
        };
        let number = self.lines.add_host(name, courtesy, robots_until);
        let hours = self.hours_number(now, terms.hours);
        self.lines.set_manners(number, terms.manners(hours));
        if let Some(standing) = &kept.standing
            && standing.verdict == Verdict::DisallowForNow
            && terms.robots
        {
            self.lines.without_robots(number, standing.expires);
        }
        let told = self.delay(now, number);
        let validators = Validators::of(&kept);
        self.hosts.push(Host {
            origin: origin.to_owned(),
            name: name
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned(),
            standing: kept.standing.map(Arc::new),
            validators,
            no_address: kept.no_address,
            no_robots: kept.no_robots,
            obeyed: terms.robots,
            audit_every: terms.audit_every,
            told,
            failures: 0,
            trouble: 0,
            given_up: false,
        });
        self.status.hosts += 1;
        self.revisits.add_host(now.at, Seconds(told));
        self.bar_until_ours(number);
    }

    /// A host's address was sought.
    pub(super) fn resolved(&mut self, now: Now, host: HostId, sought: Result<(IpAddr, f64), u8>) {
        if let Err(cause) = sought {
            self.count_failure_of_host(cause);
        }
        self.address_sought(host, sought.err());
        let found = self.same_address_for_same_name(host, now.at, sought.ok());
        if found.is_none() {
            self.robots_out_of_reach(now, host);
        }
        let found = found.map(|(address, seconds)| (address, Seconds(seconds)));
        self.lines.resolved(host, now.at, found);
        if let Err(cause) = sought {
            self.address_failed(host, cause);
        }
    }

    /// http and https of one name, or two of its ports, must not be taken for two servers because
    /// DNS named its addresses in another order.
    fn same_address_for_same_name(
        &mut self,
        host: HostId,
        at: f64,
        found: Option<(IpAddr, f64)>,
    ) -> Option<(IpAddr, f64)> {
        let (address, seconds) = found?;
        let name = &self.hosts[host.index()].name;
        match self.addresses.get(name) {
            Some(&(known, until)) if until > at => Some((known, until - at)),
            _ => {
                self.addresses.insert(name.clone(), (address, at + seconds));
                Some((address, seconds))
            }
        }
    }

    pub(super) fn robots_known(&mut self, now: Now, of: HostId, standing: Arc<Standing>) {
        let rules = standing.rules();
        let agent = &self.config.identity.agent;
        let delay = rules
            .and_then(|rules| rules.crawl_delay(agent))
            .unwrap_or(0.0);
        // whoever asks for days does not want to be crawled slowly, but not at all
        let delay = delay.clamp(0.0, retry_after::LONGEST);
        self.admit_sitemaps(now, of, rules);
        if standing.verdict == Verdict::DisallowForNow {
            let again = now.at + self.host_failed(of, standing.expires - now.at);
            self.lines.without_robots(of, again);
        } else {
            self.lines
                .set_robots(of, now.at, standing.expires, Seconds(delay));
        }
        self.hosts[of.index()].standing = Some(standing);
        self.save_host(of);
        self.tell_delay(now, of);
    }

    fn admit_sitemaps(&mut self, now: Now, of: HostId, rules: Option<&frontier::robots::Rules>) {
        let origin = Url::parse(&self.hosts[of.index()].origin).ok();
        let sitemaps: Vec<Found> = rules
            .map(frontier::robots::Rules::sitemaps)
            .unwrap_or_default()
            .iter()
            .filter_map(|sitemap| {
                let url = parse_link(origin.as_ref()?, sitemap).ok()?;
                let is_in = self.rules.scope().judge(&url, 0).is_in();
                is_in.then(|| self.rules.given(url, now.wall))
            })
            .collect();
        if !sitemaps.is_empty() {
            self.unstored += 1;
            self.writes.push(Write::Links(sitemaps));
        }
    }

    /// robots.txt files that were redirected to a host without an address cannot be had.
    fn robots_out_of_reach(&mut self, now: Now, host: HostId) {
        for errand in self.lines.drop_errands(host) {
            let Some((Of::Host(of), ..)) = self.errands.remove(&errand) else {
                continue;
            };
            let previous = self.hosts[of.index()].standing.as_deref();
            let standing = Standing::after(previous, Fetched::Failure, None, now.at);
            self.robots_known(now, of, Arc::new(standing));
        }
    }

    pub(super) fn host_answered(&mut self, now: Now, host: HostId, answer: Answer) {
        if matches!(answer, Answer::Fine { .. }) {
            self.hosts[host.index()].trouble = 0;
        } else {
            // what it asked for must outlive us
            self.save_host(host);
            self.host_in_trouble(host);
        }
        self.tell_delay(now, host);
    }

    pub(super) fn validators_judged(&mut self, host: HostId, liar: bool) {
        let known = &mut self.hosts[host.index()];
        let judged = if liar || known.validators == Validators::Lying {
            Validators::Lying
        } else {
            Validators::Proven
        };
        if judged != known.validators {
            if liar {
                tracing::info!(host = known.origin, "its validators lie");
            }
            known.validators = judged;
            self.save_host(host);
        }
    }

    /// Whether the next revisit to a host may ask for changes only. Validators that never said "changed" yet are put
    /// to the test soon and then ever more seldom: what a liar calls unchanged would teach that nothing changes.
    pub(super) fn may_be_conditional(&mut self, host: HostId) -> bool {
        let known = &mut self.hosts[host.index()];
        let is_test = match &mut known.validators {
            Validators::Lying => return false,
            Validators::Proven => false,
            Validators::Unproven(many) => {
                *many = many.saturating_add(1);
                *many > 1 && (*many <= FIRST_TESTS || many.is_power_of_two())
            }
        };
        let audit = u64::from(known.audit_every.max(1));
        if is_test {
            self.save_host(host);
        }
        !is_test && !self.asked.is_multiple_of(audit)
    }

    /// Whoever asks why a page was never fetched must find the reason.
    fn address_sought(&mut self, host: HostId, failed: Option<u8>) {
        if self.hosts[host.index()].no_address != failed {
            self.hosts[host.index()].no_address = failed;
            self.save_host(host);
        }
    }

    /// From one request to the next: they take their time besides the interval. A host that must be left alone
    /// for longer gets no more visits than that allows, or it would use up what others could have.
    fn delay(&self, now: Now, host: HostId) -> f64 {
        let courtesy = self.lines.courtesy(host);
        let opens = self.opens(now, host).map_or(0.0, |(_, opens)| opens);
        (self.lines.interval(host) + courtesy.response)
            .max(courtesy.not_before.max(opens) - now.at)
            .max(LEAST_INTERVAL)
    }

    /// Lets the policy know how often the host may be asked, if that is news.
    pub(super) fn tell_delay(&mut self, now: Now, host: HostId) {
        let mut delay = self.delay(now, host);
        if self.lines.waiting_at(host).0 > 0 {
            // new pages have their share of the turns
            let left = 1.0 - self.config.budget.share_of_new;
            delay /= left.max(LEAST_LEFT);
        }
        let known = &mut self.hosts[host.index()];
        if (delay / known.told - 1.0).abs() > TOLD_WITHIN {
            known.told = delay;
            self.revisits.set_delay(now.at, host, Seconds(delay));
        }
    }

    /// What another robot knew of the host counts from now on.
    pub(super) fn adopt_host(&mut self, now: Now, host: HostId, kept: KeptHost) {
        let obeyed = self.hosts[host.index()].obeyed;
        let validators = Validators::of(&kept);
        let robots_until = match &kept.standing {
            _ if !obeyed => f64::INFINITY,
            Some(standing) => standing.expires,
            None => 0.0,
        };
        self.lines.adopt(host, kept.courtesy, robots_until);
        let known = &mut self.hosts[host.index()];
        known.standing = kept.standing.map(Arc::new);
        known.validators = validators;
        known.no_address = kept.no_address;
        known.no_robots = kept.no_robots;
        if let Some(standing) = &known.standing
            && standing.verdict == Verdict::DisallowForNow
            && obeyed
        {
            let until = standing.expires;
            self.lines.without_robots(host, until);
        }
        self.tell_delay(now, host);
    }

    pub(super) fn save_host(&mut self, host: HostId) {
        let known = &self.hosts[host.index()];
        let kept = KeptHost {
            courtesy: *self.lines.courtesy(host),
            standing: known.standing.as_deref().cloned(),
            lies: known.validators == Validators::Lying,
            proven: known.validators == Validators::Proven,
            unproven: match known.validators {
                Validators::Unproven(revisits) => revisits,
                _ => 0,
            },
            no_address: known.no_address,
            no_robots: known.no_robots,
            // the archivist's own affair
            halved: Vec::new(),
        };
        let kept = Box::new(kept);
        self.writes.push(Write::Host { host, kept });
    }

    /// At the end: when each host may be asked again.
    pub(super) fn save_hosts(&mut self, at: f64) {
        for host in self.lines.hosts() {
            if self.lines.courtesy(host).not_before > at {
                self.save_host(host);
            }
        }
    }
}
