//! Budget: what the visits buy, and what more or fewer of them would.

use crate::chart::{Along, Chart, Dot};
use crate::frame::{self, Place, table, tile};
use crate::routes::{Answer, Asked, Made};
use crate::server::Window;
use crate::words::{number, percent, rough, shown};
use desk::terminal::count;
use freshness::allocate::{Allocation, Pages, Problem, allocate, freshness};
use hyper::StatusCode;
use maud::{Markup, html};
use robot::offline::{self, Offline};
use robot::overrides::Overrides;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::{HostId, Reader};

const DAY: f64 = 86_400.0;
/// What was found holds for so long.
const STALE: Duration = Duration::from_mins(1);
/// Budgets drawn, and how far they reach to both sides.
const POINTS: usize = 25;
const REACH: f64 = 30.0;
/// A step of which is told what it buys.
const STEP: f64 = 1.1;
/// Servers named.
const NAMED: usize = 10;
/// A server that is asked for so much of what it allows is at its cap.
const AT_CAP: f64 = 1.0 - 1e-6;
/// A page counts with as many rates as these, spread over what is believed of it (in standard deviations of a
/// normal distribution, tenth to ninetieth percentile): what is not known must not be taken for known.
const SPREAD: [f64; 5] = [-1.28, -0.52, 0.0, 0.52, 1.28];
/// The ends of an interval of 95 % are as far from the middle.
const END: f64 = 1.96;

/// The copies, as the model sees them: all, or a sample.
pub(crate) struct Model {
    rate: Vec<f64>,
    server: Vec<u32>,
    /// Visits a day that each server allows.
    caps: Vec<f64>,
    hosts: Vec<HostId>,
    /// The share of copies that this is, and how often each of them counts.
    share: f64,
    scale: f64,
    copies: u64,
}

/// Rates that stand for one that is not known better: the middle, and the ends of its interval.
fn spread([middle, low, high]: [f64; 3]) -> [f64; SPREAD.len()] {
    let step = |end: f64| ((end / middle).ln() / END).abs();
    SPREAD.map(|far| {
        if middle <= 0.0 || low <= 0.0 || !high.is_finite() {
            return middle.max(0.0);
        }
        middle * (far * step(if far < 0.0 { low } else { high })).exp()
    })
}

/// What was found, and when.
#[derive(Clone)]
pub(crate) struct Found {
    at: Instant,
    model: Arc<Model>,
    curve: Arc<Vec<(f64, f64)>>,
    present: Option<f64>,
}

/// What a budget buys.
struct Bought {
    freshness: f64,
    at_cap: Vec<HostId>,
}

impl Model {
    fn read(window: &Window, reader: &Reader) -> storage::Result<Self> {
        let offline = Offline::read(&window.crawl.data, &window.crawl.config)?;
        let rates = offline.rates();
        let copies = offline.status().pages_fetched;
        let overrides = Overrides::new(&window.crawl.config).unwrap_or_default();
        let pages = reader.host_pages()?;
        let share = (rates.len() as f64 / copies.max(1) as f64).min(1.0);
        let mut model = Self {
            share,
            scale: share * SPREAD.len() as f64,
            rate: Vec::with_capacity(rates.len()),
            server: Vec::with_capacity(rates.len()),
            caps: Vec::new(),
            hosts: Vec::new(),
            copies,
        };
        let mut numbers: HashMap<HostId, u32> = HashMap::new();
        for (host, rate) in rates {
            let server = *numbers.entry(host).or_insert_with(|| {
                let counted = pages
                    .get(host.0 as usize)
                    .map_or(1, |pages| pages.all() as u32);
                let row = reader.host(host).ok().flatten();
                let interval = row.map_or(1.0, |row| {
                    offline::host_view(&row.name, &row.blob, counted, &overrides, "").interval
                });
                model.caps.push(DAY / interval * model.scale);
                model.hosts.push(host);
                model.hosts.len() as u32 - 1
            });
            model.rate.extend(spread(rate));
            model.server.extend([server; SPREAD.len()]);
        }
        Ok(model)
    }

    /// Visits a day that all servers together allow.
    fn capacity(&self) -> f64 {
        self.caps.iter().sum::<f64>() / self.scale
    }

    /// What so many visits a day buy at best, within politeness.
    fn buy(&self, visits: f64) -> anyhow::Result<Bought> {
        let pages = Pages {
            rate: &self.rate,
            weight: None,
        };
        let problem = Problem {
            pages,
            server: &self.server,
            caps: &self.caps,
            budget: visits.min(self.capacity()) * self.scale * (1.0 - 1e-9),
        };
        let plan = allocate(&problem, Allocation::OptPolite)?;
        let mut asked = vec![0.0; self.caps.len()];
        for (&server, visits) in self.server.iter().zip(&plan.frequency) {
            asked[server as usize] += visits;
        }
        let at_cap = asked.iter().zip(&self.caps).zip(&self.hosts);
        let at_cap =
            at_cap.filter(|((asked, cap), _)| cap.is_finite() && **asked >= **cap * AT_CAP);
        Ok(Bought {
            freshness: freshness(pages, &plan.frequency),
            at_cap: at_cap.map(|(_, host)| *host).collect(),
        })
    }
}

