//! The thread that drives the keeper: passes on what it wants done, and what it is to hear.

use crate::clock::{Clock, Now};
use crate::keeper::{Actions, Keeper};
use crate::message::{Event, Job, Write};
use crate::view::{HostView, PageWait, Status};
use crate::visit::Workers;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// With more requests under way than this, answers are let gather for so long: waking up for every
/// single one would cost more than the answers.
const BUSY: usize = 16;
const GATHERING: Duration = Duration::from_micros(300);
/// Nothing is waited for longer, so that figures stay fresh; they are found anew so often.
const LONGEST_WAIT: f64 = 0.25;
const FIGURES: f64 = 1.0;

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
            if now.at >= next_figures {
                next_figures = now.at + FIGURES;
                self.show(now);
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
                            Heard::Event(event) => events.push(event),
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

    fn act(&self, actions: Actions) {
        for write in actions.writes {
            // the archivist is gone only if something broke, and said so
            let _ = self.archivist.send(write);
        }
        for job in actions.jobs {
            let work = work(self.workers.clone(), self.teller.clone(), job);
            self.runtime.spawn(work);
        }
    }

    fn show(&mut self, now: Now) {
        if let Ok(mut shown) = self.shown.lock() {
            shown.clone_from(self.keeper.status_at(now));
        }
    }

    fn answer(&mut self, question: Question) {
        let now = self.clock.now();
        // whoever asked may have gone
        let _ = match question {
            Question::Status(reply) => reply.send(self.keeper.status_at(now).clone()).is_ok(),
            Question::Hosts(reply) => reply.send(self.keeper.hosts(now)).is_ok(),
            Question::Page(page, reply) => reply.send(self.keeper.page(now, page)).is_ok(),
        };
    }
}

/// Does a job; if the worker falls over it, the keeper hears of that.
async fn work(workers: Arc<Workers>, teller: Sender<Heard>, job: Job) {
    struct Guard(Sender<Heard>, Option<u64>);
    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(ticket) = self.1 {
                let _ = self.0.send(Heard::Event(Event::Lost { ticket }));
            }
        }
    }
    let mut guard = Guard(teller, Some(job.ticket));
    let event = workers.work(job).await;
    guard.1 = None;
    let _ = guard.0.send(Heard::Event(event));
}
