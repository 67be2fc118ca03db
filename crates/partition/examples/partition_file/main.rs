//! Divides a graph in METIS format, or a generated one, and prints cut, balance, time and memory.
//!
//! `partition_file FILE PARTS [SEED]` or `partition_file generate:HOSTS:EDGES PARTS [SEED]`; the
//! last line is `cut share heaviest seconds mebibytes`.

mod generate;

use std::error::Error;
use std::time::Instant;

use partition::graph::{Graph, GraphBuilder};
use partition::limits::Balance;
use partition::multilevel;
use partition::task::Task;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(input), Some(parts)) = (arguments.first(), arguments.get(1)) else {
        return Err("usage: partition_file FILE|generate:HOSTS:EDGES PARTS [SEED]".into());
    };
    let parts: usize = parts.parse()?;
    let seed = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let graph = if let Some(size) = input.strip_prefix("generate:") {
        let (hosts, edges) = size.split_once(':').ok_or("generate:HOSTS:EDGES")?;
        generate::power_law(hosts.parse()?, edges.parse()?, seed)?
    } else {
        read_metis(&std::fs::read_to_string(input)?)?
    };
    eprintln!("{} vertices, {} edges", graph.len(), graph.edges());
    let capacities = vec![1.0; parts];
    let mut task = Task::new(&graph, &capacities, Balance::pages(0.03));
    task.seed = seed;
    let begun = Instant::now();
    let answer = multilevel::partition(&task)?;
    let seconds = begun.elapsed().as_secs_f64();
    let heaviest = answer
        .loads
        .iter()
        .map(|load| load.pages)
        .max()
        .unwrap_or(0);
    let average = graph.total_load().pages as f64 / parts as f64;
    println!(
        "{} {:.4} {:.4} {seconds:.2} {:.0}",
        answer.cut,
        answer.cut as f64 / graph.total_weight() as f64,
        heaviest as f64 / average,
        peak_mebibytes().unwrap_or(f64::NAN),
    );
    Ok(())
}

/// Vertex and edge weights present (format 011), as `scripts/bench-partition` writes it.
fn read_metis(text: &str) -> Result<Graph, Box<dyn Error>> {
    let mut lines = text.lines();
    let header = lines.next().ok_or("an empty file")?;
    let vertices: usize = header.split(' ').next().unwrap_or_default().parse()?;
    let mut rows = GraphBuilder::new(vertices);
    for (v, line) in (0_u32..).zip(lines) {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        rows.pages(v, numbers.next().ok_or("no vertex weight")??.into())?;
        while let (Some(to), Some(weight)) = (numbers.next(), numbers.next()) {
            let to = to? - 1;
            // each edge stands in both rows
            if v < to {
                rows.link(v, to, f64::from(weight?))?;
            }
        }
    }
    Ok(rows.build()?)
}

/// What this process held at most, where the system tells.
fn peak_mebibytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 1024.0)
}
