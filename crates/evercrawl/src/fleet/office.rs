//! Where a fleet is, and a connection to it.

use super::articles::Articles;
use super::groups::Groups;
use crate::bad_input::BadInput;
use anyhow::{Result, anyhow};
use bus::access::{Access, Credentials};
use bus::layout::Layout;
use bus::names::Names;
use bus::nats::Nats;
use fleet::identity::RobotId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

/// Where `init` writes down where the fleet is.
const FILE: &str = "evercrawl-fleet.toml";

/// Which fleet.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Where {
    /// The NATS servers, separated by commas: nats://HOST:PORT or tls://HOST:PORT.
    #[arg(long, value_name = "SERVERS", global = true)]
    pub nats: Option<String>,
    /// The name of the fleet.
    #[arg(long, value_name = "NAME", global = true)]
    pub name: Option<String>,
    /// The file that says where the fleet is [default: evercrawl-fleet.toml].
    #[arg(long, value_name = "FILE", global = true)]
    pub fleet: Option<PathBuf>,
    /// The file with your credentials: the seed of an nkey, or a credentials file.
    #[arg(long, value_name = "FILE", global = true)]
    pub credentials: Option<PathBuf>,
    /// Certificates of authorities to trust instead of the machine's (PEM).
    #[arg(long, value_name = "FILE", global = true)]
    pub ca: Option<PathBuf>,
}

/// What is written down of it; no secret is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub nats: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

impl Where {
    /// What was said, by arguments first, then by the environment, then by the file.
    pub fn find(&self) -> Result<Written> {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut found = self.file()?.unwrap_or_default();
        if let Some(nats) = self.nats.clone().or_else(|| said("EVERCRAWL_NATS")) {
            found.nats = nats;
        }
        if let Some(name) = self.name.clone().or_else(|| said("EVERCRAWL_FLEET")) {
            found.name = name;
        }
        found.credentials = self.credentials.clone().or(found.credentials);
        found.ca = self.ca.clone().or(found.ca);
        let missing = match (found.nats.is_empty(), found.name.is_empty()) {
            (false, false) => return Ok(found),
            (true, true) => "--nats SERVERS and --name NAME",
            (true, false) => "--nats SERVERS",
            (false, true) => "--name NAME",
        };
        let text = format!(
            "which fleet? Expected {missing}, or {FILE} in this directory; `evercrawl fleet init` writes it"
        );
        Err(BadInput(text).into())
    }

    /// Whether `init` wrote the fleet down here before.
    pub fn has_written(&self, found: &Written) -> bool {
        let written = self.file().ok().flatten();
        written.is_some_and(|known| (&known.nats, &known.name) == (&found.nats, &found.name))
    }

