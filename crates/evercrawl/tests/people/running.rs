//! Installing and running it.

use super::crawling::Crawler;
use super::crawling::answers::{Answers, answer, html, missing};
use super::{command, told};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap()
}

/// Whether the program takes these arguments, whatever they name.
fn is_understood(arguments: &[&str]) {
    told(&[arguments, &["--help"]].concat());
}

#[test]
fn the_examples_are_right() {
    for name in ["mirror", "documentation", "news", "archive"] {
        let file = repository(&format!("examples/{name}.toml"));
        let file = file.to_str().unwrap();
        assert!(told(&["config", "check", file]).contains("fine"));
        // what it says of itself names it
        assert!(
            fs::read_to_string(file)
                .unwrap()
                .contains(&format!("examples/{name}.toml"))
        );
    }
    let watched = |url: &str| {
        told(&[
            "scope",
            "-c",
            repository("examples/documentation.toml").to_str().unwrap(),
            url,
        ])
    };
    assert!(watched("https://example.org/docs/latest/a").starts_with("in "));
    assert!(watched("https://example.org/docs/1.0/a").starts_with("out"));
    assert!(watched("https://example.org/changelog.html").starts_with("in "));
}

/// A site that has a bit of all that the examples are about.
fn example_site(last: u8) -> Answers {
    Answers::new(last, |path| match path {
        "/" => html(
            "<link rel=stylesheet href=/style.css><a href=/docs/>docs</a> <a href=/login>in</a>",
        ),
        "/docs/" => html(
            "<main><a href=latest/>now</a> <a href=1.0/>then</a> <a href=?sort=1>sorted</a> \
             <a href=/changelog.html>changes</a></main>",
        ),
        "/style.css" => answer("200 OK\r\nContent-Type: text/css", b"p { color: red }"),
        "/docs/latest/" | "/docs/1.0/" | "/docs/?sort=1" | "/changelog.html" | "/login" => {
            html(&format!("<main><p>The page {path}.</main>"))
        }
        _ => missing(),
    })
}

/// Each example as it stands, but for where its sites are and how long they are left alone.
#[test]
fn the_examples_crawl() {
    let names = ["docs.example.org", "news.example.org", "paper.example.com"];
    let sites = [
        "www.example.org",
        "www.example.com",
        "www.example.net",
        "example.org",
    ];
    for (last, name, fetched, left) in [
        (
            40,
            "mirror",
            &["/", "/docs/1.0/", "/style.css"][..],
            "/docs/?sort=1",
        ),
        (
            41,
            "documentation",
            &["/docs/", "/docs/latest/", "/changelog.html"],
            "/docs/1.0/",
        ),
        (42, "news", &["/", "/docs/1.0/", "/style.css"], "/login"),
        (
            43,
            "archive",
            &["/", "/docs/?sort=1", "/login", "/style.css"],
            "/nothing",
        ),
    ] {
        let server = example_site(last);
        let mut text = read(&format!("examples/{name}.toml"));
        let mut hosts = toml::Table::new();
        for site in names.iter().chain(&sites) {
            hosts.insert((*site).into(), vec![server.address.to_string()].into());
            for written in [(*site).to_owned(), site.replace('.', "\\\\.")] {
                let here = format!("http://{written}:{}/", server.port);
                text = text.replace(&format!("https://{written}/"), &here);
            }
        }
        let mut table: toml::Table = text.parse().unwrap();
        let mut set = |section: &str, key: &str, value: toml::Value| {
            let section = table.entry(section).or_insert(toml::Table::new().into());
            section.as_table_mut().unwrap().insert(key.into(), value);
        };
        set("fetch", "hosts", hosts.into());
        set("fetch", "allow_networks", vec!["127.0.0.0/8"].into());
        let interval = "rule = \"fixed\"\nseconds = 0.01"
            .parse::<toml::Table>()
            .unwrap();
        set("politeness", "interval", interval.into());
        // that of the example may be taken
        set("metrics", "listen", "127.0.0.1:0".into());
        let mut crawler = Crawler::new(&[]);
        let file = crawler.directory.path().join("example.toml");
        fs::write(&file, table.to_string()).unwrap();
        let crawl = command(&["crawl", "--once", "-c", file.to_str().unwrap()]);
        crawler.start_as(crawl).succeeds_within(60);
        let asked = server.asked();
        for path in fetched {
            assert!(
                asked.iter().any(|asked| asked == path),
                "{name}: {path} in {asked:?}"
            );
        }
        assert!(asked.iter().all(|asked| asked != left), "{name}: {asked:?}");
    }
}

