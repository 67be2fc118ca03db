//! `evercrawl diff --files` judges a sequence of files.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn diff(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
    command.arg("diff").args(arguments).current_dir(directory);
    command.output().unwrap()
}

#[test]
fn a_sequence_of_files_is_judged() {
    let directory = tempfile::tempdir().unwrap();
    let page = |price: &str, menu: &str| {
        let text = "A pot that keeps what is in it warm for as long as you like to eat.";
        format!("<nav>{menu}</nav><main><h1>Pot</h1><p>{price}</p><p>{text}</p></main>")
    };
    let files = [
        ("1.html", page("19,99 EUR", "Home")),
        ("2.html", page("17,99 EUR", "Home")),
        ("3.html", page("17,99 EUR", "Start")),
        ("4.html", page("17,99 EUR", "Start")),
        ("5.html", page("<b>17,99</b> EUR", "Start")),
    ];
    for (name, page) in &files {
        fs::write(directory.path().join(name), page).unwrap();
    }
    let names = files.each_ref().map(|file| file.0);
    let told = diff(
        directory.path(),
        &[&["--json", "--files"], &names[..]].concat(),
    );
    assert!(told.status.success(), "{told:?}");
    let steps: Vec<serde_json::Value> = (String::from_utf8(told.stdout).unwrap().lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let verdicts: Vec<_> = steps
        .iter()
        .map(|step| step["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["changed", "minor", "same", "minor"]);
    assert_eq!(steps[0]["removed"][0], "19,99 EUR");
    assert_eq!(steps[0]["added"][0], "17,99 EUR");
    assert_eq!(steps[1]["reason"], "around");
    assert_eq!(steps[3]["reason"], "markup");

    let told = diff(directory.path(), &["--files", "1.html", "2.html"]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(text, "2.html: changed\n  - 19,99 EUR\n  + 17,99 EUR\n");

    let rules = "[[watch]]\npages = 'shop'\nignore_text = ['[0-9,]+ EUR']\n";
    fs::write(directory.path().join("crawl.toml"), rules).unwrap();
    let url = [
        "-c",
        "crawl.toml",
        "--url",
        "https://shop.example/",
        "--files",
    ];
    let told = diff(
        directory.path(),
        &[&url[..], &["1.html", "2.html"]].concat(),
    );
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(text.starts_with("2.html: minor"), "{text}");

    let told = diff(directory.path(), &["--files", "1.html", "absent.html"]);
    assert_eq!(told.status.code(), Some(2));
    assert!(
        String::from_utf8(told.stderr)
            .unwrap()
            .contains("absent.html")
    );
}
