//! The web as a pure function, and (in `odd` and `wire`) over real sockets.

mod client;
mod odd;
mod wire;

use super::{
    Clock, FlatSite, Request, Response, Site, Web, WebSpec,
    spec::{Charset, Corner, Mix, Noise, Robots, Sitemap, Validators},
};
use std::{
    collections::HashSet,
    time::{Duration, UNIX_EPOCH},
};

const PORT: u16 = 8080;

/// An hour of web time a second, from a fixed instant.
fn clock() -> Clock {
    Clock {
        epoch: UNIX_EPOCH + Duration::from_secs(1_790_000_000),
        speed: 3600.0,
    }
}

/// A mix of one.
fn only<T: Ord>(choice: T) -> Mix<T> {
    Mix::from([(choice, 1.0)])
}

fn get(web: &Web, host: &str, target: &str, at: f64) -> Response {
    let mut request = Request::get(host, target);
    request.port = PORT;
    web.respond(&request, at, &clock())
}

fn page(web: &Web, number: usize, at: f64) -> Response {
    let page = &web.pages()[number];
    get(web, &web.hosts()[page.host].name, &page.path, at)
}

/// What stands in the attribute of all links.
fn links(html: &str) -> Vec<&str> {
    let after = html.split("<a href=\"").skip(1);
    after.filter_map(|rest| rest.split('"').next()).collect()
}

/// What stands between `<main>` and `</main>`.
fn main_text(body: &[u8]) -> String {
    let html = String::from_utf8_lossy(body);
    let main = html.split("<main>").nth(1).expect("pages have a main part");
    main.split("</main>").next().unwrap_or_default().to_owned()
}

#[test]
fn the_seed_decides_everything() {
    let spec = WebSpec::full();
    let (one, same) = (Web::new(&spec).unwrap(), Web::new(&spec).unwrap());
    let other = Web::new(&WebSpec { seed: 2, ..spec }).unwrap();
    assert_eq!(one.pages(), same.pages());
    assert_eq!(one.hosts(), same.hosts());
    assert_ne!(one.pages(), other.pages());
    for number in 0..one.pages().len() {
        assert_eq!(page(&one, number, 3.7), page(&same, number, 3.7));
    }
}

#[test]
fn every_trait_and_every_corner_has_a_host() {
    let web = Web::new(&WebSpec::full()).unwrap();
    let spec = web.spec();
    let hosts = web.hosts();
    assert!(
        spec.noise
            .keys()
            .all(|k| hosts.iter().any(|h| h.noise == *k))
    );
    assert!(
        spec.validators
            .keys()
            .all(|k| hosts.iter().any(|h| h.validators == *k))
    );
    assert!(
        spec.charsets
            .keys()
            .all(|k| hosts.iter().any(|h| h.charset == *k))
    );
    assert!(
        spec.robots
            .keys()
            .all(|k| hosts.iter().any(|h| h.robots == *k))
    );
    assert!(
        spec.sitemaps
            .keys()
            .all(|k| hosts.iter().any(|h| h.sitemap == *k))
    );
    assert!(
        Corner::ALL
            .iter()
            .all(|c| hosts.iter().any(|h| h.corners.contains(c)))
    );
    let addresses: HashSet<_> = hosts.iter().map(|host| host.address).collect();
    assert!(addresses.len() < hosts.len(), "some hosts share an address");
    assert!(web.pages().iter().any(|page| !page.allowed));
    assert!(web.pages().iter().any(|page| page.gone_at.is_finite()));
}

#[test]
fn all_pages_can_be_reached_without_breaking_a_rule() {
    let spec = WebSpec {
        charsets: only(Charset::Utf8),
        ..WebSpec::default()
    };
    let web = Web::new(&spec).unwrap();
    let mut seen = HashSet::from([0]);
    let mut open = vec![0];
    let mut forbidden_links = 0;
    while let Some(number) = open.pop() {
        if !web.pages()[number].allowed {
            forbidden_links += 1;
            continue;
        }
        let host = &web.hosts()[web.pages()[number].host].name;
        let response = page(&web, number, 0.0);
        for link in links(std::str::from_utf8(&response.body).unwrap()) {
            let found = match link.strip_prefix("http://") {
                Some(rest) => {
                    let (authority, _) = rest.split_once('/').unwrap();
                    let name = authority
                        .strip_suffix(":8080")
                        .expect("the port is in the link");
                    web.find(name, &rest[authority.len()..])
                }
                None => web.find(host, link),
            };
            let found = found.unwrap_or_else(|| panic!("{link} on {host} leads nowhere"));
            if seen.insert(found) {
                open.push(found);
            }
        }
    }
    assert_eq!(seen.len(), web.pages().len());
    assert!(forbidden_links > 0);
}

