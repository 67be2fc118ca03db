//! `evercrawl demo` from outside: a real crawl on loopback, judged by the server's own record.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .arg("demo")
        .args(arguments)
        .output()
        .unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key}"))
}

/// Rates unknown at the start: near the bound after learning, above uniform, honest, polite.
#[test]
fn keeps_the_demo_web_fresh_politely_and_knows_how_fresh_it_is() {
    let output = demo(&["--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let truth = number(&json, "true_freshness");
    assert_eq!(json["politeness_violations"], 0, "{json:#}");
    assert!(truth >= 0.9 * number(&json, "bound_polite"), "{json:#}");
    assert!(truth > number(&json, "uniform"), "{json:#}");
    assert!(
        (truth - number(&json, "estimated_freshness")).abs() <= 0.05,
        "{json:#}"
    );
    assert_eq!(json["partial"], Value::Bool(false));
}

#[test]
fn times_out_of_range_are_bad_input() {
    for seconds in ["0", "-3", "3601", "many"] {
        assert_eq!(
            demo(&["--seconds", seconds]).status.code(),
            Some(2),
            "{seconds}"
        );
    }
}

/// Ctrl-C ends it with the figures so far.
#[cfg(target_os = "linux")]
#[test]
fn an_interruption_on_a_terminal_leaves_a_summary() {
    let program = env!("CARGO_BIN_EXE_evercrawl");
    // util-linux `script` lends a terminal; its child's exit code is passed on
    let command = format!("timeout --foreground -s INT 4 {program} demo");
    let script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = script else {
        eprintln!("skipped: there is no `script` to lend a terminal");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the robot's own estimate"), "{text}");
    assert!(text.contains('█'), "{text}");
    assert!(
        text.contains("stopped early") && text.contains("interrupted"),
        "{text}"
    );
}
