//! A robot's part in the fleet, as a state machine: [`Robot::handle`] takes what happened and says
//! what to do; [`Robot::deadline`] says when it wants to be asked again.

mod exchange;
mod lease;
mod legacy;
mod moving;
mod numbering;
mod observing;
mod ownership;
mod partitioner;
mod plans;
mod probing;
mod pump;
mod quiet;
mod recover;
mod register;
mod settings;
mod shares;
mod snapshot;
mod start;
mod takeover;
mod tracing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use crate::flaw::Flaw;
use crate::identity::{GroupId, Member, Millis, RobotId, Session, Text, Unit};
use crate::io::{Delivery, Input, Outcome, Output, Token};
use crate::key::{Grant, Key, Value};
use crate::lease::{Holder, Observer};
use crate::outbox::Outbox;
use crate::pace::Pace;
use crate::record::Record;
use crate::sent::SentCache;
use exchange::Transit;
use lease::Renewal;
use legacy::Legacy;
use moving::Arrival;
use observing::Observing;
pub use ownership::{Hold, Share};
use partitioner::Partitioner;
pub use partitioner::divide::{Divides, Told};
use plans::Level;
pub use plans::Route;
use probing::Probing;
pub use probing::Wanted;
use pump::{Draft, Pump};
use quiet::Work;
use register::Register;
pub use settings::Settings;
use snapshot::Snapshots;
use start::Start;
use tracing::Tracing;

/// How often a robot looks whether something has to be done again.
const TICK: Millis = 1_000;

/// A robot's side of the protocol.
#[derive(Debug)]
pub struct Robot {
    settings: Settings,
    flaw: Option<Flaw>,
    now: Millis,
    /// Which life; nothing until the robot knows which it had before.
    session: Option<Session>,
    boot: u16,
    counter: u64,
    holder: Holder,
    renewal: Renewal,
    observer: Observer,
    /// Groups, each as a member of the one above it.
    groups: Observer<(GroupId, GroupId)>,
    /// Groups below others' branches that are looked at, because nobody speaks for them.
    guests: BTreeSet<GroupId>,
    /// The last value of each key that was heard of.
    seen: BTreeMap<Key, (u64, Value)>,
    /// Keys that were heard of since their bucket was last polled.
    named: BTreeSet<Key>,
    /// The groups above, the fleet first.
    levels: Vec<Level>,
    /// Groups that once were.
    past: BTreeMap<GroupId, Level>,
    units: BTreeMap<Unit, Hold>,
    /// No unit is asked before this, after others were taken over.
    quiet_floor: Millis,
    /// The robot's start, and when whatever an earlier life asked has ended.
    start: Start,
    register: Register,
    outbox: Outbox,
    sent: SentCache,
    pump: Pump,
    draft: Draft,
    transit: Transit,
    arrivals: BTreeMap<Text, Arrival>,
    /// Packages that were opened, and when.
    imported: BTreeMap<Text, Millis>,
    partitioner: Partitioner,
    observing: Observing,
    probing: Probing,
    tracing: Tracing,
    snapshots: Snapshots,
    /// Logs of others that wait for their snapshots.
    legacies: BTreeMap<Session, Legacy>,
    grants: BTreeMap<GroupId, Grant>,
    pace: Pace,
    demand: crate::demand::Curve,
    /// How busy the robot is, and how long its siblings take to answer.
    load: u8,
    responses: BTreeMap<RobotId, u32>,
    work: Work,
    leaving: bool,
    /// Objects that nobody needs any more, and when they are removed.
    rubbish: VecDeque<(Millis, Rubbish)>,
    /// What the lease says next differs from what it said last.
    news: bool,
    tasks: BTreeMap<Token, Task>,
    poll_at: Millis,
    tick_at: Millis,
    plans_changed: bool,
    tally: Tally,
    outputs: Vec<Output>,
}

/// What nobody needs any more.
#[derive(Clone, Debug)]
enum Rubbish {
    Object(Text),
    /// All of its objects.
    Session(Session),
}

/// What an operation was for.
#[derive(Clone, Debug)]
enum Task {
    Renew(u64),
    Heal,
    Make,
    Bury,
    Summary(GroupId),
    Grant,
    Ask,
    SealLease(Session),
    SealLog(Session),
    /// A batch of our own outbox.
    Send(Vec<u64>),
    /// A batch of somebody else.
    PassOn(Delivery),
    Put(Unit),
    /// A piece of a snapshot.
    PutSnapshot,
    /// What a snapshot is made of.
    Survey,
    /// What was read, to a group's partitioner.
    Tell(GroupId, BTreeMap<IpAddr, u64>),
}

