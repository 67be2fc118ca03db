//! Registers: the one place in the fleet that says which server a name is bound to.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::pump::After;
use super::{Hold, Robot};
use crate::identity::{Text, Unit};
use crate::io::Output;
use crate::parcel::Parcel;
use crate::record::Record;

/// What the robot knows of names.
#[derive(Debug, Default)]
pub(super) struct Register {
    /// Of registers that we hold: logged, never changed but by a move.
    pub bindings: BTreeMap<Text, IpAddr>,
    /// URLs whose names are not bound yet.
    pub waiting: BTreeMap<Text, Vec<Parcel>>,
    /// Names that are being looked up, and how often they were.
    asked: BTreeMap<Text, u8>,
    /// Names that are bound, but not yet in the log.
    unlogged: BTreeSet<Text>,
    /// What other registrars said.
    pub hints: BTreeMap<Text, IpAddr>,
    /// Names without a server, and URLs that were given up with them: as many as are remembered.
    given_up: BTreeSet<(Text, Text)>,
}

/// Most URLs that are remembered after they were given up.
const REMEMBERED: usize = 1_000;

impl Register {
    fn give_up(&mut self, parcels: Vec<Parcel>) {
        // what robots ask each other is no page
        let pages = parcels.into_iter().filter(|one| one.errand.is_none());
        let room = REMEMBERED.saturating_sub(self.given_up.len());
        let entries = pages.map(|page| (page.name, page.url)).take(room);
        self.given_up.extend(entries);
    }
}

impl Robot {
    /// A URL whose name is in a register of ours.
    pub(super) fn register_parcel(&mut self, mut parcel: Parcel) {
        let unit = Unit::register_of(&parcel.name);
        self.hold(unit, 0);
        let own = matches!(self.units[&unit], Hold::Own { .. });
        let name = parcel.name.clone();
        if own
            && !self.register.unlogged.contains(&name)
            && let Some(&server) = self.register.bindings.get(&name)
        {
            parcel.server = Some(server);
            return self.pass_to_owner(parcel);
        }
        let waiting = self.register.waiting.entry(name.clone()).or_default();
        if waiting
            .iter()
            .any(|known| known.url == parcel.url && known.errand == parcel.errand)
        {
            return;
        }
        waiting.push(parcel.clone());
        self.draft.records.push(Record::Waiting(parcel));
        if own {
            self.look_up(name);
        }
    }

    fn look_up(&mut self, name: Text) {
        if !self.register.bindings.contains_key(&name) && !self.register.asked.contains_key(&name) {
            self.register.asked.insert(name.clone(), 1);
            self.outputs.push(Output::Resolve(name));
        }
    }

    pub(super) fn on_resolved(&mut self, name: &Text, server: Option<IpAddr>) {
        let Some(asked) = self.register.asked.remove(name) else {
            return;
        };
        let unit = Unit::register_of(name);
        if !matches!(self.units.get(&unit), Some(Hold::Own { .. })) {
            return;
        }
        let Some(server) = server else {
            return self.no_server(name, asked);
        };
        self.register.bindings.insert(name.clone(), server);
        self.register.unlogged.insert(name.clone());
        self.draft.records.push(Record::Bound(name.clone(), server));
        self.draft.after.push(After::Bound(name.clone()));
    }

    fn no_server(&mut self, name: &Text, asked: u8) {
        if asked < self.settings.lookups {
            self.register.asked.insert(name.clone(), asked + 1);
            self.outputs.push(Output::Resolve(name.clone()));
            return;
        }
        let dropped = self.register.waiting.remove(name).unwrap_or_default();
        self.tally.unresolved += dropped.len() as u64;
        self.work.taken += dropped.len() as u64;
        self.register.give_up(dropped);
        self.draft.records.push(Record::Dispatched(name.clone()));
    }

    /// A binding is in the log: nobody will ever bind the name to another server, so what waited
    /// for it may go there.
    pub(super) fn on_bound(&mut self, name: &Text) {
        self.register.unlogged.remove(name);
        let unit = Unit::register_of(name);
        if !matches!(self.units.get(&unit), Some(Hold::Own { .. })) {
            return;
        }
        let Some(&server) = self.register.bindings.get(name) else {
            return;
        };
        let waiting = self.register.waiting.remove(name).unwrap_or_default();
        for mut parcel in waiting {
            parcel.server = Some(server);
            self.pass_to_owner(parcel);
        }
        self.draft.records.push(Record::Dispatched(name.clone()));
    }

