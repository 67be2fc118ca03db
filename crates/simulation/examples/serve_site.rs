//! Serves a large plain site until killed, for measuring crawlers. Prints the first URL of each host.
//!
//! `cargo run --release -p simulation --example serve_site -- [--hosts 1] [--pages 30000]
//! [--bytes 20000] [--links 20] [--port 0]`; pages are per host.

use simulation::web::{Clock, FlatSite, Server};
use std::{error::Error, sync::Arc};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut hosts, mut pages, mut bytes, mut links, mut port) = (1, 30_000, 20_000, 20, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(format!("{flag} needs a number"))?;
        match flag.as_str() {
            "--hosts" => hosts = value.parse()?,
            "--pages" => pages = value.parse()?,
            "--bytes" => bytes = value.parse()?,
            "--links" => links = value.parse()?,
            "--port" => port = value.parse()?,
            _ => return Err(format!("unknown flag {flag}").into()),
        }
    }
    let site = Arc::new(FlatSite::new(hosts, pages, bytes, links));
    let server = Server {
        port,
        unrecorded: true,
        ..Server::default()
    };
    let running = server.serve(Arc::clone(&site), Clock::starting_now(1.0))?;
    for url in site.urls(running.port) {
        println!("{url}");
    }
    loop {
        std::thread::park();
    }
}
