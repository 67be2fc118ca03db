//! Connections that wait for their next request: one cap over all hosts.

use crate::connect::Connection;
use crate::options::IdleOptions;
use crate::proxy::Proxy;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a connection can be used for again: the same scheme, name, port and address, through
/// the same proxy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub https: bool,
    pub host: String,
    pub port: u16,
    pub address: IpAddr,
    pub proxy: Option<Arc<Proxy>>,
}

/// Connections that wait. Expired ones are closed whenever the pool is used.
pub(crate) struct Pool<C = Connection> {
    options: IdleOptions,
    shelf: Mutex<Shelf<C>>,
}

struct Shelf<C> {
    next: u64,
    /// By the order in which they came to rest.
    resting: BTreeMap<u64, Resting<C>>,
    by_key: HashMap<Key, Vec<u64>>,
}

struct Resting<C> {
    key: Key,
    connection: C,
    since: Instant,
}

impl<C> Pool<C> {
    pub fn new(options: IdleOptions) -> Self {
        Self {
            options,
            shelf: Mutex::new(Shelf {
                next: 0,
                resting: BTreeMap::new(),
                by_key: HashMap::new(),
            }),
        }
    }

    /// The one that has rested shortest, as it most likely still lives.
    pub fn take(&self, key: &Key, now: Instant) -> Option<C> {
        let mut shelf = self.shelf();
        self.drop_expired(&mut shelf, now);
        let numbers = shelf.by_key.get_mut(key)?;
        let number = numbers.pop()?;
        if numbers.is_empty() {
            shelf.by_key.remove(key);
        }
        shelf.resting.remove(&number).map(|r| r.connection)
    }

    pub fn put(&self, key: Key, connection: C, now: Instant) {
        let mut shelf = self.shelf();
        self.drop_expired(&mut shelf, now);
        if self.options.connections == 0 {
            return;
        }
        if shelf.resting.len() >= self.options.connections {
            shelf.drop_oldest();
        }
        let number = shelf.next;
        shelf.next += 1;
        shelf.by_key.entry(key.clone()).or_default().push(number);
        let resting = Resting {
            key,
            connection,
            since: now,
        };
        shelf.resting.insert(number, resting);
    }

    pub fn len(&self) -> usize {
        self.shelf().resting.len()
    }

    fn drop_expired(&self, shelf: &mut Shelf<C>, now: Instant) {
        while let Some((_, oldest)) = shelf.resting.first_key_value()
            && now.saturating_duration_since(oldest.since) >= self.options.time
        {
            shelf.drop_oldest();
        }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf<C>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Shelf<C> {
    fn drop_oldest(&mut self) {
        let Some((number, oldest)) = self.resting.pop_first() else {
            return;
        };
        if let Some(numbers) = self.by_key.get_mut(&oldest.key) {
            numbers.retain(|&n| n != number);
            if numbers.is_empty() {
                self.by_key.remove(&oldest.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(host: &str) -> Key {
        Key {
            https: false,
            host: host.into(),
            port: 80,
            address: [192, 0, 2, 1].into(),
            proxy: None,
        }
    }

    fn pool(connections: usize) -> Pool<u32> {
        Pool::new(IdleOptions {
            connections,
            time: Duration::from_secs(10),
        })
    }

    #[test]
    fn the_latest_comes_back_to_its_own_key_only() {
        let (pool, now) = (pool(9), Instant::now());
        pool.put(key("a"), 1, now);
        pool.put(key("a"), 2, now);
        assert_eq!(pool.take(&key("b"), now), None);
        let other = Key {
            https: true,
            ..key("a")
        };
        assert_eq!(pool.take(&other, now), None);
        assert_eq!(pool.take(&key("a"), now), Some(2));
        assert_eq!(pool.take(&key("a"), now), Some(1));
        assert_eq!(pool.take(&key("a"), now), None);
    }

    #[test]
    fn the_cap_is_over_all_hosts() {
        let (pool, now) = (pool(2), Instant::now());
        for (number, host) in ["a", "b", "c"].iter().enumerate() {
            pool.put(key(host), number as u32, now);
        }
        assert_eq!(pool.len(), 2);
        assert_eq!(pool.take(&key("a"), now), None);
        assert_eq!(pool.take(&key("c"), now), Some(2));
        let none = self::pool(0);
        none.put(key("a"), 1, now);
        assert_eq!(none.len(), 0);
    }

    #[test]
    fn the_old_expire() {
        let (pool, now) = (pool(9), Instant::now());
        pool.put(key("a"), 1, now);
        pool.put(key("a"), 2, now + Duration::from_secs(5));
        let later = now + Duration::from_secs(12);
        assert_eq!(pool.take(&key("a"), later), Some(2));
        assert_eq!(pool.take(&key("a"), later), None);
        assert_eq!(pool.len(), 0);
    }
}