    fn file(&self) -> Result<Option<Written>> {
        let path = self.fleet.as_deref().unwrap_or(Path::new(FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if self.fleet.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => {
                return Err(BadInput::file(path, format!("cannot be read: {error}")).into());
            }
        };
        let written: Written = toml::from_str(&text)
            .map_err(|error| BadInput::file(path, error.to_string().trim_end()))?;
        Ok(Some(written))
    }

    /// Writes down where the fleet is; says in which file.
    pub fn write(&self, found: &Written) -> Result<PathBuf> {
        let path = self.fleet.clone().unwrap_or_else(|| FILE.into());
        let mut found = found.clone();
        for file in [&mut found.credentials, &mut found.ca]
            .into_iter()
            .flatten()
        {
            *file = std::path::absolute(&*file)?;
        }
        std::fs::write(&path, toml::to_string(&found)?)
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

/// A connection to a fleet, for commands that wait for answers.
pub struct Office {
    pub runtime: Runtime,
    pub nats: Nats,
    pub place: Written,
}

/// How to reach a fleet's servers; `who` is part of where answers go.
fn access(place: &Written, who: &str) -> Result<(Access, Names)> {
    let bad = |error: String| BadInput(error);
    let names = Names::new(&place.name).map_err(|error| bad(error.to_string()))?;
    let mut access = Access::new(&place.nats).map_err(|error| bad(error.to_string()))?;
    let credentials = match &place.credentials {
        Some(path) => Credentials::from_file(path),
        None => Credentials::from_environment(|name| std::env::var(name).ok()),
    };
    access.credentials = credentials.map_err(|error| bad(error.to_string()))?;
    if let Some(path) = &place.ca {
        let read = std::fs::read(path);
        read.map_err(|error| BadInput::file(path, format!("cannot be read: {error}")))?;
    }
    access.authority.clone_from(&place.ca);
    access.name = format!("evercrawl {who}");
    access.inbox = Some(format!("{}.{who}", place.name));
    Ok((access, names))
}

impl Office {
    /// Connects, as a person.
    pub fn open(place: &Where) -> Result<Self> {
        Self::connect(&place.find()?, "operator", Layout::default(), false)
    }

    pub fn connect(place: &Written, who: &str, layout: Layout, allow_old: bool) -> Result<Self> {
        let (mut access, names) = access(place, who)?;
        access.allow_old = allow_old;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let connected = Nats::connect(&access, names, layout, super::groups::TOP);
        let nats = runtime.block_on(connected).map_err(|error| {
            anyhow!(
                "no connection to NATS: {error}. Is the server running, and is this its address?"
            )
        })?;
        Ok(Self {
            runtime,
            nats,
            place: place.clone(),
        })
    }

    /// A paper that is JSON.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<(u64, T)>> {
        let paper = self.runtime.block_on(self.nats.paper(name));
        let paper = paper.map_err(|error| self.explain(&error.to_string()))?;
        let Some(paper) = paper else { return Ok(None) };
        let value = serde_json::from_slice(&paper.bytes)
            .map_err(|error| anyhow!("the fleet's {name} cannot be read: {error}"))?;
        Ok(Some((paper.revision, value)))
    }

    pub fn write<T: Serialize>(&self, name: &str, revision: u64, value: &T) -> Result<u64> {
        let bytes = serde_json::to_vec(value)?;
        let written = self.nats.write_paper(name, revision, bytes);
        let written = self.runtime.block_on(written);
        written.map_err(|error| anyhow!("the fleet's {name} {error}"))
    }

    fn explain(&self, error: &str) -> anyhow::Error {
        let name = &self.place.name;
        if error.contains("not found") || error.contains("10059") {
            return BadInput(format!(
                "there is no fleet {name:?} on these servers; `evercrawl fleet init` creates one"
            ))
            .into();
        }
        anyhow!("{error}")
    }

    /// The fleet's articles.
    pub fn articles(&self) -> Result<Articles> {
        let (_, articles) = self.read::<Articles>("fleet")?.ok_or_else(|| {
            let name = &self.place.name;
            BadInput(format!(
                "the fleet {name:?} was not created completely; run `evercrawl fleet init` again"
            ))
        })?;
        articles.check()?;
        Ok(articles)
    }

    /// The fleet's groups.
    pub fn groups(&self) -> Result<(u64, Groups)> {
        Ok(self.read("groups")?.unwrap_or_default())
    }

    /// The robots that ever joined.
    pub fn robots(&self) -> Result<Vec<Member>> {
        let papers = self.runtime.block_on(self.nats.papers("robot."));
        let papers = papers.map_err(|error| self.explain(&error.to_string()))?;
        let read = papers.iter().map(|paper| {
            serde_json::from_slice(&paper.bytes)
                .map_err(|error| anyhow!("the fleet's {} cannot be read: {error}", paper.name))
        });
        read.collect()
    }

    /// The robot of that name.
    pub fn robot(&self, name: &str) -> Result<Member> {
        check_name("robot", name)?;
        let found = self.read(&Member::paper(name))?;
        let known = || -> Result<String> {
            let names: Vec<String> = self.robots()?.into_iter().map(|robot| robot.name).collect();
            Ok(if names.is_empty() {
                "nobody has joined yet".to_owned()
            } else {
                format!("there are: {}", names.join(", "))
            })
        };
        match found {
            Some((_, robot)) => Ok(robot),
            None => Err(BadInput(format!("no robot {name:?} ever joined; {}", known()?)).into()),
        }
    }
}

/// A robot as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    pub group: String,
    /// A process that is at work is to end; one that is started again is welcome.
    #[serde(default, skip_serializing_if = "is_false")]
    pub evicted: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Member {
    pub fn id(&self) -> RobotId {
        robot_id(&self.name)
    }

    /// Where it is written down.
    pub fn paper(name: &str) -> String {
        format!("robot.{name}")
    }
}

/// A robot's number: from its name, so that nobody has to hand numbers out.
pub fn robot_id(name: &str) -> RobotId {
    RobotId(partition::hash::stable_hash(name.as_bytes()) & ((1 << 48) - 1))
}

/// Names are parts of subjects, and of what people type.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let usual = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = (1..=32).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(usual);
    if good {
        return Ok(());
    }
    let text = format!(
        "a {what} cannot be called {name:?}: expected 1 to 32 of a–z, 0–9 and -, a letter first"
    );
    Err(BadInput(text).into())
}
