//! Installing and running it.

use super::{command, told};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
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

#[test]
fn shells_complete_what_there_is() {
    for shell in ["bash", "zsh", "fish"] {
        let script = told(&["completions", shell]);
        for word in ["crawl", "allow-private", "scope"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("evercrawl.bash");
    fs::write(&file, told(&["completions", "bash"])).unwrap();
    // as bash itself takes it
    let asked = format!(
        "source {} && COMP_WORDS=(evercrawl sco) COMP_CWORD=1 && _evercrawl evercrawl sco evercrawl && echo ${{COMPREPLY[@]}}",
        file.display()
    );
    match Command::new("bash").args(["-c", &asked]).output() {
        Ok(output) => assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            "scope",
            "{output:?}"
        ),
        Err(_) => eprintln!("skipped: there is no bash"),
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("man1");
    assert!(
        command(&["man", directory.to_str().unwrap()])
            .output()
            .unwrap()
            .status
            .success()
    );
    for page in [
        "evercrawl.1",
        "evercrawl-crawl.1",
        "evercrawl-scope.1",
        "evercrawl-config-check.1",
    ] {
        let text = fs::read_to_string(directory.join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
}

/// systemd's own judge, where there is one.
#[test]
fn the_unit_is_right() {
    let unit = repository("packaging/evercrawl.service");
    let text = fs::read_to_string(&unit).unwrap();
    assert!(text.contains("KillSignal=SIGINT") && text.contains("evercrawl crawl --json -c"));
    let Ok(output) = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&unit)
        .output()
    else {
        eprintln!("skipped: there is no systemd-analyze to judge the unit");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    // the program itself need not be installed
    let wrong = |line: &&str| {
        line.contains("evercrawl.service")
            && !line.contains("is not executable")
            && !line.contains("'man ")
    };
    assert_eq!(said.lines().filter(wrong).count(), 0, "{said}");
}
