//! The order of writes that loses nothing: committed, then published, then logged, then
//! acknowledged and receipted. One pump a robot, in the order of commits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use super::numbering::{Numbering, forget_marks};
use super::{Robot, Task};
use crate::flaw::Flaw;
use crate::identity::{GroupId, Millis, Session, Text};
use crate::io::{Delivery, Output, Tail};
use crate::parcel::{Cargo, Message, Origin, Receipt};
use crate::plan::Version;
use crate::record::Record;
use crate::wire::limits;

/// An entry of the log.
pub(super) type Entry = Arc<Vec<Record>>;

/// A receipt that is due: to whom, for which entry, and the server of its name.
type Due = (Origin, u64, Option<(Text, IpAddr)>);

/// What becomes of one input: records for the disk, and what has to wait for them.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub records: Vec<Record>,
    /// Deliveries that are dealt with when this is logged.
    pub deliveries: Vec<Delivery>,
    /// Entries of others that are ours when this is logged.
    pub receipts: Vec<Due>,
    /// What follows when this is logged.
    pub after: Vec<After>,
    /// Plans in use when this is on disk.
    pub adopted: Vec<(GroupId, Version)>,
    /// The session may be used when this is on disk.
    pub begins: bool,
    /// The commit it waits for.
    number: u64,
    /// Entries of the log up to this one.
    journal: u64,
}

/// What follows when something is logged.
#[derive(Debug)]
pub(super) enum After {
    /// Something to publish, before anything is logged.
    Out(u64),
    Bound(Text),
    /// Our part of what a session left, in that round of dividing it.
    Taken(GroupId, u64, Session),
}

/// Where the pump stands.
#[derive(Debug, Default)]
pub(super) struct Pump {
    written: u64,
    committed: u64,
    /// Not yet on disk, oldest first.
    queue: VecDeque<Draft>,
    /// The first of these are on disk, and that was noted.
    noted: usize,
    /// On disk, on the way.
    bundle: Option<Bundle>,
    /// Entries of the log from number `base` on, for when the engine forgets.
    journal: Vec<Entry>,
    base: u64,
    /// What the engine's numbers of entries are.
    pub numbering: Numbering,
    /// A snapshot's mark: the commit and the place in the log that it is to have, until it is there.
    marking: Option<(u64, u64, Entry)>,
    marked: Option<u64>,
    /// How many the engine has; nothing if it has to be asked.
    tail: Option<u64>,
    /// How many it ever had: their places are settled, whatever it forgot or an old answer says.
    reached: u64,
    asked_at: Option<u64>,
    looked_at: Millis,
    /// The log has all that was on disk at the start.
    pub caught_up: bool,
    /// What could not be published goes into the log, when the commit of this number is on disk.
    keeping: Option<(u64, u64, Arc<Vec<Record>>)>,
    /// What is for others and in the log itself, as far as it is still in custody when it is looked at.
    pub kept: BTreeSet<u64>,
    /// Some of what is to be published is our own after all: that goes into the log at once.
    pub hurry: bool,
}

#[derive(Debug, Default)]
struct Bundle {
    drafts: Vec<Draft>,
    outs: Vec<u64>,
    /// Entries whose publication is not acknowledged yet.
    unpublished: BTreeSet<u64>,
    published: bool,
    /// When it was first tried.
    since: Millis,
    journal: u64,
}

impl Pump {
    pub(super) fn committed(&mut self, number: u64) {
        self.committed = self.committed.max(number);
    }

    /// After a start: everything on disk goes through the pump again. The log's entries are those from number
    /// `base` on.
    pub(super) fn restore(&mut self, base: u64, journal: Vec<Entry>, outs: Vec<u64>) {
        let length = base + journal.len() as u64;
        self.journal = journal;
        self.base = base;
        self.bundle = Some(Bundle {
            unpublished: outs.iter().copied().collect(),
            outs,
            journal: length,
            ..Bundle::default()
        });
    }

    /// How many entries the log would have with all that is written.
    pub(super) fn length(&self) -> u64 {
        self.base + self.journal.len() as u64
    }

    /// The engine's end of the log, if it fits to ours.
    pub(super) fn set_tail(&mut self, theirs: Option<u64>) {
        self.asked_at = None;
        let ours = theirs.and_then(|theirs| self.numbering.ours(theirs));
        self.tail = ours.filter(|ours| (self.base..=self.length()).contains(ours));
        self.reached = self.reached.max(self.tail.unwrap_or(0));
    }

    /// The number of the first entry that is kept.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// From now on the log goes on behind the engine's present end. What it says of snapshots is not told again: they
    /// are forgotten too.
    pub(super) fn renumber(&mut self) {
        forget_marks(&mut self.journal);
        if let Some((.., mark)) = &mut self.marking {
            *mark = Entry::default();
        }
        (self.tail, self.asked_at, self.looked_at) = (None, None, 0);
        self.reached = self.base;
    }

