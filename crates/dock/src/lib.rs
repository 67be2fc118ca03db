//! Between a live robot and the messaging engine.
#![doc = include_str!("../README.md")]

mod lane;
mod readers;

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bus::{Bus, Claim};
use fleet::io::{Delivery, Input, Output};
use robot::seam::Refusal;
use robot::{Mooring, Sight};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, UnboundedSender};

use lane::{Name, send, work};

/// So often it is looked whether the robot reads other subjects, or has other groups above it.
const LOOK: Duration = Duration::from_millis(200);

/// Messages that the robot holds.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Deliveries>>);

#[derive(Default)]
struct Deliveries {
    last: u64,
    open: HashMap<Delivery, Claim>,
}

impl Held {
    fn keep(&self, claim: Claim) -> Delivery {
        let mut deliveries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        deliveries.last += 1;
        let delivery = Delivery(deliveries.last);
        deliveries.open.insert(delivery, claim);
        delivery
    }

    /// What is not held any more was delivered elsewhere.
    fn take(&self, delivery: Delivery) -> Option<Claim> {
        let mut deliveries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        deliveries.open.remove(&delivery)
    }
}

/// Serves a robot until it has ended, on a thread of its own; what is asynchronous runs on the runtime.
pub fn serve<B: Bus>(bus: B, mooring: Mooring, runtime: Handle) -> std::io::Result<()> {
    runtime.spawn(bury(bus.clone(), mooring.refusals));
    let wishes = mooring.wishes;
    let serving = Serving {
        bus,
        runtime,
        teller: mooring.teller,
        sight: mooring.sight,
        lanes: HashMap::new(),
        held: Held::default(),
    };
    let thread = std::thread::Builder::new().name("dock".into());
    thread.spawn(move || serving.run(&wishes)).map(|_| ())
}

/// Puts what the robot did not take among the dead letters.
async fn bury<B: Bus>(bus: B, mut refusals: Receiver<Refusal>) {
    while let Some(Refusal { to, why, letter }) = refusals.recv().await {
        // the bus counts those that it could not bury
        let _ = bus.bury(to, &why, letter).await;
    }
}

struct Serving<B> {
    bus: B,
    runtime: Handle,
    teller: Sender<Input>,
    sight: Sight,
    lanes: HashMap<Name, UnboundedSender<Output>>,
    held: Held,
}

impl<B: Bus> Serving<B> {
    fn run(mut self, wishes: &mpsc::Receiver<Output>) {
        let mut readers = readers::Readers::new(
            self.bus.clone(),
            self.runtime.clone(),
            (self.teller.clone(), self.held.clone()),
        );
        loop {
            readers.follow(&self.sight);
            match wishes.recv_timeout(LOOK) {
                Ok(first) => {
                    for wish in std::iter::once(first).chain(wishes.try_iter()) {
                        self.pass_on(wish);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn pass_on(&mut self, wish: Output) {
        match wish {
            Output::Acknowledge(delivery) => {
                return self.held.take(delivery).map_or((), Claim::acknowledge);
            }
            Output::Return(delivery) => return drop(self.held.take(delivery)),
            _ => {}
        }
        let Some(name) = Name::of(&wish) else {
            tracing::error!(?wish, "not for a bus");
            return;
        };
        let (bus, teller) = (&self.bus, &self.teller);
        let runtime = &self.runtime;
        let lane = self.lanes.entry(name).or_insert_with(|| {
            let (lane, wishes) = tokio::sync::mpsc::unbounded_channel();
            let (bus, teller) = (bus.clone(), teller.clone());
            match name {
                Name::Subject(_) => runtime.spawn(send(bus, wishes, teller)),
                _ => runtime.spawn(work(bus, wishes, teller)),
            };
            lane
        });
        // a lane ends only with the runtime, and then all does
        let _ = lane.send(wish);
    }
}
