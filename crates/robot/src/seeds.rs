//! The seeds: those of the configuration, and those added and removed since, which are kept in the
//! data directory.

use crate::StartError;
use crate::config::{Config, Seed};
use crate::whole_file;
use frontier::key::{Refused, parse_link};
use frontier::scope::{self, Reach};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use url::Url;

/// A longer list is no list of ours.
const MOST_BYTES: u64 = 1 << 30;

/// What was added to the seeds of the configuration, and what was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedList {
    added: Vec<Seed>,
    removed: Vec<String>,
}

/// A seed as given.
pub fn read(seed: &str) -> Result<Url, Refused> {
    let nowhere = Url::parse("http://invalid/").expect("a URL");
    let absolute = Url::parse(seed).map_err(Refused::from);
    absolute.and_then(|_| parse_link(&nowhere, seed))
}

/// The same for the same seed, however it is written.
fn normal(seed: &str) -> String {
    read(seed).map_or_else(|_| seed.to_owned(), Into::into)
}

/// A line of a list of seeds: a URL as text, and its reach if it has one of its own.
pub fn split(line: &str) -> Result<(&str, Option<Reach>), String> {
    match line.split_once(char::is_whitespace) {
        Some((url, reach)) => Ok((url, Some(reach.trim().parse()?))),
        None => Ok((line, None)),
    }
}

