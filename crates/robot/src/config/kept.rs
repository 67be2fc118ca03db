//! The configuration of the last start, kept beside the data: whoever looks at the crawl, or goes on
//! with it, need not be told again.

use super::Config;
use crate::whole_file;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const COMMENT: &str = "# Settings of the crawl's last start; rewritten at every start.\n";

impl Config {
    /// Where it is kept.
    pub fn kept_file(data: &Path) -> PathBuf {
        data.join("config.toml")
    }

    /// The one kept in a data directory, if there is one; what is wrong if it cannot be read.
    pub fn kept(data: &Path) -> Option<Result<Self, String>> {
        match whole_file::read_text(&Self::kept_file(data), whole_file::CONFIGURATION) {
            Ok(text) => Some(Self::parse(&text).map_err(|error| error.to_string())),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => None,
                _ => Some(Err(format!("cannot be read: {error}"))),
            },
        }
    }

    /// Whether a text was written by a crawl.
    pub fn is_kept_text(text: &str) -> bool {
        text.starts_with(COMMENT)
    }

    /// Keeps it, whole or not at all.
    pub(crate) fn keep(&self) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        let file = Self::kept_file(&self.data.0);
        let new = file.with_extension("toml.new");
        // one left by a crash
        let _ = std::fs::remove_file(&new);
        // for its owner only: it may hold credentials
        let mut options = std::fs::OpenOptions::new();
        let mut opened = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        opened.write_all((COMMENT.to_owned() + &text).as_bytes())?;
        std::fs::rename(new, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SAMPLE;

    #[test]
    fn what_is_kept_is_what_was_configured() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        assert!(Config::kept(data).is_none());
        let text = "seeds = [\"http://h/\"]\nscope.suffixes = [\"test\"]\nmetrics.listen = \"127.0.0.1:1\"\n\
            politeness.interval = { rule = \"density\", longest = 9, pages_of_largest = 3 }\n\
            fetch.hosts = { \"h\" = [\"127.0.0.1\", \"::1\"] }\n";
        for text in [SAMPLE, text] {
            let mut config = Config::parse(text).unwrap();
            config.data.0 = data.to_owned();
            config.keep().unwrap();
            assert_eq!(Config::kept(data), Some(Ok(config)));
        }
        // no text at all
        std::fs::write(Config::kept_file(data), b"\xff\xfe").unwrap();
        assert!(matches!(Config::kept(data), Some(Err(_))));
    }
}