/// What was dropped, refused or done twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Plans older than the one in use.
    pub lower_plans: u64,
    /// Messages that came before the plan by which they were sent.
    pub early: u64,
    /// Entries passed on to a robot that knows better.
    pub passed_on: u64,
    /// Entries that went round too often: they were taken into custody here.
    pub too_many_hops: u64,
    /// The most hops that an entry for us had made.
    pub most_hops: u8,
    /// URLs that no member takes.
    pub refused: u64,
    /// Entries sent, and sent again without a receipt.
    pub sent: u64,
    /// See `sent`.
    pub sent_again: u64,
    /// URLs that were not sent because they had been.
    pub known_sent: u64,
    /// Units taken over, and units handed.
    pub taken_over: u64,
    /// See `taken_over`.
    pub handed: u64,
    /// Publications that found the stream full.
    pub full: u64,
    /// URLs that went into the log because their streams were full for long.
    pub kept_in_log: u64,
    /// Messages and values that nobody can read.
    pub unreadable: u64,
    /// URLs whose names have no server, as the registrar was told again and again.
    pub unresolved: u64,
    /// Packages that could not be opened yet.
    pub incomplete: u64,
    /// Entries of the log that were cut behind a snapshot.
    pub cut_from_log: u64,
    /// Times that the engine had forgotten so much of the log that it was begun anew.
    pub logs_renumbered: u64,
    /// Objects that were removed because nobody needs them.
    pub removed: u64,
    /// Times that a group was divided by its links here.
    pub divisions: u64,
    /// Pages that divisions moved beyond the promise: they were placed before distances were known.
    pub moved_late: u64,
    /// Servers that the last table had no room for.
    pub unlisted: u64,
    /// Names that were left out of what partitioners were told.
    pub names_left_out: u64,
}

impl Robot {
    /// A robot with what its disk holds: everything that was committed, in order. `boot` is a
    /// random number that no other start has.
    pub fn new(settings: Settings, boot: u16, now: Millis, disk: &[Arc<Vec<Record>>]) -> Self {
        Self::flawed(settings, boot, now, disk, None)
    }

    /// As [`Robot::new`], with a mistake.
    #[doc(hidden)]
    pub fn flawed(
        settings: Settings,
        boot: u16,
        now: Millis,
        disk: &[Arc<Vec<Record>>],
        flaw: Option<Flaw>,
    ) -> Self {
        let mut robot = Self {
            flaw,
            now,
            session: None,
            boot,
            counter: 0,
            holder: Holder::new(settings.term),
            renewal: Renewal::default(),
            observer: Observer::new(settings.term),
            groups: Observer::new(settings.term),
            guests: BTreeSet::new(),
            seen: BTreeMap::new(),
            named: BTreeSet::new(),
            levels: Level::all(settings.robot, &settings.path),
            past: BTreeMap::new(),
            units: BTreeMap::new(),
            quiet_floor: 0,
            start: Start::default(),
            register: Register::default(),
            outbox: Outbox::default(),
            sent: SentCache::new(settings.sent_cache),
            pump: Pump::default(),
            draft: Draft::default(),
            transit: Transit::default(),
            arrivals: BTreeMap::new(),
            imported: BTreeMap::new(),
            partitioner: Partitioner::default(),
            observing: Observing::default(),
            probing: Probing::default(),
            tracing: Tracing::default(),
            snapshots: Snapshots::default(),
            legacies: BTreeMap::new(),
            grants: BTreeMap::new(),
            pace: Pace::new(settings.window),
            demand: crate::demand::Curve::default(),
            load: 0,
            responses: BTreeMap::new(),
            work: Work::default(),
            leaving: false,
            rubbish: VecDeque::new(),
            news: false,
            tasks: BTreeMap::new(),
            poll_at: now,
            tick_at: now,
            plans_changed: true,
            tally: Tally::default(),
            outputs: Vec::new(),
            settings,
        };
        robot.recover(disk);
        robot
    }

