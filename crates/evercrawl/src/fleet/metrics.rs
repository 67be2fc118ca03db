//! `evercrawl fleet metrics`: the fleet in figures for Prometheus; and what a robot adds to its own.

use super::ask::Report;
use super::office::{Office, Where};
use super::status::View;
use crate::bad_input::BadInput;
use crate::interrupt::stop_on_interrupt;
use crate::terminal::{self, complain};
use anyhow::Result;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// So often the fleet is asked while somebody may want to know.
const EVERY: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);

/// Print the figures of the whole fleet for Prometheus, or serve them.
///
/// Each robot also serves its own, where its file has `metrics.listen`; use this if you can reach the
/// NATS servers, but not every robot.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Where,
    /// Serve them under /metrics at this address until Ctrl-C, updated every five seconds.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let office = Office::open(&arguments.place)?;
    let Some(address) = arguments.listen else {
        return Ok(terminal::print(&of_fleet(&View::look(&office)?))?);
    };
    let stop = stop_on_interrupt();
    let shown = Arc::new(Mutex::new(of_fleet(&View::look(&office)?)));
    let listener = office
        .runtime
        .block_on(tokio::net::TcpListener::bind(address));
    let listener = listener.map_err(|error| BadInput(format!("--listen {address}: {error}")))?;
    let told = shown.clone();
    office
        .runtime
        .spawn(robot::metrics::serve(listener, move || {
            told.lock().map(|text| text.clone()).unwrap_or_default()
        }));
    complain("note", &format!("metrics at http://{address}/metrics"));
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..EVERY.as_millis() / LOOK.as_millis() {
            if !stop.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
            }
        }
        // no answer, no figures: old ones would look like new ones
        let text = View::look(&office).map_or_else(|_| silence(), |view| of_fleet(&view));
        if let Ok(mut shown) = shown.lock() {
            *shown = text;
        }
    }
    Ok(())
}

/// Figures in the order in which they came.
#[derive(Default)]
struct Page(Vec<Figure>);

struct Figure {
    name: &'static str,
    help: &'static str,
    /// By labels.
    values: Vec<(String, f64)>,
}

