//! Changes are posted, at least once, signed.

use super::{Crawler, run, say, shop, wait_until};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A receiver of webhooks: what it was posted, and what it answers.
struct Receiver {
    port: u16,
    posts: Arc<Mutex<Vec<(String, String)>>>,
    status: Arc<AtomicUsize>,
}

impl Receiver {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self {
            port: listener.local_addr().unwrap().port(),
            posts: Arc::default(),
            status: Arc::new(AtomicUsize::new(503)),
        };
        let (posts, status) = (receiver.posts.clone(), receiver.status.clone());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let status = status.load(Ordering::Relaxed);
                let Some((head, body)) = take(&mut stream) else {
                    continue;
                };
                if status == 200 {
                    posts.lock().unwrap().push((head, body));
                }
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        receiver
    }

    fn posts(&self) -> Vec<(String, String)> {
        self.posts.lock().unwrap().clone()
    }
}

/// Head and body of a request.
fn take(stream: &mut TcpStream) -> Option<(String, String)> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut bytes = Vec::new();
    let mut some = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length")?.parse::<usize>().ok()?;
            if body.len() >= length {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut some).ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&some[..read]),
        }
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.to_owned())
}

/// The signature of a post by Python's own library.
fn signature(secret: &str, head: &str, body: &str) -> String {
    let sign = "import base64,hashlib,hmac,sys\n\
        m='.'.join(sys.argv[2:5]).encode()\n\
        print('v1,'+base64.b64encode(hmac.new(sys.argv[1].encode(),m,hashlib.sha256).digest()).decode())";
    let [id, time] = ["webhook-id", "webhook-timestamp"].map(|name| header(head, name).unwrap());
    let output = Command::new("python3")
        .args(["-c", sign, secret, &id, &time, body])
        .output();
    String::from_utf8(output.expect("python3").stdout)
        .unwrap()
        .trim()
        .to_owned()
}

#[test]
fn every_change_is_posted_though_receiver_and_crawl_come_and_go() {
    let (shop, price) = shop(97);
    let page = shop.url("/item");
    let receiver = Receiver::open();
    let secret = "correct horse battery staple";
    let mut crawler = Crawler::new(std::slice::from_ref(&page));
    let file = crawler.directory.path().join("secret");
    std::fs::write(&file, format!("{secret}\n")).unwrap();
    crawler = crawler.with(
        "webhooks",
        format!(
            "[{{ url = \"http://127.0.0.1:{}/T0P/changes\", secret_file = {file:?} }}]",
            receiver.port
        ),
    );
    let crawl = crawler.start(&["-v"]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    // the receiver is away, and the crawl is killed
    for cents in [17, 18] {
        price.store(cents, Ordering::Relaxed);
        // whoever looked found it; a price that differs at each of two looks in a row would be restless
        for _ in 0..2 {
            assert!(say(&crawler, &["visit", &page]).ends_with("changed\n"));
        }
    }
    wait_until("status says that it is away", || {
        say(&crawler, &["status"]).contains("503")
    });
    let told = say(&crawler, &["status", "--json"]);
    let ended = crawl.kill();
    for said in [
        &told,
        &ended.err,
        &std::fs::read_to_string(crawler.data().join("config.toml")).unwrap(),
    ] {
        assert!(!said.contains("horse"), "the secret is told: {said}");
    }
    assert!(!ended.err.contains("T0P"), "the URL may be a secret");
    assert_eq!(receiver.posts().len(), 0);

    receiver.status.store(200, Ordering::Relaxed);
    let crawl = crawler.start(&[]);
    wait_until("both are posted", || receiver.posts().len() >= 2);
    price.store(21, Ordering::Relaxed);
    assert!(say(&crawler, &["visit", &page]).ends_with("changed\n"));
    wait_until("the third is posted", || receiver.posts().len() >= 3);
    crawl.interrupted_after(0.0);
    let posts = receiver.posts();
    let prices: Vec<Value> = (posts.iter())
        .map(|(_, body)| {
            serde_json::from_str::<Value>(body).unwrap()["difference"]["added"][0].clone()
        })
        .collect();
    let expected = [17, 18, 21].map(|cents| Value::from(format!("Now {cents},99 EUR only")));
    assert_eq!(prices, expected);
    for (head, body) in &posts {
        assert!(head.starts_with("POST /T0P/changes HTTP/1.1"), "{head}");
        assert_eq!(
            header(head, "webhook-signature").unwrap(),
            signature(secret, head, body)
        );
    }
    let ids: std::collections::HashSet<_> = posts
        .iter()
        .map(|(head, _)| header(head, "webhook-id"))
        .collect();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_webhook_that_came_too_late_says_so() {
    let (shop, price) = shop(105);
    let page = shop.url("/item");
    let receiver = Receiver::open();
    let mut crawler = Crawler::new(std::slice::from_ref(&page)).with(
        "webhooks",
        format!("[{{ url = \"http://127.0.0.1:{}/\" }}]", receiver.port),
    );
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &page]).status.success()
    });
    price.store(17, Ordering::Relaxed);
    assert!(say(&crawler, &["visit", &page]).ends_with("changed\n"));
    crawl.kill();
    // as after 400 million visits: the log begins later. Opening it first does what the crash left undone
    drop(storage::Store::open(&crawler.state(), storage::StoreOptions::default()).unwrap());
    let log = crawler.state().join("observations");
    std::fs::rename(log.join("00000000.log"), log.join("00001525.log")).unwrap();
    receiver.status.store(200, Ordering::Relaxed);
    let crawl = crawler.start(&[]);
    wait_until("status tells of what is lost", || {
        let told: Value = serde_json::from_str(&say(&crawler, &["status", "--json"])).unwrap();
        told["webhooks"][0]["lost"]
            .as_u64()
            .is_some_and(|lost| lost > 300_000_000)
    });
    assert!(say(&crawler, &["status"]).contains(" visits lost to it"));
    let ended = crawl.interrupted_after(0.0);
    assert!(ended.err.contains("nobody is told"), "{}", ended.err);
}
