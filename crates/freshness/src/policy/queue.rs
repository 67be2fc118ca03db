//! Due times of pages by server, and which server can be asked next.
//!
//! Every policy that thinks in due times shares these: the pages of each server, and one heap of
//! servers above them.

mod agenda;
mod pages;

pub(super) use agenda::Agenda;
pub(super) use pages::DuePages;

use crate::{PageId, ServerId};

/// A page and when it is due. Sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Due {
    pub at: f64,
    pub page: PageId,
    /// What is added to `at` after a visit, for schedules that keep to a period.
    pub period: f32,
}

/// Pages by due time, served no faster than each server's delay allows.
#[derive(Clone, Debug)]
pub(super) struct DueQueues {
    servers: Vec<Server>,
    agenda: Agenda,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Server {
    pages: DuePages,
    delay: f64,
    /// When it was last asked.
    asked: f64,
    /// Asked whenever it may be, whether its first page is due or not.
    eager: bool,
}

impl Server {
    fn new(delay: f64) -> Self {
        Self {
            pages: DuePages::default(),
            delay,
            asked: f64::NEG_INFINITY,
            eager: false,
        }
    }

    /// The instant from which on it may be asked.
    fn free(&self) -> f64 {
        if self.delay > 0.0 {
            self.asked + self.delay
        } else {
            // always free, so that its pages keep their order among those of other servers
            f64::NEG_INFINITY
        }
    }

    /// When it wants attention.
    fn wanted(&self) -> f64 {
        match self.pages.first() {
            None => f64::INFINITY,
            Some(_) if self.eager => self.free(),
            Some(due) => due.at.max(self.free()),
        }
    }
}

impl DueQueues {
    pub fn new(delay: &[f64]) -> Self {
        Self {
            servers: delay.iter().map(|&delay| Server::new(delay)).collect(),
            agenda: Agenda::new(vec![f64::INFINITY; delay.len()]),
        }
    }

    /// Replaces the pages of all servers.
    pub fn fill(&mut self, entries: Vec<Vec<Due>>) {
        for (server, entries) in self.servers.iter_mut().zip(entries) {
            server.pages = DuePages::new(entries);
        }
        self.agenda = Agenda::new(self.servers.iter().map(Server::wanted).collect());
    }

    /// The page to visit next, its server, and the instant from which on it may be visited.
    pub fn first(&self) -> Option<(Due, ServerId, f64)> {
        let (server, at) = self.agenda.first()?;
        Some((self.servers[server.index()].pages.first()?, server, at))
    }

    /// The first page of `server` was visited at `now` and is next due as given, or nevermore.
    pub fn visited(&mut self, server: ServerId, now: f64, next: Option<Due>) {
        self.update(server, |server| {
            server.asked = now;
            match next {
                Some(due) => server.pages.replace_first(due),
                None => {
                    server.pages.pop();
                }
            }
        });
    }

    pub fn push(&mut self, server: ServerId, due: Due) {
        self.update(server, |server| server.pages.push(due));
    }

    pub fn remove(&mut self, server: ServerId, page: PageId) -> Option<Due> {
        self.update(server, |server| server.pages.remove(page))
    }

    /// Sets a server's delay; one past the last adds a server.
    pub fn set_delay(&mut self, server: ServerId, delay: f64) {
        if server.index() == self.servers.len() {
            self.servers.push(Server::new(delay));
        }
        self.update(server, |server| server.delay = delay);
    }

    /// The pages of each server.
    pub fn servers(&self) -> impl Iterator<Item = &DuePages> {
        self.servers.iter().map(|server| &server.pages)
    }

    /// The instant from which on the server may be asked.
    pub fn free(&self, server: ServerId) -> f64 {
        self.servers[server.index()].free()
    }

    /// Makes a server eager or not.
    pub fn set_eager(&mut self, server: ServerId, eager: bool) {
        if self.servers[server.index()].eager != eager {
            self.update(server, |server| server.eager = eager);
        }
    }

    fn update<T>(&mut self, id: ServerId, change: impl FnOnce(&mut Server) -> T) -> T {
        let server = &mut self.servers[id.index()];
        let result = change(server);
        let wanted = server.wanted();
        self.agenda.set(id, wanted);
        result
    }
}
