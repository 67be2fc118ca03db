//! Two whole robots and the bus between them.

use crate::cores;
use crate::server::Server;
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
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const FLEET: GroupId = GroupId(1);
const URLS: u64 = 600_000;
/// Given at a time, as from as many pages.
const TOGETHER: usize = 5_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
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

/// A robot with a runtime of its own, so that its threads can be told apart.
fn start(number: u64, server: &Server, at: &std::path::Path) -> (Crawl, Sight, Runtime) {
    let runtime = Runtime::new().expect("a runtime");
    let bus = runtime.block_on(server.connect());
    if number == 1 {
        runtime.block_on(found(&bus));
    }
    let mut config = Config {
        seeds: vec!["http://www.host-000.example/".to_owned().into()],
        ..Config::default()
    };
    config.data.0 = at.into();
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
    (crawl, sight, runtime)
}

/// Whether both have settled a plan with both.
fn is_seated(sight: &Sight) -> bool {
    let seated = |plan: &Plan| plan.seats.len() == 2;
    sight.look(|seam| seam.protocol().plans().any(|plan| seated(&plan.0))) == Some(true)
}

/// Processor time so far of the sender, the receiver and the server.
fn spent(threads: &[BTreeSet<u32>; 2], server: &Server) -> [f64; 3] {
    let [sender, receiver] = threads.each_ref().map(cores::of_threads);
    [sender, receiver, cores::of_process(server.process())]
}

pub fn run(server: &Server) -> Measured {
    let directories = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let (first, sight, _sending) = start(1, server, directories[0].path());
    // whoever gives the URLs works for the sender
    let sender = cores::threads();
    let (second, other, _receiving) = start(2, server, directories[1].path());
    let receiver = &cores::threads() - &sender;
    let threads = [sender, receiver];
    let until = Instant::now() + LIMIT;
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(Instant::now() < until, "{what}: not in time");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait("seats", &|| is_seated(&sight) && is_seated(&other));
    std::thread::sleep(Duration::from_secs(3));
    // those that are the second robot's
    let plan = sight.look(|seam| seam.protocol().plans().next().cloned());
    let plan = plan.flatten().expect("a plan");
    let foreign = (0..).map(url).filter(|(_, server, _)| {
        plan.0.owner(Unit::Server(*server), None) == Some(Member::Robot(RobotId(2)))
    });
    let parcels: Vec<Parcel> = foreign
        .take(URLS as usize)
        .map(|(name, server, url)| {
            let mut parcel = Parcel::new(name.into(), url.into());
            parcel.server = Some(server);
            parcel
        })
        .collect();
    let earlier = spent(&threads, server);
    let begun = Instant::now();
    for some in parcels.chunks(TOGETHER) {
        sight.give(some.iter().cloned());
    }
    // a status is copied whole: whoever watches should leave the robots their cores
    let had = || {
        std::thread::sleep(BETWEEN_LOOKS);
        let status = second.status();
        status.pages_known + status.trapped
    };
    wait("URLs", &|| had() >= URLS);
    let seconds = begun.elapsed().as_secs_f64();
    let now = spent(&threads, server);
    let trapped = second.status().trapped;
    assert_eq!(trapped, 0, "these URLs lead into no trap");
    for crawl in [first, second] {
        crawl.stop();
        crawl.wait().expect("it ends");
    }
    Measured {
        urls: URLS,
        seconds,
        cores: Some(std::array::from_fn(|part| now[part] - earlier[part])),
    }
}
