//! Writes a generated repository as `pages.csv` to standard output.
//!
//! `cargo run --release -p simulation --example generate_pages -- [pages] [servers] [seed] [weights]`

use simulation::generate::{Parameters, PowerLaw, generate};
use std::io::{self, BufWriter, Write};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |position: usize, default: u64| {
        arguments.get(position).map_or(default, |text| {
            let message = "expected [pages] [servers] [seed] [weights]";
            text.parse().expect(message)
        })
    };
    let default = Parameters::default();
    let weighted = arguments.get(3).is_some_and(|text| text == "weights");
    let repository = generate(&Parameters {
        pages: number(0, default.pages as u64) as usize,
        servers: number(1, default.servers as u64) as usize,
        seed: number(2, default.seed),
        weights: weighted.then_some(PowerLaw {
            exponent: 1.0,
            least: 1.0,
            most: 1e4,
        }),
        ..default
    });
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let weight_column = if weighted { ",weight" } else { "" };
    writeln!(out, "page,server,change_rate{weight_column}")?;
    for (page, (server, rate)) in repository.server.iter().zip(&repository.rate).enumerate() {
        write!(
            out,
            "https://www{server}.example/articles/{page}.html,www{server}.example,{rate:.6}"
        )?;
        if let Some(weight) = &repository.weight {
            write!(out, ",{:.3}", weight[page])?;
        }
        writeln!(out)?;
    }
    out.flush()
}
