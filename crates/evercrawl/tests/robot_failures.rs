//! What goes wrong around a crawl is said clearly, costs no more than it must, and the next start
//! goes on.

mod crawling;

use crawling::answers::{Answers, answer, html, missing};
use crawling::{Crawler, Ended, pages_in, serve};
use simulation::web::{Running, Visit, Web, WebSpec};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn small_web(largest: u32) -> (Arc<Web>, Running) {
    let spec = WebSpec {
        hosts: 4,
        largest,
        ..WebSpec::plain()
    };
    serve(&spec, 1.0)
}

/// The URLs known and those fetched, by a store on disk.
fn known_and_fetched(state: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let pages = pages_in(state).unwrap();
    let fetched = pages.iter().filter(|page| {
        let row = page.row.as_ref();
        row.is_some_and(|row| row.last_visit.is_some())
    });
    let fetched = fetched.map(|page| page.url.clone()).collect();
    let known = pages.into_iter().map(|page| page.url).collect();
    (known, fetched)
}

/// Everything was fetched; what was known stayed known, what was fetched was not asked for again.
fn went_on(web: &Web, running: &Running, asked_before: usize, before: &Path, after: &Path) {
    let (known, fetched) = known_and_fetched(before);
    let (known_after, fetched_after) = known_and_fetched(after);
    assert!(known.is_subset(&known_after));
    assert_eq!(fetched_after.len(), web.pages().len());
    for visit in &running.record.visits()[asked_before..] {
        let url = url_of(running, visit);
        assert!(!fetched.contains(&url), "{url} again");
    }
}

fn url_of(running: &Running, visit: &Visit) -> String {
    format!("http://{}:{}{}", visit.host, running.port, visit.path)
}

/// Runs a script in which `$1` is the command, `$2` the configuration, `$3` the directory.
fn script(crawler: &mut Crawler, text: &str) -> Ended {
    let mut command = Command::new("sh");
    command.args(["-c", text, "sh", env!("CARGO_BIN_EXE_evercrawl")]);
    command.arg(crawler.config()).arg(crawler.directory.path());
    crawler.start_as(command).within(60)
}

#[test]
fn a_full_disk_is_said_and_the_crawl_goes_on_when_there_is_room() {
    let (web, running) = small_web(150);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.002);
    let (disk, kept) = (crawler.data(), crawler.directory.path().join("kept"));
    fs::create_dir(&disk).unwrap();
    fs::create_dir(&kept).unwrap();
    let inside = r#"
        mount -t tmpfs -o size=16m tmpfs "$3/data" || exit 99
        head -c 16200000 /dev/zero > "$3/data/filler"
        "$1" crawl -c "$2" --once
        echo "first: $?"
        cp -r "$3/data/state" "$3/kept/before"
        rm "$3/data/filler"
        "$1" crawl -c "$2" --once
        echo "second: $?"
        cp -r "$3/data/state" "$3/kept/after"
        cp -r "$3/data/archive" "$3/kept/archive"
    "#;
    let ended = script(
        &mut crawler,
        &format!("exec unshare -rm sh -c '{inside}' sh \"$@\""),
    );
    if ended.status.code() == Some(99) || ended.err.contains("unshare") {
        eprintln!("skipped: no small disk can be made here: {}", ended.err);
        return;
    }
    assert!(ended.out.contains("first: 1"), "{ended:?}");
    assert!(ended.err.contains("No space left on device"), "{ended:?}");
    assert!(ended.err.contains(disk.to_str().unwrap()), "{ended:?}");
    assert!(ended.out.contains("second: 0"), "{ended:?}");
    let (known, fetched) = known_and_fetched(&kept.join("before"));
    let (known_after, fetched_after) = known_and_fetched(&kept.join("after"));
    assert!(known.is_subset(&known_after));
    assert_eq!(fetched_after.len(), web.pages().len());
    let mut asked = running.record.visits();
    asked.retain(|visit| fetched.contains(&url_of(&running, visit)));
    assert_eq!(
        asked.len(),
        fetched.len(),
        "what was stored was asked for again"
    );
    assert!(
        !fetched.is_empty() && fetched.len() < web.pages().len(),
        "{}",
        fetched.len()
    );
    let report = storage::archive::verify(&kept.join("archive")).unwrap();
    assert_eq!(report.flaws, []);
}

