//! A nats-server that is ended with the run.

use bus::access::Access;
use bus::layout::Layout;
use bus::names::Names;
use bus::nats::Nats;
use fleet::identity::GroupId;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Server {
    pub child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn start(program: &str, sync: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let text = format!(
            "listen: 127.0.0.1:{port}\nmax_payload: 8MB\njetstream {{ store_dir: \"{}\", sync_interval: {sync} }}\n",
            directory.path().display()
        );
        let file = directory.path().join("server.conf");
        std::fs::write(&file, text).expect("written");
        let mut command = Command::new(program);
        command.arg("-c").arg(&file);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self {
            child: command.spawn().expect("nats-server starts"),
            port,
            _directory: directory,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Small disks have to do.
pub fn layout() -> Layout {
    Layout {
        replicas: 1,
        key_bytes: 64 << 20,
        queue_bytes: 1 << 30,
        log_bytes: 2 << 30,
        object_bytes: 256 << 20,
        ..Layout::default()
    }
}

/// A connection, as soon as there is one.
pub async fn connect(port: u16, layout: &Layout) -> Nats {
    let access = Access::new(&format!("nats://127.0.0.1:{port}")).expect("an address");
    loop {
        let names = Names::new("web").expect("a name");
        match Nats::connect(&access, names, layout.clone(), GroupId(1)).await {
            Ok(nats) => return nats,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
