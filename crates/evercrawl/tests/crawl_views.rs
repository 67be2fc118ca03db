//! The commands that look at a crawl: afterwards, while it runs, and where there is none.

#[path = "crawl_views/others.rs"]
mod others;
#[path = "../../storage/tests/python/mod.rs"]
mod python;
mod replay;
#[path = "crawl_views/site.rs"]
mod site;
#[path = "crawl_views/strange.rs"]
mod strange;

use serde_json::Value;
use site::{HOST, OTHER, Process, Scene, TEXT, evercrawl, text, wait_until};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}

/// Crawls until there were changes, minor changes and revisits, and stops.
fn crawled() -> Scene {
    let scene = Scene::open();
    let crawl = scene.crawl();
    scene.wait_for(&["changes"], "\"changed\"");
    scene.wait_for(&["changes", "--minor"], "\"minor\"");
    scene.wait_for(
        &["get", "--versions", &scene.url("/packed")],
        "the same as before",
    );
    scene.wait_for(&["get", "--versions", &scene.url("/moved")], "301");
    scene.wait_for(&["get", "--versions", &scene.url("/")], "304");
    scene.wait_for(&["pages", "--state", "excluded"], "/private/x");
    scene.wait_for(&["pages", "--host", OTHER, "--state", "live"], OTHER);
    scene.wait_for(&["why", &scene.url("/dead")], "missing");
    // other programs know versions by the second
    wait_until(|| {
        let times = version_times(&scene, "/changing");
        let seconds: HashSet<_> = times.iter().map(|time| &time[..19]).collect();
        seconds.len() >= 3
    });
    assert_eq!(crawl.interrupt(), Some(0));
    scene
}

/// Another crawl takes a host over: it says by its id which archive has the copies, and finds them when it is told where
/// that is. What it passes on says the same.
fn copies_of_hosts_that_moved_are_found(scene: &Scene) {
    let file = |name: &str| scene.directory.path().join(name);
    let (package, next) = (file("moved.host"), file("next.toml"));
    let archive = robot::archive_directory(&scene.data());
    let id = storage::archive::identify(&archive).unwrap().to_string();
    let url = scene.url("/changing");
    let copy = scene.say(&["get", &url]);
    let pack = ["export", "--format", "host", "--host", HOST, "--out"];
    scene.say(&[&pack[..], &[text(&package)]].concat());
    let data = format!("data = '{}'", text(&file("next")));
    std::fs::write(&next, &data).unwrap();
    let say = |arguments: &[&str]| {
        let output = evercrawl(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8(output.stdout).unwrap(), errors)
    };
    let (_, errors) = say(&["import", "-c", text(&next), text(&package)]);
    assert!(!errors.contains("error"), "{errors}");
    let (_, errors) = say(&["get", "-c", text(&next), &url]);
    assert!(errors.contains(&id), "{errors}");
    let again = file("again.host");
    say(&[
        &pack[..1],
        &["-c", text(&next)],
        &pack[1..],
        &[text(&again)],
    ]
    .concat());
    let packed = |path| storage::Package::decode(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(packed(&again).archives, packed(&package).archives);
    assert_eq!(packed(&again).archives[0].to_string(), id);
    let told = format!("{data}\narchive.others = ['{}']", text(&archive));
    std::fs::write(&next, told).unwrap();
    let (found, errors) = say(&["get", "-c", text(&next), &url]);
    assert_eq!(found, copy, "{errors}");
}

/// When a page was visited.
fn version_times(scene: &Scene, path: &str) -> Vec<String> {
    let versions = scene.say(&["get", "--versions", &scene.url(path)]);
    let times = versions.lines().filter_map(|line| line.split(' ').next());
    let mut times: Vec<String> = times.map(str::to_owned).collect();
    times.dedup();
    times
}

#[test]
fn afterwards() {
    let scene = crawled();
    status(&scene);
    pages_and_hosts(&scene);
    changes(&scene);
    why(&scene);
    get(&scene);
    exports(&scene);
    exported_rates(&scene);
    copies_of_hosts_that_moved_are_found(&scene);
    others::parquet_is_read(&scene);
    others::warc_is_read(&scene);
    others::pywb_replays(&scene);
    archive(&scene);
}

fn status(scene: &Scene) {
    let status = json(&scene.say(&["status", "--json"]));
    assert_eq!(status["running"], false);
    // ten links, the seed, and where the redirect leads is one of them
    assert_eq!(status["pages_known"], 11);
    assert_eq!(status["pages_excluded"], 1);
    assert_eq!(status["pages_redirect"], 1);
    assert_eq!(status["new_waiting"], 1);
    assert_eq!(status["pages_fetched"], 9);
    assert_eq!(status["failures"]["robots"], 1);
    assert!(status["failures"]["missing"].as_u64().unwrap() >= 1);
    assert!(status["changes"].as_u64().unwrap() >= 1);
    let share = status["minor_share"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&share) && share > 0.0, "{share}");
    let freshness = status["estimated_freshness"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&freshness), "{freshness}");
    assert!(status["archive_bytes"].as_u64().unwrap() > 1000);
    let words = scene.say(&["status"]);
    assert!(words.contains("not running; last visit 20"), "{words}");
    assert!(words.contains("never revisited"), "{words}");
    // copies age though nobody crawls
    std::thread::sleep(Duration::from_millis(300));
    let later = json(&scene.say(&["status", "--json"]));
    assert!(later["estimated_freshness"].as_f64().unwrap() < freshness);
}