    /// Takes in what happened and says what to do.
    pub fn handle(&mut self, now: Millis, input: Input) -> Vec<Output> {
        self.now = self.now.max(now);
        match input {
            Input::Tick => {}
            Input::Read {
                key,
                revision,
                value,
            } => self.on_read(key, revision, value),
            Input::Polled(group) => self.on_polled(group),
            Input::Outcome(token, outcome) => self.on_outcome(token, outcome),
            Input::Log(tail) => self.on_log(tail),
            Input::Records(session, entries) => self.on_records(session, entries.as_deref()),
            Input::Message(delivery, message) => self.on_message(delivery, message),
            Input::Unreadable(delivery) => {
                self.tally.unreadable += 1;
                self.outputs.extend(delivery.map(Output::Acknowledge));
            }
            Input::Object(name, bytes) if name.starts_with("snapshot/") => {
                self.on_snapshot_piece(&name, bytes.as_ref());
            }
            Input::Object(name, bytes) => self.on_object(&name, bytes),
            Input::Committed(number) => self.pump.committed(number),
            Input::Seeds(parcels) => {
                for parcel in parcels {
                    self.dispatch(parcel);
                }
            }
            Input::Visited {
                unit,
                row,
                links,
                read,
                delay,
            } => {
                if let Some(micros) = delay {
                    self.time(unit, micros);
                }
                self.on_visited(unit, row, links, read);
            }
            Input::Resolved(name, server) => self.on_resolved(&name, server),
            Input::Exported {
                token,
                unit,
                records,
                ages,
            } => self.on_exported(token, unit, records, ages),
            Input::Surveyed {
                token,
                records,
                next,
            } => self.on_surveyed(token, &records, next),
            Input::Recalled(entries) => self.on_recalled(entries),
            Input::Load { demand, idle } => self.on_load(demand, idle),
            Input::Measured { load, responses } => {
                self.load = load.min(100);
                self.responses = responses;
            }
            Input::Leave => self.leaving = true,
        }
        self.advance();
        std::mem::take(&mut self.outputs)
    }

    /// When the robot wants to hear of time, at the latest.
    pub fn deadline(&self) -> Millis {
        self.tick_at
            .min(self.poll_at)
            .min(self.renewal.at)
            .max(self.now + 1)
    }

    /// Whether a request may go to the unit: asked last before its bytes are written.
    pub fn may_request(&self, now: Millis, unit: Unit) -> bool {
        self.lease_valid(now)
            && self.pace.free_at(self.allowance()) <= now
            && matches!(self.units.get(&unit), Some(Hold::Own { from }) if *from <= now)
    }

    /// When the budget allows the next request; never, if it allows none.
    pub fn paced(&self) -> Millis {
        self.pace.free_at(self.allowance())
    }

    /// A request's bytes are written.
    pub fn requested(&mut self, now: Millis) {
        self.pace.used(now);
    }

    /// Whether the robot's lease holds and nothing is in doubt about it.
    pub fn lease_valid(&self, now: Millis) -> bool {
        self.holder.valid(now) && now >= self.renewal.doubt_until
    }

    /// Commits asked for so far, and those of them that are on disk.
    pub fn commits(&self) -> (u64, u64) {
        (self.pump.written(), self.pump.on_disk())
    }

    /// What was dropped, refused or done twice.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Where the robot stands, in a line for people.
    pub fn standing(&self) -> String {
        let holds = |wanted: fn(&Hold) -> bool| self.units.values().filter(|h| wanted(h)).count();
        let levels: Vec<String> = (self.levels.iter())
            .map(|level| {
                let heard = level
                    .plan
                    .as_ref()
                    .map_or_else(Default::default, |p| p.version);
                let (group, durable, settled) = (level.group, level.durable, level.settled);
                format!("{group} heard {heard} disk {durable} settled {settled}")
            })
            .collect();
        format!(
            "{} lease {}; {}; {} arriving, {} own, {} closing, {} packed; {} in custody; pump {}; {} names wait; {:?}",
            self.settings.robot,
            if self.lease_valid(self.now) {
                "valid"
            } else {
                "lapsed"
            },
            levels.join(", "),
            holds(|hold| matches!(hold, Hold::Arriving { .. })),
            holds(|hold| matches!(hold, Hold::Own { .. })),
            holds(|hold| matches!(hold, Hold::Closing { .. })),
            holds(|hold| matches!(hold, Hold::Packed { .. })),
            self.outbox.len(),
            if self.pump.is_idle() { "idle" } else { "busy" },
            self.register.waiting.len(),
            self.counters_now(),
        )
    }

