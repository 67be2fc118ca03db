//! How soon the important pages are fetched, by the order of first visits.

use super::lab::Lab;
use super::national::Setting;
use super::outcome::Outcome;
use super::verdict::{Band, Estimate, Figure, LEAST_SEEDS, POINTS, Relation, Source};
use anyhow::Result;
use desk::chart::{Axis, Chart, Line, Scale, Stroke};
use desk::interrupt::{Interrupted, stop_on_interrupt};
use desk::terminal::{self, grouped};
use frontier::lines::Rules;
use frontier::order::Order;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use simulation::download::first_visits::{Had, crawl};
use simulation::download::web::Web;
use std::sync::atomic::Ordering;

const ORDERS: [(Order, &str); 4] = [
    (Order::BreadthFirst, "breadth-first"),
    (Order::Links, "links"),
    (Order::Importance, "importance"),
    (Order::LargestSite, "largest-site"),
];
/// Where the crawl begins.
const SEEDS: usize = 10;
/// Of so many hosts, those that link to most others.
const KNOWN: usize = 100;
/// What a crawl may ask for by default.
const REQUESTS_PER_SECOND: f64 = 50.0;
/// Shares of the pages at which it is asked what was had.
const AT: [f64; 3] = [0.1, 0.25, 0.5];
/// Points of a curve.
const POINTS_OF_CURVE: usize = 50;

/// One crawl.
#[derive(Serialize)]
struct Row {
    web: &'static str,
    order: &'static str,
    run: u64,
    pages: usize,
    hours: f64,
    had_at_10: f64,
    had_at_25: f64,
    had_at_50: f64,
    #[serde(skip)]
    curve: Vec<(f64, f64)>,
}

/// Runs the experiment.
pub fn run(lab: &Lab) -> Result<Outcome> {
    let mut rows = Vec::new();
    let mut words = Vec::new();
    let runs = LEAST_SEEDS as u64;
    let bar = terminal::progress("crawling", runs * ORDERS.len() as u64, false);
    let mut name = "generated";
    for run in 0..runs {
        let mut lab = lab.clone();
        lab.seed += run;
        let web = match &lab.data {
            Some(folder) => {
                name = "recorded";
                Setting::recorded(&lab, folder)?.web
            }
            None => Setting::national(&lab, false)?.web,
        };
        let worth = importance(&web);
        let seeds = seeds(&web, lab.seed);
        if words.is_empty() {
            words.push(format!(
                "{}: {} pages, {} links, {} hosts",
                match name {
                    "recorded" => "links between the hosts of the UK in 1996, recorded; which of their pages they join, drawn",
                    _ => "a generated national web",
                },
                grouped(web.pages()),
                grouped(web.links()),
                grouped(web.hosts()),
            ));
        }
        for (order, order_name) in ORDERS {
            if stop_on_interrupt().load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            let rules = Rules {
                order_of_new: order,
                requests_per_second: REQUESTS_PER_SECOND,
                ..Rules::default()
            };
            let had = crawl(&web, &seeds, rules);
            rows.push(row(name, order_name, run, &had, &worth));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(Outcome {
        title: "How soon the important pages are fetched",
        data: words.join("; ")
            + &format!("; {SEEDS} seeds drawn among the {KNOWN} hosts that link to most others, {REQUESTS_PER_SECOND} requests a second, a second between two to a host; {runs} draws"),
        seed: lab.seed,
        relations: relations(&rows),
        records: Vec::new(),
        files: vec![("rows.csv".to_owned(), written(&rows)?)],
        charts: vec![("had".to_owned(), chart(&rows))],
        notes: vec![
            "Importance: PageRank (damping 0.85) over the pages of the whole web. Had: the share of it that the pages \
             fetched so far hold, of all that are reached in the end. The crawler's own lines choose, with its default \
             politeness; `largest-site` is about who has turns, not about pages."
                .to_owned(),
        ],
    })
}

/// Home pages of hosts that link to many others: people begin at directories.
fn seeds(web: &Web, seed: u64) -> Vec<u32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let abroad = |host: u32| {
        let links = web.pages_of(host).flat_map(|page| web.links_of(page));
        links.filter(|&&to| web.host_of(to) != host).count()
    };
    let mut hosts: Vec<u32> = web.all_hosts().collect();
    hosts.sort_by_cached_key(|&host| std::cmp::Reverse(abroad(host)));
    let known = &hosts[..KNOWN.min(hosts.len())];
    let drawn = (0..SEEDS).map(|_| known[rng.random_range(0..known.len())]);
    let mut seeds: Vec<u32> = drawn.map(|host| web.pages_of(host).start).collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

/// How important all pages are, by `PageRank`.
fn importance(web: &Web) -> Vec<f64> {
    const DAMPING: f64 = 0.85;
    const ROUNDS: usize = 40;
    let pages = web.pages();
    let mut rank = vec![1.0 / pages as f64; pages];
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; pages];
        let mut kept = 0.0;
        for (page, &own) in rank.iter().enumerate() {
            let links = web.links_of(page as u32);
            if links.is_empty() {
                kept += own;
            }
            for &to in links {
                next[to as usize] += own / links.len() as f64;
            }
        }
        let base = (1.0 - DAMPING + DAMPING * kept) / pages as f64;
        for value in &mut next {
            *value = base + DAMPING * *value;
        }
        rank = next;
    }
    rank
}

