//! Probes and routes for real, in a small Internet of network namespaces.
//!
//! ```text
//! lisbon ─20─ r1 ─40─ r2 ─50─ r3 ─30─ tokyo
//!              │      16       └──24── far
//!              └─200── near           (the direct line from r1 is slower and not used)
//! ```

mod mini_internet;

use mini_internet::MiniInternet;
use serde_json::Value;
use std::path::Path;

const LINKS: [&str; 7] = [
    "lisbon-r1:20",
    "r1-r2:40",
    "r2-r3:50",
    "r3-tokyo:30",
    "r2-near:16",
    "r3-far:24",
    "r1-near:200",
];
/// RTTs that follow from the links.
const FAR_FROM_LISBON: f64 = 2.0 * (20.0 + 40.0 + 50.0 + 24.0);
const NEAR_FROM_LISBON: f64 = 2.0 * (20.0 + 40.0 + 16.0);
const NEAR_FROM_TOKYO: f64 = 2.0 * (30.0 + 50.0 + 16.0);
const FAR_FROM_TOKYO: f64 = 2.0 * (30.0 + 24.0);
const EVERCRAWL: &str = env!("CARGO_BIN_EXE_evercrawl");

fn netmap(internet: &MiniInternet, at: &str, db: &Path, arguments: &[&str]) -> Value {
    let db = db.to_str().unwrap();
    let common = [
        "--db",
        db,
        "--source",
        at,
        "--allow-private",
        "--rate",
        "100/s",
        "--json",
    ];
    let arguments = [&["netmap"], arguments, &common].concat();
    let output = internet.run(at, EVERCRAWL, &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn near(found: &Value, built: f64, what: &str) {
    let found = found
        .as_f64()
        .unwrap_or_else(|| panic!("{what}: no figure"));
    let error = (found / built - 1.0).abs();
    assert!(
        error <= 0.15,
        "{what}: {found} ms measured, {built} ms built"
    );
}

#[test]
fn measured_medians_and_routes_are_those_that_were_built() {
    let Some(internet) = MiniInternet::start(&LINKS) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("map.db");
    let v4 = |name: &str| internet.node(name).v4.to_string();
    let v6 = |name: &str| internet.node(name).v6.to_string();

    // RTTs by every method, both families
    for (method, addresses) in [
        ("icmp", [v4("far"), v4("near")]),
        ("icmp", [v6("far"), v6("near")]),
        ("tcp", [v4("far"), v4("near")]),
        ("udp", [v6("far"), v6("near")]),
    ] {
        let [far, near_by] = addresses.each_ref().map(String::as_str);
        let again = [
            "probe",
            far,
            near_by,
            "--method",
            method,
            "--again-after",
            "0s",
        ];
        let found = netmap(&internet, "lisbon", &db, &again);
        let median = |k: usize| &found["results"][k]["median_ms"];
        near(median(0), FAR_FROM_LISBON, &format!("far by {method}"));
        near(median(1), NEAR_FROM_LISBON, &format!("near by {method}"));
    }

    // routes by every method, both families
    for method in ["udp", "icmp", "tcp"] {
        for (target, routers) in [
            (v4("far"), ["r1", "r2", "r3", "far"].map(v4)),
            (v6("far"), ["r1", "r2", "r3", "far"].map(v6)),
        ] {
            let trace = ["trace", &target, "--method", method, "--again-after", "0s"];
            let found = netmap(&internet, "lisbon", &db, &trace);
            let route = &found["results"][0];
            assert_eq!(route["reached"], true, "{method} to {target}: {route}");
            let hops = route["hops"].as_array().unwrap();
            let hops: Vec<&str> = hops.iter().filter_map(|h| h["address"].as_str()).collect();
            assert_eq!(hops, routers, "{method} to {target}");
        }
    }

    // an unmeasured pair through shared routers: tokyo has asked the far host only
    netmap(
        &internet,
        "lisbon",
        &db,
        &["trace", &v4("near"), "--again-after", "0s"],
    );
    netmap(&internet, "tokyo", &db, &["probe", &v4("far")]);
    netmap(&internet, "tokyo", &db, &["trace", &v4("far")]);
    let ask = [
        "netmap",
        "rtt",
        "tokyo",
        &v4("near"),
        "--json",
        "--db",
        db.to_str().unwrap(),
    ];
    let output = internet.run("tokyo", EVERCRAWL, &ask);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["measured_ms"], Value::Null);
    near(
        &found["shortest_path_ms"],
        NEAR_FROM_TOKYO,
        "unmeasured pair",
    );

    // never twice within the time
    let found = netmap(&internet, "tokyo", &db, &["probe", &v4("far")]);
    assert_eq!(found["results"][0]["reason"], "probed recently, left alone");
    let sql = "SELECT count(*) AS n FROM end_to_end e JOIN sources s ON s.id = e.source
               WHERE s.name = 'tokyo'";
    let ask = ["netmap", "sql", sql, "--json", "--db", db.to_str().unwrap()];
    let output = internet.run("tokyo", EVERCRAWL, &ask);
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows[0]["n"], "1");
    let ask = [
        "netmap",
        "rtt",
        "tokyo",
        &v4("far"),
        "--json",
        "--db",
        db.to_str().unwrap(),
    ];
    let output = internet.run("tokyo", EVERCRAWL, &ask);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    near(&found["measured_ms"], FAR_FROM_TOKYO, "measured pair");
    divided_by_what_was_measured(&internet, folder.path(), [&v4("near"), &v4("far")]);
}

