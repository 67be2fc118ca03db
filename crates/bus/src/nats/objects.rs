//! Objects: the engine's own object store, which keeps a digest of each.

use std::collections::HashSet;
use std::sync::Arc;

use fleet::identity::{Session, Text};
use fleet::io::Outcome;
use futures_util::StreamExt;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::Inner;
use crate::PIECE;

/// An object may take so many times the time of one attempt.
const LONGER: u32 = 30;

impl Inner {
    pub(super) async fn put(&self, name: &str, bytes: &[u8]) -> Outcome {
        if bytes.len() > PIECE {
            self.tally.oversized.one();
            return Outcome::Refused;
        }
        let store = async {
            let store = self.home.get_object_store(self.names.objects()).await;
            let mut from = bytes;
            (store.ok()?.put(name, &mut from).await)
                .inspect_err(|error| tracing::warn!(name, %error, "an object was not stored"))
                .ok()
        };
        if let Ok(Some(_)) = timeout(self.layout.attempt * LONGER, store).await {
            return Outcome::Done(0);
        }
        self.tally.ambiguous.one();
        Outcome::Unknown
    }

    pub(super) async fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        let read = async {
            let store = self.home.get_object_store(self.names.objects()).await;
            let mut object = store.ok()?.get(name).await.ok()?;
            let size = object.info().size;
            if size > PIECE {
                self.tally.oversized.one();
                return None;
            }
            let mut bytes = Vec::with_capacity(size);
            if let Err(error) = object.read_to_end(&mut bytes).await {
                tracing::warn!(name, %error, "a damaged object");
                self.tally.unreadable.one();
                return None;
            }
            (bytes.len() == size).then(|| Arc::from(bytes))
        };
        timeout(self.layout.attempt * LONGER, read).await.ok()?
    }

    pub(super) async fn sweep(&self, session: Session, needed: &[Text]) -> Outcome {
        let needed: HashSet<&str> = needed.iter().map(|name| &**name).collect();
        let sweep = async {
            let store = self
                .home
                .get_object_store(self.names.objects())
                .await
                .ok()?;
            let mut listed = store.list().await.ok()?;
            let mut names = Vec::new();
            while let Some(object) = listed.next().await {
                let name = object.ok()?.name;
                if session.stored(&name) && !needed.contains(&*name) {
                    names.push(name);
                }
            }
            for name in names {
                store.delete(&name).await.ok()?;
            }
            Some(())
        };
        match timeout(self.layout.attempt * LONGER, sweep).await {
            Ok(Some(())) => Outcome::Done(0),
            _ => Outcome::Unknown,
        }
    }

    pub(super) async fn remove(&self, name: &str) -> Outcome {
        let remove = async {
            let store = self.home.get_object_store(self.names.objects()).await;
            store.ok()?.delete(name).await.ok()
        };
        match timeout(self.layout.attempt * LONGER, remove).await {
            Ok(Some(())) => Outcome::Done(0),
            _ => Outcome::Unknown,
        }
    }
}
