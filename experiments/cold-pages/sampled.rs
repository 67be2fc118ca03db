//! Orders of first visits by what a page's path foretells: a model of the default policy.
//!
//!   rustc --edition 2021 -O sampled.rs && ./sampled SEEDS ORDERS NAME=CHANGES.csv …
//!
//! As `orders.py`, faster and with more orders. Visits come evenly, tell when a page last changed, and go to pages
//! never visited first, then to the largest index of a Poisson page.

use std::collections::HashMap;
use std::f64::consts::TAU;

const PARENT: f64 = 4.0; // what is around a folder counts as so many pages
const SHAPE: f64 = 2.0; // of the tail of ages, in tests

struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Self {
        let mut own = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1);
        for _ in 0..8 {
            own.next();
        }
        own
    }
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (TAU * self.unit()).cos()
    }
    /// Gamma of a shape of at least one (Marsaglia and Tsang).
    fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

struct History {
    name: String,
    pages: Vec<(String, Vec<f64>)>,
    start: f64,
    end: f64,
}

fn load(name: &str, file: &str) -> History {
    let text = std::fs::read_to_string(file).expect("a readable file");
    let mut of: HashMap<&str, Vec<f64>> = HashMap::new();
    for line in text.lines().skip(1) {
        let (item, at) = line.rsplit_once(',').expect("two columns");
        of.entry(item.trim_matches('"')).or_default().push(at.parse().expect("seconds"));
    }
    let mut pages: Vec<(String, Vec<f64>)> = of.into_iter().map(|(n, a)| (n.to_owned(), a)).collect();
    pages.sort_by(|a, b| a.0.cmp(&b.0));
    for (_, at) in &mut pages {
        at.sort_by(f64::total_cmp);
    }
    let start = pages.iter().map(|p| p.1[0]).fold(f64::INFINITY, f64::min);
    let end = pages.iter().map(|p| *p.1.last().unwrap()).fold(0.0, f64::max);
    History { name: name.to_owned(), pages, start, end }
}

/// Features of a page: kind and number of each value. Kind 0: folders, nested; 1: extension; 2: file name.
fn features(name: &str, kinds: usize, known: &mut HashMap<String, usize>, of_kind: &mut Vec<usize>) -> Vec<usize> {
    let mut own = Vec::new();
    let mut one = |kind: usize, key: String| {
        let next = known.len();
        let id = *known.entry(key).or_insert(next);
        if id == next {
            of_kind.push(kind);
        }
        own.push(id);
    };
    let parts: Vec<&str> = name.split('/').collect();
    for k in 1..parts.len() {
        one((k - 1).min(3), parts[..k].join("/"));
    }
    let file = parts[parts.len() - 1];
    if kinds > 1 {
        one(4, format!("ext:{}", file.rsplit_once('.').map_or("", |p| p.1)));
    }
    if kinds > 2 {
        one(5, format!("name:{file}"));
    }
    own
}
const KINDS: usize = 6;

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Random,
    Folders,
    Tested(f64),
    /// The folder model has wealth: a page by folders with chance wealth / (wealth + against).
    Wealth(f64),
    /// As that, but sure: by folders only while wealth > so much.
    WealthSure(f64),
    /// A sample of effects from their posterior, their variances learnt; with so many kinds of features.
    Thompson(usize),
    /// The mean of samples.
    Mean(usize),
    /// The best by a sample of effects among so many that wait, drawn at random.
    Few(usize),
    /// As that, and the longer a page was there the older its contents may be: with a slope that is learnt.
    Aged(usize),
    /// The page that was made first.
    Breadth,
    /// Only as far as effects are credible: mean less z deviations.
    Credible(f64),
}

fn order(text: &str) -> Order {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let value: f64 = value.parse().expect("a number");
    match name {
        "random" => Order::Random,
        "folders" => Order::Folders,
        "tested" => Order::Tested(value),
        "wealth" => Order::Wealth(value),
        "sure" => Order::WealthSure(value),
        "thompson" => Order::Thompson(value as usize),
        "mean" => Order::Mean(value as usize),
        "aged" => Order::Aged(value as usize),
        "breadth" => Order::Breadth,
        "few" => Order::Few(value as usize),
        "credible" => Order::Credible(value),
        _ => panic!("no such order"),
    }
}

