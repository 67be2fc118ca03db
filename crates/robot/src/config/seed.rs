//! Where a crawl begins, as written: a URL, or one with a reach of its own.

use frontier::scope::Reach;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A seed as it was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seed {
    /// The URL, as written.
    pub url: String,
    /// How far it reaches; without one, as `scope.reach` says.
    pub reach: Option<Reach>,
}

/// The long form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    url: String,
    #[serde(default)]
    reach: Option<Reach>,
}

impl From<&str> for Seed {
    fn from(url: &str) -> Self {
        url.to_owned().into()
    }
}

impl From<String> for Seed {
    fn from(url: String) -> Self {
        Self { url, reach: None }
    }
}

/// As files of seeds have it.
impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        match self.reach {
            Some(reach) => write!(f, " {}", reach.word()),
            None => Ok(()),
        }
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.reach {
            None => serializer.serialize_str(&self.url),
            reach => {
                let url = self.url.clone();
                Written { url, reach }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Seed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a URL, or { url, reach }")
            }

            fn visit_str<E: Error>(self, url: &str) -> Result<Seed, E> {
                Ok(url.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Seed, A::Error> {
                let written = Written::deserialize(MapAccessDeserializer::new(map))?;
                let Written { url, reach } = written;
                Ok(Seed { url, reach })
            }
        }

        deserializer.deserialize_any(Either)
    }
}
