//! Each odd corner once over real sockets.

use super::client::{Client, HOST, get, get_with, last_visit, odd_host};
use flate2::read::GzDecoder;
use std::{
    io::{self, Read},
    time::Duration,
};

#[test]
fn redirects_lead_where_they_say() {
    let (_web, running) = odd_host();
    let location = |target: &str| {
        let reply = get(&running, target);
        let location = reply.header("Location").map(str::to_owned);
        (reply.status, location.unwrap_or_default())
    };
    let port = running.port;
    let is = |status: u16, to: &str| (status, to.to_owned());
    assert_eq!(location("/moved/permanent"), is(308, "/"));
    assert_eq!(location("/moved/chain/30"), is(301, "/moved/chain/29"));
    assert_eq!(location("/moved/chain/0"), is(301, "/"));
    assert_eq!(location("/moved/loop/a"), is(302, "/moved/loop/b"));
    assert_eq!(location("/moved/loop/b"), is(302, "/moved/loop/a"));
    assert_eq!(location("/moved/self"), is(301, "/moved/self"));
    assert_eq!(
        location("/moved/away"),
        is(302, &format!("http://h002.demo.test:{port}/"))
    );
    assert_eq!(
        location("/moved/private"),
        is(302, "http://10.0.0.1/secret")
    );
    assert_eq!(location("/moved/empty"), is(302, ""));
}

#[test]
fn errors_say_when_to_come_back() {
    let (_web, running) = odd_host();
    for status in [404, 410, 500] {
        assert_eq!(get(&running, &format!("/error/{status}")).status, status);
    }
    for status in [429, 503] {
        let retry = |form: &str| {
            let reply = get(&running, &format!("/error/{status}/{form}"));
            assert_eq!(reply.status, status);
            reply.header("Retry-After").map(str::to_owned)
        };
        assert_eq!(retry("seconds").unwrap(), "2");
        assert_eq!(retry("decimal").unwrap(), "2.5");
        assert!(httpdate::parse_http_date(&retry("date").unwrap()).is_ok());
        assert_eq!(retry("absent"), None);
    }
    assert_eq!(get(&running, "/nowhere").status, 404);
    let stranger = get_with(&running, HOST, "/", "Host: elsewhere.test\r\n");
    assert_eq!(stranger.unwrap().status, 421);
}

#[test]
fn traps_have_no_end() {
    let (_web, running) = odd_host();
    assert!(
        get(&running, "/calendar/2026/12")
            .text()
            .contains("/calendar/2027/1\"")
    );
    assert!(
        get(&running, "/calendar/")
            .text()
            .contains("/calendar/2025/12\"")
    );
    assert!(
        get(&running, "/repeat/again/and/again/")
            .text()
            .contains("\"again/\"")
    );
    assert!(
        get(&running, "/endless/5.xml")
            .text()
            .contains("/endless/12.xml<")
    );
    let (one, two) = (
        get(&running, "/print/17").text(),
        get(&running, "/print/18").text(),
    );
    assert!(one.contains("\"/print/18\"") && two.contains("\"/print/19\""));
    let bytes = one.bytes().zip(two.bytes());
    assert!(
        bytes.filter(|(a, b)| a != b).count() < 20,
        "not nearly the same"
    );
    let session = || get(&running, "/shop/item-3?sid=x").text();
    let (one, two) = (session(), session());
    assert_ne!(one, two);
    assert!(one.contains("/shop/item-9?sid="));
}

#[test]
fn broken_servers_break() {
    let (_web, running) = odd_host();
    let broken = |name: &str| get_with(&running, HOST, &format!("/broken/{name}"), "");
    let whole = broken("until-close").unwrap();
    assert!(whole.body.ends_with(b"</a>"));
    for name in ["cut", "short"] {
        let kind = broken(name).err().map(|error| error.kind());
        assert_eq!(kind, Some(io::ErrorKind::UnexpectedEof), "{name}");
    }
    // as many bytes as declared, but they are not all
    assert!(!broken("long").unwrap().body.ends_with(b"</a>"));
    assert_eq!(
        broken("not-http").err().map(|e| e.kind()),
        Some(io::ErrorKind::UnexpectedEof)
    );
    let torn = broken("torn-gzip").unwrap();
    assert_eq!(torn.header("Content-Encoding"), Some("gzip"));
    assert!(
        GzDecoder::new(&*torn.body)
            .read_to_end(&mut Vec::new())
            .is_err()
    );
    let visits = running.record.visits();
    assert!(
        visits.iter().all(|visit| visit.complete
            == (visit.path.ends_with("until-close") || visit.path.ends_with("torn-gzip"))),
        "{visits:?}"
    );
}

#[test]
fn slow_servers_take_their_time_until_the_client_leaves() {
    let (_web, running) = odd_host();
    for (name, status) in [("slow", 0), ("silent", 0), ("drip", 200)] {
        let mut client = Client::connect(&running, HOST);
        client.ask("GET", HOST, &format!("/broken/{name}"), "");
        std::thread::sleep(Duration::from_millis(350));
        let mut some = [0; 1000];
        client.stream.get_mut().set_nonblocking(true).unwrap();
        let arrived = client.stream.read(&mut some);
        match status {
            // some pieces of twenty bytes; two on a machine that has time
            200 => assert!(matches!(arrived, Ok(20 | 40 | 60 | 80 | 100))),
            _ => assert_eq!(arrived.unwrap_err().kind(), io::ErrorKind::WouldBlock),
        }
        drop(client);
        let visit = last_visit(&running);
        assert_eq!((visit.status, visit.complete), (status, false), "{name}");
        let took = Duration::from_micros(visit.end - visit.start);
        assert!(took >= Duration::from_millis(340), "{name} took {took:?}");
        assert!(took < Duration::from_millis(2500), "{name} took {took:?}");
    }
}

#[test]
fn hostile_servers_are_hostile() {
    let (_web, running) = odd_host();
    let hostile = |name: &str| get(&running, &format!("/hostile/{name}"));
    let bomb = hostile("bomb");
    assert!(bomb.body.len() < 3 << 20);
    let expanded = io::copy(&mut GzDecoder::new(&*bomb.body), &mut io::sink());
    assert_eq!(expanded.unwrap(), 256 << 20);
    assert_eq!(hostile("headers").head.matches("X-Flood").count(), 20_000);
    assert!(hostile("long-header").head.len() > 1 << 20);
    assert!(hostile("control").head.contains('\x1b'));
    assert!(
        hostile("controls-in-location")
            .header("Location")
            .unwrap()
            .contains('\x1b')
    );
    assert!(hostile("nul").body.contains(&0));
    assert!(hostile("long-links").body.len() > 1 << 20);
    assert_eq!(
        hostile("many-links").text().matches("href").count(),
        100_000
    );
    assert!(hostile("soup").text().contains("<!--"));
    let mut client = Client::connect(&running, HOST);
    client.ask("GET", HOST, "/hostile/endless", "");
    let mut first = vec![0; 20 << 20];
    client.stream.read_exact(&mut first).unwrap();
    drop(client);
    let visit = last_visit(&running);
    assert!(visit.bytes >= 20 << 20 && !visit.complete);
}