/// A Gibbs chain over log ages = mean + effects of features + noise.
struct Chain {
    mean: f64,
    effect: Vec<f64>,
    kind: Vec<usize>,
    variance: [f64; KINDS],
    noise: f64,
    seen: Vec<(f64, Vec<usize>)>,
    by_feature: Vec<Vec<usize>>,
    residual: Vec<f64>,
    slope: f64,
    x: Vec<f64>,
    centre: f64,
    averaged: Vec<f64>,
    squared: Vec<f64>,
    weight: f64,
}

impl Chain {
    fn new(kind: Vec<usize>, mean: f64) -> Self {
        let n = kind.len();
        Self { mean, effect: vec![0.0; n], kind, variance: [0.05; KINDS], noise: 2.0, seen: Vec::new(), by_feature: vec![Vec::new(); n],
            residual: Vec::new(), slope: 0.0, x: Vec::new(), centre: 0.0, averaged: vec![0.0; n], squared: vec![0.0; n], weight: 0.0 }
    }
    fn observe(&mut self, log: f64, features: &[usize], x: f64) {
        let id = self.seen.len();
        if id == 0 {
            self.centre = x;
        }
        self.x.push(x - self.centre);
        let foretold = self.mean + self.slope * (x - self.centre) + features.iter().map(|&f| self.effect[f]).sum::<f64>();
        self.residual.push(log - foretold);
        self.seen.push((log, features.to_vec()));
        for &f in features {
            self.by_feature[f].push(id);
        }
    }
    fn sweep(&mut self, rng: &mut Rng) {
        let n = self.seen.len() as f64;
        if n == 0.0 {
            return;
        }
        // the mean, with a wide prior
        let sum: f64 = self.residual.iter().sum();
        let new = self.mean + sum / n + rng.normal() * (self.noise / n).sqrt();
        let moved = new - self.mean;
        self.residual.iter_mut().for_each(|r| *r -= moved);
        self.mean = new;
        if self.x.iter().any(|&x| x != 0.0) {
            let old = self.slope;
            let cross: f64 = self.x.iter().zip(&self.residual).map(|(x, r)| x * (r + old * x)).sum();
            let precision = self.x.iter().map(|x| x * x).sum::<f64>() / self.noise + 1.0;
            self.slope = cross / self.noise / precision + rng.normal() / precision.sqrt();
            let moved = self.slope - old;
            for (r, x) in self.residual.iter_mut().zip(&self.x) {
                *r -= moved * x;
            }
        }
        let mut squares = [0.0; KINDS];
        let mut counts = [0.0; KINDS];
        for f in 0..self.effect.len() {
            let own = &self.by_feature[f];
            let variance = self.variance[self.kind[f]];
            if own.is_empty() {
                // unseen: from the prior
                self.effect[f] = rng.normal() * variance.sqrt();
                continue;
            }
            let old = self.effect[f];
            let sum: f64 = own.iter().map(|&k| self.residual[k] + old).sum();
            let precision = own.len() as f64 / self.noise + 1.0 / variance;
            let new = sum / self.noise / precision + rng.normal() / precision.sqrt();
            for &k in own {
                self.residual[k] -= new - old;
            }
            self.effect[f] = new;
            squares[self.kind[f]] += new * new;
            counts[self.kind[f]] += 1.0;
        }
        // inverse gamma, a prior of two effects of deviation 0.2
        for k in 0..KINDS {
            let shape: f64 = 1.0 + counts[k] / 2.0;
            let rate = 0.04 + squares[k] / 2.0;
            self.variance[k] = rate / rng.gamma(shape);
        }
        let rate = 2.0 + self.residual.iter().map(|r| r * r).sum::<f64>() / 2.0;
        self.noise = rate / rng.gamma(2.0 + n / 2.0);
        // what was sampled, forgetting
        self.weight = 0.98 * self.weight + 1.0;
        for f in 0..self.effect.len() {
            self.averaged[f] = 0.98 * self.averaged[f] + self.effect[f];
            self.squared[f] = 0.98 * self.squared[f] + self.effect[f] * self.effect[f];
        }
    }
    fn score(&self, features: &[usize], order: Order) -> f64 {
        match order {
            Order::Thompson(_) | Order::Few(_) | Order::Aged(_) => features.iter().map(|&f| self.effect[f]).sum(),
            Order::Mean(_) => features.iter().map(|&f| if self.by_feature[f].is_empty() { 0.0 } else { self.averaged[f] }).sum(),
            _ => 0.0,
        }
    }
}

