//! The dashboard, in a browser that other people wrote and over plain sockets.

mod bounds;
mod browser;
#[path = "../crawling/mod.rs"]
mod crawling;
mod doors;
mod forms;
mod map;

use browser::Browser;
use crawling::answers::{Answers, answer, html, missing};
use crawling::{Crawler, Process};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const TOKEN: &str = "0123456789abcdefghij";
/// What a page would run if it could.
const EVIL: &str = "<img src=x onerror=\"window.owned=1\"><script>window.owned=1</script>";

/// A site that changes when it is told to, and that means harm.
fn site(last: u8) -> (Answers, Arc<AtomicU32>) {
    let turn = Arc::new(AtomicU32::new(0));
    let at = turn.clone();
    let server = Answers::new(last, move |path| match path {
        "/" => html(&format!(
            "<title>{EVIL}</title><p>Turn {} of &lt;script&gt;window.owned=1&lt;/script&gt; {EVIL}</p>\
             <a href='/a'>a</a> <a href='/%3Cscript%3Ewindow.owned=1%3C/script%3E?\"onmouseover=\"owned=1'>b</a> \
             <a href='/broken'>c</a> <a href='/none'>d</a> <a href=\"/x'y&quot;z/<svg onload=owned=1>\">e</a>",
            at.load(Ordering::Relaxed)
        )),
        "/robots.txt" | "/none" => missing(),
        "/broken" => answer("503 Service Unavailable", b""),
        _ => html("<p>Another page.</p>"),
    });
    (server, turn)
}

