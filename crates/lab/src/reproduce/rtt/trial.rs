//! One draw of robots, and how each method does.

use super::matrix::Matrix;
use netmap::approximate::{
    Embedding, Experiment, Graph, Judgement, Link, Settings, Springs, World, judge, links_of,
};
use std::collections::HashMap;

/// A way to estimate RTTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Shortest path, hosts as vertices.
    EndHosts,
    /// Shortest path, routers as vertices too.
    Routers,
    /// Coordinates as published.
    Vivaldi,
    /// Coordinates with relative springs.
    Relative,
}

/// All of them.
pub const METHODS: [Method; 4] = [
    Method::EndHosts,
    Method::Routers,
    Method::Vivaldi,
    Method::Relative,
];

impl Method {
    /// As it stands in rows and legends.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndHosts => "path over hosts",
            Self::Routers => "path over routers",
            Self::Vivaldi => "Vivaldi",
            Self::Relative => "relative springs",
        }
    }
}

/// What came of a draw.
pub struct Trial {
    pub data: &'static str,
    pub run: u64,
    pub robots: usize,
    pub judged: Vec<(Method, Judgement)>,
}

impl Trial {
    /// RTTs from a matrix, where no routers are known.
    pub fn of_matrix(
        data: &'static str,
        matrix: &Matrix,
        robots: usize,
        per_server: usize,
        run: u64,
        seed: u64,
    ) -> Self {
        let rtt = |a, b| matrix.rtt_ms(a, b);
        let experiment = Experiment::draw(matrix.hosts(), rtt, robots, per_server, seed);
        Self {
            data,
            run,
            robots,
            judged: by_pairs(&experiment, seed),
        }
    }

    /// RTTs and routes from a generated world.
    pub fn of_world(
        data: &'static str,
        world: &World,
        robots: usize,
        per_server: usize,
        run: u64,
        seed: u64,
    ) -> Self {
        let routes: Vec<Vec<Vec<usize>>> = (0..world.hosts())
            .map(|host| world.routes_from(host))
            .collect();
        let rtt = |a: usize, b: usize| Some(world.rtt_ms(a, &routes[a][b]));
        let experiment = Experiment::draw(world.hosts(), rtt, robots, per_server, seed);
        let traced = experiment.measured.iter();
        let links: Vec<Link> = traced
            .flat_map(|p| links_of(p.a, world.traced(p.a, &routes[p.a][p.b])))
            .collect();
        let mut judged = by_pairs(&experiment, seed);
        judged.push((
            Method::Routers,
            by_path(&experiment, &Graph::new(world.vertices(), &links)),
        ));
        Self {
            data,
            run,
            robots,
            judged,
        }
    }
}

/// The methods that know only measured pairs.
fn by_pairs(experiment: &Experiment, seed: u64) -> Vec<(Method, Judgement)> {
    vec![
        (Method::EndHosts, by_hosts(experiment)),
        (
            Method::Vivaldi,
            by_springs(experiment, Springs::Absolute, seed),
        ),
        (Method::Relative, by_coordinates(experiment, seed)),
    ]
}

/// Shortest paths that go through hosts only.
pub fn by_hosts(experiment: &Experiment) -> Judgement {
    let links: Vec<Link> = experiment
        .measured
        .iter()
        .map(|p| Link {
            a: p.a,
            b: p.b,
            weight_ms: p.rtt_ms,
        })
        .collect();
    by_path(experiment, &Graph::new(experiment.hosts, &links))
}

/// Coordinates with our springs.
pub fn by_coordinates(experiment: &Experiment, seed: u64) -> Judgement {
    by_springs(experiment, Springs::Relative, seed)
}

fn by_springs(experiment: &Experiment, springs: Springs, seed: u64) -> Judgement {
    let settings = Settings {
        springs,
        seed,
        ..Settings::default()
    };
    let space = Embedding::fit(experiment.hosts, &experiment.measured, &settings);
    judge(experiment, |a, b| space.rtt_ms(a, b))
}

fn by_path(experiment: &Experiment, graph: &Graph) -> Judgement {
    let from: HashMap<usize, Vec<f64>> = experiment
        .robots
        .iter()
        .map(|&robot| (robot, graph.distances_from(robot)))
        .collect();
    judge(experiment, |a, b| from[&a][b])
}

/// A method over all draws of some data.
pub struct Mean {
    quantiles: [(f64, f64); 6],
}

impl Mean {
    /// None when the method was not tried on these data.
    pub fn of(trials: &[Trial], data: &str, method: Method) -> Option<Self> {
        let own = trials.iter().filter(|trial| trial.data == data);
        let judged: Vec<&Judgement> = own
            .flat_map(|trial| &trial.judged)
            .filter(|(m, _)| *m == method)
            .map(|(_, judgement)| judgement)
            .collect();
        if judged.is_empty() {
            return None;
        }
        let mean = |value: fn(&Judgement) -> f64| {
            judged.iter().map(|j| value(j)).sum::<f64>() / judged.len() as f64
        };
        Some(Self {
            quantiles: [
                (mean(|j| j.error_p10), 0.1),
                (mean(|j| j.error_p25), 0.25),
                (mean(|j| j.error_p50), 0.5),
                (mean(|j| j.error_p75), 0.75),
                (mean(|j| j.error_p90), 0.9),
                (mean(|j| j.error_p95), 0.95),
            ],
        })
    }

    /// Errors and the share of pairs with less.
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        let least = |&(error, share): &(f64, f64)| (error.max(0.001), share);
        self.quantiles.iter().map(least).collect()
    }
}