    /// How many it ever had.
    pub(super) fn reached(&self) -> u64 {
        self.reached
    }

    /// How many the engine has, if that is known.
    pub(super) fn tail(&self) -> Option<u64> {
        self.tail
    }

    /// Entries of the log.
    pub(super) fn entries(&self, from: u64, to: u64) -> Vec<Entry> {
        let [from, to] = [from, to].map(|at| at.saturating_sub(self.base) as usize);
        self.journal[from..to].to_vec()
    }

    /// All entries that are kept, and the number of the first.
    pub(super) fn journal(&self) -> (u64, &[Entry]) {
        (self.base, &self.journal)
    }

    /// Whether the log's order is settled: nothing on disk waits for its place in it.
    pub(super) fn is_in_order(&self) -> bool {
        self.marking.is_none() && self.keeping.is_none() && self.numbering.is_settled()
    }

    /// A commit that nothing waits for.
    pub(super) fn write(&mut self, records: Vec<Record>) -> Output {
        self.written += 1;
        Output::Write(self.written, Arc::new(records))
    }

    /// Whether something may be put into the log behind its present end: nothing is on its way there.
    pub(super) fn may_mark(&self) -> bool {
        self.bundle.is_none() && self.is_in_order()
    }

    /// Puts an entry behind the present end of the log, as soon as it is on disk.
    pub(super) fn mark(&mut self, position: u64, entry: Entry) -> Output {
        self.written += 1;
        self.marking = Some((self.written, position, Arc::clone(&entry)));
        Output::Write(self.written, entry)
    }

    /// Forgets the entries before a number; how many.
    pub(super) fn cut(&mut self, upto: u64) -> u64 {
        let count = upto.saturating_sub(self.base);
        self.journal.drain(..count as usize);
        self.base += count;
        count
    }

    /// Commits so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether rows wait for the entry to be published.
    pub(super) fn waits_for(&self, entry: u64) -> bool {
        (self.bundle.as_ref()).is_some_and(|bundle| bundle.unpublished.contains(&entry))
    }

    /// Those of them that are on disk.
    pub(super) fn on_disk(&self) -> u64 {
        self.committed
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.bundle.is_none() && self.marking.is_none()
    }
}

/// Those that others would need.
pub(super) fn replicated(commit: &Entry) -> Entry {
    if commit.iter().all(Record::replicated) {
        return Arc::clone(commit);
    }
    let needed = commit.iter().filter(|record| record.replicated());
    Arc::new(needed.cloned().collect())
}

impl Draft {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.deliveries.is_empty()
            && self.receipts.is_empty()
            && self.after.is_empty()
    }
}

impl Robot {
    /// What was drafted goes to disk.
    pub(super) fn close_draft(&mut self) -> bool {
        if self.draft.is_empty() {
            return false;
        }
        let mut draft = std::mem::take(&mut self.draft);
        if !draft.records.is_empty() {
            self.pump.written += 1;
            let records = Arc::new(std::mem::take(&mut draft.records));
            let admitted = |r: &&Record| matches!(r, Record::Admit(_) | Record::Row(..));
            let admitted = records.iter().filter(admitted).count() as u64;
            self.work.taken += admitted;
            // whether that is work is for the crawler to say
            self.work.idle &= admitted == 0;
            let replicated = replicated(&records);
            if !replicated.is_empty() {
                self.pump.journal.push(replicated);
            }
            let outs = records.iter().filter_map(|record| match record {
                Record::Out(number, _) => Some(*number),
                _ => None,
            });
            draft.after.extend(outs.map(After::Out));
            self.outputs
                .push(Output::Write(self.pump.written, Arc::clone(&records)));
        }
        draft.number = self.pump.written;
        draft.journal = self.pump.length();
        if self.flaw == Some(Flaw::AcknowledgeBeforeCommit) {
            self.thank(&mut draft);
        }
        self.pump.queue.push_back(draft);
        true
    }

    /// What the log has is looked at now and then: an engine that forgot is told again, before
    /// anybody needs it.
    pub(super) fn look_at_log(&mut self) {
        let Some(session) = self.session.filter(|_| self.pump.caught_up) else {
            return;
        };
        let due = self.now >= self.pump.looked_at + self.settings.resend;
        if due && self.pump.bundle.is_none() && self.pump.asked_at.is_none() {
            self.pump.looked_at = self.now;
            self.outputs.push(Output::Tail(session));
        }
    }

    pub(super) fn advance_pump(&mut self) {
        loop {
            self.load_bundle();
            self.push_bundle();
            if !self.close_draft() {
                return;
            }
        }
    }

