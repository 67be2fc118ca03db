//! `evercrawl netmap` from outside: this machine, databases, name servers, bad input.

#[path = "netmap/mmdb.rs"]
mod mmdb;
#[path = "netmap/name_server.rs"]
mod name_server;

use mmdb::Value as Field;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn netmap(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .current_dir(folder)
        .arg("netmap")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(folder: &Path, arguments: &[&str]) -> String {
    let output = netmap(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&text(folder, &arguments)).unwrap()
}

/// A map with this machine's loopback probed under two addresses.
fn probed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let targets = "127.0.0.1 # this machine\n\n127.0.0.2\n127.0.0.1\n";
    std::fs::write(folder.path().join("targets"), targets).unwrap();
    let probe = [
        "probe",
        "--targets",
        "targets",
        "--allow-private",
        "--rate",
        "500/s",
        "--method",
        "tcp",
        "--port",
        "9",
        "--source",
        "here",
        "--at",
        "41.55,-8.42",
    ];
    let found = json(folder.path(), &probe);
    assert_eq!(found["results"].as_array().unwrap().len(), 2);
    assert_eq!(
        found["results"][0]["samples_ms"].as_array().unwrap().len(),
        7
    );
    assert!(found["results"][1]["median_ms"].as_f64().unwrap() < 1000.0);
    folder
}

/// A record of a database of cities.
fn boston() -> Field {
    Field::Map(vec![
        (
            "city",
            Field::Map(vec![(
                "names",
                Field::Map(vec![("en", Field::Text("Boston"))]),
            )]),
        ),
        ("country", Field::Map(vec![("iso_code", Field::Text("US"))])),
        (
            "location",
            Field::Map(vec![
                ("latitude", Field::Double(42.36)),
                ("longitude", Field::Double(-71.06)),
            ]),
        ),
    ])
}

#[test]
fn probe_ask_report_and_export() {
    let folder = probed();
    let folder = folder.path();
    let rtt = json(folder, &["rtt", "here", "127.0.0.1"]);
    assert!(rtt["measured_ms"].as_f64().unwrap() > 0.0);
    let answer = text(folder, &["sql", "SELECT count(*) AS n FROM rtt_samples"]);
    assert_eq!(answer, "n\n14\n");
    let answer = text(folder, &["sql", "SELECT name FROM sources", "--csv"]);
    assert_eq!(answer, "name\nhere\n");
    let report = json(folder, &["report", "--map", "map.svg"]);
    assert_eq!(report["measured_pairs"], 2);
    assert_eq!(report["robots"], 1);
    let map = std::fs::read_to_string(folder.join("map.svg")).unwrap();
    let mut reader = quick_xml::Reader::from_str(&map);
    while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
    assert!(map.contains(">here</text>"));
    let cities = mmdb::database([127, 0, 0, 2], 31, "City", &boston());
    std::fs::write(folder.join("city.mmdb"), cities).unwrap();
    text(folder, &["locate", "--no-dns", "--city-db", "city.mmdb"]);
    text(
        folder,
        &[
            "export",
            "--rtt",
            "rtt.csv",
            "--places",
            "places.csv",
            "--complete",
        ],
    );
    let rtt = std::fs::read_to_string(folder.join("rtt.csv")).unwrap();
    let lines: Vec<&str> = rtt.lines().collect();
    assert_eq!(lines[0], "robot,host,milliseconds");
    assert!(lines[1].starts_with("here,127.0.0.1,") && lines.len() == 3);
    let places = std::fs::read_to_string(folder.join("places.csv")).unwrap();
    assert_eq!(
        places,
        "host,latitude,longitude\n127.0.0.2,42.3600,-71.0600\n"
    );
}

