//! Where the dashboard is served and to whom: what is not safe is refused before anything starts.

use robot::config;
use robot::secret::Secret;
use std::net::SocketAddr;
use std::path::PathBuf;
use url::Url;

/// A shorter token could be guessed.
const SHORTEST_TOKEN: usize = 16;

/// How to serve it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where.
    pub listen: SocketAddr,
    /// What visitors must know.
    pub(crate) token: Option<Secret>,
    /// Whether they may act.
    pub(crate) actions: bool,
    /// Names by which it is reached, besides localhost and addresses.
    pub(crate) names: Vec<String>,
    /// Where a replay program serves the archive.
    pub(crate) replay: Option<Url>,
    /// The map of the Internet that servers are shown on.
    pub(crate) map: Option<PathBuf>,
}

/// Settings that are not safe, or make no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Settings {
    /// As configured, but at this address.
    pub fn new(listen: SocketAddr, config: &config::Dashboard) -> Result<Self, Refused> {
        let token = Secret::read(config.token_file.as_deref(), config.token_env.as_deref());
        let token = token.map_err(|why| Refused(format!("dashboard.token: {why}")))?;
        if let Some(token) = &token
            && token.text().len() < SHORTEST_TOKEN
        {
            let why = format!("dashboard.token: expected {SHORTEST_TOKEN} characters or more");
            return Err(Refused(why));
        }
        if token.is_none() && !listen.ip().is_loopback() {
            return Err(Refused(format!(
                "dashboard.listen = \"{listen}\": others can reach this address, so it needs a token: set \
                 dashboard.token_file or dashboard.token_env, or listen on 127.0.0.1"
            )));
        }
        if token.is_none() && config.actions {
            let why = "dashboard.actions = true: needs a token too (dashboard.token_file or \
                       dashboard.token_env)";
            return Err(Refused(why.into()));
        }
        let replay = match config.replay.as_str() {
            "" => None,
            text => match Url::parse(text) {
                Ok(url) if matches!(url.scheme(), "http" | "https") => Some(url),
                _ => {
                    let why = format!("dashboard.replay = {text:?}: expected an http or https URL");
                    return Err(Refused(why));
                }
            },
        };
        Ok(Self {
            listen,
            token,
            actions: config.actions,
            names: config
                .names
                .iter()
                .map(|name| name.to_ascii_lowercase())
                .collect(),
            replay,
            map: config.map.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn with_token(file: &Path, token: &str) -> config::Dashboard {
        std::fs::write(file, token).unwrap();
        config::Dashboard {
            token_file: Some(file.to_owned()),
            ..config::Dashboard::default()
        }
    }

    #[test]
    fn what_is_not_safe_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let none = config::Dashboard::default();
        let good = with_token(&file, "0123456789abcdef\n");
        let here = "127.0.0.1:9601".parse().unwrap();
        let anywhere = "0.0.0.0:9601".parse().unwrap();
        assert!(Settings::new(here, &none).is_ok());
        assert!(Settings::new("[::1]:9601".parse().unwrap(), &none).is_ok());
        let refused = Settings::new(anywhere, &none).unwrap_err();
        assert!(refused.0.contains("token_file"), "{refused}");
        assert!(Settings::new(anywhere, &good).is_ok());
        let acting = config::Dashboard {
            actions: true,
            ..none.clone()
        };
        assert!(
            Settings::new(here, &acting)
                .unwrap_err()
                .0
                .contains("actions")
        );
        let replay = config::Dashboard {
            replay: "javascript:alert(1)".into(),
            ..none
        };
        assert!(
            Settings::new(here, &replay)
                .unwrap_err()
                .0
                .contains("replay")
        );
        let short = with_token(&file, "0123456789abcde\n");
        assert!(Settings::new(here, &short).unwrap_err().0.contains("16"));
    }
}
