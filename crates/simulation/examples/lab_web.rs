//! Serves a demo web for experiments with robots in other processes, and says what its record has.
//!
//! `lab_web SPEC.toml [SPEED]` prints its port, seed and hosts, then `ready`, and answers lines of its standard
//! input until that ends: `visits FILE` writes the record (CSV), `judge SECONDS` counts what is missing, had twice or
//! asked for sooner than that, `freshness FROM UNTIL` states the true freshness between two days of web time,
//! `now` says which day it is.

use simulation::web::{Audit, Clock, Rules, Running, Server, Web, WebSpec, check_politeness};
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: lab_web SPEC.toml [SPEED]")?;
    let speed = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
    let spec: WebSpec = toml::from_str(&std::fs::read_to_string(path)?)?;
    let web = Arc::new(Web::new(&spec)?);
    let running = Server::start(Arc::clone(&web), Clock::starting_now(speed))?;
    println!("port {}", running.port);
    println!("seed {}", web.seed_url(running.port));
    for host in web.hosts() {
        println!("host {} {} {}", host.name, host.address, host.pages.len());
    }
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["visits", path] => println!("visits {}", write_visits(&running, path)?),
            ["judge", delay] => judge(&web, &running, delay.parse()?),
            ["freshness", from, until] => {
                let (from, until) = (from.parse()?, until.parse()?);
                let visits = running.record.visits();
                let audit = Audit::new(&web, running.clock, &visits);
                let truth = audit.freshness(from, until).freshness;
                println!("freshness {truth} requests {}", audit.requests(from, until));
            }
            ["now"] => println!("now {}", running.now()),
            _ => println!("unknown"),
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn write_visits(running: &Running, path: &str) -> std::io::Result<usize> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(
        file,
        "start,end,host,address,client,path,status,bytes,conditional,complete"
    )?;
    let visits = running.record.visits();
    for visit in &visits {
        writeln!(
            file,
            "{},{},{},{},{},{},{},{},{},{}",
            visit.start,
            visit.end,
            visit.host,
            visit.address,
            visit.client,
            visit.path.replace(',', "%2C"),
            visit.status,
            visit.bytes,
            u8::from(visit.conditional),
            u8::from(visit.complete)
        )?;
    }
    file.flush()?;
    Ok(visits.len())
}

fn judge(web: &Web, running: &Running, delay: f64) {
    let visits = running.record.visits();
    let mut had: HashMap<usize, usize> = HashMap::new();
    for visit in visits.iter().filter(|visit| visit.complete) {
        if let Some(page) = web.find(&visit.host, &visit.path) {
            *had.entry(page).or_default() += 1;
        }
    }
    let allowed = (0..web.pages().len()).filter(|&page| web.pages()[page].allowed);
    let rules = Rules {
        host_delay: delay,
        address_delay: delay,
        crawl_delay: web.crawl_delays(),
        // the operating system may delay one process more than the other
        tolerance: 0.005,
    };
    println!(
        "pages {} missing {} twice {} requests {} too_soon {}",
        allowed.clone().count(),
        allowed.filter(|page| !had.contains_key(page)).count(),
        had.values().filter(|&&times| times > 1).count(),
        visits.len(),
        check_politeness(&visits, &rules).len(),
    );
}