fn find(window: &Window, reader: &Reader) -> anyhow::Result<Found> {
    let cache = &window.cache.budget;
    if let Ok(kept) = cache.lock()
        && let Some(found) = kept.as_ref().filter(|found| found.at.elapsed() < STALE)
    {
        return Ok(found.clone());
    }
    let status = window.pulse.status();
    let model = Model::read(window, reader)?;
    let present =
        (status.running && status.revisit_budget > 0.0).then_some(status.revisit_budget * DAY);
    let middle = present.unwrap_or_else(|| (model.rate.iter().sum::<f64>() / model.scale).max(1.0));
    let most = model.capacity().min(middle * REACH);
    let least = (middle / REACH).min(most / 2.0);
    let mut curve = Vec::new();
    if !model.rate.is_empty() && least > 0.0 && most.is_finite() {
        let step = (most / least).ln() / (POINTS - 1) as f64;
        for k in 0..POINTS {
            let visits = least * (step * k as f64).exp();
            curve.push((visits, model.buy(visits)?.freshness));
        }
    }
    let found = Found {
        at: Instant::now(),
        model: Arc::new(model),
        curve: Arc::new(curve),
        present,
    };
    if let Ok(mut kept) = cache.lock() {
        *kept = Some(found.clone());
    }
    Ok(found)
}

pub(crate) fn page(window: &Window, asked: &Asked) -> Made {
    let reader = window.crawl.reader()?;
    let found = find(window, &reader)?;
    let status = window.pulse.status();
    let wanted = asked
        .number("budget")
        .filter(|wanted: &f64| wanted.is_finite() && *wanted > 0.0);
    let body = html! {
        h1 { "Budget" }
        @if found.curve.is_empty() {
            p.empty { "Nothing to plan yet: there are no copies." }
        } @else {
            (what_if(&found, wanted))
            div id="budget" data-live="requests" {
                @let bought = wanted.or(found.present).map(|visits| bought(&found, &reader, visits, wanted.is_some()));
                @let (tiles, servers) = bought.transpose()?.unwrap_or_default();
                (tiles)
                section {
                    h2 { "Freshness against visits" }
                    (curve(&found, wanted, status.estimated_freshness))
                    p.quiet {
                        "The line is the best that any schedule can reach in the long run with this many revisits a day, within each server's interval, if pages change as the model believes. "
                        @if found.present.is_some() { "The point is what the crawl is estimated to have now. " }
                        @if found.model.share < 1.0 {
                            "Based on a sample of " (number((found.model.rate.len() / SPREAD.len()) as u64)) " of " (count(found.model.copies, "copy")) "."
                        }
                    }
                }
                (servers)
            }
        }
    };
    Ok(Answer::page(
        StatusCode::OK,
        frame::page(window, Place::Budget, "Budget", &body),
    ))
}

fn what_if(found: &Found, wanted: Option<f64>) -> Markup {
    let middle = || two_digits(found.curve[found.curve.len() / 2].0);
    let shown = wanted.or(found.present).unwrap_or_else(middle);
    let ends = (
        found.curve[0].0.log10(),
        found.curve[found.curve.len() - 1].0.log10(),
    );
    html! {
        form.filter.whatif method="get" action="/budget" data-look {
            label { "What if there were "
                input id="budget-number" type="number" name="budget" min="0.001" step="any" value=(format!("{shown:.0}"));
                " revisits a day?"
            }
            input type="range" aria-label="Revisits a day" min=(format!("{:.3}", ends.0)) max=(format!("{:.3}", ends.1)) step="0.01"
                value=(format!("{:.2}", shown.max(1e-9).log10())) data-twin="budget-number";
            button { "Show" }
        }
        p.quiet id="present" data-found {
            "This is only a calculation. The crawl does not change."
            @if wanted.is_some() && found.present.is_some() { " " a href="/budget" { "Back to the present budget" } }
            @if found.present.is_none() { " No robot is at work, so there is no present budget." }
        }
    }
}

