//! The small Internet of `mini_internet.py`, from Rust: started, entered, ended.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::{Child, Command, Output, Stdio};

/// A node: a process in its namespace, and its addresses.
#[derive(Debug)]
pub struct Node {
    pub pid: u32,
    pub v4: IpAddr,
    pub v6: IpAddr,
}

/// A running small Internet; gone, with everything in it, when dropped.
pub struct MiniInternet {
    carrier: Child,
    nodes: HashMap<String, Node>,
}

impl MiniInternet {
    /// Builds it from links `a-b:milliseconds`; none, with a message, where the system does not
    /// allow it.
    pub fn start(links: &[&str]) -> Option<Self> {
        let program = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/mini_internet/mini_internet.py"
        );
        let started = Command::new("python3")
            .arg(program)
            .args(links)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(carrier) = started else {
            eprintln!("skipped: no python3 for the small Internet");
            return None;
        };
        let mut internet = Self {
            carrier,
            nodes: HashMap::new(),
        };
        let output = internet.carrier.stdout.take().unwrap();
        for line in BufReader::new(output).lines() {
            let line = line.unwrap();
            if line == "ready" {
                return Some(internet);
            }
            let fields: Vec<&str> = line.split(' ').collect();
            let node = Node {
                pid: fields[1].parse().unwrap(),
                v4: fields[2].parse().unwrap(),
                v6: fields[3].parse().unwrap(),
            };
            internet.nodes.insert(fields[0].to_owned(), node);
        }
        let status = internet.carrier.wait().unwrap();
        assert_eq!(status.code(), Some(3), "the small Internet broke");
        eprintln!("skipped: the system allows no small Internet (message above)");
        None
    }

    pub fn node(&self, name: &str) -> &Node {
        &self.nodes[name]
    }

    /// Runs a program at a node.
    pub fn run(&self, at: &str, program: &str, arguments: &[&str]) -> Output {
        Command::new("nsenter")
            .args(["-t", &self.node(at).pid.to_string(), "-n", program])
            .args(arguments)
            .output()
            .unwrap()
    }
}

impl Drop for MiniInternet {
    fn drop(&mut self) {
        // the nodes die with the carrier, and the namespaces with the nodes
        let _ = self.carrier.kill();
        let _ = self.carrier.wait();
    }
}
