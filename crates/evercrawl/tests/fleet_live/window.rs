//! `evercrawl fleet dashboard` in a browser that other people wrote: a fleet at work, one of its robots killed, and
//! its servers on a map.

#[allow(dead_code)] // the dashboard's own tests do more with it
#[path = "../dashboard/browser.rs"]
mod browser;

use super::{LIMIT, Nats, Robots, configuration, done, fleet};
use browser::Browser;
use ground::Point;
use netmap::place::{Heuristic, Place};
use netmap::probe::Measured;
use netmap::store::Store;
use netmap::wire::Method;
use simulation::web::{Clock, Running, Server, Web, WebSpec};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a page would run if it could.
const EVIL: &str = "<img src=x onerror=window.owned=1>";
/// The evil one is near, and so far down in the table: nobody wants it in the pictures of the book.
const CITIES: [(&str, &str, f64, f64); 6] = [
    ("Lisbon", "PT", 38.72, -9.14),
    (EVIL, "DE", 50.11, 8.68),
    ("New York", "US", 40.71, -74.01),
    ("São Paulo", "BR", -23.55, -46.63),
    ("Tokyo", "JP", 35.68, 139.69),
    ("Sydney", "AU", -33.87, 151.21),
];

/// A map of the servers of the demo web, spread over the world, with two robots in one city.
fn chart(file: &Path, running: &Running) {
    let mut store = Store::open(file).unwrap();
    let point = |k: usize| Point::new(CITIES[k].2, CITIES[k].3).unwrap();
    let robots: Vec<i64> = [("robot-1", 0), ("robot-2", 0), ("robot-3", 1)]
        .map(|(name, city)| store.source(name, Some(point(city))).unwrap())
        .to_vec();
    for (k, (name, address)) in running.addresses.iter().enumerate() {
        let city = k % CITIES.len();
        store.target(name, *address).unwrap();
        for (robot, from) in robots.iter().zip([0, 0, 1]) {
            let measured = Measured {
                method: Method::Icmp,
                samples: vec![Some(2.0 + 0.015 * point(from).kilometres_to(point(city))); 3],
            };
            store.keep_rtt(*robot, *address, 1.0, &measured).unwrap();
        }
        let place = Place {
            heuristic: Heuristic::City,
            point: point(city),
            city: Some(CITIES[city].0.to_owned()),
            country: Some(CITIES[city].1.to_owned()),
        };
        store.keep_places(*address, 1.0, &[place]).unwrap();
    }
}

/// Starts a robot with a dashboard of its own.
fn join(directory: &Path, number: u8, site: &str) -> (String, Child) {
    let name = format!("robot-{number}");
    let local = format!(
        "data = \"{name}\"\n[fetch]\nsource = \"127.0.0.1{number}\"\n[dashboard]\nmap = \"map.db\"\n"
    );
    std::fs::write(directory.join(format!("{name}.toml")), local).unwrap();
    let said = std::fs::File::create(directory.join(format!("{name}.said"))).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["fleet", "join", "--as", &name, "--in", site])
        .args(["--dashboard=127.0.0.1:0", "-c"])
        .arg(format!("{name}.toml"))
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
        .unwrap();
    (name, child)
}

