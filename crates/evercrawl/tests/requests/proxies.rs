//! Through proxies that others wrote.

use super::real_proxy::{LOGIN, RealProxy};
use super::{Answers, Crawler, html, is_written, missing, say, wait_until};

fn site(last: u8) -> Answers {
    Answers::new(last, |path| match path {
        "/robots.txt" => missing(),
        "/" => html("<p>The front page.</p><a href=/a>a</a> <a href=/b>b</a>"),
        _ => html(&format!("<p>The page {path}, with a text of its own.</p>")),
    })
}

/// The site by a name that nobody but a proxy can resolve: there is no server to ask.
fn by_name(site: &Answers) -> String {
    format!("http://localhost:{}/", site.port)
}

#[test]
fn a_crawl_goes_through_a_proxy_and_the_login_is_nowhere() {
    for proxy in [RealProxy::http(true), RealProxy::socks5(true)]
        .into_iter()
        .flatten()
    {
        let site = site(1);
        let mut crawler = Crawler::new(&[by_name(&site)])
            .with("fetch.dns_server", "\"127.0.0.1:1\"")
            .with("fetch.proxy", format!("{:?}", proxy.url));
        let login = crawler.directory.path().join("login");
        std::fs::write(&login, format!("{LOGIN}\n")).unwrap();
        // relative to the configuration
        crawler = crawler.with("fetch.proxy_login_file", "\"login\"");
        crawler.start(&["--once", "-v"]).succeeds_within(60);
        let mut asked = site.asked();
        asked.sort();
        assert_eq!(asked, ["/", "/a", "/b", "/robots.txt"], "{}", proxy.url);
        for head in site.heads() {
            assert!(!head.contains("YWxhZGRpbjpvcGVuc2VzYW1l"), "{head}");
        }
        if proxy.url.starts_with("http:") {
            let record = proxy.record();
            assert_eq!(record.matches(" http://localhost:").count(), 4, "{record}");
        }
        for secret in ["opensesame", "YWxhZGRpbjpvcGVuc2VzYW1l"] {
            assert_eq!(is_written(&crawler, secret), None);
        }
        // nobody here knows the server's address
        for record in storage::archive::records(&crawler.archive()).unwrap() {
            assert_eq!(record.unwrap().header("WARC-IP-Address"), None);
        }
        crawler.verify_archive();
        // without the login nothing is had, and the reason is told
        let mut stranger =
            Crawler::new(&[by_name(&site)]).with("fetch.proxy", format!("{:?}", proxy.url));
        let ended = stranger.start(&["--once", "--json"]).within(60);
        ended.failed(1, &["could not be fetched"]);
        // tinyproxy refuses http as if it were the server
        let told = ended.failures("proxy") + ended.failures("refused");
        assert!(told > 0, "{}", ended.out);
        assert_eq!(site.asked().len(), 4);
    }
}

#[test]
fn a_rule_sends_some_hosts_through_a_proxy_and_others_not() {
    let Some(proxy) = RealProxy::http(false) else {
        return;
    };
    let (near, far) = (
        site(131),
        Answers::new(1, |path| match path {
            "/robots.txt" => missing(),
            _ => html("<p>A page far away.</p>"),
        }),
    );
    let seeds = [near.url("/"), by_name(&far)];
    let rule = format!("[{{ hosts = [\"localhost\"], proxy = {:?} }}]", proxy.url);
    let mut crawler = Crawler::new(&seeds).with("rules", rule);
    crawler.once(60);
    assert_eq!(near.asked().len(), 4);
    assert_eq!(far.asked().len(), 2);
    let record = proxy.record();
    assert_eq!(record.matches(" http://localhost:").count(), 2, "{record}");
    assert!(!record.contains("127.0.0.131"), "{record}");
    let why = say(&crawler, &["why", &seeds[1]]);
    assert!(
        why.contains(&format!("proxy = \"{}\" (rule 1)", proxy.url)),
        "{why}"
    );
}

#[test]
fn what_is_private_stays_private_behind_a_proxy() {
    let Some(proxy) = RealProxy::http(false) else {
        return;
    };
    let site = site(132);
    let mut crawler = Crawler::new(&["http://intranet/".into(), site.url("/")])
        .with("fetch.allow_networks", "[]")
        .with("fetch.proxy", format!("{:?}", proxy.url));
    let ended = crawler.start(&["--once"]).within(60);
    ended.failed(1, &["address-refused", "name-refused"]);
    assert_eq!(site.asked(), Vec::<String>::new());
    assert!(!proxy.record().contains("http://"), "{}", proxy.record());
}

#[test]
fn webhooks_go_through_the_proxy_as_pages_do() {
    // asked as proxies are: for whole URLs
    let proxy = Answers::new(133, |_| html("taken"));
    let site = site(134);
    let hook = |receiver: &str| format!("{{ url = \"{receiver}\", kinds = [\"first\"] }}");
    let (far, here) = (
        "http://receiver.example/changes",
        Answers::new(135, |_| html("taken")),
    );
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("fetch.proxy", format!("{:?}", proxy.url("")))
        .with("rules", "[{ hosts = [\"127.0.0.134\"], proxy = \"none\" }]")
        .with(
            "webhooks",
            format!("[{}, {}]", hook(far), hook(&here.url("/changes"))),
        );
    let process = crawler.start(&[]);
    wait_until("all pages are told to both", || {
        proxy.asked().len() >= 3 && here.asked().len() >= 3
    });
    drop(process);
    assert!(
        proxy.asked().iter().all(|asked| asked == far),
        "{:?}",
        proxy.asked()
    );
    assert!(proxy.heads()[0].starts_with("POST "), "{:?}", proxy.heads());
    // a receiver on this machine needs none
    assert!(
        here.asked().iter().all(|asked| asked == "/changes"),
        "{:?}",
        here.asked()
    );
}
