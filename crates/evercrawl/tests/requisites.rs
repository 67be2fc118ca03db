//! What pages embed is fetched and archived with them, so that an archive shows pages as they looked.

mod crawling;
#[path = "requisites/picture.rs"]
mod picture;
#[path = "../../storage/tests/python/mod.rs"]
mod python;
mod replay;

use crawling::answers::{Answers, answer, html, missing};
use crawling::{Crawler, Process};
use picture::Picture;
use replay::Replay;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a command that looks at the crawl says, if it succeeds.
fn say(crawler: &Crawler, arguments: &[&str]) -> String {
    let (command, rest) = arguments.split_first().unwrap();
    let mut look = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    look.arg(command).arg("-c").arg(crawler.config()).args(rest);
    let output = look.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn typed(kind: &str, body: &str) -> Vec<u8> {
    answer(&format!("200 OK\r\nContent-Type: {kind}"), body.as_bytes())
}

/// How often each path was asked for.
fn times(server: &Answers, path: &str) -> usize {
    server.asked().iter().filter(|asked| *asked == path).count()
}

/// Another server, with what the page embeds.
fn elsewhere() -> Answers {
    Answers::new(52, |path| match path {
        "/robots.txt" => typed("text/plain", "User-agent: *\nDisallow: /private/\n"),
        "/font.woff2" | "/photo.jpg" | "/photo2.jpg" | "/private/secret.png" => {
            typed("image/png", "picture")
        }
        // linked by no page of the crawl
        _ => missing(),
    })
}

/// A site of two pages that share a stylesheet; one of them changes.
fn site(other: &Answers, changed: Arc<AtomicBool>) -> Answers {
    let embedded = other.url("");
    Answers::new(51, move |path| {
        match path {
        "/" => html(&format!(
            "<title>Home</title><link rel=stylesheet href=/style.css><p>Text of the home page.</p>
             <img src={embedded}/photo.jpg srcset='{embedded}/photo2.jpg 2x'><img src={embedded}/private/secret.png>
             <img src=/lost.png><script src=/code.js></script><a href=/two>two</a> <a href={embedded}/page>out</a>"
        )),
        "/two" => {
            let news = if changed.load(Ordering::Relaxed) {
                "<p>Quite another text than before, with a picture.</p><img src=/new.png>"
            } else {
                "<p>The text of the second page.</p>"
            };
            html(&format!("<title>Two</title><link rel=stylesheet href=/style.css>{news}"))
        }
        "/style.css" => typed("text/css", "@import 'more.css'; p { color: red }"),
        "/more.css" => typed(
            "text/css",
            &format!("@font-face {{ src: url({embedded}/font.woff2) }} b {{ background: url(back.png) }}"),
        ),
        "/code.js" => typed("text/javascript", "let x = '<img src=/no.png>'"),
        "/back.png" | "/new.png" => typed("image/png", "picture"),
        _ => missing(),
    }
    })
}

#[test]
fn what_pages_embed_is_fetched_once_counted_apart_and_archived() {
    let changed = Arc::new(AtomicBool::new(false));
    let other = elsewhere();
    let server = site(&other, changed.clone());
    let mut crawler = Crawler::new(&[server.url("/")]);
    let ended = crawler.once(60);
    // pages are two, wherever their pictures live
    let figures = ended.figures();
    assert_eq!((figures.pages_known, figures.pages_fetched), (2, 2));
    let counts = figures.requisites;
    assert_eq!((counts.known, counts.fetched), (9, 7), "{counts:?}");
    assert_eq!((counts.missing, counts.waiting), (2, 0), "{counts:?}");
    for path in ["/style.css", "/more.css", "/code.js", "/back.png"] {
        assert_eq!(times(&server, path), 1, "{path}");
    }
    for path in ["/photo.jpg", "/photo2.jpg", "/font.woff2"] {
        assert_eq!(times(&other, path), 1, "{path}");
    }
    // robots.txt holds for them too, and links out of scope stay out
    assert_eq!(times(&other, "/robots.txt"), 1);
    assert_eq!(
        times(&other, "/private/secret.png") + times(&other, "/page"),
        0
    );
    assert_eq!(times(&server, "/no.png"), 0);

    // the commands tell them apart
    let status: Value = serde_json::from_str(&say(&crawler, &["status", "--json"])).unwrap();
    assert_eq!(status["pages_known"], 2);
    assert_eq!(status["pages_fetched"], 2);
    assert_eq!(status["requisites"]["fetched"], 7);
    assert!(say(&crawler, &["status"]).contains("embedded   9 known · 7 fetched"));
    let pages = say(&crawler, &["pages", "--json"]);
    assert_eq!(
        pages.matches("\"kind\":\"requisite\"").count(),
        9,
        "{pages}"
    );
    assert_eq!(pages.matches("\"kind\":\"page\"").count(), 2, "{pages}");
    let csv = say(&crawler, &["export", "--format", "csv"]);
    assert_eq!(csv.matches(",requisite").count(), 9, "{csv}");
    let changes = say(&crawler, &["changes"]);
    assert!(!changes.contains("style.css"), "{changes}");
    let why = say(&crawler, &["why", &server.url("/more.css")]);
    assert!(
        why.contains("embedded by") && why.contains("/style.css"),
        "{why}"
    );

    // what is archived: copies, the answer that there is nothing, robots.txt
    let body = say(&crawler, &["get", &other.url("/photo.jpg")]);
    assert_eq!(body, "picture");
    let versions = say(&crawler, &["get", "--versions", &server.url("/lost.png")]);
    assert!(versions.contains("  404  "), "{versions}");
    let robots = say(&crawler, &["get", &other.url("/robots.txt")]);
    assert!(robots.contains("/private/"), "{robots}");
    crawler.verify_archive();

    // another pass: what a changed page embeds anew is fetched
    changed.store(true, Ordering::Relaxed);
    let again = crawler.once(60).figures();
    assert_eq!(times(&server, "/new.png"), 1);
    assert_eq!(again.requisites.fetched, 8, "{:?}", again.requisites);
    assert_eq!(again.pages_known, 2);
    crawler.verify_archive();
}

#[test]
fn requisites_can_be_turned_off() {
    let other = elsewhere();
    let server = site(&other, Arc::default());
    let mut crawler = Crawler::new(&[server.url("/")]).with("archive.requisites", "false");
    let figures = crawler.once(30).figures();
    assert_eq!(figures.requisites.known, 0);
    assert_eq!(figures.pages_fetched, 2);
    assert!(other.asked().is_empty(), "{:?}", other.asked());
    let mut asked = server.asked();
    asked.sort();
    assert_eq!(asked, ["/", "/robots.txt", "/two"]);
}

/// Whoever ends a crawl early has what the pages that were fetched look like.
#[test]
fn what_a_page_embeds_comes_with_it_not_after_all_other_pages() {
    let links: Vec<String> = (0..200)
        .map(|page| format!("<a href=/{page}>{page}</a> "))
        .collect();
    let links = links.concat();
    let server = Answers::new(185, move |path| match path {
        "/robots.txt" => missing(),
        "/style.css" => answer("200 OK\r\nContent-Type: text/css", b"p { color: red }"),
        "/logo.png" => answer("200 OK\r\nContent-Type: image/png", b"no picture"),
        "/" => html(&format!(
            "<link rel=stylesheet href=/style.css><p>{links}<img src=/logo.png>"
        )),
        _ => html(&format!("<p>The page {path}.</p>")),
    });
    Crawler::new(&[server.url("/")]).once(60);
    let asked = server.asked();
    let at = |path: &str| asked.iter().position(|asked| asked == path).unwrap();
    assert!(asked.len() >= 204, "{asked:?}");
    // robots.txt, the page, and by turns what it embeds and what it links to
    assert!(at("/style.css") < 6 && at("/logo.png") < 6, "{asked:?}");
}

/// A documentation site that others wrote: Debian's package python-jinja2-doc, whose stylesheets import
/// each other.
const SITE: &str = "/usr/share/doc/python-jinja2-doc/html";
const PAGE: &str = "/index.html";

/// Serves the files of a folder.
fn files(last: u8, folder: &'static str) -> Answers {
    Answers::new(last, move |path| {
        let file = Path::new(folder).join(path.trim_start_matches('/'));
        let kind = match file.extension().and_then(|extension| extension.to_str()) {
            Some("html") => "text/html",
            Some("css") => "text/css",
            Some("js") => "text/javascript",
            Some("png") => "image/png",
            _ => "application/octet-stream",
        };
        let body = std::fs::read(&file).ok().filter(|_| !path.contains(".."));
        body.map_or_else(missing, |body| {
            answer(&format!("200 OK\r\nContent-Type: {kind}"), &body)
        })
    })
}

/// What a browser shows; none where there is no browser.
fn look(url: &str, directory: &Path) -> Option<Picture> {
    static TURN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let shot = directory.join(format!("shot-{turn}.png"));
    let profile = directory.join(format!("profile-{turn}"));
    let mut browser = Command::new("chromium");
    browser
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--window-size=1000,1400", "--virtual-time-budget=20000"])
        .arg(format!("--screenshot={}", shot.display()))
        .arg(url)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut browser) = browser.spawn() else {
        eprintln!("skipped: there is no `chromium` here");
        return None;
    };
    let began = Instant::now();
    while browser.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_mins(2) {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("the browser does not end");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Some(Picture::read(&shot))
}

/// A crawl of the documentation, and its archive as a browser shows it.
fn replayed(server: &Answers, requisites: bool) -> Option<Picture> {
    let mut crawler = Crawler::new(&[server.url(PAGE)])
        .with("archive.requisites", requisites.to_string())
        .with("scope.max_depth", "1");
    let process: Process = crawler.start(&["--once", "--json"]);
    process.within(120);
    let place = crawler.directory.path().join("pywb");
    let replay = Replay::start(&crawler.archive(), &place)?;
    let asked = server.asked().len();
    let picture = look(&replay.url(&server.url(PAGE)), crawler.directory.path())?;
    // the archive has it all: nothing came from the site itself
    assert_eq!(server.asked().len(), asked, "{:?}", server.asked());
    Some(picture)
}

#[test]
fn a_browser_shows_an_archived_site_as_it_looked() {
    if !Path::new(SITE).join("index.html").exists() {
        eprintln!("skipped: Debian's python-jinja2-doc is not installed here");
        return;
    }
    let server = files(53, SITE);
    let directory = tempfile::tempdir().unwrap();
    let Some(live) = look(&server.url(PAGE), directory.path()) else {
        return;
    };
    let (Some(with), Some(without)) = (replayed(&server, true), replayed(&server, false)) else {
        return;
    };
    let (same, bare) = (live.difference(&with), live.difference(&without));
    println!("pixels that differ: {same:.4} with requisites, {bare:.4} without");
    assert!(same < 0.01, "{same} of the pixels differ from the site");
    assert!(
        bare > 0.03,
        "without stylesheets only {bare} of the pixels differ"
    );
}
