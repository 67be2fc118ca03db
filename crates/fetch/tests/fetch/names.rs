//! Names, honest and treacherous.

use crate::server::{LOOPBACK, Server, fetcher};
use fetch::{DnsFault, FetchError, Fetcher, Request};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use url::Url;

const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);

/// Answers questions for A with what `answer` says about the name and the number of the question;
/// other questions with nothing.
fn name_server(
    ttl: u32,
    answer: impl Fn(&str, usize) -> Vec<Ipv4Addr> + Send + 'static,
) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut buffer, mut asked) = ([0; 512], 0);
        while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
            let query = &buffer[..length];
            let name_end = 12 + query[12..].iter().position(|&b| b == 0).unwrap() + 1;
            let question = &query[12..name_end + 4];
            let mut name = String::new();
            let mut at = 12;
            while query[at] != 0 {
                let label = &query[at + 1..=at + query[at] as usize];
                name += &String::from_utf8_lossy(label).to_lowercase();
                name.push('.');
                at += label.len() + 1;
            }
            let is_a = query[name_end + 1] == 1;
            let addresses = if is_a {
                answer(&name, asked)
            } else {
                Vec::new()
            };
            asked += usize::from(is_a);
            let code = if name.starts_with("missing") { 3 } else { 0 };
            let mut reply = query[..2].to_vec();
            reply.extend([
                0x81,
                0x80 | code,
                0,
                1,
                0,
                addresses.len() as u8,
                0,
                0,
                0,
                0,
            ]);
            reply.extend(question);
            for address in addresses {
                reply.extend([0xc0, 12, 0, 1, 0, 1]);
                reply.extend(ttl.to_be_bytes());
                reply.extend([0, 4]);
                reply.extend(address.octets());
            }
            socket.send_to(&reply, peer).unwrap();
        }
    });
    address
}

fn asking(server: SocketAddr, least_ttl: Duration) -> Fetcher {
    fetcher(|options| {
        options.addresses.allowed.clear();
        options.dns.server = Some(server);
        options.dns.least_ttl = least_ttl;
        options.dns.timeout = Duration::from_secs(2);
    })
}

#[tokio::test]
async fn answers_are_kept_within_bounds() {
    let server = name_server(5, |_, asked| {
        vec![Ipv4Addr::from_bits(PUBLIC.to_bits() + asked as u32)]
    });
    let fetcher = asking(server, Duration::from_mins(10));
    let first = fetcher.resolve("example.org").await.unwrap();
    assert_eq!(first.addresses, [IpAddr::from(PUBLIC)]);
    assert!(
        first.expires_in > Duration::from_mins(9),
        "the least time, not five seconds"
    );
    assert_eq!(
        fetcher.resolve("example.org").await.unwrap().addresses,
        first.addresses
    );

    let server = name_server(1_000_000, |_, _| vec![PUBLIC]);
    let long = asking(server, Duration::ZERO)
        .resolve("example.org")
        .await
        .unwrap();
    assert!(long.expires_in <= Duration::from_hours(24));
}

#[tokio::test]
async fn rebinding_is_noticed_at_each_answer() {
    let server = name_server(0, |_, asked| {
        vec![if asked == 0 {
            PUBLIC
        } else {
            Ipv4Addr::LOCALHOST
        }]
    });
    let fetcher = asking(server, Duration::ZERO);
    let first = fetcher.resolve("rebind.test").await.unwrap();
    assert_eq!(first.addresses, [IpAddr::from(PUBLIC)]);
    let second = fetcher.resolve("rebind.test").await.unwrap_err();
    assert_eq!(second, FetchError::AddressRefused(LOOPBACK));
}

#[tokio::test]
async fn private_answers_are_left_out() {
    let server = name_server(60, |name, _| match name {
        "mixed.test." => vec![Ipv4Addr::new(10, 0, 0, 1), PUBLIC],
        "nowhere.test." => vec![Ipv4Addr::UNSPECIFIED],
        "metadata.test." => vec![Ipv4Addr::new(169, 254, 169, 254)],
        _ => Vec::new(),
    });
    let fetcher = asking(server, Duration::ZERO);
    let mixed = fetcher.resolve("mixed.test").await.unwrap();
    assert_eq!(mixed.addresses, [IpAddr::from(PUBLIC)]);
    for refused in ["nowhere.test", "metadata.test"] {
        let error = fetcher.resolve(refused).await.unwrap_err();
        assert_eq!(error.cause(), "address-refused", "{refused}");
    }
    for absent in ["missing.test", "empty.test"] {
        let error = fetcher.resolve(absent).await.unwrap_err();
        assert_eq!(error, FetchError::Dns(DnsFault::NotFound), "{absent}");
    }
}

#[tokio::test]
async fn a_server_that_is_silent_or_a_name_that_is_none() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let fetcher = fetcher(|options| {
        options.dns.server = Some(silent.local_addr().unwrap());
        options.dns.timeout = Duration::from_millis(100);
        options.dns.attempts = 1;
    });
    let error = fetcher.resolve("example.org").await.unwrap_err();
    assert!(
        matches!(error, FetchError::Dns(DnsFault::Timeout | DnsFault::Failed)),
        "{error}"
    );
    for bad in [
        format!("{}.org", "x".repeat(64)),
        "a..b".into(),
        "x.".repeat(200),
    ] {
        let error = fetcher.resolve(&bad).await.unwrap_err();
        assert_eq!(error, FetchError::Dns(DnsFault::Malformed), "{bad}");
    }
}

#[tokio::test]
async fn static_names_obey_the_rules_too() {
    let server = Server::saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    let hosts = |options: &mut fetch::Options| {
        options.hosts.insert("demo.test".into(), vec![LOOPBACK]);
    };
    let free = fetcher(hosts);
    let addresses = free.resolve("demo.test").await.unwrap().addresses;
    assert_eq!(addresses, [LOOPBACK]);
    let url = Url::parse(&format!("http://demo.test:{}/", server.address.port())).unwrap();
    let exchange = free.fetch(Request::get(&url, addresses[0])).await.unwrap();
    assert_eq!(&exchange.body[..], b"hi");
    let careful = fetcher(|options| {
        hosts(options);
        options.addresses.allowed.clear();
    });
    let error = careful.resolve("demo.test").await.unwrap_err();
    assert_eq!(error, FetchError::AddressRefused(LOOPBACK));
}
