//! Settings for some hosts and pages, and the hours of the day.

use super::{Answers, Crawler, answer, html, say, wait_until};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A site of some pages that keeps when it was asked for each.
fn timed(last: u8, pages: usize) -> (Answers, Arc<Mutex<Vec<SystemTime>>>) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let kept = times.clone();
    let links: Vec<String> = (1..pages)
        .map(|page| format!("<a href=/{page}>{page}</a> "))
        .collect();
    let links = links.concat();
    let site = Answers::new(last, move |path| {
        kept.lock().unwrap().push(SystemTime::now());
        match path {
            "/robots.txt" => answer(
                "200 OK\r\nContent-Type: text/plain",
                b"User-agent: *\nDisallow: /3\n",
            ),
            "/" => html(&format!("<p>The front page.</p>{links}")),
            _ => html(&format!("<p>The page {path}, with a text of its own.</p>")),
        }
    });
    (site, times)
}

fn gaps(times: &Mutex<Vec<SystemTime>>) -> Vec<f64> {
    let times = times.lock().unwrap();
    let gap = |pair: &[SystemTime]| pair[1].duration_since(pair[0]).unwrap().as_secs_f64();
    times.windows(2).map(gap).collect()
}

#[test]
fn a_host_has_its_own_interval_and_its_own_word_on_robots_txt() {
    let (usual, usual_times) = timed(141, 6);
    let (slow, slow_times) = timed(142, 6);
    let host = slow.url("");
    let rules = format!(
        "[{{ hosts = [\"{host}\"], interval = {{ rule = \"fixed\", seconds = 0.7 }} }}, \
          {{ hosts = [\"127.0.0.142\"], interval = {{ rule = \"fixed\", seconds = 9.0 }}, robots = false }}]"
    );
    let seeds = [usual.url("/"), slow.url("/")];
    let mut crawler = Crawler::new(&seeds).with("rules", rules);
    crawler.once(60);
    // robots.txt, and all pages but one that it forbids
    assert_eq!(usual.asked().len(), 6, "{:?}", usual.asked());
    assert!(usual.asked().iter().all(|path| path != "/3"));
    let quick = gaps(&usual_times);
    assert!(quick.iter().any(|&gap| gap < 0.5), "{quick:?}");
    // no robots.txt, and all pages
    assert_eq!(slow.asked().len(), 6, "{:?}", slow.asked());
    assert!(slow.asked().contains(&"/3".to_owned()));
    let long = gaps(&slow_times);
    assert!(long.iter().all(|&gap| gap > 0.69), "{long:?}");
    let why = say(&crawler, &["why", &slow.url("/3")]);
    assert!(
        why.contains("interval = { rule = \"fixed\", seconds = 0.7 } (rule 1)"),
        "{why}"
    );
    assert!(why.contains("not obeyed (robots = false, rule 2)"), "{why}");
    assert!(!say(&crawler, &["why", &usual.url("/")]).contains("rule 1"));
}

#[test]
fn some_pages_are_visited_more_often_than_others() {
    let (site, _) = timed(143, 9);
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("revisit.budget", "\"100%\"")
        .with("revisit.least_interval", "\"1h\"")
        .with("rules", "[{ pages = \"/[12]$\", least_interval = \"1s\", most_interval = \"2s\", least_chance = 0.0 }]");
    let process = crawler.start(&[]);
    let visits = |path: &str| site.asked().iter().filter(|asked| *asked == path).count();
    wait_until("two pages are visited again and again", || {
        visits("/1") >= 4 && visits("/2") >= 4
    });
    let why = say(&crawler, &["why", &site.url("/2")]);
    assert!(why.contains("least_interval = \"1s\" (rule 1)"), "{why}");
    drop(process.interrupted_after(0.0));
    for path in ["/", "/4", "/8"] {
        assert_eq!(visits(path), 1, "{path}: {:?}", site.asked());
    }
}

/// News are expected to change sooner than others, before anything is known of either.
#[test]
fn some_pages_are_expected_to_change_more_often_than_others() {
    let (site, _) = timed(206, 4);
    let mut crawler = Crawler::new(&[site.url("/")])
        .with("rules", "[{ pages = \"/[12]$\", first_guess_days = 0.01 }]");
    crawler.once(60);
    let often = |path: &str| {
        let why = say(&crawler, &["why", "--json", &site.url(path)]);
        let why: serde_json::Value = serde_json::from_str(&why).unwrap();
        why["changes_per_day"].as_f64().unwrap()
    };
    let (news, other) = (often("/1"), often("/"));
    assert!(news > 50.0 * other, "{news} and {other} times a day");
    let why = say(&crawler, &["why", &site.url("/1")]);
    assert!(why.contains("first_guess_days = 0.01 (rule 1)"), "{why}");
}

