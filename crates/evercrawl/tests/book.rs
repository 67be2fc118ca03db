//! The book's guides, run as a reader would: every console block of a page in order, in an empty
//! directory, with this program. What they print must be what the page shows, but for numbers.
//!
//! To write the outputs anew: `EVERCRAWL_WRITE_BOOK=1 cargo test -p evercrawl --test book`.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The port that the pages name; the test takes a free one.
const PORT: &str = "8000";

/// A command of a page and what the page says that it prints. Comments such as `<!-- $ mkdir site -->` are run
/// too: they make what the page takes for granted, and what they print does not matter.
struct Step {
    command: String,
    output: String,
    hidden: bool,
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The page cut into text and steps, in order.
enum Piece {
    Text(String),
    Step(Step),
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        let hidden = line.strip_prefix("<!-- $ ");
        let hidden = hidden.and_then(|line| line.strip_suffix(" -->"));
        let shown = line.strip_prefix("$ ").filter(|_| is_console);
        if let Some(command) = hidden.or(shown) {
            pieces.push(Piece::Step(Step {
                command: command.to_owned(),
                output: String::new(),
                hidden: hidden.is_some(),
            }));
            continue;
        }
        match pieces.last_mut() {
            Some(Piece::Step(step)) if is_console && !step.hidden => {
                // what a shell asks for with its second prompt
                match line.strip_prefix("> ").filter(|_| step.output.is_empty()) {
                    Some(more) => write!(step.command, "\n{more}").expect("text"),
                    None => writeln!(step.output, "{line}").expect("text"),
                }
            }
            Some(Piece::Text(text)) => writeln!(text, "{line}").expect("text"),
            _ => pieces.push(Piece::Text(format!("{line}\n"))),
        }
    }
    pieces
}

/// Runs the commands in one shell and gives what each printed, on both streams.
fn run(commands: &[&str]) -> Vec<String> {
    let place = tempfile::tempdir().expect("a directory");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = port.expect("a free port").port().to_string();
    let mut script = String::from("trap 'kill $(jobs -p) 2>/dev/null' EXIT\n");
    for command in commands {
        // whoever types is slower than a server that starts
        let wait = format!(
            "for i in $(seq 200); do (: < /dev/tcp/127.0.0.1/{PORT}) 2>/dev/null && break; sleep 0.05; done"
        );
        let wait = if command.ends_with('&') { &*wait } else { ":" };
        writeln!(script, "printf '\\036'\n{{\n{command}\n}} 2>&1\n{wait}").expect("text");
    }
    let script = script.replace(PORT, &port);
    let binary = Path::new(env!("CARGO_BIN_EXE_evercrawl")).parent();
    let path = std::env::var("PATH").expect("PATH");
    let result = Command::new("timeout")
        .args(["--kill-after=5", "150", "bash", "-c", &script])
        .current_dir(place.path())
        .env("EXAMPLES", docs().join("../examples"))
        .env(
            "PATH",
            format!("{}:{path}", binary.expect("a folder").display()),
        )
        .output()
        .expect("bash");
    let printed = String::from_utf8_lossy(&result.stdout).replace(&port, PORT);
    let place = place.path().display().to_string();
    let printed = printed.replace(&place, "");
    printed.split('\u{1e}').skip(1).map(str::to_owned).collect()
}

/// Without numbers, digests and how wide columns are; of the lines that come every ten seconds, the last.
fn outline(text: &str) -> String {
    let mut outline = String::new();
    let is_progress = |line: &str| line.contains(" known, ") && line.contains(" requests (");
    let lines: Vec<_> = text.lines().collect();
    let is_followed = |i: usize| lines.get(i + 1).is_some_and(|next| is_progress(next));
    let kept = lines
        .iter()
        .enumerate()
        .filter(|(i, line)| !(is_progress(line) && is_followed(*i)));
    let words = kept.flat_map(|(_, line)| line.split_whitespace().chain(["\n"]));
    for word in words {
        let word = if word.starts_with("sha1:") {
            "sha1:"
        } else {
            word
        };
        let mut last = ' ';
        for letter in word.chars() {
            let letter = if letter.is_ascii_digit() || letter == '.' && last == '0' {
                '0'
            } else {
                letter
            };
            if !(letter == '0' && last == '0') {
                outline.push(letter);
            }
            last = letter;
        }
        outline.push(' ');
    }
    outline
}

fn check(name: &str) {
    let file = docs().join(name);
    let page = std::fs::read_to_string(&file).expect("a page");
    let mut pieces = pieces(&page);
    let steps: Vec<_> = pieces
        .iter_mut()
        .filter_map(|piece| match piece {
            Piece::Step(step) => Some(step),
            Piece::Text(_) => None,
        })
        .collect();
    let commands: Vec<_> = steps.iter().map(|step| &*step.command).collect();
    assert!(!commands.is_empty(), "{name}: nothing to run");
    let printed = run(&commands);
    assert_eq!(printed.len(), commands.len(), "{name}: cut short");
    let mut wrong = String::new();
    for (step, printed) in steps.into_iter().zip(printed) {
        if !step.hidden && outline(&step.output) != outline(&printed) {
            writeln!(
                wrong,
                "$ {}\n{}\n-- the page has:\n{}",
                step.command, printed, step.output
            )
            .expect("text");
            step.output = printed;
        }
    }
    if std::env::var_os("EVERCRAWL_WRITE_BOOK").is_some() && !wrong.is_empty() {
        let text: String = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Step(step) if step.hidden => format!("<!-- $ {} -->\n", step.command),
                Piece::Step(step) => {
                    format!("$ {}\n{}", step.command.replace('\n', "\n> "), step.output)
                }
            })
            .collect();
        std::fs::write(&file, text).expect("written");
        return;
    }
    assert!(
        wrong.is_empty(),
        "docs/{name} shows something else than the program:\n{wrong}"
    );
}

#[test]
fn crawling() {
    check("crawl.md");
}

#[test]
fn differences() {
    check("watching.md");
}

#[test]
fn a_partition() {
    check("partition.md");
}

#[test]
fn a_plan() {
    check("plan.md");
}

#[test]
fn the_readme() {
    check("../README.md");
}

#[test]
fn the_first_crawl() {
    check("start.md");
}

#[test]
fn a_mirror() {
    check("guide/mirror.md");
}

#[test]
fn watching() {
    check("guide/watch.md");
}

#[test]
fn an_archive() {
    check("guide/archive.md");
}

#[test]
fn an_index() {
    check("guide/index-fresh.md");
}

#[test]
fn research() {
    check("guide/research.md");
}
