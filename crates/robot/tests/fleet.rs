//! Three live robots share the demo web, over real sockets; between them the model of the messaging engine.

use fleet::identity::{GroupId, Member, RobotId};
use fleet::io::{Delivery, Input, Outcome, Output};
use fleet::key::{Key, Value, What};
use fleet::plan::{Plan, Seat, Version};
use fleet::record::Shared;
use fleet::robot::Settings;
use robot::{Berth, Crawl, Mooring, Until, start_in_fleet, state_directory};
use simulation::fleet::engine::Engine;
use simulation::web::{Clock, Rules, Server, Web, WebSpec, check_politeness};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use storage::{PageState, Reader};

const ROBOTS: u64 = 3;
const GROUP: GroupId = GroupId(1);
/// Seconds between two requests to a host or address.
const DELAY: f64 = 0.05;
/// Milliseconds after which what is not acknowledged comes again.
const ACKNOWLEDGE: u64 = 3_000;

fn settings(robot: RobotId) -> Settings {
    let mut settings = Settings::new(robot, vec![GROUP]);
    settings.term.lasts = 6_000;
    settings.term.margin = 300;
    settings.poll = 500;
    settings.interval = (DELAY * 1e3) as u64;
    settings.longest = 1_000;
    settings.resend = 2_000;
    settings
}

/// The engine, and who is moored to it.
struct Bus {
    engine: Engine,
    moorings: Vec<Mooring>,
    began: Instant,
    deliveries: HashMap<u64, (fleet::parcel::Subject, u64)>,
    last: u64,
}

impl Bus {
    fn new(moorings: Vec<Mooring>) -> Self {
        let mut engine = Engine::default();
        let mut plan = Plan::new(GROUP, Version { number: 1, term: 1 }, RobotId(1));
        let seat = |robot| Seat::new(Member::Robot(RobotId(robot)), 1, 1);
        plan.seats = (1..=ROBOTS).map(seat).collect();
        let what = What::Plan;
        let plan = Value::Plan(Shared(Arc::new(plan)));
        engine.swap(0, Key { group: GROUP, what }, 0, plan);
        Self {
            engine,
            moorings,
            began: Instant::now(),
            deliveries: HashMap::new(),
            last: 0,
        }
    }

