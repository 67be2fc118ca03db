//! Estimates against measured pairs that were held back.

use super::Pair;
use crate::sampling::quantile;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// A set of measured pairs, some of them held back. Pairs go from a robot to a host.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Hosts, of which some are robots.
    pub hosts: usize,
    /// Who measures.
    pub robots: Vec<usize>,
    /// What estimates may know: robots among each other, and a few robots for each server.
    pub measured: Vec<Pair>,
    /// What they are judged by.
    pub held_back: Vec<Pair>,
}

impl Experiment {
    /// Draws robots among the hosts, and for each server the robots that measure it; `rtt_ms` is
    /// absent for pairs nobody knows.
    pub fn draw(
        hosts: usize,
        rtt_ms: impl Fn(usize, usize) -> Option<f64>,
        robots: usize,
        per_server: usize,
        seed: u64,
    ) -> Self {
        Self::drawn(hosts, rtt_ms, robots, seed, |known, random| {
            shuffle(known, random);
            per_server
        })
    }

    /// The same with the same few robots for all servers; servers that one of them does not reach
    /// are measured by fewer.
    pub fn with_origins(
        hosts: usize,
        rtt_ms: impl Fn(usize, usize) -> Option<f64>,
        robots: usize,
        origins: usize,
        seed: u64,
    ) -> Self {
        let mut first: Option<Vec<usize>> = None;
        Self::drawn(hosts, rtt_ms, robots, seed, |known, _| {
            let chosen = first.get_or_insert_with(|| {
                let robots = known.iter().map(|pair| pair.a);
                robots.take(origins).collect()
            });
            known.sort_by_key(|pair| !chosen.contains(&pair.a));
            known.partition_point(|pair| chosen.contains(&pair.a))
        })
    }

    /// Of a server's pairs, those up to the number that `measure` gives are measured, in the order
    /// in which it leaves them.
    fn drawn(
        hosts: usize,
        rtt_ms: impl Fn(usize, usize) -> Option<f64>,
        robots: usize,
        seed: u64,
        mut measure: impl FnMut(&mut Vec<Pair>, &mut Xoshiro256PlusPlus) -> usize,
    ) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..hosts).collect();
        shuffle(&mut order, &mut random);
        let (robots, servers) = order.split_at(robots.min(hosts));
        let pair = |a, b| rtt_ms(a, b).map(|rtt_ms| Pair { a, b, rtt_ms });
        let mut measured = Vec::new();
        let mut held_back = Vec::new();
        for (k, &a) in robots.iter().enumerate() {
            measured.extend(robots[..k].iter().filter_map(|&b| pair(a, b)));
        }
        for &server in servers {
            let mut known: Vec<Pair> = robots.iter().filter_map(|&r| pair(r, server)).collect();
            let few = measure(&mut known, &mut random);
            let rest = known.split_off(few.min(known.len()));
            measured.extend(known);
            held_back.extend(rest);
        }
        Self {
            hosts,
            robots: robots.to_vec(),
            measured,
            held_back,
        }
    }
}

fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for k in (1..items.len()).rev() {
        items.swap(k, random.random_range(0..=k));
    }
}

/// How good estimates are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Pairs judged.
    pub pairs: usize,
    /// Pairs without an estimate.
    pub missing: usize,
    /// Quantiles of the relative error.
    pub error_p10: f64,
    /// The lower quarter.
    pub error_p25: f64,
    /// The median.
    pub error_p50: f64,
    /// The upper quarter.
    pub error_p75: f64,
    /// One in ten is worse.
    pub error_p90: f64,
    /// One in twenty is worse.
    pub error_p95: f64,
    /// Share of estimates within a tenth of the measured RTT.
    pub within_tenth: f64,
    /// Share of estimates within 10 ms.
    pub within_10_ms: f64,
    /// Share of servers whose nearest robot is found.
    pub best_robot: f64,
    /// How much farther the robot found is than the nearest, in milliseconds, on the average.
    pub extra_ms: f64,
}