fn pages_and_hosts(scene: &Scene) {
    let all = scene.say(&["pages"]);
    assert_eq!(all.lines().count(), 11);
    assert!(all.contains("/odd%1b%5b2J"), "{all}");
    let live = json_lines(&scene.say(&["pages", "--json", "--state", "live", "--host", HOST]));
    assert_eq!(live.len(), 7);
    assert!(
        live.iter()
            .all(|page| page["state"] == "live" && page["status"].is_u64())
    );
    let sorted = json_lines(&scene.say(&["pages", "--json", "--sort", "changes", "--limit", "2"]));
    assert_eq!(sorted.len(), 2);
    assert!(sorted[0]["url"].as_str().unwrap().ends_with("/changing"));
    let urls = scene.say(&["pages", "--sort", "url"]);
    let urls: Vec<&str> = urls
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .collect();
    assert!(urls.is_sorted(), "{urls:?}");
    assert_eq!(scene.say(&["pages", "--host", "nowhere.test"]), "");

    let hosts = json_lines(&scene.say(&["hosts", "--json"]));
    assert_eq!(hosts.len(), 2);
    assert_eq!(hosts[0]["pages"]["live"], 7);
    assert_eq!(hosts[0]["pages"]["excluded"], 1);
    assert_eq!(hosts[0]["robots"], "rules");
    assert_eq!(hosts[1]["robots"], "none: everything allowed");
    assert_eq!(hosts[1]["interval"], 0.02);
    let words = scene.say(&["hosts"]);
    assert!(words.contains("none is running"), "{words}");
}

fn changes(scene: &Scene) {
    let all = json_lines(&scene.say(&["changes", "--minor"]));
    let of = |kind: &str| all.iter().filter(|change| change["kind"] == kind).count();
    // eight copies and a redirect
    assert_eq!(of("first"), 9);
    assert!(of("changed") > 0 && of("minor") > 0);
    for change in &all {
        let (digest, previous) = (&change["digest"], &change["previous"]);
        assert!(digest.as_str().unwrap().starts_with("sha1:"));
        assert_ne!(digest, previous);
        assert_eq!(previous.is_null(), change["kind"] == "first");
    }
    let changing: Vec<_> = (all.iter())
        .filter(|change| change["url"].as_str().unwrap().ends_with("/changing"))
        .collect();
    assert!(
        changing
            .windows(2)
            .all(|pair| pair[1]["previous"] == pair[0]["digest"])
    );
    assert!(!scene.say(&["changes"]).contains("\"minor\""));
    let last = all.last().unwrap()["time"].as_str().unwrap();
    assert!(json_lines(&scene.say(&["changes", "--minor", "--since", last])).len() < all.len());
    assert_eq!(scene.say(&["changes", "--since", "2100-01-01"]), "");
    let output = scene.run(&["changes", "--since", "soon"]);
    assert_eq!(output.status.code(), Some(2));
}

