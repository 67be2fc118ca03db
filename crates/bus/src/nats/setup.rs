//! Makes what a fleet needs of the servers, and checks what is already there: settings that differ
//! are named and left alone, because somebody may have had a reason.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamErrorKind,
};
use async_nats::jetstream::stream::{Config, DiscardPolicy, Republish, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use fleet::identity::GroupId;
use fleet::parcel::Subject;
use fleet::wire::limits;
use serde_json::Value;

use super::{Inner, Nats};
use crate::BusError;
use crate::names::Names;
use crate::tally::Tally;

/// Earlier versions can lose acknowledged data when the process dies.
pub const LEAST: (u32, u32, u32) = (2, 10, 23);
/// What the servers' `max_payload` must be at least: the largest message, and its headers.
pub const PAYLOAD: usize = limits::MESSAGE + (64 << 10);
/// The largest message, and the largest value, for a stream.
const MESSAGE: i32 = (PAYLOAD as u32).cast_signed();
const VALUE: i32 = (limits::VALUE as u32 + (64 << 10)).cast_signed();
/// How many revisions of a key are kept, so that a lost answer can be found again.
const HISTORY: i64 = 8;

/// Why the servers cannot be used as they are.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Too old.
    #[error(
        "{server} runs nats-server {found}, which may lose acknowledged data when it is killed; \
         expected {}.{}.{} or newer", LEAST.0, LEAST.1, LEAST.2
    )]
    Old {
        /// Where.
        server: String,
        /// Its version.
        found: String,
    },
    /// Messages do not fit.
    #[error("{server} has max_payload: {found}; expected at least {PAYLOAD} (8MB will do)")]
    Payload {
        /// Where.
        server: String,
        /// As it is.
        found: usize,
    },
    /// No streams at all.
    #[error("JetStream is not enabled: {0}")]
    NoJetStream(String),
    /// Something exists with another setting.
    #[error(
        "{what} exists with {setting} = {found}; expected {expected}. Change it there, or remove it"
    )]
    Differs {
        /// The stream or consumer.
        what: String,
        /// As the server calls it.
        setting: String,
        /// As it is.
        found: String,
        /// As it must be.
        expected: String,
    },
    /// Streams are promised their room when they are made, and there is less.
    #[error(
        "there is no room for {what}: {why}. All streams of the fleet together may take {} MiB on each server that \
         keeps a copy; raise JetStream's max_file_store there (max_file in the block jetstream of its configuration, and \
         the account's limit if it has one), or give the fleet less (--storage)", wanted >> 20
    )]
    Room {
        /// The stream.
        what: String,
        /// Bytes of all streams.
        wanted: u64,
        /// In the server's words.
        why: String,
    },
    /// A cluster that has not formed, or is too small.
    #[error(
        "no {copies} servers keep {what} together: {why}. Are that many at work, in one cluster? One that was left out when \
         they began says that it is well: /jsz of the leader's monitoring port does not name it below meta_cluster. \
         Start it again"
    )]
    Peers {
        /// The stream.
        what: String,
        /// How many are asked for.
        copies: usize,
        /// In the server's words.
        why: String,
    },
    /// It was not all undone.
    #[error("{0}. What was made before that could not be removed: {1}")]
    Left(Box<SetupError>, String),
    /// The engine did not do it.
    #[error(transparent)]
    Bus(#[from] BusError),
}

/// What [`Nats::init`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Streams that were made.
    pub made: Vec<String>,
    /// Streams that were there and right.
    pub found: Vec<String>,
    /// Servers that could not be asked for their version.
    pub unreachable: Vec<String>,
}

impl Nats {
    /// Makes and checks all streams of these groups, and that of the logs.
    pub async fn init(&self, groups: &[GroupId]) -> Result<Prepared, SetupError> {
        let mut prepared = Prepared::default();
        self.prepare(groups, &mut prepared).await?;
        Ok(prepared)
    }

    /// The same for what nobody uses yet: if it fails, what it made is removed again.
    pub async fn found(&self, groups: &[GroupId]) -> Result<Prepared, SetupError> {
        let mut prepared = Prepared::default();
        let Err(error) = self.prepare(groups, &mut prepared).await else {
            return Ok(prepared);
        };
        let mut left = Vec::new();
        for name in prepared.made {
            if !self.inner.remove_empty(&name).await {
                left.push(name);
            }
        }
        // without an answer nothing can be removed, and the next try may find it
        Err(if left.is_empty() || matches!(error, SetupError::Bus(_)) {
            error
        } else {
            let left = left.join(", ");
            SetupError::Left(Box::new(error), left)
        })
    }