#[test]
fn the_text_changes_with_the_version_and_only_then() {
    let noises = [
        Noise::None,
        Noise::Clock,
        Noise::Nonce,
        Noise::Advertisement,
        Noise::Counter,
    ];
    for noise in noises {
        let spec = WebSpec {
            hosts: 1,
            noise: only(noise),
            ..WebSpec::plain()
        };
        let web = Web::new(&spec).unwrap();
        let number = (0..100)
            .find(|&page| web.pages()[page].changes.len() > 20)
            .expect("some page changes often");
        let mut texts = HashSet::new();
        let changes = &web.pages()[number].changes;
        for pair in changes[..20].windows(2) {
            let (early, late) = (pair[0], pair[0] + 0.9 * (pair[1] - pair[0]));
            let (first, second) = (page(&web, number, early), page(&web, number, late));
            let text = main_text(&first.body);
            assert_eq!(text, main_text(&second.body));
            assert_eq!(first.body == second.body, noise == Noise::None, "{noise:?}");
            assert!(texts.insert(text), "a version looks like an earlier one");
        }
        let size = page(&web, number, 0.0).body.len();
        assert!(size.abs_diff(spec.page_bytes) < 1000, "{size} bytes");
    }
}

/// What a client that holds a copy of `then` is told at `now`, by tag and by date.
fn revalidate(web: &Web, number: usize, then: f64, now: f64) -> [u16; 2] {
    let page_now = &web.pages()[number];
    let copy = page(web, number, then);
    let ask = |etag, since| {
        let request = Request {
            etag,
            since,
            ..Request::get(&web.hosts()[page_now.host].name, &page_now.path)
        };
        web.respond(&request, now, &clock()).status
    };
    [
        ask(copy.header("ETag"), None),
        ask(None, copy.header("Last-Modified")),
    ]
}

#[test]
fn validators_are_true_absent_or_lies() {
    let cases = [
        // before a change by tag and date, after it by tag and date
        (Validators::Absent, [200, 200], [200, 200]),
        (Validators::Truthful, [304, 304], [200, 200]),
        (Validators::Tag, [304, 200], [200, 200]),
        (Validators::Date, [200, 304], [200, 200]),
        (Validators::Frozen, [304, 304], [304, 304]),
        (Validators::Restless, [200, 200], [200, 200]),
    ];
    for (validators, before, after) in cases {
        let spec = WebSpec {
            hosts: 1,
            validators: only(validators),
            ..WebSpec::plain()
        };
        let web = Web::new(&spec).unwrap();
        // changes at least a few seconds of wall time apart
        let (number, change) = (0..100)
            .find_map(|page| {
                let changes = &web.pages()[page].changes;
                let apart = |pair: &&[f64]| pair[1] - pair[0] > 0.5;
                changes.windows(2).find(apart).map(|pair| (page, pair[1]))
            })
            .unwrap();
        let copied = change - 0.2;
        assert_eq!(
            revalidate(&web, number, copied, change - 0.1),
            before,
            "{validators:?}"
        );
        assert_eq!(
            revalidate(&web, number, copied, change + 0.1),
            after,
            "{validators:?}"
        );
    }
}

#[test]
fn a_date_is_sent_only_when_no_second_change_can_hide_in_it() {
    let spec = WebSpec {
        hosts: 1,
        validators: only(Validators::Date),
        ..WebSpec::plain()
    };
    let web = Web::new(&spec).unwrap();
    let number = (0..100).max_by_key(|&page| web.pages()[page].changes.len());
    let (number, mut dated) = (number.unwrap(), 0);
    // no copy with a date is confirmed once its text has changed
    for step in 0..2000 {
        let then = f64::from(step) * 1e-3;
        dated += usize::from(page(&web, number, then).header("Last-Modified").is_some());
        for later in [1e-4, 1e-3, 1e-2] {
            let stale =
                web.pages()[number].version(then) != web.pages()[number].version(then + later);
            let [_, by_date] = revalidate(&web, number, then, then + later);
            assert!(!(stale && by_date == 304), "at {then}");
        }
    }
    assert!(dated > 500, "{dated} of 2000 were dated");
}

#[test]
fn pages_go_at_their_time_and_robots_fail_for_theirs() {
    let spec = WebSpec {
        gone: 0.5,
        robots: only(Robots::Failing),
        ..WebSpec::plain()
    };
    let web = Web::new(&spec).unwrap();
    let gone = (0..100).find(|&page| web.pages()[page].gone_at.is_finite());
    let (number, instant) = (gone.unwrap(), web.pages()[gone.unwrap()].gone_at);
    assert_eq!(page(&web, number, instant - 1e-6).status, 200);
    assert_eq!(page(&web, number, instant).status, 410);
    let robots = |at: f64| get(&web, "h001.demo.test", "/robots.txt", at).status;
    assert_eq!(robots(spec.trouble_days - 1e-6), 500);
    assert_eq!(robots(spec.trouble_days), 200);
}

#[test]
fn flaky_hosts_fail_a_tenth_of_the_time() {
    let spec = WebSpec {
        hosts: 1,
        flaky: 1.0,
        ..WebSpec::plain()
    };
    let web = Web::new(&spec).unwrap();
    let fails = |at: f64| page(&web, 0, at).status == 503;
    let failures: usize = (0..2000)
        .filter(|&k| fails(f64::from(k) * 0.5 + 0.2))
        .count();
    assert!((150..250).contains(&failures), "{failures} of 2000");
    assert!((0..2000).all(|k| fails(f64::from(k) * 0.5) == fails(f64::from(k) * 0.5 + 0.49)));
    assert_eq!(get(&web, "h001.demo.test", "/robots.txt", 0.0).status, 404);
}

