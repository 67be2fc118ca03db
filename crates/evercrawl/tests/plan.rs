//! `evercrawl plan` from the outside: the real binary, real files, exit codes.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const FIVE: &str = "page,server,change_rate\na,s,1\nb,s,2\nc,s,3\nd,s,4\ne,s,5\n";

/// A directory of its own for each test.
struct Desk(TempDir);

impl Desk {
    fn with(files: &[(&str, &[u8])]) -> Self {
        let desk = Self(TempDir::new().unwrap());
        for (name, content) in files {
            fs::write(desk.path(name), content).unwrap();
        }
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evercrawl"));
        command.arg("plan").args(arguments.split_whitespace());
        command.current_dir(self.0.path());
        command
    }

    fn plan(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn json(&self, arguments: &str) -> serde_json::Value {
        let output = self.plan(&format!("{arguments} --json"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs what must be refused; returns the message. Nothing may be left behind.
    fn refused(&self, arguments: &str) -> String {
        let before = self.files();
        let output = self.plan(&format!("{arguments} --out out.csv --curve out.svg"));
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(output.stdout.is_empty());
        assert_eq!(self.files(), before, "{arguments}");
        message
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn rows(&self, name: &str) -> Vec<Vec<String>> {
        let mut reader = csv::Reader::from_path(self.path(name)).unwrap();
        let header: Vec<_> = reader.headers().unwrap().iter().map(String::from).collect();
        assert_eq!(header, ["page", "server", "visits_per_day", "freshness"]);
        let rows = reader.records().map(Result::unwrap);
        rows.map(|row| row.iter().map(String::from).collect())
            .collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn visits(rows: &[Vec<String>]) -> Vec<f64> {
    rows.iter().map(|row| row[2].parse().unwrap()).collect()
}

#[test]
fn the_published_cho_example() {
    let desk = Desk::with(&[("pages.csv", FIVE.as_bytes())]);
    let output = desk.plan("--pages pages.csv --budget 5/day --allocation cho --out plan.csv");
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("∞ (1 page is never visited)"));
    let rounded: Vec<String> = visits(&desk.rows("plan.csv"))
        .iter()
        .map(|visits| format!("{visits:.2}"))
        .collect();
    assert_eq!(rounded, ["1.15", "1.36", "1.35", "1.14", "0.00"]);
    assert_eq!(desk.files(), ["pages.csv", "plan.csv"]);
}

#[test]
fn the_plan_keeps_the_order_of_the_input_whatever_the_servers() {
    let pages = "\u{feff}weight,note,server,page,change_rate\n\
                 1,x,b,\"p,1\",1\n2,x,a,\"p \"\"2\"\"\",0.5\n1,x,b,p3,0\n3,x,c,\"p\n4\",2\n1,x,a,p5,1\n";
    let desk = Desk::with(&[("pages.csv", pages.as_bytes())]);
    let report = desk.json("--pages pages.csv --budget 5/day --politeness 12h --out plan.csv");
    assert_eq!(report["servers"], 3);
    // two visits a day for each of three servers
    assert_eq!(report["capacity_per_day"], 6.0);
    let rows = desk.rows("plan.csv");
    let names: Vec<(&str, &str)> = rows
        .iter()
        .map(|r| (r[0].as_str(), r[1].as_str()))
        .collect();
    let expected = [
        ("p,1", "b"),
        ("p \"2\"", "a"),
        ("p3", "b"),
        ("p\n4", "c"),
        ("p5", "a"),
    ];
    assert_eq!(names, expected);
    let visits = visits(&rows);
    assert!((visits.iter().sum::<f64>() - 5.0).abs() < 1e-9);
    assert_eq!(visits[2], 0.0, "p3 never changes");
    assert_eq!(rows[2][3], "1");
    for server in ["a", "b", "c"] {
        let sum: f64 = (rows.iter().zip(&visits))
            .filter(|(row, _)| row[1] == server)
            .map(|(_, visits)| visits)
            .sum();
        assert!(sum <= 2.0 * (1.0 + 1e-9), "{server}: {sum}");
    }
    let weighted: f64 = (rows.iter().zip([1.0, 2.0, 1.0, 3.0, 1.0]))
        .map(|(row, weight)| weight / 8.0 * row[3].parse::<f64>().unwrap())
        .sum();
    assert!((report["freshness"].as_f64().unwrap() - weighted).abs() < 1e-12);
    // each row has the freshness of its own rate and visits
    for (row, rate) in rows.iter().zip([1.0, 0.5, 0.0, 2.0, 1.0]) {
        let expected = freshness::measure::evenly_spaced(rate, row[2].parse().unwrap());
        assert_eq!(row[3].parse::<f64>().unwrap(), expected);
    }
}

#[test]
fn gzip_gives_the_same_plan_even_in_members() {
    let (head, tail) = FIVE.as_bytes().split_at(30);
    let members = [gzip(head), gzip(tail)].concat();
    let desk = Desk::with(&[("plain.csv", FIVE.as_bytes()), ("zipped", &members)]);
    for (pages, out) in [("plain.csv", "a.csv"), ("zipped", "b.csv")] {
        desk.json(&format!("--pages {pages} --budget 5/day --out {out}"));
    }
    let read = |name| fs::read(desk.path(name)).unwrap();
    assert_eq!(read("a.csv"), read("b.csv"));
}

#[test]
fn json_has_the_promised_keys() {
    let desk = Desk::with(&[("pages.csv", FIVE.as_bytes())]);
    let report = desk.json("--pages pages.csv --budget 35/week --allocation cho");
    for key in [
        "pages",
        "servers",
        "allocation",
        "budget_per_day",
        "freshness",
        "bound_impolite",
        "bound_polite",
        "mean_age_days",
        "starved_pages",
        "capped_servers",
        "seconds",
    ] {
        assert!(report.get(key).is_some(), "{key}");
    }
    assert_eq!(report["pages"], 5);
    assert_eq!(report["allocation"], "cho");
    assert_eq!(report["budget_per_day"], 5.0);
    assert_eq!(report["freshness"], report["bound_polite"]);
    assert_eq!(report["starved_pages"], 1);
    assert!(report["mean_age_days"].is_null(), "infinite");
    let report = desk.json("--pages pages.csv --budget 5/day --allocation harmonic");
    assert_eq!(report["starved_pages"], 0);
    assert!(report["mean_age_days"].as_f64().unwrap() > 0.0);
}

#[test]
fn every_bad_row_is_named_by_file_and_line() {
    let check = |pages: &str, expected: &str| {
        let desk = Desk::with(&[("pages.csv", pages.as_bytes())]);
        let message = desk.refused("--pages pages.csv --budget 5/day");
        assert!(message.contains(expected), "{pages:?}: {message}");
    };
    let number = "expected a finite number of at least 0";
    for bad in ["abc", "-1", "NaN", "inf", "-inf", "1e999", ""] {
        check(
            &format!("page,server,change_rate\na,s,1\nb,s,{bad}\n"),
            &format!("pages.csv:3: change_rate is '{bad}': {number}"),
        );
        check(
            &format!("page,server,change_rate,weight\r\na,s,1,{bad}\r\n"),
            &format!("pages.csv:2: weight is '{bad}': {number}"),
        );
    }
    check("", "pages.csv:1: the file is empty");
    check("page,server,change_rate\n", "pages.csv:1: there is no page");
    check(
        "page,server\na,s\n",
        "pages.csv:1: the column 'change_rate' is missing",
    );
    check(
        "page,server,page,change_rate\n",
        "pages.csv:1: the column 'page' appears twice",
    );
    check(
        "page,server,change_rate\na,s\n",
        "pages.csv:2: 2 fields where the header has 3 (is a quote left open?)",
    );
    check(
        "page,server,change_rate\na,b,s,1\n",
        "pages.csv:2: 4 fields where the header has 3",
    );
    check(
        "page,server,change_rate\n,s,1\n",
        "pages.csv:2: page is empty",
    );
    check(
        "page,server,change_rate\na,,1\n",
        "pages.csv:2: server is empty",
    );
    check(
        "\n\npage,server,change_rate\n\n\r\na,s,1\r\n\nb,s,x\n",
        "pages.csv:8: change_rate is 'x'",
    );
    // a name over two lines does not disturb the count
    check(
        "page,server,change_rate\n\"a\nb\",s,1\nc,s,1\n\"a\nb\",t,1\n",
        "pages.csv:5: the page 'a\nb' is already on line 2",
    );
}

#[test]
fn bad_gzip_and_missing_files_are_bad_input() {
    let mut cut = gzip(FIVE.as_bytes());
    cut.truncate(cut.len() - 12);
    let desk = Desk::with(&[("cut.gz", &cut), ("pages.csv", FIVE.as_bytes())]);
    let refused = desk.refused("--pages cut.gz --budget 5/day");
    assert!(
        refused.contains("cut.gz:") && refused.contains("is not valid gzip"),
        "{refused}"
    );
    assert!(
        desk.refused("--pages none.csv --budget 5/day")
            .contains("none.csv: cannot be read")
    );
    assert!(
        desk.refused("--pages . --budget 5/day")
            .contains("is a directory")
    );
}

#[test]
fn servers_have_delays_of_their_own() {
    let pages = "page,server,change_rate\na,s,9\nb,t,9\nc,u,9\n";
    let check = |servers: &str| {
        let desk = Desk::with(&[
            ("pages.csv", pages.as_bytes()),
            ("servers.csv", servers.as_bytes()),
        ]);
        let report =
            desk.json("--pages pages.csv --servers servers.csv --politeness 6h --budget 5/day");
        report["capacity_per_day"].as_f64()
    };
    // 2 + 1 + 4 visits a day; a server without pages adds nothing
    assert_eq!(check("server,delay\ns,12h\nt,86400\nunused,1\n"), Some(7.0));
    assert_eq!(check("delay,server\n0,s\n"), None, "no limit");
    for bad in ["-1", "NaN", "inf", "x", "5 parsecs"] {
        let servers = format!("server,delay\ns,{bad}\n");
        let desk = Desk::with(&[
            ("pages.csv", pages.as_bytes()),
            ("servers.csv", servers.as_bytes()),
        ]);
        let message = desk.refused("--pages pages.csv --servers servers.csv --budget 5/day");
        assert!(
            message.contains(&format!("servers.csv:2: delay is '{bad}'")),
            "{message}"
        );
    }
    let desk = Desk::with(&[
        ("pages.csv", pages.as_bytes()),
        ("servers.csv", b"server,delay\ns,1\ns,1\n"),
    ]);
    let message = desk.refused("--pages pages.csv --servers servers.csv --budget 5/day");
    assert!(message.contains("servers.csv:3: the server 's' is listed twice"));
}

#[test]
fn arguments_that_cannot_be_are_refused() {
    let desk = Desk::with(&[
        ("pages.csv", FIVE.as_bytes()),
        ("h.csv", b"item_id,timestamp_seconds\na,x\n"),
    ]);
    let check = |arguments: &str, expected: &str| {
        let message = desk.refused(&format!("--pages pages.csv {arguments}"));
        assert!(message.contains(expected), "{arguments}: {message}");
    };
    check("--budget 5", "such as 2000/day");
    check("--budget -5/day", "such as 2000/day");
    check("--budget 5/day --politeness 15", "such as 15s");
    check(
        "--budget 5/day --allocation best",
        "unknown allocation 'best'",
    );
    check(
        "--budget 5/day --target-freshness 1.5",
        "above 0 and at most 1",
    );
    check("--target-freshness 0", "above 0 and at most 1");
    check("--target-freshness nan", "above 0 and at most 1");
    check("", "--budget");
    check("--budget 5/day --allocation wolf", "needs --histories");
    let dash = desk.plan("--pages - --budget 5/day");
    assert_eq!(dash.status.code(), Some(2));
    assert!(text(&dash.stderr).contains("/dev/stdin"));
    check(
        "--budget 5/day --histories h.csv",
        "only for --allocation wolf",
    );
    check(
        "--budget 5/day --allocation wolf --histories h.csv",
        "h.csv:2: timestamp_seconds is 'x'",
    );
    let several = desk.plan("--pages pages.csv --budget 5/day --allocation cho,age");
    assert_eq!(several.status.code(), Some(2));
    let onto_itself = desk.plan("--pages pages.csv --budget 5/day --out pages.csv");
    assert_eq!(onto_itself.status.code(), Some(2));
    assert_eq!(fs::read(desk.path("pages.csv")).unwrap(), FIVE.as_bytes());
}

#[test]
fn a_budget_above_politeness_is_refused_with_what_is_allowed() {
    let desk = Desk::with(&[("pages.csv", FIVE.as_bytes())]);
    let message = desk.refused("--pages pages.csv --budget 1/min --politeness 2m");
    assert!(
        message.contains("1440 visits/day is above the 720 visits/day"),
        "{message}"
    );
    // exactly what is allowed is allowed
    desk.json("--pages pages.csv --budget 720/day --politeness 2m");
}

#[test]
fn classical_allocations_warn_of_overloaded_servers() {
    let pages = "page,server,change_rate\na,s,9\nb,s,9\nc,t,1\n";
    let desk = Desk::with(&[("pages.csv", pages.as_bytes())]);
    let arguments = "--pages pages.csv --budget 6/day --politeness 6h --allocation";
    let output = desk.plan(&format!("{arguments} proportional"));
    assert!(output.status.success());
    assert!(
        text(&output.stderr).contains("warning: "),
        "{}",
        text(&output.stderr)
    );
    let report = desk.json(&format!("{arguments} proportional"));
    assert_eq!(report["overloaded_servers"], 1);
    assert_eq!(report["capped_servers"], 1);
    let polite = desk.json(&format!("{arguments} opt-polite"));
    assert_eq!(polite["overloaded_servers"], 0);
    assert_eq!(polite["capped_servers"], 1);
    assert!(polite["freshness"].as_f64() < polite["bound_impolite"].as_f64());
}

#[test]
fn the_target_budget_is_the_smallest_that_reaches_it() {
    let desk = Desk::with(&[("pages.csv", FIVE.as_bytes())]);
    for allocation in ["opt-polite", "uniform", "age"] {
        let arguments = format!("--pages pages.csv --allocation {allocation}");
        let found = desk.json(&format!("{arguments} --target-freshness 0.7"));
        assert_eq!(found["reachable"], true);
        let budget = found["target_budget_per_day"].as_f64().unwrap();
        assert_eq!(found["budget_per_day"].as_f64(), Some(budget));
        let reached = |budget: f64| {
            let report = desk.json(&format!("{arguments} --budget {budget}/day"));
            report["freshness"].as_f64().unwrap()
        };
        assert!(reached(budget) >= 0.7 - 1e-12, "{allocation}");
        assert!(reached(budget * (1.0 - 1e-6)) < 0.7, "{allocation}");
    }
}

#[test]
fn a_target_out_of_reach_is_an_answer() {
    let desk = Desk::with(&[("pages.csv", FIVE.as_bytes())]);
    let report =
        desk.json("--pages pages.csv --politeness 12h --target-freshness 0.9 --out plan.csv");
    assert_eq!(report["reachable"], false);
    let most = report["most_freshness"].as_f64().unwrap();
    assert!(most > 0.0 && most < 0.9);
    assert!(report["budget_per_day"].is_null());
    assert_eq!(desk.files(), ["pages.csv"]);
    let both =
        desk.json("--pages pages.csv --politeness 12h --target-freshness 0.9 --budget 2/day");
    assert_eq!(both["freshness"].as_f64(), Some(most));
    let one = desk.json("--pages pages.csv --target-freshness 1");
    assert_eq!(one["reachable"], false);
    // pages that never change are fresh for nothing
    fs::write(desk.path("still.csv"), "page,server,change_rate\na,s,0\n").unwrap();
    let still = desk.json("--pages still.csv --target-freshness 1");
    assert_eq!(still["target_budget_per_day"], 0.0);
}

#[test]
fn the_curve_is_sound_svg_with_all_that_was_asked_for() {
    let pages = "page,server,change_rate\na,s,9\nb,s,9\nc,t,1\n";
    let desk = Desk::with(&[("pages.csv", pages.as_bytes())]);
    desk.json(
        "--pages pages.csv --budget 6/day --politeness 6h --allocation opt-polite,uniform,age \
         --curve curve.svg",
    );
    let svg = fs::read_to_string(desk.path("curve.svg")).unwrap();
    let mut reader = quick_xml::Reader::from_str(&svg);
    let mut depth = 0;
    loop {
        match reader.read_event().expect("well-formed") {
            quick_xml::events::Event::Start(_) => depth += 1,
            quick_xml::events::Event::End(_) => depth -= 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    for part in [
        "impolite bound",
        "polite bound",
        "opt-polite",
        "uniform (impolite)",
        ">age<",
        "6 visits/day",
        "visits per day",
        "freshness",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn extreme_numbers_give_no_nonsense() {
    let pages = "page,server,change_rate,weight\na,s,1e300,1e308\nb,s,5e-324,1e308\nc,s,1,1e-300\n\
                 d,s,1e-9,1e308\ne,t,0,0\nf,t,1e6,1e308\n";
    let desk = Desk::with(&[("pages.csv", pages.as_bytes())]);
    for allocation in [
        "uniform",
        "proportional",
        "cho",
        "opt-polite",
        "harmonic",
        "age",
    ] {
        let report = desk.json(&format!(
            "--pages pages.csv --budget 5/day --politeness 1h --allocation {allocation} --out plan.csv"
        ));
        let freshness = report["freshness"].as_f64().expect(allocation);
        assert!(
            (0.0..=1.0).contains(&freshness),
            "{allocation}: {freshness}"
        );
        let visits = visits(&desk.rows("plan.csv"));
        assert!(
            visits.iter().all(|v| v.is_finite() && *v >= 0.0),
            "{allocation}: {visits:?}"
        );
    }
}

#[test]
fn the_sample_in_the_readme_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let desk = Desk::with(&[]);
    for name in ["pages.csv", "servers.csv"] {
        fs::copy(root.join(name), desk.path(name)).unwrap();
    }
    let report = desk.json(
        "--pages pages.csv --servers servers.csv --politeness 15m --budget 200/day --out plan.csv",
    );
    assert_eq!(report["pages"], 12);
    assert_eq!(desk.rows("plan.csv").len(), 12);
}

#[cfg(unix)]
mod unix {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error() {
        let desk = Desk::with(&[("pages.csv", FIVE.as_bytes())]);
        for arguments in ["", "--json", "--out /dev/stdout"] {
            let mut child = desk
                .command(&format!("--pages pages.csv --budget 5/day {arguments}"))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            drop(child.stdout.take());
            let mut errors = String::new();
            let mut stderr = child.stderr.take().unwrap();
            stderr.read_to_string(&mut errors).unwrap();
            assert_eq!(
                child.wait().unwrap().code(),
                Some(0),
                "{arguments}: {errors}"
            );
            assert_eq!(errors, "");
        }
    }

    #[test]
    fn a_full_disk_is_a_failure() {
        let desk = Desk::with(&[("pages.csv", FIVE.as_bytes())]);
        for file in [
            "--out /dev/full",
            "--curve /dev/full",
            "--out none/plan.csv",
        ] {
            let output = desk.plan(&format!("--pages pages.csv --budget 5/day {file}"));
            assert_eq!(output.status.code(), Some(1), "{file}");
            assert!(
                text(&output.stderr).contains("cannot write"),
                "{}",
                text(&output.stderr)
            );
        }
    }

    #[test]
    fn a_pipe_can_be_read_once_only() {
        let desk = Desk::with(&[]);
        let run = |arguments: &str, pages: &str| {
            let mut child = desk
                .command(&format!("--pages /dev/stdin --budget 5/day {arguments}"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // refused before it is read: then nobody takes it
            let _ = child.stdin.take().unwrap().write_all(pages.as_bytes());
            child.wait_with_output().unwrap()
        };
        assert_eq!(run("", FIVE).status.code(), Some(0));
        let refused = run("--out plan.csv", FIVE);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains("pipe"));
        let twice = run("", "page,server,change_rate\na,s,1\na,s,1\n");
        assert_eq!(twice.status.code(), Some(2));
        assert!(text(&twice.stderr).contains("twice"));
    }
}

/// One page that changes in bursts and one by the clock, both twice a day on the average.
fn histories() -> String {
    let day = |day: u32| {
        let at = day * 86_400;
        let (minute_later, noon) = (at + 60, at + 43_200);
        format!("bursty,{at}\nbursty,{minute_later}\nregular,{at}\nregular,{noon}\n")
    };
    let rows: String = (0..50).map(day).collect();
    format!("item_id,timestamp_seconds\n{rows}")
}

#[test]
fn wolf_spends_visits_where_histories_say_they_last() {
    let pages = "page,server,change_rate\nbursty,s,2\nregular,s,2\nunseen,t,2\nstatic,t,0\n";
    let histories = histories();
    let desk = Desk::with(&[
        ("pages.csv", pages.as_bytes()),
        ("h.csv", histories.as_bytes()),
    ]);
    let with = "--pages pages.csv --budget 3/day --allocation wolf --histories h.csv";
    let json = desk.json(&format!("{with} --out out.csv --curve out.svg"));
    let rows = desk.rows("out.csv");
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    let visits: f64 = (0..4).map(|row| number(row, 2)).sum();
    assert!((visits - 3.0).abs() < 1e-9, "{visits}");
    // after a burst a copy lasts for almost a day
    assert!(number(0, 3) > number(2, 3));
    assert_eq!((number(3, 2), number(3, 3)), (0.0, 1.0));
    let mean = (0..4).map(|row| number(row, 3)).sum::<f64>() / 4.0;
    assert!((json["freshness"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert_eq!(json["bound_polite"], json["freshness"]);
    assert!(json["mean_age_days"].is_null());
    assert!(text(&fs::read(desk.path("out.svg")).unwrap()).contains("both bounds = wolf"));

    // no other division of the budget does better under these changes
    let uniform = desk.json(
        "--pages pages.csv --budget 3/day --allocation uniform,wolf --histories h.csv --curve c.svg",
    );
    assert!(uniform["freshness"].as_f64() < json["freshness"].as_f64());
    assert_eq!(uniform["bound_polite"], json["freshness"]);

    // 6 visits a day to each server at most
    let polite = desk.json(&format!("{with} --politeness 4h"));
    assert!(polite["freshness"].as_f64() <= json["freshness"].as_f64());
    let target =
        desk.json("--pages pages.csv --target-freshness 0.8 --allocation wolf --histories h.csv");
    assert!((target["freshness"].as_f64().unwrap() - 0.8).abs() < 1e-5);
}

#[test]
fn a_history_of_no_page_is_refused_with_its_line() {
    let content = histories() + "stranger,7\r\nstranger,8\n";
    let pages = b"page,server,change_rate\nbursty,s,2\nregular,s,2\n";
    let desk = Desk::with(&[("pages.csv", pages), ("h.csv", content.as_bytes())]);
    let message =
        desk.refused("--pages pages.csv --budget 3/day --allocation wolf --histories h.csv");
    assert!(
        message.contains("h.csv:202: the item 'stranger' is not among the pages"),
        "{message}"
    );
}

#[test]
fn a_channel_is_provided_for_by_bound_and_by_measurement() {
    // 400 pages that change alike: each is visited 9 times a day
    let pages = (0..400).map(|page| format!("p{page},s{page},3\n"));
    let pages = "page,server,change_rate\n".to_owned() + &pages.collect::<String>();
    let desk = Desk::with(&[("pages.csv", pages.as_bytes())]);
    let arguments =
        "--pages pages.csv --budget 3600/day --channel --overflow 0.01 --page-size 10KB";
    let channel = &desk.json(arguments)["channel"];
    assert_eq!(channel["visited_pages"], 400);
    let hour = &channel["windows"][2];
    assert_eq!(hour["window"], "1 h");
    let number = |key: &str| hour[key].as_f64().unwrap();
    assert!((number("expected_requests") - 150.0).abs() < 1e-6);
    // √(400·ln 100 / 2)
    assert!((number("headroom_bound") - 30.349).abs() < 1e-3);
    // 400 pages due within the hour with chance 3/8: a binomial of deviation 9.68, whose 99 % lie
    // 22.5 above the mean
    let measured = number("headroom_measured");
    assert!((20.0..26.0).contains(&measured), "{measured}");
    assert!(number("overflow_measured") <= 0.01);
    let megabits = number("megabits_per_second_bound");
    assert!((megabits - (150.0 + 30.349) * 80_000.0 / 1e6 / 3600.0).abs() < 1e-6);
    let output = desk.plan(arguments);
    assert!(text(&output.stdout).contains("Mbit/s, bound"));
    let message = desk.refused("--pages pages.csv --budget 1/day --channel --overflow 1");
    assert!(message.contains("above 0 and below 1"), "{message}");
}
