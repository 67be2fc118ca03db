//! Serves the demo web with everything in it until killed, to be looked at.
//!
//! `cargo run --release -p simulation --example serve_web -- [port] [speed] [spec.toml]`
//!
//! `speed` is web time per wall time (3600: an hour a second). Names are not known to the system;
//! `curl --connect-to` or a `Host` header gets there.

use simulation::web::{Clock, Server, Web, WebSpec};
use std::{error::Error, sync::Arc};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let speed = arguments.next().map_or(Ok(3600.0), |text| text.parse())?;
    let spec = match arguments.next() {
        Some(path) => toml::from_str(&std::fs::read_to_string(path)?)?,
        None => WebSpec::full(),
    };
    let web = Arc::new(Web::new(&spec)?);
    let server = Server {
        port,
        ..Server::default()
    };
    let running = server.serve(Arc::clone(&web), Clock::starting_now(speed))?;
    for host in web.hosts() {
        println!(
            "http://{}:{}/ on {}: {} pages, {:?}, {:?}, robots.txt {:?}, sitemap {:?}, {:?}",
            host.name,
            running.port,
            host.address,
            host.pages.len(),
            host.noise,
            host.validators,
            host.robots,
            host.sitemap,
            host.corners
        );
    }
    let first = &web.hosts()[0];
    println!(
        "try: curl -i -H 'Host: {}' http://{}:{}/",
        first.name, first.address, running.port
    );
    loop {
        std::thread::park();
    }
}
