//! What the suite runs on.

use std::pin::Pin;
use std::time::Duration;

use bus::Bus;
use bus::access::Access;
use bus::layout::Layout;
use bus::memory::Memory;
use bus::names::Names;
use bus::nats::Nats;
use bus::nats::setup::SetupError;
use fleet::identity::GroupId;
use fleet::parcel::Subject;
use tokio::time::{sleep, timeout};

use crate::servers::Cluster;

/// The groups that the cases use.
pub const GROUPS: [GroupId; 4] = [GroupId(0), GroupId(1), GroupId(2), GroupId(3)];

/// Small and hasty.
pub fn layout(replicas: usize) -> Layout {
    Layout {
        replicas,
        key_bytes: 64 << 20,
        queue_bytes: 64 << 20,
        waiting: 40,
        ack_wait: Duration::from_secs(2),
        deliveries: 3,
        in_flight: 16,
        log_bytes: 256 << 20,
        object_bytes: 256 << 20,
        ..Layout::default()
    }
}

/// Ends a test that hangs.
pub fn limited<'a, T: 'a>(
    seconds: u64,
    test: impl Future<Output = T> + 'a,
) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    let limit = Duration::from_secs(seconds);
    Box::pin(async move { timeout(limit, test).await.expect("over in time") })
}

/// An engine, and a back door to it.
pub trait Rig: Sync {
    type Bus: Bus;
    fn bus(&self) -> Self::Bus;
    fn inject(&self, subject: Subject, bytes: Vec<u8>) -> impl Future<Output = ()> + Send;
}

pub struct Model(pub Memory);

impl Rig for Model {
    type Bus = Memory;

    fn bus(&self) -> Memory {
        self.0.clone()
    }

    async fn inject(&self, subject: Subject, bytes: Vec<u8>) {
        self.0.publish_bytes(subject, bytes);
    }
}

pub struct Real {
    pub bus: Nats,
    pub client: async_nats::Client,
    pub names: Names,
    pub access: Access,
}

impl Real {
    pub async fn new(cluster: &Cluster, layout: Layout) -> Self {
        let names = Names::new("web").expect("a good name");
        let access = Access::new(&cluster.addresses()).expect("good addresses");
        let connected = Nats::connect(&access, names.clone(), layout, GROUPS[1]);
        let bus = connected.await.expect("a connection");
        prepare(&bus).await;
        let client = async_nats::connect(cluster.list())
            .await
            .expect("a connection");
        Self {
            bus,
            client,
            names,
            access,
        }
    }

    /// What exists is found right, or refused by name.
    pub async fn is_checked(&self) {
        let again = self.bus.init(&GROUPS).await.expect("all is right");
        assert!(
            again.made.is_empty() && again.found.len() == 5 + 2 * GROUPS.len(),
            "{again:?}"
        );
        let other = Layout {
            waiting: 41,
            ..layout(1)
        };
        let connected = Nats::connect(&self.access, self.names.clone(), other, GROUPS[1]);
        let other = connected.await.expect("a connection");
        let error = other.init(&GROUPS).await.expect_err("another setting");
        assert!(
            matches!(&error, SetupError::Differs { what, setting, found, expected }
                if what == "QUEUE_web_g0" && setting == "max_msgs_per_subject" && found == "40" && expected == "41"),
            "{error}"
        );
        // the tests' servers have 8 GB
        let large = Layout {
            log_bytes: 16 << 30,
            ..layout(1)
        };
        let names = Names::new("large").expect("a good name");
        let connected = Nats::connect(&self.access, names, large, GROUPS[1]);
        let large = connected.await.expect("a connection");
        let error = large.init(&GROUPS).await.expect_err("no room");
        assert!(
            matches!(&error, SetupError::Room { what, wanted, .. }
                if what.starts_with("LOG") && *wanted > 16 << 30),
            "{error}"
        );
        assert!(error.to_string().contains("max_file_store"), "{error}");
        let other = Layout {
            ack_wait: Duration::from_secs(3),
            ..layout(1)
        };
        let connected = Nats::connect(&self.access, self.names.clone(), other, GROUPS[1]);
        let other = connected.await.expect("a connection");
        let subject = crate::suite::robot(2, 1);
        let error = other
            .init_reader(subject)
            .await
            .expect_err("another setting");
        assert!(error.to_string().contains("ack_wait"), "{error}");
    }
}

/// Waits until the servers have found each other.
pub async fn prepare(bus: &Nats) {
    let mut last = None;
    for _ in 0..240 {
        match bus.init(&GROUPS).await {
            Ok(_) => return,
            Err(error @ SetupError::Differs { .. }) => panic!("{error}"),
            Err(error) => last = Some(error),
        }
        sleep(Duration::from_millis(250)).await;
    }
    panic!("the servers are not ready: {last:?}");
}

impl Rig for Real {
    type Bus = Nats;

    fn bus(&self) -> Nats {
        self.bus.clone()
    }

    async fn inject(&self, subject: Subject, bytes: Vec<u8>) {
        let answer = self
            .client
            .request(self.names.subject(subject), bytes.into());
        answer.await.expect("stored");
    }
}
