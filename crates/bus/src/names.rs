//! What things are called in the engine.

use fleet::identity::{GroupId, Member, RobotId, Session};
use fleet::key::{Key, What};
use fleet::parcel::{Subject, To};

/// A name that no fleet can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fleet cannot be called {0:?}: expected 1 to 32 of a–z, 0–9 and -, a letter first")]
pub struct BadName(pub String);

/// The names of one fleet. Fleets that share servers do not see each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    fleet: String,
}

impl Names {
    /// The names of the fleet that is called so.
    pub fn new(fleet: &str) -> Result<Self, BadName> {
        let usual = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let good = (1..=32).contains(&fleet.len())
            && fleet.starts_with(|c: char| c.is_ascii_lowercase())
            && fleet.chars().all(usual);
        if !good {
            return Err(BadName(fleet.to_owned()));
        }
        Ok(Self {
            fleet: fleet.to_owned(),
        })
    }

    /// The fleet's own.
    pub fn fleet(&self) -> &str {
        &self.fleet
    }

    /// The stream of a group's keys; a bucket for other tools.
    pub fn bucket(&self, group: GroupId) -> String {
        format!("KV_{}_{group}", self.fleet)
    }

    /// All keys of a group.
    pub fn keys(&self, group: GroupId) -> String {
        format!("$KV.{}_{group}.>", self.fleet)
    }

    /// Where a key is written.
    pub fn key(&self, key: Key) -> String {
        let group = key.group;
        format!("$KV.{}_{group}.{}", self.fleet, of_what(key.what))
    }

    /// The key that is written there, if it is one of the group's.
    pub fn read_key(&self, group: GroupId, subject: &str) -> Option<Key> {
        let prefix = format!("$KV.{}_{group}.", self.fleet);
        let what = what(subject.strip_prefix(&prefix)?)?;
        Some(Key { group, what })
    }

    /// Where accepted changes of a group's keys are told.
    pub fn changes(&self, group: GroupId) -> String {
        format!("{}.changes.{group}.>", self.fleet)
    }

    /// The stream of a group's messages.
    pub fn queue(&self, group: GroupId) -> String {
        format!("QUEUE_{}_{group}", self.fleet)
    }

    /// All subjects of a group's messages.
    pub fn subjects(&self, group: GroupId) -> String {
        format!("{}.queue.{group}.>", self.fleet)
    }

    /// Where a message goes.
    pub fn subject(&self, subject: Subject) -> String {
        let group = subject.group;
        format!("{}.queue.{group}.{}", self.fleet, of_reader(subject.to))
    }

    /// The consumer of a subject.
    pub fn consumer(subject: Subject) -> String {
        of_reader(subject.to).replace('.', "_")
    }

    /// The stream of a site's logs.
    pub fn logs(&self, site: GroupId) -> String {
        format!("LOG_{}_{site}", self.fleet)
    }

    /// All logs of a site.
    pub fn all_logs(&self, site: GroupId) -> String {
        format!("{}.log.{site}.>", self.fleet)
    }

    /// A session's log.
    pub fn log(&self, site: GroupId, session: Session) -> String {
        let Session { robot, incarnation } = session;
        format!("{}.log.{site}.{robot}.{incarnation}", self.fleet)
    }

    /// The bucket of objects.
    pub fn objects(&self) -> String {
        format!("{}_objects", self.fleet)
    }

    /// The stream of dead letters.
    pub fn dead(&self) -> String {
        format!("DEAD_{}", self.fleet)
    }

    /// All dead letters.
    pub fn all_dead(&self) -> String {
        format!("{}.dead.>", self.fleet)
    }

    /// Where the dead letters of a reader go.
    pub fn dead_of(&self, subject: Subject) -> String {
        let group = subject.group;
        format!("{}.dead.{group}.{}", self.fleet, of_reader(subject.to))
    }

    /// The stream of what people write down about the fleet; a bucket for other tools.
    pub fn papers(&self) -> String {
        format!("KV_{}_papers", self.fleet)
    }

    /// Where a paper is; of "" all.
    pub fn paper(&self, name: &str) -> String {
        let name = if name.is_empty() { ">" } else { name };
        format!("$KV.{}_papers.{name}", self.fleet)
    }

    /// The stream of what happened.
    pub fn events(&self) -> String {
        format!("EVENTS_{}", self.fleet)
    }

    /// Where what happened to a robot is told; of nobody all.
    pub fn events_of(&self, robot: Option<RobotId>) -> String {
        let whose = robot.map_or(String::from(">"), |robot| robot.to_string());
        format!("{}.events.{whose}", self.fleet)
    }

    /// Where a robot is asked.
    pub fn ask(&self, robot: RobotId) -> String {
        format!("{}.ask.{robot}", self.fleet)
    }
}

fn of_what(what: What) -> String {
    match what {
        What::Plan => "plan".to_owned(),
        What::Grant => "grant".to_owned(),
        What::Quiet => "quiet".to_owned(),
        What::Charter => "charter".to_owned(),
        What::Lease(robot) => format!("lease.{robot}"),
        What::Summary(group) => format!("summary.{group}"),
    }
}

fn what(name: &str) -> Option<What> {
    let what = match name.split_once('.') {
        None if name == "plan" => What::Plan,
        None if name == "grant" => What::Grant,
        None if name == "quiet" => What::Quiet,
        None if name == "charter" => What::Charter,
        Some(("lease", id)) => What::Lease(RobotId(id.strip_prefix('r')?.parse().ok()?)),
        Some(("summary", id)) => What::Summary(GroupId(id.strip_prefix('g')?.parse().ok()?)),
        _ => return None,
    };
    // "r007" and "r+7" would be second names of a key
    (of_what(what) == name).then_some(what)
}

fn of_reader(to: To) -> String {
    match to {
        To::Member(Member::Robot(robot)) => format!("member.{robot}"),
        To::Member(Member::Group(group)) => format!("member.{group}"),
        To::Robot(robot) => format!("robot.{robot}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_name() {
        let names = Names::new("web").expect("a good name");
        let group = GroupId(3);
        for what in [
            What::Plan,
            What::Grant,
            What::Quiet,
            What::Charter,
            What::Lease(RobotId(u64::MAX)),
            What::Summary(GroupId(0)),
        ] {
            let key = Key { group, what };
            assert_eq!(names.read_key(group, &names.key(key)), Some(key));
            assert_eq!(names.read_key(GroupId(4), &names.key(key)), None);
        }
        for wrong in [
            "lease.r07",
            "lease.7",
            "lease.r+7",
            "lease",
            "plan.r1",
            "",
            "lease.r1.x",
        ] {
            assert_eq!(names.read_key(group, &format!("$KV.web_g3.{wrong}")), None);
        }
    }

    #[test]
    fn fleets_have_tame_names() {
        for wrong in [
            "",
            "Web",
            "1web",
            "a.b",
            "a b",
            "a>",
            "a*",
            "ä",
            &"a".repeat(33),
        ] {
            assert!(Names::new(wrong).is_err(), "{wrong}");
        }
        assert!(Names::new("web-2").is_ok());
    }
}
