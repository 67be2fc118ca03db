//! `evercrawl simulate fleet` from outside: the example, its timeline, and files that cannot be.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn fleet(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .args(["simulate", "fleet"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_example_goes_well_and_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("fleet.svg");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fleet.toml");
    let arguments = [
        example.to_str().unwrap(),
        "--json",
        "--timeline",
        svg.to_str().unwrap(),
    ];
    let output = fleet(&arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(told["requests"].as_u64().unwrap() >= 3 * told["pages"].as_u64().unwrap());
    assert!(told["moves"].as_u64().unwrap() > 0, "a robot left: {told}");
    assert!(
        told["evictions"].as_u64().unwrap() > 0,
        "a disk died: {told}"
    );
    assert!(told["freshness"].as_f64().unwrap() > 0.1, "{told}");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"));
    for name in ["Vienna 1", "Oslo 3", "Santiago 2"] {
        assert!(drawn.contains(&format!(">{name}</text>")));
    }
    let again = fleet(&arguments[..2]);
    assert_eq!(
        again.stdout, output.stdout,
        "the same seed gives the same run"
    );
}

#[test]
fn what_cannot_be_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    for (content, says) in [
        ("nonsense = 1\n", "nonsense"),
        (
            "[[place]]\nname = \"a\"\nrobots = 0\n",
            "at least one robot",
        ),
        ("visits = 0\n[[place]]\nname = \"a\"\nrobots = 1\n", "lasts"),
    ] {
        std::fs::write(&file, content).unwrap();
        let output = fleet(&[file.to_str().unwrap()]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains(says) && error.contains("bad.toml"),
            "{error}"
        );
    }
    let missing = fleet(&["/does/not/exist.toml"]);
    assert_eq!(missing.status.code(), Some(2));
}