fn simulate(history: &History, per_change: f64, order: Order, made: bool, seed: u64) -> f64 {
    let undated = matches!(order, Order::Thompson(k) if k > 10);
    let mut rng = Rng::new(seed);
    let pages = history.pages.len();
    let mut shuffled: Vec<usize> = (0..pages).collect();
    for k in (1..pages).rev() {
        shuffled.swap(k, (rng.next() % (k as u64 + 1)) as usize);
    }
    let changes: Vec<&[f64]> = shuffled.iter().map(|&p| &history.pages[p].1[..]).collect();
    let kinds = match order {
        Order::Thompson(kinds) | Order::Mean(kinds) => kinds % 10,
        Order::Few(_) | Order::Aged(_) => 3,
        _ => 1,
    };
    let (mut known, mut kind) = (HashMap::new(), Vec::new());
    let within: Vec<Vec<usize>> = shuffled.iter().map(|&p| features(&history.pages[p].0, kinds, &mut known, &mut kind)).collect();
    let (start, end) = (history.start, history.end);
    let visits = (per_change * changes.iter().map(|c| c.len() as f64).sum::<f64>()) as usize;
    let step = (end - start) / visits as f64;
    let round = pages as f64 * step;
    let mut sums = vec![0.0; kind.len()];
    let mut counts = vec![0.0; kind.len()];
    let mut total = (round.ln(), 1.0);
    let mut chain = Chain::new(kind, round.ln());
    let (mut events, mut exposure) = (vec![0.0; pages], vec![0.0; pages]);
    let mut last: Vec<Option<f64>> = vec![None; pages];
    let mut visited: Vec<usize> = Vec::new();
    let (mut all_events, mut all_exposure, mut fresh, mut ahead) = (0.0, 0.0, 0.0, 0.0f64);
    let mut waiting: Vec<usize> = (0..pages).collect();
    let mut spread = (0.0f64, 1.0f64); // of log ages
    let known = |p: usize, now: f64| (now - if made { changes[p][0] } else { start }).max(86400.0).ln();
    for visit in 0..visits {
        let now = start + (visit as f64 + 0.5) * step;
        let there = |p: usize| !made || changes[p][0] <= now;
        let lasted = |p: usize, sums: &[f64], counts: &[f64], total: (f64, f64)| {
            let mut mean = total.0 / total.1;
            for &f in &within[p] {
                mean = (PARENT * mean + sums[f]) / (PARENT + counts[f]);
            }
            mean
        };
        let by_folder = match order {
            Order::Random => false,
            Order::Folders => true,
            Order::Tested(lead) => ahead >= lead,
            Order::Wealth(against) => {
                let wealth = ahead.min(50.0).exp();
                rng.unit() < wealth / (wealth + against)
            }
            Order::WealthSure(least) => ahead > least.ln(),
            _ => true,
        };
        waiting.retain(|&p| last[p].is_none());
        let mut page = None;
        if by_folder {
            let mut best = f64::NEG_INFINITY;
            let mut candidates: Vec<usize> = waiting.iter().copied().filter(|&p| there(p)).collect();
            if let Order::Few(most) | Order::Aged(most) = order {
                for k in 0..most.min(candidates.len()) {
                    let other = k + (rng.next() % (candidates.len() - k) as u64) as usize;
                    candidates.swap(k, other);
                }
                candidates.truncate(most);
            }
            for &p in &candidates {
                {
                    let score = match order {
                        Order::Breadth => -changes[p][0],
                        Order::Thompson(_) | Order::Mean(_) | Order::Few(_) | Order::Aged(_) => chain.score(&within[p], order) + if matches!(order, Order::Aged(_)) { chain.slope * (known(p, now) - chain.centre) } else { 0.0 },
                        Order::Credible(z) => {
                            // nested means with their deviations: pooled variance over what is counted
                            let (mut mean, mut weight) = (0.0, 0.0f64);
                            let base = total.0 / total.1;
                            for &f in &within[p] {
                                if counts[f] > 0.0 && counts[f] < total.1 - 1.0 {
                                    mean = (PARENT * mean + sums[f] - counts[f] * base) / (PARENT + counts[f]);
                                    weight = PARENT + counts[f];
                                }
                            }
                            if weight == 0.0 {
                                0.0
                            } else {
                                let deviation = (spread.0 / spread.1 / weight).sqrt();
                                (mean - z * deviation).max(0.0) - (-mean - z * deviation).max(0.0)
                            }
                        }
                        _ => lasted(p, &sums, &counts, total),
                    };
                    if score > best + 1e-12 {
                        best = score;
                        page = Some(p);
                    }
                }
            }
        } else {
            page = waiting.iter().copied().find(|&p| there(p));
        }
        if page.is_none() {
            let mean = (all_events + 1.0) / (all_exposure + round);
            let mut most = -1.0;
            for &p in &visited {
                let rate = (1.0 + events[p]) / (1.0 / mean + exposure[p]);
                let since = now - last[p].unwrap();
                let gain = 1.0 / rate - (since + 1.0 / rate) * (-rate * since).exp();
                if gain > most {
                    most = gain;
                    page = Some(p);
                }
            }
        }
        let Some(page) = page else { continue };
        let at = changes[page];
        let upcoming = at.partition_point(|&a| a <= now);
        let until = at.get(upcoming).copied().unwrap_or(end);
        let seen;
        match last[page] {
            None => {
                visited.push(page);
                fresh += until - now;
                if upcoming > 0 {
                    let age = now - at[upcoming - 1];
                    seen = age;
                    let log = age.max(1.0).ln();
                    let foretold = |m: f64| -m - (SHAPE + 1.0) * (age / m.exp()).ln_1p();
                    ahead += foretold(lasted(page, &sums, &counts, total)) - foretold(total.0 / total.1);
                    if matches!(order, Order::Wealth(_) | Order::WealthSure(_)) {
                        ahead = ahead.max(-5.0);
                    }
                    spread.0 += (log - total.0 / total.1).powi(2);
                    spread.1 += 1.0;
                    for &f in &within[page] {
                        sums[f] += log;
                        counts[f] += 1.0;
                    }
                    total.0 += log;
                    total.1 += 1.0;
                    events[page] += 1.0;
                    all_events += 1.0;
                    if matches!(order, Order::Thompson(_) | Order::Mean(_) | Order::Few(_) | Order::Aged(_)) {
                        chain.observe(log, &within[page], if matches!(order, Order::Aged(_)) { known(page, now) } else { 0.0 });
                    }
                } else {
                    seen = 0.0;
                    if undated && matches!(order, Order::Thompson(_) | Order::Mean(_) | Order::Few(_) | Order::Aged(_)) {
                        // as old as anything can be
                        chain.observe((now - start).max(1.0).ln(), &within[page], 0.0);
                    }
                }
            }
            Some(before) => {
                if upcoming > at.partition_point(|&a| a <= before) {
                    fresh += until - now;
                    seen = now - at[upcoming - 1];
                    events[page] += 1.0;
                    all_events += 1.0;
                } else {
                    seen = now - before;
                }
            }
        }
        exposure[page] += seen;
        all_exposure += seen;
        last[page] = Some(now);
        if matches!(order, Order::Thompson(_) | Order::Mean(_) | Order::Few(_) | Order::Aged(_)) && !waiting.is_empty() {
            chain.sweep(&mut rng);
        }
    }
    fresh / changes.iter().map(|at| end - if made { at[0] } else { start }).sum::<f64>()
}

