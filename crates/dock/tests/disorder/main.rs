//! Two whole robots and a real nats-server, between which messages get out of order: readers drop some, pass others on in any
//! order, and die with what they hold, so that the server delivers again what was dealt with and what was not. A receiver that
//! takes whatever has a lower number than it saw before for dealt with fails here.

mod readers;
#[path = "../../benches/exchange/server.rs"]
mod server;

use bus::Bus;
use bus::nats::Nats;
use fleet::identity::{GroupId, Member, RobotId, Text, Unit};
use fleet::io::Outcome;
use fleet::key::{Charter, Key, Value, What};
use fleet::parcel::{Parcel, Subject, To};
use fleet::plan::Plan;
use fleet::record::Shared;
use fleet::robot::Settings;
use readers::{Disorderly, Told};
use robot::config::Config;
use robot::{Berth, Crawl, Sight, Until, start_in_fleet};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::time::timeout;

const FLEET: GroupId = GroupId(1);
const URLS: usize = 6_000;
/// Given at a time.
const TOGETHER: usize = 1_000;
/// What a reader drops comes again after this.
const ACK_WAIT: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_mins(2);

fn start(number: u64, bus: Disorderly, runtime: &Runtime, at: &Path) -> (Crawl, Sight) {
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
    let crawl = start_in_fleet(&config, Until::Stopped, berth).unwrap();
    dock::serve(bus, mooring, runtime.handle().clone()).unwrap();
    (crawl, sight)
}

async fn found(bus: &Nats) {
    bus.init(&[FLEET]).await.unwrap();
    let plan = Value::Plan(Shared(Arc::new(Plan::founding(FLEET, None))));
    let charter = Value::Charter(Charter {
        number: 1,
        ..Charter::default()
    });
    for (what, value) in [(What::Plan, plan), (What::Charter, charter)] {
        let put = bus.swap(Key { group: FLEET, what }, 0, &value).await;
        assert!(matches!(put, Outcome::Done(_)), "{put:?}");
    }
}

/// Fails after a while.
fn wait(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// URLs of servers that are the second robot's.
fn foreign(plan: &Plan) -> Vec<Parcel> {
    // so long that there are many messages
    let referrer: Text = format!("http://www.host-000.example/{}", "x".repeat(8_000)).into();
    let parcels = (0_u64..).filter_map(|n| {
        let host = n % 100;
        let server = IpAddr::from([127, 9, 0, host as u8 + 1]);
        let owner = plan.owner(Unit::Server(server), None);
        (owner == Some(Member::Robot(RobotId(2)))).then(|| {
            let name = format!("www.host-{host:03}.example");
            let url = format!("http://{name}/{n}.html");
            Parcel {
                server: Some(server),
                referrer: Some(referrer.clone()),
                ..Parcel::new(name.into(), url.into())
            }
        })
    });
    parcels.take(URLS).collect()
}

/// In the same places as `scripts/get-nats-server`.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("EVERCRAWL_NATS_SERVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache = cache.or_else(|| home.map(|home| home.join(".cache")));
    let cached = cache.map(|cache| cache.join("evercrawl/nats-server"));
    let mut all = named.into_iter().chain(paths).chain(cached);
    all.find(|program| program.is_file())
}

#[test]
fn messages_out_of_order_and_again_are_taken_once() {
    let Some(program) = program() else {
        eprintln!("skipped: no nats-server; scripts/get-nats-server fetches one");
        return;
    };
    let server = server::Server::start(&program.to_string_lossy(), "2m");
    let runtime = Runtime::new().unwrap();
    let layout = bus::layout::Layout {
        ack_wait: ACK_WAIT,
        deliveries: 100,
        ..server::layout()
    };
    let connect = || runtime.block_on(server::connect(server.port(), &layout));
    let first = connect();
    runtime.block_on(found(&first));
    let told = Arc::new(Told::default());
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [(sender, sight), (receiver, other)] = [(1, first), (2, connect())].map(|(number, bus)| {
        let told = told.clone();
        let at = directories[number as usize - 1].path();
        start(number, Disorderly::new(bus, told), &runtime, at)
    });
    let seated = |plan: &Plan| plan.seats.len() == 2;
    let is_seated =
        |sight: &Sight| sight.look(|seam| seam.protocol().plans().any(|plan| seated(&plan.0)));
    wait("seats", || {
        is_seated(&sight) == Some(true) && is_seated(&other) == Some(true)
    });
    let plan = sight.look(|seam| seam.protocol().plans().next().cloned());
    let parcels = foreign(&plan.flatten().unwrap().0);
    let begun = Instant::now();
    for some in parcels.chunks(TOGETHER) {
        sight.give(some.iter().cloned());
    }
    wait("receipts", || {
        sight.look(|seam| seam.protocol().in_custody()) == Some(0)
    });
    println!("{told:?} in {:.1?}", begun.elapsed());
    for (what, times) in [
        ("dropped", &told.dropped),
        ("killed", &told.killed),
        ("delivered again", &told.again),
        ("late", &told.late),
    ] {
        assert!(times.load(Ordering::Relaxed) > 2, "{what}: {told:?}");
    }
    // whoever reads now finds nothing that was not acknowledged
    let reader = connect();
    let (dead, letters) = runtime.block_on(reader.dead_letters(1)).unwrap();
    assert_eq!((dead, letters), (0, Vec::new()));
    wait("acknowledgements", || is_empty(&runtime, &reader));
    for crawl in [sender, receiver] {
        crawl.stop();
        crawl.wait().unwrap();
    }
    let state = directories[1].path().join("state");
    let store = storage::Reader::open(&state).unwrap();
    let pages = (0..store.page_count().unwrap()).map(storage::PageId);
    let had: Vec<String> = pages.map(|page| store.address(page).unwrap().url).collect();
    let expected: BTreeSet<&str> = parcels.iter().map(|parcel| &*parcel.url).collect();
    assert_eq!(had.len(), expected.len(), "as many as were sent");
    assert_eq!(
        had.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        expected
    );
}

/// Whether no message to the receiver comes for longer than the server waits for an acknowledgement.
fn is_empty(runtime: &Runtime, bus: &Nats) -> bool {
    let subject = Subject {
        group: FLEET,
        to: To::Member(Member::Robot(RobotId(2))),
    };
    runtime.block_on(async {
        let mut arrivals = bus.consume(subject).await.unwrap();
        timeout(2 * ACK_WAIT, arrivals.recv()).await.is_err()
    })
}
