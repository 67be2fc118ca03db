//! The sample configurations of `packaging/nats`: TLS, key pairs, and what each role may do.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bus::access::{Access, Credentials};
use bus::layout::Layout;
use bus::names::Names;
use bus::nats::Nats;
use bus::{Bus, BusError};
use fleet::identity::{GroupId, RobotId, Session};
use fleet::io::Outcome;
use fleet::key::{Key, Lease, Progress, Value, What};
use nkeys::KeyPair;

use crate::rig::{GROUPS, layout, limited, prepare};
use crate::servers::{Cluster, free_ports};
use crate::suite::{entry, next_message, number, numbered, quiet, robot, session, tail};

/// A server as the samples have it, and keys for three roles.
struct Guarded {
    cluster: Cluster,
    directory: tempfile::TempDir,
    robot: KeyPair,
    partitioner: KeyPair,
    operator: KeyPair,
}

impl Guarded {
    async fn start() -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let names = vec!["127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        std::fs::write(at("cert.pem"), made.cert.pem()).expect("written");
        std::fs::write(at("key.pem"), made.signing_key.serialize_pem()).expect("written");
        let [robot, partitioner, operator] = std::array::from_fn(|_| KeyPair::new_user());
        let port = free_ports(1)[0];
        let path = |name: &str| at(name).display().to_string();
        let environment = [
            ("NATS_NAME", "s0".to_owned()),
            ("NATS_LISTEN", format!("127.0.0.1:{port}")),
            ("NATS_STORE", path("store")),
            ("NATS_CERTIFICATE", path("cert.pem")),
            ("NATS_KEY", path("key.pem")),
            ("ROBOT_NKEY", robot.public_key()),
            ("PARTITIONER_NKEY", partitioner.public_key()),
            ("OPERATOR_NKEY", operator.public_key()),
        ];
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/nats/server.conf");
        let cluster = Cluster::with(sample, &environment, port).await?;
        Some(Self {
            cluster,
            directory,
            robot,
            partitioner,
            operator,
        })
    }

    fn access(&self, user: Option<&KeyPair>) -> Access {
        let mut access = Access::new(&self.cluster.addresses()).expect("good addresses");
        access.authority = Some(self.directory.path().join("cert.pem"));
        access.require_tls = true;
        access.inbox = Some("web.r5".to_owned());
        if let Some(user) = user {
            let file = self.directory.path().join("seed");
            std::fs::write(&file, user.seed().expect("a seed")).expect("written");
            access.credentials = Credentials::from_file(&file).expect("a seed");
        }
        access
    }

    async fn connect(&self, access: &Access) -> Result<Nats, BusError> {
        let names = Names::new("web").expect("a good name");
        let layout = Layout {
            patience: Duration::from_secs(1),
            ..layout(1)
        };
        Nats::connect(access, names, layout, GROUPS[1]).await
    }
}