/// Judges estimates of (robot, host) in milliseconds; not finite where there is none.
pub fn judge(experiment: &Experiment, estimate: impl Fn(usize, usize) -> f64) -> Judgement {
    let mut errors = Vec::new();
    let mut differences = Vec::new();
    // for each host, the robots as (what we believe, what is true)
    let mut choices = vec![Vec::new(); experiment.hosts];
    let mut robot = vec![false; experiment.hosts];
    for &host in &experiment.robots {
        robot[host] = true;
    }
    for pair in experiment.measured.iter().filter(|p| !robot[p.b]) {
        choices[pair.b].push((pair.rtt_ms, pair.rtt_ms));
    }
    for pair in &experiment.held_back {
        let believed = estimate(pair.a, pair.b);
        if believed.is_finite() {
            let difference = (believed - pair.rtt_ms).abs();
            errors.push(difference / pair.rtt_ms);
            differences.push(difference);
            choices[pair.b].push((believed, pair.rtt_ms));
        }
    }
    let mut found = 0;
    let mut detours = Vec::new();
    for robots in choices.iter().filter(|robots| !robots.is_empty()) {
        let by_belief = robots.iter().min_by(|x, y| x.0.total_cmp(&y.0));
        let truth = robots.iter().map(|r| r.1).fold(f64::INFINITY, f64::min);
        let chosen = by_belief.map_or(truth, |robot| robot.1);
        found += usize::from(chosen <= truth);
        detours.push(chosen - truth);
    }
    let share = |values: &[f64], limit: f64| {
        values.iter().filter(|&&v| v <= limit).count() as f64 / values.len().max(1) as f64
    };
    let error = |at| quantile(&errors, at).unwrap_or(f64::NAN);
    Judgement {
        pairs: experiment.held_back.len(),
        missing: experiment.held_back.len() - errors.len(),
        error_p10: error(0.1),
        error_p25: error(0.25),
        error_p50: error(0.5),
        error_p75: error(0.75),
        error_p90: error(0.9),
        error_p95: error(0.95),
        within_tenth: share(&errors, 0.1),
        within_10_ms: share(&differences, 10.0),
        best_robot: found as f64 / detours.len().max(1) as f64,
        extra_ms: detours.iter().sum::<f64>() / detours.len().max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(a: usize, b: usize) -> f64 {
        10.0 * a.abs_diff(b) as f64
    }

    #[test]
    fn the_same_origins_measure_all_servers() {
        let rtt = |a, b| Some(line(a, b));
        let drawn = Experiment::with_origins(50, rtt, 10, 3, 1);
        let to_servers = |p: &&Pair| !drawn.robots.contains(&p.b);
        let mut origins: Vec<usize> = (drawn.measured.iter())
            .filter(to_servers)
            .map(|p| p.a)
            .collect();
        assert_eq!(origins.len(), 40 * 3);
        origins.sort_unstable();
        origins.dedup();
        assert_eq!(origins.len(), 3);
        assert_eq!(drawn.held_back.len(), 40 * 7);
        assert!(drawn.held_back.iter().all(|p| !origins.contains(&p.a)));
    }

    fn drawn() -> Experiment {
        Experiment::draw(50, |a, b| Some(line(a, b)), 10, 3, 1)
    }

    #[test]
    fn pairs_are_either_measured_or_held_back() {
        let drawn = drawn();
        assert_eq!(drawn.robots.len(), 10);
        assert_eq!(drawn.measured.len(), 45 + 40 * 3);
        assert_eq!(drawn.held_back.len(), 40 * 7);
        let again = self::drawn();
        assert_eq!(drawn.held_back, again.held_back);
        for pair in &drawn.held_back {
            assert!(drawn.robots.contains(&pair.a) && !drawn.robots.contains(&pair.b));
            assert!(!drawn.measured.contains(pair));
        }
    }

    #[test]
    fn the_truth_is_perfect_and_twice_the_truth_is_wrong_by_one() {
        let drawn = drawn();
        let truth = judge(&drawn, line);
        assert_eq!(
            (truth.error_p95, truth.best_robot, truth.extra_ms),
            (0.0, 1.0, 0.0)
        );
        let double = judge(&drawn, |a, b| 2.0 * line(a, b));
        assert_eq!(double.error_p50, 1.0);
        assert!(double.best_robot < 1.0 && double.extra_ms > 0.0);
        let nothing = judge(&drawn, |_, _| f64::INFINITY);
        assert_eq!((nothing.missing, nothing.pairs), (280, 280));
    }
}
