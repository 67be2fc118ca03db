use crate::identity::{GroupId, Millis, RobotId};
use crate::io::{Input, Outcome, Output};
use crate::key::{Key, Lease, Value, What};
use crate::record::Record;
use crate::robot::{Robot, Settings};
use std::collections::VecDeque;
use std::sync::Arc;

const GROUP: GroupId = GroupId(1);
const ROBOT: RobotId = RobotId(8);

/// The engine, as far as a robot's lease goes.
#[derive(Default)]
struct Engine {
    revision: u64,
    lease: Option<Lease>,
}

/// A process that works as the robot.
struct Process {
    robot: Robot,
    disk: Vec<Arc<Vec<Record>>>,
    /// That its life is over.
    end: Option<Output>,
}

impl Process {
    fn start(boot: u16, now: Millis, disk: Vec<Arc<Vec<Record>>>) -> Self {
        let settings = Settings::new(ROBOT, vec![GROUP]);
        Self {
            robot: Robot::new(settings, boot, now, &disk),
            disk,
            end: None,
        }
    }

    fn hear(&mut self, engine: &mut Engine, now: Millis, input: Input) {
        let outputs = self.robot.handle(now, input);
        self.perform(engine, now, outputs);
    }

    fn perform(&mut self, engine: &mut Engine, now: Millis, outputs: Vec<Output>) {
        let mut outputs = VecDeque::from(outputs);
        while let Some(output) = outputs.pop_front() {
            let mut inputs = Vec::new();
            match output {
                Output::Poll(GROUP) => {
                    inputs.extend(engine.read());
                    inputs.push(Input::Polled(GROUP));
                }
                Output::Swap {
                    token,
                    key,
                    revision,
                    value,
                } => inputs.push(Input::Outcome(token, engine.swap(key, revision, value))),
                Output::Write(number, records) => {
                    self.disk.push(records);
                    inputs.push(Input::Committed(number));
                }
                Output::Reset | Output::Replaced => self.end = Some(output),
                _ => {}
            }
            for input in inputs {
                outputs.extend(self.robot.handle(now, input));
            }
        }
    }

    /// Time passes while it runs.
    fn run(&mut self, engine: &mut Engine, from: Millis, until: Millis) {
        for now in (from..until).step_by(500) {
            if self.end.is_none() {
                self.hear(engine, now, Input::Tick);
            }
        }
    }

    fn works(&self) -> bool {
        self.end.is_none() && self.robot.has_lease()
    }

    fn was_replaced(&self) -> bool {
        matches!(self.end, Some(Output::Replaced))
    }
}

impl Engine {
    fn read(&self) -> Option<Input> {
        let lease = self.lease.clone()?;
        Some(Input::Read {
            key: Key {
                group: GROUP,
                what: What::Lease(ROBOT),
            },
            revision: self.revision,
            value: Value::Lease(lease),
        })
    }

    fn swap(&mut self, key: Key, revision: u64, value: Value) -> Outcome {
        match (key.what, value) {
            (What::Lease(ROBOT), Value::Lease(lease)) if revision == self.revision => {
                self.revision += 1;
                self.lease = Some(lease);
                Outcome::Done(self.revision)
            }
            _ => Outcome::Refused,
        }
    }
}

/// Two that are started at the same time both find that nobody has the name.
#[test]
fn of_two_that_begin_the_same_session_one_works() {
    let mut engine = Engine::default();
    let mut processes = [1, 2].map(|boot| Process::start(boot, 0, Vec::new()));
    // neither has written anything when the other reads
    let wishes = [0, 1].map(|which| processes[which].robot.handle(0, Input::Polled(GROUP)));
    for (process, outputs) in processes.iter_mut().zip(wishes) {
        process.perform(&mut engine, 0, outputs);
    }
    for now in (0..60_000).step_by(500) {
        for process in &mut processes {
            process.run(&mut engine, now, now + 1);
        }
        let at_work = processes.iter().filter(|process| process.works());
        assert!(at_work.count() <= 1, "both work at {now}");
    }
    assert!(processes.iter().any(Process::works));
    assert!(processes.iter().any(Process::was_replaced));
}

#[test]
fn one_that_comes_back_leaves_its_name_to_who_took_it() {
    let mut engine = Engine::default();
    let mut first = Process::start(1, 0, Vec::new());
    first.run(&mut engine, 0, 30_000);
    assert!(first.works());
    // it is stopped; a second one has lost nothing, because its disk is empty
    let mut second = Process::start(2, 30_000, Vec::new());
    second.run(&mut engine, 30_000, 60_000);
    first.run(&mut engine, 60_000, 90_000);
    second.run(&mut engine, 60_000, 90_000);
    assert!(first.was_replaced());
    assert!(second.works());
}

/// A start with the data of an earlier one finds what that one wrote, even late.
#[test]
fn a_restart_continues_its_own_session() {
    let mut engine = Engine::default();
    let mut first = Process::start(1, 0, Vec::new());
    first.run(&mut engine, 0, 30_000);
    let session = first.robot.session();
    let mut again = Process::start(2, 30_000, first.disk);
    again.run(&mut engine, 30_000, 90_000);
    assert!(again.works());
    assert_eq!(again.robot.session(), session);
    // an old revision is read once more
    let mut old = engine.lease.clone().unwrap();
    old.nonce = 1 << 16 | 1;
    let late = Input::Read {
        key: again.robot.lease_key(),
        revision: 1,
        value: Value::Lease(old),
    };
    again.hear(&mut engine, 90_000, late);
    again.run(&mut engine, 90_000, 120_000);
    assert!(again.works());
}

/// Data that were copied, or come back from a backup, while another process has gone on.
#[test]
fn of_two_with_the_same_data_the_later_one_works() {
    let mut engine = Engine::default();
    let mut first = Process::start(1, 0, Vec::new());
    first.run(&mut engine, 0, 30_000);
    let mut copy = Process::start(2, 30_000, first.disk.clone());
    copy.run(&mut engine, 30_000, 60_000);
    first.run(&mut engine, 60_000, 90_000);
    copy.run(&mut engine, 60_000, 90_000);
    assert!(first.was_replaced());
    assert!(copy.works());
}
