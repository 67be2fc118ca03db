//! What happens to a robot's servers is told to the fleet, for `fleet moves`.

use crate::fleet::office::Office;
use fleet::identity::{RobotId, Unit};
use robot::Sight;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime};

/// So often it is looked what has changed.
const EVERY: Duration = Duration::from_secs(1);
/// Most servers that one event names.
const NAMED: usize = 50;

/// Something that happened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Event {
    /// Milliseconds since 1970.
    pub at: u64,
    pub robot: String,
    /// Servers that are the robot's own from now on, and some of them by name.
    pub took: usize,
    pub took_servers: Vec<IpAddr>,
    /// Servers that are not any more.
    pub gave: usize,
    pub gave_servers: Vec<IpAddr>,
    /// Plans of the groups above, from the fleet down.
    pub plans: Vec<String>,
    /// Anything else.
    pub what: Option<String>,
}

pub struct Journal<'a> {
    name: String,
    robot: RobotId,
    office: &'a Office,
    next: Instant,
    own: BTreeSet<IpAddr>,
    plans: Vec<String>,
}

impl<'a> Journal<'a> {
    pub fn new(name: &str, robot: RobotId, office: &'a Office) -> Self {
        Self {
            name: name.to_owned(),
            robot,
            office,
            next: Instant::now(),
            own: BTreeSet::new(),
            plans: Vec::new(),
        }
    }

    /// Tells what is new.
    pub fn look(&mut self, sight: &Sight) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + EVERY;
        let seen = sight.look(|seam| {
            let own: BTreeSet<IpAddr> = (seam.protocol().owned())
                .filter_map(|unit| match unit {
                    Unit::Server(server) => Some(server),
                    Unit::Register(_) => None,
                })
                .collect();
            let plans = seam.protocol().plans().map(|plan| plan.version.to_string());
            (own, plans.collect::<Vec<_>>())
        });
        let Some((own, plans)) = seen else { return };
        let took: Vec<IpAddr> = own.difference(&self.own).copied().collect();
        let gave: Vec<IpAddr> = self.own.difference(&own).copied().collect();
        if took.is_empty() && gave.is_empty() && plans == self.plans {
            return;
        }
        self.own = own;
        self.plans = plans;
        self.publish(Event {
            took: took.len(),
            took_servers: took.into_iter().take(NAMED).collect(),
            gave: gave.len(),
            gave_servers: gave.into_iter().take(NAMED).collect(),
            ..Event::default()
        });
    }

    /// Tells anything else.
    pub fn tell(&self, what: &str) {
        let event = Event {
            what: Some(what.to_owned()),
            ..Event::default()
        };
        let _ = self.office.runtime.block_on(self.told(event));
    }

    fn publish(&self, event: Event) {
        // the crawl does not wait for it
        drop(self.office.runtime.spawn(self.told(event)));
    }

    fn told(&self, event: Event) -> impl Future<Output = bool> + Send + 'static {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let event = Event {
            at: now.unwrap_or_default().as_millis() as u64,
            robot: self.name.clone(),
            plans: self.plans.clone(),
            ..event
        };
        let (nats, robot) = (self.office.nats.clone(), self.robot);
        let bytes = serde_json::to_vec(&event).unwrap_or_default();
        async move { nats.tell(robot, bytes).await }
    }
}