    fn run(mut self, ends: &AtomicBool) {
        while !ends.load(Ordering::Relaxed) {
            for index in 0..self.moorings.len() {
                while let Ok(wish) = self.moorings[index].wishes.try_recv() {
                    for input in self.perform(wish) {
                        // whoever has ended hears nothing
                        let _ = self.moorings[index].teller.send(input);
                    }
                }
                self.deliver(index);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn perform(&mut self, wish: Output) -> Vec<Input> {
        let now = self.now();
        match wish {
            Output::Poll(group) => {
                let cells = self.engine.read(now, group, 0).into_iter();
                let reads = cells.map(|(key, revision, value)| Input::Read {
                    key,
                    revision,
                    value,
                });
                reads.chain([Input::Polled(group)]).collect()
            }
            Output::Swap {
                token,
                key,
                revision,
                value,
            } => {
                let outcome = self.engine.swap(now, key, revision, value.clone());
                if let Outcome::Done(revision) = outcome {
                    for mooring in &self.moorings {
                        let value = value.clone();
                        let _ = mooring.teller.send(Input::Read {
                            key,
                            revision,
                            value,
                        });
                    }
                }
                vec![Input::Outcome(token, outcome)]
            }
            Output::Publish {
                token,
                subject,
                message,
            } => {
                let id = self.engine.publish(subject, Arc::new(message));
                vec![Input::Outcome(token, Outcome::Done(id))]
            }
            Output::Acknowledge(Delivery(delivery)) => {
                if let Some((subject, id)) = self.deliveries.remove(&delivery) {
                    self.engine.acknowledge(subject, id);
                }
                Vec::new()
            }
            Output::Return(Delivery(delivery)) => {
                if let Some((subject, id)) = self.deliveries.remove(&delivery) {
                    self.engine.put_back(subject, id, 0);
                }
                Vec::new()
            }
            Output::Append {
                session,
                expected,
                entries,
            } => vec![Input::Log(self.engine.append(session, expected, &entries))],
            Output::Tail(session) => vec![Input::Log(self.engine.tail(session))],
            Output::Seal(token, session) => {
                self.engine.seal(session);
                vec![Input::Outcome(token, Outcome::Done(0))]
            }
            Output::Replay(session) => vec![Input::Records(session, self.engine.replay(session))],
            Output::Put(token, name, bytes) => {
                self.engine.put(name, bytes);
                vec![Input::Outcome(token, Outcome::Done(0))]
            }
            Output::Get(name) => {
                let object = self.engine.object(&name);
                vec![Input::Object(name, object)]
            }
            other => panic!("not for a bus: {other:?}"),
        }
    }

    fn deliver(&mut self, index: usize) {
        let now = self.now();
        for subject in self.moorings[index].sight.subjects() {
            for queued in self.engine.ready(subject, now) {
                queued.out_until = now + ACKNOWLEDGE;
                self.last += 1;
                self.deliveries.insert(self.last, (subject, queued.id));
                let message = fleet::parcel::Message::clone(&queued.message);
                let input = Input::Message(Delivery(self.last), message);
                let _ = self.moorings[index].teller.send(input);
            }
        }
    }
}

#[test]
fn three_live_robots_fetch_every_page_once_and_end_together() {
    let spec = WebSpec {
        hosts: 12,
        largest: 20,
        ..WebSpec::plain()
    };
    let web = Arc::new(Web::new(&spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
    let directories: Vec<_> = (0..ROBOTS).map(|_| tempfile::tempdir().unwrap()).collect();
    let (mut crawls, mut moorings): (Vec<Crawl>, _) = (Vec::new(), Vec::new());
    for (robot, directory) in (1..).zip(&directories) {
        let (berth, mooring) = Berth::new(settings(RobotId(robot)), robot as u16);
        let config = running.crawl_config(&web, DELAY, directory.path());
        crawls.push(start_in_fleet(&config, Until::FetchedOnce, berth).unwrap());
        moorings.push(mooring);
    }
    let ends = Arc::new(AtomicBool::new(false));
    let (bus, told) = (Bus::new(moorings), ends.clone());
    let bus = std::thread::spawn(move || bus.run(&told));
    crawls[0].give(&web.seed_url(running.port)).unwrap();
    let began = Instant::now();
    while !crawls.iter().all(Crawl::is_over) {
        let statuses = || crawls.iter().map(Crawl::status).collect::<Vec<_>>();
        assert!(
            began.elapsed() < Duration::from_mins(2),
            "{:#?}",
            statuses()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let requests: Vec<u64> = (crawls.into_iter())
        .map(|crawl| crawl.wait().unwrap().requests)
        .collect();
    ends.store(true, Ordering::Relaxed);
    bus.join().unwrap();
    println!("{requests:?} requests in {:.1?}", began.elapsed());
    assert!(
        requests.iter().all(|&requests| requests > 0),
        "{requests:?}"
    );

    let visits = running.record.visits();
    let rules = Rules {
        host_delay: DELAY,
        address_delay: DELAY,
        crawl_delay: web.crawl_delays(),
        ..Rules::default()
    };
    assert_eq!(check_politeness(&visits, &rules).len(), 0);
    let mut asked: BTreeMap<(String, String), usize> = BTreeMap::new();
    for visit in &visits {
        *asked
            .entry((visit.host.to_string(), visit.path.to_string()))
            .or_default() += 1;
    }
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let live: usize = (directories.iter())
        .map(|directory| {
            let reader = Reader::open(&state_directory(directory.path())).unwrap();
            let live = |row: &storage::PageRow| row.state == PageState::Live;
            let pages = reader.pages().unwrap().map(|page| page.unwrap());
            pages
                .filter(|page| page.row.as_ref().is_some_and(live))
                .count()
        })
        .sum();
    assert_eq!(live, web.pages().len());
}
