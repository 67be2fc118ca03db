//! A fleet as a whole: groups, plans, robots, put together from what is kept and what robots answer.

use super::ask::{Ask, Report};
use super::groups::{Groups, TOP};
use super::office::{Member as Written, Office};
use anyhow::{Result, anyhow};
use bus::Bus;
use fleet::identity::{GroupId, Member, RobotId, Unit};
use fleet::key::{Charter, Lease, Summary, Value, What};
use fleet::plan::{Plan, Standing};
use fleet::record::Shared;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a group's keys say.
#[derive(Default)]
pub struct Keys {
    pub plan: Option<Shared<Plan>>,
    pub charter: Option<Charter>,
    pub leases: BTreeMap<RobotId, Lease>,
    pub summaries: BTreeMap<GroupId, Summary>,
    /// Whether the whole fleet had nothing left to do.
    pub quiet: bool,
}

/// Everything.
pub struct Picture {
    pub groups: Groups,
    pub robots: Vec<Written>,
    pub keys: BTreeMap<GroupId, Keys>,
}

/// A robot, for people and programs.
#[derive(Serialize)]
pub struct Shown {
    pub name: String,
    pub id: u64,
    pub group: String,
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

impl Picture {
    pub fn take(office: &Office) -> Result<Self> {
        office.articles()?;
        let (_, groups) = office.groups()?;
        let robots = office.robots()?;
        let mut keys = BTreeMap::new();
        for group in &groups.groups {
            let id = GroupId(group.id);
            keys.insert(id, Keys::read(office, id)?);
        }
        Ok(Self {
            groups,
            robots,
            keys,
        })
    }

    pub fn plan(&self, group: GroupId) -> Option<&Plan> {
        self.keys.get(&group)?.plan.as_ref().map(|plan| &*plan.0)
    }

    pub fn robot_name(&self, robot: RobotId) -> String {
        let found = self.robots.iter().find(|known| known.id() == robot);
        found.map_or_else(|| robot.to_string(), |known| known.name.clone())
    }

    pub fn member_name(&self, member: Member) -> String {
        match member {
            Member::Robot(robot) => self.robot_name(robot),
            Member::Group(group) => self.groups.name(group),
        }
    }

    /// All robots, with what those at work say.
    pub fn robots(&self, office: &Office) -> Vec<Shown> {
        let reports = office.ask_all::<Report>(self.robots.iter().map(Written::id), &Ask::Status);
        let shown = self.robots.iter().zip(reports).map(|(robot, report)| {
            let group = self
                .groups
                .named(&robot.group)
                .map(|group| GroupId(group.id));
            let keys = group.ok().and_then(|group| self.keys.get(&group));
            let lease = keys.and_then(|keys| keys.leases.get(&robot.id()));
            let seat = keys.and_then(|keys| {
                let plan = keys.plan.as_ref()?;
                plan.seat(Member::Robot(robot.id())).cloned()
            });
            let state = match (&report, &seat, lease) {
                (Some(report), ..) if report.leaving => "leaving",
                (Some(report), ..) if !report.lease => "at work, without a lease",
                (Some(_), None, _) => "at work, waits for a seat",
                (Some(_), Some(seat), _) if seat.standing == Standing::Leaving => "leaving",
                (Some(_), ..) => "at work",
                (None, Some(_), Some(lease)) if lease.sealed => "dead, being taken over",
                (None, Some(_), _) => "silent",
                (None, None, Some(lease)) if lease.sealed => "dead",
                (None, None, _) => "away",
            };
            Shown {
                name: robot.name.clone(),
                id: robot.id().0,
                group: robot.group.clone(),
                state,
                report,
            }
        });
        shown.collect()
    }

    /// From the fleet down to the robot that a unit belongs to: each group, and the member it goes to.
    pub fn walk(&self, unit: Unit) -> Vec<(GroupId, Option<Member>)> {
        let mut steps = Vec::new();
        let mut at = TOP;
        loop {
            let owner = self.plan(at).and_then(|plan| plan.owner(unit, None));
            steps.push((at, owner));
            match owner {
                Some(Member::Group(below)) if steps.len() < 32 => at = below,
                _ => return steps,
            }
        }
    }

    /// The robot at the end of the way.
    pub fn owner(&self, unit: Unit) -> Option<RobotId> {
        match self.walk(unit).last()?.1? {
            Member::Robot(robot) => Some(robot),
            Member::Group(_) => None,
        }
    }
}

impl Keys {
    fn read(office: &Office, group: GroupId) -> Result<Self> {
        let readings = office.runtime.block_on(office.nats.poll(group));
        let readings = readings.map_err(|error| anyhow!("{error}"))?;
        let mut keys = Self::default();
        for reading in readings {
            match (reading.key.what, reading.value) {
                (_, Ok(Value::Plan(plan))) => keys.plan = Some(plan),
                (_, Ok(Value::Charter(charter))) => keys.charter = Some(charter),
                (What::Lease(robot), Ok(Value::Lease(lease))) => {
                    keys.leases.insert(robot, lease);
                }
                (What::Summary(group), Ok(Value::Summary(summary))) => {
                    keys.summaries.insert(group, summary);
                }
                (_, Ok(Value::Quiet(quiet))) => keys.quiet = quiet.reached,
                _ => {}
            }
        }
        Ok(keys)
    }
}