/// Two robots' maps become one, which tells the partitioner where hosts are and how far.
#[test]
fn what_the_map_knows_divides_hosts_among_robots() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, content: &[u8]| std::fs::write(folder.join(name), content).unwrap();
    write("targets", b"127.0.0.2\n127.0.0.3\nlocalhost\n127.0.0.9\n");
    for (robot, at, targets) in [
        ("boston", "42.36,-71.06", &["--targets", "targets"][..]),
        ("lisbon", "38.72,-9.14", &["127.0.0.2", "localhost"]),
    ] {
        let db = format!("{robot}.db");
        let common = [
            "probe",
            "--source",
            robot,
            "--at",
            at,
            "--db",
            &db,
            "--allow-private",
            "--ip",
            "4",
            "--method",
            "tcp",
            "--port",
            "9",
            "--rate",
            "500/s",
        ];
        text(folder, &[&common[..], targets].concat());
    }
    text(
        folder,
        &["merge", "boston.db", "lisbon.db", "--db", "all.db"],
    );
    let cities = mmdb::database([127, 0, 0, 2], 31, "City", &boston());
    write("city.mmdb", &cities);
    // a name that nobody asked for is not what the partitioner calls the host
    let server = name_server::start("2.0.0.127.in-addr.arpa", "gw1.lis2.example.net", loc());
    let locate = ["locate", "--db", "all.db", "--city-db", "city.mmdb"];
    let server = server.to_string();
    text(folder, &[&locate[..], &["--nameserver", &server]].concat());
    let export = ["export", "--db", "all.db", "--places", "places.csv"];
    let told = text(
        folder,
        &[&export[..], &["--rtt", "rtt.csv", "--complete"]].concat(),
    );
    assert_eq!(told, "6 measured RTTs, 2 estimated ones\n2 places\n");

    write(
        "links.csv",
        b"127.0.0.2,localhost,3\n127.0.0.3,127.0.0.9,2\n127.0.0.9,localhost,1\n",
    );
    write(
        "robots.toml",
        b"[[robot]]\nname = 'boston'\nlatitude = 42.36\nlongitude = -71.06\n\
          [[robot]]\nname = 'lisbon'\nlatitude = 38.72\nlongitude = -9.14\n",
    );
    let output = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .current_dir(folder)
        .args([
            "partition",
            "--links",
            "links.csv",
            "--robots",
            "robots.toml",
        ])
        .args(["--rtt", "rtt.csv", "--places", "places.csv", "--json"])
        .args(["--out", "out.csv"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    // every host has a time to every robot, so the mean is over all of them
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (owners, rtts) = (read("out.csv"), read("rtt.csv"));
    let milliseconds = owners.lines().skip(1).map(|row| {
        let (host, robot) = row.split_once(',').unwrap();
        let start = format!("{robot},{host},");
        let row = rtts.lines().find_map(|row| row.strip_prefix(&start));
        row.unwrap().parse::<f64>().unwrap()
    });
    let mean = milliseconds.sum::<f64>() / 4.0;
    let told = result["mean_rtt_ms"].as_f64().unwrap();
    assert!((told - mean).abs() < 1e-6, "{told} {mean}");
    assert!(result["mean_distance_km"].as_f64().is_some());
}

#[test]
fn an_interrupted_survey_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let targets: String = (1..=60)
        .map(|k| format!("127.0.1.{k}"))
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(folder.join("targets"), targets).unwrap();
    let probe = [
        "netmap",
        "probe",
        "--targets",
        "targets",
        "--allow-private",
        "--method",
        "tcp",
        "--port",
        "9",
        "--json",
        "--rate",
    ];
    let child = Command::new(env!("CARGO_BIN_EXE_evercrawl"))
        .current_dir(folder)
        .args(probe)
        .arg("40/s")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let part: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(part["partial"], true);
    let done = part["results"].as_array().unwrap().len();
    assert!(done > 0 && done < 60, "{done} of 60");
    let rest = json(folder, &[&probe[1..9], &["--rate", "2000/s"]].concat());
    let results = rest["results"].as_array().unwrap();
    let measured = results
        .iter()
        .filter(|r| r["outcome"] == "measured")
        .count();
    assert_eq!((results.len(), measured), (60, 60 - done));
    // what was under way when it was interrupted was asked again, whole
    let sql = "SELECT count(*) AS n, count(DISTINCT address) AS d, min(sent) AS s FROM end_to_end";
    assert_eq!(text(folder, &["sql", sql, "--csv"]), "n,d,s\n60,60,7\n");
}

#[test]
fn sample_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let size = ["sample-size", "--sigma", "0.5", "--margin", "0.05"];
    assert_eq!(json(folder.path(), &size)["samples"], 385);
    let size = [&size[..], &["--population", "1000"]].concat();
    assert_eq!(json(folder.path(), &size)["samples"], 278);
    let margin = ["sample-size", "--sigma", "30", "--samples", "100"];
    let found = json(folder.path(), &margin)["margin"].as_f64().unwrap();
    assert!((found - 5.88).abs() < 0.01);
}