#[test]
fn files_that_cannot_grow_are_said_and_the_crawl_goes_on_when_they_can() {
    let (web, running) = small_web(150);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.002);
    let limited = r#"ulimit -f 300; trap "" XFSZ; exec "$1" crawl -c "$2" --once"#;
    let ended = script(&mut crawler, limited);
    ended.failed(1, &["File too large", crawler.data().to_str().unwrap()]);
    let before = crawler.directory.path().join("before");
    copy(&crawler.state(), &before);
    assert!(!known_and_fetched(&before).1.is_empty());
    let asked = running.record.len();
    crawler.once(60);
    went_on(&web, &running, asked, &before, &crawler.state());
    crawler.verify_archive();
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_file_in_place_of_the_directory_is_named() {
    let mut crawler = Crawler::new(&["http://h.test/".into()]);
    fs::write(crawler.data(), "not a directory").unwrap();
    let ended = crawler.start(&["--once"]).within(10);
    ended.failed(1, &["error", crawler.data().to_str().unwrap()]);
    assert_eq!(fs::read(crawler.data()).unwrap(), b"not a directory");
}

#[test]
fn a_directory_that_may_not_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let mut crawler = Crawler::new(&["http://h.test/".into()]);
    fs::create_dir(crawler.data()).unwrap();
    fs::set_permissions(crawler.data(), fs::Permissions::from_mode(0o500)).unwrap();
    if fs::create_dir(crawler.state()).is_ok() {
        eprintln!("skipped: whoever runs this may write everywhere");
        return;
    }
    let ended = crawler.start(&["--once"]).within(10);
    ended.failed(1, &["Permission denied", crawler.data().to_str().unwrap()]);
}

#[test]
fn a_second_crawl_in_the_same_directory_is_refused() {
    let (web, running) = small_web(100);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.02);
    let first = crawler.start(&["--once", "--json"]);
    while running.record.len() < 10 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = crawler.start(&["--once"]).within(10);
    let id = first.id().to_string();
    second.failed(1, &["in use", &id, crawler.data().to_str().unwrap()]);
    let figures = first.succeeds_within(60).figures();
    assert_eq!(figures.pages_fetched as usize, web.pages().len());
    crawler.verify_archive();
}

#[test]
fn an_interruption_ends_it_within_two_seconds_and_the_next_start_goes_on() {
    let (web, running) = small_web(150);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.01);
    let process = crawler.start(&["--once", "--json"]);
    while running.record.len() < 40 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let wished = Instant::now();
    process.interrupt();
    let ended = process.within(5);
    assert_eq!(ended.status.code(), Some(130));
    assert!(
        wished.elapsed() < Duration::from_secs(2),
        "{:?}",
        wished.elapsed()
    );
    let (known, fetched) = known_and_fetched(&crawler.state());
    let (known, fetched) = (known.len(), fetched.len());
    assert!((20..known).contains(&fetched), "{fetched} of {known}");
    // the last figures are those of the store, what came in while it ended included
    let figures = ended.figures();
    assert_eq!(figures.pages_fetched as usize, fetched);
    assert_eq!(figures.first_visits as usize, fetched);
    assert_eq!(figures.pages_known as usize, known);
    assert_eq!(figures.new_waiting as usize, known - fetched);
    assert_eq!((figures.running, figures.under_way), (false, 0));
    // all that was asked for before the end is kept: nothing is asked for twice
    assert_eq!(
        fetched,
        running
            .record
            .visits()
            .iter()
            .filter(|v| &*v.path != "/robots.txt")
            .count()
    );
    let (asked, before) = (
        running.record.len(),
        crawler.directory.path().join("before"),
    );
    copy(&crawler.state(), &before);
    crawler.once(60);
    went_on(&web, &running, asked, &before, &crawler.state());
}

