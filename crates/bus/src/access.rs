//! How to reach the servers, and who we say we are. Secrets come from files or the environment,
//! never from a configuration or a URL, and no `Debug` shows them.

use std::fmt;
use std::path::{Path, PathBuf};

/// A seed, a password, a signed permission.
#[derive(Clone)]
pub struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Who we are.
#[derive(Clone, Debug, Default)]
pub enum Credentials {
    /// Nobody in particular.
    #[default]
    None,
    /// A key pair, by its seed.
    Nkey(Secret),
    /// A credentials file as `nsc` writes them: a signed permission and its seed.
    Signed(Secret),
    /// Name and password.
    Password(String, Secret),
}

/// Why we cannot say who we are, or where the servers are.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A file that cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file with something else in it.
    #[error("{0}: expected the seed of a user's nkey (SU…) or a credentials file")]
    NoSeed(PathBuf),
    /// The same, in a variable.
    #[error("{0}: expected the seed of a user's nkey (SU…)")]
    NoSeedIn(&'static str),
    /// Half of name and password.
    #[error("{0} is set, but {1} is not")]
    Half(&'static str, &'static str),
    /// A password where everybody sees it.
    #[error("the address of a server has a password in it: use a file or the environment")]
    PasswordInUrl,
    /// No server at all.
    #[error("no server is named: expected nats://HOST:PORT")]
    NoServer,
    /// No address.
    #[error("{0:?} is not the address of a server: expected nats://HOST:PORT or tls://HOST:PORT")]
    Address(String),
}

/// The variable with a seed.
pub const SEED: &str = "EVERCRAWL_NATS_SEED";
/// The variable with a user's name.
pub const USER: &str = "EVERCRAWL_NATS_USER";
/// The variable with the password.
pub const PASSWORD: &str = "EVERCRAWL_NATS_PASSWORD";

impl Credentials {
    /// From a file: a seed, or what `nsc` writes.
    pub fn from_file(path: &Path) -> Result<Self, AccessError> {
        let text = std::fs::read_to_string(path).map_err(|error| AccessError::File {
            path: path.to_owned(),
            error,
        })?;
        if text.contains("-----BEGIN NATS USER JWT-----") {
            // its seed is needed as well
            return match Self::seed(&text) {
                Some(_) => Ok(Self::Signed(Secret(text))),
                None => Err(AccessError::NoSeed(path.to_owned())),
            };
        }
        Self::seed(&text).ok_or_else(|| AccessError::NoSeed(path.to_owned()))
    }

    /// From the environment, where `variable` looks; nobody if there is nothing.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, AccessError> {
        if let Some(seed) = variable(SEED) {
            return Self::seed(&seed).ok_or(AccessError::NoSeedIn(SEED));
        }
        match (variable(USER), variable(PASSWORD)) {
            (Some(user), Some(password)) => Ok(Self::Password(user, Secret(password))),
            (None, None) => Ok(Self::None),
            (Some(_), None) => Err(AccessError::Half(USER, PASSWORD)),
            (None, Some(_)) => Err(AccessError::Half(PASSWORD, USER)),
        }
    }

    fn seed(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim);
        let seed = lines.find(|line| line.starts_with("SU"))?;
        // with a letter wrong it has another sum
        nkeys::KeyPair::from_seed(seed).ok()?;
        Some(Self::Nkey(Secret(seed.to_owned())))
    }
}

/// How to reach the servers.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub(crate) servers: Vec<String>,
    /// Who we are.
    pub credentials: Credentials,
    /// Certificates of authorities to trust instead of the machine's.
    pub authority: Option<PathBuf>,
    /// Our own certificate and its key, where servers ask for one.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Whether a connection without TLS is refused.
    pub require_tls: bool,
    /// Whether servers are good enough that may lose acknowledged data when they are killed.
    pub allow_old: bool,
    /// What the server is to call us in its lists.
    pub name: String,
    /// Where answers to us go: below `_INBOX.` and these words, so that servers can keep users apart.
    pub inbox: Option<String>,
}

impl Access {
    /// Servers with a comma between them, or one of them.
    pub fn new(servers: &str) -> Result<Self, AccessError> {
        let mut found = Vec::new();
        for server in servers.split(',').map(str::trim).filter(|s| !s.is_empty()) {
            if server.contains('@') {
                return Err(AccessError::PasswordInUrl);
            }
            let (scheme, host) = server.split_once("://").unwrap_or(("nats", server));
            let usual = |c: char| c.is_ascii_alphanumeric() || ".-:[]_".contains(c);
            if !matches!(scheme, "nats" | "tls") || host.is_empty() || !host.chars().all(usual) {
                return Err(AccessError::Address(server.to_owned()));
            }
            found.push(format!("{scheme}://{host}"));
        }
        if found.is_empty() {
            return Err(AccessError::NoServer);
        }
        Ok(Self {
            servers: found,
            name: "evercrawl".to_owned(),
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A_SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

    #[test]
    fn no_secret_is_shown() {
        let environment = |name: &str| (name == SEED).then(|| A_SEED.to_owned());
        let mut access = Access::new("nats://a:4222, tls://b").expect("good addresses");
        access.credentials = Credentials::from_environment(environment).expect("a seed");
        assert!(matches!(&access.credentials, Credentials::Nkey(seed) if seed.0 == A_SEED));
        assert!(!format!("{access:?}").contains(A_SEED));
        assert_eq!(access.servers, ["nats://a:4222", "tls://b"]);
    }

    #[test]
    fn what_is_half_or_wrong_is_named() {
        let user_only = |name: &str| (name == USER).then(|| "robot".to_owned());
        let error = Credentials::from_environment(user_only).expect_err("no password");
        assert!(error.to_string().contains(PASSWORD));
        let wrong = |name: &str| (name == SEED).then(|| "SAnot-a-user".to_owned());
        let error = Credentials::from_environment(wrong).expect_err("not a user's seed");
        assert!(error.to_string().contains(SEED) && !error.to_string().contains("not-a-user"));
        // a letter of it is wrong
        let damaged = A_SEED.replace("SSL3", "SSL4");
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("robot.nk");
        std::fs::write(&path, &damaged).expect("a file");
        let error = Credentials::from_file(&path).expect_err("no seed");
        assert!(error.to_string().contains("robot.nk") && !error.to_string().contains(&damaged));
        let signed = |seed: &str| format!("-----BEGIN NATS USER JWT-----\neyJ0\n{seed}\n");
        std::fs::write(&path, signed(&damaged)).expect("a file");
        assert!(Credentials::from_file(&path).is_err());
        std::fs::write(&path, signed(A_SEED)).expect("a file");
        assert!(Credentials::from_file(&path).is_ok());
        for wrong in ["", " , ", "http://a", "nats://", "nats://a b", "nats://a/x"] {
            assert!(Access::new(wrong).is_err(), "{wrong}");
        }
        let error = Access::new("nats://me:hunter2@a").expect_err("a password");
        assert!(!error.to_string().contains("hunter2"));
    }
}