    async fn prepare(&self, groups: &[GroupId], prepared: &mut Prepared) -> Result<(), SetupError> {
        let inner = &self.inner;
        inner.check_servers(prepared).await?;
        let account = inner.home.query_account().await;
        account.map_err(|error| SetupError::NoJetStream(error.to_string()))?;
        let own = [
            inner.dead_config(),
            inner.objects_config(),
            inner.papers_config(),
            inner.events_config(),
            inner.log_config(inner.site),
        ];
        let own = own.into_iter().map(|config| (&inner.home, config));
        let shared = groups.iter().flat_map(|&group| {
            let configs = [inner.bucket_config(group), inner.queue_config(group)];
            configs.map(|config| (inner.context(group), config))
        });
        let all: Vec<(&Context, Config)> = own.chain(shared).collect();
        let bytes = all.iter().map(|(_, config)| config.max_bytes);
        let wanted = bytes.sum::<i64>().cast_unsigned();
        for (context, config) in &all {
            prepare(context, config, wanted, prepared).await?;
        }
        Ok(())
    }

    /// Makes and checks the consumer of a reader.
    pub async fn init_reader(&self, subject: Subject) -> Result<(), BusError> {
        self.inner.consumer(subject).await.map(|_| ())
    }
}

impl Inner {
    /// Every named server, because a cluster may have versions of several years.
    async fn check_servers(&self, prepared: &mut Prepared) -> Result<(), SetupError> {
        for server in &self.access.servers {
            let tally = Arc::new(Tally::default());
            let one = std::slice::from_ref(server);
            let Ok(client) = super::connect(&self.access, one, tally).await else {
                prepared.unreachable.push(server.clone());
                continue;
            };
            let info = client.server_info();
            if !self.access.allow_old && version(&info.version).is_none_or(|v| v < LEAST) {
                return Err(SetupError::Old {
                    server: server.clone(),
                    found: info.version,
                });
            }
            if info.max_payload < PAYLOAD {
                return Err(SetupError::Payload {
                    server: server.clone(),
                    found: info.max_payload,
                });
            }
        }
        Ok(())
    }

    /// Removes a stream of ours that nobody has written to; whether it is gone.
    async fn remove_empty(&self, name: &str) -> bool {
        let all = std::iter::once(&self.home).chain(self.domains.values());
        for context in all {
            if let Ok(stream) = context.get_stream(name).await {
                let is_empty = stream.cached_info().state.messages == 0;
                return is_empty && context.delete_stream(name).await.is_ok();
            }
        }
        false
    }

    /// What is the same for all streams.
    fn stream_config(&self, name: String, subjects: Vec<String>, bytes: u64) -> Config {
        Config {
            name,
            subjects,
            max_bytes: bytes.cast_signed(),
            max_messages: -1,
            max_messages_per_subject: -1,
            max_consumers: -1,
            max_message_size: -1,
            discard: DiscardPolicy::New,
            duplicate_window: Duration::from_mins(2),
            num_replicas: self.layout.replicas,
            ..Config::default()
        }
    }

    fn bucket_config(&self, group: GroupId) -> Config {
        let keys = self.names.keys(group);
        Config {
            max_messages_per_subject: HISTORY,
            max_message_size: VALUE,
            deny_delete: true,
            allow_rollup: true,
            // a follower's answer may be old
            allow_direct: false,
            republish: Some(Republish {
                source: keys.clone(),
                destination: self.names.changes(group),
                headers_only: false,
            }),
            ..self.stream_config(self.names.bucket(group), vec![keys], self.layout.key_bytes)
        }
    }

    fn queue_config(&self, group: GroupId) -> Config {
        let subjects = vec![self.names.subjects(group)];
        Config {
            retention: RetentionPolicy::WorkQueue,
            max_messages_per_subject: self.layout.waiting.cast_signed(),
            discard_new_per_subject: true,
            max_message_size: MESSAGE,
            ..self.stream_config(self.names.queue(group), subjects, self.layout.queue_bytes)
        }
    }

    fn log_config(&self, group: GroupId) -> Config {
        let subjects = vec![self.names.all_logs(group)];
        self.stream_config(self.names.logs(group), subjects, self.layout.log_bytes)
    }

    fn papers_config(&self) -> Config {
        Config {
            max_messages_per_subject: HISTORY,
            max_message_size: VALUE,
            deny_delete: true,
            allow_rollup: true,
            allow_direct: false,
            ..self.stream_config(
                self.names.papers(),
                vec![self.names.paper("")],
                self.layout.key_bytes,
            )
        }
    }

    fn events_config(&self) -> Config {
        let subjects = vec![self.names.events_of(None)];
        Config {
            discard: DiscardPolicy::Old,
            max_age: Duration::from_hours(24 * 7),
            ..self.stream_config(self.names.events(), subjects, self.layout.dead_bytes)
        }
    }

    fn dead_config(&self) -> Config {
        let subjects = vec![self.names.all_dead()];
        Config {
            discard: DiscardPolicy::Old,
            ..self.stream_config(self.names.dead(), subjects, self.layout.dead_bytes)
        }
    }

    fn objects_config(&self) -> Config {
        let bucket = self.names.objects();
        let subjects = vec![format!("$O.{bucket}.C.>"), format!("$O.{bucket}.M.>")];
        Config {
            allow_rollup: true,
            ..self.stream_config(format!("OBJ_{bucket}"), subjects, self.layout.object_bytes)
        }
    }

