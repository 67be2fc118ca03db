//! What those can do who started a crawl: look, ask, stop, wait.

use super::Crawl;
use crate::drive::{Heard, Question};
use crate::message::{Budgets, Event};
use crate::seam::Lost;
use crate::view::Status;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

impl Crawl {
    /// How it goes.
    pub fn status(&self) -> Status {
        self.shown
            .lock()
            .map(|shown| shown.clone())
            .unwrap_or_default()
    }

    /// Asks it to stop; `wait` tells when it has.
    pub fn stop(&self) {
        let _ = self.events.send(Heard::Stop);
    }

    /// Gives seeds to the fleet, or wants pages visited now.
    pub fn give(&self, url: &str) -> Result<(), String> {
        let (reply, answer) = channel();
        let question = Question::Visit(url.to_owned(), reply);
        let over = |_| "the crawl has ended".to_owned();
        self.events.send(Heard::Ask(question)).map_err(over)?;
        answer
            .recv()
            .map_err(|_| "the crawl has ended".to_owned())?
    }

    /// The list of seeds in the data directory is another one: what they reach is in scope, and those that
    /// are new are passed on. Says how many there are.
    pub fn look_at_seeds(&self) -> Result<usize, String> {
        let (reply, answer) = channel();
        let over = || "the crawl has ended".to_owned();
        let asked = self.events.send(Heard::Ask(Question::Seeds(reply)));
        asked.map_err(|_| over())?;
        answer.recv().map_err(|_| over())?
    }

    /// Budgets in place of those that it has.
    pub fn set_budgets(&self, budgets: Budgets) {
        // one that has ended needs none
        let _ = self.events.send(Heard::Event(Event::Budgets(budgets)));
    }

    /// Whether it ended because its share or its name was lost: its data are to be removed.
    pub fn lost(&self) -> Option<Lost> {
        self.courier.as_ref()?.lost()
    }

    /// Something that tells how it goes, for another thread; asks nobody.
    pub fn shown(&self) -> impl Fn() -> Status + Send + Sync + 'static {
        let shown = self.shown.clone();
        move || shown.lock().map(|shown| shown.clone()).unwrap_or_default()
    }

    /// Something that stops it, for another thread.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let events = self.events.clone();
        move || {
            let _ = events.send(Heard::Stop);
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until it has ended and all is on disk.
    pub fn wait(mut self) -> Result<Status, String> {
        let thread = self.thread.take().expect("waited for once");
        match thread.join() {
            Ok(result) => result.map(|()| self.status()),
            Err(_) => Err("the keeper panicked".into()),
        }
    }
}
