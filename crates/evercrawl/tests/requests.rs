//! What is sent along with requests: to hosts that are named, to no other, and told to nobody.

mod crawling;

use crawling::Crawler;
use crawling::answers::{Answers, answer, html, missing};

#[test]
fn credentials_go_to_their_host_alone() {
    let other = Answers::new(101, |path| match path {
        "/robots.txt" => missing(),
        _ => html("<p>A page of somebody else, who is to know nothing.</p>"),
    });
    let (away, link) = (other.url("/away"), other.url("/linked"));
    let own = Answers::new(102, move |path| match path {
        "/robots.txt" => missing(),
        "/moved" => answer(&format!("302 Found\r\nLocation: {away}"), b""),
        _ => html(&format!(
            "<p>For members.</p><a href=/moved>1</a> <a href='{link}'>2</a>"
        )),
    });
    let seed = own.url("/");
    let mut crawler = Crawler::new(std::slice::from_ref(&seed)).with("scope.reach", "\"anywhere\"");
    let secret = crawler.directory.path().join("login");
    std::fs::write(&secret, "aladdin:opensesame\n").unwrap();
    let host = seed.trim_end_matches('/');
    crawler = crawler.with(
        "rules",
        format!(
            "[{{ hosts = [\"{host}\"], basic_file = {secret:?}, headers = {{ Accept-Language = \"no\" }}, weight = 3.0 }}]"
        ),
    );
    let ended = crawler.start(&["--once", "-v"]).within(60);
    assert!(
        own.asked().contains(&"/moved".to_owned()),
        "{:?}",
        own.asked()
    );
    let basic = "Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l";
    for head in own.heads() {
        assert!(head.contains(basic), "{head}");
        assert!(head.contains("accept-language: no"), "{head}");
    }
    let asked = other.asked();
    assert!(
        asked.contains(&"/away".to_owned()) && asked.contains(&"/linked".to_owned()),
        "{asked:?}"
    );
    for head in other.heads() {
        let head = head.to_ascii_lowercase();
        assert!(
            !head.contains("authorization") && !head.contains("accept-language"),
            "{head}"
        );
    }
    // neither logged, nor archived, nor kept
    for word in ["opensesame", "YWxhZGRpbjpvcGVuc2VzYW1l"] {
        assert!(!ended.err.contains(word) && !ended.out.contains(word));
        let kept = std::fs::read_to_string(crawler.data().join("config.toml")).unwrap();
        assert!(!kept.contains(word));
        for record in storage::archive::records(&crawler.archive()).unwrap() {
            let record = record.unwrap();
            let head = String::from_utf8_lossy(&record.head).into_owned();
            assert!(!head.contains(word), "{head}");
        }
    }
}

#[test]
fn a_rule_that_would_send_secrets_anywhere_is_refused() {
    let mut crawler = Crawler::new(&["http://127.0.0.1:1/".into()])
        .with("rules", "[{ pages = \".\", bearer_env = \"PATH\" }]");
    crawler
        .start(&[])
        .within(10)
        .failed(2, &["rules", "expected hosts"]);
    let mut crawler = Crawler::new(&["http://127.0.0.1:1/".into()]).with(
        "rules",
        "[{ hosts = [\"a\"], bearer_env = \"EVERCRAWL_NO_SUCH\" }]",
    );
    crawler
        .start(&[])
        .within(10)
        .failed(2, &["EVERCRAWL_NO_SUCH"]);
}
