//! The thread that drives the keeper: passes on what it wants done, and what it is to hear.

use crate::clock::{Clock, Now};
use crate::courier::Courier;
use crate::keeper::{Actions, Keeper};
use crate::message::{Event, Job, Task, Write};
use crate::steering::Steering;
use crate::view::{Allowance, HostView, PageWait, Status};
use crate::visit::{Watched, Workers};
use crate::webhooks::Webhooks;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// With more requests under way than this, answers are let gather for so long: waking up for every
/// single one would cost more than the answers.
const BUSY: usize = 16;
const GATHERING: Duration = Duration::from_micros(300);
/// Nothing is waited for longer, so that figures stay fresh; they are found anew so often, and less often where
/// there are so many hosts that it would take more than a hundredth of the time.
const LONGEST_WAIT: f64 = 0.25;
const FIGURES: f64 = 1.0;
const FIGURES_SHARE: f64 = 0.01;
const LONGEST_FIGURES: f64 = 20.0;

/// What reaches the thread.
#[derive(Debug)]
pub(crate) enum Heard {
    Event(Event),
    Ask(Question),
    Stop,
}

/// What others may ask.
#[derive(Debug)]
pub(crate) enum Question {
    Status(Sender<Status>),
    Hosts(Sender<Vec<HostView>>),
    Page(storage::PageId, Sender<PageWait>),
    /// Visit this page now; why not, if it is not to be.
    Visit(String, Sender<Result<(), String>>),
    /// The list of seeds is another one.
    Seeds(Sender<Result<usize, String>>),
    /// Wait, or go on.
    Pause(bool, Sender<Result<(), String>>),
    /// Other budgets, until the end.
    Budget(Allowance, Sender<Result<(), String>>),
}

/// The keeper and its hands.
pub(crate) struct Driver {
    pub keeper: Keeper,
    pub clock: Clock,
    pub heard: Receiver<Heard>,
    /// For a worker that fell.
    pub teller: Sender<Heard>,
    pub archivist: Sender<Write>,
    pub runtime: Handle,
    pub workers: Arc<Workers>,
    /// Requests under way.
    pub watched: HashMap<u64, Arc<Watched>>,
    pub steering: Steering,
    pub webhooks: Option<Webhooks>,
    /// Only in a fleet.
    pub courier: Option<Arc<Courier>>,
    pub shown: Arc<Mutex<Status>>,
}

