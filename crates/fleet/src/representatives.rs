//! Who answers for a group: ⌈log₂ n⌉ of its robots, at least one, by response time and load.

use crate::identity::RobotId;

/// How many of `robots` answer for them: ⌈log₂ n⌉, at least one of one.
pub fn count(robots: usize) -> usize {
    let log = usize::BITS - robots.saturating_sub(1).leading_zeros();
    (log as usize).max(1).min(robots)
}

/// What speaks for or against a robot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Who.
    pub robot: RobotId,
    /// The median response time that its siblings measured, in milliseconds.
    pub response: f64,
    /// From 0, idle, to 1, full.
    pub load: f64,
}

/// The best ones. A present representative stays unless another is a quarter better: each change
/// has to be told to the whole group above.
pub fn choose(candidates: &[Candidate], present: &[RobotId]) -> Vec<RobotId> {
    let cost = |candidate: &Candidate| {
        let loaded = candidate.response.max(0.1) * (1.0 + 4.0 * candidate.load.clamp(0.0, 1.0));
        if present.contains(&candidate.robot) {
            loaded * 0.75
        } else {
            loaded
        }
    };
    let mut order: Vec<&Candidate> = candidates.iter().collect();
    order.sort_by(|a, b| cost(a).total_cmp(&cost(b)).then(a.robot.cmp(&b.robot)));
    let mut chosen: Vec<RobotId> = (order.iter().take(count(candidates.len())))
        .map(|candidate| candidate.robot)
        .collect();
    chosen.sort_unstable();
    chosen
}

/// Where nothing was measured: the first ones.
pub fn first(robots: &[RobotId]) -> Vec<RobotId> {
    let mut robots = robots.to_vec();
    robots.sort_unstable();
    robots.truncate(count(robots.len()));
    robots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_the_logarithm_and_the_quick_ones() {
        let counts: Vec<usize> = [0, 1, 2, 3, 4, 5, 8, 9, 1000].map(count).to_vec();
        assert_eq!(counts, [0, 1, 1, 2, 2, 3, 3, 4, 10]);
        let candidate = |robot, response, load| Candidate {
            robot: RobotId(robot),
            response,
            load,
        };
        let all = [
            candidate(1, 10.0, 0.0),
            candidate(2, 5.0, 1.0),
            candidate(3, 9.0, 0.0),
            candidate(4, 50.0, 0.0),
        ];
        assert_eq!(choose(&all, &[]), [RobotId(1), RobotId(3)]);
        // 2 costs 25 against 10: no; but 4 is not kept either
        assert_eq!(choose(&all, &[RobotId(4)]), [RobotId(1), RobotId(3)]);
        let close = [candidate(1, 10.0, 0.0), candidate(2, 9.0, 0.0)];
        assert_eq!(choose(&close, &[RobotId(1)]), [RobotId(1)]);
    }
}
