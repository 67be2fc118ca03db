use crate::demand::Curve;
use crate::identity::{GroupId, Millis, RobotId, Session};
use crate::io::{Input, Outcome, Output, Tail};
use crate::key::{Key, Lease, Progress, Quiet, Value, What};
use crate::robot::{Robot, Settings};
use std::collections::{BTreeMap, VecDeque};

const GROUP: GroupId = GroupId(1);

fn read(what: What, revision: u64, value: Value) -> Input {
    let key = Key { group: GROUP, what };
    Input::Read {
        key,
        revision,
        value,
    }
}

fn quiet(round: u64, reached: bool) -> Input {
    read(What::Quiet, round, Value::Quiet(Quiet { round, reached }))
}

/// The lease of another robot.
fn lease(nonce: u64) -> Input {
    let robot = RobotId(9);
    let lease = Lease {
        session: Session {
            robot,
            incarnation: 1,
        },
        nonce,
        sealed: false,
        leaving: false,
        capacity: 1,
        load: 0,
        responses: BTreeMap::new(),
        progress: Progress::default(),
    };
    read(What::Lease(robot), nonce, Value::Lease(lease))
}

/// A robot without anything to do that was started when a crawl had ended.
struct Newcomer(Robot, Millis);

impl Newcomer {
    fn start() -> Self {
        let robot = Robot::new(Settings::new(RobotId(8), vec![GROUP]), 1, 0, &[]);
        let mut newcomer = Self(robot, 0);
        newcomer.hear(quiet(7, true));
        newcomer.hear(lease(1));
        newcomer
    }

    /// What it hears, and that it has nothing to do, while time passes and all its wishes come true.
    fn hear(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        for _ in 0..10 {
            let idle = Input::Load {
                demand: Curve::default(),
                idle: true,
            };
            inputs.extend([Input::Tick, idle]);
            while let Some(input) = inputs.pop_front() {
                let outputs = self.0.handle(self.1, input);
                inputs.extend(outputs.into_iter().filter_map(answer));
            }
            self.1 += 200;
        }
    }
}

fn answer(output: Output) -> Option<Input> {
    Some(match output {
        Output::Poll(group) => Input::Polled(group),
        Output::Swap {
            token, revision, ..
        } => Input::Outcome(token, Outcome::Done(revision + 1)),
        Output::Write(number, _) => Input::Committed(number),
        Output::Tail(_) => Input::Log(Tail {
            entries: Some(0),
            sealed: false,
        }),
        Output::Append {
            expected, entries, ..
        } => Input::Log(Tail {
            entries: Some(expected + entries.len() as u64),
            sealed: false,
        }),
        _ => return None,
    })
}

/// Others begin the next crawl: the end of the last one is not that of this one.
#[test]
fn whoever_has_company_hears_the_end_again() {
    let mut newcomer = Newcomer::start();
    newcomer.hear(lease(2));
    assert!(!newcomer.0.quiet(), "others are at work");
    newcomer.hear(quiet(8, false));
    newcomer.hear(quiet(9, false));
    assert!(!newcomer.0.quiet());
    newcomer.hear(quiet(10, true));
    assert!(newcomer.0.quiet());
}

/// All have ended: there is nobody to wait for.
#[test]
fn whoever_comes_last_takes_the_end_for_granted() {
    let mut newcomer = Newcomer::start();
    newcomer.hear(lease(1));
    assert!(newcomer.0.quiet());
}