/// Each robot gets the host that is nearer to it, by times measured and estimated.
fn divided_by_what_was_measured(internet: &MiniInternet, folder: &Path, hosts: [&str; 2]) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let run = |arguments: &[&str]| {
        let output = internet.run("lisbon", EVERCRAWL, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
    };
    let (db, all, rtt) = (path("map.db"), path("all.csv"), path("rtt.csv"));
    run(&["netmap", "export", "--db", &db, "--rtt", &all, "--complete"]);
    let [near_by, far] = hosts;
    let rows = std::fs::read_to_string(all).unwrap();
    // the IPv6 addresses are other hosts
    let rows = rows.lines().filter(|row| !row.contains("::"));
    std::fs::write(&rtt, rows.collect::<Vec<_>>().join("\n")).unwrap();
    let (links, robots, out) = (path("links.csv"), path("robots.toml"), path("out.csv"));
    std::fs::write(&links, format!("{near_by},{far},1\n")).unwrap();
    let names = ["lisbon", "tokyo"].map(|name| format!("[[robot]]\nname = '{name}'\n"));
    std::fs::write(&robots, names.concat()).unwrap();
    let files = ["--links", &links, "--robots", &robots, "--rtt", &rtt];
    run(&[&["partition", "--out", &out], &files[..]].concat());
    let owners = std::fs::read_to_string(out).unwrap();
    let expected = format!("host,robot\n{near_by},lisbon\n{far},tokyo\n");
    assert_eq!(owners, expected);
}

#[test]
fn routes_need_no_privilege() {
    let Some(internet) = MiniInternet::start(&LINKS) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), everyone).unwrap();
    let db = folder.path().join("map.db");
    let far = internet.node("far").v4.to_string();
    for method in ["udp", "tcp"] {
        let nobody = ["--reuid", "65534", "--clear-groups", EVERCRAWL];
        let trace = [
            "netmap",
            "trace",
            &far,
            "--method",
            method,
            "--again-after",
            "0s",
        ];
        let common = [
            "--db",
            db.to_str().unwrap(),
            "--allow-private",
            "--rate",
            "100/s",
            "--json",
        ];
        let arguments = [&nobody[..], &trace, &common].concat();
        let output = internet.run("lisbon", "setpriv", &arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("setpriv: failed to execute") {
            eprintln!("skipped: nobody may not run the program here: {errors}");
            return;
        }
        assert!(output.status.success(), "{errors}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let hops = found["results"][0]["hops"].as_array().unwrap();
        let hops: Vec<&str> = hops.iter().filter_map(|h| h["address"].as_str()).collect();
        let built = ["r1", "r2", "r3", "far"].map(|name| internet.node(name).v4.to_string());
        assert_eq!(hops, built, "{method}");
    }
}