#[test]
fn started_again_without_a_word_it_goes_on_as_before() {
    let (web, running) = small_web(40);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.01);
    let process = crawler.start(&["--once"]);
    while running.record.len() < 20 {
        std::thread::sleep(Duration::from_millis(5));
    }
    process.interrupted_after(0.0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command
        .args(["crawl", "--once", "--json", "--data"])
        .arg(crawler.data());
    let figures = crawler.start_as(command).succeeds_within(60).figures();
    assert_eq!(figures.pages_fetched as usize, web.pages().len());
    assert_eq!(figures.pages_excluded, 0);
    // those who look need not be told either
    let url = web.url(web.pages().len() - 1, running.port);
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["why", &url, "--data"])
        .arg(crawler.data())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        words.contains("in: by scope.suffixes: demo.test"),
        "{words}"
    );
}

#[test]
fn settings_that_cannot_be_read_are_refused_and_left_alone() {
    let (web, running) = small_web(5);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.01);
    crawler.once(30);
    let kept = crawler.data().join("config.toml");
    fs::write(&kept, "interval = 'soon'").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command
        .args(["crawl", "--once", "--data"])
        .arg(crawler.data());
    let ended = crawler.start_as(command).within(10);
    ended.failed(2, &["config.toml", "interval"]);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "interval = 'soon'");
}

#[test]
fn a_robots_txt_that_cannot_be_had_is_counted_by_its_cause() {
    // a port that nobody listens at
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let seed = format!("http://{}/", port.local_addr().unwrap());
    drop(port);
    let mut crawler = Crawler::new(&[seed]);
    let ended = crawler.start(&["--once", "--json"]).within(60);
    // three tries, then the end, which says what is missing and why
    assert_eq!(ended.failures("connect-refused"), 3);
    ended.failed(1, &["missing", "robots.txt cannot be fetched"]);
}