fn why(scene: &Scene) {
    let why = |path: &str| json(&scene.say(&["why", "--json", &scene.url(path)]));
    let changing = why("/changing");
    assert_eq!(changing["known"], true);
    assert_eq!(changing["scope"]["in"], true);
    let seed = format!("on the site of the seed {}", scene.url("/"));
    assert_eq!(changing["scope"]["why"], seed);
    assert_eq!(changing["robots"]["allowed"], true);
    let rate = changing["changes_per_day"].as_f64().unwrap();
    let interval = changing["changes_per_day_interval"].as_array().unwrap();
    assert!(interval[0].as_f64().unwrap() <= rate && rate <= interval[1].as_f64().unwrap());
    assert!(rate > why("/packed")["changes_per_day"].as_f64().unwrap());
    assert_eq!(changing["found_on"], scene.url("/"));

    let private = why("/private/x");
    assert_eq!(private["robots"]["allowed"], false);
    assert_eq!(private["robots"]["rule"], "Disallow: /private/");
    assert_eq!(private["robots"]["line"], 2);
    assert!(private["waits_for"].as_str().unwrap().contains("robots"));
    assert_eq!(why("/moved")["redirects_to"], scene.url("/packed"));
    let dead = why("/dead");
    assert!(dead["due"].is_string());
    assert!(dead["waits_for"].as_str().unwrap().contains("missing"));

    let absent = why("/never-linked");
    assert_eq!(absent["known"], false);
    assert!(
        absent["waits_for"]
            .as_str()
            .unwrap()
            .contains("no page fetched so far links to it")
    );
    let trap = why(&"/a/b".repeat(5));
    assert!(
        trap["trap"].as_str().unwrap().contains("in a row"),
        "{trap}"
    );
    let elsewhere = json(&scene.say(&["why", "--json", "http://example.org/"]));
    assert_eq!(elsewhere["scope"]["in"], false);
    assert_eq!(
        elsewhere["scope"]["why"],
        "on the site of no seed (scope.reach = \"site\")"
    );
    // the same page, whoever sent us there
    let tracked = why("/changing?utm_source=x");
    assert_eq!(tracked["page"]["url"], scene.url("/changing"));
    for (path, words) in [
        ("/private/x", "forbidden by line 2, Disallow: /private/"),
        ("/changing", " (95 %: "),
        ("/never-linked", "not known"),
    ] {
        let answer = scene.say(&["why", &scene.url(path)]);
        assert!(answer.contains(words), "{answer}");
    }
    // without the configuration the seeds are those in the store
    let data = scene.data();
    let output = evercrawl(&[
        "why",
        "--data",
        text(&data),
        "--json",
        &scene.url("/changing"),
    ]);
    let answer = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(answer["scope"]["why"], seed);
    assert_eq!(scene.run(&["why", "example.org"]).status.code(), Some(2));
}

fn get(scene: &Scene) {
    let packed = scene.url("/packed");
    let body = format!("<title>Packed</title><p>{TEXT}</p>");
    // the last version is a revisit record, its content in an earlier one
    let versions = scene.say(&["get", "--versions", &packed]);
    assert!(
        versions
            .lines()
            .last()
            .unwrap()
            .ends_with("the same as before")
    );
    let version = scene.say(&["get", "--versions", "--json", &packed]);
    let version: serde_json::Value = serde_json::from_str(version.lines().last().unwrap()).unwrap();
    assert_eq!(version["same_as_before"], true);
    assert_eq!(scene.say(&["get", &packed]), body);
    let raw = scene.run(&["get", "--raw", &packed]).stdout;
    assert!(raw.starts_with(&[0x1f, 0x8b]));
    let head = scene.say(&["get", "--headers", &packed]);
    assert!(
        head.starts_with("HTTP/1.1 200") && head.contains("Content-Encoding: gzip"),
        "{head}"
    );
    assert!(!head.contains(TEXT));
    // the last visit brought no more than a 304
    let front = scene.url("/");
    let last = scene.say(&["get", "--versions", &front]);
    assert!(last.lines().any(|line| line.contains("  304  ")), "{last}");
    assert!(
        scene
            .say(&["get", "--headers", &front])
            .starts_with("HTTP/1.1 200")
    );
    assert!(scene.say(&["get", &front]).contains(TEXT));
    let picture = scene.run(&["get", &scene.url("/picture")]).stdout;
    assert_eq!(picture, b"\x89PNG\r\n\x1a\n\0\0\x1b[2J");

    let changing = scene.url("/changing");
    let first = &version_times(scene, "/changing")[0];
    let old = scene.say(&["get", "--at", first, &changing]);
    assert_ne!(old, scene.say(&["get", &changing]));
    let early = scene.run(&["get", "--at", "2001-01-01", &changing]);
    assert_eq!(early.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&early.stderr).contains(first));
    assert_eq!(
        scene.run(&["get", &scene.url("/dead")]).status.code(),
        Some(1)
    );
    // a terminal gets nothing that it would obey
    if let Some(shown) = strange::on_a_terminal(scene, &["get", &scene.url("/shouting")]) {
        assert!(
            shown.contains(TEXT) && !shown.contains(['\x1b', '\x07']),
            "{shown:?}"
        );
        let refused = strange::on_a_terminal(scene, &["get", &scene.url("/picture")]).unwrap();
        assert!(
            refused.contains("redirect it") && !refused.contains("PNG"),
            "{refused:?}"
        );
    }
}

