//! Secrets: read from files or the environment, never written anywhere.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No secret is longer.
const LONGEST: u64 = 16 << 10;

/// Something that is not to be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// From a file or a variable of the environment, if one of them is named; its last line end does not
    /// count. What is wrong names the place, not the secret.
    pub fn read(file: Option<&Path>, variable: Option<&str>) -> Result<Option<Self>, String> {
        let (text, place) = match (file, variable) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err("a secret comes from a file or the environment, not from both".into());
            }
            (Some(file), None) => {
                let mut text = String::new();
                let read =
                    File::open(file).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
                read.map_err(|error| format!("{}: cannot be read: {error}", file.display()))?;
                (text, file.display().to_string())
            }
            (None, Some(variable)) => {
                let text = std::env::var(variable)
                    .map_err(|_| format!("the environment has no variable {variable}"))?;
                (text, format!("the variable {variable}"))
            }
        };
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(format!("{place} is empty"));
        }
        Ok(Some(Self(text.to_owned())))
    }

    /// The secret itself.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