/// What a budget buys in figures, and the servers that stand in the way.
fn bought(
    found: &Found,
    reader: &Reader,
    visits: f64,
    is_wish: bool,
) -> anyhow::Result<(Markup, Markup)> {
    let model = &found.model;
    let now = model.buy(visits)?;
    let more = model.buy(visits * STEP)?.freshness - now.freshness;
    let copies = more * model.copies as f64 / (visits * (STEP - 1.0));
    let names: Vec<String> = (now.at_cap.iter().take(NAMED))
        .filter_map(|&host| Some(reader.host(host).ok()??.name))
        .collect();
    let is_all = visits >= model.capacity();
    let compared = found.present.filter(|_| is_wish);
    let compared = compared.map(|present| model.buy(present)).transpose()?;
    let tiles = html! {
        section.tiles {
            (tile(if is_wish { "If there were" } else { "Budget" }, &rough(visits), &html! {
                p { "revisits a day" @if is_all { "; politeness allows " (rough(model.capacity())) } }
            }))
            (tile("Buys at best", &percent(now.freshness), &html! {
                @match compared {
                    Some(before) => p { (points(now.freshness - before.freshness)) " against the present budget" },
                    None => p { "freshness in the long run" },
                }
            }))
            (tile("10 % more buys", &points(more), &html! { p { "of freshness" } }))
            @let (price, visits) = price(copies);
            (tile("Price", &price, &html! { p { "more current copies for " (count(visits, "more visit")) " a day" } }))
            (tile("Servers at their cap", &number(now.at_cap.len() as u64), &html! {
                p { "of " (number(model.hosts.len() as u64)) }
            }))
        }
    };
    let servers = html! {
        @if !names.is_empty() {
            section {
                h2 { "Servers at their cap" }
                p.quiet { "More visits would go to them if their interval allowed it." }
                (table("Servers at their cap", &html! { @for name in &names { tr { td.url { (shown(name)) } } } }))
                @if now.at_cap.len() > NAMED { p.quiet { "and " (number((now.at_cap.len() - NAMED) as u64)) " more" } }
            }
        }
    };
    Ok((tiles, servers))
}

/// What one visit a day buys, told for as many as make a difference.
fn price(copies: f64) -> (String, u64) {
    let visits = (0..6).map(|power| 10u64.pow(power));
    let enough = visits.clone().find(|&visits| copies * visits as f64 >= 0.1);
    let visits = enough.unwrap_or(100_000);
    (rough(copies * visits as f64), visits)
}

/// A round number nearby.
fn two_digits(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

fn points(share: f64) -> String {
    format!("{:+.2} points", 100.0 * share).replace('-', "−")
}

fn curve(found: &Found, wanted: Option<f64>, freshness: Option<f64>) -> Markup {
    let line = found.curve.as_ref().clone();
    let x = (line[0].0, line[line.len() - 1].0);
    let mut dots = Vec::new();
    if let (Some(present), Some(freshness)) = (found.present, freshness) {
        dots.push(Dot {
            at: (present, freshness),
            text: format!("now: {}", percent(freshness)),
        });
    }
    if let Some(wanted) = wanted
        && let Ok(bought) = found.model.buy(wanted)
    {
        dots.push(Dot {
            at: (wanted, bought.freshness),
            text: format!("what if: {}", percent(bought.freshness)),
        });
    }
    let lowest = line
        .iter()
        .map(|point| point.1)
        .chain(dots.iter().map(|dot| dot.at.1))
        .fold(1.0, f64::min);
    Chart {
        label: "Freshness against revisits a day".into(),
        along: Along::Factors,
        x,
        y: (
            if lowest < 0.5 {
                0.0
            } else {
                (lowest * 10.0).floor() / 10.0
            },
            1.0,
        ),
        unit: |value| format!("{:.0} %", 100.0 * value),
        lines: vec![line],
        robots: Vec::new(),
        bands: Vec::new(),
        dots,
        height: 280.0,
    }
    .draw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_spread_over_their_interval() {
        let rates = spread([1.0, 0.01, 10.0]);
        assert!(rates.is_sorted() && rates[2] == 1.0, "{rates:?}");
        assert!(rates[0] > 0.01 && rates[4] < 10.0, "{rates:?}");
        assert_eq!(spread([2.0, 2.0, 2.0]), [2.0; 5]);
        assert_eq!(spread([0.0, 0.0, f64::INFINITY]), [0.0; 5]);
        assert!((two_digits(1_637_583.0) - 1.6e6).abs() < 1.0);
        assert_eq!(price(0.0042), ("0.42".into(), 100));
        assert_eq!(price(0.0), ("0".into(), 100_000));
    }

    #[test]
    fn a_budget_buys_what_the_servers_allow() {
        // a quick page on a slow server, a slow page on a quick one
        let model = Model {
            rate: vec![10.0, 0.1],
            server: vec![0, 1],
            caps: vec![1.0, 100.0],
            hosts: vec![HostId(7), HostId(8)],
            share: 1.0,
            scale: 1.0,
            copies: 2,
        };
        let (little, much) = (model.buy(0.5).unwrap(), model.buy(1e9).unwrap());
        assert!(little.freshness < much.freshness);
        assert_eq!(model.capacity(), 101.0);
        assert!(much.at_cap.contains(&HostId(7)), "{:?}", much.at_cap);
        // (1 - e^-λ/f) f/λ for each
        let kept = |times: f64| (1.0 - (-times).exp()) / times;
        let limit = kept(10.0).midpoint(kept(0.001));
        assert!(
            (much.freshness - limit).abs() < 1e-3,
            "{} {limit}",
            much.freshness
        );
    }
}
