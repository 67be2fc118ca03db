//! Between a live crawl and its fleet: passes on what the bus says, and what the fleet wants of whom.

use crate::archivist::{SharedSeam, lock};
use crate::clock::Clock;
use crate::drive::Heard;
use crate::judging::Judge;
use crate::message::{Event, Write};
use crate::seam::{Lost, Refusal, Seam};
use crate::visit::Workers;
use fleet::identity::{GroupId, RobotId};
use fleet::io::{Input, Output};
use fleet::parcel::{Parcel, Subject};
use fleet::robot::{Divides, Settings};
use fleet::trace::Trace;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// Most refusals on their way to the dead letters.
const REFUSALS: usize = 1_024;
/// A look whether the crawl has ended is taken so often.
const LONGEST_WAIT: f64 = 0.5;

/// Figures for Prometheus that others have of a robot, in its text form.
pub type Figures = Arc<Mutex<String>>;

/// A robot's place in a fleet.
pub struct Berth {
    pub(crate) settings: Settings,
    pub(crate) boot: u16,
    wishes: Sender<Output>,
    refusals: tokio::sync::mpsc::Sender<Refusal>,
    heard: Receiver<Input>,
    teller: Sender<Input>,
    subjects: Arc<Mutex<Vec<Subject>>>,
    seam: Arc<OnceLock<SharedSeam>>,
    pub(crate) figures: Figures,
}

/// What a bus has of a robot.
pub struct Mooring {
    /// What it is to do, in this order; never `Resolve`, `Write`, `Open`, `Close`, `Forget` or `Reset`.
    pub wishes: Receiver<Output>,
    /// What the robot did not take from others, for the dead letters.
    pub refusals: tokio::sync::mpsc::Receiver<Refusal>,
    /// Where it says what came of that, and what it hears besides.
    pub teller: Sender<Input>,
    /// The robot, for whoever looks at it.
    pub sight: Sight,
    /// What its metrics are to show besides its own.
    pub figures: Figures,
}

/// A look at a robot of a fleet while it works.
#[derive(Clone)]
pub struct Sight {
    subjects: Arc<Mutex<Vec<Subject>>>,
    seam: Arc<OnceLock<SharedSeam>>,
}