    /// A snapshot's mark that is on disk goes into the log before anything else does.
    fn load_mark(&mut self) {
        let pump = &mut self.pump;
        let Some((_, position, entry)) = pump.marking.take_if(|(n, ..)| *n <= pump.committed)
        else {
            return;
        };
        pump.journal.insert((position - pump.base) as usize, entry);
        pump.queue.iter_mut().for_each(|draft| draft.journal += 1);
        pump.marked = Some(position + 1);
        pump.bundle = Some(Bundle {
            published: true,
            journal: position + 1,
            ..Bundle::default()
        });
    }

    fn load_bundle(&mut self) {
        self.renumber();
        self.load_mark();
        let pump = &mut self.pump;
        let mut drafts = Vec::new();
        let mut at = pump.noted;
        // what is on disk counts at once for leases and plans; the rest waits its turn
        while let Some(draft) = pump.queue.get_mut(at) {
            if draft.number > pump.committed {
                break;
            }
            at += 1;
            for (group, version) in draft.adopted.drain(..) {
                let past = self.past.values_mut();
                if let Some(level) = self
                    .levels
                    .iter_mut()
                    .chain(past)
                    .find(|l| l.group == group)
                {
                    level.durable = version;
                    self.news = true;
                }
            }
            if std::mem::take(&mut draft.begins) {
                self.renewal.begun = true;
            }
        }
        pump.noted = at;
        if pump.bundle.is_some() || pump.marking.is_some() || at == 0 {
            return;
        }
        pump.noted = 0;
        drafts.extend(pump.queue.drain(..at));
        let mut bundle = Bundle {
            journal: drafts.last().map_or(0, |draft| draft.journal),
            ..Bundle::default()
        };
        for draft in &mut drafts {
            draft.after.retain(|after| {
                if let After::Out(number) = after {
                    bundle.outs.push(*number);
                }
                !matches!(after, After::Out(_))
            });
        }
        // what was forgotten before it was on disk need not go anywhere
        bundle
            .outs
            .retain(|number| self.outbox.get(*number).is_some());
        bundle.unpublished = bundle.outs.iter().copied().collect();
        bundle.drafts = drafts;
        for &number in &bundle.outs {
            self.enter_sent(number);
        }
        self.pump.bundle = Some(bundle);
    }

    fn push_bundle(&mut self) {
        let Some(bundle) = &mut self.pump.bundle else {
            return;
        };
        if self.session.is_none() || !self.renewal.begun {
            return;
        }
        if !bundle.published {
            bundle.published = true;
            bundle.since = self.now;
            let outs = bundle.outs.clone();
            self.publish(&outs);
        }
        self.keep_in_log();
        let Some(bundle) = &mut self.pump.bundle else {
            return;
        };
        let early = self.flaw == Some(Flaw::LogBeforeOutbox);
        if (!bundle.unpublished.is_empty() && !early) || !self.append() {
            return;
        }
        let Some(mut bundle) = self.pump.bundle.take_if(|b| b.unpublished.is_empty()) else {
            return;
        };
        self.pump.caught_up = true;
        let marked = self.pump.marked.take_if(|end| *end <= bundle.journal);
        if let Some(end) = marked {
            self.on_marked(end - 1);
        }
        let mut thanks = Draft::default();
        for draft in &mut bundle.drafts {
            thanks.deliveries.append(&mut draft.deliveries);
            thanks.receipts.append(&mut draft.receipts);
            thanks.after.append(&mut draft.after);
        }
        self.thank(&mut thanks);
        for after in thanks.after {
            match after {
                After::Bound(name) => self.on_bound(&name),
                After::Taken(group, round, session) => {
                    // a plan that came meanwhile may give us more of it
                    let level = self.level_mut(group);
                    if let Some(level) = level.filter(|level| level.round == round) {
                        level.taken.push(session);
                    }
                }
                After::Out(_) => {}
            }
        }
        self.advance_units();
        // between two bundles is the time to say where a snapshot ends
        self.advance_snapshots();
    }

