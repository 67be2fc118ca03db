//! What is handed out to the workers, and how requests end.

use super::pages::Stage;
use super::{Keeper, TICK, Until};
use crate::clock::Now;
use crate::message::{Job, Of, Task, Visit};
use freshness::policy::Next;
use frontier::lines::Turn;
use frontier::order::Order;
use frontier::politeness::Answer;
use frontier::robots::{Fetched, Standing};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use storage::{HostId, PageId};

/// Visits that wait to be stored before no more work is given out.
const MOST_UNSTORED: usize = 512;
/// Due pages that may have their turn soon, for each connection: no more are taken while so many wait, or the
/// policy would lose its sense of time.
const DUE_PER_CONNECTION: usize = 4;

/// A job under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub host: HostId,
    aim: Aim,
    /// It uses the network still.
    open: bool,
}

/// What a job is for.
#[derive(Clone, Copy, Debug)]
enum Aim {
    Address,
    /// robots.txt of a host, which is another one after a redirect.
    Robots {
        of: HostId,
        address: IpAddr,
    },
    /// robots.txt of another robot's host.
    Favour {
        address: IpAddr,
    },
    Page {
        page: PageId,
        address: IpAddr,
    },
}

impl Ticket {
    /// The host whose robots.txt was asked for.
    pub fn of(&self) -> HostId {
        match self.aim {
            Aim::Robots { of, .. } => of,
            Aim::Address | Aim::Favour { .. } | Aim::Page { .. } => self.host,
        }
    }
}

/// All jobs under way.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    last: u64,
    jobs: HashMap<u64, Ticket>,
    /// Jobs that use the network.
    open: usize,
}

impl Tickets {
    fn open(&mut self, host: HostId, aim: Aim) -> u64 {
        self.last += 1;
        self.open += 1;
        let open = true;
        self.jobs.insert(self.last, Ticket { host, aim, open });
        self.last
    }

    /// A request ended: of which host, at which address. Only the first word of it counts.
    fn end(&mut self, ticket: u64) -> Option<(HostId, IpAddr)> {
        let job = self.jobs.get_mut(&ticket)?;
        let (Aim::Robots { address, .. } | Aim::Favour { address } | Aim::Page { address, .. }) =
            job.aim
        else {
            return None;
        };
        if !std::mem::take(&mut job.open) {
            return None;
        }
        self.open -= 1;
        Some((job.host, address))
    }

    /// The job is over.
    pub fn close(&mut self, ticket: u64) -> Option<Ticket> {
        let job = self.jobs.remove(&ticket)?;
        self.open -= usize::from(job.open);
        Some(job)
    }

    /// Requests under way to these hosts, which are sorted.
    pub fn requests_to(&self, hosts: &[HostId]) -> Vec<u64> {
        let is_theirs = |job: &Ticket| {
            let is_request = !matches!(job.aim, Aim::Address);
            job.open && is_request && hosts.binary_search(&job.host).is_ok()
        };
        let jobs = self.jobs.iter().filter(|(_, job)| is_theirs(job));
        jobs.map(|(&ticket, _)| ticket).collect()
    }

    /// Requests under way, and names being looked up.
    pub fn requests(&self) -> usize {
        self.open
    }

    /// Whether a job to one of these hosts is not over.
    pub fn any_to(&self, hosts: &[HostId]) -> bool {
        self.jobs.values().any(|job| hosts.contains(&job.host))
    }

    /// Visits that may still bring a page.
    pub fn visits(&self) -> usize {
        let visits = self.jobs.values();
        visits
            .filter(|job| matches!(job.aim, Aim::Page { .. }))
            .count()
    }

