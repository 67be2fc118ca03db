//! How far a webhook has come in the log of visits, on disk.

use crate::whole_file;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use storage::Position;
use storage::archive::digest_text;

/// A number has at most so many digits.
const LONGEST: u64 = 64;

/// A place in the log.
pub(super) struct Place {
    path: PathBuf,
    position: Position,
}

impl Place {
    /// Where the webhook of this URL has come to, the first of them or a later one; one that is new
    /// begins with what comes, and that is written down.
    pub fn open(state: &Path, url: &str, earlier: usize) -> io::Result<Self> {
        let name = match earlier {
            0 => url.to_owned(),
            _ => format!("{url} {earlier}"),
        };
        // the URL itself may be a secret
        let name = digest_text(&storage::digest(name.as_bytes()));
        let name = name.trim_start_matches("sha1:").to_ascii_lowercase();
        let path = state.join(format!("webhook-{name}"));
        match whole_file::read_text(&path, LONGEST) {
            Ok(text) => {
                let position = text.trim().parse().map_err(|_| {
                    let what = format!(
                        "{} does not contain a number; remove it to start over",
                        path.display()
                    );
                    io::Error::new(ErrorKind::InvalidData, what)
                })?;
                let position = Position(position);
                Ok(Self { path, position })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let end = storage::log_end(state).map_err(io::Error::other)?;
                let mut place = Self {
                    path,
                    position: Position(u64::MAX),
                };
                place.keep(end)?;
                Ok(place)
            }
            Err(error) => Err(error),
        }
    }

    pub fn position(&self) -> Position {
        self.position
    }

    /// Has it on disk that all before was told.
    pub fn keep(&mut self, position: Position) -> io::Result<()> {
        if position == self.position {
            return Ok(());
        }
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        writeln!(file, "{}", position.0)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        self.position = position;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::{Store, StoreOptions};

    #[test]
    fn webhooks_of_one_url_have_places_of_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path();
        drop(Store::open(state, StoreOptions::default()).unwrap());
        let open = |earlier| Place::open(state, "http://receiver/", earlier).unwrap();
        open(0).keep(Position(7)).unwrap();
        // one that is behind is not taken forward by the other
        open(1).keep(Position(3)).unwrap();
        assert_eq!([open(0), open(1)].map(|place| place.position().0), [7, 3]);
    }
}