/// Where the dashboard of a crawl is, once it says so.
fn address(process: &Process) -> String {
    let limit = Instant::now() + Duration::from_mins(1);
    loop {
        let said = process.errors_so_far();
        if let Some(line) = said.lines().find(|line| line.contains("dashboard: http")) {
            let at = line.find("http").unwrap();
            return line[at..].trim_end_matches('/').to_owned();
        }
        assert!(Instant::now() < limit, "no dashboard: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn crawl(server: &Answers) -> Crawler {
    Crawler::new(&[server.url("/")])
        .with("revisit.budget", "\"5/second\"")
        .with("revisit.most_interval", "\"2s\"")
        .with("politeness.robots", "true")
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < limit, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A search that ran out of time goes on by itself, below what it found. Small crawls are searched at once: the first
/// answer is made to look unfinished, every time the page asks for it.
fn goes_on_searching(browser: &mut Browser) {
    browser.tell(
        "const fetched = window.fetch;
         window.fetch = async (address, options) => {
             const answer = await fetched(address, options);
             if (!String(address).includes('q=none')) return answer;
             const link = '<a data-further href=\"/pages?q=broken\">Continue the search</a>';
             return new Response((await answer.text()).replace('class=\"paging\">', 'class=\"paging\">' + link));
         };
         const field = document.querySelector('input[type=search]');
         field.value = 'none';
         field.dispatchEvent(new Event('input', {bubbles: true})); 1",
    );
    let rows = "[...document.querySelectorAll('#list tbody tr')].map(row => row.cells[0].innerText.split('/').pop()).join()";
    browser.wait(&format!("{rows} === 'none,broken'"));
    browser.wait("document.querySelector('a[data-further]') === null");
}

#[test]
fn pages_load_update_and_run_nothing_that_was_crawled() {
    let (server, turn) = site(91);
    let mut crawler = crawl(&server);
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    let base = address(&process);
    let Some(mut browser) = Browser::start(crawler.directory.path()) else {
        return;
    };
    browser.screen(1280, 900, false);

    // Now keeps itself up to date
    browser.open(&format!("{base}/"));
    browser.wait("document.querySelector('.huge').innerText.includes('%')");
    browser.tell(
        "window.mark = document.querySelector('#now'); window.before = window.mark.innerText; 1",
    );
    browser.wait("document.querySelector('#now').innerText !== window.before");
    assert_eq!(
        browser.tell("document.querySelector('#now') === window.mark"),
        true,
        "loaded anew"
    );

    // a change appears while one looks
    browser.open(&format!("{base}/changes?kinds=all"));
    browser.wait("document.querySelectorAll('.feed li').length >= 3");
    turn.store(1, Ordering::Relaxed);
    browser.wait("document.querySelector('.feed').innerText.includes('Turn 1 of <script>window.owned=1</script>')");
    browser.wait("document.querySelectorAll('.feed ins').length > 0");

    for (path, text) in [
        ("/", "Freshness"),
        ("/changes", "Turn 1"),
        ("/sites", "127.0.0.91"),
        ("/pages", "/x'y"),
        ("/pages?q=OWNED&sort=change", "script"),
        ("/page/0", "waits for"),
        ("/budget", "Freshness against visits"),
        ("/budget?budget=1000", "what if"),
    ] {
        for (width, dark) in [(1280, false), (390, true)] {
            browser.screen(width, 900, dark);
            browser.open(&format!("{base}{path}"));
            browser.wait(&format!("document.body.textContent.includes({text:?})"));
            let wider = browser.tell("document.documentElement.scrollWidth - innerWidth");
            assert!(
                wider.as_f64().unwrap() <= 0.0,
                "{path} is wider than {width}: {wider}"
            );
            let (ink, ground) = (
                "getComputedStyle(document.body).color",
                "getComputedStyle(document.body).backgroundColor",
            );
            let light = |text: serde_json::Value| -> f64 {
                let text = text.as_str().unwrap().to_owned();
                text.split(|c: char| !c.is_ascii_digit())
                    .filter_map(|n| n.parse::<f64>().ok())
                    .sum()
            };
            let (ink, ground) = (light(browser.tell(ink)), light(browser.tell(ground)));
            assert_eq!(ink > ground, dark, "{path}");
        }
    }
    // whatever was crawled, nothing of it ran
    for path in [
        "/",
        "/changes?kinds=all",
        "/pages",
        "/page/0",
        "/page/2",
        "/page/5",
    ] {
        browser.open(&format!("{base}{path}"));
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(browser.tell("typeof window.owned"), "undefined", "{path}");
        assert_eq!(browser.tell("document.querySelectorAll('main img, main script, [onerror], [onload], [onmouseover], [style]').length"), 0);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());

    // by keyboard: the first stop skips to the content, a slash goes to the search
    browser.open(&format!("{base}/pages"));
    browser.press("Tab", 9);
    assert_eq!(browser.tell("document.activeElement.className"), "skip");
    browser.press("/", 191);
    assert_eq!(browser.tell("document.activeElement.type"), "search");
    assert_eq!(
        browser.tell("[...document.querySelectorAll('input:not([type=hidden]),select')].every(field => field.labels.length || field.ariaLabel)"),
        true
    );

    goes_on_searching(&mut browser);

    // all can be read without scripts
    browser.without_scripts(true);
    for path in ["/", "/changes", "/sites", "/pages", "/page/0", "/budget"] {
        browser.open(&format!("{base}{path}"));
        assert!(
            browser
                .tell("document.querySelector('main').innerText.length")
                .as_f64()
                > Some(100.0),
            "{path}"
        );
    }
    drop(process);
}

/// Ends with the test, however that ends.
struct Shown(std::process::Child);

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `evercrawl dashboard` and where it is.
fn show(crawler: &Crawler, more: &[&str]) -> (Shown, String) {
    let out = crawler.directory.path().join("said");
    let shown = std::process::Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["dashboard", "--listen", "127.0.0.1:0", "--data"])
        .arg(crawler.data())
        .args(more)
        .stdout(std::fs::File::create(&out).unwrap())
        .spawn()
        .unwrap();
    let shown = Shown(shown);
    let mut base = String::new();
    wait_until("its address", || {
        let said = std::fs::read_to_string(&out).unwrap();
        let line = said
            .lines()
            .find_map(|line| line.strip_prefix("dashboard: "));
        base = line
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .unwrap_or_default();
        !base.is_empty()
    });
    (shown, base.trim_end_matches('/').to_owned())
}

#[test]
fn a_crawl_that_is_not_running_is_shown_too() {
    let (server, _) = site(92);
    let mut crawler = crawl(&server);
    let process = crawler.start(&["--dashboard=127.0.0.1:0"]);
    address(&process);
    wait_until("pages", || crawler.pages().len() >= 5);
    process.interrupted_after(3.0);
    let (_shown, base) = show(&crawler, &[]);
    let host = base.trim_start_matches("http://").to_owned();
    let page = doors::get(&host, "/", &[]);
    assert!(
        page.contains("not running") && page.contains("First pass"),
        "{page}"
    );
    // what was seen before is there still
    assert!(page.contains("<path class=\"line\""), "{page}");
    assert!(doors::get(&host, "/page/0", &[]).contains("none is running"));
}
