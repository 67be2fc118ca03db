//! What the servers see: requests as they begin and end, and whether they come too soon.

use std::collections::HashMap;
use std::net::IpAddr;

/// The instant at which the last request ended, and how many are under way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    ended: f64,
    under_way: u32,
}

/// The servers' record. It outlives the robot.
#[derive(Debug, Default)]
pub(super) struct Record {
    hosts: HashMap<usize, Asked>,
    addresses: HashMap<IpAddr, Asked>,
    /// Until when hosts asked to be left alone, as far as that is on the robot's disk.
    promised: HashMap<usize, f64>,
    /// For each page, when it was asked for.
    pub visits: HashMap<usize, Vec<f64>>,
    pub requests: u64,
    pub robots: u64,
}

impl Asked {
    /// What politeness says to a request at this instant.
    fn check(self, at: f64, interval: f64) -> Result<(), String> {
        let gap = at - self.ended;
        if self.under_way > 0 {
            Err("a second request at a time".into())
        } else if gap < interval - 1e-5 {
            Err(format!(
                "a request after {gap:.6} s instead of {interval} s"
            ))
        } else {
            Ok(())
        }
    }
}

impl Record {
    /// A request begins; what is wrong with it, if something is.
    pub fn begin(&mut self, host: usize, ip: IpAddr, at: f64, interval: f64) -> Result<(), String> {
        self.requests += 1;
        if let Some(&until) = self.promised.get(&host)
            && at < until - 1e-3
        {
            let early = until - at;
            return Err(format!(
                "host {host} is asked {early:.1} s before it allowed it"
            ));
        }
        if let Some(asked) = self.hosts.get(&host) {
            let checked = asked.check(at, interval);
            checked.map_err(|what| format!("W3, W4: host {host}: {what}"))?;
        }
        if let Some(asked) = self.addresses.get(&ip) {
            let checked = asked.check(at, interval);
            checked.map_err(|what| format!("W3, W4: {ip}: {what}"))?;
        }
        let begun = Asked {
            ended: f64::NEG_INFINITY,
            under_way: 1,
        };
        self.hosts.insert(host, begun);
        self.addresses.insert(ip, begun);
        Ok(())
    }

    /// A request ended.
    pub fn end(&mut self, host: usize, ip: IpAddr, at: f64) {
        let ended = Asked {
            ended: at,
            under_way: 0,
        };
        self.hosts.insert(host, ended);
        self.addresses.insert(ip, ended);
    }

    /// The robot knows for good that the host is to be left alone until then.
    pub fn promise(&mut self, host: usize, until: f64) {
        self.promised.insert(host, until);
    }

    /// The robot is dead: all its connections are closed.
    pub fn hang_up(&mut self, at: f64) {
        let all = self.hosts.values_mut().chain(self.addresses.values_mut());
        for asked in all.filter(|asked| asked.under_way > 0) {
            *asked = Asked {
                ended: at,
                under_way: 0,
            };
        }
    }
}