fn row(web: &'static str, order: &'static str, run: u64, had: &Had, worth: &[f64]) -> Row {
    let total: f64 = had.iter().map(|&(_, page)| worth[page as usize]).sum();
    let mut sum = 0.0;
    let sums: Vec<f64> = had
        .iter()
        .map(|&(_, page)| {
            sum += worth[page as usize] / total;
            sum
        })
        .collect();
    let after = |share: f64| sums[((share * sums.len() as f64) as usize).clamp(1, sums.len()) - 1];
    let shares = (0..=POINTS_OF_CURVE).map(|k| k as f64 / POINTS_OF_CURVE as f64);
    let [had_at_10, had_at_25, had_at_50] = AT.map(after);
    Row {
        web,
        order,
        run,
        pages: had.len(),
        hours: had.last().map_or(0.0, |last| last.0) / 3600.0,
        had_at_10,
        had_at_25,
        had_at_50,
        curve: shares
            .map(|share| (share, if share > 0.0 { after(share) } else { 0.0 }))
            .collect(),
    }
}

fn estimate(rows: &[Row], order: &str, value: impl Fn(&Row) -> f64) -> Estimate {
    let own = rows.iter().filter(|row| row.order == order);
    Estimate::of(&own.map(value).collect::<Vec<_>>())
}

/// By how much an order is ahead of breadth-first, on the same webs.
fn ahead(rows: &[Row], order: &str, value: impl Fn(&Row) -> f64) -> Estimate {
    let of = |name: &str| -> Vec<f64> {
        let own = rows.iter().filter(|row| row.order == name);
        own.map(&value).collect()
    };
    let pairs = of(order).into_iter().zip(of("breadth-first"));
    Estimate::of(&pairs.map(|(own, base)| own - base).collect::<Vec<_>>())
}

fn relations(rows: &[Row]) -> Vec<Relation> {
    let values: [fn(&Row) -> f64; 3] = [
        |row| row.had_at_10,
        |row| row.had_at_25,
        |row| row.had_at_50,
    ];
    let claim = |order: &'static str| {
        let figures: Vec<Figure> = AT
            .iter()
            .zip(values)
            .map(|(share, value)| {
                let found = ahead(rows, order, value);
                Figure::new(
                    format!("{:.0} %", 100.0 * share),
                    found,
                    Band::at_least(0.0),
                )
            })
            .collect();
        Relation::judged(
            Source::Ours,
            format!("{order}: more importance than breadth-first at the same number of pages, by"),
            POINTS,
            &figures,
        )
    };
    let hours = |order| estimate(rows, order, |row| row.hours);
    let took = ORDERS.map(|(_, order)| {
        let found = hours(order);
        format!("{order} {:.1} ± {:.1} h", found.mean, found.half)
    });
    vec![
        claim("links"),
        claim("importance"),
        Relation::only(
            Source::Ours,
            "how long the whole crawl takes".to_owned(),
            took.join(", "),
            "nothing was claimed",
        ),
    ]
}

fn written(rows: &[Row]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn chart(rows: &[Row]) -> Chart {
    let lines = ORDERS
        .iter()
        .zip([Stroke::Solid, Stroke::Dashed, Stroke::Solid, Stroke::Dotted]);
    let lines = lines.map(|((_, order), stroke)| Line {
        name: (*order).to_owned(),
        points: (0..=POINTS_OF_CURVE)
            .map(|k| {
                let found = estimate(rows, order, |row| row.curve[k].1);
                (k as f64 / POINTS_OF_CURVE as f64, found.mean)
            })
            .collect(),
        stroke,
        errors: Vec::new(),
    });
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        scale: Scale::Linear,
        range: (0.0, 1.0),
    };
    Chart {
        title: "Importance gained against pages fetched".to_owned(),
        x: axis("share of the pages fetched"),
        y: axis("share of the importance gained"),
        lines: lines.collect(),
        mark: None,
    }
}
