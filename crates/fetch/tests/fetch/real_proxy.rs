//! Proxies that others wrote, as Debian has them: tinyproxy for HTTP, microsocks for SOCKS5.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What they want to be shown.
pub const LOGIN: &str = "aladdin:opensesame";

/// One that runs; ended when dropped.
pub struct RealProxy {
    /// As a configuration names it.
    pub url: String,
    directory: TempDir,
    child: Child,
}

impl RealProxy {
    /// tinyproxy; none where it is not installed, which is said.
    pub fn http(login: bool) -> Option<Self> {
        let login = if login {
            "BasicAuth aladdin opensesame\n"
        } else {
            ""
        };
        Self::start("tinyproxy", "http", |port, directory| {
            let file = directory.join("tinyproxy.conf");
            let log = directory.join("log");
            let settings = format!(
                "Port {port}\nListen 127.0.0.1\nTimeout 30\nLogFile \"{}\"\nLogLevel Connect\n{login}",
                log.display()
            );
            std::fs::write(&file, settings).unwrap();
            vec!["-d".into(), "-c".into(), file.display().to_string()]
        })
    }

    /// microsocks; none where it is not installed, which is said.
    pub fn socks5(login: bool) -> Option<Self> {
        Self::start("microsocks", "socks5", |port, _| {
            let mut arguments = vec![
                "-i".into(),
                "127.0.0.1".into(),
                "-p".into(),
                port.to_string(),
            ];
            if login {
                arguments.extend(["-u", "aladdin", "-P", "opensesame"].map(String::from));
            }
            arguments
        })
    }

    fn start(
        program: &str,
        scheme: &str,
        arguments: impl Fn(u16, &std::path::Path) -> Vec<String>,
    ) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        // somebody else may take the port before the proxy does
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let started = Command::new(program)
                .args(arguments(port, directory.path()))
                .stdout(Stdio::null())
                .stderr(std::fs::File::create(directory.path().join("err")).unwrap())
                .spawn();
            let Ok(mut child) = started else {
                eprintln!("skipped: {program} is not installed");
                return None;
            };
            let until = Instant::now() + Duration::from_secs(10);
            while Instant::now() < until && child.try_wait().unwrap().is_none() {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    let url = format!("{scheme}://127.0.0.1:{port}");
                    return Some(Self {
                        url,
                        directory,
                        child,
                    });
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("{program} does not start");
    }

    /// Its own record of what it was asked for.
    #[allow(dead_code)] // not every test asks
    pub fn record(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.directory.path().join(name));
        read("log").unwrap_or_default() + &read("err").unwrap_or_default()
    }
}

impl Drop for RealProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
