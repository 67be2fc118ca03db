//! What the servers saw, and what must not be.

use std::collections::HashMap;
use std::net::IpAddr;

use super::super::checks::{Broken, broken};
use super::super::web::Page;
use super::Real;
use fleet::identity::Unit;

#[derive(Clone, Copy, Debug)]
struct Asked {
    by: usize,
    ended: f64,
    under_way: bool,
}

/// The servers' record: it outlives all robots.
#[derive(Default)]
pub(super) struct Ledger {
    servers: HashMap<IpAddr, Asked>,
    hosts: HashMap<String, Asked>,
    visits: HashMap<Page, u32>,
    /// Who asked for a page last.
    visitors: HashMap<Page, usize>,
    /// Hosts that asked to be left alone, and until when.
    closed: HashMap<String, f64>,
}

impl Ledger {
    pub fn visits(&self, page: Page) -> u32 {
        self.visits.get(&page).copied().unwrap_or(0)
    }

    /// The page was had; whether it had been before.
    pub fn had(&mut self, page: Page) -> bool {
        let visits = self.visits.entry(page).or_default();
        *visits += 1;
        *visits > 1
    }

    /// Whether another asked for the page last time.
    pub fn moved_to(&mut self, page: Page, by: usize) -> bool {
        let last = self.visitors.insert(page, by);
        last.is_some_and(|last| last != by)
    }

    /// Whether the host's answer asks to be left alone: every third does, once, when it was asked before.
    pub fn wants_peace(&self, name: &str) -> bool {
        let number = name.trim_start_matches('h').split('.').next();
        let number: Option<u32> = number.and_then(|number| number.parse().ok());
        let visited = (self.visits.keys()).any(|page| Some(u32::from(page.host)) == number);
        visited && number.is_some_and(|n| n.is_multiple_of(3)) && !self.closed.contains_key(name)
    }

    pub fn leave_alone(&mut self, name: &str, until: f64) {
        self.closed.insert(name.to_owned(), until);
    }

    fn begin(
        &mut self,
        by: usize,
        name: &str,
        ip: IpAddr,
        at: f64,
        interval: f64,
    ) -> Result<(), Broken> {
        let check = |asked: Option<&Asked>, what: &str| match asked {
            Some(asked) if asked.under_way => broken(
                "W3 one request at a time",
                format!("{by} asks {what}, which {} is asking", asked.by),
            ),
            // clocks differ a little
            Some(asked) if at - asked.ended < interval * 0.998 - 2e-3 => broken(
                "W4 interval",
                format!(
                    "{by} asks {what} {:.3} s after {}",
                    at - asked.ended,
                    asked.by
                ),
            ),
            _ => Ok(()),
        };
        if let Some(&until) = self.closed.get(name).filter(|until| at < **until - 0.2) {
            let left = until - at;
            return broken(
                "W4 Retry-After",
                format!("{by} asks {name} {left:.1} s too soon"),
            );
        }
        check(self.servers.get(&ip), &ip.to_string())?;
        check(self.hosts.get(name), name)?;
        let begun = Asked {
            by,
            ended: f64::NEG_INFINITY,
            under_way: true,
        };
        self.servers.insert(ip, begun);
        self.hosts.insert(name.to_owned(), begun);
        Ok(())
    }

    pub fn end(&mut self, name: &str, ip: IpAddr, at: f64) {
        let all = [self.servers.get_mut(&ip), self.hosts.get_mut(name)];
        for asked in all.into_iter().flatten() {
            asked.ended = at;
            asked.under_way = false;
        }
    }
}

impl Real {
    /// A request leaves.
    pub(super) fn judge_request(
        &mut self,
        index: usize,
        name: &str,
        ip: IpAddr,
    ) -> Result<(), Broken> {
        self.report.requests += 1;
        if !matches!(ip, IpAddr::V4(v4) if v4.octets()[0] == 10) {
            return broken("W11 addresses", format!("{index} contacts {ip}"));
        }
        let unit = Unit::Server(ip);
        for (other, machine) in self.machines.iter().enumerate() {
            let Some(life) = &machine.life else { continue };
            let now = machine.clock(self.now);
            let seam = life.seam();
            let protocol = seam.protocol();
            let valid = protocol.lease_valid((now.at * 1e3) as u64);
            if other == index && !valid {
                return broken("W15 no lease, no request", format!("{index} asks {ip}"));
            }
            if other != index && valid && protocol.owned().any(|owned| owned == unit) {
                return broken(
                    "W1 one owner",
                    format!("{index} asks {ip}, which is {other}'s"),
                );
            }
        }
        self.checks
            .requested((self.now * 1e3) as u64, self.spec.budget)?;
        self.ledger
            .begin(index, name, ip, self.now, self.spec.interval)
    }
}
