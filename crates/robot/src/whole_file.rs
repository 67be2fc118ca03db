//! Files that are read whole: no more of them than they can rightly hold, whatever somebody put in their place.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// A configuration may name a million seeds and prefixes.
pub const CONFIGURATION: u64 = 256 << 20;
/// All public certificates together have a quarter of a megabyte.
pub(crate) const CERTIFICATES: u64 = 16 << 20;

/// The bytes of a file that has at most so many.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let too_long = || {
        let what = format!("longer than {most} bytes");
        Err(io::Error::new(ErrorKind::InvalidData, what))
    };
    // a large one is not even begun; what has no length, such as a pipe, ends at the limit
    if file.metadata()?.len() > most {
        return too_long();
    }
    let mut bytes = Vec::new();
    if file.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return too_long();
    }
    Ok(bytes)
}

/// The text of such a file.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_the_file_may_hold() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read_text(&path, 4).unwrap(), "four");
        assert_eq!(
            read(&path, 3).unwrap_err().to_string(),
            "longer than 3 bytes"
        );
        // 20 GB that take no room on the disk
        File::create(&path).unwrap().set_len(20 << 30).unwrap();
        assert!(read(&path, CONFIGURATION).is_err());
        assert!(read(Path::new("/dev/zero"), 1 << 10).is_err());
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path, 9).unwrap_err().to_string(), "not UTF-8");
    }
}