fn lease(of: u64) -> (Key, Value) {
    let session = Session {
        robot: RobotId(of),
        incarnation: 1,
    };
    let lease = Lease {
        session,
        nonce: 1,
        sealed: false,
        leaving: false,
        capacity: 1,
        load: 0,
        responses: BTreeMap::new(),
        progress: Progress::default(),
    };
    let what = What::Lease(session.robot);
    let group = GroupId(1);
    (Key { group, what }, Value::Lease(lease))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_do_what_they_may() {
    let Some(guarded) = Guarded::start().await else {
        return;
    };
    let test = async {
        let operator = guarded
            .connect(&guarded.access(Some(&guarded.operator)))
            .await;
        let operator = operator.expect("a connection");
        prepare(&operator).await;
        let a_robot = guarded.connect(&guarded.access(Some(&guarded.robot))).await;
        let a_robot = a_robot.expect("a connection");
        let (key, value) = lease(5);
        assert!(matches!(
            a_robot.swap(key, 0, &value).await,
            Outcome::Done(_)
        ));
        assert_eq!(a_robot.poll(GroupId(1)).await.expect("an answer").len(), 1);
        let sent = a_robot.publish(robot(1, 5), &numbered(3)).await;
        assert!(matches!(sent, Outcome::Done(_)), "{sent:?}");
        let mut arrivals = a_robot.consume(robot(1, 5)).await.expect("a reader");
        let delivered = next_message(&mut arrivals).await;
        assert_eq!(number(&delivered.message), 3);
        delivered.acknowledge();
        assert_eq!(
            a_robot.append(session(5), 0, &[entry(0, 9)]).await,
            tail(1, false)
        );
        for at in 1..4 {
            let appended = a_robot.append(session(5), at, &[entry(at, 9)]).await;
            assert_eq!(appended, tail(at + 1, false));
        }
        // its own log behind a snapshot
        let cut = a_robot.purge(session(5), 3).await;
        assert!(matches!(cut, Outcome::Done(kept) if kept > 0), "{cut:?}");
        assert!(matches!(a_robot.seal(session(5)).await, Outcome::Done(_)));
        let replayed = a_robot.replay(session(5)).await.expect("a log");
        assert_eq!(
            (replayed.from, &replayed.entries[..]),
            (3, &[entry(3, 9)][..])
        );
        for _ in 0..2 {
            let put = a_robot.put("package", vec![7; 100_000].into()).await;
            assert!(matches!(put, Outcome::Done(_)), "{put:?}");
        }
        let got = a_robot.get("package").await;
        assert!(
            got.is_some_and(|bytes| bytes.len() == 100_000 && bytes.iter().all(|&byte| byte == 7))
        );
        // what it stored and nobody needs, which it finds by listing all
        let Session {
            robot: who,
            incarnation,
        } = session(5);
        let piece = format!("snapshot/{who}.{incarnation}/1");
        assert!(matches!(
            a_robot.put(&piece, vec![7; 10].into()).await,
            Outcome::Done(_)
        ));
        assert!(matches!(
            a_robot.sweep(session(5), &[]).await,
            Outcome::Done(_)
        ));
        assert_eq!(a_robot.get(&piece).await, None, "swept");
        // what it did not take
        let buried = a_robot
            .bury(robot(1, 5), "out of scope", b"a URL".to_vec())
            .await;
        assert!(matches!(buried, Outcome::Done(_)), "{buried:?}");
        assert_eq!(a_robot.dead_letters(1).await.expect("an answer").0, 1);

        // not a robot's business
        let quiet_key = Key {
            group: GroupId(1),
            what: What::Quiet,
        };
        let swap = a_robot.swap(quiet_key, 0, &quiet(1)).await;
        assert!(!matches!(swap, Outcome::Done(_)), "{swap:?}");
        assert_eq!(operator.poll(GroupId(1)).await.expect("an answer").len(), 1);
        assert!(
            a_robot.init(&[GroupId(77)]).await.is_err(),
            "only operators make streams"
        );
        assert_eq!(a_robot.ask(RobotId(6), b"?").await, None);

        let partitioner = guarded
            .connect(&guarded.access(Some(&guarded.partitioner)))
            .await;
        let partitioner = partitioner.expect("a connection");
        let swap = partitioner.swap(quiet_key, 0, &quiet(1)).await;
        assert!(matches!(swap, Outcome::Done(_)), "{swap:?}");

        let mut questions = a_robot.questions(RobotId(5)).await.expect("asked");
        tokio::spawn(async move {
            while let Some(question) = questions.recv().await {
                let _ = question.answer.send(b"well".to_vec());
            }
        });
        let mut answer = None;
        while answer.is_none() {
            answer = operator.ask(RobotId(5), b"how are you").await;
        }
        assert_eq!(answer, Some(b"well".to_vec()));
    };
    limited(60, test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_stay_outside() {
    let Some(guarded) = Guarded::start().await else {
        return;
    };
    let test = async {
        let nobody = guarded.access(None);
        assert!(guarded.connect(&nobody).await.is_err(), "no key");
        let stranger = KeyPair::new_user();
        let access = guarded.access(Some(&stranger));
        let error = guarded.connect(&access).await.expect_err("a strange key");
        let seed = stranger.seed().expect("a seed");
        assert!(!format!("{error} {error:?} {access:?}").contains(&seed));
        // a server that nobody vouches for
        let mut access = guarded.access(Some(&guarded.robot));
        access.authority = None;
        assert!(
            guarded.connect(&access).await.is_err(),
            "an unknown authority"
        );
        let access = guarded.access(Some(&guarded.robot));
        assert!(guarded.connect(&access).await.is_ok());
    };
    limited(60, test).await;
}