#[test]
fn servers_are_told_what_the_user_wants_them_told() {
    let robots = b"User-agent: freebot\nDisallow: /1\n";
    let pages = |path: &str| match path {
        "/robots.txt" => answer("200 OK\r\nContent-Type: text/plain", robots),
        "/" => html("<p>The front page.</p><a href=/1>1</a> <a href=/2>2</a>"),
        _ => html(&format!("<p>The page {path}.</p>")),
    };
    let (one, two) = (Answers::new(144, pages), Answers::new(145, pages));
    let rules = "[{ hosts = [\"127.0.0.145\"], user_agent = \"Other/1.0 (me)\" }]";
    let mut crawler = Crawler::new(&[one.url("/"), two.url("/")])
        .with("identity.agent", "\"freebot\"")
        .with(
            "identity.user_agent",
            "\"Mozilla/5.0 (compatible; freebot/2.0)\"",
        )
        .with("rules", rules);
    crawler.once(60);
    for head in one.heads() {
        assert!(
            head.contains("\r\nUser-Agent: Mozilla/5.0 (compatible; freebot/2.0)\r\n"),
            "{head}"
        );
    }
    for head in two.heads() {
        assert!(
            head.contains("\r\nUser-Agent: Other/1.0 (me)\r\n"),
            "{head}"
        );
        assert_eq!(head.matches("User-Agent").count(), 1);
    }
    // robots.txt still knows us by our own name
    for site in [&one, &two] {
        assert!(
            site.asked().contains(&"/2".to_owned()) && !site.asked().contains(&"/1".to_owned())
        );
    }
    let archived: Vec<String> = storage::archive::records(&crawler.archive())
        .unwrap()
        .map(|record| String::from_utf8_lossy(&record.unwrap().head).into_owned())
        .collect();
    assert!(
        archived
            .iter()
            .any(|head| head.contains("User-Agent: Other/1.0 (me)"))
    );
}

fn clock(seconds: u64) -> String {
    let minutes = seconds / 60 % 1440;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Waits for a real minute to begin.
#[test]
fn a_host_is_asked_in_its_hours_only() {
    let (open, _) = timed(146, 4);
    let (closed, times) = timed(147, 4);
    let (later, _) = timed(148, 4);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    // not so soon that the crawl could not have started
    let opens = (now + 15).div_ceil(60) * 60;
    let soon = format!("{}-{}", clock(opens), clock(opens + 3600));
    let far = format!("{}-{} +00:00", clock(opens + 7200), clock(opens + 10_800));
    let rules = format!(
        "[{{ hosts = [\"127.0.0.147\"], hours = \"{soon}\" }}, {{ hosts = [\"127.0.0.148\"], hours = \"{far}\" }}]"
    );
    let seeds = [open.url("/"), closed.url("/"), later.url("/")];
    let mut crawler = Crawler::new(&seeds).with("rules", rules);
    let process = crawler.start(&["--once"]);
    wait_until("the open host is done", || open.asked().len() == 4);
    let why = say(&crawler, &["why", &later.url("/")]);
    assert!(
        why.contains("its hours (") && why.contains("2.0 h more"),
        "{why}"
    );
    assert!(why.contains("rule 2"), "{why}");
    let limit = Instant::now() + Duration::from_secs(100);
    while closed.asked().len() < 4 {
        assert!(
            Instant::now() < limit,
            "it does not open: {:?}",
            closed.asked()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let first = times.lock().unwrap()[0].duration_since(UNIX_EPOCH).unwrap();
    assert!(
        first.as_secs_f64() >= opens as f64,
        "{first:?} before {opens}"
    );
    assert!(
        first.as_secs_f64() < opens as f64 + 5.0,
        "{first:?} long after {opens}"
    );
    // the last one is waited for, and nothing is asked of it; how long, is shown
    let status = say(&crawler, &["status", "--json"]);
    let status: robot::view::Status = serde_json::from_str(&status).unwrap();
    let seconds = status.first_pass_seconds.unwrap();
    assert!((7000.0..7300.0).contains(&seconds), "{seconds}");
    process.interrupted_after(0.2);
    assert_eq!(later.asked(), Vec::<String>::new());
    // as its data tell: due when it opens
    let why = say(&crawler, &["why", &later.url("/")]);
    assert!(
        why.contains(&format!("hours = \"{far}\" (rule 2)")),
        "{why}"
    );
}

#[test]
fn servers_in_other_countries_are_not_asked() {
    let abroad = Answers::new(205, |_| {
        html("<p>A page on the other side of the border.</p>")
    });
    let link = abroad.url("/");
    let home = Answers::new(165, move |path| match path {
        "/robots.txt" => super::missing(),
        _ => html(&format!(
            "<p>A page at home.</p><a href='{link}'>abroad</a>"
        )),
    });
    let mut crawler = Crawler::new(&[home.url("/")])
        .with("scope.reach", "\"anywhere\"")
        .with("scope.places", "{ allow = [\"pt\", \"BR\"], deny = [] }");
    let list = crawler.directory.path().join("delegated");
    let lines = "ripencc|PT|ipv4|127.0.0.0|200|19930901|allocated\n\
                 ripencc|ES|ipv4|127.0.0.200|56|19930901|allocated\n";
    std::fs::write(&list, lines).unwrap();
    crawler = crawler.with("places.registries", format!("[{list:?}]"));
    let ended = crawler.start(&["--once", "--json"]).within(30);
    assert_eq!(home.asked(), ["/robots.txt", "/"]);
    assert_eq!(abroad.asked(), [""; 0]);
    let why = say(&crawler, &["why", &abroad.url("/")]);
    assert!(why.contains("scope.places"), "{why}");
    let status = say(&crawler, &["status"]);
    assert!(status.contains("place"), "{status}\n{ended:?}");
    // a list that is none is refused
    std::fs::write(&list, "nonsense\n").unwrap();
    let output = super::run(
        &crawler,
        &["crawl", "-c", crawler.config().to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("places: ") && errors.contains("delegated"),
        "{errors}"
    );
}
