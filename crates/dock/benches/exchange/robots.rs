//! Two whole robots and the bus between them, each robot in a process of its own.

use crate::cores::{of_machine, of_process};
use crate::server::{Server, connect, layout};
use crate::{Measured, url};
use bus::Bus;
use bus::nats::Nats;
use fleet::identity::{GroupId, Member, RobotId, Unit};
use fleet::io::Outcome;
use fleet::key::{Charter, Key, Value, What};
use fleet::parcel::Parcel;
use fleet::plan::Plan;
use fleet::record::Shared;
use fleet::robot::Settings;
use robot::config::Config;
use robot::{Berth, Crawl, Sight, Until, start_in_fleet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const FLEET: GroupId = GroupId(1);
const SENDER: u64 = 1;
const RECEIVER: u64 = 2;
const URLS: u64 = 600_000;
/// Found at a time, as on as many pages as the archivist writes at a time.
const TOGETHER: usize = 5_000;
/// So often that is found before the first of it is on disk: 20,000 URLs, as on 500 pages with 40 each. A keeper has no more
/// than 512 pages on their way to the disk.
const AHEAD: usize = 4;
/// Whoever watches should leave the robots their cores.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
/// A limit for a run that hangs.
const LIMIT: Duration = Duration::from_mins(3);

async fn found(bus: &Nats) {
    bus.init(&[FLEET]).await.expect("streams");
    let plan = Value::Plan(Shared(Arc::new(Plan::founding(FLEET, None))));
    let charter = Value::Charter(Charter {
        number: 1,
        ..Charter::default()
    });
    for (what, value) in [(What::Plan, plan), (What::Charter, charter)] {
        let key = Key { group: FLEET, what };
        let put = bus.swap(key, 0, &value).await;
        assert!(matches!(put, Outcome::Done(_)), "{put:?}");
    }
}

struct Running {
    crawl: Crawl,
    sight: Sight,
    _runtime: Runtime,
    directory: tempfile::TempDir,
}

fn start(number: u64, port: u16) -> Running {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = Runtime::new().expect("a runtime");
    let bus = runtime.block_on(connect(port, &layout()));
    if number == SENDER {
        runtime.block_on(found(&bus));
    }
    let mut config = Config {
        seeds: vec!["http://www.host-000.example/".to_owned().into()],
        ..Config::default()
    };
    config.data.0 = directory.path().into();
    config.scope.suffixes = vec!["example".into()];
    config.fetch.allow_networks = vec!["127.0.0.0/8".into()];
    // nothing is fetched
    config.budget.requests_per_second = 0.001;
    let mut settings = Settings::new(RobotId(number), vec![FLEET]);
    settings.division = None;
    settings.poll = 500;
    settings.interval = 100;
    settings.longest = 100;
    let (berth, mooring) = Berth::new(settings, number as u16);
    let sight = mooring.sight.clone();
    let crawl = start_in_fleet(&config, Until::Stopped, berth).expect("a robot");
    dock::serve(bus, mooring, runtime.handle().clone()).expect("a thread");
    Running {
        crawl,
        sight,
        _runtime: runtime,
        directory,
    }
}

impl Running {
    fn stop(self) {
        self.crawl.stop();
        self.crawl.wait().expect("it ends");
    }

    /// Whether it knows a plan with both.
    fn is_seated(&self) -> bool {
        let seated = |plan: &Plan| plan.seats.len() == 2;
        let look = |seam: &robot::seam::Seam| seam.protocol().plans().any(|plan| seated(&plan.0));
        self.sight.look(look) == Some(true)
    }
}

fn wait(what: &str, pause: Duration, is_so: impl Fn() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: not in time");
        std::thread::sleep(pause);
    }
}

/// The receiver, in a process of its own: says when it is seated and when it has committed all, and ends when nobody
/// speaks to it any more.
pub fn receive(port: u16) {
    let robot = start(RECEIVER, port);
    wait("seats", BETWEEN_LOOKS, || robot.is_seated());
    println!("seated");
    // a robot's own figures are a second old
    let state = robot::state_directory(robot.directory.path());
    let store = storage::Reader::open(&state).expect("a store");
    wait("URLs", BETWEEN_LOOKS, || {
        u64::from(store.page_count().expect("it is readable")) >= URLS
    });
    println!("all");
    let _ = std::io::stdin().read(&mut [0]);
    robot.stop();
}

/// The receiver's process; with it go its words, and its end.
fn spawn_receiver(port: u16) -> (Child, impl FnMut(&str)) {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["receive", &port.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut words = BufReader::new(child.stdout.take().expect("piped")).lines();
    let hear = move |expected: &str| {
        let word = words.next().expect("the receiver lives").expect("a line");
        assert_eq!(word, expected);
    };
    (child, hear)
}

pub fn run(server: &Server) -> Measured {
    let robot = start(SENDER, server.port());
    let (mut receiver, mut hear) = spawn_receiver(server.port());
    wait("seats", BETWEEN_LOOKS, || robot.is_seated());
    hear("seated");
    std::thread::sleep(Duration::from_secs(3));
    let parcels = parcels(&robot.sight);
    let processes = [std::process::id(), receiver.id(), server.child.id()];
    let taken = || (processes.map(of_process), of_machine());
    let earlier = taken();
    let begun = Instant::now();
    let mut commits = Vec::new();
    for some in parcels.chunks(TOGETHER) {
        if let Some(at) = commits.len().checked_sub(AHEAD) {
            let is_on_disk = || robot.sight.look(|seam| seam.protocol().commits().1) >= commits[at];
            wait("commits", Duration::from_millis(1), is_on_disk);
        }
        commits.push(robot.sight.give(some.iter().cloned()));
    }
    hear("all");
    let seconds = begun.elapsed().as_secs_f64();
    let now = taken();
    wait("receipts", BETWEEN_LOOKS, || {
        robot.sight.look(|seam| seam.protocol().in_custody()) == Some(0)
    });
    let settled = begun.elapsed().as_secs_f64();
    drop(receiver.stdin.take());
    assert!(receiver.wait().expect("it ran").success());
    robot.stop();
    Measured {
        urls: URLS,
        seconds,
        settled: Some(settled),
        cores: Some((
            std::array::from_fn(|part| now.0[part] - earlier.0[part]),
            now.1 - earlier.1,
        )),
    }
}

/// Those that are the second robot's.
fn parcels(sight: &Sight) -> Vec<Parcel> {
    let plan = sight.look(|seam| seam.protocol().plans().next().cloned());
    let plan = plan.flatten().expect("a plan");
    let foreign = (0..).map(url).filter(|(_, server, _)| {
        plan.0.owner(Unit::Server(*server), None) == Some(Member::Robot(RobotId(RECEIVER)))
    });
    let parcels = foreign
        .take(URLS as usize)
        .map(|(name, server, url)| Parcel {
            server: Some(server),
            ..Parcel::new(name.into(), url.into())
        });
    parcels.collect()
}