fn exports(scene: &Scene) {
    let file = scene.directory.path().join("pages.csv");
    assert_eq!(
        scene.say(&["export", "--format", "csv", "--out", text(&file)]),
        ""
    );
    let rows = std::fs::read_to_string(&file).unwrap();
    assert_eq!(rows.lines().count(), 12);
    assert!(rows.starts_with("url,host,state,status,"), "{rows}");
    let excluded = rows.lines().find(|row| row.contains("/private/x")).unwrap();
    assert!(excluded.contains(",excluded,,"), "{excluded}");
    let urls = scene.say(&["export", "--format", "urls", "--host", OTHER]);
    assert_eq!(urls, format!("http://{OTHER}:{}/\n", scene.running.port));
    // nothing half written, nothing overwritten
    let output = scene.run(&["export", "--format", "csv", "--out", "/nowhere/pages.csv"]);
    assert_eq!(output.status.code(), Some(1));
    let archive = scene.data().join("archive/evercrawl-00001.warc.gz");
    let output = scene.run(&["export", "--format", "warc", "--out", text(&archive)]);
    assert_eq!(output.status.code(), Some(2));
}

/// What is exported for `plan` is what `why` says of each page.
fn exported_rates(scene: &Scene) {
    let rows = json_lines(&scene.say(&["export", "--what", "rates", "--format", "jsonl"]));
    assert_eq!(rows.len(), 9, "{rows:?}");
    for row in &rows {
        let why = json(&scene.say(&["why", "--json", row["page"].as_str().unwrap()]));
        let interval = &why["changes_per_day_interval"];
        assert_eq!(row["change_rate"], why["changes_per_day"], "{row}");
        assert_eq!((&row["low"], &row["high"]), (&interval[0], &interval[1]));
    }
    let rate = |row: &Value| row["change_rate"].as_f64().unwrap();
    let fastest = rows.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let fastest = fastest.unwrap()["page"].as_str().unwrap();
    assert!(fastest.ends_with("/changing"), "{fastest}");
}