fn frequency(rate: f64, price: f64) -> f64 {
    if rate <= 0.0 || price * rate >= 1.0 {
        return 0.0;
    }
    let (mut low, mut high) = (1e-9, 60.0);
    for _ in 0..50 {
        let middle: f64 = (low + high) / 2.0;
        if 1.0 - (1.0 + middle) * (-middle).exp() < price * rate { low = middle } else { high = middle }
    }
    rate / low
}

fn hindsight(history: &History, per_change: f64, made: bool, seed: u64) -> f64 {
    let mut rng = Rng::new(seed);
    let (start, end) = (history.start, history.end);
    let all: f64 = history.pages.iter().map(|p| p.1.len() as f64).sum();
    let visits = (per_change * all).floor();
    let begins: Vec<f64> = history.pages.iter().map(|p| if made { p.1[0] } else { start }).collect();
    let lives: Vec<f64> = begins.iter().map(|b| (end - b).max(1.0)).collect();
    let rates: Vec<f64> = history.pages.iter().zip(&lives)
        .map(|(p, life)| if made { (p.1.len() as f64 - 1.0).max(0.5) } else { p.1.len() as f64 } / life).collect();
    let (mut low, mut high) = (1e-3f64, 1e13f64);
    let mut price = 0.0;
    for _ in 0..60 {
        price = (low * high).sqrt();
        let spent: f64 = rates.iter().zip(&lives).map(|(&r, l)| l * frequency(r, price)).sum();
        if spent > visits { low = price } else { high = price }
    }
    let mut fresh = 0.0;
    for ((page, &begin), &rate) in history.pages.iter().zip(&begins).zip(&rates) {
        let often = frequency(rate, price);
        if often == 0.0 { continue }
        let at = &page.1;
        let mut now = begin + rng.unit() / often;
        while now < end {
            let upcoming = at.partition_point(|&a| a <= now);
            fresh += at.get(upcoming).copied().unwrap_or(end).min(end).min(now + 1.0 / often) - now;
            now += 1.0 / often;
        }
    }
    fresh / lives.iter().sum::<f64>()
}