    /// The register is ours alone: whatever waits in it goes on.
    pub(super) fn open_register(&mut self, number: u8) {
        let here = |name: &&Text| Unit::register_of(name) == Unit::Register(number);
        let names: Vec<Text> = self.register.waiting.keys().filter(here).cloned().collect();
        for name in names {
            if !self.register.bindings.contains_key(&name) {
                self.look_up(name);
            } else if !self.register.unlogged.contains(&name) {
                self.on_bound(&name);
            }
        }
    }

    /// A record about names, from a package, a log or our own disk.
    pub(super) fn apply_register(&mut self, record: &Record) {
        let register = &mut self.register;
        match record {
            Record::Bound(name, server) => {
                register.bindings.entry(name.clone()).or_insert(*server);
            }
            Record::Waiting(parcel) => {
                let waiting = register.waiting.entry(parcel.name.clone()).or_default();
                if !waiting.contains(parcel) {
                    waiting.push(parcel.clone());
                }
            }
            Record::Dispatched(name) => {
                let waiting = register.waiting.remove(name).unwrap_or_default();
                if !register.bindings.contains_key(name) {
                    register.give_up(waiting);
                }
            }
            _ => {}
        }
    }

    /// All that a register of ours holds.
    pub(super) fn register_records(&self, number: u8) -> Vec<Record> {
        let here = |name: &Text| Unit::register_of(name) == Unit::Register(number);
        let bound = (self.register.bindings.iter()).filter(|(name, _)| here(name));
        let waiting = (self.register.waiting.iter()).filter(|(name, _)| here(name));
        bound
            .map(|(name, server)| Record::Bound(name.clone(), *server))
            .chain(waiting.flat_map(|(_, all)| all.iter().cloned().map(Record::Waiting)))
            .collect()
    }

    /// Another has the register now.
    pub(super) fn forget_register(&mut self, number: u8) {
        let here = |name: &Text| Unit::register_of(name) == Unit::Register(number);
        let register = &mut self.register;
        for (name, server) in &register.bindings {
            if here(name) {
                register.hints.insert(name.clone(), *server);
            }
        }
        register.bindings.retain(|name, _| !here(name));
        register.waiting.retain(|name, _| !here(name));
        register.unlogged.retain(|name| !here(name));
        register.asked.retain(|name, _| !here(name));
    }

    /// The server that a register of this robot bound a name to.
    pub fn bound(&self, name: &str) -> Option<IpAddr> {
        self.register.bindings.get(name).copied()
    }

    /// URLs that were given up because their names have no server.
    pub fn given_up(&self) -> impl Iterator<Item = &str> {
        // a name may have got one since
        let given_up = self.register.given_up.iter();
        let lost = given_up.filter(|(name, _)| self.server_of(name).is_none());
        lost.map(|(_, url)| &**url)
    }

    /// The server of a name, as far as the robot may rely on it.
    pub(super) fn server_of(&self, name: &Text) -> Option<IpAddr> {
        let register = &self.register;
        let own = register.bindings.get(name);
        own.filter(|_| !register.unlogged.contains(name))
            .or_else(|| register.hints.get(name))
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{GroupId, RobotId};
    use crate::robot::Settings;

    #[test]
    fn what_an_earlier_life_gave_up_is_known_to_the_next() {
        let parcel = |name: &str| Parcel::new(name.into(), format!("http://{name}/").into());
        let commit = vec![
            Record::Waiting(parcel("nowhere.test")),
            Record::Waiting(parcel("somewhere.test")),
            Record::Bound("somewhere.test".into(), [192, 0, 2, 1].into()),
            Record::Dispatched("somewhere.test".into()),
            Record::Dispatched("nowhere.test".into()),
            // given up at first
            Record::Waiting(parcel("late.test")),
            Record::Dispatched("late.test".into()),
            Record::Bound("late.test".into(), [192, 0, 2, 2].into()),
        ];
        let settings = Settings::new(RobotId(8), vec![GroupId(1)]);
        let robot = Robot::new(settings, 1, 0, &[commit.into()]);
        let given_up: Vec<&str> = robot.given_up().collect();
        assert_eq!(given_up, ["http://nowhere.test/"]);
    }
}