    /// A reader's consumer, made if it is not there.
    pub(super) async fn consumer(&self, subject: Subject) -> Result<PullConsumer, BusError> {
        let name = Names::consumer(subject);
        let queue = self.names.queue(subject.group);
        let what = format!("{queue} {name}");
        let config = pull::Config {
            durable_name: Some(name.clone()),
            name: Some(name.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.layout.ack_wait,
            // see `queue`: the reader counts
            max_deliver: -1,
            filter_subject: self.names.subject(subject),
            max_ack_pending: self.layout.in_flight.cast_signed(),
            max_waiting: 512,
            ..pull::Config::default()
        };
        let stream = self.stream(subject.group, &queue).await?;
        let consumer = if let Ok(consumer) = stream.get_consumer(&name).await {
            consumer
        } else {
            let made = stream.create_consumer(config.clone()).await;
            made.map_err(|error| BusError::Refused {
                what: what.clone(),
                why: error.to_string(),
            })?
        };
        let found = serde_json::to_value(&consumer.cached_info().config);
        let expected = serde_json::to_value(&config);
        if let (Ok(found), Ok(expected)) = (found, expected)
            && let Some(differs) = difference(&what, &found, &expected)
        {
            return Err(BusError::Refused {
                what,
                why: differs.to_string(),
            });
        }
        Ok(consumer)
    }
}

async fn prepare(
    context: &Context,
    config: &Config,
    wanted: u64,
    prepared: &mut Prepared,
) -> Result<(), SetupError> {
    let refused = |why: String| BusError::Refused {
        what: config.name.clone(),
        why,
    };
    let found = match context.get_stream(&config.name).await {
        Ok(stream) => {
            prepared.found.push(config.name.clone());
            stream.cached_info().config.clone()
        }
        Err(error) => {
            let missing = matches!(error.kind(), GetStreamErrorKind::JetStream(e)
                if e.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND);
            if !missing {
                return Err(refused(error.to_string()).into());
            }
            let made = context.create_stream(config.clone()).await;
            let made = made.map_err(|error| {
                let why = error.to_string();
                if lacks_room(&error) {
                    let what = config.name.clone();
                    return SetupError::Room { what, wanted, why };
                }
                if lacks_peers(&error) {
                    let (what, copies) = (config.name.clone(), config.num_replicas);
                    return SetupError::Peers { what, copies, why };
                }
                refused(why).into()
            })?;
            prepared.made.push(config.name.clone());
            made.cached_info().config.clone()
        }
    };
    let found = serde_json::to_value(&found).map_err(|e| refused(e.to_string()))?;
    let expected = serde_json::to_value(config).map_err(|e| refused(e.to_string()))?;
    difference(&config.name, &found, &expected).map_or(Ok(()), Err)
}

/// Whether a stream was not made because too few servers can have it.
fn lacks_peers(error: &CreateStreamError) -> bool {
    matches!(error.kind(), CreateStreamErrorKind::JetStream(refusal)
        if refusal.error_code() == jetstream::ErrorCode::CLUSTER_NO_PEERS)
}

/// Whether a stream was not made because there is too little storage for it.
fn lacks_room(error: &CreateStreamError) -> bool {
    use jetstream::ErrorCode;
    let CreateStreamErrorKind::JetStream(refusal) = error.kind() else {
        return false;
    };
    match refusal.error_code() {
        ErrorCode::STORAGE_RESOURCES_EXCEEDED
        | ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED => true,
        // in a cluster it may also be that the others are not there yet
        ErrorCode::CLUSTER_NO_PEERS => refusal.to_string().contains("insufficient storage"),
        _ => false,
    }
}

/// The first setting that is not as expected.
fn difference(what: &str, found: &Value, expected: &Value) -> Option<SetupError> {
    // others may describe and place things as they like
    const FREE: [&str; 3] = ["description", "placement", "metadata"];
    let (Value::Object(found), Value::Object(expected)) = (found, expected) else {
        return None;
    };
    let mut names: Vec<&String> = found.keys().chain(expected.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let absent = |value: Option<&Value>| match value {
        None | Some(Value::Null | Value::Bool(false)) => String::from("unset"),
        Some(Value::Number(number)) if number.as_i64() == Some(0) => String::from("unset"),
        Some(value) => value.to_string(),
    };
    names.into_iter().find_map(|name| {
        let (is, must) = (absent(found.get(name)), absent(expected.get(name)));
        (is != must && !FREE.contains(&name.as_str())).then(|| SetupError::Differs {
            what: what.to_owned(),
            setting: name.clone(),
            found: is,
            expected: must,
        })
    })
}

fn version(text: &str) -> Option<(u32, u32, u32)> {
    let plain = text.split(['-', '+']).next()?;
    let mut numbers = plain.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert!(version("2.9.10").is_some_and(|v| v < LEAST));
        assert!(version("2.10.22").is_some_and(|v| v < LEAST));
        assert!(version("2.10.23").is_some_and(|v| v >= LEAST));
        assert!(version("2.11.0-RC.1").is_some_and(|v| v >= LEAST));
        assert!(version("new").is_none());
    }
}
