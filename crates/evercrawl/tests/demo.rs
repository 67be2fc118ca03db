//! `evercrawl demo` from outside: honest words, sound figures, determinism, interruption.

use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .arg("demo")
        .args(arguments)
        .output()
        .unwrap()
}

fn success(output: &Output) -> &str {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    std::str::from_utf8(&output.stdout).unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key}"))
}

#[test]
fn says_what_is_simulated_and_does_not_wait_without_a_terminal() {
    let clock = Instant::now();
    let output = demo(&[]);
    assert!(clock.elapsed() < Duration::from_secs(10));
    let text = success(&output);
    let first: Vec<&str> = text.lines().take(3).collect();
    assert!(first.join(" ").contains("is not part of this version"));
    assert!(!text.contains('\x1b'));
    // a line a week, the last day, and a summary
    for day in ["     7 ", "    14 ", "   119 ", "   120 "] {
        assert!(text.lines().any(|line| line.starts_with(day)), "{day}");
    }
    assert!(text.contains("After 120 simulated days"));
}

#[test]
fn learns_to_do_better_than_uniform_within_budget() {
    for seed in ["1", "2", "3"] {
        let output = demo(&["--json", "--seed", seed]);
        let json: Value = serde_json::from_str(success(&output)).unwrap();
        assert_eq!(json["simulated"], Value::Bool(true));
        assert_eq!(json["partial"], Value::Bool(false));
        let (own, uniform) = (&json["evercrawl"], &json["uniform"]);
        let lately = number(own, "freshness_last_7_days");
        assert!(lately > number(uniform, "freshness_last_7_days") + 0.02);
        assert!(lately > number(&json, "bound_polite") - 0.05);
        for crawler in [own, uniform] {
            let visits = number(crawler, "visits");
            let allowed = 120.0 * number(&json, "budget_per_day");
            assert!((0.98..=1.001).contains(&(visits / allowed)), "{visits}");
        }
    }
}

#[test]
fn the_seed_decides_everything() {
    let text = |seed| success(&demo(&["--days", "30", "--seed", seed])).to_owned();
    assert_eq!(text("5"), text("5"));
    assert_ne!(text("5"), text("6"));
}

#[test]
fn days_out_of_range_are_bad_input() {
    for days in ["0", "-3", "3651", "many"] {
        assert_eq!(demo(&["--days", days]).status.code(), Some(2), "{days}");
    }
    let short = demo(&["--days", "1"]);
    assert!(success(&short).contains("After 1 simulated day and"));
}

/// On a terminal it takes its time, and Ctrl-C ends it with the figures so far.
#[cfg(target_os = "linux")]
#[test]
fn an_interruption_on_a_terminal_leaves_a_summary() {
    let program = env!("CARGO_BIN_EXE_evercrawl");
    // util-linux `script` lends a terminal; its child's exit code is passed on
    let command = format!("timeout --foreground -s INT 1.5 {program} demo");
    let script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = script else {
        eprintln!("skipped: there is no `script` to lend a terminal");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("freshness of the last 7 days"), "{text}");
    assert!(text.contains('█'), "{text}");
    let days = text.split("After ").nth(1).expect("a summary");
    let days: f64 = days.split(' ').next().unwrap().parse().unwrap();
    assert!(days > 0.0 && days < 60.0, "{days}");
    assert!(text.contains("interrupted"), "{text}");
}