/// Where a dashboard says that it is.
fn address(file: &Path) -> String {
    let limit = Instant::now() + LIMIT;
    loop {
        let said = std::fs::read_to_string(file).unwrap();
        let mut lines = said.lines();
        if let Some((_, at)) = lines.find_map(|line| line.split_once("dashboard: ")) {
            let url = at.split(' ').next().unwrap();
            return url.trim_end_matches('/').to_owned();
        }
        assert!(Instant::now() < limit, "no dashboard: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Starts the dashboard and says where it is.
fn dashboard(directory: &Path, robots: &mut Robots) -> String {
    let out = directory.join("said");
    let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args([
            "fleet",
            "dashboard",
            "--listen",
            "127.0.0.1:0",
            "--map",
            "map.db",
        ])
        .current_dir(directory)
        .stdout(std::fs::File::create(&out).unwrap())
        .spawn()
        .unwrap();
    // ended with them
    robots.0.push(("dashboard".to_owned(), child));
    address(&out)
}

/// A fleet that was founded, with its web and its map; nobody has joined.
fn found(directory: &Path, nats: &Nats) -> Running {
    let spec = WebSpec {
        hosts: 24,
        largest: 150,
        ..WebSpec::plain()
    };
    let web = Arc::new(Web::new(&spec).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
    chart(&directory.join("map.db"), &running);
    let text = configuration(&web, &running, "[budget]\nrequests_per_second = 0\n");
    std::fs::write(directory.join("crawl.toml"), text).unwrap();
    #[rustfmt::skip]
    done(directory, &["init", "--nats", &nats.address, "--name", "web", "-c", "crawl.toml", "--lease", "6s",
        "--quiet", "2s", "--storage", "536870912"]);
    for site in ["braga", "porto"] {
        done(directory, &["group", "add", site]);
    }
    running
}

/// Whose a host is, by the command.
fn owner(directory: &Path, host: &str) -> String {
    let way = done(directory, &["why", host]);
    let has = |name: &String| {
        let begins = format!("{name}:");
        way.lines().any(|line| line.trim().starts_with(&begins))
    };
    let robot = (1..=3).map(|n| format!("robot-{n}")).find(has);
    robot.unwrap_or_else(|| panic!("nobody has {host}: {way}"))
}

/// At every width, by day and by night: nothing is too wide, nothing of the map's words runs.
fn fits_and_runs_nothing(browser: &mut Browser, base: &str) {
    for (width, dark) in [(1280, false), (390, true)] {
        browser.screen(width, 900, dark);
        for path in ["/map", "/fleet", "/fleet/servers"] {
            browser.open(&format!("{base}{path}"));
            let wider = browser.tell("document.documentElement.scrollWidth - innerWidth");
            assert!(wider.as_f64() <= Some(0.0), "{path} is wider than {width}");
            assert_eq!(browser.tell("typeof window.owned"), "undefined", "{path}");
            browser.picture(&format!("{}-{width}", path.replace('/', "")));
        }
    }
    browser.screen(1280, 900, false);
}

/// On the map each server has the mark of its robot.
fn is_on_the_map(browser: &mut Browser, base: &str, running: &Running) {
    browser.open(&format!("{base}/map"));
    let servers: BTreeSet<IpAddr> = running.addresses.values().copied().collect();
    let shown = browser.tell("document.querySelector('tbody').rows.length");
    assert_eq!(shown.as_u64(), Some(servers.len() as u64));
    let marks = browser.tell("document.querySelectorAll('.world g').length");
    assert!(marks.as_f64() >= Some(6.0), "{marks}");
    let every = "[...document.querySelectorAll('tbody tr')].every(row => row.cells[3].innerText.startsWith('robot-'))";
    assert_eq!(browser.tell(every), true);
    assert_eq!(
        browser.tell("document.body.textContent.includes('onerror')"),
        true,
        "the city is text"
    );
}

/// The dashboard of one robot shows its own crawl, the whole fleet and the map.
fn a_robot_shows_itself(browser: &mut Browser, directory: &Path, running: &Running) {
    let base = address(&directory.join("robot-2.said"));
    for (path, text) in [
        ("/", "Freshness"),
        ("/pages", "demo.test"),
        ("/fleet", "of 3 that ever joined"),
    ] {
        browser.open(&format!("{base}{path}"));
        browser.wait(&format!("document.body.innerText.includes({text:?})"));
    }
    // its own pages, not those of all
    browser.open(&format!("{base}/sites"));
    let (own, all) = ("robot-2: its own", running.addresses.len() as u64);
    let shown = browser.tell("document.querySelector('tbody').rows.length");
    assert!(shown.as_u64() < Some(all), "{shown} of {all} hosts");
    let host = browser.tell("document.querySelector('tbody a').innerText");
    let host = host.as_str().unwrap().trim_start_matches("http://");
    let host = host.split(':').next().unwrap();
    browser.open(&format!("{base}/fleet?host={host}"));
    browser.wait(&format!(
        "document.querySelector('#way').innerText.includes({own:?})"
    ));
    is_on_the_map(browser, &base, running);
}

#[test]
fn a_fleet_is_seen_in_a_browser_with_its_moves_and_its_map() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    let Some(mut browser) = Browser::start(directory) else {
        return;
    };
    let running = found(directory, &nats);
    // others can reach it: not without a token
    let open = fleet(directory, &["dashboard", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("token"));

    let mut robots = Robots(Vec::new());
    let base = dashboard(directory, &mut robots);
    browser.screen(1280, 900, false);
    browser.open(&format!("{base}/"));
    browser.wait("document.body.innerText.includes('No robot has joined yet')");
    browser.tell("window.mark = document.querySelector('#fleet'); 1");
    for (number, site) in [(1, "braga"), (2, "braga"), (3, "porto")] {
        robots.0.push(join(directory, number, site));
    }
    // they come into view by themselves, with what they have and what they take
    browser.wait("document.body.innerText.includes('3 of 3 robots at work')");
    let shares = "[...document.querySelectorAll('#fleet table')[0].rows].slice(1).every(row => \
                  row.cells[3].innerText.startsWith('held') && Number(row.cells[5].innerText) > 0)";
    browser.wait(shares);
    browser.wait("document.querySelector('.tree').innerText.includes('braga')");
    browser.wait("[...document.querySelectorAll('#fleet table')[1].rows].some(row => row.innerText.includes('took'))");
    browser.wait("document.querySelectorAll('.wide path.one').length >= 3");
    assert_eq!(
        browser.tell("document.querySelector('#fleet') === window.mark"),
        true,
        "loaded anew"
    );

    // whose is a host: what the page says is what the command says
    let (host, address) = running.addresses.iter().next().unwrap();
    let robot = owner(directory, host);
    browser.open(&format!("{base}/fleet?host={host}"));
    browser.wait(&format!(
        "document.querySelector('#way').innerText.includes('{address}') && \
         document.querySelector('#way').innerText.includes('{robot}: its own')"
    ));
    browser.open(&format!("{base}/fleet/servers?q={host}"));
    browser.wait(&format!(
        "document.querySelector('tbody').rows[0].innerText.includes('{robot}')"
    ));
    fits_and_runs_nothing(&mut browser, &base);
    is_on_the_map(&mut browser, &base, &running);
    a_robot_shows_itself(&mut browser, directory, &running);

    // a robot dies: it is said at once, and its servers go to others
    browser.open(&format!("{base}/fleet"));
    let (_, dead) = (robots.0.iter_mut())
        .find(|(name, _)| *name == robot)
        .unwrap();
    dead.kill().unwrap();
    dead.wait().unwrap();
    browser.wait(&format!(
        "document.querySelector('.alerts').innerText.includes('{robot} does not answer')"
    ));
    browser.wait("document.querySelector('#state').innerText.includes('2 of 3')");
    browser.open(&format!("{base}/fleet/servers?q={address}"));
    browser.wait(&format!(
        "document.querySelector('tbody')?.rows[0]?.cells[1].innerText.startsWith('robot-') && \
         !document.querySelector('tbody').innerText.includes('{robot}')"
    ));
    assert_eq!(browser.complaints, Vec::<String>::new());
}