/// Whether a URL names a user or a password: they are not sent, and would be kept where others read them.
pub fn has_login(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

/// Seeds as given.
pub fn read_all(seeds: &[Seed]) -> Result<Vec<scope::Seed>, StartError> {
    let read = |seed: &Seed| match read(&seed.url) {
        Ok(url) if has_login(&seed.url) => Err(StartError::Login(url.into())),
        Ok(url) => Ok(scope::Seed {
            url,
            reach: seed.reach,
        }),
        Err(why) => Err(StartError::Seed(seed.url.clone(), why)),
    };
    seeds.iter().map(read).collect()
}

impl SeedList {
    /// Where it is kept.
    pub fn file(data: &Path) -> PathBuf {
        data.join("seeds.json")
    }

    /// The list that is kept with a crawl; nothing was added or removed where there is none.
    pub fn of(config: &Config) -> Result<Self, StartError> {
        let path = Self::file(&config.data.0);
        Self::read(&path).map_err(|why| StartError::SeedList { path, why })
    }

    fn read(path: &Path) -> Result<Self, String> {
        let text = match whole_file::read_text(path, MOST_BYTES) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Self::default());
            }
            read => read.map_err(|error| format!("cannot be read: {error}"))?,
        };
        serde_json::from_str(&text).map_err(|error| format!("not a list of seeds: {error}"))
    }

    /// Changes the list that is kept with a crawl, while nobody else does; it is on disk then, whole
    /// or as it was.
    pub fn change<T>(
        config: &Config,
        change: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, StartError> {
        let path = Self::file(&config.data.0);
        let system = |error: std::io::Error| StartError::System {
            what: path.display().to_string(),
            error,
        };
        let lock = File::create(path.with_extension("lock")).map_err(system)?;
        lock.lock().map_err(system)?;
        let mut list = Self::of(config)?;
        let before = list.clone();
        let answer = change(&mut list);
        if list != before {
            list.write(&path).map_err(system)?;
        }
        Ok(answer)
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let new = path.with_extension("new");
        // one that a crash left behind is not ours to trust
        let _ = fs::remove_file(&new);
        // for its owner only: URLs may hold what others are not to know
        let mut options = File::options();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent()
            .map_or(Ok(()), |data| File::open(data)?.sync_all())
    }

    /// All seeds, as they were given: first those of the configuration. One that was added again has the reach that
    /// was given then.
    pub fn all(&self, config: &Config) -> Vec<Seed> {
        let removed: HashSet<&String> = self.removed.iter().collect();
        let added: HashMap<String, &Seed> = (self.added.iter())
            .map(|seed| (normal(&seed.url), seed))
            .collect();
        let mut known = HashSet::new();
        let all = config.seeds.iter().chain(&self.added);
        all.map(|seed| (normal(&seed.url), seed))
            .filter(|(url, _)| !removed.contains(url) && known.insert(url.clone()))
            .map(|(url, seed)| Seed {
                url: seed.url.clone(),
                reach: added.get(&url).map_or(seed.reach, |again| again.reach),
            })
            .collect()
    }

    /// All seeds.
    pub fn read_all(&self, config: &Config) -> Result<Vec<scope::Seed>, StartError> {
        read_all(&self.all(config))
    }

    /// Adds seeds; how many were none before, or had another reach.
    pub fn add(&mut self, config: &Config, seeds: &[scope::Seed]) -> usize {
        let by_url = |seeds: &[Seed]| -> HashMap<String, Option<Reach>> {
            (seeds.iter())
                .map(|seed| (normal(&seed.url), seed.reach))
                .collect()
        };
        let mut known = by_url(&self.all(config));
        let configured = by_url(&config.seeds);
        let mut new = HashMap::new();
        for scope::Seed { url, reach } in seeds {
            let url = url.to_string();
            // whoever names no reach does not take one away
            if (known.get(&url)).is_some_and(|known| reach.is_none() || known == reach) {
                continue;
            }
            known.insert(url.clone(), *reach);
            new.insert(url, *reach);
        }
        self.removed.retain(|seed| !new.contains_key(seed));
        self.added
            .retain(|seed| !new.contains_key(&normal(&seed.url)));
        let count = new.len();
        // in the order in which they were given
        for scope::Seed { url, .. } in seeds {
            let Some(reach) = new.remove(url.as_str()) else {
                continue;
            };
            let url = url.to_string();
            if configured.get(&url) != Some(&reach) {
                self.added.push(Seed { url, reach });
            }
        }
        count
    }

    /// Removes seeds; those that are none.
    pub fn remove<'a>(&mut self, config: &Config, seeds: &'a [Url]) -> Vec<&'a Url> {
        let known: HashSet<String> = (self.all(config).iter())
            .map(|seed| normal(&seed.url))
            .collect();
        let (known, unknown): (Vec<_>, Vec<_>) =
            (seeds.iter()).partition(|seed| known.contains(seed.as_str()));
        let gone: HashSet<&str> = known.iter().map(|seed| seed.as_str()).collect();
        self.added
            .retain(|seed| !gone.contains(normal(&seed.url).as_str()));
        let configured = config.seeds.iter().map(|seed| normal(&seed.url));
        self.removed
            .extend(configured.filter(|seed| gone.contains(seed.as_str())));
        unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn urls(texts: &[&str]) -> Vec<Url> {
        texts.iter().map(|text| read(text).unwrap()).collect()
    }

    #[test]
    fn seeds_are_added_and_removed_for_good() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.data.0 = directory.path().to_owned();
        config.seeds = vec!["http://a".into(), "http://b/".into()];
        let all = |config: &Config| -> Vec<String> {
            let all = SeedList::of(config).unwrap().all(config);
            all.iter().map(Seed::to_string).collect()
        };
        assert_eq!(all(&config), ["http://a", "http://b/"]);

        let seeds = |texts: &[&str], reach| -> Vec<scope::Seed> {
            let seed = |url| scope::Seed { url, reach };
            urls(texts).into_iter().map(seed).collect()
        };
        let add = seeds(&["http://a/", "http://c/x", "http://c/x"], None);
        let added = SeedList::change(&config, |list| list.add(&config, &add)).unwrap();
        assert_eq!(added, 1);
        let remove = urls(&["http://a", "http://c/x", "http://d/"]);
        let unknown = SeedList::change(&config, |list| {
            list.remove(&config, &remove)
                .into_iter()
                .cloned()
                .collect::<Vec<_>>()
        });
        assert_eq!(unknown.unwrap(), urls(&["http://d/"]));
        assert_eq!(all(&config), ["http://b/"]);
        let kept = fs::metadata(SeedList::file(directory.path())).unwrap();
        assert_eq!(kept.permissions().mode() & 0o777, 0o600);
        // one of the configuration comes back where it was
        SeedList::change(&config, |list| {
            list.add(&config, &seeds(&["http://a/"], None))
        })
        .unwrap();
        assert_eq!(all(&config), ["http://a", "http://b/"]);

        // with a reach of its own, and another one later
        let add = seeds(&["http://b/", "http://d/e/"], Some(Reach::Prefix));
        let change =
            |add: &[scope::Seed]| SeedList::change(&config, |list| list.add(&config, add)).unwrap();
        assert_eq!((change(&add), change(&add)), (2, 0));
        assert_eq!(
            all(&config),
            ["http://a", "http://b/ prefix", "http://d/e/ prefix"]
        );
        assert_eq!(change(&seeds(&["http://b/"], None)), 0);
        assert_eq!(change(&seeds(&["http://b/"], Some(Reach::Host))), 1);
        let three = ["http://a", "http://b/ host", "http://d/e/ prefix"];
        assert_eq!(all(&config), three);
        // a list of before reaches had no place for them
        let old = r#"{"added": ["http://z/"], "removed": []}"#;
        fs::write(SeedList::file(directory.path()), old).unwrap();
        assert_eq!(all(&config), ["http://a", "http://b/", "http://z/"]);

        fs::write(SeedList::file(directory.path()), "{").unwrap();
        assert!(
            SeedList::of(&config)
                .unwrap_err()
                .to_string()
                .contains("seeds.json")
        );
    }
}
