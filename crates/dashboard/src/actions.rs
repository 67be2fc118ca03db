//! Actions: what whoever knows the token may have the crawl do. Each is written down.

use crate::frame::{self, Place, table};
use crate::routes::{Answer, Asked, Made, Trouble};
use crate::server::Window;
use crate::words::{self, query, shown};
use frontier::scope::Seed;
use ground::calendar;
use hyper::StatusCode;
use maud::{Markup, html};
use robot::StartError;
use robot::control::Remote;
use robot::seeds::{self, SeedList};
use robot::view::Allowance;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use url::Url;

/// The log turns over at this length.
const LONGEST_LOG: u64 = 1 << 20;
/// Entries and seeds shown.
const SHOWN: usize = 50;
/// Seeds taken from one form.
const MOST_SEEDS: usize = 1000;

/// Where actions are written down.
pub(crate) fn log_file(data: &Path) -> PathBuf {
    data.join("dashboard-actions.jsonl")
}

fn write_down(
    data: &Path,
    action: &str,
    detail: &str,
    outcome: &Result<String, String>,
) -> std::io::Result<()> {
    let path = log_file(data);
    if std::fs::metadata(&path).is_ok_and(|found| found.len() > LONGEST_LOG) {
        std::fs::rename(&path, path.with_extension("jsonl.1"))?;
    }
    let (is_done, words) = match outcome {
        Ok(words) => (true, words),
        Err(words) => (false, words),
    };
    let entry = json!({
        "time": calendar::iso(words::now()), "action": action, "detail": detail, "done": is_done, "outcome": words,
    });
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(&path)?;
    writeln!(file, "{entry}")
}

/// Does what a form asks for, writes it down, and says what came of it.
pub(crate) fn act(window: &Window, asked: &Asked, what: &str) -> Made {
    let detail = match what {
        "visit" => asked.get("url").unwrap_or_default().to_owned(),
        "add-seeds" | "remove-seeds" => asked.get("seeds").unwrap_or_default().to_owned(),
        "pause" | "resume" => String::new(),
        "budget" => ["requests", "bytes", "revisits"]
            .map(|name| format!("{name} {}", asked.get(name).unwrap_or("0")))
            .join(", "),
        _ => return Err(Trouble::missing("There is no such action.")),
    };
    let outcome = match what {
        "visit" => visit(window, &detail),
        "add-seeds" => change_seeds(window, &detail, true),
        "remove-seeds" => change_seeds(window, &detail, false),
        "pause" | "resume" => pause(window, what == "pause"),
        _ => budget(window, asked),
    };
    // what was refused because of a password is not written down either
    let has_login = detail.split_whitespace().any(seeds::has_login);
    let detail = if has_login { "(withheld)" } else { &detail };
    tracing::info!(
        action = what,
        detail,
        done = outcome.is_ok(),
        "requested in the dashboard"
    );
    write_down(&window.crawl.data, what, detail, &outcome)?;
    // only to pages of our own
    let back = asked
        .get("back")
        .filter(|back| back.starts_with("/page/") && outcome.is_ok());
    Ok(match (back, &outcome) {
        (Some(back), _) => Answer::see(&format!("{back}?done=1")),
        (None, Ok(words)) => Answer::see(&format!("/actions{}", query(&[("done", words)]))),
        (None, Err(words)) => Answer::see(&format!("/actions{}", query(&[("failed", words)]))),
    })
}

fn robot(window: &Window) -> Result<Remote, String> {
    window
        .crawl
        .robot()
        .ok_or_else(|| "No robot is at work here.".to_owned())
}

fn told<T>(answer: std::io::Result<Result<T, String>>) -> Result<T, String> {
    let silent = |error: std::io::Error| format!("The robot does not answer: {error}");
    answer.map_err(silent)?
}

/// A URL that may be kept, and written down.
fn read(text: &str) -> Result<Url, String> {
    let url = seeds::read(text).map_err(|why| format!("{text}: {why}"))?;
    if seeds::has_login(text) {
        return Err(StartError::Login(url.into()).to_string());
    }
    Ok(url)
}

fn visit(window: &Window, url: &str) -> Result<String, String> {
    let url = read(url)?;
    told(robot(window)?.visit(url.as_str())).map_err(|why| format!("{url} is {why}"))?;
    Ok(format!(
        "{url} will be visited as soon as politeness allows."
    ))
}

fn pause(window: &Window, paused: bool) -> Result<String, String> {
    told(robot(window)?.pause(paused))?;
    Ok(if paused {
        "The crawl is paused."
    } else {
        "The crawl continues."
    }
    .into())
}

fn budget(window: &Window, asked: &Asked) -> Result<String, String> {
    let rate = |name: &str| {
        let given = asked.get(name).unwrap_or("0");
        let number: Option<f64> = given.parse().ok().filter(|value: &f64| value.is_finite());
        number.ok_or_else(|| format!("{given} is not a number."))
    };
    let allowance = Allowance {
        requests_per_second: rate("requests")?,
        bytes_per_second: rate("bytes")?,
        revisits: asked.get("revisits").unwrap_or_default().to_owned(),
    };
    allowance.read().map_err(|error| error.to_string())?;
    told(robot(window)?.set_budget(allowance))?;
    Ok(
        "These budgets apply until the crawl ends. The next start uses those of the configuration."
            .into(),
    )
}