#[test]
fn why_says_that_a_robots_txt_is_waited_for() {
    let server = Answers::new(63, |path| match path {
        "/robots.txt" => answer("503 Service Unavailable", b""),
        _ => html("a page"),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let crawl = crawler.start(&[]);
    let limit = Instant::now() + Duration::from_mins(1);
    loop {
        let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .arg("why")
            .arg("-c")
            .arg(crawler.config())
            .arg(server.url("/"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if said.contains("its robots.txt, which cannot be had; it is asked for again in") {
            break;
        }
        assert!(Instant::now() < limit, "{said}");
        std::thread::sleep(Duration::from_millis(200));
    }
    crawl.kill();
}

#[test]
fn what_a_server_asks_for_while_the_crawl_ends_is_kept() {
    let server = Answers::new(61, |path| match path {
        "/" => html("<a href=/busy></a>"),
        "/busy" => {
            std::thread::sleep(Duration::from_millis(700));
            answer("503 Service Unavailable\r\nRetry-After: 600", b"")
        }
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")]);
    let process = crawler.start(&["--json"]);
    while !server.asked().contains(&"/busy".into()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = process.interrupted_after(0.1);
    assert_eq!(ended.figures().failures["server-error"], 1, "{}", ended.out);
    let reader = storage::Reader::open(&crawler.state()).unwrap();
    let (_, host) = reader.hosts().unwrap().next().unwrap().unwrap();
    let wait = robot::offline::host(&host.blob).courtesy.not_before;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let left = wait - now.unwrap().as_secs_f64();
    assert!((590.0..=600.0).contains(&left), "{left}");
}

#[test]
fn caps_lowered_by_near_duplicates_stay_low_after_a_restart() {
    let server = Answers::new(62, |path| match path {
        "/" | "/more" => {
            let page = if path == "/" { "first" } else { "second" };
            let links = (0..40).map(|n| format!("<a href=/alike/{page}{n}>{n}</a> "));
            let links: String = links.collect();
            html(&format!(
                "<p>The {page} list of pages that differ in no more than a name.</p>{links}"
            ))
        }
        path if path.starts_with("/alike/") => {
            html("<p>The same words in the same order on each and every one of these pages.</p>")
        }
        _ => missing(),
    });
    let mut crawler = Crawler::new(&[server.url("/")])
        .delay(0.001)
        .with("traps.per_prefix", "160")
        .with("traps.duplicate_run", "10")
        .with("traps.least_per_prefix", "5");
    // the first page is like no other; the rest are three runs: from 160 to 20
    assert_eq!(crawler.once(30).figures().pages_fetched, 41);
    let mut crawler = crawler.with("seeds", format!("[{:?}]", server.url("/more")));
    let figures = crawler.once(30).figures();
    assert_eq!((figures.pages_fetched, figures.trapped), (42, 40));
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["why", "-c"])
        .arg(crawler.config())
        .arg(server.url("/alike/second0"))
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        words.contains("20 URLs below this path are known"),
        "{words}"
    );
}

/// Every file of the state, with bytes flipped in one place after another: refused in clear words,
/// or the crawl goes on and says what was lost, in which file. Never a panic.
#[test]
fn a_damaged_store_is_refused_or_mended_in_clear_words() {
    let (web, running) = small_web(40);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.002);
    crawler.once(30);
    // the journal of the first start would mend everything: with a second one it is done with
    crawler.once(30);
    let whole = crawler.directory.path().join("whole");
    copy(&crawler.state(), &whole);
    let visits_before = visits_in(&whole);
    let (mut refused, mut mended, mut harmless) = (0, 0, 0);
    for file in files_below(&whole) {
        let length = fs::metadata(&file).unwrap().len();
        for place in [0.0, 0.3, 0.9] {
            fs::remove_dir_all(crawler.state()).unwrap();
            copy(&whole, &crawler.state());
            let name = file.strip_prefix(&whole).unwrap();
            let target = crawler.state().join(name);
            let mut bytes = fs::read(&target).unwrap();
            let at = (length as f64 * place) as usize;
            let end = (at + 16).min(bytes.len());
            for byte in &mut bytes[at..end] {
                *byte ^= 0x5a;
            }
            fs::write(&target, bytes).unwrap();
            let asked = running.record.len();
            let ended = crawler.start(&["--once", "--json"]).within(20);
            match ended.status.code() {
                Some(0) => {
                    let asked_for = &running.record.visits()[asked..];
                    let again = asked_for
                        .iter()
                        .filter(|v| &*v.path != "/robots.txt")
                        .count();
                    let visits_lost = visits_in(&crawler.state()) < visits_before + again;
                    // every page is made new once
                    let pages = web.pages().len();
                    if again == pages && !visits_lost && urls_in(&crawler.state()) == pages {
                        harmless += 1;
                        continue;
                    }
                    if visits_lost && name.starts_with("observations") {
                        // a start has no need of the log; whoever reads it is told
                        let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
                            .args(["changes", "-c"])
                            .arg(crawler.config())
                            .output()
                            .unwrap();
                        let said = String::from_utf8_lossy(&output.stderr);
                        assert!(said.contains("cannot be read"), "{said}");
                        mended += 1;
                        continue;
                    }
                    let said = ended.err.lines().find(|line| line.contains("readable"));
                    let said = said.unwrap_or_else(|| {
                        panic!(
                            "{} at {at}: {again} asked for again, {visits_lost}: {}",
                            name.display(),
                            ended.err
                        )
                    });
                    assert!(
                        (said.contains("WARN") || said.contains("ERROR"))
                            && said.contains(name.iter().next().unwrap().to_str().unwrap()),
                        "{said}"
                    );
                    let lost = web.pages().len() as u64 - ended.figures().pages_fetched;
                    assert!(
                        lost <= 2,
                        "{lost} pages lost by {} at {at}: {}",
                        name.display(),
                        ended.err
                    );
                    mended += 1;
                }
                Some(1) => {
                    assert!(ended.err.contains(name.to_str().unwrap()), "{}", ended.err);
                    refused += 1;
                }
                code => panic!("{code:?} after {} at {at}: {}", name.display(), ended.err),
            }
        }
    }
    eprintln!("{refused} refused, {mended} mended, {harmless} harmless");
    assert!(mended > 3, "{mended} mended");
}

/// The URLs that can be read.
fn urls_in(state: &Path) -> usize {
    let reader = storage::Reader::open(state).unwrap();
    let pages = (0..reader.page_count().unwrap()).map(storage::PageId);
    pages.filter(|&page| reader.address(page).is_ok()).count()
}

/// The visits in a log.
fn visits_in(state: &Path) -> usize {
    let reader = storage::Reader::open(state).unwrap();
    reader.observations(storage::Position(0)).unwrap().count()
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if fs::metadata(&path).unwrap().len() > 0 {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_damaged_end_of_the_archive_costs_that_record_and_is_said() {
    let (web, running) = small_web(40);
    let mut crawler = Crawler::of_web(&web, &running).delay(0.002);
    crawler.once(30);
    let records = crawler.verify_archive();
    let (_, file) = storage::archive::files(&crawler.archive())
        .unwrap()
        .remove(0);
    let mut bytes = fs::read(&file).unwrap();
    let end = bytes.len();
    bytes[end - 20..].fill(0x5a);
    fs::write(&file, bytes).unwrap();
    let ended = crawler.once(30);
    assert!(ended.err.contains("unfinished record"), "{}", ended.err);
    assert!(ended.err.contains(file.to_str().unwrap()), "{}", ended.err);
    // every page was made new, and is what it was
    let pages = web.pages().len() as u64;
    assert_eq!(crawler.verify_archive(), records - 1 + pages);
}

#[test]
fn unknown_keys_are_named_with_their_line() {
    let crawler = Crawler::new(&[]);
    let path = crawler.config();
    fs::write(&path, "seeds = []\n[budget]\nconections = 3\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["crawl", "-c"])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for word in ["conections", "line 3", path.to_str().unwrap()] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn what_no_crawl_could_start_with_is_found_by_the_check() {
    for (text, word) in [
        ("revisit.policy = 'nope'", "nope"),
        ("seeds = ['ftp://h.test/']", "ftp"),
        ("fetch.allow_networks = ['300.0.0.0/8']", "300.0.0.0"),
        ("scope.include = ['(']", "scope"),
        ("fetch.extra_roots = '/nowhere/at/all'", "/nowhere/at/all"),
    ] {
        let crawler = Crawler::new(&[]);
        let path = crawler.config();
        fs::write(&path, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["config", "check"])
            .arg(&path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {said}");
        assert!(said.contains(word), "{text}: {said}");
    }
}

#[test]
fn wrong_seeds_are_bad_input() {
    for seed in [
        "ftp://h.test/",
        "not a url",
        "mailto:a@h.test",
        "http://",
        "/path",
    ] {
        let mut crawler = Crawler::new(&[seed.into()]);
        let ended = crawler.start(&["--once"]).within(10);
        ended.failed(2, &["seed", seed]);
        assert!(!crawler.data().exists());
    }
    let ended = Crawler::new(&[]).start(&["--once"]).within(10);
    ended.failed(2, &["no seeds"]);
}

#[test]
fn a_host_without_an_address_is_counted_and_not_asked_for_without_end() {
    // nobody answers there, as when there is no network
    let unused = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = format!("\"{}\"", unused.local_addr().unwrap());
    let seed = ["http://nowhere.test/".to_string()];
    let mut crawler = Crawler::new(&seed).with("fetch.dns_server", server);
    let process = crawler.start(&["--json"]);
    std::thread::sleep(Duration::from_secs(1));
    let before = process.processor_seconds();
    std::thread::sleep(Duration::from_secs(3));
    let used = process.processor_seconds() - before;
    assert!(used < 0.3, "{used} s of processor time in 3 s");
    drop(unused);
    process.interrupted_after(0.0);

    // names that are known not to be
    let mut crawler = Crawler::new(&seed).with("fetch.dns_server", "\"127.0.0.1:1\"");
    let ended = crawler.start(&["--once", "--json"]).within(100);
    let figures = ended.figures();
    assert_eq!(figures.requests, 0);
    let dns = figures
        .failures
        .iter()
        .filter(|(cause, _)| cause.starts_with("dns"));
    let tries = dns.map(|(_, count)| count).sum::<u64>();
    assert!((1..=3).contains(&tries), "{figures:?}");
    ended.failed(1, &["http://nowhere.test/", "no address: dns"]);
}

#[test]
fn an_idle_crawl_rests() {
    let (web, running) = small_web(10);
    let mut crawler = Crawler::of_web(&web, &running).with("revisit.budget", "\"1/hour\"");
    let process = crawler.start(&["--json"]);
    std::thread::sleep(Duration::from_secs(2));
    let before = process.processor_seconds();
    std::thread::sleep(Duration::from_secs(3));
    let used = process.processor_seconds() - before;
    assert!(used < 0.3, "{used} s of processor time in 3 s");
    process.interrupted_after(0.0);
}
