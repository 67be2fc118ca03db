//! pywb, which other people wrote, with the archive of a crawl.

use super::python::python;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Serves an archive; does not outlive the test.
pub struct Replay {
    server: Child,
    port: u16,
}

impl Drop for Replay {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Replay {
    /// Indexes the WARC files of `archive` and serves them, with all it needs in `place`; none where pywb
    /// cannot be had.
    pub fn start(archive: &Path, place: &Path) -> Option<Self> {
        std::fs::create_dir_all(place.join("templates")).unwrap();
        // without a frame or banner of its own
        std::fs::write(place.join("config.yaml"), "framed_replay: false\n").unwrap();
        std::fs::write(place.join("templates/banner.html"), "").unwrap();
        let program = "
import sys
from pywb.manager.manager import main
main(['init', 'kept'])
main(['add', 'kept'] + sys.argv[1:])
";
        let files = storage::archive::files(archive).unwrap();
        let added = python("pywb")?
            .args(["-c", program])
            .args(files.iter().map(|(_, file)| file))
            .current_dir(place)
            .output()
            .unwrap();
        assert!(added.status.success(), "{added:?}");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let serve = "from pywb.apps.cli import wayback; wayback()";
        let server = python("pywb")?
            .args(["-c", serve, "-b", "127.0.0.1", "-p", &port.to_string()])
            .current_dir(place)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let replay = Self { server, port };
        let began = Instant::now();
        while replay.connect().is_none() {
            assert!(
                began.elapsed() < Duration::from_mins(1),
                "pywb does not start"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(replay)
    }

    fn connect(&self) -> Option<TcpStream> {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()
    }

    /// Where a browser finds the last copy of a page.
    #[allow(dead_code)] // not every test has a browser
    pub fn url(&self, url: &str) -> String {
        format!("http://127.0.0.1:{}/kept/2100/{url}", self.port)
    }

    /// The answer with the copy of a page that was the last at a time, nothing in it rewritten.
    #[allow(dead_code)] // others have
    pub fn page(&self, time: &str, url: &str) -> String {
        let mut stream = self.connect().unwrap();
        write!(
            stream,
            "GET /kept/{time}id_/{url} HTTP/1.0\r\nHost: localhost\r\n\r\n"
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}