fn change_seeds(window: &Window, text: &str, add: bool) -> Result<String, String> {
    let mut given = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(MOST_SEEDS)
    {
        let (url, reach) = seeds::split(line)?;
        let url = read(url)?;
        given.push(Seed { url, reach });
    }
    if given.is_empty() {
        return Err("No seed was given.".into());
    }
    let config = &window.crawl.config;
    let changed = if add {
        SeedList::change(config, |list| list.add(config, &given))
    } else {
        let urls: Vec<Url> = given.into_iter().map(|seed| seed.url).collect();
        SeedList::change(config, |list| urls.len() - list.remove(config, &urls).len())
    };
    let changed = changed.map_err(|error| error.to_string())?;
    let seeds = desk::terminal::count(changed as u64, "seed");
    let done = format!("{seeds} {}", if add { "added" } else { "removed" });
    match window.crawl.robot() {
        Some(robot) => {
            let known = told(robot.look_at_seeds())
                .map_err(|why| format!("{done}, but the crawl continues as before: {why}"))?;
            Ok(format!("{done}; the crawl has {known} now."))
        }
        None => Ok(format!("{done}, from the next start on.")),
    }
}

pub(crate) fn page(window: &Window, asked: &Asked) -> Made {
    if !window.guard.has_actions() {
        return Err(Trouble::missing(
            "Actions are off: dashboard.actions turns them on.",
        ));
    }
    let config = window.crawl.config_now();
    // as it is now: what was seen a second ago does not know of an action of just now
    let robot = window.crawl.robot();
    let now = robot.as_ref().and_then(|robot| robot.status().ok());
    let is_paused = now.is_some_and(|now| now.paused);
    let present = Allowance::of(&config);
    let body = html! {
        h1 { "Actions" }
        @if let Some(done) = asked.get("done") { p.done role="status" { (shown(done)) } }
        @if let Some(failed) = asked.get("failed") { p.alert role="alert" { (shown(failed)) } }
        @if robot.is_none() { p.quiet { "No robot is at work: only seeds can be changed now." } }
        div.columns {
            section {
                h2 { "Visit a page now" }
                form.stacked method="post" action="/actions/visit" {
                    label { "URL " input type="url" name="url" required; }
                    button { "Visit now" }
                }
            }
            section {
                h2 { @if is_paused { "Resume" } @else { "Pause" } }
                @if is_paused {
                    p.quiet { "The crawl is paused." }
                    form method="post" action="/actions/resume" { button { "Resume the crawl" } }
                } @else {
                    p.quiet { "Requests under way finish; no others are made until you resume the crawl." }
                    form method="post" action="/actions/pause" { button { "Pause the crawl" } }
                }
            }
            section {
                h2 { "Seeds" }
                form.stacked method="post" action="/actions/add-seeds" {
                    label { "URLs, one per line; a reach such as prefix may follow " textarea name="seeds" rows="3" required {} }
                    div.buttons {
                        button { "Add" }
                        button formaction="/actions/remove-seeds" { "Remove" }
                    }
                }
                ul.seeds {
                    @for seed in config.seeds.iter().take(SHOWN) { li { (shown(&seed.to_string())) } }
                    @if config.seeds.len() > SHOWN { li.quiet { "and " (config.seeds.len() - SHOWN) " more" } }
                }
            }
            section {
                h2 { "Budgets" }
                form.stacked method="post" action="/actions/budget" {
                    label { "Requests per second (0: no limit) " input type="number" name="requests" min="0" step="any" value=(present.requests_per_second); }
                    label { "Bytes per second (0: no limit) " input type="number" name="bytes" min="0" step="any" value=(present.bytes_per_second); }
                    label { "For revisits (20%, 2000/day) " input name="revisits" value=(present.revisits) required; }
                    button { "Change" }
                }
                p.quiet { "The fields show the configuration. A change applies until the crawl ends." }
            }
        }
        section {
            h2 { "Log" }
            (log(&window.crawl.data))
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Actions, "Actions", &body),
    ))
}

fn log(data: &Path) -> Markup {
    let text = robot::whole_file::read_text(&log_file(data), 2 * LONGEST_LOG).unwrap_or_default();
    let entries: Vec<Value> = (text.lines().rev().take(SHOWN))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let field = |entry: &Value, name: &str| shown(entry[name].as_str().unwrap_or_default());
    html! {
        @if entries.is_empty() {
            p.quiet { "No actions yet." }
        } @else {
            (table("Actions done", &html! {
                thead { tr { th { "Time (UTC)" } th { "Action" } th { "Detail" } th { "Outcome" } } }
                tbody {
                    @for entry in &entries {
                        tr {
                            td.time { (field(entry, "time")) }
                            td { (field(entry, "action")) }
                            td.url { (field(entry, "detail")) }
                            td { (field(entry, "outcome")) }
                        }
                    }
                }
            }))
        }
    }
}