impl Page {
    fn put(&mut self, name: &'static str, help: &'static str, labels: &str, value: f64) {
        let value = (labels.to_owned(), value);
        match self.0.iter_mut().find(|known| known.name == name) {
            Some(known) => known.values.push(value),
            None => self.0.push(Figure {
                name,
                help,
                values: vec![value],
            }),
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for Figure { name, help, values } in &self.0 {
            let kind = if name.ends_with("_total") {
                "counter"
            } else {
                "gauge"
            };
            let _ = writeln!(out, "# HELP evercrawl_{name} {help}");
            let _ = writeln!(out, "# TYPE evercrawl_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(out, "evercrawl_{name}{{{labels}}} {value}");
            }
        }
        out
    }
}

/// What a robot's own metrics have of its fleet.
pub fn of_robot(report: &Report) -> String {
    let mut page = Page::default();
    put_robot(&mut page, report, &format!("robot=\"{}\"", report.robot));
    page.text()
}

fn put_robot(page: &mut Page, report: &Report, labels: &str) {
    let mut put = |name, help, value: f64| page.put(name, help, labels, value);
    let count = |number: usize| number as f64;
    put(
        "robot_lease",
        "Whether the robot may send requests now.",
        f64::from(u8::from(report.lease)),
    );
    put(
        "robot_servers",
        "Servers of its own.",
        count(report.servers),
    );
    put(
        "robot_servers_arriving",
        "Servers on their way to it.",
        count(report.arriving),
    );
    put(
        "robot_servers_going",
        "Servers on their way to others.",
        count(report.going),
    );
    put(
        "robot_in_custody",
        "URLs for other robots that none has accepted yet.",
        count(report.in_custody),
    );
    if let Some(allowed) = report.allowed {
        put(
            "robot_requests_allowed",
            "Requests per second of the fleet's budget.",
            allowed,
        );
    }
    for (name, help, value) in counters(report) {
        put(name, help, value as f64);
    }
}

fn counters(report: &Report) -> [(&'static str, &'static str, u64); 21] {
    let (tally, engine) = (&report.tally, &report.engine);
    [
        ("robot_sent_total", "URLs sent to others.", tally.sent),
        (
            "robot_sent_again_total",
            "URLs sent again without a receipt.",
            tally.sent_again,
        ),
        (
            "robot_passed_on_total",
            "URLs of others passed on.",
            tally.passed_on,
        ),
        (
            "robot_known_sent_total",
            "URLs not sent because they were sent before.",
            tally.known_sent,
        ),
        (
            "robot_taken_over_total",
            "Servers taken over.",
            tally.taken_over,
        ),
        ("robot_handed_total", "Servers handed on.", tally.handed),
        (
            "robot_refused_total",
            "URLs that the filters refuse for all robots.",
            tally.refused,
        ),
        (
            "robot_unresolved_total",
            "URLs whose names have no server.",
            tally.unresolved,
        ),
        (
            "robot_unreadable_total",
            "Messages and values that cannot be read.",
            tally.unreadable,
        ),
        (
            "robot_full_total",
            "Publications that found their stream full.",
            tally.full,
        ),
        (
            "robot_kept_in_log_total",
            "URLs kept in the log because streams were full for long.",
            tally.kept_in_log,
        ),
        (
            "robot_divisions_total",
            "Times that it divided a group by links.",
            tally.divisions,
        ),
        (
            "robot_moved_late_total",
            "Pages that its divisions moved beyond the 5 %, placed before distances were known.",
            tally.moved_late,
        ),
        (
            "robot_probed_total",
            "Servers that it probed for partitioners.",
            report.probed,
        ),
        (
            "robot_traced_total",
            "Servers to which it traced the route for partitioners.",
            report.traced,
        ),
        (
            "robot_untraced_total",
            "Servers to which it found no route.",
            report.untraced,
        ),
        (
            "robot_unmeasured_total",
            "Distances and routes that it had no room for.",
            report.unmeasured,
        ),
        (
            "robot_cut_from_log_total",
            "Entries of its log cut behind a snapshot.",
            tally.cut_from_log,
        ),
        (
            "robot_reconnects_total",
            "Connections to NATS lost.",
            engine.reconnects,
        ),
        (
            "robot_ambiguous_total",
            "Writes whose answer was lost.",
            engine.ambiguous,
        ),
        (
            "robot_given_up_total",
            "Messages that came too often and went to the dead letters.",
            engine.given_up,
        ),
    ]
}

fn of_fleet(view: &View) -> String {
    let mut page = Page::default();
    let fleet = format!("fleet=\"{}\"", view.fleet);
    page.put("fleet_up", "Whether the fleet answers.", &fleet, 1.0);
    let states = ["at work", "leaving", "silent", "dead", "away"];
    let state_of = |state: &str| {
        let found = states.into_iter().find(|known| state.starts_with(known));
        found.unwrap_or("away")
    };
    for state in states {
        let robots = view.robots.iter();
        let robots = robots.filter(|robot| state_of(robot.state) == state);
        let labels = format!("{fleet},state=\"{state}\"");
        page.put(
            "fleet_robots",
            "Robots by what they do.",
            &labels,
            robots.count() as f64,
        );
    }
    for (name, help, value) in [
        (
            "fleet_dead_letters",
            "Messages that no robot could use.",
            view.dead_letters,
        ),
        (
            "fleet_seeds_waiting",
            "Seeds that no robot has taken yet.",
            view.seeds_waiting as u64,
        ),
        ("fleet_seeds", "Seeds.", view.seeds as u64),
    ] {
        page.put(name, help, &fleet, value as f64);
    }
    for robot in &view.robots {
        let Some(report) = &robot.report else {
            continue;
        };
        let labels = format!("{fleet},group=\"{}\",robot=\"{}\"", robot.group, robot.name);
        put_robot(&mut page, report, &labels);
        let status = &report.status;
        for (name, help, value) in [
            ("robot_requests_total", "Requests made.", status.requests),
            (
                "robot_bytes_total",
                "Bytes of bodies received.",
                status.bytes,
            ),
            (
                "robot_pages_fetched",
                "Pages with a copy.",
                status.pages_fetched,
            ),
            (
                "robot_new_waiting",
                "Pages waiting for their first visit.",
                status.new_waiting,
            ),
            (
                "robot_due_waiting",
                "Due pages waiting for their turn.",
                status.due_waiting,
            ),
            (
                "robot_refused_from_peers_total",
                "URLs and rows of other robots that were refused.",
                status.refused_from_peers,
            ),
        ] {
            page.put(name, help, &labels, value as f64);
        }
        if let Some(fresh) = status.estimated_freshness {
            let help = "Share of copies that are current, by the model.";
            page.put("robot_estimated_freshness", help, &labels, fresh);
        }
    }
    page.text()
}

/// While nobody answers.
fn silence() -> String {
    let mut page = Page::default();
    page.put("fleet_up", "Whether the fleet answers.", "", 0.0);
    page.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::picture::Shown;
    use robot::view::Status;
    use std::collections::BTreeSet;

    fn view() -> View {
        let report = Report {
            robot: "robot-1".into(),
            allowed: Some(2.5),
            servers: 3,
            status: Status {
                estimated_freshness: Some(0.5),
                ..Status::default()
            },
            ..Report::default()
        };
        let shown = |name: &str, state, report| Shown {
            name: name.into(),
            id: 1,
            group: "braga".into(),
            state,
            report,
        };
        View {
            fleet: "web".into(),
            robots: vec![
                shown("robot-1", "at work, without a lease", Some(report)),
                shown("robot-2", "silent", None),
            ],
            ..View::default()
        }
    }

    /// The names of all figures in a text of Prometheus.
    fn names(text: &str) -> BTreeSet<String> {
        let values = text.lines().filter(|line| !line.starts_with('#'));
        let names = values.filter_map(|line| line.split(['{', ' ']).next());
        names.map(str::to_owned).collect()
    }

    #[test]
    fn every_figure_is_typed_once_and_labelled() {
        let text = of_fleet(&view());
        assert!(text.contains("evercrawl_fleet_robots{fleet=\"web\",state=\"at work\"} 1\n"));
        assert!(text.contains("evercrawl_fleet_robots{fleet=\"web\",state=\"silent\"} 1\n"));
        assert!(text.contains(
            "evercrawl_robot_servers{fleet=\"web\",group=\"braga\",robot=\"robot-1\"} 3\n"
        ));
        let types: Vec<&str> = (text.lines())
            .filter(|line| line.starts_with("# TYPE"))
            .collect();
        assert_eq!(types.len(), names(&text).len(), "{types:?}");
    }

    #[test]
    fn the_dashboard_shows_figures_that_exist() {
        let path = "../../packaging/grafana/fleet.json";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let board = std::fs::read_to_string(path).unwrap();
        let board: serde_json::Value = serde_json::from_str(&board).unwrap();
        let known = names(&of_fleet(&view()));
        let mut shown = BTreeSet::new();
        for panel in board["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let words = target["expr"].as_str().unwrap();
                let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                shown.extend(
                    words
                        .filter(|word| word.starts_with("evercrawl_"))
                        .map(str::to_owned),
                );
            }
        }
        assert!(shown.len() > 10, "{shown:?}");
        let unknown: Vec<_> = shown.difference(&known).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