/// A terminal that is closed ends a crawl as Ctrl-C does, unless `nohup` says otherwise.
#[test]
fn nohup_keeps_a_crawl_running() {
    for (last, shield, goes_on) in [(45, "trap '' HUP", true), (46, ":", false)] {
        let server = example_site(last);
        let mut crawler = Crawler::new(&[server.url("/")]);
        let file = crawler.config();
        let mut shell = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_evercrawl");
        let script = format!("{shield}; exec {program} crawl -c {}", file.display());
        shell.args(["-c", &script]);
        let mut crawl = crawler.start_as(shell);
        let began = Instant::now();
        while server.asked().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(50));
        }
        let id = crawl.id().to_string();
        let sent = Command::new("kill").args(["-HUP", &id]).status();
        assert!(sent.unwrap().success());
        if goes_on {
            std::thread::sleep(Duration::from_secs(2));
            assert!(!crawl.is_over());
            crawl.interrupted_after(0.0);
        } else {
            crawl.succeeds_within(5);
        }
    }
}

/// As the shells themselves take it, where they are.
#[test]
fn shells_complete_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, file, asked) in [
        (
            "bash",
            "evercrawl.bash",
            "source FILE && COMP_WORDS=(evercrawl sco) COMP_CWORD=1 && \
             _evercrawl evercrawl sco evercrawl && echo ${COMPREPLY[@]}",
        ),
        (
            "zsh",
            "_evercrawl",
            // what answers is known to zsh by the file's own first line
            "fpath=(FOLDER $fpath) && autoload -Uz compinit && compinit -u -d FOLDER/dump && \
             [[ $_comps[evercrawl] == _evercrawl ]] && autoload -U +X _evercrawl && echo scope",
        ),
        (
            "fish",
            "evercrawl.fish",
            "source FILE; complete -C 'evercrawl sco' | string split -f1 \\t",
        ),
    ] {
        let script = told(&["completions", shell]);
        for word in ["crawl", "allow-private", "scope"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
        let file = folder.path().join(file);
        fs::write(&file, script).unwrap();
        let asked = asked
            .replace("FILE", file.to_str().unwrap())
            .replace("FOLDER", folder.path().to_str().unwrap());
        match Command::new(shell).args(["-c", &asked]).output() {
            Ok(output) => assert_eq!(
                String::from_utf8_lossy(&output.stdout).trim(),
                "scope",
                "{shell}: {output:?}"
            ),
            Err(_) => eprintln!("skipped: there is no {shell}"),
        }
    }
}

/// Which `man` shows without a complaint, where it is.
#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("man1");
    told(&["man", directory.to_str().unwrap()]);
    for page in [
        "evercrawl.1",
        "evercrawl-crawl.1",
        "evercrawl-scope.1",
        "evercrawl-config-check.1",
    ] {
        let text = fs::read_to_string(directory.join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
    for page in fs::read_dir(directory).unwrap() {
        let page = page.unwrap().path();
        let shown = Command::new("man")
            .args(["--warnings", "-P", "cat", "-l"])
            .arg(&page)
            .env("LC_ALL", "C.UTF-8")
            .output();
        let Ok(output) = shown else {
            eprintln!("skipped: there is no man");
            return;
        };
        let page = page.display();
        let said = String::from_utf8_lossy(&output.stderr);
        // a long word that fits no line is no fault
        let is_wrong = |line: &&str| !line.contains("cannot adjust") && !line.contains("break");
        let wrong: Vec<&str> = said.lines().filter(is_wrong).collect();
        let wrong = wrong.join("");
        assert!(
            output.status.success() && wrong.trim().is_empty(),
            "{page}: {said}"
        );
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("SYNOPSIS"), "{page}: {shown}");
    }
}

