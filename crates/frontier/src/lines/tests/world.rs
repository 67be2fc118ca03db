//! A web in virtual time that the lines are driven through, and its record.

use super::super::*;
use std::collections::HashMap;

/// A host of the web.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub name: String,
    /// Its addresses, told in turn; none when it has none.
    pub addresses: Vec<IpAddr>,
    /// Seconds for which an address holds, and a robots.txt.
    pub address_holds: f64,
    pub robots_hold: f64,
    pub crawl_delay: f64,
    /// Seconds an answer takes.
    pub takes: f64,
}

impl Server {
    /// One that answers at once and whose address and robots.txt hold for a day.
    pub fn new(name: &str, address: [u8; 4]) -> Self {
        Self {
            name: name.to_owned(),
            addresses: vec![IpAddr::from(address)],
            address_holds: 86_400.0,
            robots_hold: 86_400.0,
            crawl_delay: 0.0,
            takes: 0.02,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    Resolve,
    Robots,
    Visit(PageId),
}

/// What ends when.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    end: f64,
    host: HostId,
    address: Option<IpAddr>,
    task: Task,
}

/// Seconds a question for an address takes.
pub(super) const LOOKUP: f64 = 0.03;

pub(super) struct World {
    pub lines: Lines,
    pub now: f64,
    pub servers: Vec<Server>,
    /// Visits made to each host, and when; requests for robots.txt; questions for addresses.
    pub visits: Vec<Vec<(f64, PageId)>>,
    pub robots: Vec<u32>,
    pub lookups: Vec<u32>,
    rules: Rules,
    under_way: Vec<UnderWay>,
    last_end: HashMap<Result<IpAddr, HostId>, f64>,
    /// When rules were read, until when they hold, and the first visit by them.
    read: Vec<Option<(f64, f64)>>,
    steps: usize,
}

impl World {
    pub fn new(rules: Rules, opening: f64) -> Self {
        Self {
            lines: Lines::new(rules, opening),
            now: 0.0,
            servers: Vec::new(),
            visits: Vec::new(),
            robots: Vec::new(),
            lookups: Vec::new(),
            rules,
            under_way: Vec::new(),
            last_end: HashMap::new(),
            read: Vec::new(),
            steps: 0,
        }
    }

    pub fn add(&mut self, server: Server) -> HostId {
        let host = self.lines.add_host(&server.name, Courtesy::default(), 0.0);
        self.servers.push(server);
        self.visits.push(Vec::new());
        self.robots.push(0);
        self.lookups.push(0);
        self.read.push(None);
        host
    }

    /// Goes on until nothing is left or it is `until`; `follow` hears of every visit that ended.
    /// Stops with an error after so many steps, and where politeness is hurt.
    pub fn run(
        &mut self,
        until: f64,
        most_steps: usize,
        mut follow: impl FnMut(&mut Lines, HostId, PageId),
    ) -> Result<(), String> {
        while self.now < until {
            self.steps += 1;
            if self.steps > most_steps {
                return Err(format!("{most_steps} steps, and it is only {}", self.now));
            }
            let full = self.under_way.len() >= self.rules.connections;
            let turn = if full {
                Turn::Idle
            } else {
                self.lines.next(self.now)
            };
            let wait = match turn {
                Turn::Idle => f64::INFINITY,
                Turn::Wait(then) if then > self.now => then,
                Turn::Wait(then) => return Err(format!("waits until {then} at {}", self.now)),
                turn => {
                    self.begin(turn)?;
                    continue;
                }
            };
            let ends = |a: &UnderWay, b: &UnderWay| b.end.total_cmp(&a.end);
            self.under_way.sort_by(ends);
            match self.under_way.last() {
                Some(next) if next.end <= wait => {
                    self.now = self.now.max(next.end);
                    if self.now < until {
                        let ended = self.under_way.pop().expect("there is one");
                        self.end(ended, &mut follow);
                    }
                }
                _ if wait.is_finite() => self.now = wait,
                _ => break,
            }
        }
        Ok(())
    }

    fn begin(&mut self, turn: Turn) -> Result<(), String> {
        let (host, address, task) = match turn {
            Turn::Resolve(host) => (host, None, Task::Resolve),
            Turn::Robots { host, address } => (host, Some(address), Task::Robots),
            Turn::Visit {
                host,
                page,
                address,
                ..
            } => (host, Some(address), Task::Visit(page)),
            other => return Err(format!("{other:?} was not asked for")),
        };
        if let Some(address) = address {
            self.must_be_polite(host, address)?;
        }
        let known = &mut self.read[host.index()];
        match task {
            Task::Resolve => self.lookups[host.index()] += 1,
            Task::Robots => self.robots[host.index()] += 1,
            Task::Visit(page) => {
                let Some((until, first)) = known else {
                    return Err(format!("host {host:?} visited without robots.txt"));
                };
                *first = first.min(self.now);
                if self.now >= *until && self.now > *first + 60.0 {
                    return Err(format!("host {host:?} visited by old rules"));
                }
                self.visits[host.index()].push((self.now, page));
            }
        }
        let takes = match task {
            Task::Resolve => LOOKUP,
            _ => self.servers[host.index()].takes,
        };
        self.under_way.push(UnderWay {
            end: self.now + takes,
            host,
            address,
            task,
        });
        Ok(())
    }

    /// W3 and W4.
    fn must_be_polite(&self, host: HostId, at: IpAddr) -> Result<(), String> {
        let interval = self.rules.interval.seconds(1, 0.0);
        let parallel = usize::from(self.rules.parallel);
        let same_host = self.under_way.iter().filter(|other| other.host == host);
        let same_address = (self.under_way.iter()).filter(|other| other.address == Some(at));
        if same_host.count() >= parallel || same_address.count() >= parallel {
            return Err(format!("two at a time at {at} or host {host:?}"));
        }
        let delay = match self.read[host.index()] {
            Some(_) => interval.max(self.servers[host.index()].crawl_delay),
            None => interval,
        };
        for (key, gap) in [(Err(host), delay), (Ok(at), interval)] {
            if let Some(end) = self.last_end.get(&key)
                && self.now < end + gap - 1e-6
            {
                return Err(format!("{key:?} asked {} s after {end}", self.now - end));
            }
        }
        Ok(())
    }

    fn end(&mut self, ended: UnderWay, follow: &mut impl FnMut(&mut Lines, HostId, PageId)) {
        let UnderWay { host, task, .. } = ended;
        let (now, server) = (self.now, &self.servers[host.index()]);
        let Some(address) = ended.address else {
            let told = self.lookups[host.index()] as usize;
            let address = server.addresses.get(told % server.addresses.len().max(1));
            let found = address.map(|&address| (address, Seconds(server.address_holds)));
            return self.lines.resolved(host, now, found);
        };
        let answer = Answer::Fine {
            seconds: server.takes,
        };
        if task == Task::Robots {
            let until = now + server.robots_hold;
            self.read[host.index()] = Some((until, f64::INFINITY));
            let delay = Seconds(server.crawl_delay);
            self.lines.set_robots(host, now, until, delay);
        }
        self.lines.ended(host, address, now, answer, 100);
        self.last_end.insert(Err(host), now);
        self.last_end.insert(Ok(address), now);
        if let Task::Visit(page) = task {
            follow(&mut self.lines, host, page);
        }
    }

    /// Visits made in all, and requests for robots.txt.
    pub fn totals(&self) -> (usize, usize) {
        let visits = self.visits.iter().map(Vec::len).sum();
        (visits, self.robots.iter().sum::<u32>() as usize)
    }
}
