//! Seeds that come and go, and those that lead out of scope.

use super::{Answers, Crawler, answer, html, missing, run, say, shop, wait_until};

#[test]
fn seeds_come_and_go_while_it_runs_and_while_it_does_not() {
    let sites: Vec<Answers> = (93..96).map(|last| shop(last).0).collect();
    let seeds: Vec<String> = sites.iter().map(|site| site.url("/")).collect();
    let mut crawler = Crawler::new(&seeds[..1]);
    let crawl = crawler.start(&[]);
    wait_until("a first copy", || {
        run(&crawler, &["get", &seeds[0]]).status.success()
    });

    let said = say(&crawler, &["seeds", "add", &seeds[1]]);
    assert_eq!(said, "1 added; the running crawl has 2 now\n");
    wait_until("the added seed is visited", || {
        run(&crawler, &["get", &seeds[1]]).status.success()
    });
    // what it reaches is in scope, what nobody reaches is not
    assert!(say(&crawler, &["visit", &sites[1].url("/deep")]).contains("200"));
    assert_eq!(run(&crawler, &["visit", &seeds[2]]).status.code(), Some(2));

    let said = say(&crawler, &["seeds", "remove", &seeds[0]]);
    assert_eq!(said, "1 removed; the running crawl has 1 now\n");
    assert_eq!(run(&crawler, &["visit", &seeds[0]]).status.code(), Some(2));
    assert!(say(&crawler, &["why", &seeds[0]]).contains("scope      out"));
    crawl.kill();

    // all of that holds after a crash, though the configuration says otherwise
    assert_eq!(say(&crawler, &["seeds", "list"]), format!("{}\n", seeds[1]));
    let file = crawler.directory.path().join("more.txt");
    std::fs::write(&file, format!("# more\n\n{}\n", seeds[2])).unwrap();
    let from = file.to_str().unwrap();
    let said = say(&crawler, &["seeds", "add", "--from", from]);
    assert_eq!(said, "1 added; from the next start on\n");
    assert!(say(&crawler, &["why", &seeds[2]]).contains("the next start: it is a seed"));
    std::fs::write(&file, "http://a/\nno url\n").unwrap();
    let wrong = run(&crawler, &["seeds", "add", "--from", from]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("more.txt: line 2"),
        "{wrong:?}"
    );

    let asked = sites[0].asked().len();
    let crawl = crawler.start(&[]);
    wait_until("the seed of the file is visited", || {
        run(&crawler, &["get", &seeds[2]]).status.success()
    });
    assert_eq!(sites[0].asked().len(), asked);
    // and back again
    say(&crawler, &["seeds", "add", &seeds[0]]);
    wait_until("the first seed is visited again", || {
        sites[0].asked().len() > asked
    });
    crawl.interrupted_after(0.0);
}

#[test]
fn a_seed_that_leads_out_of_scope_is_missing() {
    let other = Answers::new(108, |_| html("<p>Elsewhere.</p>"));
    let target = other.url("/home");
    let to = target.clone();
    let site = Answers::new(107, move |path| match path {
        "/robots.txt" => missing(),
        "/hop" => answer("301 Moved\r\nLocation: /", b""),
        _ => answer(&format!("301 Moved\r\nLocation: {to}"), b""),
    });
    for seed in ["/", "/hop"] {
        let mut crawler = Crawler::new(&[site.url(seed)]);
        let ended = crawler.start(&["--once"]).within(30);
        ended.failed(1, &[&site.url("/"), "leads out of scope", &target]);
        let why = say(&crawler, &["why", &site.url("/")]);
        assert!(
            why.contains(&format!(
                "{target}, which is not followed: it is out of scope"
            )),
            "{why}"
        );
        // one that goes on for ever says so too
        let ended = Crawler::new(&[site.url(seed)]).start(&[]).within(30);
        ended.failed(1, &["nothing could be fetched", "leads out of scope"]);
    }
    assert!(other.asked().is_empty());
    let mut crawler = Crawler::new(&[site.url("/"), target.clone()]);
    crawler.once(30);
}
