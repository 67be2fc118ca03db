//! Each seed may have a reach of its own.

use super::{Answers, Crawler, answer, html, missing, run, say, wait_until};

fn site(last: u8) -> Answers {
    Answers::new(last, |path| match path {
        "/robots.txt" => missing(),
        _ => html(&format!(
            "<p>The page {path}.</p><a href=/>/</a> <a href=/docs/>d</a> <a href=/docs/a>a</a> <a href=/blog/>b</a>"
        )),
    })
}

fn asked(site: &Answers) -> Vec<String> {
    let mut asked = site.asked();
    asked.sort();
    asked.dedup();
    asked
}

#[test]
fn seeds_reach_as_far_as_each_says() {
    let (all, docs, one) = (site(171), site(172), site(173));
    let seeds = format!(
        "[\"{}\", {{ url = \"{}\", reach = \"prefix\" }}, {{ url = \"{}\", reach = \"page\" }}]",
        all.url("/"),
        docs.url("/docs/"),
        one.url("/docs/")
    );
    let mut crawler = Crawler::new(&[]).with("seeds", seeds);
    crawler.once(60);
    assert_eq!(
        asked(&all),
        ["/", "/blog/", "/docs/", "/docs/a", "/robots.txt"]
    );
    assert_eq!(asked(&docs), ["/docs/", "/docs/a", "/robots.txt"]);
    assert_eq!(asked(&one), ["/docs/", "/robots.txt"]);
    let said = say(
        &crawler,
        &[
            "scope",
            &docs.url("/docs/x"),
            &docs.url("/blog/"),
            &one.url("/docs/"),
        ],
    );
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("in ") && lines[0].ends_with("(whose reach is prefix)"),
        "{said}"
    );
    assert!(
        lines[1].starts_with("out") && lines[1].contains("reached by no seed"),
        "{said}"
    );
    assert!(
        lines[2].ends_with("it is a seed (whose reach is page)"),
        "{said}"
    );
    // the settings are kept with the crawl, which goes on by them
    let listed = say(&crawler, &["seeds", "list"]);
    assert_eq!(
        listed,
        format!(
            "{}\n{} prefix\n{} page\n",
            all.url("/"),
            docs.url("/docs/"),
            one.url("/docs/")
        )
    );
}

#[test]
fn seeds_are_added_with_a_reach_while_the_crawl_runs() {
    let (first, second, third) = (site(174), site(175), site(176));
    let mut crawler = Crawler::new(&[first.url("/blog/")]).with("scope.reach", "\"page\"");
    let process = crawler.start(&[]);
    wait_until("the first is fetched", || asked(&first).len() == 2);
    say(
        &crawler,
        &["seeds", "add", "--reach", "prefix", &second.url("/docs/")],
    );
    wait_until("what it reaches is fetched", || {
        asked(&second).contains(&"/docs/a".to_owned())
    });
    let file = crawler.directory.path().join("seeds.txt");
    std::fs::write(
        &file,
        format!(
            "# reach\n{} host\n{}\n",
            third.url("/"),
            first.url("/docs/")
        ),
    )
    .unwrap();
    say(
        &crawler,
        &["seeds", "add", "--from", file.to_str().unwrap()],
    );
    wait_until("a host is fetched", || asked(&third).len() == 5);
    // the same seed may reach further from now on
    say(
        &crawler,
        &["seeds", "add", "--reach", "prefix", &first.url("/docs/")],
    );
    let status = |url: &str| run(&crawler, &["visit", url]).status.code();
    assert_eq!(status(&first.url("/docs/b")), Some(0));
    assert_eq!(status(&first.url("/")), Some(2));
    process.interrupted_after(0.5);
    assert_eq!(asked(&second), ["/docs/", "/docs/a", "/robots.txt"]);
    assert!(
        !asked(&first).contains(&"/".to_owned()),
        "{:?}",
        asked(&first)
    );
    std::fs::write(&file, format!("{} far\n", third.url("/"))).unwrap();
    let wrong = run(
        &crawler,
        &["seeds", "add", "--from", file.to_str().unwrap()],
    );
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        said.contains("line 1") && said.contains("not a reach"),
        "{said}"
    );
}

#[test]
fn a_page_among_sites_is_followed_where_it_redirects_to_and_sites_are_not() {
    let other = Answers::new(176, |path| match path {
        "/robots.txt" => missing(),
        "/hop" => answer("301 Moved\r\nLocation: /home", b""),
        _ => html("<p>Elsewhere.</p><a href=/more>more</a>"),
    });
    let (meant, out) = (other.url("/hop"), other.url("/out"));
    let page = Answers::new(177, move |path| match path {
        "/robots.txt" => missing(),
        _ => answer(&format!("301 Moved\r\nLocation: {meant}"), b""),
    });
    let site = Answers::new(178, move |path| match path {
        "/robots.txt" => missing(),
        "/away" => answer(&format!("301 Moved\r\nLocation: {out}"), b""),
        _ => html("<p>A site.</p><a href=/away>away</a>"),
    });
    let seeds = format!(
        "[\"{}\", {{ url = \"{}\", reach = \"page\" }}]",
        site.url("/"),
        page.url("/item")
    );
    let mut crawler = Crawler::new(&[]).with("seeds", seeds);
    crawler.once(60);
    assert_eq!(asked(&other), ["/home", "/hop", "/robots.txt"]);
    let why = say(&crawler, &["why", &other.url("/home")]);
    assert!(why.contains("a seed redirects to it"), "{why}");
    // and so it stays
    crawler.once(60);
    assert_eq!(asked(&other), ["/home", "/hop", "/robots.txt"]);
    let homes = other.asked().iter().filter(|path| *path == "/home").count();
    assert_eq!(homes, 2);
}