/// 42.365 N 71.105 W, as a LOC record holds it.
fn loc() -> Vec<u8> {
    let degrees = |degrees: f64| ((degrees * 3_600_000.0) as i64 + (1 << 31)) as u32;
    let mut bytes = vec![0, 0x12, 0x16, 0x13];
    bytes.extend(degrees(42.365).to_be_bytes());
    bytes.extend(degrees(-71.105).to_be_bytes());
    bytes.extend(10_000_000_u32.to_be_bytes());
    bytes
}

#[test]
fn places_come_from_databases_names_and_the_dns() {
    let folder = probed();
    let folder = folder.path();
    let system = Field::Map(vec![
        ("autonomous_system_number", Field::Number(64496)),
        (
            "autonomous_system_organization",
            Field::Text("Example Networks"),
        ),
    ]);
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.join(name), bytes).unwrap();
    write(
        "city.mmdb",
        mmdb::database([192, 0, 2, 6], 31, "City", &boston()),
    );
    write(
        "as.mmdb",
        mmdb::database([192, 0, 2, 0], 24, "ASN", &system),
    );
    let delegated = "2|arin|20260101|1|19700101|20260101|-0500\narin|*|ipv4|*|1|summary\n\
                     arin|US|ipv4|192.0.2.0|8|20260101|assigned|e5e3b9c1\n";
    write("delegated-arin-latest", delegated.into());
    let server = name_server::start("7.2.0.192.in-addr.arpa", "gw1.bos2.example.net", loc());
    let found = json(
        folder,
        &[
            "locate",
            "192.0.2.7",
            "192.0.2.9",
            "--city-db",
            "city.mmdb",
            "--as-db",
            "as.mmdb",
            "--registry",
            "delegated-arin-latest",
            "--nameserver",
            &server.to_string(),
        ],
    );
    let at = |address: &str| {
        let all = found.as_array().unwrap();
        all.iter()
            .find(|l| l["address"] == address)
            .unwrap()
            .clone()
    };
    let known = at("192.0.2.7");
    assert_eq!(known["names"][0], "gw1.bos2.example.net");
    let heuristics: Vec<&str> = known["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| place["heuristic"].as_str().unwrap())
        .collect();
    assert_eq!(heuristics, ["loc", "airport", "database", "registry"]);
    assert_eq!(known["places"][3]["country"], "US");
    assert_eq!(known["places"][2]["city"], "Boston");
    assert!((known["places"][0]["latitude"].as_f64().unwrap() - 42.365).abs() < 1e-3);
    assert_eq!(
        at("192.0.2.9")["places"].as_array().unwrap().len(),
        0,
        "outside the database"
    );
    let report = json(folder, &["report"]);
    let overlap = report["agreement"].as_array().unwrap();
    assert_eq!(overlap.len(), 6);
    for pair in overlap {
        // a registry knows the country alone
        let by_registry = pair["second"] == "registry";
        assert_eq!(pair["coincidences"], u64::from(!by_registry), "{pair}");
    }
    let with_country = |pair: &&Value| pair["first"] == "airport" && pair["second"] == "registry";
    let pair = overlap.iter().find(with_country).unwrap();
    assert_eq!(pair["same_country"], 1);
    let blocks = json(
        folder,
        &[
            "sql",
            "SELECT prefix, autonomous_system FROM address_blocks",
        ],
    );
    assert_eq!(blocks[0]["prefix"], "192.0.2.0/24");
    assert_eq!(blocks[0]["autonomous_system"], "64496");
    let sql = "SELECT heuristic, c.name FROM places LEFT JOIN cities c ON c.id = city ORDER BY 1";
    let places = text(folder, &["sql", sql, "--csv"]);
    assert_eq!(
        places,
        "heuristic,name\nairport,Boston\ndatabase,Boston\nloc,\nregistry,\n"
    );
}

