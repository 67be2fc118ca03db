//! Three live robots in two groups share the demo web, over real sockets and the engine's model.

use bus::Bus;
use bus::layout::Layout;
use bus::memory::Memory;
use bus::names::Names;
use fleet::identity::{GroupId, RobotId};
use fleet::io::Outcome;
use fleet::key::{Charter, Key, Value, What};
use fleet::parcel::Parcel;
use fleet::plan::{Plan, Standing};
use fleet::record::Shared;
use fleet::robot::Settings;
use robot::{Berth, Crawl, Until, start_in_fleet};
use simulation::web::{Clock, Rules, Server, Web, WebSpec, check_politeness};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FLEET: GroupId = GroupId(1);
const SITES: [GroupId; 2] = [GroupId(2), GroupId(3)];
/// Seconds between two requests to a host or address.
const DELAY: f64 = 0.05;
/// No request lasts longer. The fleet is new, so nobody waits for requests that others may have made before.
const LONGEST: Duration = Duration::from_mins(1);

fn settings(robot: u64, site: GroupId) -> Settings {
    let mut settings = Settings::new(RobotId(robot), vec![FLEET, site]);
    settings.term.lasts = 6_000;
    settings.term.margin = 300;
    settings.poll = 500;
    settings.interval = (DELAY * 1e3) as u64;
    settings.longest = LONGEST.as_millis() as u64;
    settings.resend = 2_000;
    settings
}

async fn put(bus: &Memory, group: GroupId, what: What, value: Value) {
    let put = bus.swap(Key { group, what }, 0, &value).await;
    assert!(matches!(put, Outcome::Done(_)), "{put:?}");
}

/// What `fleet init` and `fleet group add` do.
async fn found(bus: &Memory) {
    let plan = |group, parent| Value::Plan(Shared(Arc::new(Plan::founding(group, parent))));
    let charter = |parent, groups: &[GroupId]| {
        Value::Charter(Charter {
            number: 1,
            parent,
            groups: groups.to_vec(),
            ..Charter::default()
        })
    };
    put(bus, FLEET, What::Plan, plan(FLEET, None)).await;
    put(bus, FLEET, What::Charter, charter(None, &SITES)).await;
    for site in SITES {
        put(bus, site, What::Plan, plan(site, Some(FLEET))).await;
        put(bus, site, What::Charter, charter(Some(FLEET), &[])).await;
    }
}

#[test]
fn robots_in_two_groups_fetch_every_page_once_and_end_together() {
    let spec = WebSpec {
        hosts: 12,
        largest: 20,
        ..WebSpec::plain()
    };
    let web = Arc::new(Web::new(&spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let bus = Memory::new(Names::new("web").unwrap(), Layout::default());
    runtime.block_on(found(&bus));
    let directories: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let (mut crawls, mut sights): (Vec<Crawl>, Vec<_>) = (Vec::new(), Vec::new());
    for (robot, directory) in (1..).zip(&directories) {
        let site = SITES[usize::from(robot == 3)];
        let (berth, mooring) = Berth::new(settings(robot, site), robot as u16);
        let config = running.crawl_config(&web, DELAY, directory.path());
        crawls.push(start_in_fleet(&config, Until::FetchedOnce, berth).unwrap());
        sights.push(mooring.sight.clone());
        dock::serve(bus.clone(), mooring, runtime.handle().clone()).unwrap();
    }
    let began = Instant::now();
    // all have a part of the Web before there is any: else the first one may be done with it alone
    let seated = |plan: &Plan| {
        let members = if plan.group == SITES[1] { 1 } else { 2 };
        plan.seats.len() == members
            && (plan.seats.iter()).all(|seat| seat.standing == Standing::Active)
    };
    let levels = |seam: &robot::seam::Seam| {
        let plans = seam.protocol().plans();
        plans.filter(|plan| seated(&plan.0)).count()
    };
    while !(sights.iter()).all(|sight| sight.look(levels) == Some(2)) {
        assert!(
            began.elapsed() < Duration::from_mins(1),
            "not all are seated"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let seed = web.seed_url(running.port);
    let name = seed.split(['/', ':']).nth(3).unwrap();
    let commit = sights[0].give([Parcel::new(name.into(), seed.as_str().into())]);
    while !crawls.iter().all(Crawl::is_over) {
        let standing = || {
            let lines = (sights.iter()).map(|sight| sight.look(|s| s.protocol().standing()));
            lines.collect::<Vec<_>>()
        };
        assert!(
            began.elapsed() < Duration::from_mins(2),
            "{:#?}",
            standing()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let on_disk = sights[0].look(|seam| seam.protocol().commits().1);
    assert!(commit.is_some() && on_disk >= commit);
    let requests: Vec<u64> = (crawls.into_iter())
        .map(|crawl| crawl.wait().unwrap().requests)
        .collect();
    println!("{requests:?} requests in {:.1?}", began.elapsed());
    assert!(began.elapsed() < LONGEST, "they waited");
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
    assert_eq!(check_politeness(&visits, &rules), []);
    let mut asked: BTreeMap<(String, String), usize> = BTreeMap::new();
    for visit in &visits {
        let page = (visit.host.to_string(), visit.path.to_string());
        *asked.entry(page).or_default() += 1;
    }
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let had = visits.iter().filter(|visit| visit.complete).count();
    assert!(had >= web.pages().len(), "{had} of {}", web.pages().len());
}