impl Driver {
    /// Works until it is told to stop, nothing is left, or something broke.
    pub fn run(&mut self) {
        let mut events = Vec::new();
        let mut next_figures = 0.0;
        loop {
            let now = self.clock.now();
            let actions = self.keeper.step(now, events.drain(..));
            let until = actions.until;
            self.act(actions);
            if let Some(courier) = &self.courier {
                courier.set_load(self.keeper.wanted(), self.keeper.is_quiet());
            }
            if now.at >= next_figures {
                let began = self.clock.now().at;
                self.show(now);
                let took = self.clock.now().at - began;
                next_figures = now.at + (took / FIGURES_SHARE).clamp(FIGURES, LONGEST_FIGURES);
            }
            if self.keeper.is_done() {
                return;
            }
            if self.keeper.requests() > BUSY {
                std::thread::sleep(GATHERING);
            }
            let wait = (until - self.clock.now().at).clamp(0.0, LONGEST_WAIT);
            match self.heard.recv_timeout(Duration::from_secs_f64(wait)) {
                Ok(first) => {
                    let more = self.heard.try_iter();
                    let heard: Vec<Heard> = std::iter::once(first).chain(more).collect();
                    let mut stop = false;
                    for heard in heard {
                        match heard {
                            Heard::Event(event) => {
                                self.unwatch(&event);
                                events.push(event);
                            }
                            Heard::Ask(question) => self.answer(question),
                            // what was heard with it counts still
                            Heard::Stop => stop = true,
                        }
                    }
                    if stop {
                        self.keeper.hear(self.clock.now(), events);
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Hears how the requests under way end, for what a server asks for now holds after a restart
    /// too, and has written down all that must be known then.
    pub fn end(&mut self, patience: Instant) {
        while self.keeper.is_waiting() {
            let left = patience.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(Heard::Event(event)) => self.keeper.hear(self.clock.now(), [event]),
                Ok(Heard::Ask(question)) => self.answer(question),
                Ok(Heard::Stop) => {}
                Err(_) => break,
            }
        }
        for write in self.keeper.close(self.clock.now()) {
            let _ = self.archivist.send(write);
        }
    }

    /// The last figures, when all others have ended; or what broke.
    pub fn settle(self) -> Result<(), String> {
        let events = self.heard.try_iter().filter_map(|heard| match heard {
            Heard::Event(event) => Some(event),
            Heard::Ask(_) | Heard::Stop => None,
        });
        let status = self.keeper.settle(self.clock.now(), events)?;
        if let Ok(mut shown) = self.shown.lock() {
            *shown = status;
        }
        Ok(())
    }

    fn act(&mut self, actions: Actions) {
        for write in actions.writes {
            // the archivist is gone only if something broke, and said so
            let _ = self.archivist.send(write);
        }
        for job in actions.jobs {
            let watched = Arc::new(Watched::new());
            if !matches!(job.task, Task::Resolve { .. }) {
                self.watched.insert(job.ticket, watched.clone());
            }
            let work = work(self.workers.clone(), self.teller.clone(), job, watched);
            self.runtime.spawn(work);
        }
        for ticket in actions.give_up {
            if let Some(watched) = self.watched.get(&ticket) {
                watched.give_up();
            }
        }
        if !actions.measure.is_empty() {
            let measure = |&ticket: &u64| Some(self.watched.get(&ticket)?.progress(ticket));
            let told = actions.measure.iter().filter_map(measure).collect();
            let _ = self.teller.send(Heard::Event(Event::Measured(told)));
        }
    }

    /// A request that has ended needs no watching.
    fn unwatch(&mut self, event: &Event) {
        if let Event::Ended { ticket, .. } | Event::Lost { ticket } = event {
            self.watched.remove(ticket);
        }
    }

    fn show(&mut self, now: Now) {
        if let Ok(mut shown) = self.shown.lock() {
            shown.clone_from(self.keeper.status_at(now));
            shown.webhooks = self
                .webhooks
                .as_ref()
                .map(Webhooks::views)
                .unwrap_or_default();
        }
    }

    fn answer(&mut self, question: Question) {
        let now = self.clock.now();
        // whoever asked may have gone
        let _ = match question {
            Question::Status(reply) => {
                let webhooks = self
                    .webhooks
                    .as_ref()
                    .map(Webhooks::views)
                    .unwrap_or_default();
                let status = self.keeper.status_at(now).clone();
                reply.send(Status { webhooks, ..status }).is_ok()
            }
            Question::Hosts(reply) => reply.send(self.keeper.hosts(now)).is_ok(),
            Question::Page(page, reply) => reply.send(self.keeper.page(now, page)).is_ok(),
            Question::Visit(url, reply) => {
                let wanted = self.steering.visit(&url, now.wall);
                reply
                    .send(self.hear(wanted.map(|event| (event, ()))))
                    .is_ok()
            }
            Question::Seeds(reply) => {
                let changed = self.steering.look_at_seeds(now.wall);
                reply.send(self.hear(changed)).is_ok()
            }
            Question::Pause(paused, reply) => {
                let event = Event::Paused(paused);
                reply.send(self.hear(Ok((event, ())))).is_ok()
            }
            Question::Budget(allowance, reply) => {
                let budgets = allowance.read().map_err(|error| error.to_string());
                let event = budgets.map(|budgets| (Event::Budgets(budgets), ()));
                reply.send(self.hear(event)).is_ok()
            }
        };
    }

    /// What somebody wants is heard like all else.
    fn hear<T>(&self, wanted: Result<(Event, T), String>) -> Result<T, String> {
        let (event, answer) = wanted?;
        let gone = |_| "the crawl has ended".to_owned();
        self.teller.send(Heard::Event(event)).map_err(gone)?;
        Ok(answer)
    }
}

/// Does a job; if the worker falls over it, the keeper hears of that.
async fn work(workers: Arc<Workers>, teller: Sender<Heard>, job: Job, watched: Arc<Watched>) {
    struct Guard(Sender<Heard>, Option<u64>);
    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(ticket) = self.1 {
                let _ = self.0.send(Heard::Event(Event::Lost { ticket }));
            }
        }
    }
    let mut guard = Guard(teller, Some(job.ticket));
    let event = workers.work(job, &watched).await;
    guard.1 = None;
    let _ = guard.0.send(Heard::Event(event));
}
