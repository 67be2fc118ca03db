//! Robots and servers that are there and say nothing: whoever asks is told so, soon.

use crate::{Nats, Robots, configuration, done, fleet};
use simulation::web::{Clock, Server, Web, WebSpec};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROBOTS: usize = 5;
/// An answer is awaited for two seconds. One robot after the other would take ten.
const SOON: Duration = Duration::from_secs(8);
/// Connecting to a server that says nothing.
const IN_TIME: Duration = Duration::from_secs(30);

fn stop(process: &Child) {
    let pid = process.id().to_string();
    let stopped = Command::new("kill").args(["-STOP", &pid]).status();
    assert!(stopped.unwrap().success());
}

#[test]
fn whoever_says_nothing_delays_nobody() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let Some(nats) = Nats::start(directory) else {
        return;
    };
    let web = Arc::new(Web::new(&WebSpec::plain()).unwrap());
    let running = Server::start(web.clone(), Clock::starting_now(1.0)).unwrap();
    let text = configuration(&web, &running, "");
    std::fs::write(directory.join("crawl.toml"), text).unwrap();
    let init = ["init", "--nats", &nats.address, "--name", "web"];
    done(
        directory,
        &[&init[..], &["-c", "crawl.toml", "--storage", "536870912"]].concat(),
    );
    let join = |name: String| {
        let robot = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
            .args(["fleet", "join", "--as", &name, "--data", &name])
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        (name, robot.unwrap())
    };
    let robots = Robots((1..=ROBOTS).map(|n| join(format!("robot-{n}"))).collect());
    let states = || {
        let text = done(directory, &["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&text).unwrap();
        let robots = status["robots"].as_array().unwrap().clone();
        let states = robots.iter().map(|robot| robot["state"].to_string());
        states.collect::<Vec<_>>()
    };
    let began = Instant::now();
    while states()
        .iter()
        .filter(|state| *state == "\"at work\"")
        .count()
        < ROBOTS
    {
        assert!(began.elapsed() < crate::LIMIT, "{:?}", states());
        std::thread::sleep(Duration::from_millis(200));
    }

    robots.0.iter().for_each(|(_, robot)| stop(robot));
    let asked = Instant::now();
    assert_eq!(states(), ["\"silent\""; ROBOTS]);
    let took = asked.elapsed();
    assert!(took < SOON, "{took:?} for {ROBOTS} silent robots");

    stop(&nats.child);
    let asked = Instant::now();
    let output = fleet(directory, &["status"]);
    let took = asked.elapsed();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("no connection to NATS"), "{errors}");
    assert!(took < IN_TIME, "{took:?} for a silent server");
}
