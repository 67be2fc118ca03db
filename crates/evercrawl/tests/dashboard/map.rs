//! The map of a crawl without a fleet: places, and colours by round-trip times.

use super::browser::Browser;
use super::{EVIL, address, crawl, show, site, wait_until};
use ground::Point;
use netmap::place::{Heuristic, Place};
use netmap::probe::Measured;
use netmap::store::Store;
use netmap::wire::Method;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;

/// City, place, and milliseconds from here, if they were measured.
const SERVERS: [(&str, f64, f64, Option<f64>); 5] = [
    ("Lisbon", 38.72, -9.14, Some(4.0)),
    ("Frankfurt", 50.11, 8.68, Some(38.0)),
    ("New York", 40.71, -74.01, Some(104.0)),
    (EVIL, -33.87, 151.21, Some(290.0)),
    ("Tokyo", 35.68, 139.69, None),
];

fn chart(file: &Path) {
    let mut store = Store::open(file).unwrap();
    let braga = Point::new(41.55, -8.42).unwrap();
    let here = store.source("braga", Some(braga)).unwrap();
    for (number, (city, latitude, longitude, rtt)) in (1..).zip(SERVERS) {
        let server = IpAddr::V4(Ipv4Addr::new(192, 0, 2, number));
        let name = format!("server{number}.example");
        store.target(&name, server).unwrap();
        if let Some(rtt) = rtt {
            let measured = Measured {
                method: Method::Icmp,
                samples: vec![Some(rtt); 3],
            };
            store.keep_rtt(here, server, 1.0, &measured).unwrap();
        }
        let place = Place {
            heuristic: Heuristic::City,
            point: Point::new(latitude, longitude).unwrap(),
            city: Some(city.to_owned()),
            country: Some("PT".to_owned()),
        };
        store.keep_places(server, 1.0, &[place]).unwrap();
    }
}

/// Every server is drawn in the shade of its time, counted in the legend, and listed, farthest first.
fn is_drawn(browser: &mut Browser, base: &str) {
    for (width, dark) in [(1280, false), (390, true)] {
        browser.screen(width, 900, dark);
        browser.open(&format!("{base}/map"));
        let wider = browser.tell("document.documentElement.scrollWidth - innerWidth");
        assert!(wider.as_f64() <= Some(0.0), "wider than {width}: {wider}");
        browser.picture(&format!("map-alone-{width}"));
    }
    // what does not fit on a phone is scrolled, from the middle
    let hidden = "(box => [box.scrollLeft, box.scrollWidth - box.clientWidth])(document.querySelector('.world').parentElement)";
    let hidden: Vec<f64> = serde_json::from_value(browser.tell(hidden)).unwrap();
    assert!(
        hidden[1] > 100.0 && (hidden[0] - hidden[1] / 2.0).abs() <= 1.0,
        "{hidden:?}"
    );
    for class in ["near", "middle", "far", "farthest", "nobody"] {
        let drawn = format!("document.querySelectorAll('.world circle.{class}').length");
        assert_eq!(browser.tell(&drawn).as_u64(), Some(1), "{class}");
    }
    let shades = "new Set([...document.querySelectorAll('.world circle')].map(dot => \
                  getComputedStyle(dot).fill + getComputedStyle(dot).stroke)).size";
    assert_eq!(browser.tell(shades).as_u64(), Some(5), "told apart");
    let legend = browser.tell("document.querySelector('.legend').innerText");
    let legend = legend.as_str().unwrap();
    for words in [
        "up to 10 ms (1)",
        "more than 150 ms (1)",
        "not measured (1)",
    ] {
        assert!(legend.contains(words), "{legend}");
    }
    let names = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[1].innerText)";
    let expected = [4, 3, 2, 1, 5].map(|n| format!("server{n}.example"));
    assert_eq!(browser.tell(names), serde_json::json!(expected));
    // no robots, and a city is text
    assert_eq!(
        browser.tell("document.querySelector('thead').innerText.includes('Robot')"),
        false
    );
    assert_eq!(browser.tell("typeof window.owned"), "undefined");
    assert_eq!(
        browser.tell("document.body.innerText.includes('onerror')"),
        true
    );
}

#[test]
fn a_crawl_without_a_fleet_has_a_map() {
    let (server, _) = site(97);
    let mut crawler = crawl(&server);
    let map = crawler.directory.path().join("map.db");
    chart(&map);
    let Some(mut browser) = Browser::start(crawler.directory.path()) else {
        return;
    };
    // beside a crawl that has none, by the option
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    browser.screen(1280, 900, false);
    browser.open(&format!("{}/", address(&process)));
    let link = "document.querySelector('nav a[href=\"/map\"]') !== null";
    assert_eq!(browser.tell(link), false, "nothing to show");
    wait_until("pages", || crawler.pages().len() >= 5);
    // a page that loses its server complains
    browser.open("about:blank");
    process.interrupted_after(1.0);
    // a file that is no map is refused before anything is shown
    let refused = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args([
            "dashboard",
            "--listen",
            "127.0.0.1:0",
            "--map",
            "Cargo.toml",
        ])
        .arg("--data")
        .arg(crawler.data())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("Cargo.toml"), "{said}");
    let (shown, base) = show(&crawler, &["--map", map.to_str().unwrap()]);
    browser.open(&format!("{base}/"));
    assert_eq!(browser.tell(link), true);
    is_drawn(&mut browser, &base);
    browser.open("about:blank");
    drop(shown);

    // in the crawl, by the setting, which is relative to the configuration
    let mut crawler = crawler.with("dashboard.map", "\"map.db\"");
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    is_drawn(&mut browser, &address(&process));
    assert_eq!(browser.complaints, Vec::<String>::new());
}