fn archive(scene: &Scene) {
    let whole = scene.say(&["archive", "verify"]);
    assert!(whole.contains("0 damaged"), "{whole}");
    let file = scene.data().join("archive/evercrawl-00001.warc.gz");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 8] {
        *byte ^= 0xff;
    }
    std::fs::write(&file, bytes).unwrap();
    let output = scene.run(&["archive", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(
        words.contains("evercrawl-00001.warc.gz at byte "),
        "{words}"
    );
    let output = scene.run(&["archive", "verify", "--json"]);
    let report = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(report["flaws"].as_array().unwrap().len(), 1);
    // what is whole goes out, what is not is said
    let copy = scene.directory.path().join("copy.warc.gz");
    let output = scene.run(&["export", "--format", "warc", "--out", text(&copy)]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 damaged"));
    let copied = storage::archive::Records::open(&copy).unwrap();
    let copied: Vec<_> = copied.collect::<Result<_, _>>().unwrap();
    assert_eq!(copied.len() as u64, report["records"].as_u64().unwrap());
}

#[test]
fn while_it_runs() {
    let scene = Scene::open();
    let crawl = scene.crawl();
    scene.wait_for(&["changes"], "/changing");
    let mut follower = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    follower.args(["changes", "--follow", "--since", "2100-01-01"]);
    let silent = follower
        .args(["-c", text(&scene.config())])
        .spawn()
        .unwrap();
    let silent = Process(silent);
    let mut follower = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args([
            "changes",
            "--follow",
            "--minor",
            "-c",
            text(&scene.config()),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut follower = Process(follower);
    let (sender, feed) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        // ends, and closes the pipe, when nobody wants more
        lines
            .map_while(Result::ok)
            .all(|line| sender.send(line).is_ok())
    });
    let started = json(&scene.say(&["status", "--json"]));
    assert_eq!(started["running"], true);
    // what happens after it was started arrives too
    let mut changed = 0;
    while changed < 5 {
        let line = feed
            .recv_timeout(Duration::from_secs(30))
            .expect("a change");
        changed += u32::from(json(&line)["kind"] == "changed");
    }
    let status = json(&scene.say(&["status", "--json"]));
    assert!(status["seconds"].as_f64() > started["seconds"].as_f64());
    assert!(status["revisit_budget"].as_f64().unwrap() > 0.0);
    assert!(scene.say(&["status"]).contains("running for"));

    scene.wait_for(&["why", "--json", &scene.url("/changing")], "\"due\":\"20");
    let changing = json(&scene.say(&["why", "--json", &scene.url("/changing")]));
    assert_eq!(changing["running"], true);
    assert!(
        !changing["waits_for"]
            .as_str()
            .unwrap()
            .contains("none is running")
    );
    let hosts = json_lines(&scene.say(&["hosts", "--json"]));
    assert_eq!(hosts[0]["address"], "127.77.0.1");
    for _ in 0..5 {
        assert!(scene.say(&["archive", "verify"]).contains("0 damaged"));
    }
    assert!(
        scene
            .say(&["get", &scene.url("/changing")])
            .contains("News")
    );
    assert_eq!(silent.interrupt(), Some(0));
    // whoever read the feed has seen enough
    drop(feed);
    assert!(!reading.join().unwrap());
    let code = follower.0.wait().unwrap().code();
    assert_eq!(code, Some(0));
    while_it_is_silent(&scene, &crawl);
    assert_eq!(crawl.interrupt(), Some(0));
}

/// A crawl that does not answer is not taken for one that does not run.
fn while_it_is_silent(scene: &Scene, crawl: &Process) {
    let silence = "running, but does not answer";
    crawl.signal("-STOP");
    let words = scene.say(&["status"]);
    crawl.signal("-CONT");
    assert!(words.contains(silence), "{words}");
    assert!(words.contains("pages      11 known"), "{words}");
    std::fs::remove_file(scene.data().join("state/robot.sock")).unwrap();
    let status = json(&scene.say(&["status", "--json"]));
    assert_eq!(
        (&status["running"], &status["silent"]),
        (&true.into(), &true.into())
    );
    let words = scene.say(&["hosts"]);
    assert!(words.contains(silence), "{words}");
    let words = scene.say(&["why", &scene.url("/changing")]);
    assert!(
        words.contains(silence) && !words.contains("none is running"),
        "{words}"
    );
    let why = json(&scene.say(&["why", "--json", &scene.url("/changing")]));
    assert_eq!(
        (&why["running"], &why["silent"]),
        (&true.into(), &true.into())
    );
    let words = scene.say(&["why", &scene.url("/private/x")]);
    assert!(words.contains("not fetched (robots)"), "{words}");
}

#[test]
fn where_there_is_no_crawl() {
    let empty = tempfile::tempdir().unwrap();
    let missing = empty.path().join("missing");
    let url = "http://example.org/";
    let commands: [&[&str]; 9] = [
        &["status"],
        &["pages"],
        &["hosts"],
        &["changes"],
        &["why", url],
        &["get", url],
        &["export", "--format", "csv"],
        &["export", "--format", "warc"],
        &["archive", "verify"],
    ];
    for directory in [empty.path(), &missing] {
        for command in commands {
            let output = evercrawl(&[command, &["--data", text(directory)]].concat());
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {message}");
            assert!(message.contains("--data names the directory"), "{message}");
            assert!(output.stdout.is_empty());
        }
    }
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
}