#[test]
fn bad_input_ends_with_code_2_and_says_what() {
    let folder = probed();
    let folder = folder.path();
    let whole = mmdb::database([127, 0, 0, 0], 8, "City", &Field::Number(1));
    std::fs::write(folder.join("cut.mmdb"), &whole[..whole.len() / 2]).unwrap();
    // a record with more fields than there are
    let mut unsound = mmdb::database([127, 0, 0, 0], 8, "City", &boston());
    unsound[8 * 6 + 16] = (7 << 5) + 28;
    std::fs::write(folder.join("unsound.mmdb"), unsound).unwrap();
    std::fs::write(folder.join("text.db"), "not a database at all ".repeat(50)).unwrap();
    std::fs::write(folder.join("hosts"), "example.org\nhttp://example.org/\n").unwrap();
    for (arguments, message) in [
        (
            &["locate", "--no-dns", "--city-db", "cut.mmdb"][..],
            "cut.mmdb",
        ),
        (
            &["locate", "--no-dns", "--city-db", "unsound.mmdb"],
            "unsound.mmdb: is not a valid MaxMind database",
        ),
        (
            &["locate", "--no-dns", "--as-db", "absent.mmdb"],
            "absent.mmdb",
        ),
        (
            &["locate", "--no-dns", "nobody.example"],
            "knows no host 'nobody.example'",
        ),
        (
            &["rtt", "here", "nobody.example"],
            "knows no 'nobody.example'",
        ),
        (&["rtt", "here", "here"], "are the same"),
        (
            &["report", "--db", "absent.db"],
            "absent.db: there is no map",
        ),
        (&["report", "--db", "text.db"], "text.db"),
        (&["sql", "DELETE FROM hosts"], "DELETE would change the map"),
        (&["sql", "SELECT x FROM y"], "no such table"),
        (&["merge", "absent.db"], "absent.db: there is no map"),
        (&["merge", "text.db"], "text.db"),
        (&["merge", "netmap.db"], "is the map itself"),
        (&["probe"], "no targets"),
        (&["probe", "a b"], "'a b' is neither"),
        (
            &["probe", "--targets", "hosts"],
            "hosts:2: 'http://example.org/'",
        ),
        (&["probe", "--targets", "absent"], "absent: cannot be read"),
        (&["probe", "127.0.0.1"], "--allow-private"),
        (&["probe", "no-such-host.invalid"], "unknown hosts"),
        (&["probe", "127.0.0.1", "--rate", "0/s"], "--rate is 0"),
        (
            &["probe", "127.0.0.1", "--method", "smoke"],
            "icmp, udp or tcp",
        ),
        (&["probe", "127.0.0.1", "--at", "100,0"], "latitude"),
        (&["trace", "127.0.0.1", "--timeout", "0s"], "--timeout"),
        (&["export", "--rtt", "netmap.db"], "would be overwritten"),
        (
            &["export", "--rtt", "x.csv", "--places", "./x.csv"],
            "x.csv: cannot take both",
        ),
        (&["sql", " "], "it contains no query"),
        (
            &["sample-size", "--sigma", "1e200", "--margin", "1e-200"],
            "more samples than can be counted",
        ),
        (&["sample-size", "--sigma", "0", "--margin", "1"], "--sigma"),
        (
            &[
                "sample-size",
                "--sigma",
                "1",
                "--margin",
                "1",
                "--confidence",
                "1",
            ],
            "--confidence",
        ),
        (&["sample-size", "--sigma", "1"], "--margin"),
    ] {
        let output = netmap(folder, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(message), "{arguments:?}: {errors}");
    }
}

#[test]
fn the_error_of_few_probes_is_told_from_many() {
    let folder = probed();
    let folder = folder.path();
    let found = json(folder, &["probes"]);
    assert_eq!(
        (&found["pairs"], &found["answers"]),
        (&2.into(), &14.into())
    );
    let probes: Vec<u64> = (found["errors"].as_array().unwrap().iter())
        .map(|row| row["probes"].as_u64().unwrap())
        .collect();
    assert_eq!(probes, [1, 2, 3], "seven answers say nothing of five");
    assert!(text(folder, &["probes", "--error", "1000"]).ends_with("enough for 1000: 1\n"));
    assert_eq!(
        netmap(folder, &["probes", "--error", "0"]).status.code(),
        Some(2)
    );
    let newest = json(folder, &["report", "--window", "0"]);
    let week = json(folder, &["report"]);
    assert_eq!(newest["rtt_ms"], week["rtt_ms"], "there is one survey only");
    assert_eq!(week["servers"]["addresses"], 2);
    assert_eq!(week["routers"]["addresses"], 0);
}

#[test]
fn lists_of_registries_that_are_none_end_with_code_2() {
    let folder = probed();
    let folder = folder.path();
    std::fs::write(
        folder.join("list"),
        "arin|USA|ipv4|18.0.0.0|256|1|allocated\n",
    )
    .unwrap();
    let output = netmap(folder, &["locate", "--no-dns", "--registry", "list"]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("list: line 1: 'USA'"), "{errors}");
}