    /// Of some jobs that use the network, the hosts.
    pub fn hosts(&self, most: usize) -> Vec<HostId> {
        let open = self.jobs.values().filter(|job| job.open);
        open.take(most).map(|job| job.host).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

impl Keeper {
    /// Hands out what may be done now; says when there is more.
    pub(super) fn give_work(&mut self, now: Now) -> (Vec<Job>, f64) {
        let at = now.at;
        if self.status.paused {
            return (Vec::new(), at + TICK);
        }
        while let Some(page) = self.later.pop(at) {
            if self.pages.is_to_be_tried(page) {
                self.wait_in_line(page);
            }
        }
        let mut until = self.later.next().min(self.ask_policy(now));
        self.next_due = until;
        let mut jobs = Vec::new();
        while self.tickets.requests() < self.config.budget.connections
            && self.unstored < MOST_UNSTORED
            && self.is_within_limits(at)
        {
            match self.lines.next(at) {
                Turn::Idle => break,
                Turn::Wait(then) => {
                    until = until.min(then);
                    break;
                }
                // the fleet says where its hosts are
                Turn::Resolve(host) if self.fleet.is_some() => self.resolve_bound(at, host),
                turn => jobs.push(self.job(turn)),
            }
        }
        let until = if self.ends > at {
            until.min(self.ends)
        } else {
            until
        };
        (jobs, until)
    }

    fn job(&mut self, turn: Turn) -> Job {
        match turn {
            Turn::Idle | Turn::Wait(_) => unreachable!("nothing to do"),
            Turn::Resolve(host) => Job {
                ticket: self.tickets.open(host, Aim::Address),
                task: Task::Resolve {
                    name: self.hosts[host.index()].name.clone(),
                },
            },
            Turn::Robots { host, address } => {
                let known = &self.hosts[host.index()];
                Job {
                    ticket: self.tickets.open(host, Aim::Robots { of: host, address }),
                    task: Task::Robots {
                        url: known.robots_url(),
                        address,
                        hops: 0,
                        previous: known.standing.clone(),
                    },
                }
            }
            Turn::Errand {
                host,
                errand,
                address,
            } => {
                let (of, url, hops) = self.errands.remove(&errand).expect("given once");
                let (ticket, previous) = match of {
                    Of::Host(of) => {
                        let ticket = self.tickets.open(host, Aim::Robots { of, address });
                        (ticket, self.hosts[of.index()].standing.clone())
                    }
                    Of::Peer(of) => {
                        let ticket = self.tickets.open(host, Aim::Favour { address });
                        self.do_favour(ticket, of);
                        (ticket, None)
                    }
                };
                Job {
                    ticket,
                    task: Task::Robots {
                        url,
                        address,
                        hops,
                        previous,
                    },
                }
            }
            Turn::Visit {
                host,
                page,
                new,
                address,
            } => {
                self.asked += 1;
                self.pages.set(page, Stage::Away);
                let conditional = !new && self.may_be_conditional(host);
                let known = &self.hosts[host.index()];
                let visit = Visit {
                    page,
                    host,
                    new,
                    address,
                    standing: known.standing.clone().filter(|_| known.obeyed),
                    conditional,
                    requisite: self.requisites.has(page),
                };
                Job {
                    ticket: self.tickets.open(host, Aim::Page { page, address }),
                    task: Task::Visit(visit),
                }
            }
        }
    }

    /// Lets the policy say which pages are due; returns when it has more to say.
    fn ask_policy(&mut self, now: Now) -> f64 {
        let at = now.at;
        if self.until == Until::FetchedOnce {
            return f64::INFINITY;
        }
        let room = DUE_PER_CONNECTION * self.config.budget.connections.max(256);
        while self.lines.due_soon(at) < room {
            match self.revisits.next(at) {
                Next::Visit(page) => {
                    // it may have to wait for a day
                    self.tell_delay(now, self.pages.host(page));
                    if self.pages.is_due(page) {
                        self.wait_in_line(page);
                    }
                }
                Next::Wait(then) => return then,
                Next::Idle => return f64::INFINITY,
            }
        }
        f64::INFINITY
    }

    /// Puts a page that nobody has asked for yet where it waits for its host's turn.
    pub(super) fn wait_first(&mut self, page: PageId) {
        let host = self.pages.host(page);
        if !self.is_given_up(host) {
            self.pages.set(page, Stage::InLine);
            self.lines.count_new(host);
            self.push_first(host, page);
        }
    }

    /// Puts a page that was tried before where it waits for its host's turn.
    pub(super) fn wait_in_line(&mut self, page: PageId) {
        let host = self.pages.host(page);
        if self.is_given_up(host) {
            self.pages.set(page, Stage::Idle);
            return;
        }
        self.pages.set(page, Stage::InLine);
        if self.revisits.keeps(page) || self.requisites.has_copy(page) {
            self.lines.push_due(host, page);
        } else {
            self.push_first(host, page);
        }
    }

    /// Of a host's pages without a copy the first comes first; what pages embed comes with them.
    fn push_first(&mut self, host: HostId, page: PageId) {
        if self.requisites.has(page) {
            self.lines.push_part(host, page);
            return;
        }
        match self.config.budget.order_of_new {
            Order::Links | Order::Importance => {
                let rank = self.ranks.get(page.index()).copied().unwrap_or_default();
                self.lines.push_ranked(host, page, rank);
            }
            Order::Lasting => self.lines.push_lasting(host, page),
            Order::BreadthFirst | Order::LargestSite => self.lines.push_again(host, page),
        }
    }

    /// Somebody wants a page visited now: it goes before all others of its host.
    pub(super) fn hurry(&mut self, page: PageId) {
        if self.pages.is_wanted(page) {
            self.wait_in_line(page);
        }
        self.lines.hurry(self.pages.host(page), page);
    }

    /// The rules are others now: what they excluded may be allowed. Judging costs no request.
    pub(super) fn judge_again(&mut self) {
        let mut excluded: Vec<PageId> = self.excluded.drain().collect();
        excluded.sort_unstable();
        for page in excluded {
            if self.pages.is_due(page) {
                self.wait_in_line(page);
            }
        }
    }

    /// Tries the page again at `at`.
    pub(super) fn try_later(&mut self, at: f64, page: PageId) {
        self.pages.put_off(page);
        self.later.push(at, page);
    }

    pub(super) fn ended(&mut self, now: Now, ticket: u64, answer: Option<Answer>, bytes: u64) {
        let Some((host, address)) = self.tickets.end(ticket) else {
            return;
        };
        self.status.bytes += bytes;
        match answer {
            None => self.lines.unused(host, address),
            Some(answer) => {
                self.status.requests += 1;
                self.rate.count(now.at);
                self.lines.ended(host, address, now.at, answer, bytes);
                self.host_answered(now, host, answer);
            }
        }
    }

    /// The fleet let no request leave: everything waits where it waited before, until then.
    pub(super) fn barred(&mut self, now: Now, ticket: u64, until: f64) {
        if let Some((host, address)) = self.tickets.end(ticket) {
            self.lines.hold(host, until);
            self.lines.unused(host, address);
        }
        let Some(job) = self.tickets.close(ticket) else {
            return;
        };
        match job.aim {
            Aim::Address => self.resolved(now, job.host, Err(crate::cause::LOST)),
            Aim::Favour { .. } => self.end_favour(ticket),
            Aim::Page { page, .. } => self.wait_in_line(page),
            Aim::Robots { of, .. } => self.lines.without_robots(of, until),
        }
    }

    /// A worker fell over it: nothing came of the job.
    pub(super) fn lost(&mut self, now: Now, ticket: u64) {
        self.ended(now, ticket, Some(Answer::Silent), 0);
        let Some(job) = self.tickets.close(ticket) else {
            return;
        };
        self.count_failure(crate::cause::word(crate::cause::LOST));
        match job.aim {
            Aim::Address => self.resolved(now, job.host, Err(crate::cause::LOST)),
            // whoever asked asks again
            Aim::Favour { .. } => self.end_favour(ticket),
            Aim::Page { page, .. } => self.page_lost(now, page),
            Aim::Robots { of, .. } => {
                let previous = self.hosts[of.index()].standing.as_deref();
                let standing = Standing::after(previous, Fetched::Failure, None, now.at);
                self.robots_known(now, of, Arc::new(standing));
            }
        }
    }
}