/// What a unit starts is what the program takes; and systemd's own judge, where there is one.
#[test]
fn the_units_are_right() {
    for (unit, instance) in [
        ("evercrawl.service", "evercrawl.service"),
        (
            "evercrawl-robot@.service",
            "evercrawl-robot@robot-1.service",
        ),
    ] {
        let text = read(&format!("packaging/{unit}"));
        assert!(text.contains("KillSignal=SIGINT"), "{unit}");
        let started = text
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart="));
        let words: Vec<&str> = started.unwrap().split(' ').collect();
        assert_eq!(words[0], "/usr/local/bin/evercrawl");
        is_understood(&words[1..]);
        let folder = tempfile::tempdir().unwrap();
        // the program need not be installed
        let text = text.replace("/usr/local/bin/evercrawl", env!("CARGO_BIN_EXE_evercrawl"));
        fs::write(folder.path().join(unit), text).unwrap();
        let Ok(output) = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(folder.path().join(instance))
            .output()
        else {
            eprintln!("skipped: there is no systemd-analyze to judge the unit");
            continue;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("evercrawl"), "{unit}: {said}");
    }
}

/// An image cannot be built in a test; that all is there which the file names can be told.
#[test]
fn the_dockerfile_names_what_there_is() {
    let text = read("packaging/Dockerfile");
    let copied = text.lines().filter_map(|line| line.strip_prefix("COPY "));
    for words in copied.map(|line| line.split(' ').collect::<Vec<_>>()) {
        match words[..] {
            ["--from=build", file, _] => {
                let made = format!("cp target/dist/evercrawl {file}");
                assert!(text.contains(&made), "{file} is not made");
            }
            [file, _] => assert!(repository(file).exists(), "{file}"),
            _ => panic!("COPY {words:?}"),
        }
    }
    let ignored = read(".dockerignore");
    for needed in ["Cargo.toml", "Cargo.lock", "crates"] {
        assert!(repository(needed).exists());
        assert!(ignored.lines().all(|line| line != needed), "{needed}");
    }
    assert!(text.contains("--profile dist -p evercrawl"));
    assert!(read("Cargo.toml").contains("[profile.dist]"));
    assert!(text.contains("ENTRYPOINT [\"evercrawl\"]"));
    // what it says that one can do
    let documents = [text, read("docs/running.md")];
    let run = documents.iter().flat_map(|text| text.lines());
    let run = run.filter_map(|line| {
        line.trim_start_matches(['#', ' '])
            .strip_prefix("docker run ")
    });
    let mut seen = 0;
    for line in run {
        let (_, arguments) = line.split_once(" evercrawl ").unwrap();
        is_understood(&arguments.split(' ').collect::<Vec<_>>());
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// The commands of a fleet in containers.
#[test]
fn the_compose_file_names_commands_that_there_are() {
    let text = read("examples/fleet-compose.yaml");
    let commands = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("command: "));
    let mut seen = 0;
    for line in commands {
        let words: Vec<String> = serde_json::from_str(line).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let scripts = match words[..] {
            ["fleet", ..] => vec![words],
            [script] => (script.split(['&', ';', '{', '}']).map(str::trim))
                .filter_map(|command| command.strip_prefix("evercrawl "))
                .map(|command| command.split(' ').collect())
                .collect(),
            _ => Vec::new(),
        };
        for arguments in scripts {
            is_understood(&arguments);
            seen += 1;
        }
    }
    assert_eq!(seen, 6);
}