fn estimate(found: &[f64]) -> (f64, f64) {
    let n = found.len() as f64;
    let mean = found.iter().sum::<f64>() / n;
    let spread = (found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    (mean, 2.0 * spread)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seeds: u64 = arguments[0].parse().expect("a number of seeds");
    let orders: Vec<&str> = arguments[1].split(',').collect();
    println!("history,visits_per_change,world,order,freshness,ci95,against_random,ci95_against,of_the_distance");
    for argument in &arguments[2..] {
        let (name, file) = argument.split_once('=').expect("NAME=FILE");
        let history = load(name, file);
        for world in ["all", "made"] {
            for per_change in [0.1, 0.25] {
                let made = world == "made";
                let each = |value: &dyn Fn(u64) -> f64| -> Vec<f64> { (1..=seeds).map(value).collect() };
                let random = each(&|s| simulate(&history, per_change, Order::Random, made, s));
                let cho = each(&|s| hindsight(&history, per_change, made, s));
                let (base, base_half) = estimate(&random);
                let (best, best_half) = estimate(&cho);
                println!("{},{per_change},{world},random,{base:.5},{base_half:.5},,,", history.name);
                println!("{},{per_change},{world},merge-cho,{best:.5},{best_half:.5},{:.5},,", history.name, best - base);
                for text in &orders {
                    let own = each(&|s| simulate(&history, per_change, order(text), made, s));
                    let (mean, half) = estimate(&own);
                    let (ahead, ahead_half) = estimate(&own.iter().zip(&random).map(|(a, b)| a - b).collect::<Vec<_>>());
                    println!("{},{per_change},{world},{text},{mean:.5},{half:.5},{ahead:+.5},{ahead_half:.5},{:.2}", history.name, ahead / (best - base));
                }
            }
        }
    }
}