    /// A way out when streams are full in all directions: nobody could acknowledge anything, because
    /// rows wait for their links to be published, and what is to be acknowledged for those rows. So
    /// the links themselves go into the log, before the rows. They stay in custody. The same when a
    /// plan makes links ours that were to be published: the row is logged before what becomes of them.
    fn keep_in_log(&mut self) {
        let patience = 2 * self.settings.resend;
        let pump = &mut self.pump;
        let Some(bundle) = &mut pump.bundle else {
            return;
        };
        if let Some((number, position, entry)) = pump.keeping.take() {
            if number > pump.committed {
                pump.keeping = Some((number, position, entry));
                return;
            }
            pump.journal.insert((position - pump.base) as usize, entry);
            self.snapshots.shift(position);
            bundle.journal += 1;
            bundle.unpublished.clear();
            pump.hurry = false;
            pump.queue.iter_mut().for_each(|draft| draft.journal += 1);
            return;
        }
        let waited = self.now >= bundle.since + patience && self.flaw != Some(Flaw::NoWayOut);
        if bundle.unpublished.is_empty() || !(pump.hurry || waited) {
            return;
        }
        let Some(tail) = pump.tail else {
            return self.ask_for_tail();
        };
        // an engine that forgot has less, but what it had and what is in a snapshot keeps its place
        let position = tail.max(pump.reached).max(self.snapshots.folded());
        let kept = |number: &u64| {
            let cargo = self.outbox.get(*number)?.cargo.clone();
            // a unit that is to move is in the log until it has
            matches!(cargo, Cargo::Url(_)).then_some((*number, cargo))
        };
        let entries: Vec<(u64, Cargo)> = bundle.unpublished.iter().filter_map(kept).collect();
        pump.kept.extend(entries.iter().map(|(number, _)| *number));
        self.tally.kept_in_log += entries.len() as u64;
        let entry = Arc::new(vec![Record::Kept(position, entries)]);
        pump.written += 1;
        pump.keeping = Some((pump.written, position, Arc::clone(&entry)));
        self.outputs.push(Output::Write(pump.written, entry));
    }

    /// Whether the log has all that the bundle needs.
    fn append(&mut self) -> bool {
        let (Some(bundle), Some(session)) = (&self.pump.bundle, self.session) else {
            return false;
        };
        if self.pump.tail.is_some_and(|tail| tail >= bundle.journal) {
            return true;
        }
        let Some(expected) = self.pump.tail else {
            self.ask_for_tail();
            return false;
        };
        let entries = self.pump.entries(expected, bundle.journal);
        if self.may_ask_log() {
            let expected = self.pump.numbering.theirs(expected);
            self.outputs.push(Output::Append {
                session,
                expected,
                entries,
            });
        }
        false
    }

    /// One question to the log at a time.
    fn may_ask_log(&mut self) -> bool {
        let patience = self.settings.poll;
        let waits = (self.pump.asked_at).is_some_and(|at| self.now < at + patience);
        if !waits {
            self.pump.asked_at = Some(self.now);
        }
        !waits
    }

    fn ask_for_tail(&mut self) {
        if let Some(session) = self.session
            && self.may_ask_log()
        {
            self.outputs.push(Output::Tail(session));
        }
    }

    pub(super) fn on_log(&mut self, tail: Tail) {
        if tail.sealed {
            return self.reset();
        }
        self.pump.set_tail(tail.entries);
        self.check_numbering(tail.entries);
        let logged = self.pump.queue.front().map_or(self.pump.length(), |draft| {
            // what is not on disk is not missed
            draft.journal.saturating_sub(1)
        });
        let idle = self.pump.bundle.is_none() && self.pump.marking.is_none();
        if idle && self.pump.tail.is_some_and(|tail| tail < logged) {
            self.pump.bundle = Some(Bundle {
                published: true,
                journal: logged,
                ..Bundle::default()
            });
        }
    }

    /// Out of custody, and nothing waits for it any more.
    pub(super) fn forget(&mut self, number: u64) -> Option<Cargo> {
        self.published(&[number]);
        self.outbox.forget(number)
    }

    /// An entry was published: the engine has it.
    pub(super) fn published(&mut self, entries: &[u64]) {
        if let Some(bundle) = &mut self.pump.bundle {
            for number in entries {
                bundle.unpublished.remove(number);
            }
        }
    }

    /// Acknowledges and receipts.
    fn thank(&mut self, draft: &mut Draft) {
        for delivery in draft.deliveries.drain(..) {
            self.dealt_with(delivery);
        }
        let mut receipts: BTreeMap<Origin, Receipt> = BTreeMap::new();
        for (origin, number, binding) in draft.receipts.drain(..) {
            let receipt = receipts.entry(origin).or_insert_with(|| Receipt {
                session: origin.session,
                entries: Vec::new(),
                bindings: Vec::new(),
            });
            receipt.entries.push(number);
            receipt.bindings.extend(binding);
        }
        for (origin, mut receipt) in receipts {
            receipt.bindings.sort_unstable();
            receipt.bindings.dedup();
            for receipt in receipt.in_parts(limits::SENT_ENTRIES) {
                // if it gets lost the entries come again, and so does this
                let token = self.token(Task::Heal);
                self.outputs.push(Output::Publish {
                    token,
                    subject: origin.reply,
                    message: Message::Receipt(receipt),
                });
            }
        }
    }
}