#[test]
fn sitemaps_tell_the_truth_or_lie() {
    for (sitemap, lies) in [(Sitemap::Truthful, false), (Sitemap::Lying, true)] {
        let spec = WebSpec {
            hosts: 1,
            sitemaps: only(sitemap),
            ..WebSpec::plain()
        };
        let web = Web::new(&spec).unwrap();
        let at = 5.0;
        let body = get(&web, "h001.demo.test", "/sitemap.xml", at).body;
        let text = String::from_utf8(body).unwrap();
        assert_eq!(text.matches("<loc>").count(), 100);
        for (number, page) in web.pages().iter().enumerate() {
            let instant = if lies { at } else { page.changed(at) };
            let date = super::clock::iso_date(clock().wall(instant));
            let url = web.url(number, PORT);
            let line = format!("<url><loc>{url}</loc><lastmod>{date}</lastmod></url>");
            assert!(text.contains(&line), "{line}");
        }
    }
}

#[test]
fn specs_are_read_from_toml_and_wrong_ones_refused() {
    let text = "seed = 7\nhosts = 3\n[kinds]\npoisson = 1\n[charsets]\nutf-8 = 1\nshift_jis = 1\n\
                [corners]\nnear_duplicates = 0.5\n";
    let spec: WebSpec = toml::from_str(text).unwrap();
    assert_eq!((spec.seed, spec.hosts, spec.charsets.len()), (7, 3, 2));
    assert_eq!(spec.corners[&Corner::NearDuplicates], 0.5);
    assert!(toml::from_str::<WebSpec>("host = 3").is_err());
    let broken = |change: fn(&mut WebSpec)| {
        let mut spec = WebSpec::default();
        change(&mut spec);
        Web::new(&spec).is_err()
    };
    assert!(broken(|spec| spec.hosts = 0));
    assert!(broken(|spec| spec.noise.clear()));
    assert!(broken(|spec| spec.rates = (-1.0, f64::NAN)));
}

#[test]
fn a_flat_site_is_of_the_size_asked_for_and_all_within_reach() {
    let site = FlatSite::new(3, 500, 5000, 20);
    let first: Vec<String> = site.urls(PORT);
    let mut seen: HashSet<String> = HashSet::from([first[0].clone()]);
    let mut ring: Vec<String> = seen.iter().cloned().collect();
    let mut hops = 0;
    while !ring.is_empty() {
        let mut next = Vec::new();
        for url in &ring {
            let (authority, path) = url["http://".len()..].split_once('/').unwrap();
            let (host, target) = (authority.strip_suffix(":8080").unwrap(), format!("/{path}"));
            let mut request = Request::get(host, &target);
            request.port = PORT;
            let body = site.respond(&request, 0.0, &clock()).body;
            assert_eq!(body.len(), 5000);
            let html = String::from_utf8(body).unwrap();
            let found = links(&html);
            assert_eq!(found.len(), 20);
            for link in found {
                let link = match link.strip_prefix('/') {
                    Some(path) => format!("http://{authority}/{path}"),
                    None => link.to_owned(),
                };
                if seen.insert(link.clone()) {
                    next.push(link);
                }
            }
        }
        ring = next;
        hops += 1;
    }
    assert_eq!(seen.len(), 1500);
    assert!(hops <= 6, "{hops} hops");
    let missing = Request::get("127.0.1.1", "/500.html");
    assert_eq!(site.respond(&missing, 0.0, &clock()).status, 404);
}

#[test]
fn listings_change_when_their_bytes_do() {
    let spec = WebSpec {
        feeds: 1.0,
        days: 12.0,
        ..WebSpec::full()
    };
    let web = Web::new(&spec).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for (number, host) in web.hosts().iter().enumerate() {
        for path in ["/sitemap.xml", "/sitemap-0.xml.gz", "/feed.xml"] {
            let Some(listing) = super::listings::document(&web, number, path, &clock()) else {
                continue;
            };
            seen.insert((path, host.sitemap, listing.changes.is_empty()));
            let body = |at| {
                let request = Request::get(&host.name, path);
                let answer = super::listings::respond(&web, number, &request, at, &clock());
                answer.expect("a listing").body
            };
            for step in 0..400 {
                let (from, until) = (
                    0.01 + 0.029 * f64::from(step),
                    0.01 + 0.029 * f64::from(step + 1),
                );
                let changes = listing.version(until) - listing.version(from);
                let changed = body(from) != body(until);
                // two changes may make a feed what it was
                assert!(
                    changed == (changes > 0) || (!changed && changes > 1),
                    "{}{path} {from}",
                    host.name
                );
            }
        }
    }
    assert!(seen.len() >= 5, "{seen:?}");
}