impl Sight {
    /// What the robot reads at present: messages to these are for it. They change with plans.
    pub fn subjects(&self) -> Vec<Subject> {
        (self.subjects.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Gives URLs to the fleet that no page names. Says which of the protocol's commits has them; nothing
    /// before the robot has started.
    pub fn give(&self, urls: impl IntoIterator<Item = Parcel>) -> Option<u64> {
        let mut seam = lock(self.seam.get()?);
        Some(seam.give(urls.into_iter().collect()))
    }

    /// Asks for a division of a group's share by its links; nothing before the robot has started.
    pub fn divide_again(&self, group: GroupId) -> Option<Divides> {
        let mut seam = lock(self.seam.get()?);
        Some(seam.protocol_mut().divide_again(group))
    }

    /// A robot of the fleet measured how far a server is, in microseconds; nothing if the server does not answer.
    pub fn probed(&self, server: IpAddr, by: RobotId, path: Vec<GroupId>, micros: Option<u32>) {
        if let Some(seam) = self.seam.get() {
            let mut seam = lock(seam);
            seam.protocol_mut().probed(server, by, path, micros);
        }
    }

    /// A robot of the fleet found the way to a server, or that there is nothing to find.
    pub fn traced(&self, server: IpAddr, by: RobotId, path: Vec<GroupId>, trace: Trace) {
        if let Some(seam) = self.seam.get() {
            let mut seam = lock(seam);
            seam.protocol_mut().traced(server, by, path, trace);
        }
    }

    /// Looks at the robot's side of its fleet, which waits meanwhile; nothing before it has started.
    pub fn look<T>(&self, look: impl FnOnce(&Seam) -> T) -> Option<T> {
        self.seam.get().map(|seam| look(&lock(seam)))
    }
}

impl Berth {
    /// For a robot with these settings, and for its bus. `boot` is a random number that no other start has.
    pub fn new(settings: Settings, boot: u16) -> (Self, Mooring) {
        let (wishes, wished) = channel();
        let (refusals, refused) = tokio::sync::mpsc::channel(REFUSALS);
        let (teller, heard) = channel();
        let subjects = Arc::new(Mutex::new(Vec::new()));
        let seam = Arc::new(OnceLock::new());
        let figures = Figures::default();
        let berth = Self {
            settings,
            boot,
            wishes,
            refusals,
            heard,
            teller: teller.clone(),
            subjects: subjects.clone(),
            seam: seam.clone(),
            figures: figures.clone(),
        };
        let mooring = Mooring {
            wishes: wished,
            refusals: refused,
            teller,
            figures,
            sight: Sight { subjects, seam },
        };
        (berth, mooring)
    }
}

/// Who passes things on.
pub(crate) struct Courier {
    seam: SharedSeam,
    clock: Clock,
    keeper: Sender<Heard>,
    archivist: Mutex<Option<Sender<Write>>>,
    wishes: Sender<Output>,
    refusals: tokio::sync::mpsc::Sender<Refusal>,
    teller: Sender<Input>,
    subjects: Arc<Mutex<Vec<Subject>>>,
    runtime: Handle,
    workers: Arc<Workers>,
    judge: Arc<Judge>,
    wanted: AtomicU64,
    idle: AtomicBool,
    lost: OnceLock<Lost>,
    ended: AtomicBool,
}

impl Courier {
    pub fn start(
        berth: Berth,
        (seam, clock): (SharedSeam, Clock),
        (keeper, archivist): (Sender<Heard>, Sender<Write>),
        (runtime, workers, judge): (Handle, Arc<Workers>, Arc<Judge>),
    ) -> std::io::Result<Arc<Self>> {
        let _ = berth.seam.set(seam.clone());
        let courier = Arc::new(Self {
            seam,
            clock,
            keeper,
            archivist: Mutex::new(Some(archivist)),
            wishes: berth.wishes,
            refusals: berth.refusals,
            teller: berth.teller,
            subjects: berth.subjects,
            runtime,
            workers,
            judge,
            wanted: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            lost: OnceLock::new(),
            ended: AtomicBool::new(false),
        });
        let (own, heard) = (courier.clone(), berth.heard);
        std::thread::Builder::new()
            .name("courier".into())
            .spawn(move || own.run(&heard))?;
        Ok(courier)
    }

    fn run(self: &Arc<Self>, heard: &Receiver<Input>) {
        while !self.ended.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let (deadline, ticked) = {
                let mut seam = lock(&self.seam);
                let due = seam.deadline() <= now.at;
                if due {
                    let wanted = self.wanted.load(Ordering::Relaxed) as f64;
                    seam.tick(now, wanted, self.idle.load(Ordering::Relaxed));
                    let read = seam.protocol().subjects();
                    *self.subjects.lock().unwrap_or_else(PoisonError::into_inner) = read;
                }
                (seam.deadline(), due)
            };
            if ticked {
                self.divide();
            }
            self.pass_on();
            let longest = if self.judge_ahead() {
                0.0
            } else {
                LONGEST_WAIT
            };
            let wait = (deadline - self.clock.now().at).clamp(0.0, longest);
            match heard.recv_timeout(Duration::from_secs_f64(wait)) {
                Ok(first) => {
                    let now = self.clock.now();
                    let mut seam = lock(&self.seam);
                    for input in std::iter::once(first).chain(heard.try_iter()) {
                        seam.hear(now, input);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Judges some of what others sent while the archivist is busy with what came before; whether there was any.
    fn judge_ahead(&self) -> bool {
        let Some((number, records)) = lock(&self.seam).next_to_judge() else {
            return false;
        };
        let verdicts = self.judge.all(&records);
        lock(&self.seam).judged(number, verdicts);
        true
    }

    /// Divides a group's share by its links, if this robot is to; that may take long.
    fn divide(self: &Arc<Self>) {
        let Some(mut division) = lock(&self.seam).protocol_mut().division() else {
            return;
        };
        let own = self.clone();
        self.runtime.spawn_blocking(move || {
            for placed in &mut division.servers {
                let mut names = placed.counts.pages.keys();
                let place = names.find_map(|name| own.workers.place(name, placed.server));
                placed.place = place.map(Into::into);
            }
            let divided = division.solve();
            if let Err(error) = &divided {
                tracing::warn!(%error, group = %division.group, "the share cannot be divided");
            }
            let mut seam = lock(&own.seam);
            seam.protocol_mut().divided(division.group, divided.ok());
        });
    }

    /// What the keeper has to do, for the next tick.
    pub fn set_load(&self, wanted: f64, idle: bool) {
        self.wanted.store(wanted as u64, Ordering::Relaxed);
        self.idle.store(idle, Ordering::Relaxed);
    }

    /// Passes on what the fleet wants; in order, whoever calls.
    pub fn pass_on(&self) {
        let mut seam = lock(&self.seam);
        for order in seam.take_orders() {
            // whoever is gone needs nothing any more
            let _ = self.keeper.send(Heard::Event(Event::Fleet(order)));
        }
        for wish in seam.take_wishes() {
            match wish {
                Output::Resolve(name) => self.resolve(name),
                wish => {
                    let _ = self.wishes.send(wish);
                }
            }
        }
        for refusal in seam.take_refusals() {
            if self.refusals.try_send(refusal).is_err() {
                seam.not_buried();
            }
        }
        if seam.has_commits() {
            let archivist = self.archivist.lock();
            let archivist = archivist.unwrap_or_else(PoisonError::into_inner);
            if let Some(archivist) = &*archivist {
                let _ = archivist.send(Write::Fleet);
            }
        }
        if let Some(lost) = seam.lost()
            && self.lost.set(lost).is_ok()
        {
            let _ = self.keeper.send(Heard::Stop);
        }
    }

    /// A registrar looks a name up.
    fn resolve(&self, name: fleet::identity::Text) {
        let (workers, teller) = (self.workers.clone(), self.teller.clone());
        self.runtime.spawn(async move {
            let found = workers.resolve(&name).await;
            let server = found.ok().map(|(server, _)| server);
            let _ = teller.send(Input::Resolved(name, server));
        });
    }

    pub fn lost(&self) -> Option<Lost> {
        self.lost.get().copied()
    }

    /// Nothing more is passed on.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        let archivist = self.archivist.lock();
        *archivist.unwrap_or_else(PoisonError::into_inner) = None;
    }
}