    /// Objects that nobody needs any more. They stay for a while: an engine that forgets its last seconds may
    /// name them again.
    fn discard(&mut self, pieces: impl IntoIterator<Item = Text>) {
        let at = self.now + 30 * self.settings.resend;
        let pieces = pieces.into_iter().map(Rubbish::Object);
        self.rubbish.extend(pieces.map(|piece| (at, piece)));
    }

    /// Whatever a session stored and nobody needs then: it is over, or the robot was started anew and does not know
    /// all that it stored before.
    fn sweep_after(&mut self, session: Session) {
        let at = self.now + 30 * self.settings.resend;
        self.rubbish.push_back((at, Rubbish::Session(session)));
    }

    /// Objects that the robot counts on, and those that it is going to remove by their names.
    pub fn objects(&self) -> Vec<Text> {
        let rubbish = self
            .rubbish
            .iter()
            .filter_map(|(_, rubbish)| match rubbish {
                Rubbish::Object(name) => Some(name.clone()),
                Rubbish::Session(_) => None,
            });
        self.needed().into_iter().chain(rubbish).collect()
    }

    fn needed(&self) -> Vec<Text> {
        let mut needed = self.snapshots.pieces();
        needed.extend(self.outbox.packages());
        needed
    }

    fn clear_rubbish(&mut self) {
        while let Some((_, rubbish)) = self.rubbish.pop_front_if(|(at, _)| *at <= self.now) {
            if let Rubbish::Session(session) = rubbish
                && Some(session) != self.session
                && (self.lives(session) || self.plans().any(|plan| plan.dead.contains(&session)))
            {
                // it is there without a share, or another group is still at it
                self.sweep_after(session);
                continue;
            }
            self.outputs.push(match rubbish {
                Rubbish::Object(name) => {
                    self.tally.removed += 1;
                    Output::Remove(name)
                }
                Rubbish::Session(session) if Some(session) == self.session => {
                    Output::Sweep(session, self.needed())
                }
                Rubbish::Session(session) => Output::Sweep(session, Vec::new()),
            });
        }
    }

    /// The robot as itself.
    fn me(&self) -> Member {
        Member::Robot(self.settings.robot)
    }

    fn token(&mut self, task: Task) -> Token {
        self.counter += 1;
        let token = Token(self.counter);
        self.tasks.insert(token, task);
        token
    }

    fn on_outcome(&mut self, token: Token, outcome: Outcome) {
        let Some(task) = self.tasks.remove(&token) else {
            return;
        };
        match task {
            Task::Renew(nonce) => self.on_renewed(nonce, outcome),
            Task::SealLease(session) => self.on_lease_sealed(session, outcome),
            Task::SealLog(session) => self.on_log_sealed(session, outcome),
            Task::Make | Task::Bury | Task::Summary(_) | Task::Grant => {
                self.partitioner.answered(&task);
            }
            Task::Ask => self.on_asked(),
            Task::Heal | Task::Survey => {}
            Task::Send(entries) => self.on_sent(&entries, outcome),
            Task::PassOn(delivery) => self.on_passed_on(delivery, outcome),
            Task::Put(unit) => self.on_put(unit, outcome),
            Task::PutSnapshot => self.on_snapshot_put(token, outcome),
            Task::Tell(group, sizes) => self.on_told(group, sizes, outcome),
        }
    }

    fn advance(&mut self) {
        let now = self.now;
        if now >= self.poll_at {
            self.poll_at = now + self.settings.poll;
            let groups = self.levels.iter().map(|level| level.group);
            for group in groups.chain(self.guests.iter().copied()) {
                self.outputs.push(Output::Poll(group));
            }
        }
        self.advance_lease();
        let tick = now >= self.tick_at;
        if tick {
            self.tick_at = now + TICK;
            self.write_checkpoint();
            self.advance_takeover();
            self.advance_moves();
            self.resend();
            self.look_at_log();
            self.advance_observing();
            self.advance_snapshots();
            self.clear_rubbish();
        }
        self.advance_units();
        if tick {
            self.advance_partitioner();
        }
        self.advance_pump();
        self.close_draft();
        self.advance_pump();
    }
}
